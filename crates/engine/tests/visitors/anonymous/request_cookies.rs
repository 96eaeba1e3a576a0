//! Cookies that Kasoku adds to anonymous requests, so that an application does not count them as visits.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{grant, names, of_a_board};
use kasoku_engine::explain::Question;
use kasoku_options::{AnonymousCookie, OtherCookies, Route};
use kasoku_testkit::application::{Application as Program, prints};
use kasoku_testkit::{Folder, Scenario, Setup, is_stand_in, reply};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The cookie by which gnuboard knows that it has counted the address: its set_cookie() writes the address in base64.
fn counted(asked: &Asked) -> String {
    AnonymousCookie::parse("ck_visit_ip={address:base64}").unwrap().pair(asked.field("x-forwarded-for").unwrap())
}

/// An application that counts each request as a visit, except those from an address of no client with the cookie of that address.
struct Counting {
    application: Application,
    visits: Arc<AtomicUsize>,
    adds: Arc<Mutex<Vec<&'static str>>>,
}

impl Counting {
    fn start() -> Self {
        let (visits, adds) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (own, lines) = (visits.clone(), adds.clone());
        let application = Application::start(move |asked| Does::Answer(answer(asked, &own, &lines.lock().unwrap())));
        Self { application, visits, adds }
    }

    fn behind(&self, setup: Setup) -> Scenario {
        setup.run_before(&self.application.address())
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }

    /// The cookie of the address that each request had.
    fn counted(&self) -> Vec<String> {
        self.application.asked().iter().map(counted).collect()
    }

    /// The cookies of each request so far.
    fn cookies(&self) -> Vec<Option<String>> {
        self.application.asked().iter().map(|asked| asked.field("cookie").map(str::to_owned)).collect()
    }
}

fn answer(asked: &Asked, visits: &AtomicUsize, adds: &[&str]) -> Vec<u8> {
    let mut lines = vec!["Content-Type: text/html", "Cache-Control: no-store"];
    let is_anonymous = asked.field("x-forwarded-for").is_some_and(is_stand_in);
    if !is_anonymous || !asked.field("cookie").unwrap_or_default().contains(&counted(asked)) {
        visits.fetch_add(1, Ordering::SeqCst);
        lines.push("Set-Cookie: ck_visit_ip=dGhlaXJz");
    }
    lines.extend(adds);
    reply("200 OK", &lines, "<html>page</html>")
}

fn rules(route: &mut Route) {
    of_a_board(route);
    route.cookies.noise.push("ck_visit_ip".to_owned());
    route.cookies.anonymous = vec![AnonymousCookie::parse("ck_visit_ip={address:base64}").unwrap()];
}

fn setup() -> Setup {
    Setup::safe().route(rules).policy(|policy| policy.grace_seconds = 600)
}

#[test]
fn an_anonymous_request_is_no_visit() {
    let counting = Counting::start();
    let scene = counting.behind(setup());
    assert_eq!(scene.client().get("/").cache_status("stored").as_deref(), Some(""));
    assert!(scene.client().get("/").is_hit(), "the cookie does not make the anonymous page a visitor's");
    let theirs = scene.client().get_with("/", &["Cookie: ck_visit_ip=dGhlaXJz"]);
    assert!(theirs.is_hit() && !theirs.has("set-cookie"), "{theirs:?}");
    // A refresh in the background.
    scene.advance(61);
    assert!(scene.client().get("/").is_hit());
    scene.eventually(|| counting.application.count() == 2);
    scene.eventually(|| scene.client().get("/").cache_status("detail").as_deref() == Some("hit"));
    let counted: Vec<Option<String>> = counting.counted().into_iter().map(Some).collect();
    assert_eq!(counting.cookies(), counted);
    assert_ne!(counted[0], counted[1], "each fetch has an address of its own");
    assert_eq!(counting.visits(), 0);
}

#[test]
fn a_page_that_varies_by_cookies_is_one_for_all_anonymous_requests() {
    let counting = Counting::start();
    counting.adds.lock().unwrap().push("Vary: Cookie");
    let scene = counting.behind(setup());
    scene.client().get("/");
    assert!(scene.client().get("/").is_hit());
    assert!(scene.client().get_with("/", &["Cookie: _ga=1"]).is_hit());
    assert_eq!(counting.visits(), 0);
}

#[test]
fn they_stand_beside_the_cookies_of_the_key() {
    let counting = Counting::start();
    let scene = counting.behind(setup().route(|route| {
        grant(route).key_cookies = names(&["lang"]);
        route.cookies.others = Some(OtherCookies::Remove);
    }));
    for (cookies, is_hit) in [("lang=de; _ga=1", false), ("lang=en", false), ("_ga=2; lang=de; x=1", true)] {
        assert_eq!(scene.client().get_with("/", &[&format!("Cookie: {cookies}")]).is_hit(), is_hit, "{cookies}");
    }
    let counted = counting.counted();
    let expected = ["lang=de", "lang=en"].iter().zip(counted).map(|(lang, counted)| Some(format!("{lang}; {counted}")));
    let expected: Vec<Option<String>> = expected.collect();
    assert_eq!(counting.cookies(), expected);
}

#[test]
fn who_passes_brings_the_own_cookies_and_no_others() {
    let counting = Counting::start();
    let scene = counting.behind(setup());
    scene.client().get_with("/", &["Cookie: PHPSESSID=1; ck_visit_ip=dGhlaXJz"]);
    scene.client().get("/login.php");
    scene.client().send_body("POST", "/", &[], "a=b");
    assert_eq!(counting.cookies(), [Some("PHPSESSID=1; ck_visit_ip=dGhlaXJz".to_owned()), None, None]);
    assert_eq!(counting.visits(), 3, "they are counted for themselves");
}

#[test]
fn where_nothing_is_granted_no_request_is_made_anonymous() {
    let counting = Counting::start();
    let scene = counting.behind(setup().route(|route| grant(route).ttl_override_seconds = 0));
    scene.client().get("/");
    assert_eq!(counting.cookies(), [None]);
}

#[test]
fn a_live_question_is_no_visit_either() {
    let counting = Counting::start();
    let scene = counting.behind(setup());
    let question = Question { is_live: true, ..Question::get("http://example.org/") };
    let explained = scene.engine.handle().explain(&question).unwrap();
    // A live explanation has no client address.
    assert_eq!(explained.answer.unwrap().unwrap().refusal, None);
    let counted: Vec<Option<String>> = counting.counted().into_iter().map(Some).collect();
    assert_eq!(counted.len(), 1);
    assert_eq!(counting.cookies(), counted);
}

#[test]
fn a_page_that_leads_to_another_rule_by_itself_is_for_everybody_all_the_same() {
    let folder = Folder::new();
    folder.write("short.php", "");
    folder.write("inner.php", "");
    let program = Program::fastcgi([prints("Location: /inner.php\n\n"), prints("Content-Type: text/html\n\npage")]);
    let setup = setup().route(|route| {
        route.cookies.noise.retain(|name| name != "ck_visit_ip");
        route.origins = vec![program.address()];
        route.gateway.root = Some(folder.path().to_owned());
    });
    let scene = setup.rule("/inner*", |_| {}).run_before(&program.address().address);
    scene.client().get("/short.php");
    assert!(scene.client().get("/short.php").is_hit(), "the cookie of an anonymous request is no visitor's");
    let call = program.call(1);
    let address = call.param("REMOTE_ADDR");
    assert!(is_stand_in(address), "{address}");
    let counted = AnonymousCookie::parse("ck_visit_ip={address:base64}").unwrap().pair(address);
    assert_eq!(call.param("HTTP_COOKIE"), counted);
    assert_eq!(call.param("HTTP_X_FORWARDED_FOR"), address, "one fetch has one address");
}
