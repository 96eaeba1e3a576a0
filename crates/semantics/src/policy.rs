//! The caching rules that an operator may choose. Everything else follows from the RFCs.

use crate::grant::Grant;
use crate::tags::TagRules;

/// Which rules apply where the RFCs leave a shared cache room to do harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// For applications that do not know that a shared cache stands before them: stricter on cookies, credentials,
    /// heuristics and languages. The default.
    #[default]
    Safe,
    /// What the RFCs alone say.
    Rfc,
}

/// The settings that decisions of this crate depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// See [`Profile`].
    pub profile: Profile,
    /// Heuristic lifetime as a share of the time since Last-Modified, in percent (RFC 9111 section 4.2.2).
    pub heuristic_percent: u32,
    /// The longest heuristic lifetime, in seconds.
    pub heuristic_max_seconds: u64,
    /// All answers are files that lie on disk, which no program renders for a visitor: heuristic lifetimes hold for any media type,
    /// in profile safe too.
    pub is_of_files: bool,
    /// Whether `no-cache`, `max-age` and `min-fresh` of a request are honoured: if so, any client can make the origin work.
    pub client_may_revalidate: bool,
    /// Targeted cache control fields (RFC 9213) that speak to us; the first that is present and valid wins.
    pub targeted_fields: Vec<String>,
    /// The lifetime, in seconds, of a 404, 405, 410, 414 or 501 without an explicit one; 0: none. Only for requests
    /// without Cookie and Authorization.
    pub negative_ttl_seconds: u64,
    /// `stale-if-error` in seconds for responses that have none (RFC 5861 section 4).
    pub stale_if_error_seconds: u64,
    /// `stale-while-revalidate` in seconds for responses that have none (RFC 5861 section 3).
    pub stale_while_revalidate_seconds: u64,
    /// For how long past its lifetime, in seconds, a response that does not say so itself may be served: both while it is
    /// refreshed and instead of an error. Where one of the two above is longer, that one counts.
    pub grace_seconds: u64,
    /// How long past its lifetime and all that may be served stale, in seconds, a response is of use: for validation, and
    /// while the origin cannot be reached. None: as long as there is memory for it.
    pub keep_seconds: Option<u64>,
    /// The longest lifetime, in seconds, also of a response that states a longer one; 0: no bound.
    pub ttl_max_seconds: u64,
    /// Response fields that are not stored: lower case.
    pub strip_fields: Vec<String>,
    /// What responses are dropped by, besides their URLs.
    pub tags: TagRules,
    /// The lifetimes that the operator grants. A request whose answer may be shared must then be prepared as [`Grant`] says.
    pub grant: Grant,
    /// How long past its lifetime, in seconds, a response may be served while the origin cannot be reached
    /// (RFC 9111 section 4.2.4).
    pub stale_disconnected_seconds: u64,
    /// How long, in seconds at most, nobody asks for what has just failed while a stale response may answer: it is one second
    /// first, and doubles while failures go on. 0: each request asks.
    pub back_off_max_seconds: u64,
    /// The fingerprint of all rules under which responses are stored, those that are not the policy's included; set by
    /// whoever applies a configuration. What was stored under others is not used.
    pub rules: u64,
}

impl Policy {
    /// The defaults of a profile.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            heuristic_percent: 10,
            heuristic_max_seconds: 86_400,
            is_of_files: false,
            client_may_revalidate: profile == Profile::Rfc,
            targeted_fields: vec!["CDN-Cache-Control".to_owned()],
            negative_ttl_seconds: 0,
            stale_if_error_seconds: 0,
            stale_while_revalidate_seconds: 0,
            grace_seconds: 0,
            keep_seconds: None,
            ttl_max_seconds: 0,
            strip_fields: Vec::new(),
            tags: TagRules::default(),
            grant: Grant::default(),
            stale_disconnected_seconds: 86_400,
            back_off_max_seconds: 30,
            rules: 0,
        }
    }

    /// Whether the stricter rules of [`Profile::Safe`] apply.
    pub(crate) fn is_safe(&self) -> bool {
        self.profile == Profile::Safe
    }

    /// Whether what belongs to one visitor is kept from all others by our own rules, and not by the RFCs' alone: in profile
    /// safe, and wherever a lifetime is granted to responses that never said that they may be shared.
    pub fn guards_visitors(&self) -> bool {
        self.is_safe() || self.grant.is_granting()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(Profile::default())
    }
}
