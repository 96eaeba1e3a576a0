//! The leak guard: pages are compared with another visitor's page before they are shared; what it finds, and what follows.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{grant, session, told};
use kasoku_cache::Purge;
use kasoku_engine::explain::{GuardState, Guarded, Question};
use kasoku_engine::purge::PurgeTarget;
use kasoku_metrics::Counter;
use kasoku_options::{
    AnonymousCookie, FreshLink, GuardCookie, GuardRules, HostPattern, Options, Route, UrlPattern, UrlTemplate,
};
use kasoku_semantics::difference::Noise;
use kasoku_testkit::{Gate, Response, Scenario, Setup, is_stand_in, reply};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The text of a page, from the request and the number of requests before it.
type Says = dyn Fn(&Asked, usize) -> String + Send + Sync;

/// An application that states no lifetimes. `says` makes each of its pages.
struct Site {
    application: Application,
    says: Arc<Mutex<Arc<Says>>>,
}

impl Site {
    fn start(says: impl Fn(&Asked, usize) -> String + Send + Sync + 'static) -> Self {
        let says: Arc<Mutex<Arc<Says>>> = Arc::new(Mutex::new(Arc::new(says)));
        let (own, count) = (says.clone(), AtomicUsize::new(0));
        let application = Application::start(move |asked| {
            let says = own.lock().unwrap().clone();
            let text = says(asked, count.fetch_add(1, Ordering::SeqCst));
            if text == "fails" {
                return Does::Answer(reply("503 Service Unavailable", &[], "busy"));
            }
            Does::Answer(reply("200 OK", &["Content-Type: text/html"], text))
        });
        Self { application, says }
    }

    fn says(&self, says: impl Fn(&Asked, usize) -> String + Send + Sync + 'static) {
        *self.says.lock().unwrap() = Arc::new(says);
    }

    fn behind(&self, setup: Setup) -> Scenario {
        setup.run_before(&self.application.address())
    }
}

fn rules(noise: &[&str]) -> Arc<GuardRules> {
    let noise = noise.iter().map(|text| Noise::parse(text).unwrap()).collect();
    Arc::new(GuardRules { is_enabled: true, noise, ..GuardRules::default() })
}

/// Grants a minute to all pages, and compares all of them.
fn setup(noise: &[&str]) -> Setup {
    let guard = rules(noise);
    Setup::safe().route(move |route| {
        grant(route).ttl_seconds = 60;
        route.guard = guard;
    })
}

fn field<'a>(asked: &'a Asked, name: &str) -> &'a str {
    asked.field(name).unwrap_or_default()
}

fn page(text: &str) -> String {
    format!("<!DOCTYPE html><html lang=\"en\"><body>\n<h1>Title</h1>\n{text}\n</body></html>")
}

/// The state of the pattern of a URL.
fn known(scene: &Scenario, path: &str) -> Guarded {
    let url = format!("http://example.org{path}");
    scene.engine.handle().explain(&Question::get(&url)).unwrap().guarded.unwrap()
}

/// The place of the first difference, and the visitor's line in it.
fn found(scene: &Scenario, path: &str) -> (&'static str, String) {
    match known(scene, path).state {
        GuardState::Blocked { report, .. } => {
            let first = report.differences.into_iter().next().unwrap();
            (first.place.word(), first.visitors)
        }
        other => panic!("{other:?}"),
    }
}

/// Asks until the pattern is blocked: the guard looks twice, some seconds apart, before it believes what it finds. No request is a hit.
#[track_caller]
fn is_blocked(scene: &Scenario) -> Response {
    let first = scene.client().get("/page");
    assert_eq!(first.detail(), "leak-guard-pending", "the client has its own answer: {first:?}");
    let mut last = first;
    scene.eventually(|| {
        scene.advance(11);
        last = scene.client().get("/page");
        assert!(!last.is_hit(), "{last:?}");
        last.detail() == "leak-guard"
    });
    scene.counted(Counter::GuardBlocked, 1);
    last
}

/// Asks until the page is a hit.
#[track_caller]
fn is_shared(scene: &Scenario) {
    let first = scene.client().get("/page");
    assert_eq!(first.detail(), "leak-guard-pending", "the client has its own answer: {first:?}");
    scene.eventually(|| {
        scene.advance(11);
        scene.client().get("/page").is_hit()
    });
    assert_eq!(known(scene, "/page").state.word(), "verified");
    scene.counted(Counter::GuardBlocked, 0);
}

/// Asks until the page is found to have a token: its pattern is not blocked, but the page is never a hit. Returns where the token is.
#[track_caller]
fn has_token(scene: &Scenario) -> (&'static str, String) {
    scene.client().get("/page");
    for _ in 0..3 {
        scene.eventually(|| {
            scene.advance(11);
            let answer = scene.client().get("/page");
            assert!(!answer.is_hit(), "{answer:?}");
            answer.detail() == "leak-guard-token"
        });
        scene.advance(61);
    }
    match known(scene, "/page").state {
        GuardState::Verified { token: Some(token), .. } => (token.place.word(), token.anonymous),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_that_shows_who_asks_is_not_shared() {
    type By = fn(&Asked) -> String;
    let greeting: By = |asked| {
        let is_french = field(asked, "accept-language").starts_with("fr");
        let others = ["de", "ja", "ko", "en"].iter().find(|one| field(asked, "accept-language").starts_with(**one));
        page(if is_french { "Bonjour" } else { others.map_or("Hello", |one| one) })
    };
    let all: [(&str, &str, By); 3] = [
        ("language", "page", greeting),
        ("referrer", "page", |asked| page(&format!("<p>You come from {}", field(asked, "referer")))),
        ("browser", "page", |asked| page(&format!("<p>You use {}", field(asked, "user-agent")))),
    ];
    for (name, place, says) in all {
        let site = Site::start(move |asked, _| says(asked));
        let scene = site.behind(setup(&[]));
        is_blocked(&scene);
        let (found_in, line) = found(&scene, "/page");
        assert_eq!(found_in, place, "{name}: {line}");
    }
}

#[test]
fn what_is_kept_by_address_is_found() {
    // Some other client's cart, for all addresses that the application takes for one network.
    let site = Site::start(move |asked, _| {
        let things = if is_stand_in(field(asked, "x-forwarded-for")) { 3 } else { 0 };
        page(&if things > 0 { format!("<p>Your cart has {things} things") } else { "<p>Your cart is empty".to_owned() })
    });
    let scene = site.behind(setup(&[]));
    is_blocked(&scene);
    assert!(found(&scene, "/page").1.contains("cart is empty"));
}

#[test]
fn a_token_is_found_wherever_it_stands() {
    type In = fn(usize) -> String;
    let all: [(&str, In); 6] = [
        ("form", |n| format!("<form method=post><input type=hidden name=csrf value=a{n}b></form>")),
        ("form", |n| format!("<form action='/post?token=a{n}b'></form>")),
        ("meta", |n| format!("<meta name=\"csrf-token\" content=\"a{n}b\">")),
        ("script", |n| format!("<script>var token = \"a{n}b\";</script>")),
        ("page", |n| format!("<div data-token='a{n}b'>x</div>")),
        ("page", |n| format!("<a href='/x?PHPSESSID=a{n}b'>x</a>")),
    ];
    for (place, says) in all {
        let site = Site::start(move |_, count| page(&says(count + 1000)));
        assert_eq!(has_token(&site.behind(setup(&[]))).0, place, "{}", says(0));
    }
}

#[test]
fn a_page_without_the_token_of_its_pattern_is_shared() {
    let form =
        |count: usize| format!("<form method=post><input name=x><input type=hidden name=csrf value=a{count}b></form>");
    let site = Site::start(move |asked, count| {
        // The first page has none.
        page(&if asked.target().ends_with("=1") { "no such item".to_owned() } else { form(count + 1000) })
    });
    let scene = site.behind(setup(&[]));
    let is_hit = |target: &str| scene.client().get(target).is_hit();
    scene.eventually(|| is_hit("/item?id=1"));
    for _ in 0..20 {
        assert!(!is_hit("/item?id=2") && !is_hit("/item?id=3"));
        scene.advance(7);
    }
    scene.eventually(|| is_hit("/item?id=1"));
}

#[test]
fn a_value_that_is_sent_back_is_watched_for_a_minute() {
    let token = |minute: usize| {
        format!("<form method=post><input type=hidden name=csrf value=0123456789abcdef{minute}></form>")
    };
    // The same for all, and for ever.
    let scene = Site::start(move |_, _| page(&token(1))).behind(setup(&[]));
    let reasons = [(); 3].map(|()| {
        scene.advance(20);
        scene.client().get("/page").detail()
    });
    assert_eq!(reasons, ["leak-guard-pending", "leak-guard-unconfirmed", "leak-guard-unconfirmed"]);
    scene.eventually(|| {
        scene.advance(61);
        scene.client().get("/page");
        scene.client().get("/page").is_hit()
    });
    // The same for all, for a minute.
    let site = Site::start(move |_, _| page(&token(1)));
    let scene = site.behind(setup(&[]));
    for minute in 1..4 {
        site.says(move |_, _| page(&token(minute)));
        for _ in 0..6 {
            assert!(!scene.client().get("/page").is_hit());
            scene.advance(10);
        }
    }
}

#[test]
fn listed_noise_is_no_difference_also_in_one_long_line() {
    let noise = ["made in {number} seconds", "\"requestId\":\"{hex}\"", "at {time}<"];
    for glue in ["\n", ""] {
        let site = Site::start(move |_, count| {
            let filler = format!("<p>text</p>{glue}").repeat(200);
            let at = format!("<p>at 2026-11-23 08:{:02}:17</p>{glue}", count % 60);
            let script = format!("<script>config({{\"requestId\":\"{:08x}\"}})</script>{glue}", count + 77);
            format!("<html>{glue}{filler}{at}{script}<i>made in 0.{count:04} seconds</i></html>")
        });
        is_shared(&site.behind(setup(&noise)));
    }
}

#[test]
fn a_made_up_visitor_has_been_counted_like_the_anonymous_one() {
    let site = Site::start(|asked, _| match field(asked, "cookie") {
        "" => page("welcome, you are new"),
        cookie => {
            let counted = cookie.strip_prefix("seen=").unwrap();
            assert!(field(asked, "x-forwarded-for").contains(counted), "{asked:?}");
            page("welcome back")
        }
    });
    let cookie = AnonymousCookie::parse("seen={address}").unwrap();
    let scene = site.behind(setup(&[]).route(|route| route.cookies.anonymous = vec![cookie]));
    is_shared(&scene);
    scene.client().get("/post");
    scene.eventually(|| scene.client().get("/post").is_hit());
    assert_eq!(scene.client().get("/post").text(), page("welcome back"));
}

#[test]
fn links_that_are_made_for_each_visitor_are_no_difference_where_they_are_mended() {
    let nonce = "/get.php?id=1&amp;nonce=1000";
    let site = Site::start(move |_, count| page(&format!("<a href=\"{nonce}{count}\">file</a>")));
    let fresh = FreshLink {
        url: UrlPattern::parse("/get.php").unwrap(),
        page: UrlTemplate::parse("/post").unwrap(),
        parameters: vec!["nonce".to_owned()],
    };
    has_token(&site.behind(setup(&[])));
    is_shared(&site.behind(setup(&[]).route(|route| route.fresh_links = vec![fresh.clone()])));
    // Other tokens beside such a link count.
    site.says(move |_, count| page(&format!("<a href=\"{nonce}{count}\" data-token=\"{}\">file</a>", count + 1000)));
    has_token(&site.behind(setup(&[]).route(|route| route.fresh_links = vec![fresh])));
}

#[test]
fn a_page_that_is_changed_meanwhile_is_no_alarm() {
    for changed_at in 1..4 {
        let site = Site::start(move |_, count| page(if count < changed_at { "old" } else { "new" }));
        is_shared(&site.behind(setup(&[])));
    }
}

#[test]
fn a_page_of_which_there_are_two_forms_is_no_alarm() {
    // A database returns rows that sort alike in an order that depends on the connection.
    let forms = ["a, b", "b, a", "b, a", "a, b", "b, a", "a, b", "a, b", "b, a"];
    is_shared(&Site::start(move |_, count| page(forms[count % 8])).behind(setup(&[])));
}

#[test]
fn lines_that_come_in_another_order_each_time_are_no_alarm_and_a_visitors_own_order_is() {
    let rows = |order: usize| {
        let rows = ["one", "two", "three", "four", "five", "six", "seven"];
        page(&(0..7).map(|at| rows[(at + order) % 7].to_owned() + "\n").collect::<String>())
    };
    is_shared(&Site::start(move |_, count| rows(count)).behind(setup(&[])));
    is_blocked(&Site::start(move |asked, _| rows(usize::from(!field(asked, "referer").is_empty()))).behind(setup(&[])));
    // A line of the visitor's own, among lines that move.
    let own = move |asked: &Asked, count| rows(count) + field(asked, "user-agent");
    is_blocked(&Site::start(own).behind(setup(&[])));
}

#[test]
fn rows_of_which_others_are_in_a_list_each_time_are_no_alarm_and_a_visitors_own_row_is() {
    // The application returns `shown` of `count` rows that sort alike, and starts with another one at each request.
    let rows = |shown: usize, count: usize, first: usize| {
        (0..shown).map(|at| format!("<li>post {}</li>\n", (first + at) % count)).collect::<String>()
    };
    is_shared(&Site::start(move |_, count| page(&rows(3, 7, count))).behind(setup(&[])));
    // Few rows of many: the guard does not need more requests.
    let scene = Site::start(move |_, count| page(&rows(2, 11, 4 * count))).behind(setup(&[]));
    is_shared(&scene);
    is_blocked(
        &Site::start(move |asked, count| page(&(rows(3, 7, count) + field(asked, "user-agent")))).behind(setup(&[])),
    );
    // A visitor gets a row that no other request gets; and a visitor lacks a row that all others get.
    let own = move |asked: &Asked| !field(asked, "referer").is_empty();
    is_blocked(
        &Site::start(move |asked, count| page(&(rows(3, 7, count) + if own(asked) { "<li>yours</li>\n" } else { "" })))
            .behind(setup(&[])),
    );
    is_blocked(
        &Site::start(move |asked, count| page(&(rows(3, 7, count) + if own(asked) { "" } else { "<li>ours</li>\n" })))
            .behind(setup(&[])),
    );
}

#[test]
fn what_the_application_itself_makes_public_is_its_own_business() {
    let application = Application::start(|asked| {
        let text = page(field(asked, "x-forwarded-for"));
        Does::Answer(reply("200 OK", &["Content-Type: text/html", "Cache-Control: public, max-age=60"], text))
    });
    let scene = setup(&[]).run_before(&application.address());
    scene.client().get("/page");
    scene.eventually(|| scene.client().get("/page").is_hit());
    scene.counted(Counter::GuardChecks, 0);
}

#[test]
fn files_are_not_compared_and_pictures_that_a_program_makes_are() {
    let application = Application::start(|asked| {
        let kind = if asked.target().ends_with(".css") { "text/css" } else { "image/png" };
        Does::Answer(reply("200 OK", &[&format!("Content-Type: {kind}")], field(asked, "user-agent")))
    });
    let scene = setup(&[]).run_before(&application.address());
    scene.client().get("/style.css");
    assert!(scene.client().get("/style.css").is_hit());
    scene.counted(Counter::GuardChecks, 0);
    scene.eventually(|| {
        scene.advance(11);
        let answer = scene.client().get("/picture");
        assert!(!answer.is_hit(), "{answer:?}");
        answer.detail() == "leak-guard"
    });
}

#[test]
fn two_pages_of_a_pattern_are_compared_for_all_of_them() {
    let site = Site::start(|asked, _| page(asked.target()));
    let scene = site.behind(setup(&[]));
    // A client that has waited as long as the page took passes.
    let passes_until_a_hit = |target: &str| {
        let mut passes = 0;
        scene.eventually(|| {
            let answer = scene.client().get(target);
            // One that waited until the end joined the fill.
            passes += usize::from(answer.detail() == "leak-guard-pending");
            answer.is_hit()
        });
        passes
    };
    let mut passes = passes_until_a_hit("/post.php?id=0");
    assert_eq!(site.application.count(), passes + 3, "the clients' own requests and three looks");
    passes += passes_until_a_hit("/post.php?id=1");
    assert_eq!(site.application.count(), passes + 6, "the first one may have been no such post");
    for number in 2..10 {
        assert_eq!(scene.client().get(&format!("/post.php?id={number}")).detail(), "uri-miss");
    }
    assert_eq!(site.application.count(), passes + 14);
    passes += passes_until_a_hit("/list.php");
    assert_eq!(site.application.count(), passes + 17, "that is another pattern");
    scene.counted(Counter::GuardChecks, 3);
    let is_visitor = |asked: &Asked| {
        let address = field(asked, "x-forwarded-for");
        !is_stand_in(address) && address != "127.0.0.1"
    };
    let visitors: Vec<Asked> = site.application.asked().into_iter().filter(is_visitor).collect();
    assert_eq!(visitors.len(), 3);
    assert!(visitors.iter().all(|asked| field(asked, "cookie").is_empty() && !field(asked, "referer").is_empty()));
}

#[test]
fn hosts_that_the_configuration_does_not_tell_apart_make_no_patterns() {
    let below = || HostPattern::Below(".example.org".to_owned());
    for (hosts, name) in [(vec![], "default"), (vec![below()], "*.example.org")] {
        let site = Site::start(|_, _| page("for all"));
        let setup = if hosts.is_empty() { setup(&[]) } else { setup(&[]).site(&hosts, |_| {}) };
        let scene = site.behind(setup);
        for number in 0..5 {
            scene.client().get(&format!("http://{number}.example.org:{}/page", 8000 + number));
        }
        scene.counted(Counter::GuardChecks, 1);
        let url = "http://any.example.org/page";
        let guarded = scene.engine.handle().explain(&Question::get(url)).unwrap().guarded.unwrap();
        assert_eq!((guarded.pattern, guarded.state.word()), (format!("{name}/page"), "verified"));
    }
}

#[test]
fn a_pattern_that_begins_to_differ_is_found_by_samples_and_its_pages_are_gone() {
    let site = Site::start(|_, _| page("one for all"));
    let scene = site.behind(setup(&[]).route(|route| grant(route).ttl_seconds = 100_000));
    for path in ["/post.php?id=1", "/post.php?id=2"] {
        scene.eventually(|| scene.client().get(path).is_hit());
    }
    site.says(|asked, _| page(field(asked, "x-forwarded-for")));
    let mut client = scene.client();
    let mut looks = 0;
    while scene.engine.metrics().total(Counter::GuardBlocked) == 0 {
        // Samples are at least a second apart, and the previous one must have ended.
        scene.advance(2);
        let answer = client.get("/post.php?id=1");
        assert!(answer.is_hit() || answer.detail() == "leak-guard", "{answer:?}");
        looks += 1;
        assert!(looks < 100_000, "no page was compared");
    }
    for path in ["/post.php?id=1", "/post.php?id=2"] {
        let answer = client.get(path);
        assert_eq!((answer.detail().as_str(), answer.is_hit()), ("leak-guard", false), "{path}: {answer:?}");
        assert!(answer.text().contains("127.0.0.1"), "{path}: {}", answer.text());
    }
    assert_eq!(found(&scene, "/post.php?id=9").0, "page");
}

#[test]
fn what_was_found_by_a_sample_is_not_what_changes_meanwhile() {
    let site = Site::start(|_, _| page("one for all"));
    let scene = site.behind(setup(&[]).route(|route| grant(route).ttl_seconds = 1_000_000_000));
    scene.eventually(|| scene.client().get("/page").is_hit());
    // The text changes with each second request.
    site.says(|_, count| page(&format!("{}", count / 2)));
    let mut client = scene.client();
    let mut hits = 0;
    // The clock goes on while a sample runs, and after it there is a pause of a hundred times as long: for a sample that takes long on a busy
    // machine, that is long.
    while scene.engine.metrics().total(Counter::GuardChecks) <= 3 {
        scene.advance(if hits % 400 == 0 { 5_000 } else { 2 });
        assert!(client.get("/page").is_hit());
        hits += 1;
        assert!(hits < 400_000, "no page was compared");
    }
    scene.counted(Counter::GuardBlocked, 0);
}

#[test]
fn a_blocked_pattern_is_looked_at_again_after_ten_minutes() {
    let site = Site::start(|asked, _| page(field(asked, "user-agent")));
    let scene = site.behind(setup(&[]));
    is_blocked(&scene);
    site.says(|_, _| page("mended"));
    scene.advance(9 * 60);
    assert_eq!(scene.client().get("/page").detail(), "leak-guard");
    scene.advance(61);
    scene.eventually(|| scene.client().get("/page").is_hit());
}

#[test]
fn a_blocked_pattern_is_looked_at_again_after_a_purge_of_its_host() {
    let url = |url: &str| PurgeTarget::Url(url.to_owned());
    for target in [url("http://example.org/page"), PurgeTarget::Site("example.org".to_owned()), PurgeTarget::All] {
        let site = Site::start(|asked, _| page(field(asked, "user-agent")));
        let scene = site.behind(setup(&[]).site(&[HostPattern::Exact("example.org".to_owned())], |_| {}));
        let purge = |target: &PurgeTarget| scene.engine.handle().purge(target, Purge::Hard).unwrap();
        is_blocked(&scene);
        site.says(|_, _| page("mended"));
        assert!(
            scene.engine.handle().purge(&url("http://other.example/page"), Purge::Hard).is_err(),
            "no site of ours"
        );
        assert_eq!(scene.client().get("/page").detail(), "leak-guard", "another host");
        purge(&target);
        scene.eventually(|| scene.client().get("/page").is_hit());
    }
}

#[test]
fn a_blocked_pattern_comes_back_after_a_reload_with_the_line_mended() {
    let site = Site::start(|asked, _| page(if field(asked, "referer").is_empty() { "3 looks" } else { "4 looks" }));
    let mut scene = site.behind(setup(&[]));
    is_blocked(&scene);
    let options = scene.engine.handle().options();
    scene.engine.reload(Options::clone(&options)).unwrap();
    assert_eq!(scene.client().get("/page").detail(), "leak-guard", "nothing has changed");
    let mut mended = Options::clone(&options);
    for own in &mut mended.sites {
        Arc::make_mut(&mut own.route).guard = rules(&["{digits} looks"]);
    }
    scene.engine.reload(mended).unwrap();
    scene.eventually(|| scene.client().get("/page").is_hit());
    assert_eq!(known(&scene, "/page").state.word(), "verified");
}

#[test]
fn a_hundred_clients_at_once_on_a_page_that_was_never_compared() {
    let site = Site::start(|_, _| page("for all"));
    let scene = site.behind(setup(&[]).options(|options| options.workers = 2));
    let gate = Gate::new();
    site.application.holds_next(&gate);
    let answers: Vec<Response> = std::thread::scope(|threads| {
        let clients: Vec<_> = (0..100)
            .map(|number| {
                let client = scene.client();
                threads.spawn(move || {
                    let mut client = client;
                    client.get(if number % 2 == 0 { "/page?a=1" } else { "/page?a=2" })
                })
            })
            .collect();
        site.application.arrived(2);
        gate.open();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.text() == page("for all")));
    scene.counted(Counter::GuardBlocked, 0);
    // The guard compared one of the two URLs, and then the other. Clients waited for their own fill, or passed.
    scene.eventually(|| known(&scene, "/page?a=1").state.word() == "verified");
    assert!(scene.engine.metrics().total(Counter::GuardChecks) <= 2);
}

#[test]
fn no_client_waits_for_a_look() {
    let gate = Gate::new();
    let held = gate.clone();
    // Each look is held: all requests but those of clients, who come from this machine.
    let site = Site::start(move |asked, _| {
        let is_look = field(asked, "x-forwarded-for") != "127.0.0.1";
        assert!(!is_look || held.wait());
        page(asked.target())
    });
    let scene = site.behind(setup(&[]));
    let first = scene.client().get("/post?id=1");
    assert_eq!((first.detail().as_str(), first.text()), ("leak-guard-pending", page("/post?id=1")), "{first:?}");
    assert!(known(&scene, "/post?id=1").state.word() == "pending");
    // Not even the fill has its page, and others wait no longer than the first client did.
    let second = scene.client().get("/post?id=1");
    assert_eq!((second.detail().as_str(), second.text()), ("leak-guard-pending", page("/post?id=1")), "{second:?}");
    gate.open();
    scene.eventually(|| scene.client().get("/post?id=1").is_hit());
    scene.eventually(|| scene.client().get("/post?id=2").is_hit());
    scene.client().get("/post?id=3");
    assert!(scene.client().get("/post?id=3").is_hit());
}

#[test]
fn a_guard_that_only_warns_shares_variants_and_no_tokens() {
    let warns = |makes: fn(&Asked, usize) -> String| {
        let site = Site::start(move |asked, count| page(&makes(asked, count)));
        let scene = site.behind(setup(&[]).route(|route| Arc::make_mut(&mut route.guard).only_warns = true));
        scene.client().get("/page");
        (scene, site)
    };
    let (scene, _site) = warns(|asked, _| {
        if field(asked, "referer").is_empty() { "a page".to_owned() } else { "you have searched for it".to_owned() }
    });
    scene.eventually(|| scene.client().get("/page").is_hit());
    scene.counted(Counter::GuardBlocked, 1);
    assert_eq!(known(&scene, "/page").state.word(), "shared");
    assert_eq!(found(&scene, "/page"), ("page", "you have searched for it".to_owned()));
    let (scene, _site) = warns(|_, count| {
        format!(
            "<input type=\"hidden\" name=\"csrf\" value=\"{:x}\">",
            (count as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
    });
    scene.eventually(|| scene.client().get("/page").detail() == "leak-guard-token");
    assert!(!scene.client().get("/page").is_hit());
}

#[test]
fn a_cookie_for_forms_keeps_no_page_without_its_token_from_being_a_hit() {
    // As Django does: a page with a form sets the cookie, or has the token of the one that the request brings.
    let application = Application::start(|asked| {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let own = asked.field("cookie").and_then(|cookies| cookies.strip_prefix("csrftoken=")).map(str::to_owned);
        let made =
            || format!("{:016x}", (COUNT.fetch_add(1, Ordering::SeqCst) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if asked.target() != "/contact" {
            return Does::Answer(reply("200 OK", &["Content-Type: text/html"], page("an article")));
        }
        let token = own.clone().unwrap_or_else(made);
        let field = page(&format!("<input type=\"hidden\" name=\"csrfmiddlewaretoken\" value=\"{token}\">"));
        let sets = format!("Set-Cookie: csrftoken={token}; Path=/; Max-Age=31449600");
        let lines = ["Content-Type: text/html", &*sets];
        Does::Answer(reply("200 OK", &lines[..if own.is_some() { 1 } else { 2 }], field))
    });
    let scene = setup(&[]).run_before(&application.address());
    let cookie = ["Cookie: csrftoken=0f1e2d3c4b5a69788796a5b4c3d2e1f0"];
    let get = |target: &str| scene.client().get_with(target, &cookie);
    scene.eventually(|| get("/article").is_hit());
    for _ in 0..4 {
        let form = get("/contact");
        assert!(!form.is_hit() && form.text().contains("0f1e2d3c4b5a6978"), "its own token: {form:?}");
        let other = scene.client().get("/contact");
        assert!(!other.is_hit() && other.field("set-cookie").starts_with("csrftoken="), "{other:?}");
        scene.advance(11);
    }
}

#[test]
fn an_application_that_fails_between_two_looks_says_nothing_of_its_page() {
    // The made-up visitor's first look meets a database that is away.
    let (gone, count) = (Arc::new(AtomicUsize::new(0)), 1);
    let own = gone.clone();
    let site = Site::start(move |asked, _| {
        let is_visitor = !field(asked, "referer").is_empty();
        if is_visitor && own.fetch_add(1, Ordering::SeqCst) < count {
            return "Got an error: Can't connect to MySQL server on 'db' (111)".to_owned();
        }
        page("<form method=\"post\"><input type=\"hidden\" name=\"id\" value=\"0a1b9f8e77c2d4e6f80a1b2c\"></form>")
    });
    let scene = site.behind(setup(&[]));
    scene.client().get("/page");
    scene.eventually(|| {
        scene.advance(11);
        let answer = scene.client().get("/page");
        assert_ne!(answer.detail(), "leak-guard");
        gone.load(Ordering::SeqCst) > count
    });
    // The value is watched for 70 s from the end of the looks, which are still under way.
    scene.eventually(|| {
        scene.advance(11);
        scene.client().get("/page").is_hit()
    });
    scene.counted(Counter::GuardBlocked, 0);
}

#[test]
fn a_second_page_is_compared_before_it_is_shared_and_nobody_waits_for_that() {
    let gate = Gate::new();
    let held = gate.clone();
    // The pages differ by visitor, but for the first one, and all are made of the same elements. Looks at others are held.
    let site = Site::start(move |asked, _| {
        let is_look = field(asked, "x-forwarded-for") != "127.0.0.1";
        if asked.target() == "/item?id=999" {
            return page("no such item");
        }
        assert!(!is_look || held.wait());
        page(if field(asked, "referer").is_empty() { "an item" } else { "you have searched for it" })
    });
    let scene = site.behind(setup(&[]));
    scene.eventually(|| scene.client().get("/item?id=999").is_hit());
    for _ in 0..2 {
        let own = scene.client().get("/item?id=5");
        assert_eq!((own.detail().as_str(), own.text()), ("leak-guard-pending", page("an item")), "{own:?}");
    }
    assert!(scene.client().get("/item?id=999").is_hit(), "what has been compared is shared");
    gate.open();
    scene.eventually(|| scene.client().get("/item?id=5").detail() == "leak-guard");
    scene.counted(Counter::GuardBlocked, 1);
    for target in ["/item?id=5", "/item?id=6", "/item?id=999"] {
        assert_eq!(scene.client().get(target).detail(), "leak-guard", "{target}");
    }
}

#[test]
fn an_application_that_answers_one_request_at_a_time_answers_visitors_first() {
    let site = Site::start(|asked, _| page(asked.target()));
    let gates = [Gate::new(), Gate::new()];
    let scene = site.behind(setup(&[]).route(|route| route.origin.connections_max = 1));
    let is_look = |asked: &Asked| field(asked, "x-forwarded-for") != "127.0.0.1";
    let get = |target: &'static str| {
        let client = scene.client();
        std::thread::spawn(move || {
            let mut client = client;
            client.get(target)
        })
    };
    // The client's own request goes before the fill that was begun for it.
    site.application.holds_next(&gates[0]);
    let first = get("/post?id=1");
    site.application.arrived(1);
    site.application.holds_next(&gates[1]);
    gates[0].open();
    first.join().unwrap();
    site.application.arrived(2);
    // A look is being answered, and others will follow. Two visitors come, and wait for this one look alone.
    let visitors = [get("/one"), get("/two")];
    // With each visitor's request waits the fill that was begun for it.
    scene.eventually(|| scene.engine.handle().origins().numbers().iter().any(|origin| origin.queue == 4));
    gates[1].open();
    visitors.into_iter().for_each(|visitor| drop(visitor.join().unwrap()));
    let order: Vec<bool> = site.application.asked().iter().take(4).map(is_look).collect();
    assert_eq!(order, [false, true, false, false]);
    for target in ["/post?id=1", "/one", "/two"] {
        scene.eventually(|| scene.client().get(target).is_hit());
    }
}

#[test]
fn while_a_page_is_compared_others_of_its_pattern_wait_as_long_as_the_page_took() {
    let gate = Gate::new();
    let held = gate.clone();
    // The second look, by the made-up visitor, is held.
    let site = Site::start(move |asked, _| {
        assert!(field(asked, "referer").is_empty() || held.wait());
        page(asked.target())
    });
    let scene = site.behind(setup(&[]));
    scene.client().get("/post?id=1");
    site.application.arrived(3);
    for target in ["/post?id=1", "/post?id=2"] {
        let other = scene.client().get(target);
        assert_eq!((other.detail().as_str(), other.text()), ("leak-guard-pending", page(target)), "{other:?}");
    }
    gate.open();
    scene.eventually(|| scene.client().get("/post?id=1").is_hit());
}

#[test]
fn pages_that_are_compared_are_charged_until_the_comparison_has_ended() {
    const PAGE_BYTES: usize = 256 << 10;
    let gate = Gate::new();
    let held = gate.clone();
    let site = Site::start(move |asked, count| {
        // By then the client's page, that of the fill and a visitor's page have come.
        assert!(count != 3 || held.wait());
        let own = if field(asked, "referer").is_empty() { "a" } else { "b" };
        page(&format!("{own}{}", "x".repeat(PAGE_BYTES)))
    });
    let scene = site.behind(setup(&[]));
    let held_bytes = || scene.engine.handle().cache().held_bytes();
    scene.client().get("/page");
    site.application.arrived(4);
    let during = held_bytes();
    gate.open();
    assert!(during >= 2 * PAGE_BYTES as u64, "{during}");
    scene.eventually(|| held_bytes() < PAGE_BYTES as u64);
}

#[test]
fn a_page_that_memory_has_no_room_to_compare_is_not_shared() {
    let site = Site::start(|_, count| page(&format!("{count}{}", "x".repeat(240 << 10))));
    let small = |options: &mut Options| options.memory_bytes_max = 2 << 20;
    let scene = site.behind(setup(&[]).options(small));
    let answer = scene.client().get("/page");
    assert_eq!((answer.status, answer.detail().as_str()), (200, "leak-guard-pending"));
    scene.counted(Counter::GuardBlocked, 0);
}

#[test]
fn without_an_answer_nothing_is_shared_and_the_next_page_is_compared() {
    let site = Site::start(|asked, _| match field(asked, "x-forwarded-for") {
        address if is_stand_in(address) || address == "127.0.0.1" => page("for nobody"),
        _ => "fails".to_owned(),
    });
    let scene = site.behind(setup(&[]));
    for _ in 0..2 {
        let answer = scene.client().get("/page");
        assert_eq!((answer.status, answer.detail().as_str()), (200, "leak-guard-pending"), "{answer:?}");
        scene.advance(11);
    }
    scene.counted(Counter::GuardBlocked, 0);
    site.says(|_, _| page("for all"));
    is_shared(&scene);
}

#[test]
fn a_refusal_says_nothing_and_a_page_that_is_refused_to_others_is_not_shared() {
    let application = Application::start(|asked| {
        let is_other = !field(asked, "referer").is_empty();
        let status = if is_other { "403 Forbidden" } else { "200 OK" };
        Does::Answer(reply(status, &["Content-Type: text/html"], page("inside")))
    });
    // The clock moves on while the page is looked at, and the page stays fresh.
    let scene = setup(&[]).route(|route| grant(route).ttl_seconds = 100_000).run_before(&application.address());
    for _ in 0..5 {
        let answer = scene.client().get("/page");
        assert_eq!((answer.status, answer.detail().as_str()), (200, "leak-guard-pending"), "{answer:?}");
        scene.advance(61);
    }
    scene.counted(Counter::GuardBlocked, 0);
}

#[test]
fn a_robot_that_is_refused_is_followed_by_a_visitor() {
    let application = Application::start(|asked| {
        let status = if field(asked, "user-agent").contains("bot") { "403 Forbidden" } else { "200 OK" };
        Does::Answer(reply(status, &["Content-Type: text/html"], page("inside")))
    });
    is_shared(&setup(&[]).run_before(&application.address()));
}

#[test]
fn a_head_that_tells_of_its_visitor_is_found() {
    let application = Application::start(|asked| {
        let line = format!("X-Client: {}", field(asked, "user-agent"));
        Does::Answer(reply("200 OK", &["Content-Type: text/html", &line], page("for all")))
    });
    let scene = setup(&[]).run_before(&application.address());
    is_blocked(&scene);
    assert_eq!(found(&scene, "/page").0, "head");
}

fn with_account(route: &mut Route) {
    Arc::make_mut(&mut route.guard).cookie = Some(GuardCookie::parse("member=hunter2").unwrap());
}

#[test]
fn a_member_who_would_get_the_guests_page_is_found() {
    let says = |asked: &Asked, _| match field(asked, "cookie").contains("member=") {
        true => page("<p>Hello Ann (hunter2)"),
        false => page("<p>Log in"),
    };
    // The configuration takes the member's cookie for noise.
    let forgets = |route: &mut Route| route.cookies.noise.push("member".to_owned());
    let site = Site::start(says);
    let scene = site.behind(setup(&[]).route(with_account).route(forgets));
    is_blocked(&scene);
    match known(&scene, "/page").state {
        GuardState::Blocked { report, .. } => {
            assert!(report.is_of_account);
            assert!(report.differences[0].visitors.contains("Hello Ann (***)"), "{report:?}");
        }
        other => panic!("{other:?}"),
    }
    // If the member's requests pass, the page is the member's own, and the guard need not compare it.
    let site = Site::start(says);
    is_shared(&site.behind(setup(&[]).route(with_account)));
    assert!(site.application.asked().iter().all(|asked| field(asked, "cookie").is_empty()));
    // A session that has ended shows nothing.
    let site = Site::start(|_, _| page("<p>Log in"));
    let scene = site.behind(setup(&[]).route(with_account).route(forgets));
    is_shared(&scene);
    match known(&scene, "/page").state {
        GuardState::Verified { account_is_logged_out, .. } => assert!(account_is_logged_out),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_blocked_page_is_told_with_the_line_of_the_configuration() {
    let site = Site::start(|asked, _| page(field(asked, "user-agent")));
    let place = |route: &mut Route| {
        session(route).cookies.clear();
        route.places.settings.insert("guard", "a.toml:7".into());
    };
    let scene = site.behind(setup(&[]).route(place));
    let answer = is_blocked(&scene);
    assert_eq!(answer.cache_status("fwd").as_deref(), Some("bypass"));
    assert_eq!(told(&answer, "rule").as_deref(), Some("a.toml:7"));
}
