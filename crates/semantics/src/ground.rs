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
    Targeted, "RFC 9213 section 2.2", "This field is for caches such as Kasoku, and states the lifetime.";
    SMaxage, "RFC 9111 section 5.2.2.10", "s-maxage states the lifetime for shared caches.";
    MaxAge, "RFC 9111 section 5.2.2.1", "max-age states the lifetime.";
    AccelExpires, "nginx: X-Accel-Expires", "This field states the lifetime for the proxy in front of the application.";
    Expires, "RFC 9111 section 5.3", "Expires states until when the response is fresh.";
    Heuristic, "RFC 9111 section 4.2.2", "The response states no expiry, so its lifetime is a share of the time since it was modified.";
    NegativeTtl, "configuration", "The configuration gives this status a lifetime.";
    MaxAgeOverruled, "RFC 9111 section 5.2.2.10", "max-age does not count: s-maxage, which is for shared caches, overrules it.";
    // Lines that give a lifetime of 0.
    TargetedZero, "RFC 9213 section 2.2", "The application itself states a lifetime of 0, in this field for caches such as Kasoku.";
    SMaxageZero, "RFC 9111 section 5.2.2.10", "The application itself states a lifetime of 0: s-maxage is 0.";
    MaxAgeZero, "RFC 9111 section 5.2.2.1", "The application itself states a lifetime of 0: max-age is 0.";
    AccelExpiresZero, "nginx: X-Accel-Expires", "The application itself says that the proxy in front may not store the response.";
    ExpiresPast, "RFC 9111 section 5.3", "The application itself states a lifetime of 0: Expires is not later than Date, or is not a valid time.";
    // Lifetimes that the configuration gives, not the application.
    Ttl, "configuration", "The response states no expiry, and the configuration grants it a lifetime.";
    TtlOverride, "configuration", "The configuration grants a lifetime in place of what the response states.";
    TtlStatus, "configuration", "The configuration grants a lifetime to this status.";
    SoftError, "Kasoku: soft errors", "The response is unlike the good ones of its URL pattern, or has the words of a failing program. It may be an error that says 200, so it lives for seconds.";
    TtlMax, "configuration", "The lifetime is cut to the configuration's limit for all lifetimes.";
    Ignored, "configuration", "The configuration says that this does not count.";
    Announced, "configuration", "Clients are told the lifetime that the configuration grants.";
    // Other facts that help.
    Validator, "RFC 9111 section 4.3", "With this validator, the application can confirm the response without sending it again.";
    Shared, "RFC 9111 section 3.5", "The response may be shared although the request has Authorization or a cookie.";
    ForAVisitor, "Kasoku: cookies and credentials", "The answer is shared only if it says so: s-maxage, or public with a lifetime.";
    StaleWhileRevalidate, "RFC 5861 section 3", "The response may be served stale while it is refreshed.";
    SMaxageForbidsStale, "RFC 9111 section 5.2.2.10", "The response is still never served stale, because s-maxage forbids that.";
    StaleForbidden, "RFC 9111 section 4.2.4", "The response is still never served stale: no-cache, must-revalidate or proxy-revalidate forbids that.";
    Grace, "configuration", "The response may be served stale while it is refreshed, and instead of an error.";
    StaleIfError, "RFC 5861 section 4", "The response may be served stale instead of an error.";
    MaxStale, "RFC 9111 section 5.2.1.2", "The client accepts a stale response.";
    NamedFile, "configuration", "The stored response holds only the name and the identity of this file; Kasoku opens the file for each request.";
    // Facts that divide a response into variants, or deny it a lifetime.
    Varies, "RFC 9111 section 4.1", "One variant is kept for each value of these request fields.";
    VariesByVisitor, "RFC 9111 section 4.1", "Nearly every visitor sends another value of such a field, and each value has its own variant.";
    // How the request is read.
    TwoReadings, "configuration", "The path can be read in two ways, which lead to two rules, so the request passes.";
    EndsSession, "configuration", "The configuration says that this URL ends a session: the request passes, so that the application ends it.";
    LinkOfAVisitor, "configuration", "The configuration says that links to this URL are made for one visitor: the request passes, with a link made for this visitor.";
    WritesIntoSession, "configuration", "The configuration says that this URL changes nothing in the session that a shared page shows: the request passes.";
    ChoosesMobile, "configuration", "The configuration says that this URL chooses the version for small devices: the request passes.";
    ChoosesDesktop, "configuration", "The configuration says that this URL chooses the version for large devices: the request passes.";
    ChangesPages, "configuration", "The configuration says that this URL changes pages: the request passes, and drops the pages with their tags.";
    QueryIgnored, "configuration", "These parameters are left out of the key, and of the request to the application.";
    QuerySorted, "configuration", "The parameters are sorted by name in the key.";
    PathParametersStripped, "configuration", "These parameters of the path are left out of the key, and of the request to the application.";
    HostInKey, "configuration", "The configuration sets this host in the key and in the request to the application.";
    // What keeps visitors apart where a lifetime is granted.
    NotSentOn, "Kasoku: what is not in the key", "This field is not sent to the application, so the answer can't depend on it.";
    AcceptClass, "Kasoku: what is not in the key", "Of this field, the application is told only whether the client opens a page: browsers send it whatever they request.";
    FieldInKey, "configuration", "This field is sent to the application and is in the key: each value has its own variant.";
    CookieInKey, "configuration", "This cookie is sent to the application and is in the key: each value has its own variant.";
    CookieNoise, "configuration", "This cookie is noise and is not sent to the application, so the answer can't depend on it.";
    CookieOfForms, "Kasoku: what is not in the key", "By its name, the application reads this cookie where a form is sent. Pages with its token pass with it; to others it is not sent, so they can't depend on it.";
    NotAnnounced, "configuration", "Clients are not told this lifetime: pages go out with no-cache and Vary: Cookie, so that no browser shows one after a login.";
    CookieOfAnonymous, "configuration", "The session of this cookie is known to be anonymous. The cookie is not sent to the application, so the answer can't depend on it.";
    CookieDropped, "configuration", "This cookie is dropped when the page is stored, so that no visitor gets a session from a shared page.";
    CookieDeleted, "RFC 6265 section 5.3", "The application deletes this cookie. The page is stored without that line, and requests with the cookie pass.";
    NoiseDropped, "configuration", "This cookie is noise, and is dropped when the page is stored.";
    FormSentBack, "configuration", "The application may check this form against the session that is dropped, as with a token. Then the page has to pass.";
    CookiePasses, "configuration", "The configuration says that requests with this cookie pass.";
    CookieRemoved, "configuration", "`cookies.others` says that this cookie is removed. It is not sent to the application, so the answer can't depend on it.";
    // Why the shared tier has no answer.
    SharedAway, "Kasoku: the shared tier", "No server may be asked for it: the one that would have it has failed, or its log of purges is not known.";
    SharedFailed, "Kasoku: the shared tier", "The server did not answer in time, or failed.";
    SharedAbsent, "Kasoku: the shared tier", "The server has nothing of this name.";
    SharedDamaged, "Kasoku: the shared tier", "What the server has is damaged, forged, or not complete, so it is not used.";
    SharedUnreadable, "Kasoku: the shared tier", "What the server has is not in the format of the shared tier, or is of another URI, so it is not used.";
    SharedUnordered, "Kasoku: the shared tier", "It can't be told which purges came after what the server has, so it is not used.";
    // Lines that do not count.
    Overruled, "RFC 9213 section 2.2", "This line does not count: the field for caches such as Kasoku overrules it.";
    ExpiresOverruled, "RFC 9111 section 5.3", "Expires does not count: Cache-Control states the lifetime.";
    ClientIgnored, "configuration", "Kasoku ignores what the client asks of caches: otherwise any client could make the origin work.";
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
            Self::Reason(Reason::Cookie | Reason::SetCookie) | Self::Ground(Ground::ForAVisitor) => "profile",
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
            Self::Ground(Ground::Grace) => "grace",
            Self::Ground(Ground::Announced | Ground::NotAnnounced) => "announce-ttl",
            Self::Reason(Reason::KeepExceeded) => "keep",
            Self::Reason(Reason::PassCookie) | Self::Ground(Ground::CookieRemoved) => "cookies.others",
            Self::Ground(Ground::CookieInKey) => "cookies.key",
            Self::Ground(Ground::CookiePasses) => "cookies.pass",
            Self::Ground(Ground::CookieNoise | Ground::NoiseDropped) => "cookies.noise",
            Self::Reason(Reason::PassUrl) | Self::Ground(Ground::FormSentBack) => "pass-urls",
            Self::Reason(Reason::PassParameter) => "query.known",
            Self::Reason(Reason::PassTagValue) => "tags",
            Self::Reason(Reason::PageTextMissing | Reason::PageUnchecked) => "page-text",
            Self::Reason(Reason::PersonalPage) => "private-text",
            Self::Reason(
                Reason::LeakGuard | Reason::LeakGuardToken | Reason::LeakGuardUnconfirmed | Reason::LeakGuardPending,
            )
            | Self::Ground(Ground::CookieOfForms) => "guard",
            Self::Reason(Reason::Outage) => "outage-text",
            Self::Reason(Reason::RefusedUrl) => "refuse-urls",
            Self::Ground(Ground::EndsSession) => "session.logout",
            Self::Ground(Ground::LinkOfAVisitor) => "fresh-links",
            Self::Ground(Ground::WritesIntoSession) => "session.harmless-urls",
            Self::Ground(Ground::ChoosesMobile | Ground::ChoosesDesktop) => "device-urls",
            Self::Ground(Ground::ChangesPages) => "changes",
            Self::Reason(Reason::PassSession | Reason::CookieValueUnchecked)
            | Self::Ground(Ground::CookieOfAnonymous | Ground::CookieDropped) => "cookies.session",
            Self::Reason(Reason::PassField | Reason::VaryUnseen) | Self::Ground(Ground::FieldInKey) => "key-fields",
            Self::Ground(Ground::PathParametersStripped) => "strip-path-parameters",
            Self::Ground(Ground::HostInKey) => "key-host",
            _ => return None,
        })
    }
}
