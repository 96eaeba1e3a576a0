//! Stored 206 parts: the cache serves them, combines them if it may, and completes them from the origin.

use kasoku_testkit::{BOTH, Scenario, Setup, get, ok, reply};

const BODY: &str = "0123456789";

fn part(fields: &[&str], first: usize, last: usize) -> Vec<u8> {
    let range = format!("Content-Range: bytes {first}-{last}/10");
    let fields: Vec<&str> = ["Cache-Control: max-age=60", &range].into_iter().chain(fields.iter().copied()).collect();
    reply("206 Partial Content", &fields, &BODY[first..=last])
}

const TAG: &[&str] = &["ETag: \"1\""];

#[test]
fn a_stored_part_answers_ranges_within_it() {
    //= RFC 9111 section 3.3
    //# A cache MUST NOT use an incomplete response to answer requests unless the response has been made complete, or the
    //# request is partial and specifies a range wholly within the incomplete response.
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/").answers(part(TAG, 2, 7))]);
        let mut client = scene.client();
        let first = client.get_with("/", &["Range: bytes=2-7"]);
        assert_eq!((first.short(), first.field("content-range").as_str()), ((206, "234567".into()), "bytes 2-7/10"));
        assert_eq!(scene.origin.request(0).field("range").as_deref(), Some("bytes=2-7"));
        for (asked, range, body) in
            [("2-7", "bytes 2-7/10", "234567"), ("3-4", "bytes 3-4/10", "34"), ("7-7", "bytes 7-7/10", "7")]
        {
            let hit = client.get_with("/", &[&format!("Range: bytes={asked}")]);
            assert_eq!(
                (hit.is_hit(), hit.short(), hit.field("content-range").as_str()),
                (true, (206, body.into()), range)
            );
        }
    }
}

#[test]
fn a_stored_part_does_not_answer_a_request_for_the_whole() {
    //= RFC 9111 section 3.3
    //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial Content)
    //# status code.
    let scene =
        Scenario::safe([get("/").answers(part(&[], 2, 7)), get("/").answers(ok(&["Cache-Control: max-age=60"], BODY))]);
    let mut client = scene.client();
    client.get_with("/", &["Range: bytes=2-7"]);
    assert_eq!(client.get("/").short(), (200, BODY.into()));
    assert_eq!(client.get("/").short(), (200, BODY.into()));
}

#[test]
fn parts_that_touch_are_combined_and_become_the_whole() {
    //= RFC 9111 section 3.4
    //# When combining the new response with one or more stored responses, a cache MUST update the stored response header
    //# fields using the header fields provided in the new response, as per Section 3.2.
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/").answers(part(&["ETag: \"1\"", "X-A: old"], 0, 4)),
            get("/").answers(part(&["ETag: \"1\"", "X-A: new"], 5, 9)),
        ]);
        let mut client = scene.client();
        client.get_with("/", &["Range: bytes=0-4"]);
        assert_eq!(client.get_with("/", &["Range: bytes=5-9"]).short(), (206, "56789".into()));
        let middle = client.get_with("/", &["Range: bytes=3-6"]);
        assert_eq!((middle.is_hit(), middle.short()), (true, (206, "3456".into())));
        let whole = client.get("/");
        assert_eq!((whole.is_hit(), whole.short()), (true, (200, BODY.into())));
        assert_eq!((whole.has("content-range"), whole.field("x-a").as_str()), (false, "new"));
    }
}

#[test]
fn only_what_is_missing_is_asked_for() {
    let scene = Scenario::rfc([get("/").answers(part(TAG, 0, 4)), get("/").answers(part(TAG, 5, 9))]);
    let mut client = scene.client();
    client.get_with("/", &["Range: bytes=0-4"]);
    let whole = client.get("/");
    assert_eq!((whole.short(), whole.cache_status("fwd").as_deref()), ((200, BODY.into()), Some("partial")));
    let request = scene.origin.request(1);
    assert_eq!(
        (request.field("range").as_deref(), request.field("if-range").as_deref()),
        (Some("bytes=5-"), Some("\"1\""))
    );
    assert!(client.get("/").is_hit());
}

#[test]
fn a_part_that_says_that_there_are_no_variants_is_not_combined_with_one() {
    let varies = ["ETag: \"1\"", "Vary: X-A"];
    let scene = Scenario::safe([
        get("/").answers(part(&varies, 0, 4)),
        get("/").answers(part(&["ETag: \"1\"", "Vary:"], 5, 9)),
        get("/").answers(ok(&["Cache-Control: max-age=60", "ETag: \"1\"", "Vary: X-A"], BODY)),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 1", "Range: bytes=0-4"]);
    let whole = client.get_with("/", &["X-A: 1"]);
    assert_eq!((whole.short(), whole.field("vary").as_str()), ((200, BODY.into()), "X-A"));
}

#[test]
fn a_client_that_wants_more_than_the_part_gets_exactly_that() {
    let scene = Scenario::rfc([get("/").answers(part(TAG, 2, 4)), get("/").answers(part(TAG, 5, 7))]);
    let mut client = scene.client();
    client.get_with("/", &["Range: bytes=2-4"]);
    let more = client.get_with("/", &["Range: bytes=3-7"]);
    assert_eq!((more.short(), more.field("content-range").as_str()), ((206, "34567".into()), "bytes 3-7/10"));
}

#[test]
fn parts_of_different_representations_are_never_combined() {
    //= RFC 9111 section 3.4
    //# A cache MAY combine these ranges into a single stored response, and reuse that response to satisfy later requests, if
    //# they all share the same strong validator
    let whole = || ok(&["Cache-Control: max-age=60"], "abcdefghij");
    for (one, other) in
        [(&["ETag: \"1\""][..], &["ETag: \"2\""][..]), (&["ETag: W/\"1\""], &["ETag: W/\"1\""]), (&[], &[])]
    {
        let scene = Scenario::rfc([
            get("/").answers(part(one, 0, 4)),
            get("/").answers(part(other, 5, 9)),
            get("/").answers(whole()),
        ]);
        let mut client = scene.client();
        client.get_with("/", &["Range: bytes=0-4"]);
        client.get_with("/", &["Range: bytes=5-9"]);
        assert_eq!(client.get("/").short(), (200, "abcdefghij".into()), "{one:?}, {other:?}");
    }
}

#[test]
fn a_whole_that_came_instead_of_the_missing_part_replaces_it() {
    let scene = Scenario::rfc([
        get("/").answers(part(TAG, 0, 4)),
        get("/").answers(ok(&["Cache-Control: max-age=60", "ETag: \"2\""], "abcdefghij")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["Range: bytes=0-4"]);
    assert_eq!(client.get("/").short(), (200, "abcdefghij".into()));
    assert_eq!(client.get_with("/", &["Range: bytes=0-1"]).short(), (206, "ab".into()));
}

#[test]
fn a_part_of_another_range_than_was_asked_for_is_asked_again_as_a_whole() {
    let scene = Scenario::rfc([
        get("/").answers(part(TAG, 0, 4)),
        get("/").answers(part(TAG, 6, 9)),
        get("/").answers(ok(&["Cache-Control: max-age=60"], "abcdefghij")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["Range: bytes=0-4"]);
    assert_eq!(client.get("/").short(), (200, "abcdefghij".into()));
    assert_eq!(scene.origin.request(2).field("range"), None);
}

#[test]
fn an_invalid_part_is_passed_on_and_not_stored() {
    for range in [
        "Content-Range: bytes 2-7/5",
        "Content-Range: lines 2-7/10",
        "Content-Range: bytes 2-9/10",
        "Content-Range: nonsense",
        "X: y",
    ] {
        let answer = || reply("206 Partial Content", &["Cache-Control: max-age=60", "ETag: \"1\"", range], "234567");
        let scene = Scenario::rfc([get("/").answers(answer()), get("/").answers(answer())]);
        let mut client = scene.client();
        for _ in 0..2 {
            let response = client.get_with("/", &["Range: bytes=2-7"]);
            assert_eq!((response.is_hit(), response.short()), (false, (206, "234567".into())), "{range}");
        }
    }
}

#[test]
fn a_206_without_a_range_in_the_request_is_not_stored() {
    let scene =
        Scenario::rfc([get("/").answers(part(TAG, 0, 4)), get("/").answers(ok(&["Cache-Control: max-age=60"], BODY))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").status, 206);
    assert_eq!(client.get("/").short(), (200, BODY.into()));
}

#[test]
fn a_multipart_206_is_passed_on_and_not_stored() {
    let answer = || {
        let body = "--x\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--x--\r\n";
        reply(
            "206 Partial Content",
            &["Cache-Control: max-age=60", "Content-Type: multipart/byteranges; boundary=x"],
            body,
        )
    };
    let scene = Scenario::rfc([get("/").answers(answer()), get("/").answers(answer())]);
    let mut client = scene.client();
    for _ in 0..2 {
        let response = client.get_with("/", &["Range: bytes=0-0,2-2"]);
        assert_eq!((response.status, response.is_hit()), (206, false));
    }
}

#[test]
fn a_200_to_a_range_request_is_stored_whole_and_the_client_gets_its_range() {
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], BODY))]);
    let mut client = scene.client();
    let response = client.get_with("/", &["Range: bytes=2-3"]);
    assert!(response.short() == (206, "23".into()) || response.short() == (200, BODY.into()), "{response:?}");
    assert_eq!((client.get("/").is_hit(), client.get("/").text().as_str()), (true, BODY));
}

#[test]
fn a_416_of_the_origin_is_for_that_client_alone() {
    let scene = Scenario::rfc([
        get("/").answers(reply(
            "416 Range Not Satisfiable",
            &["Cache-Control: max-age=60", "Content-Range: bytes */10"],
            "",
        )),
        get("/").answers(ok(&["Cache-Control: max-age=60"], BODY)),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Range: bytes=50-"]).status, 416);
    assert_eq!(client.get("/").short(), (200, BODY.into()));
}

#[test]
fn if_range_on_a_miss_goes_to_the_origin_as_it_is() {
    let scene = Scenario::rfc([get("/").answers(part(TAG, 0, 4))]);
    let response = scene.client().get_with("/", &["Range: bytes=0-4", "If-Range: \"1\""]);
    assert_eq!(response.short(), (206, "01234".into()));
    assert_eq!(scene.origin.only_request().field("if-range").as_deref(), Some("\"1\""));
}

#[test]
fn a_stored_part_has_its_age_and_grows_stale() {
    let scene = Scenario::rfc([get("/").answers(part(TAG, 0, 4)), get("/").answers(part(&["ETag: \"2\""], 0, 4))]);
    let mut client = scene.client();
    client.get_with("/", &["Range: bytes=0-4"]);
    scene.advance(59);
    assert_eq!(client.get_with("/", &["Range: bytes=0-4"]).field("age"), "59");
    scene.advance(1);
    assert_eq!(client.get_with("/", &["Range: bytes=0-4"]).field("etag"), "\"2\"");
}

#[test]
fn a_part_that_the_origin_cuts_short_is_not_stored() {
    let cut = "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\n012";
    let gate = kasoku_testkit::Gate::new();
    let scene = Scenario::rfc([get("/").answers(cut).waits(&gate).closes(), get("/").answers(part(TAG, 0, 4))]);
    let mut client = scene.client();
    let head = client.ask("GET", "/", &["Range: bytes=0-4"]).next_head();
    gate.open();
    assert_eq!(client.rest_of(head).ending, kasoku_testkit::Ending::Cut);
    assert_eq!(scene.client().get_with("/", &["Range: bytes=0-4"]).text(), "01234");
}
