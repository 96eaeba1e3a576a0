//! How sessions end: by a log-out, and by age.

use crate::anonymous::board::Board;
use crate::anonymous::states::{anonymous, asks, is_for, is_known_as, probing};
use crate::anonymous::{cookie, guarded, is_anonymous, is_found_anonymous, of_a_board, session, told, urls};
use kasoku_testkit::Setup;
use std::time::Duration;

#[test]
fn logging_out_makes_a_session_asked_about_at_once() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}", board.session(Some("tom")));
    is_known_as(&scene, &cookies, "tom");
    board.was_probed(&scene, 1);
    let gone = scene.client().get_with("/logout.php", &[&format!("Cookie: {cookies}")]);
    assert_eq!(gone.status, 302, "{gone:?}");
    assert!(gone.cache_status("hit").is_none());
    board.was_probed(&scene, 2);
    is_found_anonymous(&scene, &cookies);
    assert!(is_for(&asks(&scene, &cookies), "a guest") && asks(&scene, &cookies).is_hit());
}

#[test]
fn logging_out_passes_though_the_session_is_anonymous_or_there_is_none() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    for fields in [vec![format!("Cookie: {cookies}")], Vec::new()] {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let count = board.count_of("/logout.php");
        let gone = scene.client().get_with("/logout.php", &fields);
        assert!(gone.status == 302 && gone.detail() == "pass-url", "{fields:?}: {gone:?}");
        assert_eq!(told(&gone, "rule").as_deref(), Some("board.toml:7"));
        assert_eq!(board.last("/logout.php").field("cookie").is_some(), !fields.is_empty());
        assert_eq!(board.count_of("/logout.php"), count + 1);
    }
}

#[test]
fn without_a_probe_a_visitor_who_has_logged_out_is_anonymous() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let cookies = format!("PHPSESSID={}", board.session(Some("tom")));
    is_known_as(&scene, &cookies, "tom");
    scene.client().get_with("/logout.php", &[&format!("Cookie: {cookies}")]);
    is_found_anonymous(&scene, &cookies);
    assert!(is_for(&asks(&scene, &cookies), "a guest") && asks(&scene, &cookies).is_hit());
    // This holds until the session does more than read.
    scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {cookies}")], "user=tom");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn an_old_session_that_only_reads_is_ended_at_its_visitor() {
    let board = Board::start();
    let month = Duration::from_secs(30 * 86_400);
    let scene = board.behind(guarded().route(|route| session(route).expire_after = month));
    let cookies = format!("PHPSESSID={}; _ga=1", board.session(None));
    for _ in 0..2 {
        assert!(!asks(&scene, &cookies).has("set-cookie"));
        scene.advance(15 * 86_400 - 1);
    }
    assert!(!asks(&scene, &cookies).has("set-cookie"));
    scene.advance(2);
    let ended = asks(&scene, &cookies);
    let lines: Vec<&str> = ended.head.all("set-cookie").collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("PHPSESSID=deleted; ")), "{ended:?}");
    assert!(lines.iter().all(|line| line.contains("Max-Age=0") && line.contains("Path=/")), "{ended:?}");
    assert_eq!(ended.cache_status("session").as_deref(), Some("expired"));
    // Without the session cookie, the page is a hit.
    scene.client().get("/");
    assert!(asks(&scene, "_ga=1").is_hit());
}

#[test]
fn a_session_that_does_something_is_not_ended() {
    let board = Board::start();
    let day = Duration::from_secs(86_400);
    let scene = board.behind(guarded().route(|route| session(route).expire_after = day));
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(&scene, &cookies);
    for _ in 0..3 {
        scene.advance(80_000);
        scene.client().send_body("POST", "/write.php", &[&format!("Cookie: {cookies}")], "x");
        assert!(!asks(&scene, &cookies).has("set-cookie"));
    }
}

#[test]
fn a_session_that_is_known_to_be_logged_in_is_never_ended_by_age() {
    let board = Board::start();
    let day = Duration::from_secs(86_400);
    let scene = board.behind(probing().route(|route| session(route).expire_after = day));
    let [toms, nobodys] = [Some("tom"), None].map(|who| format!("PHPSESSID={}", board.session(who)));
    for round in 0..4 {
        for cookies in [&toms, &nobodys] {
            assert!(!asks(&scene, cookies).has("set-cookie"), "round {round}");
        }
        scene.eventually(|| is_anonymous(&scene, &nobodys));
        scene.advance(if round == 3 { 100 } else { 40_000 });
    }
    let ended = asks(&scene, &nobodys);
    assert!(ended.has("set-cookie") && is_for(&ended, "a guest"), "{ended:?}");
    let others = scene.client().get("/");
    assert!(others.is_hit() && !others.has("set-cookie"), "it is that visitor's alone: {others:?}");
    assert!(!asks(&scene, &toms).has("set-cookie"));
}

#[test]
fn a_session_with_another_value_of_an_anonymous_cookie_is_not_anonymous_even_after_the_logout() {
    let board = Board::start();
    let rules = |route: &mut kasoku_options::Route| {
        of_a_board(route);
        session(route).anonymous_cookies = vec![cookie("rx_login_status", "none")];
        session(route).logout = urls(&["*?act=procLogout"]);
    };
    let scene = board.behind(Setup::safe().route(rules));
    let id = board.session(Some("tom"));
    let member = format!("PHPSESSID={id}; rx_login_status=af3c");
    scene.client().get_with("/?act=procLogout", &[&format!("Cookie: {member}")]);
    // The board has not really ended the session, and the cookie still says so.
    assert!(is_for(&asks(&scene, &member), "tom"));
    let guest = asks(&scene, &format!("PHPSESSID={id}; rx_login_status=none"));
    assert!(is_for(&guest, "a guest"), "{guest:?}");
}
