//! How Kasoku recognizes a page, and what an application says in its place with the same status: that a post is gone or for
//! members only, or that the database is down.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{cookie, of_a_board, session};
use kasoku_cache::Purge;
use kasoku_engine::explain::Question;
use kasoku_engine::purge::PurgeTarget;
use kasoku_metrics::Counter;
use kasoku_options::{EmptyToken, PageRules};
use kasoku_testkit::{Gate, Response, Scenario, Setup, is_stand_in, reply};
use std::sync::{Arc, Mutex};

const OUTAGE: &str = "MySQL Connect Error";
const ALERT: &str = "<script>alert('gone');</script>";

/// An application that gives the same answer until a test changes it.
struct Program {
    application: Application,
    says: Arc<Mutex<String>>,
}

impl Program {
    /// The first answer is a page.
    fn start() -> Self {
        let says = Arc::new(Mutex::new(page("one")));
        let own = says.clone();
        let application = Application::start(move |asked| Does::Answer(answer(&own.lock().unwrap(), asked)));
        Self { application, says }
    }

    fn says(&self, text: impl Into<String>) {
        *self.says.lock().unwrap() = text.into();
    }

    /// Kasoku in front of the application, with the texts by which it recognizes pages. Pages are fresh for a minute, and have
    /// ten minutes of grace.
    fn behind(&self) -> Scenario {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let rules = PageRules {
            texts: texts(&["</html>", "</rss>"]),
            outages: texts(&[OUTAGE]),
            privates: texts(&["data-token="]),
            empty_tokens: vec![EmptyToken::parse(r#"<meta name="csrf-token" content="{token}""#).unwrap()],
        };
        let setup = Setup::safe().route(of_a_board).policy(|policy| policy.grace_seconds = 600);
        let setup = setup.route(|route| session(route).anonymous_cookies = vec![cookie("status", "none")]);
        setup.route(|route| route.page = Arc::new(rules)).run_before(&self.application.address())
    }

    /// Asks for the page, which is stale, and waits until its refresh in the background has come.
    fn is_refreshed(&self, scene: &Scenario) -> Response {
        let count = self.application.count();
        let stale = scene.client().get("/post");
        scene
            .eventually(|| self.application.count() > count && self.application.answered() == self.application.count());
        scene.settled();
        stale
    }
}

fn page(text: &str) -> String {
    format!("<html><p>{text}</p></html>")
}

/// A page with the fields of PHP. The session `ann` gets another text.
fn answer(says: &str, asked: &Asked) -> Vec<u8> {
    let cookie = asked.field("cookie").unwrap_or_default();
    let text = if cookie.contains("PHPSESSID=ann") { page("for ann") } else { says.to_owned() };
    let mut lines = vec!["Content-Type: text/html; charset=utf-8", "Cache-Control: no-store, no-cache"];
    if !cookie.contains("PHPSESSID") {
        lines.push("Set-Cookie: PHPSESSID=0123456789abcdef0123456789abcdef");
    }
    // A head that tells an anonymous request's own address keeps its page from being stored.
    let told = asked.field("x-forwarded-for").filter(|told| !is_stand_in(told));
    let address = format!("X-Told: {}", told.unwrap_or("nothing"));
    lines.push(&address);
    reply("200 OK", &lines, text)
}

fn kept(scene: &Scenario) {
    scene.client().get("/post");
    assert!(scene.client().get("/post").is_hit());
}

/// A page with the token of a session in its head.
fn with_token(token: &str) -> String {
    page(&format!("<meta name=\"csrf-token\" content=\"{token}\" />"))
}

#[test]
fn a_token_that_guests_need_not_send_is_stored_empty_and_members_get_their_own() {
    let program = Program::start();
    let scene = program.behind();
    program.says(with_token("Xy12Zw34"));
    scene.client().get("/post");
    let shared = scene.client().get("/post");
    assert!(shared.is_hit(), "{shared:?}");
    assert_eq!(shared.text(), with_token("Xy12Zw34").replace("Xy12Zw34\"", "\"        "));
    let own = scene.client().get_with("/post", &["Cookie: PHPSESSID=tom"]);
    assert_eq!((own.text(), own.detail().as_str()), (with_token("Xy12Zw34"), "pass-session"), "{own:?}");
}

#[test]
fn an_outage_with_status_200_replaces_no_page() {
    let program = Program::start();
    let scene = program.behind();
    kept(&scene);
    program.says(OUTAGE);
    scene.advance(61);
    assert_eq!(program.is_refreshed(&scene).text(), page("one"));
    assert_eq!(scene.engine.metrics().total(Counter::Outages), 1);
    let meanwhile = scene.client().get("/post");
    assert_eq!((meanwhile.text(), meanwhile.is_hit()), (page("one"), true), "{meanwhile:?}");
    program.says(page("two"));
    scene.advance(60);
    program.is_refreshed(&scene);
    assert_eq!(scene.client().get("/post").text(), page("two"), "it has come back");
}

#[test]
fn an_outage_is_not_kept_where_there_is_no_page_before_it() {
    let program = Program::start();
    let scene = program.behind();
    program.says(OUTAGE);
    for _ in 0..2 {
        let answer = scene.client().get("/post");
        assert_eq!((answer.text().as_str(), answer.detail().as_str()), (OUTAGE, "outage"), "{answer:?}");
    }
    program.says(page("one"));
    kept(&scene);
}

#[test]
fn beyond_grace_and_after_a_purge_nothing_stands_in_for_an_outage() {
    for purges in [false, true] {
        let program = Program::start();
        let scene = program.behind();
        kept(&scene);
        program.says(OUTAGE);
        if purges {
            assert_eq!(scene.client().ask("PURGE", "/post", &[]).response().status, 200);
        } else {
            scene.advance(60 + 601);
        }
        assert_eq!(scene.client().get("/post").text(), OUTAGE, "{purges}");
    }
}

#[test]
fn the_words_of_an_outage_in_a_page_are_a_visitors_words() {
    let program = Program::start();
    let scene = program.behind();
    program.says(page(OUTAGE));
    kept(&scene);
}

#[test]
fn what_is_said_in_the_place_of_a_page_is_not_kept_and_the_page_is_gone() {
    let program = Program::start();
    let scene = program.behind();
    kept(&scene);
    program.says(ALERT);
    scene.advance(61);
    assert_eq!(program.is_refreshed(&scene).text(), page("one"), "it was not known yet");
    let answer = scene.client().get("/post");
    assert_eq!((answer.text().as_str(), answer.detail().as_str()), (ALERT, "page-text-missing"), "{answer:?}");
    assert!(scene.engine.metrics().total(Counter::PageTextMissing) >= 1);
}

#[test]
fn where_an_anonymous_request_gets_no_page_each_visitor_gets_their_own_answer() {
    let program = Program::start();
    let scene = program.behind();
    program.says(ALERT);
    let answer = scene.client().get("/post");
    assert_eq!(answer.field("x-told"), "127.0.0.1", "the first as well: {answer:?}");
    assert_eq!(program.application.count(), 2, "asked anonymously, and then for the visitor");
    scene.client().get("/post");
    assert_eq!(program.application.count(), 3, "by then it is known");
    scene.advance(61);
    program.says(page("open to all"));
    kept(&scene);
}

#[test]
fn after_a_purge_or_a_write_a_page_is_looked_for_again() {
    for drops in ["purge all", "PURGE", "POST"] {
        let program = Program::start();
        program.says(ALERT);
        let scene = program.behind();
        for _ in 0..2 {
            assert_eq!(scene.client().get("/post").detail(), "page-text-missing");
        }
        program.says(page("open again"));
        assert_eq!(scene.client().get("/post").detail(), "page-text-missing", "remembered for a minute");
        match drops {
            "PURGE" => {
                assert_eq!(scene.client().ask("PURGE", "/post", &[]).response().status, 200)
            }
            "POST" => assert_eq!(scene.client().send_body("POST", "/post", &[], "").status, 200),
            _ => assert!(scene.engine.handle().purge(&PurgeTarget::All, Purge::Hard).is_ok()),
        }
        kept(&scene);
    }
}

#[test]
fn who_waits_for_a_page_that_is_none_asks_for_oneself() {
    let program = Program::start();
    let scene = program.behind();
    program.says(ALERT);
    let gate = Gate::new();
    program.application.holds_next(&gate);
    let mut clients: Vec<_> = (0..3).map(|_| scene.client()).collect();
    for client in &mut clients {
        client.ask("GET", "/post", &[]);
    }
    program.application.arrived(1);
    scene.settled();
    gate.open();
    for client in &mut clients {
        let answer = client.response();
        assert_eq!((answer.field("x-told").as_str(), answer.detail().as_str()), ("127.0.0.1", "page-text-missing"));
    }
    assert_eq!(program.application.count(), 4);
}

#[test]
fn a_session_that_is_set_aside_gets_its_own_page_where_an_anonymous_request_gets_none() {
    let program = Program::start();
    let scene = program.behind();
    program.says(ALERT);
    // A cookie says that the session is anonymous, but its visitor has typed the password of this post.
    let answer = scene.client().get_with("/post", &["Cookie: status=none; PHPSESSID=ann"]);
    assert_eq!((answer.text(), answer.detail().as_str()), (page("for ann"), "page-text-missing"), "{answer:?}");
    assert_eq!(program.application.count(), 2);
}

#[test]
fn files_by_their_name_need_no_text_of_a_page() {
    let application = Application::start(|_| Does::Answer(reply("200 OK", &["Content-Type: text/css"], "body {}")));
    let rules = PageRules { texts: vec!["</html>".to_owned()], ..PageRules::default() };
    let setup = Setup::safe().route(of_a_board).route(move |route| route.page = Arc::new(rules.clone()));
    let scene = setup.run_before(&application.address());
    for path in ["/x.css", "/x"] {
        scene.client().get(path);
        assert_eq!(scene.client().get(path).is_hit(), path == "/x.css", "{path}");
    }
}

#[test]
fn without_a_grant_the_application_decides() {
    let application = Application::start(|_| Does::Answer(reply("200 OK", &["Cache-Control: max-age=60"], ALERT)));
    let rules = PageRules { texts: vec!["</html>".to_owned()], ..PageRules::default() };
    let scene =
        Setup::safe().route(move |route| route.page = Arc::new(rules.clone())).run_before(&application.address());
    scene.client().get("/x");
    assert!(scene.client().get("/x").is_hit());
}

#[test]
fn explain_tells_a_page_an_outage_and_anything_else_apart() {
    let program = Program::start();
    let scene = program.behind();
    let asks = || {
        let question = Question { is_live: true, ..Question::get("http://example.org/post") };
        scene.engine.handle().explain(&question).unwrap().cache_status()
    };
    assert!(asks().contains("stored"), "{}", asks());
    program.says(OUTAGE);
    assert!(asks().contains("detail=outage"), "{}", asks());
    program.says(ALERT);
    assert!(asks().contains("detail=page-text-missing"), "{}", asks());
    program.says("<html>".to_owned() + &"x".repeat(4 << 20));
    assert!(asks().contains("detail=cookie-value-unchecked"), "{}", asks());
}

#[test]
fn a_page_with_a_text_of_one_visitor_is_for_who_asks() {
    let program = Program::start();
    let scene = program.behind();
    kept(&scene);
    program.says("<html><a data-token=8f2c>file</a></html>");
    scene.advance(61);
    program.is_refreshed(&scene);
    let count = program.application.count();
    for asked in 1..3 {
        let answer = scene.client().get("/post");
        assert_eq!((answer.detail().as_str(), answer.is_hit()), ("personal-page", false), "{answer:?}");
        assert_eq!(program.application.count(), count + asked, "asked once for each");
        assert_eq!(answer.field("x-told"), "127.0.0.1", "the application is told who asks");
    }
    scene.advance(61);
    program.says(page("two"));
    kept(&scene);
}
