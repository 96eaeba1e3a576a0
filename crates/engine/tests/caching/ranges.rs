//! Ranges of a stored 200: one, several, If-Range, and ranges that cannot be satisfied.

use kasoku_testkit::{BOTH, Gate, Response, Scenario, Setup, get, ok, reply};

const BODY: &str = "0123456789";
const FRESH: &str = "Cache-Control: max-age=60";

#[track_caller]
fn is_part(response: &Response, range: &str, body: &str) {
    //= RFC 9111 section 3.3
    //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial Content)
    //# status code.
    assert_eq!((response.status, response.field("content-range").as_str()), (206, range), "{response:?}");
    assert_eq!(response.text(), body);
    assert_eq!(response.field("content-length"), body.len().to_string());
}

/// A scenario in which `BODY` is stored.
fn stored(setup: Setup) -> Scenario {
    let date = format!("Last-Modified: {}", setup.date(-1000));
    let scene = setup.run([get("/").answers(ok(&[FRESH, "ETag: \"1\"", &date, "Content-Type: text/plain"], BODY))]);
    scene.client().get("/");
    scene
}

#[test]
fn one_range_of_a_stored_response_is_206() {
    for profile in BOTH {
        let scene = stored(Setup::new(profile));
        let mut client = scene.client();
        scene.advance(5);
        for (asked, range, body) in [
            ("bytes=0-0", "bytes 0-0/10", "0"),
            ("bytes=2-5", "bytes 2-5/10", "2345"),
            ("bytes=7-", "bytes 7-9/10", "789"),
            ("bytes=7-100", "bytes 7-9/10", "789"),
            ("bytes=-3", "bytes 7-9/10", "789"),
            ("bytes=-100", "bytes 0-9/10", BODY),
            ("Bytes=0-9", "bytes 0-9/10", BODY),
            ("bytes= 1-2 ,", "bytes 1-2/10", "12"),
        ] {
            let response = client.get_with("/", &[&format!("Range: {asked}")]);
            is_part(&response, range, body);
            assert_eq!((response.is_hit(), response.field("age").as_str()), (true, "5"));
            assert_eq!(
                (response.field("etag").as_str(), response.field("content-type").as_str()),
                ("\"1\"", "text/plain")
            );
        }
    }
}

#[test]
fn what_is_no_range_of_bytes_gets_the_whole() {
    let scene = stored(Setup::safe());
    let mut client = scene.client();
    for asked in [
        "lines=1-2",
        "bytes",
        "bytes=",
        "bytes=a-b",
        "bytes=5-2",
        "bytes=1-2-3",
        "bytes=--1",
        "bytes=1 - 2",
        "bytes=99999999999999999999999-",
    ] {
        let response = client.get_with("/", &[&format!("Range: {asked}")]);
        let is_unsatisfiable = asked.contains("999") && response.status == 416;
        assert!(response.short() == (200, BODY.into()) || is_unsatisfiable, "{asked}: {response:?}");
    }
}

#[test]
fn a_range_beyond_the_end_is_416() {
    let scene = stored(Setup::safe());
    let mut client = scene.client();
    for asked in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=20-30, 40-50"] {
        let response = client.get_with("/", &[&format!("Range: {asked}")]);
        assert_eq!((response.status, response.field("content-range").as_str()), (416, "bytes */10"), "{asked}");
        assert_eq!(response.detail(), "range-unsatisfiable");
    }
    assert_eq!(client.get("/").short(), (200, BODY.into()));
}

#[test]
fn several_ranges_come_in_parts() {
    let scene = stored(Setup::safe());
    let response = scene.client().get_with("/", &["Range: bytes=0-1, 4-5, -1"]);
    assert_eq!(response.status, 206);
    assert!(!response.has("content-range"));
    let content_type = response.field("content-type");
    let boundary = content_type.strip_prefix("multipart/byteranges; boundary=").expect("a boundary");
    let part = |range: &str, body: &str| {
        format!("\r\n--{boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes {range}/10\r\n\r\n{body}")
    };
    let expected = [part("0-1", "01"), part("4-5", "45"), part("9-9", "9"), format!("\r\n--{boundary}--\r\n")].concat();
    assert_eq!(response.text(), expected);
}

#[test]
fn of_several_ranges_those_beyond_the_end_are_left_out() {
    let scene = stored(Setup::safe());
    is_part(&scene.client().get_with("/", &["Range: bytes=2-3, 50-60"]), "bytes 2-3/10", "23");
}

#[test]
fn a_range_attack_gets_no_more_than_the_whole() {
    let scene = stored(Setup::safe());
    let many: Vec<String> = (0..500).map(|_| "0-9".to_owned()).collect();
    let response = scene.client().get_with("/", &[&format!("Range: bytes={}", many.join(","))]);
    assert!(response.body.len() < 200, "{} bytes", response.body.len());
}

#[test]
fn head_ignores_range() {
    let scene = stored(Setup::safe());
    let response = scene.client().head("/", &["Range: bytes=0-1"]);
    assert_eq!((response.status, response.field("content-length").as_str()), (200, "10"));
}

#[test]
fn if_range_with_the_stored_validator_gets_the_part() {
    let scene = stored(Setup::safe());
    let mut client = scene.client();
    let date = scene.date(-1000);
    for validator in ["\"1\"", date.as_str()] {
        let response = client.get_with("/", &["Range: bytes=0-1", &format!("If-Range: {validator}")]);
        is_part(&response, "bytes 0-1/10", "01");
    }
}

#[test]
fn if_range_with_another_validator_gets_the_whole() {
    let scene = stored(Setup::safe());
    let mut client = scene.client();
    let (later, earlier) = (scene.date(-999), scene.date(-1001));
    for validator in ["\"2\"", "W/\"1\"", later.as_str(), earlier.as_str(), "nonsense"] {
        let response = client.get_with("/", &["Range: bytes=0-1", &format!("If-Range: {validator}")]);
        assert_eq!(response.short(), (200, BODY.into()), "{validator}");
    }
}

#[test]
fn a_weak_stored_tag_never_satisfies_if_range() {
    let scene = Scenario::rfc([get("/").answers(ok(&[FRESH, "ETag: W/\"1\""], BODY))]);
    let mut client = scene.client();
    client.get("/");
    for validator in ["W/\"1\"", "\"1\""] {
        assert_eq!(client.get_with("/", &["Range: bytes=0-1", &format!("If-Range: {validator}")]).status, 200);
    }
}

#[test]
fn a_matching_if_none_match_beats_range() {
    let scene = stored(Setup::safe());
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Range: bytes=0-1", "If-None-Match: \"1\""]).status, 304);
    is_part(&client.get_with("/", &["Range: bytes=0-1", "If-None-Match: \"2\""]), "bytes 0-1/10", "01");
}

#[test]
fn range_does_not_apply_to_a_stored_error() {
    let scene = Scenario::rfc([get("/").answers(reply("404 Not Found", &[FRESH], "not here at all"))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.get_with("/", &["Range: bytes=0-1"]).short(), (404, "not here at all".into()));
}

#[test]
fn a_range_of_a_running_fill_comes_from_the_fill() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("56789")]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    first.next_head();
    let mut second = scene.client();
    is_part(&second.get_with("/", &["Range: bytes=1-3"]), "bytes 1-3/10", "123");
    second.ask("GET", "/", &["Range: bytes=4-6"]);
    assert_eq!(second.next_head().field("content-range").as_deref(), Some("bytes 4-6/10"));
    second.reads("4");
    gate.open();
    second.reads("56");
    first.reads(BODY);
}

#[test]
fn a_range_across_the_chunks_of_a_big_body_is_exact() {
    let body: Vec<u8> = (0..700_000_u32).map(|n| (n % 251) as u8).collect();
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], &body))]);
    let mut client = scene.client();
    client.get("/");
    for (first, last) in [(0, 699_999), (262_143, 262_144), (100_000, 600_000), (524_288, 524_288)] {
        let response = client.get_with("/", &[&format!("Range: bytes={first}-{last}")]);
        assert!(response.body == body[first..=last], "{first}-{last}");
    }
}
