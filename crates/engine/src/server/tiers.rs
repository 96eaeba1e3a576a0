//! Opens the cache with the tiers that the options name.

use crate::runtime::clock::Clock;
use crate::server::start_error::StartError;
use kasoku_cache::disk::{Admission, DiskOptions};
use kasoku_cache::purge_exchange::PurgeExchange;
use kasoku_cache::shared::Tier;
use kasoku_cache::{Cache, CacheLimits, Tiers};
use kasoku_options::{
    DiskAdmission, DiskTier, Options, PeerAddress, Peers as PeersOptions, RedisAddress, RedisClientCertificate,
    RedisServers, ServerDown, SharedEndpoint, SharedRing, SharedServer, SharedServers, SharedTier, object_bytes_limit,
};
use kasoku_shared::memcached::{MemcachedOptions, ServerAddress};
use kasoku_shared::names::Namespace;
use kasoku_shared::peers::Peers;
use kasoku_shared::placement::Distribution;
use kasoku_shared::redis::{RedisClusterOptions, RedisOptions};
use kasoku_shared::sealed::Sealer;
use kasoku_shared::tls::{ClientFiles, Tls, TlsFiles};
use kasoku_shared::{Backend, Endpoint, WhenDown, secret};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

// The largest response that an operator may allow is the largest one for which the cache has room.
const _: () = assert!(kasoku_options::RESERVED_SHARE == kasoku_cache::budget::RESERVED_SHARE);

const _: () = assert!(kasoku_options::DISK_BYTES_MIN == kasoku_cache::disk::SIZE_BYTES_MIN);

const _: () = assert!(kasoku_options::DISK_BYTES_DEFAULT == kasoku_cache::disk::SIZE_BYTES_DEFAULT);

const _: () = assert!(kasoku_options::SHARED_SERVERS_MAX == kasoku_shared::placement::SERVERS_MAX);

/// The connections of a worker to each server of the shared tier. Requests are pipelined, so one is enough.
const CONNECTIONS: usize = 1;

pub(crate) fn open(options: &Options, clock: &Arc<dyn Clock>) -> Result<Cache, StartError> {
    let limits = CacheLimits {
        memory_bytes_max: options.memory_bytes_max,
        object_bytes_max: options.object_bytes_max.min(object_bytes_limit(options.memory_bytes_max)),
    };
    let exchange = purge_exchange(options)?;
    let clock = clock.clone();
    let disk = options.disk.as_ref().map(disk_options);
    let tiers = Tiers { keeps_in_memory: options.stores_in_memory, disk, exchange };
    Cache::with_tiers(limits, tiers, Arc::new(move || clock.now()))
        .map_err(|error| StartError { what: "the threads of the disk tier".to_owned(), error })
}

fn disk_options(tier: &DiskTier) -> DiskOptions {
    let DiskTier { path, size_bytes, admission, verify: _ } = tier;
    let admission = match admission {
        DiskAdmission::Always => Admission::Always,
        DiskAdmission::SecondRequest => Admission::SecondRequest,
        DiskAdmission::OnEviction => Admission::OnEviction,
    };
    DiskOptions { path: path.clone(), size_bytes: *size_bytes, admission }
}

fn purge_exchange(options: &Options) -> Result<Option<PurgeExchange>, StartError> {
    let (what, exchange) = match (&options.shared, &options.peers) {
        (Some(tier), _) => ("the shared tier".to_owned(), shared_tier(tier).map(PurgeExchange::Tier)),
        (None, Some(peers)) => {
            (format!("the token {}", peers.token_file.display()), of_peers(peers).map(PurgeExchange::Peers))
        }
        (None, None) => return Ok(None),
    };
    exchange.map(Some).map_err(|error| StartError { what, error })
}

/// Connects to no peer: the thread that follows them does.
fn of_peers(peers: &PeersOptions) -> io::Result<Arc<Peers>> {
    let token = secret::read(&peers.token_file)?;
    let endpoint = |PeerAddress { host, port }: &PeerAddress| Endpoint::Tcp { host: host.clone(), port: *port };
    Peers::new(peers.addresses.iter().map(endpoint).collect(), &token).map_err(io::Error::other)
}

/// Connects to no server: each worker does, when it asks the first time.
fn shared_tier(tier: &SharedTier) -> io::Result<Arc<Tier>> {
    let secret = tier.secret_file.as_deref().map(secret::read).transpose()?;
    let sealer = Sealer::new(secret.as_deref()).map_err(io::Error::other)?;
    let namespace: Namespace = tier.namespace.parse().map_err(io::Error::other)?;
    let (backend, when_down) = match &tier.servers {
        SharedServers::Memcached { servers, ring, server_down } => {
            let when_down = match server_down {
                ServerDown::Next => WhenDown::NextServer,
                ServerDown::Origin => WhenDown::Miss,
            };
            (memcached(tier, servers, *ring)?, when_down)
        }
        // It is one server, whichever of its nodes has an item.
        SharedServers::Redis(servers) => (redis(tier, servers)?, WhenDown::Miss),
    };
    Ok(Arc::new(Tier::new(backend, when_down, namespace, sealer)))
}

fn memcached(tier: &SharedTier, servers: &[SharedServer], ring: SharedRing) -> io::Result<Backend> {
    let options = MemcachedOptions {
        servers: servers.iter().map(address).collect(),
        distribution: match ring {
            SharedRing::KetamaWeighted => Distribution::KetamaWeighted,
            SharedRing::Ketama => Distribution::Ketama,
        },
        operation_timeout: tier.timeout,
        item_bytes_max: item_bytes_max(tier),
        connections_max: CONNECTIONS,
    };
    Backend::memcached(options).map_err(io::Error::other)
}

fn redis(tier: &SharedTier, servers: &RedisServers) -> io::Result<Backend> {
    let urls = servers.addresses.iter().map(redis_url).collect();
    let (username, operation_timeout, item_bytes_max) = (servers.user.clone(), tier.timeout, item_bytes_max(tier));
    let password = servers.password_file.as_deref().map(secret::read_password).transpose()?;
    let tls = redis_tls(servers)?;
    let backend = match servers.is_cluster {
        true => Backend::redis_cluster(&RedisClusterOptions {
            seeds: urls,
            username,
            password,
            tls,
            operation_timeout,
            item_bytes_max,
        }),
        false => Backend::redis(&RedisOptions { urls, username, password, tls, operation_timeout, item_bytes_max }),
    };
    backend.map_err(io::Error::other)
}

/// The certificates, where a server has TLS.
fn redis_tls(servers: &RedisServers) -> io::Result<Option<Tls>> {
    if !servers.addresses.iter().any(|address| address.is_tls) {
        return Ok(None);
    }
    let client = |RedisClientCertificate { certificate_file, key_file }: &RedisClientCertificate| ClientFiles {
        certificate: certificate_file.clone(),
        key: key_file.clone(),
    };
    let files = TlsFiles { ca: servers.ca_file.clone(), client: servers.client_certificate.as_ref().map(client) };
    Tls::read(&files).map(Some)
}

fn item_bytes_max(tier: &SharedTier) -> usize {
    usize::try_from(tier.item_bytes_max).unwrap_or(usize::MAX)
}

/// The address as the client of Redis reads it.
fn redis_url(RedisAddress { endpoint, database, is_tls }: &RedisAddress) -> String {
    let scheme = if *is_tls { "rediss" } else { "redis" };
    match endpoint {
        SharedEndpoint::Tcp { host, port } if host.contains(':') => format!("{scheme}://[{host}]:{port}/{database}"),
        SharedEndpoint::Tcp { host, port } => format!("{scheme}://{host}:{port}/{database}"),
        SharedEndpoint::Unix(path) => {
            let path = percent_encode(path.as_os_str().as_bytes(), NON_ALPHANUMERIC).to_string();
            format!("redis+unix://{}?db={database}", path.replace("%2F", "/"))
        }
    }
}

fn address(server: &SharedServer) -> ServerAddress {
    let endpoint = match &server.endpoint {
        SharedEndpoint::Tcp { host, port } => Endpoint::Tcp { host: host.clone(), port: *port },
        SharedEndpoint::Unix(path) => Endpoint::Unix(path.clone()),
    };
    ServerAddress { endpoint, weight: server.weight }
}
