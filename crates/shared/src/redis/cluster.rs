//! A Redis Cluster, as all workers know it, and one worker's connections to it.
//!
//! To everybody else it is one server: commands find their node by their key. The redis crate keeps the map of the slots, and follows `MOVED` and
//! `ASK`. It never asks for reads from replicas, so they redirect all commands to their primary.
//!
//! * Only the background reading finds out that the cluster can be used; since an operation has failed, no other one is tried.
//! * After a timeout, all connections are closed, and the map is read anew: the crate itself does not ask for it where a node is silent.
//! * The crate gives replies in the order of the commands, also where nobody waits any more, so a late reply is never another one's.
//! * It connects by itself. So, unlike with one primary, a value that is too long is refused when it has come, not before; bytes are not counted;
//!   and commands that were dropped after they were sent do not count as in flight.

use super::commands::{self, failure};
use super::options::{RedisOptionsError, check_bounds, check_count, read_url};
use super::replication;
use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::history::History;
use crate::load::Load;
use crate::servers::{Server, Servers};
use crate::tls::{ClientPem, Tls};
use redis::aio::ConnectionLike;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo, RedisResult, TlsCertificates, Value};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

/// How often a command is sent again within its timeout: for each redirection, and where its connection has broken.
const RETRIES_MAX: u32 = 4;

/// The longest pause before that, in milliseconds.
const RETRY_PAUSE_MAX_MS: u64 = 20;

/// How long it may take to connect to all nodes. Operations do not wait for so long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A cluster, and how it is asked.
#[derive(Clone)]
pub struct RedisClusterOptions {
    /// `redis://host:port`, or `rediss://` for TLS: some of the nodes, from which the others are found. Without user and password.
    pub seeds: Vec<String>,
    /// The user. Without one, the password is that of the default user.
    pub username: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The certificates, where the nodes have `rediss://`. Then all nodes that these name are asked by TLS.
    pub tls: Option<Tls>,
    /// How long an operation may take, with redirections.
    pub operation_timeout: Duration,
    /// Bytes of a value, at most. A longer one is not written, and one that a server sends is an error.
    pub item_bytes_max: usize,
}

impl fmt::Debug for RedisClusterOptions {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, username, password, tls, operation_timeout, item_bytes_max } = self;
        f.debug_struct("RedisClusterOptions")
            .field("seeds", seeds)
            .field("username", username)
            .field("has_password", &password.is_some())
            .field("tls", tls)
            .field("operation_timeout", operation_timeout)
            .field("item_bytes_max", item_bytes_max)
            .finish()
    }
}

/// A Redis Cluster, and what all workers know of it.
pub struct RedisCluster {
    client: ClusterClient,
    operation_timeout: Duration,
    servers: Arc<Servers>,
    known: Mutex<Known>,
}

/// What the background reading has found out.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The history of the node that has the log of purges; `None`: the cluster can't be used.
    history: Option<History>,
    /// Counts up each time that it can be used again.
    term: u64,
    /// Whether an operation has failed since.
    has_failed: bool,
}

impl fmt::Debug for RedisCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCluster").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl RedisCluster {
    /// This cluster, of which nothing is known yet.
    pub fn new(options: &RedisClusterOptions) -> Result<Arc<Self>, RedisOptionsError> {
        let RedisClusterOptions { seeds, username, password, tls, operation_timeout, item_bytes_max } = options;
        check_bounds(*operation_timeout, *item_bytes_max)?;
        check_count(seeds.len())?;
        let read = |seed: &String| {
            let (endpoint, info) = read_url(seed, username.as_deref(), password.as_deref())?;
            let refused = |why: &str| Err(RedisOptionsError::Url { url: seed.clone(), why: why.to_owned() });
            match endpoint {
                Endpoint::Unix(_) => refused("the nodes of a cluster name each other by host and port"),
                Endpoint::Tcp { .. } if info.redis_settings().db() != 0 => refused("a cluster has only the database 0"),
                Endpoint::Tcp { .. } => Ok(info),
            }
        };
        let nodes = seeds.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let is_tls = |node: &ConnectionInfo| matches!(node.addr(), ConnectionAddr::TcpTls { .. });
        let certificates = match (nodes.iter().filter(|node| is_tls(node)).count(), tls) {
            (0, _) => None,
            (_, None) => return Err(RedisOptionsError::NoTls),
            (count, Some(tls)) if count == nodes.len() => Some(certificates(tls)),
            _ => {
                let why = "the nodes of a cluster have TLS, or none of them does".to_owned();
                return Err(RedisOptionsError::Url { url: seeds.join(","), why });
            }
        };
        let mut client = ClusterClient::builder(nodes);
        if let Some(certificates) = certificates {
            client = client.certs(certificates);
        }
        let client = client
            .connection_timeout(*operation_timeout)
            .response_timeout(*operation_timeout)
            .retries(RETRIES_MAX)
            .min_retry_wait(1)
            .max_retry_wait(RETRY_PAUSE_MAX_MS)
            .build()
            .map_err(|error| RedisOptionsError::Url { url: seeds.join(","), why: error.to_string() })?;
        let server = Server::new(format!("redis-cluster {}", seeds.join(",")), "redis-cluster");
        let servers = Servers::single(server, *item_bytes_max);
        Ok(Arc::new(Self { client, operation_timeout: *operation_timeout, servers, known: Mutex::default() }))
    }

    pub(crate) fn operation_timeout(&self) -> Duration {
        self.operation_timeout
    }

    /// What is known of it, as of one server.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, history: History) {
        let mut known = self.known();
        known.term += u64::from(known.history != Some(history));
        known.history = Some(history);
        if std::mem::take(&mut known.has_failed) {
            tracing::info!("the Redis Cluster can be used again");
        }
    }

    fn failed(&self, term: u64, failure: &Failure) {
        let mut known = self.known();
        if known.term != term {
            return;
        }
        known.history = None;
        let is_known = std::mem::replace(&mut known.has_failed, true);
        drop(known);
        if !is_known {
            tracing::warn!(%failure, "the Redis Cluster can't be used");
        }
        if let Some(server) = self.servers.server(0) {
            server.health.failed(self.servers.now_ms());
        }
    }
}

/// The certificates as the redis crate takes them. It is always told which ones to trust: it knows others.
fn certificates(tls: &Tls) -> TlsCertificates {
    let client_tls = tls.client_pem().map(|ClientPem { certificate, key }| ClientTlsConfig {
        client_cert: certificate.clone(),
        client_key: key.clone(),
    });
    TlsCertificates { client_tls, root_cert: Some(tls.trusted_pem().into_bytes()) }
}

/// One worker's connections to the nodes.
pub(super) struct Connections {
    cluster: Arc<RedisCluster>,
    load: Arc<Load>,
    open: Mutex<Option<ClusterConnection>>,
    /// They are being opened. It takes longer than an operation may wait where a node is silent, so the next operation waits for the same.
    opening: sync::Mutex<Option<JoinHandle<RedisResult<ClusterConnection>>>>,
}

impl Connections {
    pub(super) fn new(cluster: &Arc<RedisCluster>) -> Arc<Self> {
        let (load, open, opening) = (Arc::default(), Mutex::default(), sync::Mutex::default());
        Arc::new(Self { cluster: cluster.clone(), load, open, opening })
    }

    pub(super) fn servers(&self) -> &Arc<Servers> {
        &self.cluster.servers
    }

    /// The history of the node that has the log of purges, as the last reading has found it.
    pub(super) fn known_history(&self) -> Option<History> {
        self.cluster.known().history
    }

    /// Sends a command to the node that has its key, and reads the reply.
    pub(super) async fn ask<T>(
        &self,
        command: &Cmd,
        value_bytes: usize,
        read: impl FnOnce(Value) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + self.cluster.operation_timeout;
        let Known { history, term, .. } = *self.cluster.known();
        history.ok_or(Failure::NoPrimary)?;
        let _admission = self.load.admit(value_bytes).ok_or(Failure::Busy)?;
        // To open connections to all nodes takes time. This says nothing about them.
        let opened = timeout_at(deadline, self.opened()).await.unwrap_or(Err(Failure::Busy));
        let result = match opened {
            Ok(open) => self.send(open, command, deadline).await.and_then(read),
            Err(failure) => Err(failure),
        };
        self.judge(term, result)
    }

    /// Asks the node that has the log of purges for its history.
    pub(super) async fn history(&self, log: &[u8]) -> Result<Option<History>, Failure> {
        let deadline = Instant::now() + self.cluster.operation_timeout;
        let term = self.cluster.known().term;
        let asked = async {
            let open = timeout_at(deadline, self.opened()).await.unwrap_or(Err(Failure::Timeout))?;
            let said = replication::read(self.send(open, &commands::info_of(log), deadline).await?)?;
            said.is_primary.then_some(said.history).ok_or(Failure::NoPrimary)
        };
        let history = self.judge(term, asked.await)?;
        self.cluster.found(history);
        Ok(Some(history))
    }

    async fn send(&self, mut open: ClusterConnection, command: &Cmd, deadline: Instant) -> Result<Value, Failure> {
        match timeout_at(deadline, open.req_packed_command(command)).await {
            Ok(reply) => reply.map_err(|error| failure(&error)),
            Err(_) => Err(Failure::Timeout),
        }
    }

    fn judge<T>(&self, term: u64, result: Result<T, Failure>) -> Result<T, Failure> {
        if let Err(failure) = &result
            && !failure.is_about_the_request()
        {
            *self.lock() = None;
            self.cluster.failed(term, failure);
        }
        result
    }

    async fn opened(&self) -> Result<ClusterConnection, Failure> {
        if let Some(open) = self.lock().clone() {
            return Ok(open);
        }
        let mut opening = self.opening.lock().await;
        if let Some(open) = self.lock().clone() {
            return Ok(open);
        }
        let running = opening.get_or_insert_with(|| {
            let client = self.cluster.client.clone();
            tokio::spawn(async move {
                let connect = timeout(CONNECT_TIMEOUT, client.get_async_connection()).await;
                connect.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
            })
        });
        let opened = running.await;
        *opening = None;
        let open = opened.map_err(|_| Failure::Closed)?.map_err(|error| failure(&error))?;
        *self.lock() = Some(open.clone());
        Ok(open)
    }

    fn lock(&self) -> MutexGuard<'_, Option<ClusterConnection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        if let Some(opening) = self.opening.get_mut() {
            opening.abort();
        }
    }
}
