//! Requests that pass with a session and leave it anonymous: a captcha, a token, a page that only some visitors are shown.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{grant, is_anonymous, names, session, stateful, urls, with_probe};
use kasoku_options::{PageRules, Route};
use kasoku_testkit::{Gate, Response, Scenario, Setup, reply};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// A board whose posts show a captcha: `/captcha.php` writes into the session, and opens one for a visitor who has none. Each
/// kind of answer that is no captcha has a parameter of its own.
struct Board {
    application: Application,
    members: Arc<Mutex<HashSet<String>>>,
}

impl Board {
    fn start() -> Self {
        let members = Arc::new(Mutex::new(HashSet::new()));
        let own = members.clone();
        let application = Application::start(move |asked| Does::Answer(answer(&mut own.lock().unwrap(), asked)));
        Self { application, members }
    }

    fn behind(&self, setup: Setup) -> Scenario {
        setup.run_before(&self.application.address())
    }

    fn count_of(&self, path: &str) -> usize {
        self.application.asked().iter().filter(|asked| asked.target().starts_with(path)).count()
    }
}

/// The rules of such a board: the captcha is harmless, and a complete post is recognized by its end.
fn rules(route: &mut Route) {
    with_probe(route);
    session(route).harmless_urls = urls(&["/captcha.php"]);
    session(route).stateful_urls = stateful(&[("/cart.php", Some("/shop/*"))]);
    route.page = Arc::new(PageRules { texts: names(&["</html>"]), ..PageRules::default() });
}

fn setup() -> Setup {
    Setup::safe().route(rules)
}

fn answer(members: &mut HashSet<String>, asked: &Asked) -> Vec<u8> {
    let cookie = asked.field("cookie").unwrap_or_default().to_owned();
    let id = cookie.split("PHPSESSID=").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
    let (path, query) = asked.target().split_once('?').unwrap_or((asked.target(), ""));
    let mut lines = vec!["Content-Type: text/html".to_owned(), "Cache-Control: no-store".to_owned()];
    let new = format!("{:032x}", 0xbeef_u128 << 100 | members.len() as u128);
    if id.is_empty() {
        lines.push(format!("Set-Cookie: PHPSESSID={new}"));
    }
    // A cookie for automatic log-ins logs the session in at any URL.
    if cookie.contains("ck_auto") || query.contains("login") || path == "/login_check.php" {
        members.insert(if id.is_empty() { new.clone() } else { id.to_owned() });
    }
    let sets: Vec<&str> = query.split('&').filter_map(|pair| pair.strip_prefix("sets=")).collect();
    lines.extend(sets.iter().map(|name| format!("Set-Cookie: {name}=1")));
    let is_member = members.contains(id);
    let status = match path {
        "/login.php" if is_member => "302 Found",
        "/captcha.php" if query.contains("moves") => "302 Found",
        _ => "200 OK",
    };
    let text = match path {
        "/login.php" => "<form action=login_check.php>",
        "/secret.php" if !is_member => "alert",
        _ if is_member => "<html>for a member</html>",
        _ => "<html>for a guest</html>",
    };
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    reply(status, &lines, text)
}

fn get(scene: &Scenario, target: &str, cookies: &str) -> Response {
    scene.client().get_with(target, &[&format!("Cookie: {cookies}")])
}

fn post(scene: &Scenario, target: &str, cookies: &str) -> Response {
    scene.client().send_body("POST", target, &[&format!("Cookie: {cookies}")], "")
}

/// A session that is known to be anonymous.
fn anonymous(board: &Board, scene: &Scenario, id: &str) -> String {
    let cookies = format!("PHPSESSID={id:0>32}");
    get(scene, "/post.php", &cookies);
    scene.eventually(|| is_anonymous(scene, &cookies));
    assert!(!board.members.lock().unwrap().contains(id));
    cookies
}

/// The session that an answer opens.
fn opened(response: &Response) -> String {
    let line = response.field("set-cookie");
    line.split(';').next().unwrap().to_owned()
}

#[test]
fn a_captcha_leaves_an_anonymous_session_anonymous() {
    let board = Board::start();
    let scene = board.behind(setup());
    let cookies = anonymous(&board, &scene, "a");
    let probes = board.count_of("/login.php");
    for number in 0..3 {
        post(&scene, "/captcha.php", &cookies);
        assert!(get(&scene, "/captcha.php?t=1", &format!("{cookies}; _ga=1")).body.starts_with(b"<html>"));
        let page = get(&scene, "/post.php", &cookies);
        assert_eq!(page.cache_status("session").as_deref(), Some("anonymous"), "{number}: {page:?}");
    }
    assert_eq!(board.count_of("/login.php"), probes, "no further probe is needed");
    assert_eq!(board.count_of("/captcha.php"), 6, "each of them reaches the board");
}

#[test]
fn what_could_be_a_log_in_counts_as_one() {
    for (target, more) in [
        ("/captcha.php", "; ck_auto=ann"),
        ("/captcha.php", "; other=1"),
        ("/captcha.php?moves", ""),
        ("/captcha.php?sets=PHPSESSID", ""),
        ("/captcha.php?sets=ck_mb_id", ""),
        ("/%63aptcha.php", ""),
        ("//captcha.php", ""),
        ("/x/../captcha.php", ""),
        ("/login_check.php", ""),
        ("/captcha.php/x", ""),
    ] {
        let board = Board::start();
        let scene = board.behind(setup());
        let cookies = anonymous(&board, &scene, "a");
        post(&scene, target, &format!("{cookies}{more}"));
        assert!(!is_anonymous(&scene, &cookies), "{target} {more}");
    }
}

#[test]
fn a_request_with_credentials_is_not_harmless() {
    let board = Board::start();
    let scene = board.behind(setup());
    let cookies = anonymous(&board, &scene, "a");
    let fields = [format!("Cookie: {cookies}"), "Authorization: Basic x".to_owned()];
    scene.client().send_body("POST", "/captcha.php", &[&fields[0], &fields[1]], "");
    assert!(!is_anonymous(&scene, &cookies));
}

#[test]
fn what_a_harmless_request_did_is_doubtful_until_its_answer_is_seen() {
    let board = Board::start();
    let scene = board.behind(setup());
    let cookies = anonymous(&board, &scene, "a");
    let (gate, before) = (Gate::new(), board.application.count());
    board.application.holds_next(&gate);
    let mut client = scene.client();
    client.send(format!("GET /captcha.php HTTP/1.1\r\nHost: example.org\r\nCookie: {cookies}\r\n\r\n"));
    board.application.arrived(before + 1);
    assert!(is_anonymous(&scene, &cookies), "on its way it changes nothing");
    client.reset();
    scene.eventually(|| !is_anonymous(&scene, &cookies));
    gate.open();
}

#[test]
fn a_session_that_a_captcha_opens_is_born_anonymous() {
    let board = Board::start();
    let scene = board.behind(setup());
    let drawn = scene.client().send_body("POST", "/captcha.php", &["Cookie: _ga=1"], "");
    let cookies = opened(&drawn);
    scene.client().get("/post.php");
    for _ in 0..2 {
        let page = get(&scene, "/post.php", &format!("_ga=1; {cookies}"));
        assert_eq!((page.is_hit(), page.cache_status("session").as_deref()), (true, Some("anonymous")), "{page:?}");
    }
    assert_eq!(board.count_of("/login.php"), 0);
    post(&scene, "/login_check.php", &cookies);
    assert!(get(&scene, "/post.php", &cookies).text().contains("for a member"));
}

#[test]
fn a_session_that_anything_else_opens_is_asked_about() {
    for (target, cookies) in [
        ("/captcha.php", "ck_auto=ann"),
        ("/captcha.php?sets=ck_mb_id", "_ga=1"),
        ("/captcha.php?moves", "_ga=1"),
        ("/write.php", "_ga=1"),
        ("/%63aptcha.php", "_ga=1"),
    ] {
        let board = Board::start();
        let scene = board.behind(setup());
        let session = opened(&scene.client().send_body("POST", target, &[&format!("Cookie: {cookies}")], ""));
        assert!(!is_anonymous(&scene, &session), "{target} {cookies}");
    }
}

#[test]
fn a_page_that_only_some_are_shown_leaves_their_session_anonymous() {
    let board = Board::start();
    let scene = board.behind(setup());
    let cookies = anonymous(&board, &scene, "a");
    for _ in 0..2 {
        let refused = get(&scene, "/secret.php", &cookies);
        assert_eq!((refused.text().as_str(), refused.detail().as_str()), ("alert", "page-text-missing"), "{refused:?}");
        assert!(is_anonymous(&scene, &cookies));
    }
    // A visitor without a session gets the same refusal and a new session, which is anonymous.
    let session = opened(&scene.client().get("/secret.php"));
    assert!(is_anonymous(&scene, &session), "it was opened by a page");
}

#[test]
fn a_page_of_a_rule_that_knows_no_pages_may_log_its_visitor_in() {
    let board = Board::start();
    let scene = board.behind(setup().route(|route| route.page = Arc::default()));
    let cookies = anonymous(&board, &scene, "a");
    post(&scene, "/write.php", &cookies);
    assert!(!is_anonymous(&scene, &cookies));
    get(&scene, "/any.php?login", &cookies);
    scene.eventually(|| board.count_of("/login.php") == 2);
    scene.settled();
    assert!(get(&scene, "/post.php", &cookies).text().contains("for a member"));
}

#[test]
fn what_is_in_a_session_is_missed_by_the_pages_that_show_it_alone() {
    let board = Board::start();
    let scene = board.behind(setup().route(|route| grant(route).ttl_override_seconds = 600));
    let cookies = anonymous(&board, &scene, "a");
    post(&scene, "/cart.php", &cookies);
    scene.client().get("/post.php");
    let page = || get(&scene, "/post.php", &cookies);
    page();
    scene.eventually(|| page().is_hit());
    for _ in 0..2 {
        let shop = get(&scene, "/shop/list.php", &cookies);
        assert_eq!(shop.detail(), "pass-session", "{shop:?}");
        assert!(page().is_hit(), "what the shop shows is nothing to other pages");
    }
    scene.advance(601);
    scene
        .eventually(|| get(&scene, "/shop/list.php", &cookies).cache_status("session").as_deref() == Some("anonymous"));
}
