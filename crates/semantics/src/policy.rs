//! Defines the caching rules that an operator may choose. All other rules follow from the RFCs.

use crate::grant::Grant;
use crate::tags::TagRules;

/// Which rules apply where the RFCs leave a shared cache room to do harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// For applications that do not know that a shared cache stands before them: stricter on cookies, credentials,
    /// heuristics and languages. The default.
    #[default]
    Safe,
    /// The rules of the RFCs alone.
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
    /// Whether all responses are files on disk, which no program makes for a visitor. Then heuristic lifetimes apply to any media
    /// type, in profile safe too.
    pub is_of_files: bool,
    /// Whether `no-cache`, `max-age` and `min-fresh` of a request are honoured: if so, any client can make the origin work.
    pub client_may_revalidate: bool,
    /// The targeted cache control fields (RFC 9213) that apply to this cache; the first that is present and valid wins.
    pub targeted_fields: Vec<String>,
    /// The lifetime, in seconds, of a 404, 405, 410, 414 or 501 without an explicit one; 0: none. Only for requests
    /// without Cookie and Authorization.
    pub negative_ttl_seconds: u64,
    /// Grace: how long past its lifetime, in seconds, a response may be served while it is refreshed and instead of an error, if it
    /// has no directive of its own for that (`stale-while-revalidate` and `stale-if-error`, RFC 5861).
    pub grace_seconds: u64,
    /// Keep: how long, in seconds, a response is kept after its lifetime and its time of being served stale, for validation and
    /// while the origin cannot be reached. `None`: as long as there is memory for it.
    pub keep_seconds: Option<u64>,
    /// The longest lifetime, in seconds, also of a response that states a longer one; 0: no bound.
    pub ttl_max_seconds: u64,
    /// Names of response fields that are not stored, in lower case.
    pub strip_fields: Vec<String>,
    /// The tags by which responses are dropped, besides their URLs.
    pub tags: TagRules,
    /// The lifetimes that the operator grants. The caller must then prepare a request whose response may be shared as [`Grant`]
    /// says.
    pub grant: Grant,
    /// How long past its lifetime, in seconds, a response may be served while the origin cannot be reached
    /// (RFC 9111 section 4.2.4).
    pub stale_disconnected_seconds: u64,
    /// The longest back-off after a failed fetch, in seconds: meanwhile a stale response answers, if one may, and the origin is not
    /// asked. The first back-off is one second, and each further failure doubles it. 0: no back-off.
    pub back_off_max_seconds: u64,
    /// The fingerprint of all rules under which responses are stored, including those outside of this policy. The code that applies
    /// a configuration sets it. A response that was stored under another fingerprint is not used.
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

    /// Whether Kasoku's own rules, and not the RFCs' alone, keep one visitor's responses from all others: in profile safe, and
    /// wherever a lifetime is granted to responses that do not say that they may be shared.
    pub fn protects_visitors(&self) -> bool {
        self.is_safe() || self.grant.is_granting()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(Profile::default())
    }
}
