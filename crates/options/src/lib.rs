//! The options of the program: all that an operator can set, resolved and checked.
//!
//! `kasoku-config` makes these values from TOML and flags, and is the only place that knows their names in a file. An embedding
//! program or a test makes them by hand. Each bound of the program has its default here. Units are in the names; a `Duration`
//! carries its own. How the engine prepares them for serving is not decided here.

mod anonymous_cookie;
mod beacon_rules;
mod change_rules;
mod cookie_rules;
mod disk;
mod file_rules;
mod fresh_link;
mod gateway;
pub mod glob;
mod guard_rules;
mod hit_headers;
pub mod host;
mod limits;
mod listener;
mod logs;
mod options;
mod origin;
mod origin_address;
mod origin_health;
mod origin_limits;
mod page_rules;
mod path_glob;
mod peers;
mod rewrite;
mod route;
mod sendfile_rules;
mod session_rules;
mod shared;
mod site;
mod spawned_program;
mod traces;
pub mod url_pattern;
pub mod url_template;

pub use anonymous_cookie::{AnonymousCookie, AnonymousCookieError};
pub use beacon_rules::BeaconRules;
pub use change_rules::{AnswerStatus, ChangeAnswer, ChangeProof, ChangeRule, ChangeRules, Credentials};
pub use cookie_rules::{CookieRules, NOISE_COOKIES, OtherCookies};
pub use disk::{DISK_BYTES_DEFAULT, DISK_BYTES_MIN, DiskAdmission, DiskTier};
pub use file_rules::{FileRules, SOURCE_SUFFIXES, Symlinks};
pub use fresh_link::FreshLink;
pub use gateway::{Gateway, PATH_PLACEHOLDER};
pub use glob::Glob;
pub use guard_rules::{GuardCookie, GuardRules};
pub use hit_headers::HitHeaders;
pub use host::HostPattern;
pub use kasoku_semantics::coding::{Coding, CodingLevels};
pub use kasoku_semantics::coding_rules::{CODED_TYPES, CodingRules};
pub use kasoku_semantics::effective_uri::QueryKey;
pub use kasoku_semantics::empty_token::EmptyToken;
pub use kasoku_semantics::tags::{TagRules, TagTemplate, TemplateError};
pub use limits::ClientLimits;
pub use listener::{AddressRange, ListenAddress, Listener};
pub use logs::{AccessLogOptions, LogFormat, LogTarget, ProgramLog};
pub use options::{
    ControlSocket, MEMORY_BYTES_DEFAULT, OBJECT_BYTES_DEFAULT, Options, RESERVED_SHARE, RequestBuffer,
    object_bytes_limit,
};
pub use origin::{Balance, ORIGINS_MAX, OriginOptions};
pub use origin_address::{OriginAddress, OriginEndpoint};
pub use origin_health::OriginHealth;
pub use origin_limits::{OriginLimits, ProgramLimits, UMASK_DEFAULT};
pub use page_rules::PageRules;
pub use path_glob::PathGlob;
pub use peers::{PEERS_MAX, PeerAddress, Peers};
pub use rewrite::{REWRITES_MAX, Rewrite, RewriteError, Rewriter, rewritten};
pub use route::{DeviceUrls, Route, SettingLocations, UrlKey};
pub use sendfile_rules::SendfileRules;
pub use session_rules::{CookiePattern, SessionProbe, SessionRules, StatefulUrl};
pub use shared::{
    MEMCACHED_PORT, REDIS_ADDRESSES_MAX, REDIS_PORT, RedisAddress, RedisClientCertificate, RedisServers,
    SHARED_SERVERS_MAX, SHARED_WEIGHT_MAX, ServerDown, SharedEndpoint, SharedRing, SharedServer, SharedServers,
    SharedTier,
};
pub use site::{Rule, Site};
pub use spawned_program::SpawnedProgram;
pub use traces::{Parents, Traces};
pub use url_pattern::UrlPattern;
pub use url_template::{UrlTemplate, UrlTemplateError};
