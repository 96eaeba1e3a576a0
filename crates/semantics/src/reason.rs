//! Lists the reasons why the cache did what it did with a request: one enum, one table.
//!
//! Cache-Status, the log, the metrics and `kasoku explain` read this table; no other code writes explanations. An id is stable,
//! since operators search logs for it and draw graphs of it.

macro_rules! reasons {
    ($($variant:ident, $id:literal, $source:literal, $text:literal;)*) => {
        /// The rule that decided. See the [module](self).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $(#[doc = $text] $variant,)*
        }

        impl Reason {
            /// The name for machines: a token in kebab-case.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// One sentence for people.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The source of the rule: a section of an RFC or of FastCGI 1.0, `Kasoku: …` for a rule of Kasoku's own, or
            /// `configuration`.
            pub fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }

            /// All reasons, in the order of the table.
            pub fn all() -> &'static [Reason] {
                &[$(Self::$variant,)*]
            }
        }
    };
}

reasons! {
    // Look-ups.
    Hit, "hit", "RFC 9111 section 4", "A stored response is fresh and fits.";
    HitStaleWhileRevalidate, "hit-stale-while-revalidate", "RFC 5861 section 3", "A stored response is stale but may be served while a new one is fetched.";
    HitStaleError, "hit-stale-error", "RFC 5861 section 4", "The origin failed, and a stale response may stand in for its error.";
    HitStaleDisconnected, "hit-stale-disconnected", "RFC 9111 section 4.2.4", "The origin cannot be reached, and a stale response may be served meanwhile.";
    HitMemcached, "memcached", "RFC 9111 section 4", "A fresh response was in the shared tier, where this front end or another one had stored it.";
    HitRedis, "redis", "RFC 9111 section 4", "A fresh response was in the shared tier, where this front end or another one had stored it.";
    HitMaxStale, "hit-max-stale", "RFC 9111 section 5.2.1.2", "The client accepts a response that is this stale.";
    Revalidated, "revalidated", "RFC 9111 section 4.3.3", "The origin confirmed that the stored response still holds.";
    UriMiss, "uri-miss", "RFC 9111 section 4", "Nothing is stored for this URI.";
    Purged, "purged", "configuration", "The response that was stored for this URI has been purged.";
    Invalidated, "invalidated", "configuration", "The stored response was dropped because a request has changed the page.";
    KeepExceeded, "keep-exceeded", "configuration", "The stored response is older than the configuration allows (`keep`).";
    RulesChanged, "rules-changed", "configuration", "The response was stored under rules that have changed since.";
    SendfileChanged, "sendfile-changed", "configuration", "The file that the application had named was replaced or can't be read, so the application is asked again.";
    SharedItem, "shared-item", "Kasoku: the shared tier", "What the shared tier has for this URI has a field or makes a claim that no stored response has, so it is not used.";
    VaryMiss, "vary-miss", "RFC 9111 section 4.1", "No stored variant of this URI matches the request's fields.";
    PartialMiss, "partial-miss", "RFC 9111 section 3.3", "Only parts of the response are stored, and the request needs more.";
    Stale, "stale", "RFC 9111 section 4.2", "The stored response is older than its freshness lifetime.";
    StaleNoCache, "no-cache", "RFC 9111 section 5.2.2.4", "The response's no-cache demands validation before each use.";
    StaleMustRevalidate, "must-revalidate", "RFC 9111 section 5.2.2.2", "must-revalidate, proxy-revalidate or s-maxage forbids serving the response stale.";
    NoLifetime, "no-lifetime", "RFC 9111 section 4.2.4", "The response has no expiry, so it must be validated before each use.";
    ClientNoCache, "client-no-cache", "RFC 9111 section 5.2.1.4", "The client asked for validation with no-cache.";
    ClientMaxAge, "client-max-age", "RFC 9111 section 5.2.1.1", "The client asked for a younger response with max-age.";
    ClientMinFresh, "client-min-fresh", "RFC 9111 section 5.2.1.3", "The client asked for a response that stays fresh longer with min-fresh.";
    OnlyIfCachedMiss, "only-if-cached-miss", "RFC 9111 section 5.2.1.7", "The client wants a stored response only (only-if-cached), and none can be used.";
    IfRangeMiss, "if-range-miss", "RFC 9110 section 13.1.5", "The client sent If-Range, and nothing that is stored can be checked against it, so the origin answers the request.";
    RangeUnsatisfiable, "range-unsatisfiable", "RFC 9110 section 15.5.17", "The ranges lie beyond the end of the representation.";
    Collapsed, "collapsed", "RFC 9111 section 4", "Another request was already fetching this response.";

    // Passes.
    PassRule, "pass-rule", "configuration", "A rule says that this request passes the cache.";
    PassUrl, "pass-url", "configuration", "The configuration lists this URL among those that pass the cache.";
    PassTagValue, "pass-tag-value", "configuration", "A parameter that `tags` uses has a value of which no tag can be made, so the page could not be dropped.";
    PassParameter, "pass-parameter", "configuration", "The URL has a parameter that `query.known` does not list, so its effect on the page is unknown.";
    PassSession, "pass-session", "Kasoku: cookies and credentials", "The request has a session that is not known to be anonymous, so its page may be made for one visitor.";
    PassCredentialInUrl, "pass-credential-in-url", "Kasoku: cookies and credentials", "The URL has a parameter that is named like a credential, so its page may be made for one visitor.";
    PassAuthorization, "pass-authorization", "Kasoku: cookies and credentials", "The request has Authorization, so it passes: stored pages are for all visitors.";
    PassCookie, "pass-cookie", "Kasoku: cookies and credentials", "The request has a cookie that is not in the key, so it passes: stored pages are for all visitors.";
    PassField, "pass-field", "Kasoku: what is not in the key", "The request has a field that is not in the key, and the application may answer by it, so it passes.";
    Method, "method", "RFC 9111 section 3", "The cache does not store responses to this method.";
    HeadOnly, "head-only", "RFC 9110 section 9.3.2", "A response to HEAD has no content to store; it only updates a stored response.";
    OriginCondition, "origin-condition", "RFC 9111 section 4.3.2", "If-Match and If-Unmodified-Since can only be evaluated by the origin.";
    Upgrade, "upgrade", "RFC 9110 section 7.8", "The request asks for another protocol.";
    RequestBodyOnGet, "request-body-on-get", "RFC 9110 section 9.3.1", "Only the origin knows what a GET or HEAD with content means.";
    HitForMiss, "hit-for-miss", "Kasoku: one fetch for many requests", "The last response for this key could not be shared, so requests do not wait for each other.";

    // Responses that are not stored because of the request or the response.
    RequestNoStore, "request-no-store", "RFC 9111 section 5.2.1.5", "The request's no-store forbids storing the response.";
    NoStore, "no-store", "RFC 9111 section 5.2.2.5", "The response's no-store forbids storing it.";
    Private, "private", "RFC 9111 section 5.2.2.7", "The response's private says that it is for one visitor.";
    Authorization, "authorization", "RFC 9111 section 3.5", "The request carried Authorization, and the response does not say that it may be shared.";
    Cookie, "cookie", "Kasoku: cookies and credentials", "The request carried Cookie, and the response has neither s-maxage nor public with a lifetime.";
    ContentTypeMismatch, "content-type-mismatch", "Kasoku: cookies and credentials", "The path names another kind of file than Content-Type, so the response may be one visitor's page.";
    SetCookie, "set-cookie", "Kasoku: cookies and credentials", "The response sets a cookie, which belongs to one visitor.";
    CookieValueInResponse, "cookie-value-in-response", "Kasoku: cookies and credentials", "The response contains the value of a cookie that would be dropped from it, so it is for one visitor.";
    CookieValueUnchecked, "cookie-value-unchecked", "Kasoku: cookies and credentials", "The response is too long, too slow, compressed or UTF-16, so it can't be searched for the value of a dropped cookie.";
    PageTextMissing, "page-text-missing", "configuration", "The response lacks the text that marks pages to be shared (`page-text`), so it is for one client.";
    PersonalPage, "personal-page", "configuration", "The response has a text that marks pages of one visitor (`private-text`).";
    AddressInResponse, "address-in-response", "Kasoku: what is not in the key", "The response contains the client address that the anonymous request had, so it is for one visitor.";
    PageUnchecked, "page-unchecked", "configuration", "The response is too long, too slow or compressed, so it can't be searched or compared before it is shared.";
    LeakGuard, "leak-guard", "configuration", "The leak guard has found that pages of this URL pattern differ by visitor, so they are not shared.";
    LeakGuardToken, "leak-guard-token", "configuration", "The page has a value that a later request sends back, such as the token of a form, so it is not shared.";
    LeakGuardUnconfirmed, "leak-guard-unconfirmed", "configuration", "The page has a value like a token, which has to stay the same for 70 seconds before the page is shared.";
    LeakGuardPending, "leak-guard-pending", "configuration", "The leak guard does not know yet whether pages of this URL pattern differ by visitor, so this one is not shared.";
    EndlessStream, "endless-stream", "Kasoku: one fetch for many requests", "The response is an endless stream, so each client gets its own.";
    Outage, "outage", "configuration", "The response has a text by which the application says that it is out of order (`outage-text`).";
    VaryStar, "vary-star", "RFC 9111 section 4.1", "Vary: *, or a Vary with more fields than Kasoku follows, never matches another request.";
    VaryUnseen, "vary-unseen", "Kasoku: what is not in the key", "The response's Vary names a field that was not sent to the application, so it is not shared.";
    VaryChanged, "vary-changed", "RFC 9111 section 4.1", "The response's Vary names other fields than the Vary of the stored response.";
    MustUnderstand, "must-understand", "RFC 9111 section 5.2.2.3", "The response's must-understand forbids storing it, since Kasoku does not know its status code.";
    InterimStatus, "interim-status", "RFC 9111 section 3", "An interim (1xx) response is never stored.";
    StatusNotModified, "status-not-modified", "RFC 9111 section 3", "A 304 updates a stored response and is not stored itself.";
    RequestSpecificStatus, "request-specific-status", "RFC 9110 section 15.5", "The status depends on the condition, range or credentials of this one request.";
    RequestSpecificError, "request-specific-error", "Kasoku: what is not in the key", "This one request may have provoked the error, so it is not stored for others.";
    NotCacheable, "not-cacheable", "RFC 9111 section 3", "The response states no expiry, and its status is not heuristically cacheable.";
    NoExpiryNoValidator, "no-expiry-no-validator", "RFC 9111 section 3", "The response has no usable lifetime and no validator, so storing it would be of no use.";
    NoCacheNoValidator, "no-cache-no-validator", "RFC 9111 section 5.2.2.4", "The response's no-cache demands validation before each use, and it has no validator, so storing it would be of no use.";
    Expired, "expired", "RFC 9111 section 3", "The application states a lifetime of 0 and no validator, so storing the response would be of no use.";
    MultipartRange, "multipart-range", "RFC 9110 section 15.3.7.2", "A response with several ranges (multipart/byteranges) is not stored.";
    ContentRangeInvalid, "content-range-invalid", "RFC 9110 section 14.4", "The partial response has no valid Content-Range.";
    ContentRangeLength, "content-range-length", "RFC 9110 section 14.4", "Content-Range and the content disagree on the length.";
    HeadMismatch, "head-mismatch", "RFC 9111 section 4.3.5", "A HEAD showed that the stored response is no longer current.";

    Sendfile, "sendfile", "configuration", "The application named a file to send and stated no lifetime, so it is asked for each request.";
    SendfileMissing, "sendfile-missing", "configuration", "The file that the application named does not exist.";
    SendfileDenied, "sendfile-denied", "configuration", "The application named something other than a readable file below `sendfile.roots` or `sendfile.internal`.";
    SendfileFailed, "sendfile-failed", "configuration", "The file that the application named, or its directory, could not be read.";

    // Responses that are not stored because of Kasoku's limits.
    ObjectTooLarge, "object-too-large", "configuration", "The response is larger than `memory.object-bytes-max`.";
    MemoryFull, "memory-full", "configuration", "The memory for responses (`memory.size`) is used up.";

    // Failures.
    OriginUnreachable, "origin-unreachable", "RFC 9110 section 15.6.3", "No connection to the origin could be made.";
    OriginTimeoutConnect, "origin-timeout-connect", "RFC 9110 section 15.6.5", "The origin did not accept the connection in time.";
    OriginTimeoutFirstByte, "origin-timeout-first-byte", "RFC 9110 section 15.6.5", "The origin did not begin its response in time.";
    OriginTimeoutBetweenBytes, "origin-timeout-between-bytes", "RFC 9110 section 15.6.5", "The origin stopped sending in the middle of its response.";
    OriginClosedEarly, "origin-closed-early", "RFC 9112 section 8", "The origin closed the connection before its response was complete.";
    OriginMalformed, "origin-malformed", "RFC 9112 section 6.3", "The origin's response is not valid in its protocol, such as HTTP or FastCGI.";
    ProgramMalformed, "program-malformed", "RFC 3875 section 6", "The program's output does not begin with the head of a CGI response.";
    SendfileOff, "sendfile-off", "configuration", "The application named a file to send in a field that the configuration does not allow (`sendfile`).";
    SendfileMalformed, "sendfile-malformed", "configuration", "The application named several files to send, or one file in a form that Kasoku can't read.";
    OriginOverloaded, "origin-overloaded", "FastCGI 1.0 section 5.5", "The application server reported that it is overloaded.";
    ProgramNotStarted, "program-not-started", "RFC 3875 section 3.4", "The program that answers for this URL can't be run.";
    ProgramEnded, "program-ended", "RFC 3875 section 6", "The program ended before its answer was complete.";
    ProgramTimeout, "program-timeout", "configuration", "The program ran for longer than the configuration allows, and was ended.";
    OriginBusy, "origin-busy", "configuration", "All connections to the origin are taken, and none became free in time.";
    OriginQueueFull, "origin-queue-full", "configuration", "All connections to the origin are taken, and too many requests wait for one.";
    OriginDown, "origin-down", "configuration", "The origin is down: it failed several times in a row, and the last attempt or check failed as well.";
    RequestBufferFull, "request-buffer-full", "configuration", "There is no disk space left for request bodies that are not complete yet (`request-buffer`).";
    RequestBufferFailed, "request-buffer-failed", "configuration", "The request's body could not be buffered on disk.";
    ClientClosed, "client-closed", "RFC 9112 section 8", "The client went away before its response was complete.";

    // Refused requests.
    RequestMalformed, "request-malformed", "RFC 9112 section 2.2", "The request is not valid HTTP, or exceeds a limit.";
    HeadTimeout, "head-timeout", "RFC 9110 section 15.5.9", "The request's head did not arrive in time.";
    HeadMemory, "head-memory", "RFC 9110 section 15.6.4", "The request's head is long and came in parts, and there is no memory left for such heads.";
    BodyTimeout, "body-timeout", "RFC 9110 section 15.5.9", "The request's body did not arrive in time.";
    BodyTooLarge, "body-too-large", "RFC 9110 section 15.5.14", "The request's body is larger than allowed.";
    BodyMalformed, "body-malformed", "RFC 9112 section 6.3", "The request's body is malformed.";
    NoSite, "no-site", "configuration", "No site is configured for this host.";
    WrongScheme, "wrong-scheme", "RFC 9110 section 15.5.20", "The request is for https, and this connection has no TLS.";
    RefusedUrl, "refused-url", "configuration", "The configuration refuses this URL.";
    MethodRefused, "method-refused", "RFC 9110 section 15.5.6", "Kasoku does not serve this method.";
    Expectation, "expectation", "RFC 9110 section 10.1.1", "The request's Expect asks for something other than 100-continue.";
    Loop, "loop", "RFC 9110 section 7.6.3", "The request goes in a circle: its Via names Kasoku too often.";
    ClientMisses, "client-misses", "configuration", "The client's address has begun more fetches than it may (`limits.client-misses-max`).";
    Shutdown, "shutdown", "configuration", "Kasoku shut down, and the grace period ended before the response did.";
    PurgeRefused, "purge-refused", "configuration", "The sender may not purge, or the purge's target is not clear.";
}

impl Reason {
    /// Whether a response of the shared tier answered.
    pub fn is_of_the_shared_tier(self) -> bool {
        matches!(self, Self::HitMemcached | Self::HitRedis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_tokens() {
        let ids: HashSet<_> = Reason::all().iter().map(|reason| reason.id()).collect();
        assert_eq!(ids.len(), Reason::all().len());
        for id in ids {
            assert!(id.starts_with(|c: char| c.is_ascii_lowercase()), "{id}");
            assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{id}");
        }
    }

    #[test]
    fn each_has_a_sentence_and_a_source() {
        for reason in Reason::all() {
            assert!(reason.text().ends_with('.') && reason.text().len() < 120, "{}", reason.id());
            let source = reason.source();
            let known = ["Kasoku: ", "RFC ", "FastCGI 1.0 section "];
            let is_known = source == "configuration" || known.iter().any(|start| source.starts_with(start));
            assert!(is_known, "{source}");
        }
    }
}
