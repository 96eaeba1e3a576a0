//! Reads the cache directives of a request, and decides whether the cache may answer it at all.

use crate::Reason;
use http::Method;
use kasoku_wire::field::cache_control::{Directive, directives};
use kasoku_wire::field::list;
use kasoku_wire::{Fields, RequestHead};

/// The cache directives of a request (RFC 9111 section 5.2.1, RFC 5861 section 4). Durations in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// The client wants a validation.
    pub no_cache: bool,
    /// The client wants neither the request nor the response to be stored.
    pub no_store: bool,
    /// The client wants a stored response or none.
    pub only_if_cached: bool,
    /// The highest age that the client accepts.
    pub max_age: Option<u64>,
    /// How long the response must stay fresh.
    pub min_fresh: Option<u64>,
    /// How stale a response the client accepts; [`u64::MAX`] when it accepts any.
    pub max_stale: Option<u64>,
    /// How stale a response the client accepts instead of an error.
    pub stale_if_error: Option<u64>,
}

/// Reads Cache-Control, or Pragma in a request without Cache-Control.
pub fn request_directives(fields: &Fields) -> RequestDirectives {
    let mut all = RequestDirectives::default();
    if !fields.contains("cache-control") {
        // Pragma is read as RFC 9111 section 5.4 describes HTTP/1.0 clients' use of it.
        all.no_cache = list::members(fields, "pragma").any(|member| member.eq_ignore_ascii_case(b"no-cache"));
        return all;
    }
    for directive in directives(fields, "cache-control") {
        all.add(&directive);
    }
    all
}

impl RequestDirectives {
    fn add(&mut self, directive: &Directive<'_>) {
        let seconds = directive.seconds();
        let shorter = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
        match directive {
            one if one.is("no-cache") => self.no_cache = true,
            one if one.is("no-store") => self.no_store = true,
            one if one.is("only-if-cached") => self.only_if_cached = true,
            one if one.is("max-age") => self.max_age = shorter(self.max_age, seconds.unwrap_or(0)),
            one if one.is("max-stale") && one.argument.is_none() => {
                self.max_stale = self.max_stale.or(Some(u64::MAX));
            }
            one if one.is("max-stale") => self.max_stale = shorter(self.max_stale, seconds.unwrap_or(0)),
            one if one.is("stale-if-error") => self.stale_if_error = shorter(self.stale_if_error, seconds.unwrap_or(0)),
            one if one.is("min-fresh") => self.min_fresh = self.min_fresh.max(seconds),
            _ => {}
        }
    }
}

/// Whether a stored response may answer the request at all; this depends on the request alone.
pub fn may_look_up(request: &RequestHead) -> Result<(), Reason> {
    //= RFC 9111 section 4
    //# A cache MUST write through requests with methods that are unsafe
    if request.method != Method::GET && request.method != Method::HEAD {
        return Err(Reason::Method);
    }
    //= RFC 9111 section 4.3.2
    //# A cache MUST NOT evaluate conditional header fields that only apply to an origin server, occur in a request with
    //# semantics that cannot be satisfied with a cached response, or occur in a request with a target resource for which
    //# it has no stored responses; such preconditions are likely intended for some other (inbound) server.
    if request.fields.contains("if-match") || request.fields.contains("if-unmodified-since") {
        return Err(Reason::OriginCondition);
    }
    Ok(())
}

/// Whether it is a GET without Authorization, Cookie, Cache-Control and Pragma. Of such a request, the rules for storing read only the target: they
/// judge a response to any two of them for one target alike.
pub fn is_plain_get(request: &RequestHead) -> bool {
    const JUDGED_BY: [&str; 4] = ["authorization", "cache-control", "cookie", "pragma"];
    request.method == Method::GET && !JUDGED_BY.iter().any(|name| request.fields.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::downstream::announce_lifetime;
    use crate::effective::nominated;
    use crate::freshness::freshness;
    use crate::storable::objections;
    use crate::testing::{NOW, at, dropping, get, rfc, safe, status};
    use crate::{Freshness, Policy};
    use kasoku_wire::ResponseHead;
    use proptest::prelude::*;

    fn directives_of(name: &str, value: &str) -> RequestDirectives {
        request_directives(&get().with(name, value).fields)
    }

    #[test]
    fn pragma_counts_only_without_cache_control() {
        assert!(directives_of("Pragma", "x, No-Cache").no_cache);
        let both = get().with("Pragma", "no-cache").with("Cache-Control", "max-age=1");
        assert!(!request_directives(&both.fields).no_cache);
    }

    #[test]
    fn a_bare_max_stale_accepts_anything() {
        assert_eq!(directives_of("Cache-Control", "max-stale").max_stale, Some(u64::MAX));
        assert_eq!(directives_of("Cache-Control", "max-stale, max-stale=5").max_stale, Some(5));
        assert_eq!(directives_of("Cache-Control", "max-stale=x").max_stale, Some(0));
    }

    #[test]
    fn all_directives_are_read() {
        let value = "no-cache, NO-STORE, only-if-cached, max-age=1, min-fresh=2, stale-if-error=3, min-fresh=1";
        let all = directives_of("Cache-Control", value);
        assert!(all.no_cache && all.no_store && all.only_if_cached);
        assert_eq!((all.max_age, all.min_fresh, all.stale_if_error), (Some(1), Some(2), Some(3)));
    }

    #[test]
    fn unsafe_methods_are_written_through() {
        //= RFC 9111 section 4
        //# A cache MUST write through requests with methods that are unsafe
        for method in ["POST", "PUT", "DELETE", "M-SEARCH", "OPTIONS"] {
            let request = RequestHead { method: method.parse().unwrap(), ..get() };
            assert_eq!(may_look_up(&request), Err(Reason::Method), "{method}");
        }
        assert_eq!(may_look_up(&RequestHead { method: Method::HEAD, ..get() }), Ok(()));
    }

    #[test]
    fn conditions_for_the_origin_are_left_to_it() {
        //= RFC 9111 section 4.3.2
        //# A cache MUST NOT evaluate conditional header fields that only apply to an origin server, occur in a request with
        //# semantics that cannot be satisfied with a cached response, or occur in a request with a target resource for which
        //# it has no stored responses; such preconditions are likely intended for some other (inbound) server.
        for name in ["If-Match", "If-Unmodified-Since"] {
            assert_eq!(may_look_up(&get().with(name, "x")), Err(Reason::OriginCondition));
        }
        assert_eq!(may_look_up(&get().with("If-None-Match", "x")), Ok(()));
    }

    /// All that the rules for storing say of a response to a request, announcement included.
    fn judged(
        request: &RequestHead,
        response: &ResponseHead,
        policy: &Policy,
    ) -> (Freshness, Vec<Reason>, Vec<String>, ResponseHead) {
        let freshness = freshness(request, response, NOW, NOW, policy);
        let objections = objections(request, response, &freshness, policy);
        let mut told = response.clone();
        announce_lifetime(request, &mut told, &freshness, policy);
        (freshness, objections, nominated(request, response, policy), told)
    }

    fn keyed() -> Policy {
        let mut policy = dropping();
        policy.grant.key_cookies = vec!["currency".to_owned()];
        policy
    }

    #[test]
    fn a_get_with_a_field_by_which_rules_judge_is_not_plain() {
        assert!(is_plain_get(&get().with("Accept", "*/*").with("X-Forwarded-For", "192.0.2.1")));
        for (name, value) in
            [("Authorization", "Basic x"), ("cookie", "a=b"), ("Cache-Control", "no-store"), ("PRAGMA", "no-cache")]
        {
            assert!(!is_plain_get(&get().with(name, value)), "{name}");
        }
        assert!(!is_plain_get(&RequestHead { method: Method::HEAD, ..get() }));
    }

    proptest! {
        #[test]
        fn the_rules_judge_plain_gets_for_one_target_alike(
            fields in prop::collection::vec(
                (
                    prop_oneof![
                        "[a-zA-Z-]{1,20}",
                        prop::sample::select(vec![
                            "Host", "Accept", "Accept-Encoding", "Accept-Language", "User-Agent", "Referer", "Origin", "Range", "If-Range",
                            "If-None-Match", "If-Modified-Since", "Via", "Forwarded", "X-Forwarded-For", "X-Real-IP", "X-Requested-With",
                            "Connection", "Date", "Age", "Expect", "TE", "Content-Length", "Content-Type", "Priority", "Purpose", "DNT",
                            "Sec-Fetch-Dest", "Proxy-Authorization", "Max-Forwards", "Upgrade-Insecure-Requests", "Cookie2", "Set-Cookie",
                        ]).prop_map(str::to_owned),
                    ],
                    "[ -~]{0,20}",
                ),
                0..6,
            ),
            target in prop::sample::select(vec!["/", "/a.css", "/a.php?id=1", "/login", "/a.html?no-cache"]),
            code in prop::sample::select(vec![200, 203, 204, 206, 301, 302, 404, 500, 503]),
            response in prop::collection::vec(
                prop::sample::select(vec![
                    ("Cache-Control", "max-age=60"), ("Cache-Control", "private"), ("Cache-Control", "public"),
                    ("Cache-Control", "no-store"), ("Cache-Control", "s-maxage=5, no-cache=\"a\""), ("Pragma", "no-cache"),
                    ("Vary", "Accept, Cookie"), ("Vary", "*"), ("Set-Cookie", "a=b"), ("ETag", "\"x\""),
                    ("Content-Type", "text/html"), ("Content-Type", "image/png"), ("Age", "30"), ("X-Accel-Expires", "10"),
                    ("CDN-Cache-Control", "max-age=7"), ("Content-Location", "/"),
                ]),
                0..5,
            ),
            dates in prop::collection::vec(prop::sample::select(vec![("Expires", 100), ("Expires", -1), ("Last-Modified", -1000)]), 0..2),
        ) {
            let alone = RequestHead { target: target.to_owned(), ..get() };
            let request = fields.iter().fold(alone.clone(), |request, (name, value)| request.with(name, value.trim()));
            prop_assume!(is_plain_get(&request));
            let response = response.iter().fold(status(code), |response, (name, value)| response.with(name, value));
            let response = dates.iter().fold(response, |response, (name, seconds)| response.with(name, at(*seconds)));
            for policy in [safe(), rfc(), dropping(), keyed()] {
                prop_assert_eq!(judged(&request, &response, &policy), judged(&alone, &response, &policy));
            }
        }
    }
}
