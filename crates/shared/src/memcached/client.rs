//! The operations.

use super::connection::Connection;
use super::expiry::exptime;
use super::options::MemcachedOptions;
use super::protocol::{Operation, ProtocolError, Request, Status, StoreMode, number};
use super::servers::Memcached;
use crate::expiry::Expiry;
use crate::failure::Failure;
use crate::names::is_name;
use crate::servers::{Server, Servers};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Asks memcached servers for one worker. Its clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct MemcachedClient {
    servers: Arc<Servers>,
    /// The connections to each server.
    connections: Arc<[Vec<Connection>]>,
}

impl MemcachedClient {
    /// A client with connections of its own, whose tasks run on the present runtime of tokio. Panics if there is none. Nothing is connected
    /// before the first operation.
    pub(crate) fn new(memcached: &Arc<Memcached>, patience_min: Duration) -> Self {
        let MemcachedOptions { operation_timeout, connections_max, .. } = *memcached.options();
        let patience = operation_timeout.max(patience_min);
        let open = |server| (0..connections_max).map(|_| Connection::open(memcached, server, patience)).collect();
        let connections = (0..memcached.servers().all().len()).map(open).collect();
        Self { servers: memcached.servers().clone(), connections }
    }

    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// The value of an item; none if there is no such item.
    ///
    /// The value is a part of the read buffer, not a copy. It keeps the buffer alive: 16 KiB, or up to twice the length of a long value.
    /// Copy a short value that is kept for long.
    pub(crate) async fn get(&self, server: usize, name: &[u8]) -> Result<Option<Bytes>, Failure> {
        let known = self.server(server)?;
        known.counters.gets.add(1);
        let status = self.ask(server, name, Operation::Get).await?;
        if matches!(status, Status::Value(_)) {
            known.counters.hits.add(1);
        }
        match status {
            Status::Value(value) => Ok(Some(value)),
            Status::Miss => Ok(None),
            _ => Err(foreign()),
        }
    }

    /// Stores a value, which may come in parts. If it is over already, nothing is written.
    pub(crate) async fn set(
        &self,
        server: usize,
        name: &[u8],
        value: Vec<Bytes>,
        expiry: Expiry,
    ) -> Result<(), Failure> {
        match self.store(server, name, StoreMode::Set, value, expiry).await? {
            None | Some(Status::Done) => Ok(()),
            Some(_) => Err(foreign()),
        }
    }

    /// Stores a value if there is none, and says whether it did. If it is over already, nothing is written.
    pub(crate) async fn add(&self, server: usize, name: &[u8], value: Bytes, expiry: Expiry) -> Result<bool, Failure> {
        match self.store(server, name, StoreMode::Add, vec![value], expiry).await? {
            Some(Status::Done) => Ok(true),
            None | Some(Status::NotStored) => Ok(false),
            Some(_) => Err(foreign()),
        }
    }

    /// Removes an item, and says whether there was one.
    pub(crate) async fn delete(&self, server: usize, name: &[u8]) -> Result<bool, Failure> {
        match self.ask(server, name, Operation::Delete).await? {
            Status::Done => Ok(true),
            Status::NotFound => Ok(false),
            _ => Err(foreign()),
        }
    }

    /// Adds 1 and returns the new number; none where there is no such item.
    pub(crate) async fn increment(&self, server: usize, name: &[u8]) -> Result<Option<u64>, Failure> {
        match self.ask(server, name, Operation::Increment).await? {
            Status::Value(digits) => parse(&digits).map(Some),
            Status::NotFound => Ok(None),
            _ => Err(foreign()),
        }
    }

    /// The value of an item; none if there is no such item. From now on it has the new expiry, if one is given. Counts as no get: it is for
    /// what is asked for all the time, whatever clients want.
    pub(crate) async fn peek(
        &self,
        server: usize,
        name: &[u8],
        touched: Option<Expiry>,
    ) -> Result<Option<Bytes>, Failure> {
        let exptime = touched.and_then(|expiry| exptime(expiry, unix_seconds()));
        let operation = exptime.map_or(Operation::Get, |exptime| Operation::GetAndTouch { exptime });
        match self.ask(server, name, operation).await? {
            Status::Value(value) => Ok(Some(value)),
            Status::Miss => Ok(None),
            _ => Err(foreign()),
        }
    }

    async fn store(
        &self,
        server: usize,
        name: &[u8],
        mode: StoreMode,
        value: Vec<Bytes>,
        expiry: Expiry,
    ) -> Result<Option<Status>, Failure> {
        let known = self.server(server)?;
        let bytes = value.iter().map(Bytes::len).fold(0, usize::saturating_add);
        if bytes > self.servers.item_bytes_max() {
            return Err(Failure::TooLong { bytes });
        }
        let Some(exptime) = exptime(expiry, unix_seconds()) else { return Ok(None) };
        known.counters.sets.add(1);
        self.ask(server, name, Operation::Store { mode, value, exptime }).await.map(Some)
    }

    /// Asks a server, and counts how that went.
    async fn ask(&self, server: usize, name: &[u8], operation: Operation) -> Result<Status, Failure> {
        let counters = &self.server(server)?.counters;
        if !is_name(name) {
            return Err(Failure::Name);
        }
        let connections = self.connections.get(server).into_iter().flatten();
        let connection = connections.min_by_key(|connection| connection.in_flight());
        let connection = connection.ok_or(Failure::NoSuchServer(server))?;
        let begun = Instant::now();
        let result = connection.ask(Request { name: Bytes::copy_from_slice(name), operation }).await;
        match &result {
            Ok(_) => counters.latency.record(begun.elapsed()),
            Err(failure) => counters.count(failure),
        }
        let refused = match result? {
            Status::ServerError(message) => Failure::Refused(message),
            Status::ClientError(_) => Failure::NotANumber,
            status => return Ok(status),
        };
        counters.errors.add(1);
        Err(refused)
    }

    fn server(&self, server: usize) -> Result<&Server, Failure> {
        self.servers.server(server).ok_or(Failure::NoSuchServer(server))
    }
}

/// The connection lets no such reply through.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn foreign() -> Failure {
    ProtocolError::Foreign.into()
}

/// A number as memcached keeps it: one that became shorter has blanks behind it.
fn parse(digits: &[u8]) -> Result<u64, Failure> {
    number(digits.trim_ascii_end()).ok_or(Failure::NotANumber)
}
