use super::*;
use crate::testing::{NOW, cached, get, later, ok, safe, status};

const OURS: [Coding; 3] = [Coding::Zstd, Coding::Br, Coding::Gzip];

fn best(lines: &[&str]) -> Option<Coding> {
    let fields: Fields = lines.iter().map(|value| ("Accept-Encoding", value)).collect();
    accepted(&fields).best(OURS.into_iter())
}

#[test]
fn the_best_liked_is_chosen_and_the_first_of_equals() {
    for (value, chosen) in [
        ("gzip, deflate", Some(Coding::Gzip)),
        ("gzip, deflate, br, zstd", Some(Coding::Zstd)),
        ("GZIP, Br;q=1.0", Some(Coding::Br)),
        ("gzip;q=1, br;q=0.9, zstd;q=0.1", Some(Coding::Gzip)),
        ("x-gzip", Some(Coding::Gzip)),
        ("gzip;q=0.001", Some(Coding::Gzip)),
        ("deflate, compress, made-up", None),
        ("gzip;q=0", None),
        ("gzip;q=x", None),
        ("", None),
    ] {
        assert_eq!(best(&[value]), chosen, "{value}");
    }
    assert_eq!(best(&[]), None);
    assert_eq!(best(&["br", "gzip"]), Some(Coding::Br));
}

#[test]
fn a_star_stands_for_what_is_not_named() {
    assert_eq!(best(&["*"]), Some(Coding::Zstd));
    assert_eq!(best(&["zstd;q=0, *"]), Some(Coding::Br));
    assert_eq!(best(&["gzip, *;q=0"]), Some(Coding::Gzip));
    assert_eq!(best(&["gzip;q=0.5, *;q=0.7"]), Some(Coding::Zstd));
    assert_eq!(best(&["*;q=0"]), None);
}

#[test]
fn identity_is_accepted_unless_it_is_excluded() {
    //= RFC 9110 section 12.5.3
    //# If the representation has no content coding, then it is acceptable by default unless specifically excluded by the
    //# Accept-Encoding header field stating either "identity;q=0" or "*;q=0" without a more specific entry for "identity".
    let of = |value: &str| accepted(&[("Accept-Encoding", value)].into_iter().collect());
    for value in ["gzip", "", "*", "gzip, identity;q=0.1", "*;q=0, identity"] {
        assert!(of(value).accepts_identity(), "{value}");
    }
    for value in ["identity;q=0", "gzip, *;q=0", "identity;q=0, *"] {
        assert!(!of(value).accepts_identity(), "{value}");
    }
    assert_eq!(best(&["identity, gzip;q=0.5"]), None);
    assert_eq!(best(&["identity;q=0.5, gzip;q=0.5"]), Some(Coding::Gzip));
}

#[test]
fn of_what_is_named_twice_the_lower_quality_counts() {
    assert_eq!(best(&["gzip, gzip;q=0"]), None);
    assert_eq!(best(&["gzip;q=0", "gzip"]), None);
}

#[test]
fn a_client_may_refuse_what_is_transformed() {
    //= RFC 9111 section 5.2.1.6
    //# The no-transform request directive indicates that the client is asking for intermediaries to avoid transforming the
    //# content, as defined in Section 7.7 of [HTTP].
    assert!(allows_coding(&get().with("Cache-Control", "max-age=0").fields));
    assert!(!allows_coding(&get().with("Cache-Control", "max-age=0, No-Transform").fields));
}

fn codable(response: &ResponseHead) -> bool {
    may_be_coded(response, &[], &safe(), |it| it.eq_ignore_ascii_case(b"text/html"))
}

#[test]
fn codings_are_made_of_whole_uncoded_texts() {
    let html = || ok().with("Content-Type", "Text/HTML ; charset=utf-8");
    assert!(codable(&html()));
    assert!(!codable(&ok()));
    assert!(!codable(&html().with("Content-Type", "text/html")), "two of them");
    assert!(!codable(&ok().with("Content-Type", "text/css")));
    assert!(!codable(&html().with("Content-Encoding", "identity")));
    assert!(!codable(&html().with("Content-Range", "bytes 0-1/2")));
    for code in [203, 206, 404, 500] {
        assert!(!codable(&status(code).with("Content-Type", "text/html")), "{code}");
    }
}

#[test]
fn no_transform_is_obeyed_wherever_it_stands() {
    //= RFC 9110 section 7.7
    //# A proxy MUST NOT transform the content (Section 6.4) of a response message that contains a no-transform cache directive
    //# (Section 5.2.2.6 of [CACHING]).
    let html = |control: &str| cached(control).with("Content-Type", "text/html");
    assert!(codable(&html("max-age=1")));
    assert!(!codable(&html("max-age=1, no-transform")));
    assert!(!codable(&html("max-age=1, no-transform").with("CDN-Cache-Control", "max-age=1")));
    assert!(!codable(&html("max-age=1").with("CDN-Cache-Control", "max-age=1, no-transform")));
}

#[test]
fn what_is_for_one_visitor_is_not_coded() {
    let html = ok().with("Content-Type", "text/html");
    let by = |name: &str| may_be_coded(&html, &["accept".to_owned(), name.to_owned()], &safe(), |_| true);
    assert!(by("accept-language"));
    assert!(!by("cookie") && !by("authorization"));
    let mut granting = safe();
    granting.grant.ttl_seconds = 60;
    let by = |name: &str| may_be_coded(&html, &[name.to_owned()], &granting, |_| true);
    assert!(by("cookie") && !by("authorization"), "the operator has named the cookies");
}

#[test]
fn vary_is_completed_unless_it_says_it_already() {
    assert!(lacks_vary(&ok().fields));
    assert!(lacks_vary(&ok().with("Vary", "Accept").fields));
    assert!(!lacks_vary(&ok().with("Vary", "Accept").with("Vary", "accept-ENCODING").fields));
    assert!(!lacks_vary(&ok().with("Vary", "*").fields));
}

#[test]
fn a_tag_gets_the_coding_s_name_and_loses_it_again() {
    for (stored, coded) in
        [("\"abc\"", "\"abc-gzip\""), ("W/\"abc\"", "W/\"abc-gzip\""), ("abc", "abc-gzip"), ("\"\"", "\"-gzip\"")]
    {
        let out = coded_tag(stored.as_bytes(), Coding::Gzip);
        assert_eq!(String::from_utf8_lossy(&out), coded);
        let (tag, own) = (EntityTag::parse(&out).unwrap(), EntityTag::parse(stored.as_bytes()));
        let (uncoded, coding) = uncoded_tag(&tag).unwrap();
        assert_eq!(coding, Coding::Gzip);
        assert_eq!(uncoded.weak, own.is_some_and(|own| own.weak));
        assert_eq!(uncoded.opaque, own.map_or(&b""[..], |own| own.opaque));
    }
    let tag = |text: &'static str| EntityTag::parse(text.as_bytes()).unwrap();
    assert!(uncoded_tag(&tag("\"abcgzip\"")).is_none());
    assert!(uncoded_tag(&tag("\"abc-deflate\"")).is_none());
}

fn known(request: &RequestHead, selected: Representation) -> Option<Representation> {
    let stored = ok().with("ETag", "\"a\"").with("Last-Modified", crate::testing::at(-100));
    known_representation(request, &stored, Validators::Any, (NOW, later(10)), selected, &accepted(&request.fields))
}

#[test]
fn a_client_has_what_its_tag_names_if_it_accepts_it() {
    let asks = |tag: &str, encodings: &str| get().with("If-None-Match", tag).with("Accept-Encoding", encodings);
    let gzip = Some(Coding::Gzip);
    assert_eq!(known(&asks("\"a-gzip\"", "gzip"), gzip), Some(gzip));
    assert_eq!(known(&asks("\"b\", W/\"a-gzip\"", "gzip"), gzip), Some(gzip));
    assert_eq!(known(&asks("\"a-gzip\"", "gzip"), None), Some(gzip), "it is not made yet");
    assert_eq!(known(&asks("\"a\"", "gzip"), gzip), Some(None), "what it has is as good");
    assert_eq!(known(&asks("\"a-gzip\"", "br"), None), None, "it can't be meant for this client");
    assert_eq!(known(&asks("\"b-gzip\"", "gzip"), gzip), None);
    assert_eq!(known(&asks("\"a\"", "gzip, identity;q=0"), gzip), None);
    assert_eq!(known(&asks("*", "gzip"), gzip), Some(gzip));
    let post = RequestHead { method: http::Method::POST, ..asks("\"a-gzip\"", "gzip") };
    assert_eq!(known(&post, gzip), None);
}

#[test]
fn by_date_it_has_what_it_would_get() {
    let since = |seconds| get().with("If-Modified-Since", crate::testing::at(seconds)).with("Accept-Encoding", "br");
    assert_eq!(known(&since(-100), Some(Coding::Br)), Some(Some(Coding::Br)));
    assert_eq!(known(&since(-101), Some(Coding::Br)), None);
}

#[test]
fn what_describes_the_stored_bytes_stays_behind() {
    for name in ["Content-Length", "Content-MD5", "content-digest", "Repr-Digest", "Digest", "Accept-Ranges", "ETag"] {
        assert!(!goes_with_coded(name.as_bytes()), "{name}");
    }
    for name in ["Content-Type", "Content-Language", "Last-Modified", "Vary", "Cache-Control"] {
        assert!(goes_with_coded(name.as_bytes()), "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(value in "[\t -~\u{80}-\u{ff}]*") {
        let request = get().with("Accept-Encoding", &value).with("If-None-Match", &value);
        let _ = accepted(&request.fields).best(OURS.into_iter());
        let stored = ok().with("ETag", &value).with("Content-Type", &value);
        let _ = known_representation(&request, &stored, Validators::Any, (NOW, NOW), None, &accepted(&request.fields));
        let _ = codable(&stored);
        coded_tag(value.as_bytes(), Coding::Br);
    }
}
