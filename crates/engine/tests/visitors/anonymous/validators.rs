//! Which validators a visitor gets, and which ones confirm what a browser has stored, if several visitors use one browser.
//!
//! The board states the time of rendering as Last-Modified, and one entity tag for all pages, as programs do that were never
//! behind a cache. A browser that stores no member's page can't show one to the next visitor. So the answer to a session says
//! no-store, and no validator that a member got confirms the shared page.

use crate::anonymous::board::Board;
use crate::anonymous::{guarded, is_anonymous, is_found_anonymous, of_a_board, policy, with_probe};
use kasoku_options::{CodingRules, OriginAddress};
use kasoku_semantics::grant::Grant;
use kasoku_testkit::{Folder, Response, Scenario, Setup, get, ok, reply};
use std::sync::Arc;
use std::time::Duration;

const RENDERED_FOR_GUESTS: &str = "Mon, 23 Nov 2026 04:00:00 GMT";
const RENDERED_FOR_MEMBERS: &str = "Mon, 23 Nov 2026 04:00:05 GMT";

/// The validators of a page that another visitor's browser may have.
const VALIDATORS_OF_ANOTHER: [&str; 5] = [
    "If-Modified-Since: Mon, 23 Nov 2026 04:00:05 GMT",
    "If-Modified-Since: Mon, 23 Nov 2026 04:00:00 GMT",
    "If-None-Match: \"theirs\"",
    "If-None-Match: W/\"theirs\"",
    "If-None-Match: *",
];

/// A board that states the time of rendering.
fn board() -> Board {
    let board = Board::start();
    board.state().adds = vec!["Last-Modified: Mon, 23 Nov 2026 04:00:00 GMT", "ETag: \"theirs\""];
    board
}

/// The shared page, which is stored.
fn kept(scene: &Scenario, path: &str) -> Response {
    scene.client().get(path);
    scene.eventually(|| scene.client().get(path).has("etag"));
    scene.client().get(path)
}

fn is_for(response: &Response, who: &str) -> bool {
    response.status == 200 && response.text().starts_with(&format!("This is for {who}."))
}

#[test]
fn a_page_for_all_has_a_validator_of_ours_alone() {
    let board = board();
    let scene = board.behind(guarded());
    let first = scene.client().get("/");
    assert!(!first.has("last-modified") && !first.has("etag"), "its bytes are not all there yet: {first:?}");
    let page = kept(&scene, "/");
    assert!(!page.has("last-modified"), "{page:?}");
    let tag = page.field("etag");
    assert!(tag.starts_with("\"k") && tag.len() == 35, "{tag}");
    let other = kept(&scene, "/list.php");
    assert_ne!(other.field("etag"), tag);
    let same = scene.client().get_with("/", &[&format!("If-None-Match: \"x\", {tag}")]);
    assert_eq!((same.status, same.field("etag"), same.body.len()), (304, tag.clone(), 0), "{same:?}");
    let part = scene.client().get_with("/", &["Range: bytes=0-3", &format!("If-Range: {tag}")]);
    assert_eq!((part.status, &*part.body), (206, &page.body[..4]), "{part:?}");
}

#[test]
fn what_a_member_was_told_confirms_no_page_for_all() {
    let board = board();
    let scene = board.behind(guarded());
    let page = kept(&scene, "/");
    for validator in VALIDATORS_OF_ANOTHER {
        let answer = scene.client().get_with("/", &[validator]);
        assert_eq!((answer.status, answer.is_hit()), (200, true), "{validator}: {answer:?}");
        assert_eq!(answer.body, page.body);
    }
    for if_range in [RENDERED_FOR_MEMBERS, RENDERED_FOR_GUESTS, "\"theirs\"", "*"] {
        let answer = scene.client().get_with("/", &["Range: bytes=0-3", &format!("If-Range: {if_range}")]);
        assert_eq!(answer.status, 200, "{if_range}: {answer:?}");
    }
}

#[test]
fn nor_do_they_confirm_what_is_being_fetched_or_is_for_one_visitor() {
    for adds in ["X-Plain: 1", "Set-Cookie: sso=1"] {
        let board = board();
        board.state().adds.push(adds);
        let scene = board.behind(guarded());
        for (number, validator) in VALIDATORS_OF_ANOTHER.iter().enumerate() {
            let answer = scene.client().get_with(&format!("/list.php?page={number}"), &[validator]);
            assert!(is_for(&answer, "a guest"), "{adds}, {validator}: {answer:?}");
        }
    }
}

#[test]
fn a_browser_has_nothing_of_a_member_when_the_next_visitor_asks() {
    let board = board();
    let scene = board.behind(Setup::safe().route(with_probe));
    kept(&scene, "/");
    let id = format!("PHPSESSID={}", board.session(Some("ann")));
    let own = scene.client().get_with("/", &[&format!("Cookie: {id}")]);
    assert!(is_for(&own, "ann"));
    assert_eq!(own.head.all("cache-control").collect::<Vec<_>>(), ["private, no-store"], "{own:?}");
    assert!(!own.has("expires"), "{own:?}");
}

#[test]
fn logging_in_and_out_and_in_again_shows_each_visitor_their_page() {
    let board = board();
    let scene = board.behind(Setup::safe().route(with_probe));
    let tag = kept(&scene, "/").field("etag");
    let has_guests_page = format!("If-None-Match: {tag}");
    let cookie = format!("Cookie: PHPSESSID={}", board.session(None));
    let sees = |who: &str| {
        let answer = scene.client().get_with("/", &[&cookie, &has_guests_page]);
        assert!(is_for(&answer, who), "{who}: {answer:?}");
    };
    for member in ["ann", "tom"] {
        scene.client().send_body("POST", "/login_check.php", &[&cookie], &format!("user={member}"));
        sees(member);
        scene.client().get_with("/logout.php", &[&cookie]);
        is_found_anonymous_by(&board, &scene, &cookie);
        sees("a guest");
    }
}

fn is_found_anonymous_by(board: &Board, scene: &Scenario, cookie: &str) {
    // If this request overtakes a probe of the session, the result of the probe does not count, and the next request begins another.
    scene.eventually(|| {
        scene.eventually(|| board.all_is_answered());
        scene.settled();
        scene.client().get_with("/list.php", &[cookie]);
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            is_anonymous(scene, cookie.trim_start_matches("Cookie: "))
        })
    });
}

#[test]
fn what_answers_a_session_is_kept_by_no_browser_whatever_the_application_says() {
    let board = board();
    board.state().adds.push("Cache-Control: public, max-age=600");
    let scene = board.behind(Setup::safe().route(with_probe));
    let member = format!("Cookie: PHPSESSID={}", board.session(Some("ann")));
    let guest = format!("PHPSESSID={}", board.session(None));
    let control = |path: &str, cookie: &str| {
        let answer = scene.client().get_with(path, &[cookie]);
        answer.head.all("cache-control").collect::<Vec<_>>().join("; ")
    };
    assert_eq!(control("/", &member), "private, no-store");
    scene.client().get_with("/", &[&format!("Cookie: {guest}")]);
    is_found_anonymous(&scene, &guest);
    kept(&scene, "/");
    assert_eq!(control("/", &format!("Cookie: {guest}")), "private, no-store", "from memory as well");
    assert_eq!(control("/login.php", "Cookie: PHPSESSID=1"), "private, no-store", "a URL that passes");
    assert_eq!(control("/login.php", "X-None: 1"), "private, no-store", "it begins a session");
    let stranger = scene.client().get("/");
    assert!(!stranger.field("cache-control").contains("private"), "{stranger:?}");
}

#[test]
fn data_for_a_session_is_asked_about_each_time_and_files_are_left_alone() {
    let scene = Setup::safe().route(of_a_board).run([
        get("/data").answers(ok(&["Content-Type: application/json", "Cache-Control: max-age=60"], "{}")),
        get("/feed").answers(ok(&["Content-Type: application/rss+xml", "Cache-Control: public, max-age=60"], "x")),
        get("/x.css").answers(ok(&["Content-Type: text/css", "Cache-Control: max-age=60"], "x")),
        get("/x.png").answers(ok(&["Content-Type: text/html", "Cache-Control: max-age=60"], "x")),
    ]);
    let control = |path: &str| {
        let answer = scene.client().get_with(path, &["Cookie: PHPSESSID=1"]);
        answer.field("cache-control")
    };
    assert_eq!(control("/data"), "private, no-cache");
    assert_eq!(control("/feed"), "public, max-age=60");
    assert_eq!(control("/x.css"), "max-age=60");
    assert_eq!(control("/x.png"), "private, no-store", "it is no image");
}

#[test]
fn without_a_policy_a_granted_page_has_a_tag_of_ours_as_well() {
    let scene =
        Setup::safe().route(|route| policy(route).grant = Grant { ttl_seconds: 60, ..Grant::default() }).run([get(
            "/search.cgi",
        )
        .answers(ok(
            &["Content-Type: text/html", "Last-Modified: Mon, 23 Nov 2026 04:00:00 GMT", "ETag: \"theirs\""],
            "found",
        ))]);
    let page = kept(&scene, "/search.cgi");
    assert!(page.field("etag").starts_with("\"k") && !page.has("last-modified"), "{page:?}");
    let answer = scene.client().get_with("/search.cgi", &[VALIDATORS_OF_ANOTHER[0]]);
    assert_eq!((answer.status, answer.is_hit()), (200, true), "{answer:?}");
    // By the RFC, the condition is compared with Date if there is no Last-Modified.
    let later = scene.client().get_with("/search.cgi", &["If-Modified-Since: Mon, 23 Nov 2099 04:00:00 GMT"]);
    assert_eq!(later.status, 200, "{later:?}");
}

#[test]
fn the_application_is_asked_with_its_own_validators() {
    let lines = ["Content-Type: text/html", "Last-Modified: Mon, 23 Nov 2026 04:00:00 GMT", "ETag: \"theirs\""];
    let scene = Setup::safe().route(|route| policy(route).grant = Grant { ttl_seconds: 60, ..Grant::default() }).run([
        get("/page").answers(ok(&lines, "text")),
        get("/page").answers(reply("304 Not Modified", &["ETag: \"theirs\""], "")),
    ]);
    let before = kept(&scene, "/page");
    scene.advance(90);
    let confirmed = scene.client().get("/page");
    assert_eq!(
        (confirmed.status, confirmed.cache_status("detail").as_deref()),
        (200, Some("revalidated")),
        "{confirmed:?}"
    );
    let asked = scene.origin.request(1);
    assert_eq!(asked.field("if-none-match").as_deref(), Some("\"theirs\""));
    assert_eq!(asked.field("if-modified-since").as_deref(), Some(RENDERED_FOR_GUESTS));
    let after = scene.client().get("/page");
    assert_eq!((after.field("etag"), after.has("last-modified")), (before.field("etag"), false), "{after:?}");
}

#[test]
fn each_coding_has_a_tag_of_its_own_and_confirms_the_page() {
    let text = "The same words again and again. ".repeat(200);
    let scene = Setup::safe()
        .route(|route| {
            policy(route).grant = Grant { ttl_seconds: 60, ..Grant::default() };
            route.compression = Arc::new(CodingRules::default());
        })
        .run([get("/page").answers(ok(&["Content-Type: text/html"], &text))]);
    let tag = kept(&scene, "/page").field("etag");
    let asks = |fields: &[&str]| scene.client().get_with("/page", fields);
    scene.eventually(|| asks(&["Accept-Encoding: gzip"]).field("content-encoding") == "gzip");
    let coded = asks(&["Accept-Encoding: gzip"]).field("etag");
    assert_eq!(coded, format!("{}-gzip\"", tag.trim_end_matches('"')));
    assert_eq!(asks(&["Accept-Encoding: gzip", &format!("If-None-Match: {coded}")]).status, 304);
    assert_eq!(asks(&["Accept-Encoding: gzip", &format!("If-None-Match: {tag}")]).status, 304);
    assert_eq!(asks(&["Accept-Encoding: gzip", "If-None-Match: \"k0-gzip\""]).status, 200);
}

#[test]
fn a_file_of_the_document_root_keeps_its_validators() {
    let folder = Folder::new();
    folder.write("style.css", "body {}");
    let scene = Setup::safe()
        .route(|route| policy(route).grant = Grant { ttl_seconds: 60, ..Grant::default() })
        .run_before(&OriginAddress::Files(folder.path().to_owned()));
    let file = scene.client().get("/style.css");
    assert!(file.has("last-modified") && file.has("etag") && !file.field("etag").starts_with("\"k"), "{file:?}");
    let modified = file.field("last-modified");
    let same = scene.client().get_with("/style.css", &[&format!("If-Modified-Since: {modified}")]);
    assert_eq!(same.status, 304, "{same:?}");
}
