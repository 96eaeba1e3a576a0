//! The shared tier.

use std::path::PathBuf;
use std::time::Duration;

/// The most servers of the shared tier: libmemcached makes no ring of more.
pub const SHARED_SERVERS_MAX: usize = 100;

/// The port of a memcached server that names none.
pub const MEMCACHED_PORT: u16 = 11211;

/// The port of a Redis server that names none.
pub const REDIS_PORT: u16 = 6379;

/// The most addresses of Redis servers: a primary and its replicas, or the first nodes to be asked of a cluster.
pub const REDIS_ADDRESSES_MAX: usize = 16;

/// The largest weight of a server.
pub const SHARED_WEIGHT_MAX: u32 = 1000;

/// The servers in which several caches keep their responses together, and how they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedTier {
    /// The servers.
    pub servers: SharedServers,
    /// The first part of all names: 1 to 32 letters, digits, `-` and `_`. Default `kasoku`.
    pub namespace: String,
    /// The file with the secret for HMACs. None: whoever can write to the servers is trusted.
    pub secret_file: Option<PathBuf>,
    /// How long a request may wait for a server. Default 50 ms.
    pub timeout: Duration,
    /// The servers' limit for an item, what they need for themselves included (memcached's `-I`), in bytes. Default 1 MiB.
    pub item_bytes_max: u64,
}

/// The servers of the shared tier, of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedServers {
    /// Independent memcached servers, which form a ring.
    Memcached {
        /// In the order of the ring. 1 to [`SHARED_SERVERS_MAX`].
        servers: Vec<SharedServer>,
        /// Which server has an item.
        ring: SharedRing,
        /// Where the keys of a server go that does not answer.
        server_down: ServerDown,
    },
    /// Redis or Valkey.
    Redis(RedisServers),
}

/// A Redis primary with its replicas, or a Redis Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisServers {
    /// The primary and its replicas in any order, or some nodes of the cluster. 1 to [`REDIS_ADDRESSES_MAX`].
    pub addresses: Vec<RedisAddress>,
    /// Whether they are a cluster.
    pub is_cluster: bool,
    /// The user of the server's access list. None: the default user.
    pub user: Option<String>,
    /// The file with the password. None: no password.
    pub password_file: Option<PathBuf>,
    /// The file with the certificates that are trusted, where addresses have TLS. None: those of the system.
    pub ca_file: Option<PathBuf>,
    /// What the servers are shown when they ask for a certificate. None: nothing.
    pub client_certificate: Option<RedisClientCertificate>,
}

/// A certificate by which Redis servers know this cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisClientCertificate {
    /// The file with the certificate.
    pub certificate_file: PathBuf,
    /// The file with its private key.
    pub key_file: PathBuf,
}

/// Where a Redis server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisAddress {
    /// A host and a port, or a Unix socket.
    pub endpoint: SharedEndpoint,
    /// The number of the database. 0 in a cluster.
    pub database: u16,
    /// Whether it is asked by TLS. All hosts of the servers are, or none.
    pub is_tls: bool,
}

/// A server of the shared tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedServer {
    /// Where it listens.
    pub endpoint: SharedEndpoint,
    /// Its share of the keys, as compared with the others'. 1 to [`SHARED_WEIGHT_MAX`].
    pub weight: u32,
}

/// Where a server of the shared tier listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SharedEndpoint {
    /// A host and a port.
    Tcp {
        /// A name or an address (IPv6 without brackets), spelled as in the configuration: the points of the ring are made of it.
        host: String,
        /// Default [`MEMCACHED_PORT`], or [`REDIS_PORT`].
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// Which server of a ring has an item: the rings of libmemcached, so that programs find items with their ordinary client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedRing {
    /// 160 points for each server, more for one of more weight: `MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED`.
    #[default]
    KetamaWeighted,
    /// 100 points for each server: `MEMCACHED_DISTRIBUTION_CONSISTENT`.
    Ketama,
}

/// Where the keys of a server go that does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerDown {
    /// To the next server on the ring.
    #[default]
    Next,
    /// To the origin.
    Origin,
}

impl SharedTier {
    /// The tier of these servers, with the defaults.
    pub fn of(servers: SharedServers) -> Self {
        Self {
            servers,
            namespace: "kasoku".to_owned(),
            secret_file: None,
            timeout: Duration::from_millis(50),
            item_bytes_max: 1 << 20,
        }
    }
}

impl SharedServers {
    /// A ring of these memcached servers, with the defaults.
    pub fn memcached(servers: Vec<SharedServer>) -> Self {
        Self::Memcached { servers, ring: SharedRing::default(), server_down: ServerDown::default() }
    }
}
