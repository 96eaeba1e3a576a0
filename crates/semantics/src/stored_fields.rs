//! Selects the fields of a response that are stored (RFC 9111 section 3.1).
//!
//! All fields are stored except those of the connection, of a proxy or of one visitor (Set-Cookie, in profile safe or where a
//! lifetime is granted: see `credentials`), those that the response or the operator excludes, and Age, which Kasoku writes anew on
//! each use. Cache-Status of the caches behind Kasoku is stored; Kasoku's own is added on delivery.

use crate::directives::directives;
use crate::hop_by_hop::{is_hop_by_hop, listed};
use crate::set_cookies::is_stripped;
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

//= RFC 9111 section 3.1
//# Header fields that are specific to the proxy that a cache uses when forwarding a request MUST NOT be stored, unless
//# the cache incorporates the identity of the proxy into the cache key.
fn is_of_proxy(name: &[u8]) -> bool {
    const NAMES: [&str; 3] = ["proxy-authenticate", "proxy-authentication-info", "proxy-authorization"];
    NAMES.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

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
