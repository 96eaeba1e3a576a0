//! Tests the request that validates a stored response, and what the origin's answer changes in it.

use super::*;
use crate::testing::{NOW, at, cached, get, later, ok, rfc, safe, status};

fn etagged(tag: &str) -> ResponseHead {
    cached("max-age=1").with("ETag", tag)
}

fn not_modified() -> ResponseHead {
    let mut response = status(304);
    response.fields.set("Date", at(60));
    response
}

fn after(stored: &ResponseHead, update: &ResponseHead, policy: &Policy) -> ResponseHead {
    match freshen(stored, update, later(60), policy) {
        Freshened::Updated(head) => head,
        Freshened::Drop(reason) => panic!("dropped: {}", reason.id()),
    }
}

#[test]
fn both_validators_are_sent_and_the_clients_conditions_are_not() {
    //= RFC 9111 section 4.3.1
    //# MUST send the relevant entity tags (using If-Match, If-None-Match, or If-Range) if the entity tags were provided in
    //# the stored response(s) being validated.
    let modified = at(-1000);
    let mut request = get().with("If-None-Match", "\"theirs\"").with("If-Modified-Since", at(0)).with("X", "1");
    assert!(make_conditional(&mut request, &etagged("W/\"a\"").with("Last-Modified", &modified)));
    assert_eq!(request.fields.only("if-none-match"), Some(&b"W/\"a\""[..]));
    assert_eq!(request.fields.only("if-modified-since"), Some(modified.as_bytes()));
    assert!(request.fields.contains("x"));
}

#[test]
fn without_a_validator_the_request_is_unconditional() {
    let mut request = get().with("If-None-Match", "*").with("If-Range", "\"a\"").with("Range", "bytes=0-1");
    assert!(!make_conditional(&mut request, &cached("max-age=1").with("Last-Modified", "long ago")));
    assert_eq!(request.fields.len(), 1);
}

#[test]
fn an_unquoted_tag_is_sent_with_quotes() {
    let mut request = get();
    assert!(make_conditional(&mut request, &etagged("abcdef")));
    assert_eq!(request.fields.only("if-none-match"), Some(&b"\"abcdef\""[..]));
}

#[test]
fn a_304_updates_fields_and_keeps_those_it_omits() {
    //= RFC 9111 section 4.3.4
    //# For each stored response identified, the cache MUST update its header fields with the header fields provided in the
    //# 304 (Not Modified) response, as per Section 3.2.
    //= RFC 9111 section 3.2
    //# When doing so, the cache MUST add each header field in the provided response to the stored response, replacing field
    //# values that are already present, with the following exceptions:
    let stored = etagged("\"a\"").with("A", "1").with("B", "1").with("B", "2").with("Content-Type", "x");
    let update = not_modified().with("ETag", "\"a\"").with("b", "3").with("C", "4").with("Content-Type", "y");
    let head = after(&stored, &update.with("Cache-Control", "max-age=9"), &safe());
    assert_eq!(head.status, StatusCode::OK);
    let expected =
        [("A", "1"), ("b", "3"), ("C", "4"), ("Content-Type", "y"), ("Cache-Control", "max-age=9"), ("ETag", "\"a\"")];
    for (name, value) in expected {
        assert_eq!(head.fields.only(name), Some(value.as_bytes()), "{name}");
    }
    assert_eq!(head.fields.only("date"), Some(at(60).as_bytes()));
}

#[test]
fn a_304_without_a_date_dates_from_its_arrival() {
    let mut update = not_modified();
    update.fields.remove("date");
    let head = after(&etagged("\"a\""), &update, &safe());
    assert_eq!(head.fields.only("date"), Some(at(60).as_bytes()));
}

#[test]
fn what_describes_the_stored_bytes_never_changes() {
    let names = ["Content-Encoding", "Content-Length", "Content-MD5", "Content-Range"];
    let mut stored = etagged("\"a\"");
    let mut update = not_modified().with("ETag", "W/\"a\"").with("Transfer-Encoding", "x").with("Keep-Alive", "x");
    for name in names {
        stored.fields.push(name, "1");
        update.fields.push(name, "2");
    }
    let head = after(&stored, &update, &rfc());
    for name in names {
        assert_eq!(head.fields.only(name), Some(&b"1"[..]), "{name}");
    }
    assert_eq!(head.fields.only("etag"), Some(&b"\"a\""[..]));
    assert!(!head.fields.contains("transfer-encoding") && !head.fields.contains("keep-alive"));
}

#[test]
fn a_304_of_another_representation_updates_nothing_but_date() {
    //= RFC 9111 section 4.3.4
    //# If none of the initial set contains at least one of the same strong validators, then the cache MUST NOT use
    //# the new response to update any stored responses.
    let stored = etagged("\"a\"").with("A", "1");
    for tag in ["\"b\"", "W/\"b\""] {
        let head = after(&stored, &not_modified().with("ETag", tag).with("A", "2"), &rfc());
        assert_eq!(head.fields.only("a"), Some(&b"1"[..]), "{tag}");
        assert_eq!(head.fields.only("etag"), Some(&b"\"a\""[..]), "{tag}");
        assert_eq!(head.fields.only("date"), Some(at(60).as_bytes()), "{tag}");
    }
    let stored = cached("max-age=1").with("Last-Modified", at(-100)).with("A", "1");
    let head = after(&stored, &not_modified().with("Last-Modified", at(-50)).with("A", "2"), &rfc());
    assert_eq!(head.fields.only("a"), Some(&b"1"[..]));
}

#[test]
fn a_304_that_forbids_storing_ends_the_entry() {
    let stored = etagged("\"a\"").with("Vary", "A");
    for (name, value, reason) in [
        ("Cache-Control", "no-store", Reason::NoStore),
        ("Cache-Control", "private", Reason::Private),
        ("Vary", "*", Reason::VaryStar),
        ("Vary", "A, B", Reason::VaryChanged),
    ] {
        for policy in [safe(), rfc()] {
            let outcome = freshen(&stored, &not_modified().with(name, value), NOW, &policy);
            assert_eq!(outcome, Freshened::Drop(reason), "{name}: {value}");
        }
    }
    assert_eq!(after(&stored, &not_modified().with("Vary", "a"), &safe()).fields.only("vary"), Some(&b"a"[..]));
}

#[test]
fn where_a_lifetime_is_granted_only_fields_in_the_key_tell_variants_apart() {
    let mut policy = safe();
    policy.grant.ttl_seconds = 60;
    policy.grant.key_fields = vec!["accept-language".to_owned()];
    let stored = etagged("\"a\"");
    for vary in ["Cookie", "User-Agent, Cookie", "Accept-Language", ""] {
        let outcome = freshen(&stored, &not_modified().with("Vary", vary), NOW, &policy);
        assert!(matches!(outcome, Freshened::Updated(_)), "{vary}");
    }
    assert_eq!(freshen(&stored, &not_modified().with("Vary", "*"), NOW, &policy), Freshened::Drop(Reason::VaryStar));
}

#[test]
fn an_empty_vary_of_a_304_does_not_make_one_variant_fit_all() {
    let empty = not_modified().with("Vary", "");
    let outcome = freshen(&etagged("\"a\"").with("Vary", "A"), &empty, NOW, &safe());
    assert_eq!(outcome, Freshened::Drop(Reason::VaryChanged));
    assert!(after(&etagged("\"a\""), &empty, &safe()).fields.contains("vary"));
}

#[test]
fn an_empty_vary_does_not_take_the_place_of_one_that_nothing_matches() {
    let star = etagged("\"a\"").with("Vary", "a, b=c");
    let update = not_modified().with("Vary", "");
    assert_eq!(freshen(&star, &update, NOW, &safe()), Freshened::Drop(Reason::VaryChanged));
}

#[test]
fn a_304_never_brings_a_cookie_into_a_shared_entry() {
    let update = not_modified().with("Set-Cookie", "session=1");
    assert_eq!(freshen(&etagged("\"a\""), &update, NOW, &safe()), Freshened::Drop(Reason::SetCookie));
    assert!(after(&etagged("\"a\""), &update, &rfc()).fields.contains("set-cookie"));
}

#[test]
fn a_304_can_withdraw_a_stored_field() {
    let stored = etagged("\"a\"").with("A", "1").with("B", "1");
    let head = after(&stored, &not_modified().with("Cache-Control", "max-age=9, no-cache=\"a\""), &safe());
    assert!(!head.fields.contains("a") && head.fields.contains("b"));
}

#[test]
fn a_validated_response_is_as_old_as_the_304() {
    let stored = etagged("\"a\"");
    let update = not_modified().with("Age", "7");
    let head = after(&stored, &update, &rfc());
    assert!(!head.fields.contains("age"));
    let freshness = freshness_after_validation(&get(), &head, &update, later(60), later(60), &rfc());
    assert_eq!((freshness.age(later(61)), freshness.lifetime), (8, 1));
}

#[test]
fn a_head_updates_what_it_matches() {
    //= RFC 9111 section 4.3.5
    //# If a cache updates a stored response with the metadata provided in a HEAD response, the cache MUST use the header
    //# fields provided in the HEAD response to update the stored response (see Section 3.2).
    let stored = etagged("\"a\"").with("Content-Length", "5").with("A", "1");
    let head = ok().with("ETag", "\"a\"").with("Content-Length", "5").with("A", "2");
    let HeadOutcome::Update(updated) = head_response(&stored, &head, NOW, &safe()) else { panic!("no update") };
    assert_eq!(updated.fields.only("a"), Some(&b"2"[..]));
    assert_eq!(updated.fields.only("content-length"), Some(&b"5"[..]));
}

#[test]
fn a_head_that_differs_invalidates() {
    let stored = etagged("\"a\"").with("Content-Length", "5");
    for (name, value) in [("ETag", "\"b\""), ("Content-Length", "6"), ("Last-Modified", "x")] {
        let outcome = head_response(&stored, &ok().with(name, value), NOW, &safe());
        assert_eq!(outcome, HeadOutcome::Invalidate(Reason::HeadMismatch), "{name}");
    }
    let outcome = head_response(&stored, &cached("no-store"), NOW, &safe());
    assert_eq!(outcome, HeadOutcome::Invalidate(Reason::NoStore));
    assert_eq!(head_response(&stored, &status(410), NOW, &safe()), HeadOutcome::Ignore);
}
