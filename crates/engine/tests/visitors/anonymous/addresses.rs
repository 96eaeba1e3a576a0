//! The address that an anonymous request has: it is no client's, each fetch has another one, and no stored page tells it. How many
//! fetches a client may begin is bounded instead.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::grant;
use kasoku_metrics::Counter;
use kasoku_options::{AddressRange, GuardRules, Options, Route};
use kasoku_testkit::{Client, Response, Scenario, Setup, has_stand_in, is_stand_in, reply};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

fn address(asked: &Asked) -> &str {
    asked.field("x-forwarded-for").unwrap_or_default()
}

fn rules(route: &mut Route) {
    grant(route).ttl_seconds = 60;
    grant(route).ttl_status = vec![kasoku_semantics::grant::StatusTtl { first: 300, last: 499, seconds: 60 }];
}

/// An application whose answers have that status, these fields and that text.
fn printing(print: impl Fn(&str) -> (&'static str, Vec<String>, String) + Send + Sync + 'static) -> Application {
    Application::start(move |asked| {
        let (status, lines, text) = print(address(asked));
        Does::Answer(reply(status, &lines.iter().map(String::as_str).collect::<Vec<_>>(), text))
    })
}

fn html(line: String) -> (&'static str, Vec<String>, String) {
    ("200 OK", vec!["Content-Type: text/html".to_owned()], format!("<h1>Title</h1>{line}"))
}

/// Movable Type 3.35 lets an address search once in 20 seconds.
#[test]
fn an_application_that_limits_each_address_answers_all_pages() {
    all_pages_are_answered("200 OK");
}

/// It refuses a feed of results by a status.
#[test]
fn an_application_that_refuses_an_address_by_a_status_answers_all_pages() {
    all_pages_are_answered("503 Service Unavailable");
}

fn all_pages_are_answered(refusal: &'static str) {
    let seen = Mutex::new(HashSet::new());
    let application = Application::start(move |asked| {
        let is_first = seen.lock().unwrap().insert(address(asked).to_owned());
        let (status, text) =
            if is_first { ("200 OK", asked.target()) } else { (refusal, "You are currently performing a search") };
        Does::Answer(reply(status, &["Content-Type: text/html"], text))
    });
    let guarded = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
    for guard in [Arc::default(), guarded] {
        let setup = Setup::safe().route(rules).route(|route| route.guard = guard);
        let scene = setup.run_before(&application.address());
        for page in 0..20 {
            let target = format!("/search?q={page}{}", application.count());
            // The first client of a pattern passes, while the guard looks at the page.
            let first = scene.client().get(&target);
            assert!(first.text() == target || first.detail() == "leak-guard-pending", "{first:?}");
            scene.eventually(|| {
                let again = scene.client().get(&target);
                again.is_hit() && again.text() == target
            });
        }
    }
}

#[test]
fn a_page_that_tells_the_address_of_its_request_is_for_that_client_alone() {
    type Print = fn(&str) -> (&'static str, Vec<String>, String);
    let all: [(&str, Print); 7] = [
        ("page", |ip| html(format!("<p>Your address is {ip}"))),
        ("hidden field", |ip| html(format!("<form><input type=hidden name=ip value=\"{ip}\"></form>"))),
        ("title", |ip| html(format!("<a href=/x title='{ip}'>x</a>"))),
        ("text", |ip| ("200 OK", vec!["Content-Type: text/plain".to_owned()], format!("busy: {ip}\n"))),
        ("error page", |ip| ("404 Not Found", vec!["Content-Type: text/html".to_owned()], format!("Not here, {ip}"))),
        ("redirect", |ip| ("302 Found", vec![format!("Location: /from?ip={ip}")], String::new())),
        ("head of an image", |ip| {
            ("200 OK", vec!["Content-Type: image/png".to_owned(), format!("X-Client: {ip}")], "png".to_owned())
        }),
    ];
    for (name, print) in all {
        let application = printing(print);
        let scene = Setup::safe().route(rules).run_before(&application.address());
        for round in 0..3 {
            let own = scene.client().get("/page");
            assert_eq!(own.detail(), "address-in-response", "{name}");
            let told = format!("{:?} {}", own.head, own.text());
            assert!(told.contains("127.0.0.1") && !has_stand_in(&told), "{name}: {told}");
            // The first request was made anonymously, and then once more as the visitor's own. Then requests pass for a while.
            assert_eq!(application.count(), 2 + round, "{name}");
        }
        assert!(is_stand_in(address(&application.asked()[0])), "{name}");
        assert!(scene.engine.cache().is_empty(), "{name}");
    }
}

#[test]
fn what_only_looks_like_the_address_is_no_text_or_is_public_is_shared() {
    type Print = fn(&str) -> (&'static str, Vec<String>, String);
    let all: [(&str, Print); 5] = [
        ("what the application itself makes public", |ip| {
            let (status, mut lines, text) = html(format!("<p>Your address is {ip}"));
            lines.push("Cache-Control: public, max-age=60".to_owned());
            (status, lines, text)
        }),
        ("another address", |_| html("240.0.0.1 and 0.0.0.0".to_owned())),
        ("a longer number", |ip| html(format!("{ip}7"))),
        ("an image", |ip| ("200 OK", vec!["Content-Type: image/png".to_owned()], ip.to_owned())),
        ("a cookie that is dropped", |ip| {
            let (status, mut lines, text) = html("page".to_owned());
            lines.push(format!("Set-Cookie: seen_from={ip}"));
            (status, lines, text)
        }),
    ];
    for (name, print) in all {
        let application = printing(print);
        let setup = Setup::safe().route(rules).route(|route| route.cookies.noise.push("seen_from".to_owned()));
        let scene = setup.run_before(&application.address());
        let first = scene.client().get("/page").text();
        // The test's application draws no address, so one of a million runs may see 240.0.0.1.
        let second = scene.client().get("/page");
        assert!(second.is_hit() && second.text() == first, "{name}: {second:?}");
    }
}

#[test]
fn a_stored_page_whose_next_form_tells_the_address_is_dropped() {
    let tells = Arc::new(Mutex::new(false));
    let own = tells.clone();
    let application =
        printing(move |ip| html(if *own.lock().unwrap() { format!("You are {ip}") } else { "page".into() }));
    let setup = Setup::safe().route(rules).policy(|policy| policy.grace_seconds = 600);
    let scene = setup.run_before(&application.address());
    scene.client().get("/page");
    assert!(scene.client().get("/page").is_hit());
    *tells.lock().unwrap() = true;
    scene.advance(61);
    scene.client().get("/page");
    scene.eventually(|| scene.engine.cache().is_empty());
    assert!(scene.client().get("/page").text().contains("You are 127.0.0.1"));
}

/// Clients whom a trusted proxy names. Each may begin one fetch a second, and 20 at once.
fn limited(options: &mut Options) {
    options.limits.client_misses_max = 1;
    options.trusted_proxies = vec![AddressRange::Ip { address: [127, 0, 0, 0].into(), prefix_bits: 8 }];
}

const BURST: usize = 20;

fn ask(client: &mut Client, from: &str, target: &str) -> Response {
    match from {
        "" => client.get(target),
        from => client.get_with(target, &[&format!("X-Forwarded-For: {from}")]),
    }
}

fn behind(application: &Application, change: impl FnOnce(&mut Route)) -> Scenario {
    Setup::safe().route(rules).route(change).options(limited).run_before(&application.address())
}

/// Begins fetches until the client may begin no more.
fn use_up(scene: &Scenario, from: &str, count: usize) -> usize {
    let mut client = scene.client();
    let admitted = |number: &usize| ask(&mut client, from, &format!("/{from}/{number}")).status != 429;
    (0..count).filter(admitted).count()
}

#[test]
fn a_client_that_begins_too_many_fetches_is_told_to_wait() {
    let application = printing(|_| html("page".to_owned()));
    let scene = behind(&application, |_| ());
    assert_eq!(use_up(&scene, "192.0.2.7", 2 * BURST), BURST);
    assert_eq!(application.count(), BURST);
    scene.counted(Counter::MissesRefused, BURST as u64);
    let refused = ask(&mut scene.client(), "192.0.2.7", "/new");
    assert_eq!((refused.status, refused.field("retry-after").as_str()), (429, "1"));
    assert_eq!((refused.detail().as_str(), refused.is_hit()), ("client-misses", false));
    assert!(ask(&mut scene.client(), "192.0.2.7", "/192.0.2.7/0").is_hit(), "hits are never refused");
    assert_eq!(ask(&mut scene.client(), "192.0.2.8", "/new").status, 200, "another client");
    assert!(ask(&mut scene.client(), "192.0.2.7", "/new").is_hit(), "what another client's fetch has brought");
    scene.advance(1);
    assert_eq!(use_up(&scene, "192.0.2.7", BURST + 2), BURST + 1, "one more than what is stored");
}

#[test]
fn a_network_of_ipv6_is_one_client() {
    let application = printing(|_| html("page".to_owned()));
    let scene = behind(&application, |_| ());
    assert_eq!(use_up(&scene, "2001:db8:0:1::1", BURST + 1), BURST);
    assert_eq!(ask(&mut scene.client(), "2001:db8:0:1::2", "/new").status, 429);
    assert_eq!(ask(&mut scene.client(), "2001:db8:0:2::1", "/new").status, 200);
}

#[test]
fn nobody_is_limited_by_an_address_that_may_stand_for_many() {
    let application = printing(|_| html("page".to_owned()));
    let scene = behind(&application, |_| ());
    for from in ["", "unknown", "127.0.0.1", "::1"] {
        assert_eq!(use_up(&scene, from, 2 * BURST), 2 * BURST, "{from}");
    }
    let untrusting = Setup::safe().route(rules).options(limited).options(|options| options.trusted_proxies.clear());
    let scene = untrusting.run_before(&application.address());
    assert_eq!(use_up(&scene, "192.0.2.7", 2 * BURST), 2 * BURST, "the peer is of this machine, and may be a proxy");
}

#[test]
fn where_nothing_is_granted_or_the_limit_is_off_all_fetches_begin() {
    let application = printing(|_| html("page".to_owned()));
    let scene = behind(&application, |route| {
        grant(route).ttl_seconds = 0;
        grant(route).ttl_status.clear();
    });
    assert_eq!(use_up(&scene, "192.0.2.7", 2 * BURST), 2 * BURST);
    let off = Setup::safe().route(rules).options(limited).options(|options| options.limits.client_misses_max = 0);
    assert_eq!(use_up(&off.run_before(&application.address()), "192.0.2.7", 2 * BURST), 2 * BURST);
}

#[test]
fn requests_that_pass_are_not_limited() {
    let application = printing(|ip| html(format!("for {ip}")));
    let scene = behind(&application, |route| route.cookies.pass = vec!["member".to_owned()]);
    use_up(&scene, "192.0.2.7", 2 * BURST);
    let fields = ["X-Forwarded-For: 192.0.2.7", "Cookie: member=1"];
    let own = scene.client().get_with("/new", &fields);
    assert_eq!((own.status, own.detail().as_str()), (200, "pass-cookie"));
    // The application sees who asks, and its own limits bind.
    assert!(own.text().contains("192.0.2.7"), "{}", own.text());
}

#[test]
fn a_stale_page_answers_where_a_client_may_begin_no_fetch() {
    let application = printing(|_| html("page".to_owned()));
    let scene = behind(&application, |_| ());
    let mut client = scene.client();
    ask(&mut client, "192.0.2.8", "/stale");
    scene.advance(61);
    use_up(&scene, "192.0.2.7", BURST);
    let asked = application.count();
    let stale = ask(&mut client, "192.0.2.7", "/stale");
    assert_eq!((stale.status, stale.text().as_str()), (200, "<h1>Title</h1>page"));
    assert_eq!((stale.detail().as_str(), stale.is_hit()), ("client-misses", true));
    assert_eq!(application.count(), asked);
    scene.counted(Counter::MissesRefused, 1);
    let fresh = ask(&mut client, "192.0.2.8", "/stale");
    assert_eq!((fresh.status, application.count()), (200, asked + 1), "the page of other clients is fetched as ever");
}
