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
    HitMaxStale, "hit-max-stale", "RFC 9111 section 5.2.1.2", "The client accepts a response that is this stale.";
    Revalidated, "revalidated", "RFC 9111 section 4.3.3", "The origin confirmed that the stored response still holds.";
    UriMiss, "uri-miss", "RFC 9111 section 4", "Nothing is stored for this URI.";
    Purged, "purged", "configuration", "What was stored for this URI has been purged.";
    Invalidated, "invalidated", "configuration", "What was stored for this URI has been dropped: a request has changed what it shows.";
    KeepExceeded, "keep-exceeded", "configuration", "What is stored is older than the configuration wants to keep it.";
    RulesChanged, "rules-changed", "configuration", "What is stored for this URI was stored under rules that have changed since.";
    SendfileChanged, "sendfile-changed", "configuration", "The file that the application had named was replaced or can't be read: the application is asked again.";
    VaryMiss, "vary-miss", "RFC 9111 section 4.1", "Something is stored for this URI, but no variant fits the request's fields.";
    PartialMiss, "partial-miss", "RFC 9111 section 3.3", "Parts are stored, but not all that the request needs.";
    Stale, "stale", "RFC 9111 section 4.2", "The stored response is older than its freshness lifetime.";
    StaleNoCache, "no-cache", "RFC 9111 section 5.2.2.4", "The response's no-cache demands validation before each use.";
    StaleMustRevalidate, "must-revalidate", "RFC 9111 section 5.2.2.2", "must-revalidate, proxy-revalidate or s-maxage forbids to serve it stale.";
    NoLifetime, "no-lifetime", "RFC 9111 section 4.2.4", "The response has no expiry, so it can only be used when validated.";
    ClientNoCache, "client-no-cache", "RFC 9111 section 5.2.1.4", "The client asked for validation with no-cache.";
    ClientMaxAge, "client-max-age", "RFC 9111 section 5.2.1.1", "The client asked for a younger response with max-age.";
    ClientMinFresh, "client-min-fresh", "RFC 9111 section 5.2.1.3", "The client asked for a response that stays fresh longer with min-fresh.";
    OnlyIfCachedMiss, "only-if-cached-miss", "RFC 9111 section 5.2.1.7", "The client wanted a stored response only, and there is none it may have.";
    IfRangeMiss, "if-range-miss", "RFC 9110 section 13.1.5", "The client's If-Range names another representation, so it gets the whole.";
    RangeUnsatisfiable, "range-unsatisfiable", "RFC 9110 section 15.5.17", "The ranges lie beyond the end of the representation.";
    Collapsed, "collapsed", "RFC 9111 section 4", "Another request was already fetching this response.";

    // Passes.
    PassRule, "pass-rule", "configuration", "A rule says that this request passes the cache.";
    PassUrl, "pass-url", "configuration", "The configuration lists this URL among those that pass the cache.";
    PassTagValue, "pass-tag-value", "configuration", "A parameter by which such pages are dropped has a value that is not written in the plain way.";
    PassParameter, "pass-parameter", "configuration", "The URL has a parameter that the configuration does not list for such pages: what it does is not known.";
    PassSession, "pass-session", "Kasoku: cookies and credentials", "The request carries a session that is not known to be anonymous: its page is its visitor's.";
    PassCredentialInUrl, "pass-credential-in-url", "Kasoku: cookies and credentials", "The URL has a parameter that is named like a credential: its page is its visitor's.";
    PassAuthorization, "pass-authorization", "Kasoku: cookies and credentials", "Here a request with Authorization passes: what is kept is for everybody.";
    PassCookie, "pass-cookie", "Kasoku: cookies and credentials", "Here a request with a cookie that is not in the key passes: what is kept is for everybody.";
    Method, "method", "RFC 9111 section 3", "The method is one whose responses the cache does not keep.";
    HeadOnly, "head-only", "RFC 9110 section 9.3.2", "A response to HEAD has no content to store; it only updates what is stored.";
    OriginCondition, "origin-condition", "RFC 9111 section 4.3.2", "If-Match and If-Unmodified-Since can only be evaluated by the origin.";
    Upgrade, "upgrade", "RFC 9110 section 7.8", "The request asks for another protocol.";
    RequestBodyOnGet, "request-body-on-get", "RFC 9110 section 9.3.1", "A GET or HEAD with content means something that only the origin knows.";
    HitForMiss, "hit-for-miss", "Kasoku: one fetch for many requests", "The last response for this key could not be shared, so requests do not wait for each other.";

    // Responses that are not stored because of the request or the response.
    RequestNoStore, "request-no-store", "RFC 9111 section 5.2.1.5", "The request's no-store forbids storing the response.";
    NoStore, "no-store", "RFC 9111 section 5.2.2.5", "The response's no-store forbids storing it.";
    Private, "private", "RFC 9111 section 5.2.2.7", "The response is private to one visitor.";
    Authorization, "authorization", "RFC 9111 section 3.5", "The request carried Authorization, and the response does not say that it may be shared.";
    Cookie, "cookie", "Kasoku: cookies and credentials", "The request carried Cookie, and the response has neither s-maxage nor public with a lifetime.";
    ContentTypeMismatch, "content-type-mismatch", "Kasoku: cookies and credentials", "The path names a kind of file that this is not: it may be one visitor's page.";
    SetCookie, "set-cookie", "Kasoku: cookies and credentials", "The response sets a cookie, which belongs to one visitor.";
    CookieValueInResponse, "cookie-value-in-response", "Kasoku: cookies and credentials", "The value of a cookie that would be dropped stands in the response: it is one visitor's.";
    CookieValueUnchecked, "cookie-value-unchecked", "Kasoku: cookies and credentials", "The response is too long, too slow, coded or in UTF-16: it can't be looked through for the value of a cookie to drop.";
    PageTextMissing, "page-text-missing", "configuration", "The response lacks the text that marks such pages: only the client that asked gets it.";
    PersonalPage, "personal-page", "configuration", "The response has a text that marks pages of one visitor.";
    PageUnchecked, "page-unchecked", "configuration", "The answer is too long, too slow or coded: it can't be looked through for the text of a page.";
    LeakGuard, "leak-guard", "configuration", "Pages of this URL pattern differ by visitor, as a comparison has found: they are not shared.";
    LeakGuardPending, "leak-guard-pending", "configuration", "It is not known yet whether pages of this URL pattern differ by visitor: this one is not shared.";
    EndlessStream, "endless-stream", "Kasoku: one fetch for many requests", "The response is a stream without an end: each client gets one of its own.";
    Outage, "outage", "configuration", "The response is the one that the application gives during an outage.";
    VaryStar, "vary-star", "RFC 9111 section 4.1", "Vary: * (or more fields than we follow) never matches another request.";
    VaryChanged, "vary-changed", "RFC 9111 section 4.1", "The origin now varies by other fields than the stored response was keyed by.";
    MustUnderstand, "must-understand", "RFC 9111 section 5.2.2.3", "must-understand, and the status code is not one we understand.";
    InterimStatus, "interim-status", "RFC 9111 section 3", "An interim (1xx) response is never stored.";
    StatusNotModified, "status-not-modified", "RFC 9111 section 3", "A 304 updates what is stored and is not stored itself.";
    RequestSpecificStatus, "request-specific-status", "RFC 9110 section 15.5", "The status answers this one request's condition, range or credentials.";
    RequestSpecificError, "request-specific-error", "Kasoku: what is not in the key", "An error that one odd request may have provoked is not kept for others.";
    NotCacheable, "not-cacheable", "RFC 9111 section 3", "No expiry, no public, and a status that is not heuristically cacheable.";
    NoExpiryNoValidator, "no-expiry-no-validator", "RFC 9111 section 3", "Neither fresh nor possible to validate: storing it would be of no use.";
    Expired, "expired", "RFC 9111 section 3", "The application says itself that it is expired at once, and it has no validator: storing it would be of no use.";
    MultipartRange, "multipart-range", "RFC 9110 section 15.3.7.2", "A response with several ranges in one is not stored.";
    ContentRangeInvalid, "content-range-invalid", "RFC 9110 section 14.4", "A partial response without a valid Content-Range.";
    ContentRangeLength, "content-range-length", "RFC 9110 section 14.4", "Content-Range and the content disagree on the length.";
    HeadMismatch, "head-mismatch", "RFC 9111 section 4.3.5", "A HEAD showed that the stored response is no longer current.";

    Sendfile, "sendfile", "configuration", "The application named a file to be sent, and no lifetime of that: it is asked each time.";
    SendfileMissing, "sendfile-missing", "configuration", "The file that the application named to be sent is not there.";
    SendfileDenied, "sendfile-denied", "configuration", "What the application named to be sent is no readable file in a directory that is set for it.";
    SendfileFailed, "sendfile-failed", "configuration", "The file that the application named, or its directory, could not be read.";

    // Responses that are not stored because of Kasoku's limits.
    ObjectTooLarge, "object-too-large", "configuration", "The response is larger than the largest that is kept.";
    MemoryFull, "memory-full", "configuration", "The memory budget is used up.";

    // Failures.
    OriginUnreachable, "origin-unreachable", "RFC 9110 section 15.6.3", "No connection to the origin could be made.";
    OriginTimeoutConnect, "origin-timeout-connect", "RFC 9110 section 15.6.5", "The origin did not accept the connection in time.";
    OriginTimeoutFirstByte, "origin-timeout-first-byte", "RFC 9110 section 15.6.5", "The origin did not begin its response in time.";
    OriginTimeoutBetweenBytes, "origin-timeout-between-bytes", "RFC 9110 section 15.6.5", "The origin stopped sending in the middle of its response.";
    OriginClosedEarly, "origin-closed-early", "RFC 9112 section 8", "The origin closed the connection before its response was complete.";
    OriginMalformed, "origin-malformed", "RFC 9112 section 6.3", "The origin's response is not valid in the protocol that it speaks.";
    ProgramMalformed, "program-malformed", "RFC 3875 section 6", "What the program printed is not the head of a CGI response.";
    SendfileOff, "sendfile-off", "configuration", "The application named a file to be sent, and it is not set from where any may be.";
    SendfileMalformed, "sendfile-malformed", "configuration", "The application named a file to be sent in a way that can't be understood, or several.";
    OriginOverloaded, "origin-overloaded", "FastCGI 1.0 section 5.5", "The application server said that it has too much to do.";
    ProgramNotStarted, "program-not-started", "RFC 3875 section 3.4", "The program that answers for this URL can't be run.";
    ProgramEnded, "program-ended", "RFC 3875 section 6", "The program ended before its answer was complete.";
    ProgramTimeout, "program-timeout", "configuration", "The program ran for longer than it may, and was ended.";
    OriginBusy, "origin-busy", "configuration", "All connections to the origin are taken, and none became free in time.";
    OriginQueueFull, "origin-queue-full", "configuration", "All connections to the origin are taken, and too many requests wait for one.";
    OriginDown, "origin-down", "configuration", "The origin is down: it failed several times in a row, and the last attempt or check failed as well.";
    RequestBufferFull, "request-buffer-full", "configuration", "There is no room left on disk for bodies of requests that are not complete yet.";
    RequestBufferFailed, "request-buffer-failed", "configuration", "The request's body could not be kept on disk until it was complete.";
    ClientClosed, "client-closed", "RFC 9112 section 8", "The client went away before its response was complete.";

    // Refused requests.
    RequestMalformed, "request-malformed", "RFC 9112 section 2.2", "The request is not valid HTTP, or more than is allowed.";
    HeadTimeout, "head-timeout", "RFC 9110 section 15.5.9", "The request's head did not arrive in time.";
    HeadMemory, "head-memory", "RFC 9110 section 15.6.4", "The request's head is long and came in parts, and there is no memory left for such heads.";
    BodyTimeout, "body-timeout", "RFC 9110 section 15.5.9", "The request's body did not arrive in time.";
    BodyTooLarge, "body-too-large", "RFC 9110 section 15.5.14", "The request's body is larger than allowed.";
    BodyMalformed, "body-malformed", "RFC 9112 section 6.3", "The request's body is malformed.";
    NoSite, "no-site", "configuration", "No site is configured for this host.";
    WrongScheme, "wrong-scheme", "RFC 9110 section 15.5.20", "The request is for https, and this connection has no TLS.";
    RefusedUrl, "refused-url", "configuration", "The configuration refuses this URL.";
    MethodRefused, "method-refused", "RFC 9110 section 15.5.6", "This method is not served.";
    Expectation, "expectation", "RFC 9110 section 10.1.1", "Nothing but 100-continue can be expected.";
    Loop, "loop", "RFC 9110 section 7.6.3", "The request goes in a circle: Via names Kasoku too often.";
    Shutdown, "shutdown", "configuration", "Kasoku shut down, and the grace period ended before the response did.";
    PurgeRefused, "purge-refused", "configuration", "The sender may not purge, or the purge's target is not clear.";
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
