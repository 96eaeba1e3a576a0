//! Requests of other kinds: methods, conditions, ranges, cache directives, other protocols; from guests and from sessions.

use super::{Row, hold, row};
use crate::anonymous::board::Board;
use crate::anonymous::{grant, guarded, names, with_probe};
use kasoku_testkit::{Setup, get, ok};

fn says(name: &'static str, line: &str) -> Row {
    row(name).field(line)
}

#[test]
fn what_a_guest_says_besides_changes_nothing() {
    hold(vec![
        says("a browser", "User-Agent: theirs").shared(),
        says("a language", "Accept-Language: ko").shared(),
        says("where from", "Referer: http://a.example/").shared(),
        says("an address", "X-Forwarded-For: 192.0.2.1").shared(),
        says("another method", "X-HTTP-Method-Override: DELETE").shared(),
        says("another path", "X-Original-URL: /admin").shared(),
        says("another host", "X-Forwarded-Host: evil.example").shared(),
        says("codings", "Accept-Encoding: gzip, br").shared(),
        says("an edge's powers", "Surrogate-Capability: k=\"ESI/1.0\"").shared(),
        says("a program on a telephone", "X-Requested-With: com.example.app").shared(),
        says("a fragment of a page", "X-Requested-With: XMLHttpRequest").passes("pass-field"),
        says("a key", "X-Api-Key: 1").passes("pass-field"),
        says("a part", "Range: bytes=0-2").shared(),
        says("a condition", "If-None-Match: \"x\"").shared(),
        says("a time", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT").shared(),
        says("a reload", "Cache-Control: no-cache").field("Pragma: no-cache").shared(),
        says("an age", "Cache-Control: max-age=0").shared(),
        says("nothing is to be stored", "Cache-Control: no-store").passes("request-no-store"),
    ]);
}

#[test]
fn what_has_to_reach_the_board_passes() {
    let of_a_session = |row: Row| row.field("Cookie: PHPSESSID=1");
    let upgrade = |name| row(name).field("Connection: upgrade").field("Upgrade: websocket");
    hold(vec![
        row("POST").method("POST").passes("method"),
        row("PUT").method("PUT").passes("method"),
        row("DELETE").method("DELETE").passes("method"),
        row("PATCH").method("PATCH").passes("method"),
        row("an unknown method").method("FROBNICATE").passes("method"),
        row("PROPFIND").method("PROPFIND").passes("method"),
        row("OPTIONS").method("OPTIONS").passes("method"),
        of_a_session(row("POST of a session").method("POST")).passes("method"),
        row("POST that is told a lifetime").method("POST").line("Cache-Control: public, max-age=60").passes("method"),
        row("HEAD").method("HEAD").passes("uri-miss"),
        of_a_session(row("HEAD of a session").method("HEAD")).passes_by_session("PHPSESSID"),
        upgrade("another protocol").passes("upgrade"),
        of_a_session(upgrade("another protocol for a session")).passes("upgrade"),
        says("a condition for the origin", "If-Match: \"x\"").passes("origin-condition"),
        of_a_session(says("the same of a session", "If-Match: \"x\"")).passes_by_session("PHPSESSID"),
        of_a_session(says("a part", "Range: bytes=0-2")).passes_by_session("PHPSESSID"),
        of_a_session(says("a condition", "If-None-Match: \"x\"")).passes_by_session("PHPSESSID"),
        of_a_session(says("a reload", "Cache-Control: no-cache")).passes_by_session("PHPSESSID"),
        of_a_session(says("nothing is to be stored", "Cache-Control: no-store")).passes_by_session("PHPSESSID"),
    ]);
}

#[test]
fn who_wants_what_is_stored_alone_gets_nothing_of_a_session() {
    let board = Board::start();
    let scene = board.behind(guarded());
    const ONLY: &str = "Cache-Control: only-if-cached";
    assert_eq!(scene.client().get_with("/", &[ONLY]).status, 504);
    assert_eq!(board.count(), 0);
    scene.client().get("/");
    assert!(scene.client().get_with("/", &[ONLY]).is_hit());
    assert!(scene.client().get_with("/", &[ONLY, "Cookie: _ga=1"]).is_hit());
    let toms = format!("Cookie: PHPSESSID={}", board.session(Some("tom")));
    let own = scene.client().get_with("/", &[ONLY, &toms]);
    assert!(!own.is_hit() && !own.text().contains("a guest"), "{own:?}");
}

#[test]
fn a_get_with_a_body_passes() {
    let board = Board::start();
    let scene = board.behind(guarded());
    for fields in [&[][..], &["Cookie: PHPSESSID=1"]] {
        let response = scene.client().send_body("GET", "/", fields, "x");
        assert_eq!(response.detail(), "request-body-on-get", "{response:?}");
    }
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn a_post_of_a_session_drops_what_everybody_sees_and_leaves_nothing_in_its_place() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let toms = format!("Cookie: PHPSESSID={}", board.session(Some("tom")));
    let before = scene.client().get("/list.php").text();
    assert!(scene.client().get("/list.php").is_hit());
    let answer = scene.client().send_body("POST", "/list.php", &[&toms], "write=1");
    assert!(answer.text().contains("tom"), "{answer:?}");
    let page = scene.client().get("/list.php");
    assert!(!page.is_hit() && page.text() != before && page.text().contains("a guest"), "{page:?}");
}

#[test]
fn a_purge_drops_it_for_all_visitors() {
    let board = Board::start();
    let scene = board.behind(guarded());
    scene.client().get("/");
    let purged = scene.client().ask("PURGE", "/", &["Cookie: PHPSESSID=1"]).response();
    assert_eq!(purged.status, 200, "{purged:?}");
    assert!(!scene.client().get("/").is_hit());
    assert_eq!(board.count(), 2, "the board never hears of it");
}

#[test]
fn parts_conditions_and_heads_of_an_anonymous_session_are_answered_from_what_is_stored() {
    let board = Board::start();
    board.state().adds = vec!["ETag: \"1\""];
    let scene = board.behind(Setup::safe().route(with_probe));
    let id = format!("PHPSESSID={}", board.session(None));
    let cookies = format!("Cookie: {id}");
    scene.client().get_with("/", &[&cookies]);
    crate::anonymous::is_found_anonymous(&scene, &id);
    // A client that reads the page while it is being fetched gets it before Kasoku can make its tag.
    scene.eventually(|| scene.client().get_with("/", &[&cookies]).has("etag"));
    let whole = scene.client().get_with("/", &[&cookies]);
    let part = scene.client().get_with("/", &[&cookies, "Range: bytes=0-3"]);
    assert_eq!((part.status, part.body.as_slice()), (206, &whole.body[..4]), "{part:?}");
    let tag = whole.field("etag");
    let same = scene.client().get_with("/", &[&cookies, &format!("If-None-Match: {tag}")]);
    assert_eq!((same.status, same.has("set-cookie")), (304, false), "{same:?}");
    assert!(same.field("cache-control") == "private, no-store" && same.field("vary") == "Cookie", "{same:?}");
    // The application's own tag may be that of another visitor's page.
    assert_eq!(scene.client().get_with("/", &[&cookies, "If-None-Match: \"1\""]).status, 200);
    assert!(scene.client().head("/", &[&cookies]).is_hit());
    assert!(scene.client().get_with("/", &[&cookies, "Cache-Control: no-cache"]).is_hit());
    assert_eq!(board.count_of("/"), 2);
}

#[test]
fn classes_in_the_key_and_vary_that_names_them_make_as_many_pages_as_there_are_classes() {
    let setup = guarded().route(|route| {
        grant(route).key_device = true;
        grant(route).key_languages = names(&["ko", "en"]);
    });
    let vary = ["Vary: User-Agent, Accept-Language, Cookie"];
    let scene = setup.run([(); 4].map(|()| get("/").answers(ok(&vary, "page"))));
    let agents = ["iPhone", "Android 14", "Firefox", ""];
    let languages = ["ko-KR", "en-US, en;q=0.5", "xx", "en;q=0.1, ko;q=0.2"];
    for agent in agents {
        for language in languages {
            let fields = [format!("User-Agent: {agent}"), format!("Accept-Language: {language}")];
            scene.client().get_with("/", &[&fields[0], &fields[1], "Cookie: _ga=1"]);
            assert!(scene.client().get_with("/", &[&fields[0], &fields[1]]).is_hit(), "{fields:?}");
        }
    }
    assert_eq!(scene.origin.count(), 4);
}
