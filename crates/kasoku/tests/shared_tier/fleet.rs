//! Three front ends, the memcached or Redis servers that they share, each behind a proxy, and one origin.

use crate::certificates::Authority;
use crate::front_end::FrontEnd;
use crate::origin::Origin;
use crate::page::{HOST, uri};
use crate::support::PATIENCE;
use kasoku_testkit::servers::{Memcached, Redis, Store};
use kasoku_testkit::{FaultProxy, Folder};
use sha2::{Digest, Sha256};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// From a purge until no front end answers with what it covers: each reads the logs four times a second, and a server whose log was not read
/// for a second is not used (docs/decisions/0042).
pub(crate) const PURGE_BOUND: Duration = Duration::from_secs(1);

/// From the return of servers until all front ends use them. Where no server could be reached, front ends may hear of purges only then.
pub(crate) const RETURN_BOUND: Duration = Duration::from_secs(5);

/// The pause between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The most pages by which it is found out whether all servers are used.
const TRIES_MAX: usize = 200;

/// How long a page may take to come into a server.
pub(crate) const WRITTEN_MAX: Duration = Duration::from_secs(1);

/// The secret of `secret-file`.
pub(crate) const SECRET: &str = "0123456789abcdef";

/// What the servers are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A ring of memcached servers.
    Memcached,
    /// A Redis primary, the first server, and its replicas.
    Redis,
    /// A Redis Cluster of three masters with a replica each, without proxies.
    Cluster,
}

/// How Redis is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    No,
    /// Servers and front ends have certificates of one authority, and each asks for that of the other.
    Yes,
    /// The same, but the front ends trust another authority.
    OfAStranger,
}

/// How the fleet is set up.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) kind: Kind,
    pub(crate) tls: Tls,
    pub(crate) servers: usize,
    pub(crate) workers: usize,
    pub(crate) has_secret: bool,
    pub(crate) has_disk: bool,
    /// The servers have Unix sockets, and no proxies.
    pub(crate) is_unix: bool,
    /// memcached's `-I`, and `item-bytes-max`.
    pub(crate) item_bytes_max: [&'static str; 2],
    pub(crate) memory: &'static str,
    /// Otherwise each hit comes from the disk or from the servers.
    pub(crate) keeps_in_memory: bool,
    pub(crate) profile: &'static str,
    /// More lines of `[shared]`.
    pub(crate) shared: &'static str,
}

impl Setup {
    pub(crate) const PLAIN: Self = Self {
        kind: Kind::Memcached,
        tls: Tls::No,
        servers: 2,
        workers: 2,
        has_secret: false,
        has_disk: false,
        is_unix: false,
        item_bytes_max: ["1m", "1MiB"],
        memory: "128MiB",
        keeps_in_memory: true,
        profile: "safe",
        shared: "",
    };

    /// The same with servers that may be slow, where a test is about what is shared.
    pub(crate) const PATIENT: Self = Self { shared: "timeout = \"5s\"", ..Self::PLAIN };
}

/// A server and the way to it.
pub(crate) struct Server {
    pub(crate) store: Store,
    /// None on a Unix socket, and in a cluster, whose nodes say where they are.
    proxy: Option<FaultProxy>,
    /// As the configuration spells it.
    pub(crate) spelled: String,
}

impl Server {
    pub(crate) fn proxy(&self) -> &FaultProxy {
        self.proxy.as_ref().expect("the server has a proxy")
    }
}

/// See the [module](self).
pub(crate) struct Fleet {
    kind: Kind,
    pub(crate) front_ends: Vec<FrontEnd>,
    pub(crate) servers: Vec<Server>,
    pub(crate) origin: Arc<Origin>,
    fresh: AtomicU64,
    folder: Folder,
}

impl Fleet {
    /// Starts everything, and waits until all front ends use all servers.
    pub(crate) fn start(setup: Setup) -> Self {
        let fleet = Self::start_unsettled(setup);
        fleet.settle(PATIENCE);
        fleet
    }

    /// The same without waiting.
    pub(crate) fn start_unsettled(setup: Setup) -> Self {
        let folder = Folder::below(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let servers = servers(setup, &folder);
        let origin = Origin::start();
        let secret = folder.join("secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
        let front_end = |number| {
            let config = folder.join(&format!("{number}.toml"));
            std::fs::write(&config, configuration(setup, &servers, &origin, &secret, &folder, number)).unwrap();
            FrontEnd::start(&config, &folder.join(&format!("{number}.sock")))
        };
        let front_ends = (0..3).map(front_end).collect();
        Self { kind: setup.kind, front_ends, servers, origin, fresh: AtomicU64::new(0), folder }
    }

    /// The servers that front ends tell apart: Redis is one to them, whichever of its servers has the primary's part.
    fn servers_of_tier(&self) -> usize {
        match self.kind {
            Kind::Memcached => self.servers.len(),
            Kind::Redis | Kind::Cluster => 1,
        }
    }

    /// The file with the secret, where there is one.
    pub(crate) fn secret_file(&self) -> PathBuf {
        self.folder.join("secret")
    }

    /// The Redis server that is the primary now.
    pub(crate) fn primary(&self) -> &Redis {
        let redis = self.servers.iter().map(|server| server.store.redis());
        redis.into_iter().find(|redis| redis.is_primary()).expect("one of them is the primary")
    }

    /// The primary dies, a replica takes its part, and the dead one comes back as its replica.
    pub(crate) fn fail_over(&self) {
        let old = self.primary();
        let others =
            || self.servers.iter().map(|server| server.store.redis()).filter(|redis| !std::ptr::eq(*redis, old));
        let new = others().next().expect("there is a replica");
        old.process().kill();
        new.promote();
        others().skip(1).for_each(|redis| redis.follow(new));
        old.restart_as_replica_of(new);
    }

    /// The servers as the examples want them.
    pub(crate) fn servers_for_programs(&self) -> String {
        let spelled: Vec<_> = self.servers.iter().map(|server| &*server.spelled).collect();
        match self.kind {
            Kind::Memcached => spelled.join(","),
            Kind::Redis => spelled[0].to_owned(),
            Kind::Cluster => format!("cluster:{}", spelled[0]),
        }
    }

    /// A target that nobody has asked for yet.
    pub(crate) fn fresh(&self, kind: &str, bytes: usize) -> String {
        format!("/{kind}/{bytes}/fresh-{}?group=fresh", self.fresh.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits until each front end takes pages from each server, for at most that long.
    pub(crate) fn settle(&self, patience: Duration) {
        let begun = Instant::now();
        let mut missing = self.unused();
        while !missing.is_empty() {
            assert!(begun.elapsed() < patience, "front end and server after {patience:?}: {missing:?}");
            missing = self.unused();
        }
    }

    /// Pairs of a front end and a server from which it has taken no page now.
    fn unused(&self) -> Vec<(usize, usize)> {
        let pairs = |reader| (0..self.servers_of_tier()).map(move |server| (reader, server));
        let mut missing: Vec<_> = (0..self.front_ends.len()).flat_map(pairs).collect();
        for _ in 0..TRIES_MAX {
            if missing.is_empty() {
                break;
            }
            let target = self.fresh("page", 100);
            let answer = self.front_ends[0].get(&target);
            answer.version(&target, "");
            let name = name_of(&uri(&target));
            let Some(holder) = self.holder(&name, Duration::from_millis(50)) else { return missing };
            for (reader, front_end) in self.front_ends.iter().enumerate() {
                // The first one has it in memory, and proves by what it wrote that it uses the server.
                if reader == 0 || missing.contains(&(reader, holder)) && front_end.get(&target).is_shared() {
                    missing.retain(|pair| *pair != (reader, holder));
                }
            }
        }
        missing
    }

    /// The server that has an item of that name, once one has; 0 in Redis.
    pub(crate) fn holder(&self, name: &str, patience: Duration) -> Option<usize> {
        let begun = Instant::now();
        loop {
            if let Some(holder) = self.servers.iter().position(|server| server.store.has(name)) {
                return Some(if self.kind == Kind::Memcached { holder } else { 0 });
            }
            if begun.elapsed() > patience {
                return None;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// A page that the first front end has fetched, and the server that has it. Front ends write pages after they have answered, unless they
    /// can't use the server just then.
    pub(crate) fn shared_page(&self, kind: &str, bytes: usize) -> (String, usize) {
        for _ in 0..TRIES_MAX {
            let target = self.fresh(kind, bytes);
            self.front_ends[0].get(&target).version(&target, "");
            if let Some(holder) = self.holder(&name_of(&uri(&target)), WRITTEN_MAX) {
                return (target, holder);
            }
        }
        panic!("no page of {bytes} bytes is in a server");
    }
}

/// The name of the item of a URI, as docs/shared-format.md has it.
pub(crate) fn name_of(uri: &str) -> String {
    format!("kasoku:{}", hex(&Sha256::digest(uri)))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Starts the servers.
fn servers(setup: Setup, folder: &Folder) -> Vec<Server> {
    match setup.kind {
        Kind::Memcached => (0..setup.servers).map(|number| memcached(setup, folder, number)).collect(),
        Kind::Redis => {
            let primary = Redis::start(if setup.tls == Tls::No { Vec::new() } else { tls_of_servers(folder) });
            let replicas: Vec<_> = (1..setup.servers).map(|_| Redis::replica_of(&primary)).collect();
            std::iter::once(primary).chain(replicas).map(|server| redis(setup, server)).collect()
        }
        Kind::Cluster => {
            let node = |redis: Redis| {
                let spelled = format!("redis://{}", redis.address());
                Server { store: Store::Redis(redis), proxy: None, spelled }
            };
            Redis::cluster().into_iter().map(node).collect()
        }
    }
}

fn memcached(setup: Setup, folder: &Folder, number: usize) -> Server {
    let [item_bytes_max, _] = setup.item_bytes_max;
    if setup.is_unix {
        let path = folder.join(&format!("m{number}"));
        let store = Store::Memcached(Memcached::start_at(&path, item_bytes_max));
        return Server { store, proxy: None, spelled: format!("unix:{}", path.display()) };
    }
    let memcached = Memcached::start(item_bytes_max);
    let proxy = FaultProxy::start(memcached.address().unwrap());
    let spelled = proxy.address().to_string();
    Server { store: Store::Memcached(memcached), proxy: Some(proxy), spelled }
}

fn redis(setup: Setup, redis: Redis) -> Server {
    let proxy = FaultProxy::start(redis.address());
    let scheme = if setup.tls == Tls::No { "redis" } else { "rediss" };
    let spelled = format!("{scheme}://{}", proxy.address());
    Server { store: Store::Redis(redis), proxy: Some(proxy), spelled }
}

/// Makes the certificates of servers and front ends, and returns the options of the servers.
fn tls_of_servers(folder: &Folder) -> Vec<String> {
    let authority = Authority::new(folder.path(), "authority");
    Authority::new(folder.path(), "stranger");
    authority.certifies("front-end", "DNS:kasoku");
    let options = authority.server_options(&authority.certifies("server", "IP:127.0.0.1"));
    let options = options.chunks(2).map(|option| option.join(" "));
    options.chain(["--tls-replication yes".to_owned()]).collect()
}

/// The lines of `[shared]` for that.
fn tls_of_front_ends(tls: Tls, folder: &Folder) -> String {
    let authority = match tls {
        Tls::No => return String::new(),
        Tls::Yes => "authority",
        Tls::OfAStranger => "stranger",
    };
    let path = |name: &str| folder.join(name).display().to_string();
    format!(
        "redis-ca-file = \"{}\"\nredis-client-certificate-file = \"{}\"\nredis-client-key-file = \"{}\"\n",
        path(&format!("{authority}.pem")),
        path("front-end.pem"),
        path("front-end.key"),
    )
}

fn configuration(
    setup: Setup,
    servers: &[Server],
    origin: &Origin,
    secret: &Path,
    folder: &Folder,
    number: usize,
) -> String {
    let spelled: Vec<_> = servers.iter().map(|server| format!("\"{}\"", server.spelled)).collect();
    let secret = if setup.has_secret { format!("secret-file = \"{}\"\n", secret.display()) } else { String::new() };
    let disk = match setup.has_disk {
        true => format!("[disk]\npath = \"{}\"\nsize = \"64MiB\"\n", folder.join(&format!("disk-{number}")).display()),
        false => String::new(),
    };
    let [_, item_bytes_max] = setup.item_bytes_max;
    let tls = tls_of_front_ends(setup.tls, folder);
    let kind = match setup.kind {
        Kind::Memcached => "memcached",
        Kind::Redis => "redis",
        Kind::Cluster => "redis-cluster",
    };
    format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = {}\nprofile = \"{}\"\n\
         [memory]\nsize = \"{}\"\nstore = {}\n{disk}\
         [shared]\n{kind} = [{}]\nitem-bytes-max = \"{item_bytes_max}\"\n{secret}{tls}{}\n\
         [[site]]\nhosts = [\"{HOST}\"]\norigin = \"http://{}\"\ntags = [\"group-{{group}}\"]\npass-urls = [\"/pass/*\"]\n",
        setup.workers,
        setup.profile,
        setup.memory,
        setup.keeps_in_memory,
        spelled.join(", "),
        setup.shared,
        origin.address,
    )
}
