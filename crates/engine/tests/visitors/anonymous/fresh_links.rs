//! Links on shared pages that the application makes for one visitor each: they work for every visitor who follows them.
//!
//! The application resembles gnuboard5. A post links to its attachment with a nonce of the session that rendered the post. The
//! attachment goes only to a session that has opened the post, with a nonce of that session. All other requests get a page with
//! an alert and status 200.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{grant, is_found_anonymous, names, of_a_board, session, urls};
use kasoku_engine::explain::Question;
use kasoku_metrics::Counter;
use kasoku_options::{FreshLink, OriginAddress, Rewrite, Route, SessionProbe, UrlPattern, UrlTemplate};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Gate, Response, Scenario, Setup, reply};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

const FILE: &str = "bytes of the attachment";
const ALERT: &str = "<script>alert('refused');</script>";
const POST: &str = "/board.php?bo_table=free&wr_id=5";

/// The state of the application, which a test may change.
#[derive(Default)]
struct State {
    /// The sessions, and which of them have opened the post.
    sessions: HashMap<String, bool>,
    members: HashSet<String>,
    nonces: usize,
    /// Each nonce, and the session for which it was made.
    made: HashMap<String, String>,
    /// The link on the page, in place of the usual one. `NONCE` stands for a valid nonce.
    link: Option<&'static str>,
    /// The answer to a request with `User-Agent: visitor`, in place of the page: status, field lines and text.
    page: Option<(&'static str, Vec<&'static str>, String)>,
}

struct Program {
    application: Application,
    state: Arc<Mutex<State>>,
}

impl Program {
    fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let own = state.clone();
        let application = Application::start(move |asked| Does::Answer(answer(asked, &mut own.lock().unwrap())));
        Self { application, state }
    }

    fn address(&self) -> OriginAddress {
        self.application.address()
    }

    fn behind(&self, setup: Setup) -> Scenario {
        setup.run_before(&self.address())
    }

    /// The requests behind the first `count`.
    fn since(&self, count: usize) -> Vec<Asked> {
        self.application.asked().split_off(count)
    }

    /// Their targets, without the probes of sessions.
    fn targets_since(&self, count: usize) -> Vec<String> {
        let asked = self.since(count).into_iter().filter(|asked| asked.target() != "/login.php");
        asked.map(|asked| asked.target().to_owned()).collect()
    }
}

fn answer(asked: &Asked, state: &mut State) -> Vec<u8> {
    let is_head = asked.lines[0].starts_with("HEAD ");
    let mut lines = vec!["Content-Type: text/html; charset=utf-8".to_owned(), "Cache-Control: no-store".to_owned()];
    let cookies = asked.field("cookie").unwrap_or_default();
    let brought = cookies.split("; ").find_map(|pair| pair.strip_prefix("PHPSESSID=")).map(str::to_owned);
    let id = brought.unwrap_or_else(|| {
        let id = format!("{:032x}", 0xabc0 + state.sessions.len());
        lines.push(format!("Set-Cookie: PHPSESSID={id}; path=/"));
        id
    });
    state.sessions.entry(id.clone()).or_default();
    let target = asked.target();
    let is_for = |path: &str| target.starts_with(path);
    if is_for("/login.php") {
        let text = if state.members.contains(&id) { "hello" } else { "login_check.php" };
        return sent("200 OK", &lines, text, is_head);
    }
    if is_for("/board.php") || is_for("/free/") {
        if let Some((status, more, text)) = state.page.clone().filter(|_| asked.field("user-agent") == Some("visitor"))
        {
            let lines: Vec<String> = more.iter().map(|line| (*line).to_owned()).collect();
            return sent(status, &lines, &text, is_head);
        }
        state.sessions.insert(id.clone(), true);
        state.nonces += 1;
        let nonce = format!("salt{}|1700000000|hash", state.nonces);
        state.made.insert(nonce.clone(), id);
        let link =
            "<a href=\"http://example.org/download.php?bo_table=free&amp;wr_id=5&amp;no=0&amp;nonce=NONCE\">file</a>";
        let link = state.link.unwrap_or(link).replace("NONCE", &nonce);
        lines.push("Set-Cookie: ck_visit_ip=1; path=/".to_owned());
        return sent("200 OK", &lines, &format!("<html>a post {link}</html>"), is_head);
    }
    assert!(is_for("/download.php"), "{asked:?}");
    let nonce = target.split(['?', '&']).find_map(|pair| pair.strip_prefix("nonce=")).unwrap_or_default();
    let is_opened = state.sessions.get(&id) == Some(&true);
    if !is_opened || state.made.get(nonce) != Some(&id) {
        return sent("200 OK", &lines, ALERT, is_head);
    }
    lines.retain(|line| !line.starts_with("Content-Type"));
    lines.push("Content-Type: application/octet-stream".to_owned());
    match asked.field("range") {
        Some("bytes=0-4") => {
            lines.push(format!("Content-Range: bytes 0-4/{}", FILE.len()));
            sent("206 Partial Content", &lines, &FILE[..5], is_head)
        }
        _ => sent("200 OK", &lines, FILE, is_head),
    }
}

fn sent(status: &str, lines: &[String], text: &str, is_head: bool) -> Vec<u8> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut bytes = reply(status, &lines, text);
    if is_head {
        bytes.truncate(bytes.len() - text.len());
    }
    bytes
}

fn fresh_link(page: &str) -> FreshLink {
    FreshLink {
        url: UrlPattern::parse("*/download.php").unwrap(),
        page: UrlTemplate::parse(page).unwrap(),
        parameters: names(&["nonce"]),
    }
}

fn rules(route: &mut Route) {
    of_a_board(route);
    grant(route).ttl_override_seconds = 10_000;
    route.cookies.noise.push("ck_visit_ip".to_owned());
    session(route).probe =
        Some(SessionProbe { target: "/login.php".to_owned(), status: 200, text: "login_check.php".to_owned() });
    session(route).anonymous_for = std::time::Duration::from_secs(3600);
    session(route).harmless_urls = urls(&["/download.php"]);
    route.fresh_links = vec![fresh_link("/board.php?bo_table={bo_table}&wr_id={wr_id}")];
    let place = ("fresh-links", "board.toml:20".into());
    route.places.settings.extend([place]);
}

/// The link on the shared page.
fn shared_link(scene: &Scenario) -> String {
    scene.client().get(POST);
    let page = scene.client().get(POST);
    assert!(page.is_hit(), "{page:?}");
    link_in(&page)
}

fn link_in(page: &Response) -> String {
    let text = page.text();
    let begins = text.find("/download.php").unwrap_or_else(|| panic!("{text}"));
    text[begins..].split(['"', '\'']).next().unwrap().replace("&amp;", "&")
}

/// A visitor follows a link, with these fields.
fn follow(scene: &Scenario, link: &str, fields: &[&str]) -> Response {
    let fields: Vec<&str> = ["User-Agent: visitor"].iter().chain(fields).copied().collect();
    scene.client().get_with(link, &fields)
}

fn session_of(response: &Response) -> String {
    let line = response
        .head
        .all("set-cookie")
        .find(|line| line.contains("PHPSESSID="))
        .unwrap_or_else(|| panic!("{response:?}"));
    line.split(';').next().unwrap().to_owned()
}

#[test]
fn a_guest_without_a_session_gets_the_file_of_a_shared_link() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    assert_eq!(program.application.count(), 1);
    let file = follow(&scene, &link, &["Accept-Language: ko", "If-None-Match: \"1\"", "Accept-Encoding: gzip"]);
    assert_eq!((file.status, file.text().as_str()), (200, FILE));
    assert_eq!(file.cache_status("detail").as_deref(), Some("pass-url"));
    let told = "\"board.toml:20\"";
    assert_eq!(file.cache_status("rule").as_deref(), Some(told));
    // The cookies that the page's answer sets, and those that the file's answer sets.
    let cookies = file.head.all("set-cookie").collect::<Vec<_>>().join(" | ");
    assert_eq!(cookies, format!("{}; path=/ | ck_visit_ip=1; path=/", session_of(&file)));
    let [page, asked] = &program.since(1)[..] else { panic!("{:?}", program.since(1)) };
    assert_eq!(page.lines[0], format!("GET {POST} HTTP/1.1"));
    for (name, value) in [("user-agent", "visitor"), ("accept-language", "ko"), ("x-forwarded-for", "127.0.0.1")] {
        assert_eq!((page.field(name), asked.field(name)), (Some(value), Some(value)), "{name}");
    }
    for name in ["if-none-match", "accept-encoding", "range", "cookie"] {
        assert_eq!(page.field(name), None, "{page:?}");
    }
    let nonce = "salt2|1700000000|hash";
    assert_eq!(asked.target(), format!("/download.php?bo_table=free&wr_id=5&no=0&nonce={nonce}"));
    assert_eq!(asked.field("cookie"), Some(session_of(&file).as_str()));
    assert_eq!(asked.field("if-none-match"), Some("\"1\""));
    // The session is anonymous, so pages are hits as before.
    assert!(scene.client().get_with(POST, &[&format!("Cookie: {}", session_of(&file))]).is_hit());
}

#[test]
fn a_guest_whose_session_is_anonymous_gets_the_file_and_keeps_the_session() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    let cookie = format!("Cookie: {}", session_of(&follow(&scene, "/login.php", &[])));
    let session = cookie.trim_start_matches("Cookie: ");
    follow(&scene, POST, &[&cookie]);
    is_found_anonymous(&scene, session);
    assert!(follow(&scene, POST, &[&cookie]).is_hit());
    let before = program.application.count();
    let file = follow(&scene, &link, &[&format!("{cookie}; _ga=1")]);
    assert_eq!(file.text(), FILE);
    assert!(!file.head.all("set-cookie").any(|line| line.contains("PHPSESSID")), "{file:?}");
    let [page, asked] = &program.since(before)[..] else { panic!("{:?}", program.since(before)) };
    for request in [page, asked] {
        assert_eq!(request.field("cookie"), Some(format!("{session}; _ga=1").as_str()));
    }
    assert!(follow(&scene, POST, &[&cookie]).is_hit(), "the session is still known to be anonymous");
}

#[test]
fn a_session_of_which_nothing_is_known_may_have_got_the_shared_page() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    program.state.lock().unwrap().sessions.insert("1234".repeat(8), false);
    let cookie = format!("Cookie: PHPSESSID={}", "1234".repeat(8));
    let before = program.application.count();
    assert_eq!(follow(&scene, &link, &[&cookie]).text(), FILE);
    assert_eq!(program.targets_since(before).len(), 2);
}

#[test]
fn a_member_follows_the_own_link_and_the_page_is_not_asked_for() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    shared_link(&scene);
    let id = "fedc".repeat(8);
    program.state.lock().unwrap().members.insert(id.clone());
    let cookie = format!("Cookie: PHPSESSID={id}");
    let link = link_in(&follow(&scene, POST, &[&cookie]));
    // As soon as the session is known to be a member's.
    scene.eventually(|| {
        let before = program.application.count();
        assert_eq!(follow(&scene, &link, &[&cookie]).text(), FILE);
        program.targets_since(before) == std::slice::from_ref(&link)
    });
    scene.counted(Counter::SessionProbes, 1);
}

#[test]
fn a_request_with_more_than_a_session_is_left_alone() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    for fields in [&["Authorization: Basic x"][..], &["Cookie: sso=ann"], &["Cookie: PHPSESSID=1; ck_auto=x"]] {
        let before = program.application.count();
        assert_eq!(follow(&scene, &link, fields).text(), ALERT);
        assert_eq!(program.targets_since(before), std::slice::from_ref(&link), "{fields:?}");
    }
    let before = program.application.count();
    let fields = ["User-Agent: visitor", "Content-Type: application/x-www-form-urlencoded"];
    assert_eq!(scene.client().send_body("POST", &link, &fields, "a=b").text(), ALERT);
    assert_eq!(program.targets_since(before), [link]);
}

#[test]
fn a_head_and_a_part_are_those_of_the_file() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    let mut client = scene.client();
    client.ask("HEAD", &link, &["User-Agent: visitor"]);
    let head = client.response_to_head();
    assert_eq!((head.status, head.field("content-length")), (200, FILE.len().to_string()));
    let asked: Vec<String> = program.since(1).iter().map(|asked| asked.lines[0][..5].to_owned()).collect();
    assert_eq!(asked, ["GET /", "HEAD "]);
    let part = follow(&scene, &link, &["Range: bytes=0-4"]);
    assert_eq!((part.status, part.text().as_str()), (206, "bytes"));
    let [.., page, file] = &program.since(1)[..] else { panic!() };
    assert_eq!((page.field("range"), file.field("range")), (None, Some("bytes=0-4")));
}

#[test]
fn a_page_without_the_link_leaves_the_request_as_it_came() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    for other in [
        "",
        "<a href='http://other.example/download.php?bo_table=free&wr_id=5&no=0&nonce=NONCE'>",
        "<a href='/download.php?bo_table=free&wr_id=5&no=1&nonce=NONCE'>",
        "<a href='/download.php?bo_table=free&wr_id=6&no=0&nonce=NONCE'>",
        "<a href='/download.php?bo_table=free&wr_id=5&no=0'>",
        "<a href='/other.php?bo_table=free&wr_id=5&no=0&nonce=NONCE'>",
        "/download.php?bo_table=free&wr_id=5&no=0&nonce=NONCE",
    ] {
        program.state.lock().unwrap().link = Some(other);
        let before = program.application.count();
        let refused = follow(&scene, &link, &[]);
        assert_eq!(refused.text(), ALERT);
        assert_eq!(program.targets_since(before), [POST, &link], "{other}");
        let [.., asked] = &program.since(before)[..] else { panic!() };
        assert_eq!(asked.field("cookie"), None, "{asked:?}");
        assert!(refused.head.all("set-cookie").all(|line| !line.contains("ck_visit_ip")), "{refused:?}");
    }
}

#[test]
fn the_link_is_found_however_it_is_written() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    for other in [
        "<a href='/download.php?bo_table=free&wr_id=5&no=0&nonce=NONCE'>",
        "<a class='x' HREF = \"download.php?no=0&#38;nonce=NONCE&#38;wr_id=5&#38;bo_table=free#x\">",
        "<a href='//example.org/./download.php?bo_table=fr%65e&wr_id=5&no=0&nonce=NONCE'>",
        "<a href='https://example.org/download.php?bo_table=free&wr_id=5&no=0&nonce=NONCE'>",
        "<a href='http://other.example/download.php?bo_table=free&wr_id=5&no=0&nonce=x'>\
         <a href='/download.php?bo_table=free&nonce=x'>\
         <a href='/download.php?bo_table=free&wr_id=5&no=0&nonce=NONCE'>",
    ] {
        program.state.lock().unwrap().link = Some(other);
        assert_eq!(follow(&scene, &link, &[]).text(), FILE, "{other}");
    }
    // A post that was opened from a list has more parameters in its links than the page that Kasoku fetches. The link with the
    // most equal parameters counts.
    assert_eq!(follow(&scene, &format!("{link}&page=2"), &[]).text(), FILE);
}

#[test]
fn a_page_that_fails_leaves_the_request_as_it_came() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    let html = "Content-Type: text/html";
    let good = || "<a href='/download.php?bo_table=free&wr_id=5&no=0&nonce=other'>".to_owned();
    let long = "x".repeat(1 << 20);
    for (status, lines, text) in [
        ("404 Not Found", vec![html], good()),
        ("302 Found", vec![html, "Location: /login.php"], good()),
        ("500 Internal Server Error", vec![html], good()),
        ("200 OK", vec!["Content-Type: text/plain"], good()),
        ("200 OK", vec![html, "Content-Encoding: gzip"], "\u{1}".to_owned()),
        ("200 OK", vec![html], format!("{}{long}", good())),
        ("200 OK", vec![html, "Transfer-Encoding: chunked"], "nonsense".to_owned()),
    ] {
        program.state.lock().unwrap().page = Some((status, lines, text));
        let before = program.application.count();
        assert_eq!(follow(&scene, &link, &[]).text(), ALERT, "{status}");
        assert_eq!(program.targets_since(before), [POST, &link], "{status}");
    }
    program.state.lock().unwrap().page = Some(("200 OK", vec![html], good()));
    let before = program.application.count();
    assert_eq!(follow(&scene, &link, &[]).text(), ALERT);
    let [_, asked] = &program.targets_since(before)[..] else { panic!() };
    assert!(asked.ends_with("nonce=other"), "the control: {asked}");
}

#[test]
fn a_page_that_is_never_shared_is_not_asked_for() {
    let program = Program::start();
    let setups = [
        Setup::safe().route(rules).rule("/board.php", |route| grant(route).ttl_override_seconds = 0),
        Setup::safe().route(rules).rule("/board.php", |route| route.pass = true),
        Setup::safe().route(rules).rule("/board.php", |route| route.refuse_urls = urls(&["/board.php"])),
        Setup::safe().route(rules).rule("/board.php", |route| route.origins = vec![dead_address()]),
        Setup::safe().route(rules).rule("/download.php", |route| route.fresh_links.clear()),
        Setup::safe().route(rules).route(|route| route.fresh_links = vec![fresh_link("/board.php?id={other}")]),
    ];
    for setup in setups {
        let scene = program.behind(setup);
        let before = program.application.count();
        let link = "/download.php?bo_table=free&wr_id=5&no=0&nonce=x";
        assert_eq!(follow(&scene, link, &[]).text(), ALERT);
        assert_eq!(program.targets_since(before), [link]);
    }
}

#[test]
fn links_of_a_rule_that_grants_nothing_pass_as_well() {
    let program = Program::start();
    let setup = Setup::safe().route(rules).route(|route| session(route).harmless_urls.clear());
    let scene = program.behind(setup.rule("/download.php", |route| grant(route).ttl_override_seconds = 0));
    let link = shared_link(&scene);
    let file = follow(&scene, &link, &[]);
    assert_eq!(file.text(), FILE);
    assert_eq!(file.cache_status("detail").as_deref(), Some("pass-url"));
    let question = Question::get(format!("http://example.org{link}"));
    let points = scene.engine.handle().explain(&question).unwrap().points;
    assert!(points.iter().any(|point| point.source == "fresh-links (board.toml:20)"), "{points:?}");
}

#[test]
fn a_short_address_of_the_page_or_of_the_link_is_read_as_the_long_one() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules).route(|route| {
        let rewrites = [
            "/{bo_table:word}/{wr_id:digits} => /board.php?bo_table={bo_table}&wr_id={wr_id}",
            "/{bo_table:word}/{wr_id:digits}/{no:digits} => /download.php?bo_table={bo_table}&wr_id={wr_id}&no={no}",
        ];
        route.gateway.rewrites = rewrites.iter().map(|text| Rewrite::parse(text).unwrap()).collect();
    }));
    scene.client().get("/free/5");
    assert!(scene.client().get("/free/5").is_hit());
    program.state.lock().unwrap().link = Some("<a href='/free/5/0?nonce=NONCE'>");
    let before = program.application.count();
    assert_eq!(follow(&scene, "/download.php?bo_table=free&wr_id=5&no=0&nonce=x", &[]).text(), FILE);
    assert_eq!(program.targets_since(before).len(), 2);
}

#[test]
fn a_visitor_who_leaves_meanwhile_ends_it() {
    let program = Program::start();
    let scene = program.behind(Setup::safe().route(rules));
    let link = shared_link(&scene);
    let gate = Gate::new();
    program.application.holds_next(&gate);
    let mut client = scene.client();
    client.ask("GET", &link, &["User-Agent: visitor"]);
    program.application.arrived(2);
    client.reset();
    scene.counted(Counter::Requests, 3);
    gate.open();
    scene.settled();
    assert_eq!(program.targets_since(1), [POST], "no request asks for the file any more");
}
