//! What happens to a request once its site and rule are known.

use crate::beacon_rules::BeaconRules;
use crate::change_rules::ChangeRules;
use crate::cookie_rules::CookieRules;
use crate::fresh_link::FreshLink;
use crate::gateway::Gateway;
use crate::guard_rules::GuardRules;
use crate::origin::{Balance, OriginOptions};
use crate::origin_health::OriginHealth;
use crate::origin_limits::OriginLimits;
use crate::page_rules::PageRules;
use crate::sendfile_rules::SendfileRules;
use crate::session_rules::SessionRules;
use crate::url_pattern::UrlPattern;
use kasoku_semantics::coding_rules::CodingRules;
use kasoku_semantics::effective_uri::QueryKey;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::stand_in::StandInRange;
use kasoku_wire::http1::BodyLength;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What happens to a request once its site and rule are known.
#[derive(Clone, Debug)]
pub struct Route {
    /// Whether all requests pass: no look-up, no storing. The log names the rule.
    pub pass: bool,
    /// The origins: at least one, at most [`ORIGINS_MAX`](crate::ORIGINS_MAX).
    pub origins: Vec<OriginOptions>,
    /// How requests are spread over the origins. Default: the first that can be asked.
    pub balance: Balance,
    /// When an origin counts as down, and how it is checked.
    pub health: OriginHealth,
    /// `Host` for the origin; none: the client's own.
    pub origin_host: Option<String>,
    /// Whether request bodies are complete before an origin is asked. None: only if an origin is a program.
    pub request_buffering: Option<bool>,
    /// Deadlines and bounds towards the origin.
    pub origin: OriginLimits,
    /// How URLs map to scripts and files.
    pub gateway: Gateway,
    /// How fast a file that is not stored goes to its client, in bytes per second. Default 0: no limit.
    pub file_rate_max: u64,
    /// The longest file of an origin of files that is stored, in bytes; longer ones are stored only to be
    /// compressed. Default 1 MiB.
    pub file_stored_bytes_max: u64,
    /// The caching rules.
    pub policy: Arc<Policy>,
    /// Protocols that `Upgrade` may switch to, lower case. Default `["websocket"]`.
    pub upgrades: Vec<String>,
    /// How the query enters the key.
    pub query: QueryKey,
    /// URLs of requests that pass, whatever the method.
    pub pass_urls: Vec<UrlPattern>,
    /// URLs by which a visitor chooses the version for small devices, or the other, if the key has the device.
    pub device_urls: DeviceUrls,
    /// URLs that are answered 403, whatever the method and the origin. The origin is not asked.
    pub refuse_urls: Vec<UrlPattern>,
    /// Which requests change stored pages, and which pages.
    pub changes: Arc<ChangeRules>,
    /// How host and path enter the key: the same in all rules of a site.
    pub key: UrlKey,
    /// How cookies are treated where the policy grants lifetimes.
    pub cookies: CookieRules,
    /// The addresses that anonymous requests tell in the place of a client's.
    pub stand_ins: StandInRange,
    /// The texts that mark a page which may be stored.
    pub page: Arc<PageRules>,
    /// Whether pages are compared with another visitor's before they are shared.
    pub guard: Arc<GuardRules>,
    /// The settings of the application's sessions.
    pub session: Arc<SessionRules>,
    /// URLs whose links on shared pages do not work for visitors. Requests for them pass, with a link of the visitor's own.
    pub fresh_links: Vec<FreshLink>,
    /// How the application hears of visitors who are served from memory.
    pub beacons: Arc<BeaconRules>,
    /// Which stored responses are compressed, and how.
    pub compression: Arc<CodingRules>,
    /// The directories from which the application may have files sent (X-Sendfile).
    pub sendfile: Arc<SendfileRules>,
    /// Where all this was written, for people.
    pub places: SettingLocations,
}

impl Route {
    /// A route with all settings at their defaults, for this profile and these origins.
    pub fn new(profile: Profile, origins: Vec<OriginOptions>) -> Self {
        Self {
            pass: false,
            origins,
            balance: Balance::default(),
            health: OriginHealth::default(),
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
            stand_ins: StandInRange::default(),
            page: Arc::default(),
            guard: Arc::default(),
            session: Arc::default(),
            fresh_links: Vec::new(),
            beacons: Arc::default(),
            compression: Arc::default(),
            sendfile: Arc::default(),
            places: SettingLocations::default(),
        }
    }

    /// Whether the configuration tells visitors apart, so that shared pages are only for those whom the application does not know.
    pub fn knows_visitors(&self) -> bool {
        self.policy.grant.is_granting() || !self.session.cookies.is_empty() || !self.cookies.pass.is_empty()
    }

    /// Whether a request's body of that length must be complete before an origin is asked. It always must if a program needs a
    /// length that the client does not tell.
    pub fn buffers(&self, length: BodyLength) -> bool {
        let is_program = self.origins.iter().any(|origin| origin.address.is_program());
        self.request_buffering.unwrap_or(is_program) || is_program && matches!(length, BodyLength::Chunked)
    }
}

/// Where settings were written, for people: `kasoku.toml:12`. Empty without a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingLocations {
    /// The site's first line.
    pub site: Option<Arc<str>>,
    /// The rule's path.
    pub rule: Option<Arc<str>>,
    /// The place of each setting that was written, by its key (`cache.negative-ttl`): the innermost one.
    pub settings: BTreeMap<&'static str, Arc<str>>,
}

/// How host and path enter the key. A change of the key also changes the request to the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UrlKey {
    /// The host and port in all keys of the site, spelled as in keys; none: those of each request.
    pub host: Option<String>,
    /// Parameters of path segments (`;jsessionid=1`) that are removed before a rule is chosen: globs over names.
    pub path_parameters: Vec<String>,
}

/// URLs by which a visitor chooses a version of the pages. Requests for them pass, and a cookie keeps the choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceUrls {
    /// URLs that choose the version for small devices.
    pub mobile: Vec<UrlPattern>,
    /// URLs that choose the other version.
    pub desktop: Vec<UrlPattern>,
}
