//! Separate fills of one key: by variant, and by range.

use crate::collapse::{FRESH, answers, asking, in_two_pieces, waiting};
use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, ok, reply};

#[test]
fn clients_whose_fields_select_another_variant_are_released() {
    //= RFC 9111 section 4.1
    //# the cache MUST NOT use that stored response without revalidation unless all the presented request header fields
    //# nominated by that Vary field value match those fields in the original request
    let gate = Gate::new();
    let variant = |body: &str| ok(&[FRESH, "Vary: X-A"], body);
    let scene =
        Scenario::safe([get("/").answers("").waits(&gate).sends(variant("one")), get("/").answers(variant("two"))]);
    let ask = |value: &str| {
        let mut client = scene.client();
        client.ask("GET", "/", &[&format!("X-A: {value}")]);
        client
    };
    let mut first = ask("1");
    scene.origin.arrived(1);
    let (mut same, mut other) = (ask("1"), ask("2"));
    scene.settled();
    gate.open();
    assert_eq!(
        (first.response().text(), same.response().text(), other.response().text()),
        ("one".into(), "one".into(), "two".into())
    );
    assert_eq!((ask("1").response().is_hit(), ask("2").response().is_hit()), (true, true));
}

#[test]
fn each_of_several_variants_is_asked_for_once() {
    for profile in BOTH {
        let (gate, others) = (Gate::new(), Gate::new());
        let varied = |body: &str| ok(&[FRESH, "Vary: Accept-Language"], body);
        let scene = Setup::new(profile).run([
            get("/").answers("").waits(&gate).sends(varied("0")),
            get("/").answers("").waits(&others).sends(varied("1")),
            get("/").answers("").waits(&others).sends(varied("2")),
        ]);
        let field = |language| format!("Accept-Language: {language}");
        let mut groups = vec![("en", waiting(&scene, 3, &[&field("en")]))];
        for language in ["de", "fr"] {
            groups.push((language, (0..3).map(|_| asking(&scene, &[&field(language)])).collect()));
        }
        scene.settled();
        gate.open();
        scene.origin.arrived(3);
        scene.settled();
        others.open();
        for (language, clients) in groups {
            for response in answers(clients) {
                let request = scene.origin.request(response.text().parse().unwrap());
                assert_eq!(request.field("accept-language").as_deref(), Some(language));
            }
            assert!(scene.client().get_with("/", &[&field(language)]).is_hit());
        }
        assert_eq!(scene.origin.count(), 3);
    }
}

#[test]
fn fills_of_known_variants_run_beside_each_other() {
    let (one, two) = (Gate::new(), Gate::new());
    let variant = |body: &str| ok(&[FRESH, "Vary: X-A"], body);
    let scene = Scenario::safe([
        get("/").answers(variant("zero")),
        get("/").answers("").waits(&one).sends(variant("one")),
        get("/").answers("").waits(&two).sends(variant("two")),
    ]);
    let mut client = scene.client();
    client.get_with("/", &["X-A: 0"]);
    client.ask("GET", "/", &["X-A: 1"]);
    scene.origin.arrived(2);
    let mut other = scene.client();
    other.ask("GET", "/", &["X-A: 2"]);
    scene.origin.arrived(3);
    two.open();
    assert_eq!(other.response().text(), "two");
    one.open();
    assert_eq!(client.response().text(), "one");
}

#[test]
fn a_range_of_a_running_whole_is_a_206_before_the_rest_is_there() {
    for profile in BOTH {
        let gate = Gate::new();
        let scene = Setup::new(profile).run([in_two_pieces(&[FRESH, "ETag: \"1\""], &gate)]);
        let mut first = asking(&scene, &[]);
        first.next_head();
        for (range, content_range, body) in [("1-3", "bytes 1-3/10", "irs"), ("0-4", "bytes 0-4/10", "first")] {
            let response = scene.client().get_with("/", &[&format!("Range: bytes={range}")]);
            assert_eq!(response.short(), (206, body.to_owned()));
            assert_eq!(response.field("content-range"), content_range);
        }
        let mut across = asking(&scene, &["Range: bytes=-7"]);
        assert_eq!(across.next_head().field("content-range").as_deref(), Some("bytes 3-9/10"));
        across.reads("st");
        gate.open();
        across.reads("after");
        first.reads("firstafter");
        assert_eq!(scene.origin.count(), 1);
    }
}

#[test]
fn a_range_of_a_running_whole_of_unknown_length_is_answered_with_the_whole() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("5\r\nafter\r\n0\r\n\r\n")]);
    asking(&scene, &[]).next_head();
    let mut second = asking(&scene, &["Range: bytes=1-3"]);
    let head = second.next_head();
    gate.open();
    let response = second.rest_of(head);
    assert_eq!((response.short(), response.has("content-range")), ((200, "firstafter".into()), false));
}

#[test]
fn the_same_range_of_a_cold_key_is_one_request() {
    for profile in BOTH {
        let gate = Gate::new();
        let part = |range: &str, body: &str| {
            reply("206 Partial Content", &[FRESH, "ETag: \"1\"", &format!("Content-Range: bytes {range}/10")], body)
        };
        let scene = Setup::new(profile)
            .run([get("/").answers("").waits(&gate).sends(part("1-3", "irs")), get("/").answers(part("5-9", "after"))]);
        let clients = waiting(&scene, 4, &["Range: bytes=1-3"]);
        let another = scene.client().get_with("/", &["Range: bytes=5-9"]);
        assert_eq!(another.short(), (206, "after".into()));
        gate.open();
        for response in answers(clients) {
            assert_eq!(
                (response.short(), response.field("content-range")),
                ((206, "irs".into()), "bytes 1-3/10".into())
            );
        }
        assert_eq!(scene.origin.count(), 2);
    }
}

#[test]
fn parts_that_are_fetched_at_once_neither_mix_nor_get_lost() {
    //= RFC 9111 section 3.3
    //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial Content)
    //# status code.
    let gate = Gate::new();
    let whole = "abcdefghijklmnopqrst";
    let part = |first: usize, last: usize| {
        let range = format!("Content-Range: bytes {first}-{last}/20");
        reply("206 Partial Content", &[FRESH, "ETag: \"1\"", &range], &whole[first..=last])
    };
    let scene = Scenario::safe([
        get("/").answers(part(0, 4)),
        get("/").answers("").waits(&gate).sends(part(5, 9)),
        get("/").answers(part(10, 15)),
        get("/").answers(part(5, 9)),
    ]);
    let range = |range: &str| scene.client().get_with("/", &[&format!("Range: bytes={range}")]);
    range("0-4");
    let mut slow = asking(&scene, &["Range: bytes=0-9"]);
    scene.origin.arrived(2);
    assert_eq!(range("10-15").text(), &whole[10..=15]);
    assert_eq!(range("0-15").short(), (206, whole[..=15].to_owned()));
    gate.open();
    assert_eq!(slow.response().short(), (206, whole[..=9].to_owned()));
    let all = range("0-15");
    assert_eq!((all.is_hit(), all.text().as_str()), (true, &whole[..=15]), "the slow one has undone nothing");
}
