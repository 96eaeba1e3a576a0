//! Probes of sessions: how Kasoku asks the application whether a session is anonymous, when, and what follows from the answers.

use crate::anonymous::board::Board;
use crate::anonymous::states::{anonymous, asks, is_for, is_known_as, probing};
use crate::anonymous::{is_anonymous, is_found_anonymous};
use http::Method;
use kasoku_metrics::Counter;
use kasoku_options::{ChangeProof, ChangeRule, ChangeRules, UrlPattern};
use kasoku_testkit::{Client, Gate, get, ok};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn the_application_is_asked_as_the_visitor_would_ask() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}; _ga=1", board.session(None));
    let mut visitor = Client::connect_from("127.0.0.88".parse::<IpAddr>().unwrap(), scene.engine.addresses()[0]);
    let fields = [
        &format!("Cookie: {cookies}"),
        "User-Agent: theirs",
        "Accept-Language: ko",
        "Accept-Encoding: gzip",
        "If-None-Match: \"1\"",
        "Range: bytes=0-1",
        "Cache-Control: no-cache",
    ];
    visitor.get_with("/", &fields);
    is_found_anonymous(&scene, &cookies);
    let asked = board.last("/login.php");
    assert!(asked.lines[0].starts_with("GET "), "{asked:?}");
    for (name, value) in
        [("cookie", cookies.as_str()), ("user-agent", "theirs"), ("accept-language", "ko"), ("host", "example.org")]
    {
        assert_eq!(asked.field(name), Some(value), "{asked:?}");
    }
    assert!(asked.all().contains("127.0.0.88"), "sessions may be tied to addresses: {asked:?}");
    for name in ["accept-encoding", "if-none-match", "range", "cache-control"] {
        assert_eq!(asked.field(name), None, "{asked:?}");
    }
}

#[test]
fn who_is_logged_in_is_asked_about_once_in_five_minutes_and_passes() {
    let board = Board::start();
    let scene = board.behind(probing());
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    is_known_as(&scene, &toms, "tom");
    board.was_probed(&scene, 1);
    for _ in 0..5 {
        is_known_as(&scene, &toms, "tom");
    }
    board.was_probed(&scene, 1);
    scene.advance(300);
    is_known_as(&scene, &toms, "tom");
    board.was_probed(&scene, 2);
    is_known_as(&scene, &toms, "tom");
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn who_goes_on_reading_is_asked_about_before_it_is_void_and_never_passes() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    for round in 2..6 {
        scene.advance(200);
        assert!(is_for(&asks(&scene, &cookies), "a guest"));
        board.was_probed(&scene, round);
        assert!(is_anonymous(&scene, &cookies), "round {round}");
    }
    assert_eq!(board.count_of("/"), 5, "one for the session itself, then once each time that the page was stale");
}

#[test]
fn while_a_login_is_on_its_way_nothing_that_is_found_counts() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}", board.session(None));
    let field = format!("Cookie: {cookies}");
    // The answer to the probe is held; meanwhile its visitor logs in.
    let question = Gate::new();
    let mut visitor = scene.client();
    let page = Gate::new();
    board.holds_next(&page);
    visitor.ask("GET", "/", &[&field]);
    board.arrived(1);
    board.holds_next(&question);
    page.open();
    visitor.response();
    board.arrived(2);
    assert_eq!(board.count_of("/login.php"), 1);
    visitor.send_body("POST", "/login_check.php", &[&field], "user=tom");
    board.log_in(cookies.trim_start_matches("PHPSESSID="), None);
    question.open();
    board.was_probed(&scene, 1);
    // The result is older than the log-in, so it does not count.
    assert!(!is_anonymous(&scene, &cookies));
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn a_session_that_is_known_to_be_logged_in_is_probed_anew_after_more_than_reading() {
    let board = Board::start();
    let scene = board.behind(probing());
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    is_known_as(&scene, &toms, "tom");
    board.was_probed(&scene, 1);
    // A log-out by a URL that no setting names.
    scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {toms}")], "user=");
    is_known_as(&scene, &toms, "a guest");
    board.was_probed(&scene, 2);
    is_found_anonymous(&scene, &toms);
}

#[test]
fn a_member_who_writes_is_not_asked_about_again() {
    let board = Board::start();
    let scene = board.behind(probing().route(|route| {
        let list = vec![ChangeRule {
            method: Some(Method::POST),
            url: UrlPattern::parse("/login_check.php").unwrap(),
            answer: None,
            proof: ChangeProof::default(),
            tags: Vec::new(),
            is_all: true,
        }];
        route.changes = Arc::new(ChangeRules { list, ..ChangeRules::default() });
    }));
    let [toms, guests] = [Some("tom"), None].map(|name| format!("PHPSESSID={}", board.session(name)));
    is_known_as(&scene, &toms, "tom");
    board.was_probed(&scene, 1);
    scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {toms}")], "user=tom");
    is_known_as(&scene, &toms, "tom");
    // A guest's session is probed again after the same request. Probes go out in order, so one of the member would have come
    // before.
    is_known_as(&scene, &guests, "a guest");
    board.was_probed(&scene, 2);
    is_found_anonymous(&scene, &guests);
    scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {guests}")], "user=tom");
    is_known_as(&scene, &guests, "tom");
    board.was_probed(&scene, 3);
    assert_eq!(board.count_of("/login.php"), 3);
}

#[test]
fn what_a_probe_that_fails_says_is_not_believed() {
    for fails in ["500 Internal Server Error", "503 Service Unavailable", "403 Forbidden", "302 Found", "404 Not Found"]
    {
        let board = Board::start();
        board.state().fails = Some(fails);
        let scene = board.behind(probing());
        let cookies = format!("PHPSESSID={}", board.session(None));
        is_known_as(&scene, &cookies, "a guest");
        board.was_probed(&scene, 1);
        assert!(!is_anonymous(&scene, &cookies), "{fails}");
        is_known_as(&scene, &cookies, "a guest");
    }
}

#[test]
fn a_probe_of_the_right_status_without_the_text_means_a_logged_in_session() {
    let board = Board::start();
    board.state().fails = Some("200 OK");
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}", board.session(None));
    is_known_as(&scene, &cookies, "a guest");
    board.was_probed(&scene, 1);
    assert!(!is_anonymous(&scene, &cookies));
    is_known_as(&scene, &cookies, "a guest");
}

#[test]
fn a_probe_that_is_never_answered_keeps_no_request_waiting_and_finds_nothing() {
    let board = Board::start();
    let scene = board.behind(probing().route(|route| route.origin.first_byte_timeout = Duration::from_secs(1)));
    let cookies = format!("PHPSESSID={}", board.session(None));
    let (page, question) = (Gate::new(), Gate::new());
    board.holds_next(&page);
    let mut visitor = scene.client();
    visitor.ask("GET", "/", &[&format!("Cookie: {cookies}")]);
    board.arrived(1);
    board.holds_next(&question);
    page.open();
    assert!(is_for(&visitor.response(), "a guest"));
    board.arrived(2);
    is_known_as(&scene, &cookies, "a guest");
    // The probe is given up. A later request causes another one, which is answered.
    scene.eventually(|| {
        asks(&scene, &cookies);
        // If the next request came before the answer to the probe, the answer would not count.
        scene.settled();
        is_anonymous(&scene, &cookies)
    });
    assert!(scene.engine.metrics().total(Counter::SessionProbes) >= 2);
    question.open();
}

#[test]
fn many_requests_of_a_session_at_once_are_asked_about_once_when_the_last_is_answered() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("Cookie: PHPSESSID={}", board.session(None));
    let gate = Gate::new();
    board.holds_next(&gate);
    let mut clients: Vec<Client> = (0..8).map(|_| scene.client()).collect();
    clients[0].ask("GET", "/", &[&cookies]);
    board.arrived(1);
    for client in &mut clients[1..] {
        assert_eq!(client.get_with("/", &[&cookies]).detail(), "pass-session");
    }
    scene.settled();
    assert_eq!(scene.engine.metrics().total(Counter::SessionProbes), 0, "one of them may be logging in");
    gate.open();
    clients[0].response();
    board.was_probed(&scene, 1);
    is_found_anonymous(&scene, cookies.trim_start_matches("Cookie: "));
}

#[test]
fn no_session_is_probed_behind_an_answer_that_is_no_page() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("Cookie: PHPSESSID={}", board.session(None));
    scene.client().send_body("POST", "/vote.php", &[&cookies, "X-Own-Ajax: 1"], "for=1");
    for mode in ["cors", "no-cors", "same-origin", "websocket"] {
        assert_eq!(scene.client().get_with("/part.php", &[&cookies, &format!("Sec-Fetch-Mode: {mode}")]).status, 200);
    }
    assert_eq!(board.count_of("/login.php"), 0);
    scene.client().get_with("/", &[&cookies, "Sec-Fetch-Mode: navigate"]);
    board.was_probed(&scene, 1);
}

#[test]
fn no_session_is_probed_with_a_cookie_that_was_replaced() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("Cookie: PHPSESSID={}; _ga=1", board.session(None));
    board.state().adds = vec!["Set-Cookie: _ga=2"];
    scene.client().get_with("/", &[&cookies]);
    assert_eq!(board.count_of("/login.php"), 0);
    // A cookie that is set to the same value is not replaced.
    board.state().adds = vec!["Set-Cookie: _ga=1; Max-Age=60"];
    scene.client().get_with("/", &[&cookies]);
    board.was_probed(&scene, 1);
}

#[test]
fn no_session_is_probed_while_a_tunnel_is_open() {
    const COOKIE: &str = "Cookie: PHPSESSID=0123456789abcdef";
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    // The script expects no probe.
    let page = get("/").answers(ok(&["Cache-Control: no-store"], "a member's"));
    let scene = probing().run([get("/ws").sends(switch).awaits_end(), page]);
    let mut tunnel = scene.client();
    let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-Fetch-Mode: websocket", COOKIE];
    assert_eq!(tunnel.ask("GET", "/ws", &fields).response().status, 101);
    assert_eq!(scene.client().get_with("/", &[COOKIE]).detail(), "pass-session");
    scene.settled();
}
