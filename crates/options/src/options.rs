//! The whole program's settings.

use crate::hit_headers::HitHeaders;
use crate::limits::ClientLimits;
use crate::listener::{AddressRange, ListenAddress, Listener};
use crate::logs::{AccessLogOptions, ProgramLog};
use crate::route::Route;
use crate::site::Site;
use crate::traces::Traces;
use std::path::PathBuf;

/// The limits of a memory of that size: at most this for one object, in bytes. What is not stored yet has an eighth of it.
pub const fn object_bytes_limit(memory_bytes_max: u64) -> u64 {
    memory_bytes_max / RESERVED_SHARE
}

/// 1 GiB.
pub const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// 64 MiB.
pub const OBJECT_BYTES_DEFAULT: u64 = 64 << 20;

/// The part of the memory that is for what is not stored yet: one of so many.
pub const RESERVED_SHARE: u64 = 8;

/// The whole program's settings.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where clients connect. At least one.
    pub listeners: Vec<Listener>,
    /// Where the operator connects (`/healthz`, `/metrics`, `/stats`); none: no admin listener.
    pub admin: Option<ListenAddress>,
    /// The file with the operator's token, for what needs one on TCP. None: that is refused there.
    pub admin_token_file: Option<PathBuf>,
    /// Where the operator's commands ask without a token.
    pub control_socket: ControlSocket,
    /// Whom the program becomes once it listens: `name`, or `name:group`. None: it stays who it is.
    pub user: Option<String>,
    /// Where the number of the process is written once it serves.
    pub pid_file: Option<PathBuf>,
    /// Threads, one event loop each. At least 1; default: the number of cores.
    pub workers: usize,
    /// What responses may hold in memory, in bytes, counted with all overhead: stored (up to seven eighths of it), on their
    /// way, or evicted while somebody still reads them. Default 1 GiB.
    pub memory_bytes_max: u64,
    /// The largest response that is stored, in bytes of head and body. Default 64 MiB; at most an eighth of the memory.
    pub object_bytes_max: u64,
    /// Bounds and deadlines of the clients' side.
    pub limits: ClientLimits,
    /// Where bodies of requests are kept until they are complete.
    pub request_buffer: RequestBuffer,
    /// Proxies in front of us whose `Forwarded` and `X-Forwarded-*` count. Default: none.
    pub trusted_proxies: Vec<AddressRange>,
    /// From where the method PURGE is obeyed. Default: this machine, and Unix sockets.
    pub purge_from: Vec<AddressRange>,
    /// What responses tell about the cache, besides Cache-Status.
    pub hit_headers: HitHeaders,
    /// Where each request is told about. Default: nowhere.
    pub access_log: AccessLogOptions,
    /// How the program's own log looks, on standard error.
    pub program_log: ProgramLog,
    /// Settings for traces. Default: no traces.
    pub traces: Traces,
    /// The first whose hosts match serves the request. Without any match: 421.
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

/// Where the operator's commands ask without a token: a Unix socket for root and the program's own user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ControlSocket {
    /// In the runtime directory of the service, of the machine for root, or of the user.
    #[default]
    Auto,
    /// There.
    At(PathBuf),
    /// Nowhere.
    Off,
}

/// Where bodies of requests are kept until they are complete, once they are longer than a request may keep in memory (64 KiB).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBuffer {
    /// The directory of their files, which have no names. None: the one for temporary files (TMPDIR, else `/tmp`).
    pub directory: Option<PathBuf>,
    /// What all of them together may hold, in bytes. Default 4 GiB. Over: 503.
    pub bytes_max: u64,
}

impl Default for RequestBuffer {
    fn default() -> Self {
        Self { directory: None, bytes_max: 4 << 30 }
    }
}
