//! The operations.

use super::cluster::{Connections, RedisCluster};
use super::commands;
use super::connection::Connection;
use super::replication::Replication;
use super::servers::Redis;
use crate::concurrently::concurrently;
use crate::expiry::Expiry;
use crate::failure::Failure;
use crate::history::History;
use crate::names::is_name;
use crate::servers::{Server, Servers};
use bytes::Bytes;
use redis::{Cmd, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long those addresses are waited for that were not the primary the last time. A second primary that answers later is not noticed.
const CANDIDATE_TIMEOUT: Duration = Duration::from_millis(200);

/// Asks Redis for one worker. Its clones share its connections.
#[derive(Clone)]
pub(crate) struct RedisClient(Reach);

#[derive(Clone)]
enum Reach {
    Primary(PrimaryClient),
    Cluster(Arc<Connections>),
}

#[derive(Clone)]
struct PrimaryClient {
    redis: Arc<Redis>,
    operation_timeout: Duration,
    connections: Arc<[Arc<Connection>]>,
}

impl fmt::Debug for RedisClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisClient").field("servers", self.servers()).finish_non_exhaustive()
    }
}

impl RedisClient {
    /// A client of a primary, with connections of its own. Nothing is connected before the first operation. It waits at least that long.
    pub(crate) fn new(redis: &Arc<Redis>, patience_min: Duration) -> Self {
        let connections = (0..redis.addresses().len()).filter_map(|node| Connection::new(redis, node)).collect();
        let operation_timeout = redis.operation_timeout().max(patience_min);
        Self(Reach::Primary(PrimaryClient { redis: redis.clone(), operation_timeout, connections }))
    }

    /// The same of a cluster.
    pub(crate) fn of_cluster(cluster: &Arc<RedisCluster>) -> Self {
        Self(Reach::Cluster(Connections::new(cluster)))
    }

    pub(crate) fn servers(&self) -> &Arc<Servers> {
        match &self.0 {
            Reach::Primary(primary) => primary.redis.servers(),
            Reach::Cluster(cluster) => cluster.servers(),
        }
    }

    fn server(&self, server: usize) -> Result<&Server, Failure> {
        self.servers().server(server).ok_or(Failure::NoSuchServer(server))
    }

    pub(crate) async fn get(&self, server: usize, name: &[u8]) -> Result<Option<Bytes>, Failure> {
        let counters = &self.server(server)?.counters;
        counters.gets.add(1);
        let reply = self.ask(server, name, commands::get(name), 0, self.value()).await?;
        counters.hits.add(u64::from(reply.is_some()));
        Ok(reply)
    }

    pub(crate) async fn peek(
        &self,
        server: usize,
        name: &[u8],
        touched: Option<Expiry>,
    ) -> Result<Option<Bytes>, Failure> {
        let command = touched.map_or_else(|| commands::get(name), |expiry| commands::get_and_touch(name, expiry));
        self.ask(server, name, command, 0, self.value()).await
    }

    pub(crate) async fn set(
        &self,
        server: usize,
        name: &[u8],
        value: Vec<Bytes>,
        expiry: Expiry,
    ) -> Result<(), Failure> {
        self.store(server, name, &value, expiry, false).await.map(drop)
    }

    pub(crate) async fn add(&self, server: usize, name: &[u8], value: Bytes, expiry: Expiry) -> Result<bool, Failure> {
        self.store(server, name, &[value], expiry, true).await
    }

    pub(crate) async fn delete(&self, server: usize, name: &[u8]) -> Result<bool, Failure> {
        self.ask(server, name, commands::delete(name), 0, commands::is_removed).await
    }

    /// Adds 1, if the history is still the one that was found.
    pub(crate) async fn increment(&self, server: usize, name: &[u8]) -> Result<Option<u64>, Failure> {
        let history = match &self.0 {
            Reach::Primary(primary) => primary.redis.primary().map(|primary| primary.history),
            Reach::Cluster(cluster) => cluster.known_history(),
        };
        let history = history.ok_or(Failure::NoPrimary)?;
        self.ask(server, name, commands::increment(name, history), 0, commands::counted).await
    }

    /// Finds the primary among the addresses, or the node that has the log of purges, and returns its history.
    pub(crate) async fn history(&self, server: usize, log: &[u8]) -> Result<Option<History>, Failure> {
        let server = self.server(server)?;
        let begun = Instant::now();
        let history = match &self.0 {
            Reach::Primary(primary) => primary.history(begun).await,
            Reach::Cluster(cluster) => cluster.history(log).await,
        };
        match &history {
            Ok(_) => server.counters.latency.record(begun.elapsed()),
            Err(failure) => server.counters.count(failure),
        }
        history
    }

    async fn store(
        &self,
        server: usize,
        name: &[u8],
        value: &[Bytes],
        expiry: Expiry,
        is_new: bool,
    ) -> Result<bool, Failure> {
        let bytes = value.iter().map(Bytes::len).fold(0, usize::saturating_add);
        if bytes > self.servers().item_bytes_max() {
            return Err(Failure::TooLong { bytes });
        }
        let Some(command) = commands::set(name, value, expiry, is_new) else { return Ok(false) };
        self.server(server)?.counters.sets.add(1);
        self.ask(server, name, command, bytes, commands::is_stored).await
    }

    fn value(&self) -> impl FnOnce(Value) -> Result<Option<Bytes>, Failure> {
        let item_bytes_max = self.servers().item_bytes_max();
        move |reply| commands::value(reply, item_bytes_max)
    }

    /// Asks a server, and counts how that went.
    async fn ask<T>(
        &self,
        server: usize,
        name: &[u8],
        command: Cmd,
        value_bytes: usize,
        read: impl FnOnce(Value) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let server = self.server(server)?;
        if !is_name(name) {
            return Err(Failure::Name);
        }
        let begun = Instant::now();
        let result = match &self.0 {
            Reach::Primary(primary) => primary.ask(&command, value_bytes, begun, read).await,
            Reach::Cluster(cluster) => cluster.ask(&command, value_bytes, read).await,
        };
        match &result {
            Ok(_) => {
                server.health.succeeded();
                server.counters.latency.record(begun.elapsed());
            }
            Err(failure) => server.counters.count(failure),
        }
        result
    }
}

impl PrimaryClient {
    async fn ask<T>(
        &self,
        command: &Cmd,
        value_bytes: usize,
        begun: Instant,
        read: impl FnOnce(Value) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let primary = self.redis.primary().ok_or(Failure::NoPrimary)?;
        let connection = self.connections.get(primary.node).ok_or(Failure::NoPrimary)?;
        let deadline = begun + self.operation_timeout;
        let reply = connection.ask(primary, command, value_bytes, deadline).await?;
        let read = read(reply);
        if let Err(failure) = &read
            && !failure.is_about_the_request()
        {
            self.redis.failed(primary, failure);
        }
        read
    }

    /// Asks all addresses for their roles.
    async fn history(&self, begun: Instant) -> Result<Option<History>, Failure> {
        let timeout = self.operation_timeout;
        let primary = self.redis.primary().map(|primary| primary.node);
        let deadline = |node| {
            let is_candidate = primary.is_some_and(|primary| primary != node);
            begun + if is_candidate { timeout.min(CANDIDATE_TIMEOUT) } else { timeout }
        };
        let ask = async |(node, connection): (usize, &Arc<Connection>)| connection.replication(deadline(node)).await;
        self.judge(&concurrently(self.connections.iter().enumerate().map(ask)).await)
    }

    fn judge(&self, said: &[Result<Replication, Failure>]) -> Result<Option<History>, Failure> {
        let primary = |(node, said): (usize, &Result<Replication, Failure>)| {
            said.as_ref().ok().filter(|said| said.is_primary).map(|said| (node, said.history))
        };
        let primaries: Vec<(usize, History)> = said.iter().enumerate().filter_map(primary).collect();
        for (node, said) in said.iter().enumerate() {
            match said {
                Err(failure) if failure.is_about_the_request() => {}
                // The others are not waited for, so it says little.
                Err(Failure::Timeout) if !primaries.is_empty() => {}
                said => self.redis.asked(node, said.as_ref().err()),
            }
        }
        match primaries.as_slice() {
            [(node, history)] => {
                self.redis.found(*node, *history);
                Ok(Some(*history))
            }
            [] => {
                self.redis.found_none();
                // Of several failures, one says why.
                Err(said.iter().find_map(|said| said.as_ref().err()).cloned().unwrap_or(Failure::NoPrimary))
            }
            several => {
                self.redis.found_several(several.iter().map(|(node, _)| *node));
                Err(Failure::SeveralPrimaries)
            }
        }
    }
}
