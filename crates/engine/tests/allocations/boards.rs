//! Hits of a board with the policy of gnuboard5, as a site names it by `application`: short addresses, noise cookies, sessions of
//! guests, device classes.
//!
//! The leak guard is off: to compare a page, it requests the page a second time beside the hit, and that allocates.

use crate::{BODY, BROWSER, Case, request};
use kasoku_options::{Rewrite, Route};
use kasoku_testkit::{Setup, get, ok};
use std::sync::Arc;

const POST: &str = "/bbs/board.php?bo_table=free&wr_id=5";
const SHORT: &str = "/free/5";

/// The end of a page, by which the policy recognizes a complete page.
const END: &str = "<div id=\"ft\">";

/// A guest's session.
const SESSION: &str = "PHPSESSID=5e3c9a1f";

/// The cookies that the program and analytics leave in a browser. No page depends on them.
const NOISE: &str = "2a0d2363701f23f8a75028924a3af643=MTI3LjAuMC4x; e1192aefb64683cc97abb83c71057733=ZnJlZQ%3D%3D; \
    _ga=GA1.1.1234567890.1234567890; ck_font_resize_class=ts_up";

const TELEPHONE: &str =
    "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148 Safari/604.1\r\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        guest("gnuboard5: no short address", POST, BROWSER),
        guest("gnuboard5: no short address, in many segments", "/a/b/c/d/e/f/g/h/i/j/board.php/bbs/board.php", BROWSER),
        guest("gnuboard5: a short address", SHORT, BROWSER),
        guest("gnuboard5: a short address in detours", "//./free/x/../5", BROWSER),
        guest("gnuboard5: a short address, analytics left out of its query", "/free/5?page=2", BROWSER).hit(
            "GET",
            "/free/5?utm_source=mail&page=2&fbclid=7",
            BROWSER,
        ),
        guest("gnuboard5: a short address with a title", "/free/%EA%B0%80%EB%82%98-b/", BROWSER),
        guest("gnuboard5: a search", "/bbs/board.php?bo_table=free&sfl=wr_subject&stx=%EA%B0%80+b", BROWSER),
        guest("gnuboard5: a board in capitals", "/bbs/board.php?bo_table=Free", BROWSER),
        guest("gnuboard5: noise cookies", SHORT, &format!("{BROWSER}Cookie: {NOISE}\r\n")),
        guest("gnuboard5: a telephone", SHORT, TELEPHONE),
        anonymous("gnuboard5: an anonymous session", POST, SESSION.to_owned()),
        anonymous("gnuboard5: an anonymous session, and noise", SHORT, format!("{NOISE}; {SESSION}")),
        several_placeholders(),
    ]
}

/// A page of the program for a visitor who has a session. The page forbids caches to store it.
fn page() -> Vec<u8> {
    let fields = [
        "Content-Type: text/html; charset=utf-8",
        "Expires: 0",
        "Cache-Control: pre-check=0, post-check=0, max-age=0",
        "Pragma: no-cache",
    ];
    ok(&fields, [&BODY, END.as_bytes()].concat())
}

/// The same page for a visitor who has no session: it opens one.
fn page_with_session() -> Vec<u8> {
    let page = String::from_utf8(page()).unwrap();
    page.replacen("\r\n", "\r\nSet-Cookie: PHPSESSID=0b7d; path=/; HttpOnly\r\n", 1).into_bytes()
}

fn gnuboard() -> Setup {
    let text = "[[site]]\norigin = \"http://127.0.0.1:1\"\napplication = \"gnuboard5\"\nguard = false\n";
    let (options, issues) = kasoku_config::check_text(text);
    assert!(issues.is_empty(), "{issues:#?}");
    let mut sites = options.unwrap().sites;
    for site in &mut sites {
        // The scripted origin is the only origin.
        let without_origins = |route: &mut Arc<Route>| Arc::make_mut(route).origins.clear();
        without_origins(&mut site.route);
        site.rules.iter_mut().for_each(|rule| without_origins(&mut rule.route));
    }
    Setup::safe().options(|options| options.sites = sites)
}

/// A page for guests, requested with these fields. The program hears of the guest once (`beacon`).
fn guest(name: &'static str, target: &str, fields: &str) -> Case {
    let script = vec![get(target).answers(page_with_session()), get("/bbs/profile.php").answers(page_with_session())];
    let fills = vec![request("GET", target, fields)];
    Case { script, fills, ..Case::of(name, gnuboard(), target) }.hit("GET", target, fields)
}

/// The same for a guest who sends these cookies: Kasoku asks the program whether the session is anonymous (`session.probe`).
/// After that, the guest gets the stored page.
fn anonymous(name: &'static str, target: &str, cookies: String) -> Case {
    let mut case = guest(name, target, BROWSER);
    case.script.push(get(target).answers(page()));
    case.script.push(get("/bbs/login.php").answers(ok(&["Content-Type: text/html"], "<form action=login_check.php>")));
    let of_session = request("GET", target, &format!("{BROWSER}Cookie: {cookies}\r\n"));
    case.fills.push(of_session.clone());
    Case { hits: vec![of_session], anonymous: Some(cookies), ..case }
}

/// phpBB has such short addresses: two placeholders in one segment.
fn several_placeholders() -> Case {
    let rule = Rewrite::parse("/{slug:id}-t{topic:digits}.html => /viewtopic.php?t={topic}").unwrap();
    let setup = Setup::safe().route(|route| route.gateway.rewrites = vec![rule]);
    Case::of("a short address with two placeholders in a segment", setup, "/a-t1-t15.html")
}
