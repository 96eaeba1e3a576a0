//! Selects the fields of a response that are stored (RFC 9111 section 3.1).
//!
//! All fields are stored except those of the connection, of a proxy or of one visitor (Set-Cookie, in profile safe or where a
//! lifetime is granted: see `credentials`), those that the response or the operator excludes, and Age, which Kasoku writes anew on
//! each use. Cache-Status of the caches behind Kasoku is stored; Kasoku's own is added on delivery.

use crate::directives::directives;
use crate::hop_by_hop::{HOP_BY_HOP, is_hop_by_hop, listed};
use crate::our_fields::is_any;
use crate::set_cookies::{is_stripped, sets_cookie};
use crate::unkeyed::is_same;
use crate::{Now, Policy};
use kasoku_wire::field::date;
use kasoku_wire::{Fields, ResponseHead};

/// The fields of `response` as they are stored. If it has no valid Date, the time of `response_time` becomes its Date.
pub fn fields_to_store(response: &ResponseHead, response_time: Now, policy: &Policy) -> Fields {
    let mut fields = storable_fields(response, policy);
    add_missing_date(&mut fields, response_time);
    fields
}

/// The same without completing Date: for updates from a 304 or a response to HEAD.
pub(crate) fn storable_fields(response: &ResponseHead, policy: &Policy) -> Fields {
    let control = directives(response, policy).control;
    let listed = listed(&response.fields);
    let mut fields = response.fields.clone();
    //= RFC 9111 section 3.1
    //# Caches MUST include all received response header fields
    fields.retain(|name, _| {
        let is_named = |names: &[String]| names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        //= RFC 9111 section 5.2.2.7
        //# a shared cache MUST NOT store the listed header fields if they are present in the original response
        let is_withheld = is_named(control.private.fields()) || is_named(control.no_cache.fields());
        let is_visitors = is_stripped(name, policy);
        let is_unwanted = is_named(&policy.strip_fields);
        let is_ours = name.eq_ignore_ascii_case(b"age");
        !(is_hop_by_hop(name, &listed) || is_of_proxy(name) || is_withheld || is_visitors || is_unwanted || is_ours)
    });
    fields
}

/// Whether a stored response may have all of these fields: [`fields_to_store`] would leave none out.
pub fn has_only_stored_fields(response: &ResponseHead, policy: &Policy) -> bool {
    storable_fields(response, policy).len() == response.fields.len()
}

/// Whether a field of that name is in no response that several caches share: fields of the connection, of a proxy or of one visitor, Age,
/// and those by which an application tells its server what to send. Names that applications take for one of these count as well.
pub fn is_never_shared(name: &[u8]) -> bool {
    const NAMES: [&str; 3] = ["age", "set-cookie", "set-cookie2"];
    const TO_SERVERS: [&str; 3] = ["x-accel-", "x-sendfile", "x-lighttpd-"];
    let begins = |one: &&str| name.get(..one.len()).is_some_and(|start| is_same(start, one.as_bytes()));
    is_any(name, &NAMES) || is_any(name, &HOP_BY_HOP) || is_any(name, &OF_PROXY) || TO_SERVERS.iter().any(begins)
}

//= RFC 9111 section 3.1
//# Header fields that are specific to the proxy that a cache uses when forwarding a request MUST NOT be stored, unless
//# the cache incorporates the identity of the proxy into the cache key.
fn is_of_proxy(name: &[u8]) -> bool {
    OF_PROXY.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

const OF_PROXY: [&str; 3] = ["proxy-authenticate", "proxy-authentication-info", "proxy-authorization"];

//= RFC 9110 section 6.6.1
//# A recipient with a clock that receives a response message without a Date header field MUST record the time it was
//# received and append a corresponding Date header field to the message's header section if it is cached or forwarded
//# downstream.
pub(crate) fn add_missing_date(fields: &mut Fields, response_time: Now) {
    let now = response_time.unix_seconds();
    if fields.only("date").and_then(|value| date::parse(value, now)).is_none() {
        fields.set("Date", date::format(now));
    }
}

/// Gives a response that sets cookies and has no Date the time at which it came, so that an `Expires` in the past is known as such. Programs
/// send no Date.
pub fn date_cookies(response: &mut ResponseHead, response_time: Now) {
    if sets_cookie(&response.fields) {
        add_missing_date(&mut response.fields, response_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, cached, later, ok, rfc, safe};

    fn names(response: &ResponseHead, policy: &Policy) -> Vec<String> {
        let fields = fields_to_store(response, NOW, policy);
        fields.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn unknown_fields_are_kept() {
        //= RFC 9111 section 3.1
        //# Caches MUST include all received response header fields
        let response = ok().with("X-Unknown", "1").with("Content-Foo", "2").with("Trailer", "T");
        assert_eq!(names(&response, &safe()), ["Date", "X-Unknown", "Content-Foo", "Trailer"]);
    }

    #[test]
    fn fields_of_the_connection_the_proxy_and_age_are_not() {
        //= RFC 9111 section 3.1
        //# Header fields that are specific to the proxy that a cache uses when forwarding a request MUST NOT be stored, unless
        //# the cache incorporates the identity of the proxy into the cache key.
        let mut response =
            ok().with("Connection", "a, b").with("A", "1").with("b", "2").with("C", "3").with("Age", "4");
        for name in ["Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "Upgrade", "TE"] {
            response.fields.push(name, "x");
        }
        assert_eq!(names(&response, &rfc()), ["Date", "C"]);
    }

    #[test]
    fn fields_named_by_no_cache_or_private_are_not() {
        //= RFC 9111 section 5.2.2.7
        //# a shared cache MUST NOT store the listed header fields if they are present in the original response
        let response =
            cached("no-cache=\"a, B\", private=\"c\"").with("A", "1").with("b", "2").with("C", "3").with("D", "4");
        assert_eq!(names(&response, &rfc()), ["Date", "Cache-Control", "D"]);
    }

    #[test]
    fn cookies_are_kept_in_profile_rfc_only() {
        let response = ok().with("Set-Cookie", "a=b");
        assert_eq!(names(&response, &rfc()), ["Date", "Set-Cookie"]);
        assert_eq!(names(&response, &safe()), ["Date"]);
    }

    #[test]
    fn what_is_stored_is_known_by_its_fields() {
        let stored = |response: ResponseHead| has_only_stored_fields(&response, &safe());
        assert!(stored(cached("max-age=5").with("X-Unknown", "1")));
        for (name, value) in [("Age", "1"), ("Connection", "close"), ("TE", "x"), ("Set-Cookie", "a=b")] {
            assert!(!stored(ok().with(name, value)), "{name}");
        }
        assert!(!stored(cached("private=\"a\"").with("A", "1")));
        let mut policy = safe();
        policy.strip_fields = vec!["server".to_owned()];
        assert!(!has_only_stored_fields(&ok().with("Server", "x"), &policy));
    }

    #[test]
    fn fields_for_a_server_a_visitor_or_a_connection_are_shared_with_no_cache() {
        for name in [
            "Age",
            "Set-Cookie",
            "set_cookie2",
            "X-Accel-Redirect",
            "x_accel_expires",
            "X-Accel-",
            "X-Sendfile",
            "X-Sendfile-Temporary",
            "X-LIGHTTPD-send-file",
            "Connection",
            "Transfer_Encoding",
            "Upgrade",
            "Proxy-Authenticate",
        ] {
            assert!(is_never_shared(name.as_bytes()), "{name}");
        }
        for name in ["X-Accel", "Cookie", "ETag", "X-Send", "Agent", "Content-Length"] {
            assert!(!is_never_shared(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_missing_or_invalid_date_is_the_time_of_receipt() {
        //= RFC 9110 section 6.6.1
        //# A recipient with a clock that receives a response message without a Date header field MUST record the time it was
        //# received and append a corresponding Date header field to the message's header section if it is cached or forwarded
        //# downstream.
        let mut response = ok();
        let kept = fields_to_store(&response, later(5), &safe());
        assert_eq!(kept.only("date"), response.fields.only("date"));
        response.fields.set("Date", "yesterday");
        let added = fields_to_store(&response, NOW, &safe());
        assert_eq!(added.only("date"), Some(date::format(NOW.unix_seconds()).as_bytes()));
    }
}
