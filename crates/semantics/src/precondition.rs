//! Evaluates the client's conditions against a stored response (RFC 9111 section 4.3.2, RFC 9110 section 13.2.2).

use crate::age::date_value;
use crate::{Now, Validators};
use http::{Method, StatusCode};
use kasoku_wire::field::date;
use kasoku_wire::field::etag::{EntityTag, ListedTag, tags};
use kasoku_wire::{RequestHead, ResponseHead};

/// The result of the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Answer as if the request had no conditions.
    Proceed,
    /// The client already has the stored response: answer 304.
    NotModified,
}

/// Evaluates If-None-Match, or else If-Modified-Since, as far as `validators` allows. Requests with If-Match or If-Unmodified-Since
/// never get here ([`may_look_up`](crate::may_look_up)).
pub fn precondition(
    request: &RequestHead,
    stored: &ResponseHead,
    validators: Validators,
    response_time: Now,
    now: Now,
) -> Precondition {
    let has_method = request.method == Method::GET || request.method == Method::HEAD;
    if !has_method || !matches!(stored.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT) {
        return Precondition::Proceed;
    }
    //= RFC 9110 section 13.1.3
    //# A recipient MUST ignore If-Modified-Since if the request contains an If-None-Match header field
    let is_not_modified = if validators == Validators::OwnTag {
        names_own_tag(request, stored)
    } else if request.fields.contains("if-none-match") {
        let stored = EntityTag::of(&stored.fields);
        tags(&request.fields, "if-none-match").any(|tag| tag.matches_weakly(stored.as_ref()))
    } else {
        is_unmodified_since(request, stored, response_time, now)
    };
    if is_not_modified { Precondition::NotModified } else { Precondition::Proceed }
}

/// Whether If-None-Match names the strong tag of `stored`. No other condition shows that the client has these very bytes.
fn names_own_tag(request: &RequestHead, stored: &ResponseHead) -> bool {
    if !request.fields.contains("if-none-match") {
        return false;
    }
    let Some(own) = EntityTag::of(&stored.fields).filter(|own| !own.weak) else { return false };
    tags(&request.fields, "if-none-match").any(|tag| matches!(tag, ListedTag::One(one) if one.weak_eq(&own)))
}

fn is_unmodified_since(request: &RequestHead, stored: &ResponseHead, response_time: Now, now: Now) -> bool {
    let now = now.unix_seconds();
    //= RFC 9110 section 13.1.3
    //# A recipient MUST ignore the If-Modified-Since header field if the received field value is not a valid HTTP-date,
    //# the field value has more than one member, or if the request method is neither GET nor HEAD.
    let Some(since) = request.fields.only("if-modified-since").and_then(|value| date::parse(value, now)) else {
        return false;
    };
    // Without Last-Modified, compare the stored Date; without a Date, the time of receipt (RFC 9111 section 4.3.2).
    let modified = match stored.fields.first("last-modified") {
        Some(value) => date::parse(value, now),
        None => Some(date_value(stored, response_time)),
    };
    modified.is_some_and(|modified| modified <= since)
}

/// Whether a field of a stored response goes into a 304 made from it. Fields that describe the content are left out, since a 304
/// has no content. `has_tag`: whether the stored response has an entity tag.
//= RFC 9110 section 15.4.5
//# The server generating a 304 response MUST generate any of the following header fields that would have been sent in a
//# 200 (OK) response to the same request:
pub fn goes_into_not_modified(name: &[u8], has_tag: bool) -> bool {
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    let starts_with = |start: &[u8]| name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start));
    let is_kept = is(b"content-location") || starts_with(b"content-security-policy");
    let describes = starts_with(b"content-") && !is_kept;
    // Last-Modified helps a client only where there is no entity tag.
    let is_spare = has_tag && is(b"last-modified");
    !(describes || is_spare || is(b"trailer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, at, get, later, ok, status};

    fn evaluate(request: &RequestHead, stored: &ResponseHead) -> Precondition {
        precondition(request, stored, Validators::Any, NOW, later(10))
    }

    fn since(seconds: i64) -> RequestHead {
        get().with("If-Modified-Since", at(seconds))
    }

    #[test]
    fn a_tag_the_client_has_is_not_sent_again() {
        let stored = ok().with("ETag", "\"b\"");
        for value in ["\"b\"", "\"a\", \"b\"", "W/\"b\"", "*", "b"] {
            assert_eq!(evaluate(&get().with("If-None-Match", value), &stored), Precondition::NotModified, "{value}");
        }
        for value in ["\"a\"", "w/\"b\"", ""] {
            assert_eq!(evaluate(&get().with("If-None-Match", value), &stored), Precondition::Proceed, "{value}");
        }
    }

    #[test]
    fn if_none_match_takes_precedence() {
        //= RFC 9110 section 13.1.3
        //# A recipient MUST ignore If-Modified-Since if the request contains an If-None-Match header field
        let stored = ok().with("ETag", "\"b\"").with("Last-Modified", at(-100));
        assert_eq!(evaluate(&since(0).with("If-None-Match", "\"a\""), &stored), Precondition::Proceed);
        assert_eq!(evaluate(&since(-200).with("If-None-Match", "\"b\""), &stored), Precondition::NotModified);
    }

    #[test]
    fn a_date_is_compared_with_last_modified_then_date_then_receipt() {
        let stored = ok().with("Last-Modified", at(-100));
        assert_eq!(evaluate(&since(-100), &stored), Precondition::NotModified);
        assert_eq!(evaluate(&since(-101), &stored), Precondition::Proceed);
        assert_eq!(evaluate(&since(0), &ok()), Precondition::NotModified);
        assert_eq!(evaluate(&since(-1), &ok()), Precondition::Proceed);
        let mut undated = ok();
        undated.fields.remove("date");
        assert_eq!(evaluate(&since(0), &undated), Precondition::NotModified);
        assert_eq!(evaluate(&since(-1), &undated), Precondition::Proceed);
    }

    #[test]
    fn what_is_no_single_date_is_ignored() {
        //= RFC 9110 section 13.1.3
        //# A recipient MUST ignore the If-Modified-Since header field if the received field value is not a valid HTTP-date,
        //# the field value has more than one member, or if the request method is neither GET nor HEAD.
        let stored = ok().with("Last-Modified", at(-100));
        assert_eq!(evaluate(&get().with("If-Modified-Since", "now"), &stored), Precondition::Proceed);
        assert_eq!(evaluate(&since(0).with("If-Modified-Since", at(0)), &stored), Precondition::Proceed);
        assert_eq!(evaluate(&RequestHead { method: Method::POST, ..since(0) }, &stored), Precondition::Proceed);
    }

    #[test]
    fn only_200_and_206_can_be_unmodified() {
        let request = get().with("If-None-Match", "*");
        assert_eq!(evaluate(&request, &status(404)), Precondition::Proceed);
        assert_eq!(evaluate(&request, &status(206)), Precondition::NotModified);
    }

    #[test]
    fn a_304_carries_what_a_200_would_except_what_describes_its_content() {
        //= RFC 9110 section 15.4.5
        //# The server generating a 304 response MUST generate any of the following header fields that would have been sent in a
        //# 200 (OK) response to the same request:
        let kept = ["Content-Location", "Date", "ETag", "Vary", "Cache-Control", "Expires", "Content-Security-Policy"];
        let dropped =
            ["Content-Type", "Content-Length", "Content-Encoding", "Content-Range", "Last-Modified", "Trailer"];
        for name in kept {
            assert!(goes_into_not_modified(name.as_bytes(), true), "{name}");
        }
        for name in dropped {
            assert!(!goes_into_not_modified(name.as_bytes(), true), "{name}");
        }
        assert!(goes_into_not_modified(b"Last-Modified", false));
    }
}
