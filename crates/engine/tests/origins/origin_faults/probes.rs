//! After a failure, the cache asks the origin by an anonymous request.

use crate::origin_faults::{PAGE, all_get, fails, first};
use kasoku_testkit::{Scenario, get, is_stand_in, ok};

#[test]
fn a_probe_carries_what_the_variant_is_made_of_and_nothing_else_of_its_client() {
    let fields = [
        "Cache-Control: max-age=10, stale-if-error=1000",
        "Vary: Accept-Language, X-Theme",
        "ETag: \"1\"",
        crate::origin_faults::CLOSE,
    ];
    let scene = Scenario::safe([get("/").answers(ok(&fields, "old")), fails(), get("/").answers(ok(&fields, "new"))]);
    let asked =
        ["Accept-Language: ja", "X-Theme: dark", "X-Odd: 1", "User-Agent: odd", "Referer: http://odd/", "Cookie: a=b"];
    let plain = ["Accept-Language: ja", "X-Theme: dark"];
    scene.client().get_with("/", &plain);
    scene.advance(15);
    assert_eq!(scene.client().get_with("/", &asked).detail(), "hit-stale-error");
    scene.advance(1);
    assert_eq!(scene.client().get_with("/", &asked).text(), "new");
    let mut lines: Vec<String> =
        scene.origin.request(2).head.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    lines.sort();
    let address = scene.origin.request(2).field("x-forwarded-for").unwrap();
    assert!(is_stand_in(&address), "{address}");
    let lines: Vec<String> = lines.into_iter().map(|line| line.replace(&address, "240.0.0.1")).collect();
    assert_eq!(
        lines,
        [
            "Accept-Language: ja",
            "Accept: */*",
            "Forwarded: for=240.0.0.1;host=example.org;proto=http",
            "Host: example.org",
            "If-None-Match: \"1\"",
            "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Kasoku",
            "Via: 1.1 kasoku",
            "X-Forwarded-For: 240.0.0.1",
            "X-Forwarded-Host: example.org",
            "X-Forwarded-Proto: http",
            "X-Real-IP: 240.0.0.1",
            "X-Theme: dark",
        ]
    );
    assert!(scene.client().get_with("/", &plain).is_hit());
}

#[test]
fn one_visitor_cannot_keep_a_page_stale() {
    // The odd request crashes the origin each time, and is the first one each time.
    let scene = Scenario::safe([first(), fails(), get("/").answers(ok(&PAGE, "new"))]);
    scene.client().get("/");
    scene.advance(15);
    assert_eq!(scene.client().get_with("/", &["X-Odd: 1"]).text(), "old");
    scene.advance(1);
    assert_eq!(scene.client().get_with("/", &["X-Odd: 1"]).text(), "new");
    assert_eq!(scene.origin.request(2).field("x-odd"), None);
    all_get(&scene, "new", "hit");
}

#[test]
fn a_visitor_gets_their_own_page_also_after_a_failure() {
    let private = ["Cache-Control: private"];
    let scene = Scenario::safe([
        fails(),
        get("/").answers(ok(&private, "please log in")),
        get("/").answers(ok(&private, "your account")),
    ]);
    assert_eq!(scene.client().get_with("/", &["Cookie: session=1"]).status, 502);
    assert_eq!(scene.client().get_with("/", &["Cookie: session=1"]).text(), "your account");
    assert_eq!(scene.origin.request(1).field("cookie"), None);
    assert_eq!(scene.origin.request(2).field("cookie").as_deref(), Some("session=1"));
}

#[test]
fn after_a_probe_that_brought_another_variant_a_client_asks_for_its_own() {
    let fields = ["Cache-Control: max-age=60", "Vary: Accept-Language"];
    let scene = Scenario::safe([fails(), get("/").answers(ok(&fields, "en")), get("/").answers(ok(&fields, "ja"))]);
    let ja = ["Accept-Language: ja"];
    assert_eq!(scene.client().get_with("/", &ja).status, 502);
    assert_eq!(scene.client().get_with("/", &ja).text(), "ja");
    assert_eq!(scene.client().get("/").text(), "en");
    assert_eq!(scene.origin.count(), 3);
}

#[test]
fn a_probe_for_a_range_asks_for_the_range() {
    let part = |body| {
        kasoku_testkit::reply(
            "206 Partial Content",
            &["Cache-Control: max-age=60", "Content-Range: bytes 0-3/8", "ETag: \"1\""],
            body,
        )
    };
    let scene = Scenario::safe([fails(), get("/").answers(part("half"))]);
    let range = ["Range: bytes=0-3"];
    assert_eq!(scene.client().get_with("/", &range).status, 502);
    assert_eq!(scene.client().get_with("/", &range).short(), (206, "half".into()));
    assert_eq!(scene.origin.request(1).field("range").as_deref(), Some("bytes=0-3"));
}
