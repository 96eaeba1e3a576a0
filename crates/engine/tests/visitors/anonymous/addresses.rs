//! The address that an anonymous request has: it is no client's, each fetch has another one, and no stored page tells it.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::grant;
use kasoku_options::{GuardRules, Route};
use kasoku_testkit::{Setup, has_stand_in, is_stand_in, reply};
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
    let seen = Mutex::new(HashSet::new());
    let application = Application::start(move |asked| {
        let is_first = seen.lock().unwrap().insert(address(asked).to_owned());
        let text =
            if is_first { asked.target().to_owned() } else { "You are currently performing a search".to_owned() };
        Does::Answer(reply("200 OK", &["Content-Type: text/html"], text))
    });
    let guarded = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
    for guard in [Arc::default(), guarded] {
        let setup = Setup::safe().route(rules).route(|route| route.guard = guard);
        let scene = setup.run_before(&application.address());
        for page in 0..20 {
            let target = format!("/search?q={page}{}", application.count());
            assert_eq!(scene.client().get(&target).text(), target);
            let again = scene.client().get(&target);
            assert!(again.is_hit() && again.text() == target, "{again:?}");
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
