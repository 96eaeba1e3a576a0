//! Stored pages that stop being shareable: the answer to a refresh drops them, even if `grace` or stale-if-error would allow
//! stale answers.

use crate::anonymous::application::{Application, Does};
use crate::anonymous::board::Board;
use crate::anonymous::{grant, guarded, names, session};
use kasoku_semantics::grant::StatusTtl;
use kasoku_testkit::{Gate, Response, Scenario, Setup, get, ok, reply};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PAGE: &str = "/becomes.php";

/// Pages are fresh for a minute. For ten more, a stale page is served while it is refreshed, or instead of an error.
fn with_grace() -> Setup {
    guarded().policy(|policy| policy.grace_seconds = 600)
}

fn is_for_all(response: &Response) -> bool {
    response.status == 200 && response.text().starts_with("This is for a guest.")
}

/// Stores the page and lets it become stale. From then on, the board gives another answer.
fn becomes(board: &Board, scene: &Scenario, status: &'static str, lines: Vec<&'static str>) {
    scene.client().get(PAGE);
    assert!(scene.client().get(PAGE).is_hit());
    scene.advance(61);
    board.state().becomes = Some((status, lines));
}

/// Checks that the stale page is served once more while it is refreshed, and waits for the end of the refresh.
fn is_refreshed(board: &Board, scene: &Scenario) {
    let count = board.count_of(PAGE);
    let stale = scene.client().get(PAGE);
    assert!(is_for_all(&stale) && stale.is_hit(), "{stale:?}");
    scene.eventually(|| board.count_of(PAGE) > count && board.all_is_answered());
    scene.settled();
}

#[test]
fn a_page_that_becomes_the_members_own_is_gone_after_the_first_refresh() {
    for (status, lines) in [
        ("401 Unauthorized", vec!["WWW-Authenticate: Basic"]),
        ("402 Payment Required", vec![]),
        ("403 Forbidden", vec![]),
        ("302 Found", vec!["Location: /login.php"]),
        ("303 See Other", vec!["Location: /login.php"]),
        ("307 Temporary Redirect", vec!["Location: /login.php"]),
        ("404 Not Found", vec![]),
        ("410 Gone", vec![]),
        ("200 OK", vec!["Cache-Control: private"]),
        ("200 OK", vec!["Set-Cookie: member=1"]),
        ("200 OK", vec!["Vary: *"]),
    ] {
        let board = Board::start();
        let scene = board.behind(with_grace());
        becomes(&board, &scene, status, lines.clone());
        is_refreshed(&board, &scene);
        // The page is gone, although grace lasts for minutes, and although the board fails by now.
        let now = scene.client().get(PAGE);
        assert!(!now.is_hit() && status.starts_with(&now.status.to_string()), "{status} {lines:?}: {now:?}");
        board.state().becomes = Some(("500 Internal Server Error", vec![]));
        let failed = scene.client().get(PAGE);
        assert!(failed.status == 500 || failed.status == 502, "{status} {lines:?}: {failed:?}");
    }
}

#[test]
fn a_page_that_a_cookie_chooses_is_gone_as_well() {
    const CHOOSES: &[&str] = &["Cookie: theme=dark"];
    for (status, lines) in [
        ("403 Forbidden", vec![]),
        ("302 Found", vec!["Location: /login.php"]),
        ("200 OK", vec!["Cache-Control: private"]),
        ("200 OK", vec!["Set-Cookie: member=1"]),
        ("404 Not Found", vec!["Cache-Control: no-store"]),
    ] {
        let board = Board::start();
        let scene = board.behind(with_grace().route(|route| grant(route).key_cookies = names(&["theme"])));
        let asked = || scene.client().get_with(PAGE, CHOOSES);
        asked();
        assert!(is_for_all(&asked()) && asked().is_hit());
        scene.advance(61);
        board.state().becomes = Some((status, lines.clone()));
        let count = board.count_of(PAGE);
        assert!(asked().is_hit());
        scene.eventually(|| board.count_of(PAGE) > count && board.all_is_answered());
        scene.settled();
        let now = asked();
        assert!(!now.is_hit() && status.starts_with(&now.status.to_string()), "{status} {lines:?}: {now:?}");
    }
}

#[test]
fn a_refusal_that_states_a_lifetime_of_its_own_drops_the_page_as_well() {
    for (status, lifetime) in [
        ("401 Unauthorized", "max-age=60"),
        ("403 Forbidden", "max-age=60"),
        ("403 Forbidden", "public, s-maxage=60"),
        ("301 Moved Permanently", "max-age=60"),
        ("302 Found", "public, max-age=60"),
        ("402 Payment Required", "max-age=60"),
    ] {
        let phase = Arc::new(AtomicUsize::new(0));
        let own = phase.clone();
        let application = Application::start(move |_| {
            let lines = [&format!("Cache-Control: {lifetime}"), "Location: /login.php"];
            Does::Answer(match own.load(Ordering::SeqCst) {
                0 => ok(&[], "everybody's"),
                1 => reply(status, &lines, "for members"),
                _ => reply("500 Internal Server Error", &[], "broken"),
            })
        });
        let plain = with_grace().route(|route| grant(route).ignore.clear());
        let scene = plain.site(&[], |route| route.origins = vec![application.address().into()]).run_with_own_origins();
        scene.client().get("/");
        scene.advance(61);
        phase.store(1, Ordering::SeqCst);
        assert!(scene.client().get("/").is_hit(), "served once more while it is refreshed");
        scene.eventually(|| application.answered() == 2);
        scene.settled();
        // Whether the refusal was stored or not, and although the application fails from now on, no client gets the page.
        phase.store(2, Ordering::SeqCst);
        for _ in 0..3 {
            let now = scene.client().get("/");
            assert!(now.text() != "everybody's", "{status} {lifetime}: {now:?}");
            scene.advance(61);
        }
    }
}

#[test]
fn who_waits_for_a_page_that_has_just_become_the_members_own_gets_the_refusal() {
    let board = Board::start();
    let scene = board.behind(guarded());
    becomes(&board, &scene, "302 Found", vec!["Location: /login.php"]);
    let gate = Gate::new();
    board.holds_next(&gate);
    let count = board.count();
    let mut clients = [(); 3].map(|()| scene.client());
    for (number, client) in clients.iter_mut().enumerate() {
        client.ask("GET", PAGE, &[]);
        if number == 0 {
            board.arrived(count + 1);
        }
    }
    scene.settled();
    gate.open();
    for client in &mut clients {
        let response = client.response();
        assert_eq!((response.status, response.field("location").as_str()), (302, "/login.php"), "{response:?}");
    }
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn an_error_is_bridged_and_a_refusal_behind_it_ends_that() {
    let board = Board::start();
    let scene = board.behind(with_grace());
    becomes(&board, &scene, "500 Internal Server Error", vec![]);
    is_refreshed(&board, &scene);
    let bridged = scene.client().get(PAGE);
    assert!(is_for_all(&bridged) && bridged.is_hit(), "{bridged:?}");
    board.state().becomes = Some(("403 Forbidden", vec![]));
    // The board is asked again once its back-off is over.
    scene.advance(60);
    is_refreshed(&board, &scene);
    assert_eq!(scene.client().get(PAGE).status, 403);
}

#[test]
fn what_a_member_is_told_who_passes_changes_nothing_for_others() {
    let board = Board::start();
    let scene = board.behind(with_grace());
    scene.client().get(PAGE);
    board.state().becomes = Some(("403 Forbidden", vec![]));
    let toms = format!("Cookie: PHPSESSID={}", board.session(Some("tom")));
    assert_eq!(scene.client().get_with(PAGE, &[&toms]).status, 403);
    assert!(is_for_all(&scene.client().get(PAGE)));
}

/// A stored page with a tag under a granted lifetime. The origin validates it by a 304 with these lines.
fn confirmed(lines: &[&str]) -> Scenario {
    let scene = Setup::safe().route(|route| grant(route).ttl_seconds = 60);
    let scene = scene.route(|route| session(route).cookies = names(&["PHPSESSID"])).run([
        get("/").answers(ok(&["ETag: \"1\"", "Set-Cookie: PHPSESSID=0123456789abcdef"], "page")),
        get("/").answers(reply("304 Not Modified", &[&["ETag: \"1\""], lines].concat(), "")),
    ]);
    scene.client().get("/");
    scene.advance(61);
    scene
}

#[test]
fn a_304_with_a_cookie_drops_what_it_confirms() {
    for lines in [
        &["Set-Cookie: PHPSESSID=fedcba9876543210"][..],
        &["Set-Cookie: remember=tom"],
        &["set-cookie: _ga=1"],
        &["Cache-Control: private"],
        &["Cache-Control: no-store"],
    ] {
        let scene = confirmed(lines);
        let told = scene.client().get_with("/", &["Cookie: _ga=1"]);
        assert_eq!((told.status, told.text().as_str(), told.is_hit()), (200, "page", false), "{lines:?}: {told:?}");
        let asked = scene.origin.request(1);
        assert!(asked.field("if-none-match").is_some() && asked.field("cookie").is_none(), "{asked:?}");
        assert!(scene.engine.cache().is_empty(), "{lines:?}");
        scene.origin.then(get("/").answers(ok(&["Cache-Control: no-store"], "another")));
        assert_eq!(scene.client().get("/").text(), "another");
    }
}

#[test]
fn a_304_that_says_nothing_new_keeps_the_page_and_no_cookie() {
    let scene = confirmed(&["X-Other: 1"]);
    let told = scene.client().get("/");
    assert!(told.detail() == "revalidated" && !told.has("set-cookie"), "{told:?}");
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn a_session_asks_for_no_confirmation_in_its_own_name() {
    let scene = guarded().run([
        get("/").answers(ok(&["ETag: \"1\""], "page")),
        get("/").answers(ok(&["ETag: \"2\""], "tom's")),
        get("/").answers(reply("304 Not Modified", &["ETag: \"1\""], "")),
    ]);
    scene.client().get("/");
    scene.advance(61);
    let own = scene.client().get_with("/", &["Cookie: PHPSESSID=fedcba9876543210"]);
    assert_eq!((own.text().as_str(), own.detail().as_str()), ("tom's", "pass-session"));
    assert_eq!(scene.origin.request(1).field("if-none-match"), None);
    // The visitor's request did not refresh the page either.
    assert_eq!(scene.client().get("/").detail(), "revalidated");
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn a_redirection_that_is_granted_a_lifetime_is_kept_without_the_cookie_unless_it_carries_it() {
    let setup =
        || guarded().route(|route| grant(route).ttl_status = vec![StatusTtl { first: 302, last: 302, seconds: 60 }]);
    let moved = |to: &str| {
        let location = format!("Location: {to}");
        reply("302 Found", &[&location, "Set-Cookie: PHPSESSID=0123456789abcdef"], "")
    };
    let scene = setup().run([get("/").answers(moved("/next"))]);
    for is_hit in [false, true] {
        let response = scene.client().get("/");
        assert_eq!(
            (response.status, response.is_hit(), response.has("set-cookie")),
            (302, is_hit, false),
            "{response:?}"
        );
    }
    let to = "/next?PHPSESSID=0123456789abcdef";
    let scene = setup().run([(); 2].map(|()| get("/").answers(moved(to))));
    for _ in 0..2 {
        let response = scene.client().get("/");
        assert_eq!((response.detail().as_str(), response.has("set-cookie")), ("cookie-value-in-response", true));
    }
}
