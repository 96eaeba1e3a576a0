//! The whole program's settings.

use crate::disk::DiskTier;
use crate::hit_headers::HitHeaders;
use crate::limits::ClientLimits;
use crate::listener::{AddressRange, ListenAddress, Listener};
use crate::logs::{AccessLogOptions, ProgramLog};
use crate::peers::Peers;
use crate::route::Route;
use crate::shared::SharedTier;
use crate::site::Site;
use crate::traces::Traces;
use std::path::PathBuf;

/// The largest object that a memory of that size may store, in bytes: the share of it that is for responses before they are stored.
pub const fn object_bytes_limit(memory_bytes_max: u64) -> u64 {
    memory_bytes_max / RESERVED_SHARE
}

/// 1 GiB.
pub const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// 64 MiB.
pub const OBJECT_BYTES_DEFAULT: u64 = 64 << 20;

/// One part in so many of the memory is for responses before they are stored.
pub const RESERVED_SHARE: u64 = 8;

/// The whole program's settings.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where clients connect. At least one.
    pub listeners: Vec<Listener>,
    /// Where the operator connects (`/healthz`, `/metrics`, `/stats`); none: no admin listener.
    pub admin: Option<ListenAddress>,
    /// The file with the operator's token, for requests that need one over TCP. None: they are refused there.
    pub admin_token_file: Option<PathBuf>,
    /// Where the operator's commands connect without a token.
    pub control_socket: ControlSocket,
    /// The user that the program becomes once it listens: `name`, or `name:group`. None: it stays the user that started it.
    pub user: Option<String>,
    /// The file to which the program writes its process id once it serves.
    pub pid_file: Option<PathBuf>,
    /// Threads, one event loop each. At least 1; default: the number of cores.
    pub workers: usize,
    /// The most bytes that responses may hold in memory, counted with all overhead: stored (up to seven eighths of it), on their
    /// way, or evicted while a client still reads them. Default 1 GiB.
    pub memory_bytes_max: u64,
    /// The largest response that is stored, in bytes of head and body. Default 64 MiB; at most an eighth of the memory.
    pub object_bytes_max: u64,
    /// Whether responses stay in memory. Default true.
    pub stores_in_memory: bool,
    /// Where responses are kept on disk as well. Default: nowhere.
    pub disk: Option<DiskTier>,
    /// Servers in which several caches keep their responses together. Default: none.
    pub shared: Option<SharedTier>,
    /// The other front ends, to which purges are told. Default: none. Not beside a shared tier.
    pub peers: Option<Peers>,
    /// Bounds and deadlines of the clients' side.
    pub limits: ClientLimits,
    /// Where request bodies are kept until they are complete.
    pub request_buffer: RequestBuffer,
    /// Proxies in front of Kasoku whose `Forwarded` and `X-Forwarded-*` count. Default: none.
    pub trusted_proxies: Vec<AddressRange>,
    /// The addresses from which the method PURGE is obeyed. Default: this machine, and Unix sockets.
    pub purge_from: Vec<AddressRange>,
    /// Response fields that tell about the cache.
    pub hit_headers: HitHeaders,
    /// Where requests are logged. Default: nowhere.
    pub access_log: AccessLogOptions,
    /// The format of the program's own log, on standard error.
    pub program_log: ProgramLog,
    /// Settings for traces. Default: no traces.
    pub traces: Traces,
    /// The first site whose hosts match serves the request. If none matches: 421.
    pub sites: Vec<Site>,
}

impl Options {
    /// All routes: those of sites, and those of their rules.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.sites
            .iter()
            .flat_map(|site| std::iter::once(&*site.route).chain(site.rules.iter().map(|rule| &*rule.route)))
    }
}

/// Where the operator's commands connect without a token: a Unix socket for root and the program's own user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ControlSocket {
    /// In the runtime directory: of the service, of the machine for root, or of the user.
    #[default]
    Auto,
    /// At this path.
    At(PathBuf),
    /// There is no control socket.
    Off,
}

/// Where request bodies are kept until they are complete, once they are longer than a request may keep in memory (64 KiB).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBuffer {
    /// The directory of the files, which have no names. None: the one for temporary files (TMPDIR, else `/tmp`).
    pub directory: Option<PathBuf>,
    /// The most bytes of all of them together. Default 4 GiB. Over: 503.
    pub bytes_max: u64,
}

impl Default for RequestBuffer {
    fn default() -> Self {
        Self { directory: None, bytes_max: 4 << 30 }
    }
}
