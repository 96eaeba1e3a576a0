//! Everything that can be set, resolved and checked: what the path runs on.
//!
//! `kasoku-config` makes these values from TOML and flags and is the only place that knows their names in a file;
//! an embedding program or a test makes them by hand. Each bound of the program has its default here. Units are in
//! the names; `Duration`s carry their own.

pub(crate) mod glob;
mod guard_rules;
mod guarded_hosts;
pub(crate) mod host;
mod nobodys_cookie;
pub(crate) mod url_pattern;
pub(crate) mod url_template;

pub use glob::Glob;
pub use guard_rules::{GuardCookie, GuardRules};
pub use guarded_hosts::GuardedHosts;
pub use host::HostPattern;
use http::{Method, StatusCode};
pub use kasoku_coding::Levels as CodingLevels;
use kasoku_origin::Group;
pub use kasoku_origin::document_root::{FileRules, PATH_PLACEHOLDER, PathGlob, SOURCE_SUFFIXES, Symlinks};
pub use kasoku_origin::group::ORIGINS_MAX;
pub use kasoku_origin::{
    Address as OriginAddress, Balance, Endpoint as OriginEndpoint, Gateway, HealthRules as OriginHealth,
    Limits as OriginLimits, Origin, ProgramLimits, REWRITES_MAX, Rewrite, RewriteError, SendfileRules, SpawnedProgram,
    UMASK_DEFAULT,
};
pub use kasoku_semantics::coding::Coding;
use kasoku_semantics::cookies;
use kasoku_semantics::policy::{Policy, Profile};
pub use kasoku_semantics::tags::{TagRules, TagTemplate, TemplateError};
use kasoku_wire::http1::{BodyLength, BodyLimits, HeadLimits};
pub use nobodys_cookie::{NobodysCookie, NobodysCookieError};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
pub use url_pattern::UrlPattern;
pub use url_template::{UrlTemplate, UrlTemplateError};

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
    pub limits: Limits,
    /// Where bodies of requests are kept until they are complete.
    pub request_buffer: RequestBuffer,
    /// Proxies in front of us whose `Forwarded` and `X-Forwarded-*` count. Default: none.
    pub trusted_proxies: Vec<AddressRange>,
    /// From where the method PURGE is obeyed. Default: this machine, and Unix sockets.
    pub purge_from: Vec<AddressRange>,
    /// What responses tell about the cache, besides Cache-Status.
    pub hit_headers: HitHeaders,
    /// Where each request is told about. Default: nowhere.
    pub access_log: AccessLog,
    /// How the program's own log looks, on standard error.
    pub program_log: ProgramLog,
    /// Who records traces. Default: nobody.
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

/// One listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub address: ListenAddress,
    /// Whether each connection starts with a PROXY protocol header (version 1 or 2). Then it must.
    pub proxy_protocol: bool,
    /// Whether a TCP connection waits in the kernel until its first bytes have come, or until the handshake has been repeated, a second
    /// later (TCP_DEFER_ACCEPT, tcp(7)).
    pub defer_accept: bool,
}

impl Listener {
    /// A listener there, without a PROXY protocol header and with deferred connections.
    pub fn at(address: ListenAddress) -> Self {
        Self { address, proxy_protocol: false, defer_accept: true }
    }
}

/// Where a socket listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// `127.0.0.1:8080`, `[::1]:8080`
    Tcp(SocketAddr),
    /// `unix:/run/kasoku.sock`
    Unix(PathBuf),
    /// `fd:3`: a listening socket that was handed over (systemd's LISTEN_FDS)
    Descriptor(i32),
}

/// Bounds and deadlines of the clients' side. Fields are limits on one connection or message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Request head: bytes of the whole, of the request-target, number of fields. Over: 431 or 414.
    pub head: HeadLimits,
    /// Chunk lines and trailers of bodies.
    pub body: BodyLimits,
    /// The largest request body, in bytes. Default 1 GiB. Over: 413.
    pub request_body_bytes_max: u64,
    /// A head must be complete this long after its first byte. Default 10 s. Over: 408.
    pub head_timeout: Duration,
    /// A kept connection may be idle this long. Default 75 s.
    pub idle_timeout: Duration,
    /// The longest pause between two pieces of a request body. Default 30 s. Over: 408.
    pub body_timeout: Duration,
    /// What a client must send of a request body, in bytes per second, on average over the last [`Limits::body_timeout`].
    /// Default 500; 0: anything will do. Below: 408.
    pub body_rate_min: u64,
    /// The longest pause in which the client takes nothing of the response (what only waits in the kernel is not taken).
    /// Default 30 s. Over: the connection is cut.
    pub send_timeout: Duration,
    /// What a client must take of its response while memory is short, in bytes per second. Default 4 KiB; 0: anything will
    /// do. Below: the connection is cut.
    pub send_rate_min: u64,
    /// Requests on one connection before it is closed. Default 1,000,000; 0: no limit.
    pub requests_per_connection_max: u64,
    /// Connections of one worker; more wait in the kernel's queue. Default 16,384.
    pub connections_max: usize,
    /// Files that each worker keeps open for the next request that is answered with them. Default 1,000; 0: none.
    pub open_files_max: usize,
    /// How long running requests may take to end after the program was told to stop. Default 10 s.
    pub drain_timeout: Duration,
    /// How long a connection without a request may wait for one after the program was told to stop, so that a request that is
    /// on its way is answered. Default 1 s.
    pub drain_idle_timeout: Duration,
    /// How long a client waits for another client's fill. Then a stale response answers, where it may; else the origin is
    /// asked once more, for all who wait. Default 30 s.
    pub fill_wait_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: HeadLimits::default(),
            body: BodyLimits::default(),
            request_body_bytes_max: 1 << 30,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            body_rate_min: 500,
            send_timeout: Duration::from_secs(30),
            send_rate_min: 4 << 10,
            requests_per_connection_max: 1_000_000,
            connections_max: 16_384,
            open_files_max: 1000,
            drain_timeout: Duration::from_secs(10),
            drain_idle_timeout: Duration::from_secs(1),
            fill_wait_max: Duration::from_secs(30),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Descriptor(number) => write!(f, "fd:{number}"),
        }
    }
}

/// A range of addresses, as `10.0.0.0/8` or a single address; or every peer of a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRange {
    /// All addresses whose first `prefix_bits` bits are those of `address`.
    Ip {
        /// Any address of the range.
        address: IpAddr,
        /// 0 to 32, or 0 to 128.
        prefix_bits: u8,
    },
    /// `unix`: whoever connects through a Unix socket.
    Unix,
}

impl AddressRange {
    /// This machine, and whoever connects through a Unix socket.
    pub fn loopback() -> Vec<Self> {
        let v4 = Self::Ip { address: IpAddr::from([127, 0, 0, 0]), prefix_bits: 8 };
        let v6 = Self::Ip { address: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix_bits: 128 };
        vec![v4, v6, Self::Unix]
    }

    /// Whether that address is within. An IPv4 address may come in an IPv6 one.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let Self::Ip { address, prefix_bits } = *self else { return false };
        let (left, right, bits) = match (address, ip.to_canonical()) {
            (IpAddr::V4(range), IpAddr::V4(ip)) => {
                (u128::from(range.to_bits()) << 96, u128::from(ip.to_bits()) << 96, 32)
            }
            (IpAddr::V6(range), IpAddr::V6(ip)) => (range.to_bits(), ip.to_bits(), 128),
            _ => return false,
        };
        let prefix_bits = u32::from(prefix_bits.min(bits));
        prefix_bits == 0 || (left ^ right) >> (128 - prefix_bits) == 0
    }
}

/// Response fields for people who come from other caches. Cache-Status (RFC 9211) has a switch of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitHeaders {
    /// `Cache-Status: kasoku; hit; …` Default true.
    pub cache_status: bool,
    /// `X-Cache-Hit: 1` or `0`. Default false.
    pub x_cache_hit: bool,
    /// `X-Cache-Status: HIT`, `MISS`, `STALE`, `REVALIDATED`, `UPDATING`, `BYPASS`, as nginx writes it. Default false.
    pub x_cache_status: bool,
    /// `X-Request-Id`: the id of this very request, as the access log has it. Default false.
    pub request_id: bool,
}

impl HitHeaders {
    /// A number for each combination.
    pub(crate) fn mark(self) -> u8 {
        let switches = [self.cache_status, self.x_cache_hit, self.x_cache_status, self.request_id];
        switches.iter().fold(0, |mark, is_on| mark << 1 | u8::from(*is_on))
    }
}

impl Default for HitHeaders {
    fn default() -> Self {
        Self { cache_status: true, x_cache_hit: false, x_cache_status: false, request_id: false }
    }
}

/// Where and how each request is told about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLog {
    /// Default: none, no log.
    pub target: Option<LogTarget>,
    /// Default combined.
    pub format: LogFormat,
}

/// What the access log is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    StandardOutput,
    /// The end of this file, which is made if it is not there (mode 0640); or a FIFO.
    File(PathBuf),
}

/// How a line of the access log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// As Apache and nginx call it: common, with Referer and User-Agent.
    #[default]
    Combined,
    /// The same with what the cache did, how long it took, and the request's id behind it.
    CombinedCache,
    /// The Common Log Format of NCSA's server.
    Common,
    /// One JSON object, with what the cache did and why.
    Json,
}

/// How the program's own log looks: what it does, and what goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramLog {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object in each line.
    Json,
}

/// Traces of requests (W3C Trace Context), as OpenTelemetry has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// The URL of a collector that takes spans by OTLP over HTTP. None: nothing is traced.
    pub collector: Option<String>,
    /// Of requests that begin a trace, one of so many is recorded. 0: none. Default 100.
    pub sample_one_in: u64,
    /// Whose traces go on. Default: those of trusted proxies.
    pub parents: Parents,
    /// What the collector knows the program as. Default `kasoku`.
    pub service_name: String,
}

impl Default for Traces {
    fn default() -> Self {
        Self { collector: None, sample_one_in: 100, parents: Parents::Trusted, service_name: "kasoku".to_owned() }
    }
}

/// Whose `traceparent` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// That of trusted proxies.
    #[default]
    Trusted,
    /// Everybody's.
    Any,
    /// Nobody's.
    None,
}

/// A site: which hosts, and what happens to their requests.
#[derive(Clone, Debug)]
pub struct Site {
    /// A name for logs and metrics: the first host pattern, or `default`.
    pub name: String,
    /// Empty: any host.
    pub hosts: Vec<HostPattern>,
    /// The first whose path matches decides.
    pub rules: Vec<Rule>,
    /// What happens when no rule matches.
    pub route: Arc<Route>,
}

impl Site {
    /// Its hosts, as its URL patterns name them.
    pub(crate) fn guarded_hosts(&self) -> GuardedHosts {
        GuardedHosts::new(&self.name, &self.hosts, self.route.key.host.as_deref())
    }
}

/// One rule of a site.
#[derive(Clone, Debug)]
pub struct Rule {
    /// A glob over the path (without the query): `*` matches any run of characters, everything else itself.
    pub path: Glob,
    /// What happens to requests that match; the site's settings with the rule's own on top.
    pub route: Arc<Route>,
}

/// What happens to a request once its site and rule are known.
#[derive(Clone, Debug)]
pub struct Route {
    /// Never look up, never store. The name of the rule stands in the log.
    pub pass: bool,
    /// Where responses come from: at least one, at most [`ORIGINS_MAX`].
    pub origins: Vec<Origin>,
    /// How requests are spread over them. Default: the first that can be asked.
    pub balance: Balance,
    /// When one of them counts as down, and how it is checked.
    pub health: OriginHealth,
    /// What a worker makes of them; nothing in a configuration.
    pub group: Group,
    /// `Host` for the origin; none: the client's own.
    pub origin_host: Option<String>,
    /// Whether bodies of requests are complete before an origin is asked. None: where an origin is a program.
    pub request_buffering: Option<bool>,
    /// Deadlines and bounds towards the origin.
    pub origin: OriginLimits,
    /// How URLs become scripts and files.
    pub gateway: Gateway,
    /// How fast a file that is not stored goes to its client, in bytes per second. Default 0: as fast as it takes it.
    pub file_rate_max: u64,
    /// The longest file of an origin of files that is stored, in bytes; longer ones only to be compressed. Default 1 MiB.
    pub file_stored_bytes_max: u64,
    /// The caching rules.
    pub policy: Arc<Policy>,
    /// Protocols that `Upgrade` may switch to, lower case. Default `["websocket"]`.
    pub upgrades: Vec<String>,
    /// How the query enters the key.
    pub query: QueryKey,
    /// URLs that pass, whatever the method.
    pub pass_urls: Vec<UrlPattern>,
    /// URLs by which a visitor chooses the version for small devices, and for others, where that is in the key.
    pub device_urls: DeviceUrls,
    /// URLs that are answered 403, whatever the method and the origin, which is not asked.
    pub refuse_urls: Vec<UrlPattern>,
    /// Which requests change what of the pages that are stored.
    pub changes: Arc<ChangeRules>,
    /// What else of the URL enters it: a site's, the same in all its rules.
    pub key: UrlKey,
    /// What becomes of cookies where the policy grants lifetimes.
    pub cookies: CookieRules,
    /// By what a page is known that may be kept.
    pub page: Arc<PageRules>,
    /// Whether pages are compared with another visitor's before they are shared.
    pub guard: Arc<GuardRules>,
    /// The rules under which that holds. The engine makes it; nothing in a configuration.
    pub guarded_as: Arc<str>,
    /// The site's hosts as its URL patterns name them. The engine makes it; nothing in a configuration.
    pub guarded_hosts: Arc<GuardedHosts>,
    /// What is known of the application's sessions.
    pub session: Arc<SessionRules>,
    /// URLs of which the links on shared pages work for nobody: they pass, with a link of the visitor's own.
    pub fresh_links: Vec<FreshLink>,
    /// How the application hears of visitors who are served from memory.
    pub beacons: Arc<BeaconRules>,
    /// Where what is known of sessions holds: whom they are asked about, and how. The engine makes it; nothing in a configuration.
    pub asked_about_sessions: u64,
    /// What is made of stored responses in content codings.
    pub compression: Arc<Compression>,
    /// From where the application may have files sent (X-Sendfile).
    pub sendfile: Arc<SendfileRules>,
    /// Where all this was written, for people.
    pub places: Places,
}

impl Route {
    /// Everything at its default, for this profile and these origins.
    pub fn new(profile: Profile, origins: Vec<Origin>) -> Self {
        Self {
            pass: false,
            origins,
            balance: Balance::default(),
            health: OriginHealth::default(),
            group: Group::default(),
            origin_host: None,
            request_buffering: None,
            origin: OriginLimits::default(),
            gateway: Gateway::default(),
            file_rate_max: 0,
            file_stored_bytes_max: 1 << 20,
            policy: Arc::new(Policy::new(profile)),
            upgrades: vec!["websocket".to_owned()],
            query: QueryKey::default(),
            pass_urls: Vec::new(),
            device_urls: DeviceUrls::default(),
            refuse_urls: Vec::new(),
            changes: Arc::default(),
            key: UrlKey::default(),
            cookies: CookieRules::default(),
            page: Arc::default(),
            guard: Arc::default(),
            guarded_as: Arc::default(),
            guarded_hosts: Arc::default(),
            session: Arc::default(),
            fresh_links: Vec::new(),
            beacons: Arc::default(),
            asked_about_sessions: 0,
            compression: Arc::default(),
            sendfile: Arc::default(),
            places: Places::default(),
        }
    }

    /// Whether the configuration says anything of visitors: what it grants is for those whom the application does not know.
    pub(crate) fn knows_visitors(&self) -> bool {
        self.policy.grant.is_granting() || !self.session.cookies.is_empty() || !self.cookies.pass.is_empty()
    }

    /// Whether a request's body of that length is to be complete before an origin is asked. In any case where a program has
    /// to be told a length that its client does not tell.
    pub(crate) fn buffers(&self, length: BodyLength) -> bool {
        let is_program = self.origins.iter().any(|origin| origin.address.is_program());
        self.request_buffering.unwrap_or(is_program) || is_program && matches!(length, BodyLength::Chunked)
    }
}

/// Where settings were written, in words for people: `kasoku.toml:12`. Empty where nobody wrote a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The site's first line.
    pub site: Option<Arc<str>>,
    /// The rule's path.
    pub rule: Option<Arc<str>>,
    /// The settings that were written, by their key (`cache.negative-ttl`): the innermost of each.
    pub settings: BTreeMap<&'static str, Arc<str>>,
}

/// How the query enters the key. What is dropped from the key is dropped from the origin's request as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueryKey {
    /// Sort the parameters by name (stable). Default false.
    pub sort: bool,
    /// Parameters that are removed, as globs over names: `utm_*`, `fbclid`. Default none.
    pub ignore: Vec<String>,
    /// Where a lifetime is granted: the parameters that pages take, as globs over names; a URL with another one passes. Empty: any.
    pub known: Vec<String>,
}

/// URLs by which a visitor chooses a version of the pages. They pass, and the choice is kept in a cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceUrls {
    /// That for small devices.
    pub mobile: Vec<UrlPattern>,
    /// The other one.
    pub desktop: Vec<UrlPattern>,
}

/// Which requests change what of the pages that are stored: those that have the tags are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// Each that is about a request counts.
    pub list: Vec<Change>,
    /// Redirections to these URLs say that nothing was changed: to a form for logging in, for one.
    pub no_change_redirects: Vec<UrlPattern>,
}

/// Requests that change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// None: any. GET stands for HEAD as well.
    pub method: Option<Method>,
    /// Their URLs, which pass.
    pub url: UrlPattern,
    /// The answers by which they change something. None: any that may mean it.
    pub answer: Option<AnswerStatus>,
    /// What they change, made of parameters of the URL, the form, and the redirection that answers it. Empty: nothing, not even the page to which
    /// their answers redirect.
    pub tags: Vec<TagTemplate>,
    /// They change all that has tags.
    pub is_all: bool,
}

impl Change {
    /// Whether such requests are known to change nothing.
    pub fn is_none(&self) -> bool {
        self.tags.is_empty() && !self.is_all
    }
}

/// A status, or a class of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// This one.
    One(StatusCode),
    /// All that begin with this digit.
    Class(u16),
}

impl AnswerStatus {
    pub(crate) fn is(self, status: StatusCode) -> bool {
        match self {
            Self::One(one) => one == status,
            Self::Class(digit) => status.as_u16() / 100 == digit,
        }
    }
}

/// How host and path enter the key. What is changed in the key is changed in the origin's request as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UrlKey {
    /// The host and port of all keys of the site, as keys spell them; none: those of each request.
    pub host: Option<String>,
    /// Parameters of path segments (`;jsessionid=1`) that are removed, before a rule is looked for: globs over names.
    pub path_parameters: Vec<String>,
}

/// What becomes of cookies that are not in the key, where a lifetime is granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CookieRules {
    /// Those that are not noise either. None: [`OtherCookies::Remove`] where some cookies are in the key, or make a request pass,
    /// else [`OtherCookies::Pass`].
    pub others: Option<OtherCookies>,
    /// Cookies that change no page, and are never sent to the origin of an answer that may be shared: globs over names.
    pub noise: Vec<String>,
    /// Cookies with which a request passes, whatever else is said of them: globs over names. Where there are some, the others
    /// are removed unless [`CookieRules::others`] says otherwise.
    pub pass: Vec<String>,
    /// Cookies that go along with each request in nobody's name.
    pub nobodys: Vec<NobodysCookie>,
}

/// By what a page is told from what an application says in its place, with the same status: that something is not there, or only for members;
/// or that it is out of order. Without texts of a page: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageRules {
    /// One of these must stand in an answer that is kept because a lifetime is granted.
    pub texts: Vec<String>,
    /// Where none of them does, one of these says that the application is out of order.
    pub outages: Vec<String>,
    /// These stand only in pages that are one visitor's, whatever else stands there.
    pub privates: Vec<String>,
}

/// How the application hears of visitors who are served from memory, so that it counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeaconRules {
    /// Path and query that are asked for in the name of such a visitor, once in a while. None: nothing is.
    pub visitor: Option<String>,
    /// How long that while is. Default 10 min.
    pub every: Duration,
    /// What is asked for with each page view, made of the parameters of the page's own query. None: nothing is.
    pub view: Option<UrlTemplate>,
    /// What a worker makes of the site's name, to know its visitors from those of others; nothing in a configuration.
    pub mark: u64,
}

impl BeaconRules {
    /// Whether there is anything to ask for.
    pub(crate) fn is_any(&self) -> bool {
        self.visitor.is_some() || self.view.is_some()
    }
}

impl Default for BeaconRules {
    fn default() -> Self {
        Self { visitor: None, every: Duration::from_secs(600), view: None, mark: 0 }
    }
}

/// What is known of an application's sessions. Without names of cookies: nothing, and the rest has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// Cookies that start a session: globs over names. A request with one of them passes, unless its session is known to be
    /// anonymous; an answer that sets one may be kept without it.
    pub cookies: Vec<String>,
    /// Cookies by whose values a visitor with a session is seen to be anonymous.
    pub anonymous_cookies: Vec<CookiePattern>,
    /// URLs that end a session: they pass.
    pub logout: Vec<UrlPattern>,
    /// URLs of requests that pass, and write into a session nothing that shared pages show: captchas, tokens, counters. What is known of the
    /// session goes on holding, if nothing else of the request or of its answer may make somebody of it.
    pub harmless_urls: Vec<UrlPattern>,
    /// URLs that leave something in a session that other pages then show, although it is nobody's. They pass or not, as they would.
    pub stateful_urls: Vec<StatefulUrl>,
    /// For how long after one of those a session is not taken for anonymous, whatever is known of it. Default 10 min.
    pub stateful_for: Duration,
    /// What tells whether a session is anonymous; none: only its cookies do.
    pub probe: Option<SessionProbe>,
    /// How long what the probe has told holds. Default 5 min.
    pub anonymous_for: Duration,
    /// A session that has done nothing but read pages for so long, and is not known to be somebody's, is expired. Zero: never.
    pub expire_after: Duration,
}

impl SessionRules {
    /// Whether a cookie of that name is a session's, or tells about one.
    pub(crate) fn is_about(&self, name: &[u8]) -> bool {
        let tells = |one: &CookiePattern| cookies::is_match(&one.name, name);
        cookies::is_any(&self.cookies, name) || self.anonymous_cookies.iter().any(tells)
    }

    /// What a cookie says of who has it: `None` where it is none that tells.
    pub(crate) fn says_anonymous(&self, pair: &[u8]) -> Option<bool> {
        if self.anonymous_cookies.is_empty() {
            return None;
        }
        let (name, value) = (cookies::name(pair), cookies::value(pair));
        let mut of_name = self.anonymous_cookies.iter().filter(|one| cookies::is_match(&one.name, name)).peekable();
        of_name.peek()?;
        Some(of_name.any(|one| cookies::is_match(&one.value, value)))
    }
}

impl Default for SessionRules {
    fn default() -> Self {
        Self {
            cookies: Vec::new(),
            anonymous_cookies: Vec::new(),
            logout: Vec::new(),
            harmless_urls: Vec::new(),
            stateful_urls: Vec::new(),
            stateful_for: Duration::from_secs(600),
            probe: None,
            anonymous_for: Duration::from_secs(300),
            expire_after: Duration::ZERO,
        }
    }
}

/// A URL that leaves something in a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatefulUrl {
    /// The URL.
    pub url: UrlPattern,
    /// The pages that show it; none: all may.
    pub shown_by: Option<UrlPattern>,
}

/// A URL of which an application makes a link for each visitor: with a parameter that holds for one session, or for a while.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FreshLink {
    /// The URL.
    pub url: UrlPattern,
    /// The page on which such a link stands, made of the parameters of the URL.
    pub page: UrlTemplate,
    /// The parameters of the URL that are made for one visitor, by their names.
    pub parameters: Vec<String>,
}

/// What an application is asked, with a session's cookies, to learn whether that session is anonymous.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionProbe {
    /// Path and query, like `/bbs/login.php`.
    pub target: String,
    /// The status of the answer to an anonymous session. Default 200.
    pub status: u16,
    /// A text that must stand in that answer, in its first mebibyte; empty: none.
    pub text: String,
}

/// A cookie with some value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CookiePattern {
    /// A glob over names.
    pub name: String,
    /// A glob over values.
    pub value: String,
}

/// See [`CookieRules::others`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OtherCookies {
    /// The request passes with all its cookies.
    Pass,
    /// They are removed, and the answer is for everybody.
    Remove,
}

impl Default for CookieRules {
    fn default() -> Self {
        Self { others: None, noise: NOISE_COOKIES.map(str::to_owned).to_vec(), pass: Vec::new(), nobodys: Vec::new() }
    }
}

/// Cookies that analytics, advertisements and networks in front of sites set, and that no application reads: Google Analytics,
/// Tag Manager and advertising, Meta, Matomo, Hotjar, Clarity, Bing, HubSpot, Yandex, LinkedIn, Pinterest, TikTok, Cloudflare. And our
/// own, which is in the key as a class where that is wanted.
pub const NOISE_COOKIES: [&str; 33] = [
    "_ga",
    "_ga_*",
    "_gid",
    "_gat",
    "_gat_*",
    "_gac_*",
    "_gcl_*",
    "_dc_gtm_*",
    "__utm*",
    "__gads",
    "__gpi",
    "__eoi",
    "_fbp",
    "_fbc",
    "_pk_*",
    "_hj*",
    "_clck",
    "_clsk",
    "_uetsid",
    "_uetvid",
    "__hstc",
    "__hssc",
    "__hssrc",
    "hubspotutk",
    "_ym_*",
    "_li_*",
    "_pin_unauth",
    "_tt_*",
    "_ttp",
    "__cf_bm",
    "_cfuvid",
    "__cflb",
    kasoku_semantics::classes::DEVICE_COOKIE,
];

/// Which content codings are made of stored responses, and of which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Whether any are made. Default true.
    pub is_enabled: bool,
    /// What a client gets of those that it likes equally: the first. Default br, zstd, gzip.
    pub codings: Vec<Coding>,
    /// Media types of which codings are made, in lower case; `*` stands for any run of characters. Default: texts, JSON, XML,
    /// JavaScript, SVG and WebAssembly.
    pub types: Vec<String>,
    /// The shortest body of which codings are made, in bytes. Default 1 KiB.
    pub bytes_min: u64,
    /// How much work goes into them.
    pub levels: CodingLevels,
    /// What a worker makes of it, to know findings by these rules from others; nothing in a configuration.
    pub mark: u64,
}

/// What [`Compression::types`] are when nobody says.
pub const CODED_TYPES: [&str; 9] = [
    "text/*",
    "application/json",
    "application/*+json",
    "application/javascript",
    "application/x-javascript",
    "application/xml",
    "application/*+xml",
    "application/wasm",
    "image/svg+xml",
];

impl Default for Compression {
    fn default() -> Self {
        Self {
            is_enabled: true,
            codings: vec![Coding::Br, Coding::Zstd, Coding::Gzip],
            types: CODED_TYPES.map(str::to_owned).to_vec(),
            bytes_min: 1 << 10,
            levels: CodingLevels::default(),
            mark: 0,
        }
    }
}

/// The limits of a memory of that size: at most this for one object, in bytes. What is not stored yet has an eighth of it.
pub const fn object_bytes_limit(memory_bytes_max: u64) -> u64 {
    memory_bytes_max / kasoku_cache::budget::RESERVED_SHARE
}

/// 1 GiB.
pub const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;
/// 64 MiB.
pub const OBJECT_BYTES_DEFAULT: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_shares_their_prefix() {
        let range = |text: &str, prefix_bits| AddressRange::Ip { address: text.parse().unwrap(), prefix_bits };
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(range("10.1.0.0", 16).contains(ip("10.1.200.3")));
        assert!(!range("10.1.0.0", 16).contains(ip("10.2.0.1")));
        assert!(range("127.0.0.1", 32).contains(ip("127.0.0.1")));
        assert!(range("127.0.0.1", 32).contains(ip("::ffff:127.0.0.1")));
        assert!(!range("127.0.0.1", 32).contains(ip("127.0.0.2")));
        assert!(range("0.0.0.0", 0).contains(ip("8.8.8.8")));
        assert!(!range("0.0.0.0", 0).contains(ip("::1")));
        assert!(range("2001:db8::", 32).contains(ip("2001:db8:1::1")));
    }
}
