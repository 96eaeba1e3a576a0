//! What a session is known to be, from its first request until it ends: unknown, anonymous, somebody's, and unknown again.

use crate::board::Board;
use crate::{cookie, guarded, is_anonymous, is_found_anonymous, of_a_board, session, told, urls, with_probe};
use kasoku_metrics::Counter;
use kasoku_testkit::{Client, Gate, Response, Scenario, Setup};
use std::net::IpAddr;
use std::time::Duration;

fn asks(scene: &Scenario, cookies: &str) -> Response {
    scene.client().get_with("/", &[&format!("Cookie: {cookies}")])
}

fn is_for(response: &Response, who: &str) -> bool {
    response.text().starts_with(&format!("This is for {who}."))
}

fn probing() -> Setup {
    Setup::safe().route(with_probe)
}

/// A session that is known to be anonymous.
fn anonymous(board: &Board, scene: &Scenario) -> String {
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(scene, &cookies);
    is_found_anonymous(scene, &cookies);
    cookies
}

/// It passes, and gets what the board says to that session.
#[track_caller]
fn is_known_as(scene: &Scenario, cookies: &str, who: &str) {
    let own = asks(scene, cookies);
    assert!(is_for(&own, who) && own.detail() == "pass-session", "{own:?}");
    assert_eq!(
        (told(&own, "cookie").as_deref(), told(&own, "rule").as_deref()),
        (Some("PHPSESSID"), Some("board.toml:4"))
    );
}

#[test]
fn a_session_passes_is_asked_about_and_gets_what_everybody_gets() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}", board.session(None));
    is_known_as(&scene, &cookies, "a guest");
    is_found_anonymous(&scene, &cookies);
    let page = asks(&scene, &cookies);
    assert_eq!((page.detail().as_str(), page.cache_status("session").as_deref()), ("uri-miss", Some("anonymous")));
    assert_eq!(board.last("/").field("cookie"), None, "in nobody's name");
    assert!(asks(&scene, &cookies).is_hit() && scene.client().get("/").is_hit());
    assert_eq!(board.count_of("/login.php"), 1);
}

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
fn what_was_found_is_void_after_its_time() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    scene.advance(299);
    assert!(is_anonymous(&scene, &cookies));
    scene.advance(1);
    assert!(!is_anonymous(&scene, &cookies));
    is_known_as(&scene, &cookies, "tom");
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
fn a_login_by_post_is_known_at_once() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    assert!(is_for(&asks(&scene, &cookies), "a guest"));
    let posted = scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {cookies}")], "user=tom");
    assert_eq!((posted.status, posted.detail().as_str()), (302, "method"));
    for _ in 0..3 {
        is_known_as(&scene, &cookies, "tom");
    }
    assert!(is_for(&scene.client().get("/"), "a guest"));
}

#[test]
fn any_unsafe_method_and_any_body_makes_a_session_unknown() {
    for method in ["POST", "PUT", "PATCH", "DELETE", "FROBNICATE", "OPTIONS"] {
        let board = Board::start();
        let scene = board.behind(probing());
        let cookies = anonymous(&board, &scene);
        board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
        scene.client().send_body(method, "/other.php", &[&format!("Cookie: {cookies}")], "x");
        is_known_as(&scene, &cookies, "tom");
    }
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    scene.client().send_body("GET", "/other.php", &[&format!("Cookie: {cookies}")], "x");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn authorization_beside_an_anonymous_session_passes_and_makes_it_unknown() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    // By the header alone it may have logged in.
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    let fields = [&*format!("Cookie: {cookies}"), "Authorization: Basic dG9tOng="];
    assert_eq!(scene.client().get_with("/", &fields).detail(), "pass-authorization");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn while_a_login_is_on_its_way_nothing_that_is_found_counts() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = format!("PHPSESSID={}", board.session(None));
    let field = format!("Cookie: {cookies}");
    // The answer to the question about the session is held up; meanwhile its visitor logs in.
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
    // That the session was anonymous is of before: nobody believes it.
    assert!(!is_anonymous(&scene, &cookies));
    board.log_in(cookies.trim_start_matches("PHPSESSID="), Some("tom"));
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn while_a_login_is_on_its_way_its_session_is_not_anonymous() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    let field = format!("Cookie: {cookies}");
    assert!(is_for(&asks(&scene, &cookies), "a guest") && asks(&scene, &cookies).is_hit());
    let gate = Gate::new();
    board.holds_next(&gate);
    let mut visitor = scene.client();
    let count = board.count();
    visitor.ask("POST", "/login_check.php", &[&field, "Content-Length: 8"]).send("user=tom");
    board.arrived(count + 1);
    is_known_as(&scene, &cookies, "a guest");
    gate.open();
    visitor.response();
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn who_is_known_to_be_somebody_is_asked_about_anew_after_more_than_reading() {
    let board = Board::start();
    let scene = board.behind(probing());
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    is_known_as(&scene, &toms, "tom");
    board.was_probed(&scene, 1);
    // A log-out of which no list knows.
    scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {toms}")], "user=");
    board.was_probed(&scene, 2);
    is_found_anonymous(&scene, &toms);
}

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
fn where_nobody_can_be_asked_who_has_logged_out_is_anonymous() {
    let board = Board::start();
    let scene = board.behind(guarded());
    let cookies = format!("PHPSESSID={}", board.session(Some("tom")));
    is_known_as(&scene, &cookies, "tom");
    scene.client().get_with("/logout.php", &[&format!("Cookie: {cookies}")]);
    is_found_anonymous(&scene, &cookies);
    assert!(is_for(&asks(&scene, &cookies), "a guest") && asks(&scene, &cookies).is_hit());
    // Until it does more than read.
    scene.client().send_body("POST", "/login_check.php", &[&format!("Cookie: {cookies}")], "user=tom");
    is_known_as(&scene, &cookies, "tom");
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
fn a_probe_of_the_right_status_without_the_text_means_somebody() {
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
fn a_probe_that_is_never_answered_keeps_nobody_waiting_and_finds_nothing() {
    let board = Board::start();
    let scene = board.behind(probing().route(|route| route.origin.first_byte_timeout = Duration::from_millis(300)));
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
    // It is given up, and the next request is behind another question, which is answered.
    scene.eventually(|| {
        asks(&scene, &cookies);
        scene.engine.metrics().total(Counter::SessionProbes) >= 2
    });
    is_found_anonymous(&scene, &cookies);
    question.open();
}

#[test]
fn two_sessions_are_two_visitors() {
    let board = Board::start();
    let scene = board.behind(probing());
    let nobodys = anonymous(&board, &scene);
    let toms = format!("PHPSESSID={}", board.session(Some("tom")));
    let anns = format!("PHPSESSID={}", board.session(Some("ann")));
    for _ in 0..3 {
        is_known_as(&scene, &toms, "tom");
        assert!(is_for(&asks(&scene, &nobodys), "a guest"));
        is_known_as(&scene, &anns, "ann");
    }
    // Both in one request are a third.
    let id = nobodys.trim_start_matches("PHPSESSID=");
    let both = asks(&scene, &format!("{nobodys}; G5PHPSESSID={id}"));
    assert_eq!(both.detail(), "pass-session");
    // What one of them does changes nothing for the other.
    scene.client().send_body("POST", "/write.php", &[&format!("Cookie: {toms}")], "x");
    assert!(is_anonymous(&scene, &nobodys));
}

#[test]
fn what_is_found_of_a_session_holds_at_its_host_and_what_it_does_at_all() {
    use kasoku_engine::options::HostPattern;
    let board = Board::start();
    let address = board.address();
    let host = |name: &str| [HostPattern::Exact(name.to_owned())];
    let setup = probing().route(|route| route.origins = vec![address.into()]);
    let scene = setup.site(&host("example.org"), |_| {}).site(&host("other.org"), |_| {}).run_with_own_origins();
    let cookies = anonymous(&board, &scene);
    let field = format!("Cookie: {cookies}");
    let there = [&*field, "Host: other.org"];
    assert_eq!(scene.client().get_with("/", &there).detail(), "pass-session");
    scene.eventually(|| asks(&scene, &cookies).cache_status("session").is_some());
    // But it may be the same one.
    scene.client().send_body("POST", "/login_check.php", &there, "user=tom");
    is_known_as(&scene, &cookies, "tom");
}

#[test]
fn a_page_that_holds_a_session_is_made_for_the_one_that_its_visitor_has() {
    let board = Board::start();
    let scene = board.behind(probing());
    let cookies = anonymous(&board, &scene);
    for _ in 0..2 {
        let page = scene.client().get_with("/links.php", &[&format!("Cookie: {cookies}")]);
        assert!(
            page.text().contains(&cookies) && !page.has("set-cookie"),
            "it keeps the session that it has: {page:?}"
        );
    }
    assert!(scene.client().get("/links.php").has("set-cookie"));
}

#[test]
fn what_a_guest_has_done_shows_for_a_while() {
    let board = Board::start();
    let scene = board.behind(probing().route(|route| session(route).stateful_urls = urls(&["/password_check.php"])));
    let cookies = anonymous(&board, &scene);
    scene.client().send_body("POST", "/password_check.php", &[&format!("Cookie: {cookies}")], "x");
    for _ in 0..3 {
        is_known_as(&scene, &cookies, "a guest");
        scene.advance(199);
    }
    assert_eq!(board.count_of("/login.php"), 1, "nobody asks about it meanwhile");
    scene.advance(3);
    is_known_as(&scene, &cookies, "a guest");
    is_found_anonymous(&scene, &cookies);
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
fn what_one_worker_has_found_all_know() {
    let board = Board::start();
    let scene = board.behind(probing().options(|options| options.workers = 2));
    let cookies = format!("PHPSESSID={}", board.session(None));
    asks(&scene, &cookies);
    is_found_anonymous(&scene, &cookies);
    let count = board.count_of("/");
    // Connections of both: none of them passes.
    let mut clients: Vec<Client> = (0..8).map(|_| scene.client()).collect();
    for client in &mut clients {
        let page = client.get_with("/", &[&format!("Cookie: {cookies}")]);
        assert_eq!(page.cache_status("session").as_deref(), Some("anonymous"), "{page:?}");
    }
    assert_eq!(board.count_of("/"), count + 1);
    clients[0].send_body("POST", "/login_check.php", &[&format!("Cookie: {cookies}")], "user=tom");
    for client in &mut clients {
        assert!(is_for(&client.get_with("/", &[&format!("Cookie: {cookies}")]), "tom"));
    }
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
    // Without it, the page is a hit.
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
fn who_is_known_to_be_somebody_is_never_logged_out_by_age() {
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
    assert!(!asks(&scene, &toms).has("set-cookie"));
}

#[test]
fn a_cookie_that_says_anonymous_by_another_value_is_somebody_even_after_the_logout() {
    let board = Board::start();
    let rules = |route: &mut kasoku_engine::options::Route| {
        of_a_board(route);
        session(route).anonymous_cookies = vec![cookie("rx_login_status", "none")];
        session(route).logout = urls(&["*?act=procLogout"]);
    };
    let scene = board.behind(Setup::safe().route(rules));
    let id = board.session(Some("tom"));
    let member = format!("PHPSESSID={id}; rx_login_status=af3c");
    scene.client().get_with("/?act=procLogout", &[&format!("Cookie: {member}")]);
    // The board has not really ended it, and its cookie goes on saying so.
    assert!(is_for(&asks(&scene, &member), "tom"));
    let guest = asks(&scene, &format!("PHPSESSID={id}; rx_login_status=none"));
    assert!(is_for(&guest, "a guest"), "{guest:?}");
}
