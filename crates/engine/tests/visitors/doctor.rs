//! What `kasoku doctor` proposes, what it tries before, and what it never proposes.

use crate::application::{Application, Asked, Does};
use crate::grant;
use kasoku_engine::doctor::{Finding, Verdict};
use kasoku_engine::explain::{Change, Question, Suggestion, Tips};
use kasoku_engine::options::GuardRules;
use kasoku_testkit::{Scenario, Setup, reply};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn html(lines: &[&str], text: impl AsRef<str>) -> Vec<u8> {
    let lines: Vec<&str> = [&["Content-Type: text/html"], lines].concat();
    reply("200 OK", &lines, format!("<html>{}</html>", text.as_ref()))
}

/// An application, each of whose answers is made of what it is asked and how many have asked before.
fn behind(setup: Setup, answers: impl Fn(&Asked, usize) -> Vec<u8> + Send + Sync + 'static) -> (Application, Scenario) {
    let count = AtomicUsize::new(0);
    let application =
        Application::start(move |asked| Does::Answer(answers(asked, count.fetch_add(1, Ordering::SeqCst))));
    let scene = setup.run_before(&application.address());
    (application, scene)
}

/// What is found of a pattern.
#[track_caller]
fn finding(scene: &Scenario, pattern: &str) -> Finding {
    let found = || scene.engine.handle().diagnose(None).findings.into_iter().find(|one| one.pattern == pattern);
    // It is written down a moment after the answer.
    scene.eventually(|| found().is_some());
    found().unwrap()
}

fn lines(changes: &[Suggestion]) -> Vec<String> {
    let line = |one: &Suggestion| match &one.change {
        Change::Set(key, value) => format!("{key} = {value}"),
        other => panic!("{other:?}"),
    };
    changes.iter().map(line).collect()
}

fn asked(scene: &Scenario, targets: &[&str]) {
    targets.iter().for_each(|target| drop(scene.client().get(target)));
}

#[test]
fn a_page_that_is_the_same_for_everybody_is_proposed_with_its_gain() {
    let (_, scene) = behind(Setup::safe(), |asked, _| html(&[], asked.target()));
    scene.advance(600);
    asked(&scene, &["/search?q=a", "/search?q=a", "/search?q=b", "/search?q=a"]);
    let found = finding(&scene, "example.org/search?q");
    assert_eq!((found.requests, found.urls, found.reason.id()), (4, 2, "no-expiry-no-validator"));
    assert_eq!(found.example, "http://example.org/search?q=***");
    let Verdict::Proposal(proposal) = found.verdict else { panic!("{found:?}") };
    assert_eq!(proposal.toml(), "[[site.rule]]\npath = \"/search\"\nttl = \"1m\"\n");
    assert!(proposal.changes[0].text.contains("the same for everybody"), "{proposal:?}");
    // 24 requests in an hour for two URLs: 20 or so of them come when the minute is over.
    assert!((2.0..6.0).contains(&proposal.saved_requests), "{proposal:?}");
}

#[test]
fn a_line_belongs_into_the_rule_that_is_there() {
    let place = |route: &mut kasoku_engine::options::Route| route.places.rule = Some("kasoku.toml:9".into());
    let (_, scene) = behind(Setup::safe().rule("/find*", place), |asked, _| html(&[], asked.target()));
    asked(&scene, &["/find?q=a"]);
    let Verdict::Proposal(proposal) = finding(&scene, "example.org/find?q").verdict else { panic!("no proposal") };
    assert_eq!(proposal.toml(), "# in the rule of kasoku.toml:9: path = \"/find*\"\nttl = \"1m\"\n");
}

#[test]
fn what_overrules_the_application_is_tried_with_its_dangers() {
    let says = ["Cache-Control: no-store", "Set-Cookie: PHPSESSID=0123456789abcdef"];
    let (_, scene) = behind(Setup::safe(), move |_, _| html(&says, "page"));
    asked(&scene, &["/page"]);
    let Verdict::Proposal(proposal) = finding(&scene, "example.org/page").verdict else { panic!("no proposal") };
    let expected = ["ttl-override = \"1m\"", "ignore = [\"no-store\"]", "session.cookies = [\"PHPSESSID\"]"];
    assert_eq!(lines(&proposal.changes), expected);
    assert!(!proposal.changes[1].dangers.is_empty());
}

#[test]
fn a_page_that_differs_by_visitor_is_told_and_not_proposed() {
    let (_, scene) = behind(Setup::safe(), |asked, _| {
        html(&[], format!("<p>You are at {}</p>", asked.field("x-forwarded-for").unwrap_or("home")))
    });
    asked(&scene, &["/page"]);
    let found = finding(&scene, "example.org/page");
    let Verdict::Differs(changes, differences) = &found.verdict else { panic!("{found:?}") };
    assert_eq!(lines(changes), ["ttl = \"1m\""]);
    assert!(differences[0].visitors.contains("You are at "), "{differences:?}");
}

#[test]
fn an_explanation_tries_what_it_proposes() {
    let tips = |page: fn(&Asked) -> String| {
        let (_application, scene) = behind(Setup::safe(), move |asked, _| html(&[], page(asked)));
        let question = Question { is_live: true, is_tried: true, ..Question::get("http://example.org/page") };
        scene.engine.handle().explain(&question).unwrap().tips
    };
    let differs = tips(|asked| format!("<p>You are at {}</p>", asked.field("x-forwarded-for").unwrap_or("home")));
    assert!(matches!(differs, Tips::Nothing(why) if why.contains("differs by visitor")), "{differs:?}");
    let same = tips(|_| "<p>News</p>".to_owned());
    let Tips::Either(_, instead) = &same else { panic!("{same:?}") };
    assert_eq!(lines(instead), ["ttl = \"1m\""]);
}

#[test]
fn a_page_with_the_value_of_the_session_that_it_opens_is_not_proposed() {
    let says = ["Set-Cookie: PHPSESSID=0123456789abcdef"];
    let (_, scene) = behind(Setup::safe(), move |_, _| html(&says, "<a href='/x?PHPSESSID=0123456789abcdef'>x</a>"));
    asked(&scene, &["/page"]);
    let found = finding(&scene, "example.org/page");
    let Verdict::Refused(_, reason) = &found.verdict else { panic!("{found:?}") };
    assert_eq!(reason.id(), "cookie-value-in-answer");
}

#[test]
fn a_page_with_a_token_is_never_proposed() {
    type In = fn(usize) -> String;
    let all: [In; 3] = [
        |n| format!("<form method=post><input type=hidden name=t value={n}></form>"),
        |n| format!("<meta name=csrf content={n}>"),
        |n| format!("<script>var t = {n};</script>"),
    ];
    for text in all {
        for control in ["X: 1", "Cache-Control: no-store"] {
            let (_, scene) = behind(Setup::safe(), move |_, count| html(&[control], text(count + 1000)));
            asked(&scene, &["/page"]);
            let found = finding(&scene, "example.org/page");
            assert!(matches!(found.verdict, Verdict::Nothing(why) if why.contains("token")), "{found:?}");
        }
    }
}

#[test]
fn no_vary_is_ever_proposed_away() {
    for vary in ["Vary: *", "Vary: User-Agent", "Vary: Cookie, Accept-Language"] {
        for control in ["Cache-Control: no-store", "Cache-Control: max-age=60"] {
            let (_, scene) = behind(Setup::safe(), move |_, _| html(&[vary, control], "page"));
            scene.client().get_with("/page", &["User-Agent: one"]);
            scene.client().get_with("/page", &["User-Agent: two"]);
            let found = finding(&scene, "example.org/page");
            if let Verdict::Proposal(proposal) = &found.verdict {
                let text = lines(&proposal.changes).join("\n");
                assert!(!text.contains("\"vary\""), "{text}");
            }
        }
    }
}

#[test]
fn a_page_that_sets_a_cookie_which_nobody_knows_or_at_which_people_log_in_is_never_proposed() {
    let says = ["Set-Cookie: test=1"];
    let (_, scene) =
        behind(Setup::safe(), move |asked, _| html(if asked.target() == "/login" { &says } else { &[] }, "x"));
    asked(&scene, &["/login", "/account/register"]);
    for pattern in ["example.org/login", "example.org/account/*"] {
        let found = finding(&scene, pattern);
        assert!(matches!(found.verdict, Verdict::Nothing(_)), "{found:?}");
    }
    let (_, scene) = behind(Setup::safe(), move |_, _| html(&says, "page"));
    // It was set in the answer to somebody.
    scene.client().get_with("/page", &["Cookie: a=b"]);
    let found = finding(&scene, "example.org/page");
    assert!(matches!(found.verdict, Verdict::Nothing(_)), "{found:?}");
}

/// What is proposed for a cookie for which pages pass.
fn for_a_cookie(sets: impl Fn(&Asked) -> bool + Send + Sync + 'static, before: &[(&str, &str)]) -> Verdict {
    const NAME: &str = "2e61f26e7a4e8194d3d5d054536403e0";
    let setup = Setup::safe().route(|route| grant(route).ttl_seconds = 60);
    let (_, scene) = behind(setup, move |asked, _| {
        let line = format!("Set-Cookie: {NAME}=k");
        let is_post = asked.lines[0].starts_with("POST");
        match (sets(asked), is_post) {
            (true, true) => reply("302 Found", &["Location: /", &line], ""),
            (true, false) => html(&[&line], "page"),
            (false, _) => html(&[], "page"),
        }
    });
    for (method, target) in before {
        scene.client().send_body(method, target, &[], "");
    }
    scene.client().get_with("/page", &[&format!("Cookie: {NAME}=k")]);
    finding(&scene, "example.org/page").verdict
}

#[test]
fn a_cookie_that_a_log_in_sets_is_never_proposed_as_noise() {
    let first = [("GET", "/")];
    match for_a_cookie(|asked| asked.field("cookie").is_none(), &first) {
        Verdict::Proposal(proposal) => {
            assert_eq!(
                lines(&proposal.changes),
                ["noise-cookies = [\"default\", \"2e61f26e7a4e8194d3d5d054536403e0\"]"]
            );
        }
        other => panic!("{other:?}"),
    }
    let is_nothing = |verdict: &Verdict| matches!(verdict, Verdict::Nothing(_));
    let never = for_a_cookie(|_| false, &first);
    assert!(is_nothing(&never), "nobody has seen it set: {never:?}");
    let by_post = for_a_cookie(|asked| asked.field("cookie").is_none(), &[("GET", "/"), ("POST", "/check.php")]);
    assert!(is_nothing(&by_post), "{by_post:?}");
    let at_login = for_a_cookie(|asked| asked.field("cookie").is_none(), &[("GET", "/"), ("GET", "/login.php")]);
    assert!(is_nothing(&at_login), "{at_login:?}");
}

#[test]
fn blocked_patterns_are_told_apart_with_their_lines() {
    let guard = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
    let setup = Setup::safe().route(move |route| {
        grant(route).ttl_seconds = 60;
        route.guard = guard;
    });
    let (_, scene) = behind(setup, |asked, _| html(&[], asked.field("x-forwarded-for").unwrap_or_default()));
    asked(&scene, &["/page", "/page", "/page"]);
    scene.eventually(|| scene.engine.handle().diagnose(None).blocked.first().is_some_and(|one| one.requests == 3));
    let diagnosis = scene.engine.handle().diagnose(None);
    assert_eq!(diagnosis.blocked[0].guarded.pattern, "example.org/page");
    assert!(diagnosis.findings.is_empty(), "{:?}", diagnosis.findings);
    assert_eq!(scene.engine.handle().diagnose(Some("other.example")).blocked.len(), 0);
    assert_eq!(scene.engine.handle().diagnose(Some("Example.org")).blocked.len(), 1);
}

#[test]
fn a_diagnosis_stores_nothing_and_what_is_kept_needs_no_line() {
    let (application, scene) = behind(Setup::safe(), |_, _| html(&["Cache-Control: max-age=60"], "page"));
    asked(&scene, &["/page"]);
    let found = finding(&scene, "example.org/page");
    assert!(matches!(found.verdict, Verdict::Nothing(why) if why.contains("are kept")), "{found:?}");
    let count = application.count();
    assert!(scene.client().get("/page").is_hit());
    assert_eq!(application.count(), count);
}
