//! The shared tier of an application: its servers, and how they are used.

use super::ExchangeError;
use crate::memcached::{MemcachedOptions, ServerAddress};
use crate::placement::Distribution;
use crate::redis::{RedisClusterOptions, RedisOptions};
use crate::sealed::Sealer;
use crate::tls::{Tls, TlsFiles};
use crate::{Backend, Endpoint, Tier, WhenDown};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a request waits for a server, if nothing else is set; and what may be set.
const TIMEOUT: Duration = Duration::from_millis(50);
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);

/// The largest item of a server, in bytes, if nothing else is set; and what may be set.
const ITEM_BYTES_MAX: usize = 1 << 20;
const ITEM_BYTES: RangeInclusive<usize> = 64 << 10..=1 << 30;

/// The share of a server, as compared with the others'.
const WEIGHTS: RangeInclusive<u32> = 1..=1000;

/// The connections of a runtime to each server. Requests are pipelined, so one is enough.
const CONNECTIONS: usize = 1;

/// Servers on which several processes of an application store responses or values for each other.
///
/// Invalid settings are an error when the cache is built. A server that can't be reached is no error: until it answers, the application does the
/// work itself.
///
/// ```
/// # use kasoku_shared::settings::{MemcachedServer, SharedTier};
/// # fn secret() -> Vec<u8> { vec![7; 32] }
/// let servers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|host| MemcachedServer::new(host, 11211));
/// let memcached = SharedTier::memcached(servers).secret(secret());
///
/// let redis = SharedTier::redis(["rediss://cache-1.example", "rediss://cache-2.example"]).password("geheim").secret(secret());
/// # let _ = (memcached, redis);
/// ```
#[derive(Clone)]
#[must_use]
pub struct SharedTier {
    servers: Servers,
    namespace: String,
    secret: Option<Vec<u8>>,
    timeout: Duration,
    item_bytes_max: usize,
    ring: Distribution,
    server_down: WhenDown,
    login: Login,
}

#[derive(Clone)]
enum Servers {
    Memcached(Vec<MemcachedServer>),
    Redis(Vec<String>),
    RedisCluster(Vec<String>),
}

/// What Redis servers have to know, and what is known of them.
#[derive(Clone, Default)]
struct Login {
    user: Option<String>,
    password: Option<String>,
    tls: TlsFiles,
}

/// A memcached server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct MemcachedServer(ServerAddress);

impl MemcachedServer {
    /// A server at a host (a name or an address, IPv6 without brackets) and a port. The ring hashes the host exactly as it is written here, so write
    /// it the same in all processes.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self(ServerAddress { endpoint: Endpoint::Tcp { host: host.into(), port }, weight: 1 })
    }

    /// A server at a Unix socket.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self(ServerAddress { endpoint: Endpoint::Unix(path.into()), weight: 1 })
    }

    /// The server's share of the keys, as compared with the others'. Default 1, at most 1,000.
    pub fn weight(mut self, weight: u32) -> Self {
        self.0.weight = weight;
        self
    }
}

impl SharedTier {
    /// Independent memcached servers (1.6.10 or newer), which form a ring: 1 to 100, in the same order in all processes.
    pub fn memcached(servers: impl IntoIterator<Item = MemcachedServer>) -> Self {
        Self::of(Servers::Memcached(servers.into_iter().collect()))
    }

    /// One Redis or Valkey: the URLs of the primary and of its replicas, in any order, at most 16. `redis://host:port/database`, `rediss://` for
    /// TLS, `redis+unix:///path?db=0`; without user and password, which are [`SharedTier::user`] and [`SharedTier::password`].
    pub fn redis<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> Self {
        Self::of(Servers::Redis(urls.into_iter().map(Into::into).collect()))
    }

    /// A Redis Cluster: the URLs of some of its nodes, at most 16, by which the others are found.
    pub fn redis_cluster<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> Self {
        Self::of(Servers::RedisCluster(urls.into_iter().map(Into::into).collect()))
    }

    fn of(servers: Servers) -> Self {
        Self {
            servers,
            namespace: "kasoku".to_owned(),
            secret: None,
            timeout: TIMEOUT,
            item_bytes_max: ITEM_BYTES_MAX,
            ring: Distribution::KetamaWeighted,
            server_down: WhenDown::NextServer,
            login: Login::default(),
        }
    }

    /// The beginning of all names in the servers: 1 to 32 letters, digits, `-` and `_`. Caches with different namespaces share neither
    /// items nor purges. Default `kasoku`.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// A secret of at least 16 bytes, the same for all processes: items carry an HMAC-SHA-256 that is made with it, and an item without a
    /// valid one is a miss. Without it, anyone who can write to the servers can replace what is in them. Default: none.
    pub fn secret(mut self, secret: impl Into<Vec<u8>>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// How long a request waits for a server: 1 ms to 10 s. A server that does not answer in time is not asked again until it has answered a
    /// request in the background. Default 50 ms.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The largest item that the servers take, in bytes: `-I` of memcached. What is larger is stored in several items. 64 KiB to 1 GiB,
    /// with Redis 512 MiB. Default 1 MiB.
    pub fn item_bytes_max(mut self, bytes: usize) -> Self {
        self.item_bytes_max = bytes;
        self
    }

    /// Which memcached server has an item, as libmemcached chooses it. Default [`Ring::KetamaWeighted`](super::Ring::KetamaWeighted).
    pub fn ring(mut self, ring: Distribution) -> Self {
        self.ring = ring;
        self
    }

    /// Where the cache looks for an item if its memcached server does not answer. Redis ignores it. Default
    /// [`ServerDown::NextServer`](super::ServerDown::NextServer).
    pub fn server_down(mut self, server_down: WhenDown) -> Self {
        self.server_down = server_down;
        self
    }

    /// The user of Redis. Default: the default user.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.login.user = Some(user.into());
        self
    }

    /// The password of Redis. Default: none.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.login.password = Some(password.into());
        self
    }

    /// The certificates for addresses with `rediss://`. Default: those of the system are trusted, and the servers are shown none.
    pub fn tls(mut self, files: TlsFiles) -> Self {
        self.login.tls = files;
        self
    }

    /// The tier, which connects to no server yet.
    pub(super) fn open(self) -> Result<Arc<Tier>, ExchangeError> {
        let namespace = self.namespace.parse().map_err(refused)?;
        let sealer = Sealer::new(self.secret.as_deref()).map_err(refused)?;
        if !TIMEOUTS.contains(&self.timeout) {
            return Err(refused("the timeout has to be 1 ms to 10 s"));
        }
        if !ITEM_BYTES.contains(&self.item_bytes_max) {
            return Err(refused("the largest item has to be 64 KiB to 1 GiB"));
        }
        let (backend, server_down) = self.backend()?;
        Ok(Arc::new(Tier::new(backend, server_down, namespace, sealer)))
    }

    fn backend(self) -> Result<(Backend, WhenDown), ExchangeError> {
        let Self { servers, timeout: operation_timeout, item_bytes_max, ring, server_down, login, .. } = self;
        match servers {
            Servers::Memcached(servers) => {
                if !servers.iter().all(|server| WEIGHTS.contains(&server.0.weight)) {
                    return Err(refused("the weight of a server has to be 1 to 1,000"));
                }
                let backend = Backend::memcached(MemcachedOptions {
                    servers: servers.into_iter().map(|server| server.0).collect(),
                    distribution: ring,
                    operation_timeout,
                    item_bytes_max,
                    connections_max: CONNECTIONS,
                });
                Ok((backend.map_err(refused)?, server_down))
            }
            // It is one server, whichever of its nodes has an item.
            Servers::Redis(urls) => {
                let tls = login.certificates(&urls)?;
                let Login { user: username, password, .. } = login;
                let options = RedisOptions { urls, username, password, tls, operation_timeout, item_bytes_max };
                Ok((Backend::redis(&options).map_err(refused)?, WhenDown::Miss))
            }
            Servers::RedisCluster(seeds) => {
                let tls = login.certificates(&seeds)?;
                let Login { user: username, password, .. } = login;
                let options = RedisClusterOptions { seeds, username, password, tls, operation_timeout, item_bytes_max };
                Ok((Backend::redis_cluster(&options).map_err(refused)?, WhenDown::Miss))
            }
        }
    }
}

impl Login {
    /// The certificates, where a server has TLS.
    fn certificates(&self, urls: &[String]) -> Result<Option<Tls>, ExchangeError> {
        let has_tls = urls.iter().any(|url| url.starts_with("rediss://"));
        has_tls.then(|| Tls::read(&self.tls)).transpose().map_err(refused)
    }
}

fn refused(why: impl ToString) -> ExchangeError {
    ExchangeError::SharedTier(why.to_string())
}

impl fmt::Debug for SharedTier {
    /// Without the secret, the password, and URLs that may have one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, namespace, timeout, item_bytes_max, .. } = self;
        let (kind, count) = match servers {
            Servers::Memcached(servers) => ("memcached", servers.len()),
            Servers::Redis(urls) => ("redis", urls.len()),
            Servers::RedisCluster(urls) => ("redis-cluster", urls.len()),
        };
        f.debug_struct("SharedTier")
            .field(kind, &count)
            .field("namespace", namespace)
            .field("timeout", timeout)
            .field("item_bytes_max", item_bytes_max)
            .finish_non_exhaustive()
    }
}
