//! The second table of `kasoku explain`: the facts about a message besides the [`Reason`] that decided.
//!
//! A [`Reason`] says why the cache did not answer as its operator would like. A [`Ground`] says why it could, or why a line changed
//! nothing.

use crate::Reason;

macro_rules! grounds {
    ($($variant:ident, $source:literal, $text:literal;)*) => {
        /// What is worth knowing besides the [`Reason`] that decided.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Ground {
            $(#[doc = $text] $variant,)*
        }

        impl Ground {
            /// One sentence for people.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The source of the rule: as [`Reason::source`].
            pub fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }
        }
    };
}

grounds! {
    // Lines that give a lifetime.
    Targeted, "RFC 9213 section 2.2", "A field for this cache says how long it is fresh.";
    SMaxage, "RFC 9111 section 5.2.2.10", "Its s-maxage says how long a shared cache may use it.";
    MaxAge, "RFC 9111 section 5.2.2.1", "Its max-age says how long it is fresh.";
    AccelExpires, "nginx: X-Accel-Expires", "It says to the proxy in front how long it may be kept.";
    Expires, "RFC 9111 section 5.3", "It says until when it is fresh.";
    Heuristic, "RFC 9111 section 4.2.2", "It states no expiry, so it is fresh for a share of the time since it was modified.";
    NegativeTtl, "configuration", "The configuration gives this status a lifetime.";
    MaxAgeOverruled, "RFC 9111 section 5.2.2.10", "Its max-age does not count here: s-maxage is for shared caches, and counts before it.";
    // Lines that give a lifetime of 0.
    TargetedZero, "RFC 9213 section 2.2", "The application says itself that it is expired at once, in a field for this cache.";
    SMaxageZero, "RFC 9111 section 5.2.2.10", "The application says itself that it is expired at once: its s-maxage is 0.";
    MaxAgeZero, "RFC 9111 section 5.2.2.1", "The application says itself that it is expired at once: its max-age is 0.";
    AccelExpiresZero, "nginx: X-Accel-Expires", "The application says itself that the proxy in front may not keep it.";
    ExpiresPast, "RFC 9111 section 5.3", "The application says itself that it is expired at once: this time is not later than its Date, or is no time.";
    // Lifetimes that the configuration gives, not the application.
    Ttl, "configuration", "It states no expiry, and the configuration grants it a lifetime.";
    TtlOverride, "configuration", "The configuration grants it a lifetime, in the place of what it says itself.";
    TtlStatus, "configuration", "The configuration grants a lifetime to this status.";
    TtlMin, "configuration", "The time since it was modified gives less than the least lifetime of the configuration.";
    TtlMax, "configuration", "It would be fresh for longer: the configuration bounds all lifetimes.";
    Ignored, "configuration", "The configuration says that this does not count.";
    Announced, "configuration", "Clients are told the lifetime that the configuration grants.";
    // Other facts that help.
    Validator, "RFC 9111 section 4.3", "The application can confirm it without sending it again.";
    Shared, "RFC 9111 section 3.5", "It may be shared although the request says who sent it.";
    ForAVisitor, "Kasoku: cookies and credentials", "The answer is shared only if it says so: s-maxage, or public with a lifetime.";
    StaleWhileRevalidate, "RFC 5861 section 3", "It may be served stale while it is refreshed.";
    SMaxageForbidsStale, "RFC 9111 section 5.2.2.10", "It is never served stale all the same: s-maxage forbids it.";
    StaleForbidden, "RFC 9111 section 4.2.4", "It is never served stale all the same: no-cache, must-revalidate or proxy-revalidate forbids it.";
    StaleWhileRevalidateSet, "configuration", "It may be served stale while it is refreshed.";
    StaleIfErrorSet, "configuration", "It may be served stale instead of an error.";
    Grace, "configuration", "It may be served stale while it is refreshed, and instead of an error.";
    StaleIfError, "RFC 5861 section 4", "It may be served stale instead of an error.";
    MaxStale, "RFC 9111 section 5.2.1.2", "The client accepts a stale response.";
    NamedFile, "configuration", "What is stored is that the application named this file, and which one that was: it is opened anew each time.";
    // Facts that divide a response into variants, or deny it a lifetime.
    Varies, "RFC 9111 section 4.1", "One variant is kept for each value of these request fields.";
    VariesByVisitor, "RFC 9111 section 4.1", "Nearly each visitor sends another value of such a field, and each value is a variant of its own.";
    PragmaNoCache, "RFC 9111 section 5.4", "What HTTP/1.0 calls no-cache: no lifetime is granted to it, and none guessed.";
    // How the request is read.
    TwoReadings, "configuration", "The path can be read in two ways, which lead to two rules: it passes.";
    EndsSession, "configuration", "The configuration says that this URL ends a session, of which the application has to hear: it passes.";
    LinkOfAVisitor, "configuration", "The configuration says that links to this URL are made for one visitor: it passes, with a link that the application makes for this one.";
    WritesIntoSession, "configuration", "The configuration says that this URL writes into a session what no shared page shows: it passes.";
    ChoosesMobile, "configuration", "The configuration says that this URL chooses the version for small devices: it passes.";
    ChoosesDesktop, "configuration", "The configuration says that this URL chooses the version for large devices: it passes.";
    ChangesPages, "configuration", "The configuration says that this URL changes pages: it passes, and drops what has their tags.";
    QueryIgnored, "configuration", "These parameters are left out of the key, and of the request to the application.";
    QuerySorted, "configuration", "The parameters are sorted by name in the key.";
    PathParametersStripped, "configuration", "These parameters of the path are left out of the key, and of the request to the application.";
    HostInKey, "configuration", "The configuration names the host of the key, which the application sees as well.";
    // What keeps visitors apart where a lifetime is granted.
    NotSentOn, "Kasoku: what is not in the key", "It is not sent on, so what the application answers can't depend on it.";
    FieldInKey, "configuration", "It is sent on and is in the key: each value has a variant of its own.";
    CookieInKey, "configuration", "It is sent on and is in the key: each value has a variant of its own.";
    CookieNoise, "configuration", "It counts as noise and is not sent on: what the application answers can't depend on it.";
    NotAnnounced, "configuration", "It is told to nobody: a page goes out with no-cache and Vary: Cookie, so that no browser shows it after a login.";
    CookieOfAnonymous, "configuration", "Its session is known to be anonymous, so it is not sent on: what the application answers can't depend on it.";
    CookieDropped, "configuration", "It is dropped where the page is kept: nobody gets a session from what everybody gets.";
    NoiseDropped, "configuration", "It counts as noise, and is dropped where the page is kept.";
    FormSentBack, "configuration", "What this form sends may be checked against the session that is dropped, as a token is: then the page has to pass.";
    CookieNotListed, "configuration", "It is not one with which requests pass, and is not sent on: what the application answers can't depend on it.";
    CookiePasses, "configuration", "The configuration says that requests with this cookie pass.";
    CookieRemoved, "configuration", "It is not sent on, so what the application answers can't depend on it.";
    // Lines that do not count.
    Overruled, "RFC 9213 section 2.2", "It does not count here, since there is a field for this cache.";
    ExpiresOverruled, "RFC 9111 section 5.3", "It does not count, since Cache-Control says how long it is fresh.";
    ClientIgnored, "configuration", "What the client wants of a cache does not count, or any client could make the origin work.";
}

impl Ground {
    /// Whether it says that a line is in the key.
    pub fn is_in_key(self) -> bool {
        matches!(self, Self::FieldInKey | Self::CookieInKey)
    }
}

/// Why a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The line decided, or would have.
    Reason(Reason),
    /// The line did not decide.
    Ground(Ground),
}

impl Because {
    /// One sentence for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reason(reason) => reason.text(),
            Self::Ground(ground) => ground.text(),
        }
    }

    /// The source of the rule.
    pub fn source(self) -> &'static str {
        match self {
            Self::Reason(reason) => reason.source(),
            Self::Ground(ground) => ground.source(),
        }
    }

    /// The setting that can change it, if there is one.
    pub fn setting(self) -> Option<&'static str> {
        Some(match self {
            Self::Reason(Reason::PassRule) => "pass",
            Self::Reason(Reason::ObjectTooLarge) => "memory.object-bytes-max",
            Self::Reason(Reason::MemoryFull) => "memory.size",
            Self::Reason(Reason::Cookie | Reason::SetCookie)
            | Self::Ground(Ground::ForAVisitor | Ground::PragmaNoCache) => "profile",
            Self::Reason(Reason::ClientNoCache | Reason::ClientMaxAge | Reason::ClientMinFresh)
            | Self::Ground(Ground::ClientIgnored) => "cache.client-may-revalidate",
            Self::Ground(Ground::Heuristic) => "cache.heuristic-percent",
            Self::Ground(Ground::TwoReadings) => "path",
            Self::Ground(Ground::QueryIgnored) => "query.ignore",
            Self::Ground(Ground::QuerySorted) => "query.sort",
            Self::Ground(Ground::NegativeTtl) => "cache.negative-ttl",
            Self::Ground(Ground::Ttl) => "ttl",
            Self::Ground(Ground::TtlOverride) => "ttl-override",
            Self::Ground(Ground::TtlStatus) => "ttl-status",
            Self::Ground(Ground::TtlMax) => "ttl-max",
            Self::Ground(Ground::Ignored) => "ignore",
            Self::Ground(Ground::Grace | Ground::StaleWhileRevalidateSet | Ground::StaleIfErrorSet) => "grace",
            Self::Ground(Ground::Announced | Ground::NotAnnounced) => "announce-ttl",
            Self::Reason(Reason::KeepExceeded) => "keep",
            Self::Reason(Reason::PassCookie) | Self::Ground(Ground::CookieRemoved | Ground::CookieNotListed) => {
                "cookies.others"
            }
            Self::Ground(Ground::CookieInKey) => "cookies.key",
            Self::Ground(Ground::CookiePasses) => "cookies.pass",
            Self::Ground(Ground::CookieNoise | Ground::NoiseDropped) => "cookies.noise",
            Self::Reason(Reason::PassUrl) | Self::Ground(Ground::FormSentBack) => "pass-urls",
            Self::Reason(Reason::PassParameter) => "query.known",
            Self::Reason(Reason::PassTagValue) => "tags",
            Self::Reason(Reason::PageTextMissing | Reason::PageUnchecked) => "page-text",
            Self::Reason(Reason::PersonalPage) => "private-text",
            Self::Reason(Reason::LeakGuard | Reason::LeakGuardPending) => "guard",
            Self::Reason(Reason::Outage) => "outage-text",
            Self::Reason(Reason::RefusedUrl) => "refuse-urls",
            Self::Ground(Ground::EndsSession) => "session.logout",
            Self::Ground(Ground::LinkOfAVisitor) => "fresh-links",
            Self::Ground(Ground::WritesIntoSession) => "session.harmless-urls",
            Self::Ground(Ground::ChoosesMobile | Ground::ChoosesDesktop) => "device-urls",
            Self::Ground(Ground::ChangesPages) => "changes",
            Self::Reason(Reason::PassSession | Reason::CookieValueUnchecked)
            | Self::Ground(Ground::CookieOfAnonymous | Ground::CookieDropped) => "cookies.session",
            Self::Ground(Ground::FieldInKey) => "key-fields",
            Self::Ground(Ground::PathParametersStripped) => "strip-path-parameters",
            Self::Ground(Ground::HostInKey) => "key-host",
            _ => return None,
        })
    }
}
