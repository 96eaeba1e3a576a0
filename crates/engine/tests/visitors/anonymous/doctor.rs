//! What `kasoku doctor` proposes, what it tries before it proposes, and what it never proposes.

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::grant;
use kasoku_engine::doctor::{Finding, FindingVerdict, Proposal};
use kasoku_engine::explain::{Question, SuggestedChange, Suggestion, Tips};
use kasoku_options::{GuardRules, HostPattern, Route};
use kasoku_semantics::grant::StatusTtl;
use kasoku_testkit::{Client, Scenario, Setup, reply};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn html(lines: &[&str], text: impl AsRef<str>) -> Vec<u8> {
    let lines: Vec<&str> = [&["Content-Type: text/html"], lines].concat();
    reply("200 OK", &lines, format!("<html>{}</html>", text.as_ref()))
}

/// An application that makes each answer from the request and the number of requests before it.
fn behind(setup: Setup, answers: impl Fn(&Asked, usize) -> Vec<u8> + Send + Sync + 'static) -> (Application, Scenario) {
    let count = AtomicUsize::new(0);
    let application =
        Application::start(move |asked| Does::Answer(answers(asked, count.fetch_add(1, Ordering::SeqCst))));
    let scene = setup.run_before(&application.address());
    (application, scene)
}

/// The finding about a URL pattern.
#[track_caller]
fn finding(scene: &Scenario, pattern: &str) -> Finding {
    let found = || scene.engine.handle().diagnose(None).findings.into_iter().find(|one| one.pattern == pattern);
    // The engine records a request a moment after the answer.
    scene.settled();
    found().unwrap_or_else(|| panic!("nothing is found of {pattern}"))
}

fn lines(changes: &[Suggestion]) -> Vec<String> {
    let line = |one: &Suggestion| match &one.change {
        SuggestedChange::Set(key, value) => format!("{key} = {value}"),
        other => panic!("{other:?}"),
    };
    changes.iter().map(line).collect()
}

/// A visitor with an address of their own.
fn visitor(scene: &Scenario, number: u8) -> Client {
    Client::connect_from(Ipv4Addr::new(127, 0, 0, number).into(), scene.engine.addresses()[0])
}

/// So many visitors ask for each target that Kasoku may ask for it once more.
fn asked_with(scene: &Scenario, targets: &[&str], fields: &[&str]) {
    for target in targets {
        (1..=3).for_each(|number| drop(visitor(scene, number).get_with(target, fields)));
    }
}

fn asked(scene: &Scenario, targets: &[&str]) {
    asked_with(scene, targets, &[]);
}

#[test]
fn a_page_that_is_the_same_for_everybody_is_proposed_with_its_gain() {
    let (_, scene) = behind(Setup::safe(), |asked, _| html(&[], asked.target()));
    scene.advance(600);
    asked(&scene, &["/search?q=a"]);
    scene.client().get("/search?q=b");
    let found = finding(&scene, "example.org/search?q");
    assert_eq!((found.requests, found.urls, found.reason.id()), (4, 2, "no-expiry-no-validator"));
    assert_eq!(found.example, "http://example.org/search?q=***");
    let FindingVerdict::Proposal(proposal) = found.verdict else { panic!("{found:?}") };
    assert_eq!(proposal.toml(), "[[site.rule]]\npath = \"/search\"\nttl = \"1m\"\n");
    assert!(proposal.changes[0].text.contains("the same for all visitors"), "{proposal:?}");
    // 24 requests an hour for two URLs: some 20 of them come after the minute is over, and are not saved.
    assert!((2.0..6.0).contains(&proposal.saved_requests), "{proposal:?}");
}

#[test]
fn a_line_belongs_into_the_rule_that_is_there() {
    let place = |route: &mut kasoku_options::Route| route.places.rule = Some("kasoku.toml:9".into());
    let (_, scene) = behind(Setup::safe().rule("/find", place), |asked, _| html(&[], asked.target()));
    asked(&scene, &["/find?q=a"]);
    let FindingVerdict::Proposal(proposal) = finding(&scene, "example.org/find?q").verdict else {
        panic!("no proposal")
    };
    assert_eq!(proposal.toml(), "# in the rule of kasoku.toml:9: path = \"/find\"\nttl = \"1m\"\n");
}

/// The proposal for a pattern.
#[track_caller]
fn proposed(scene: &Scenario, pattern: &str) -> Proposal {
    match finding(scene, pattern).verdict {
        FindingVerdict::Proposal(proposal) => proposal,
        other => panic!("{other:?}"),
    }
}

/// The reason why nothing is proposed for a pattern.
#[track_caller]
fn why_nothing(scene: &Scenario, pattern: &str) -> &'static str {
    match finding(scene, pattern).verdict {
        FindingVerdict::Nothing(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_proposed_for_all_scripts_after_the_page_of_one() {
    // The policy of gnuboard5 ends with such a rule.
    let policy = |route: &mut Route| {
        route.places.site = Some("kasoku.toml:7".into());
        route.places.rule = Some("gnuboard5.toml:340".into());
    };
    let site = |route: &mut Route| route.places.site = Some("kasoku.toml:7".into());
    let setup = Setup::safe().route(site).rule("*/adm/*", |route| route.pass = true).rule("*.php", policy);
    let (_, scene) = behind(setup, |asked, _| html(&[], asked.target()));
    asked(&scene, &["/bbs/bar.php"]);
    let proposal = proposed(&scene, "example.org/bbs/bar.php");
    assert_eq!(proposal.toml(), "[[site.rule]]\npath = \"/bbs/bar.php\"\nttl = \"1m\"\n");
    assert!(proposal.order.contains("before the rule of gnuboard5.toml:340 (path = \"*.php\")"), "{}", proposal.order);
}

#[test]
fn a_new_rule_takes_the_lines_of_no_other() {
    let keeps = |route: &mut Route| grant(route).ttl_status.push(StatusTtl { first: 404, last: 404, seconds: 5 });
    let passes = |route: &mut Route| route.pass = true;
    let setup = Setup::safe().rule("/20*/adm/*", passes).rule("/list*", keeps).rule("/other/*", |_| {});
    let (_, scene) = behind(setup, |asked, _| html(&[], asked.target()));
    asked(&scene, &["/list?page=1", "/2026/11/a-day-out", "/blog/a-day-out"]);
    assert!(why_nothing(&scene, "example.org/list?page").contains("lines of its own"));
    // `/2026/adm/x` matches `/*/*/*` as well.
    assert!(why_nothing(&scene, "example.org/{n}/{n}/*").contains("another rule"));
    assert_eq!(proposed(&scene, "example.org/blog/*").path, "/blog/*");
}

#[test]
fn a_path_with_a_star_is_not_proposed_where_it_fits_another_pattern_that_was_seen() {
    for (other, is_proposed) in
        [("/blog/x?preview=1", false), ("/blog/2026/x", false), ("/shop/x", true), ("/2026/11/x", true)]
    {
        let (_, scene) = behind(Setup::safe(), |asked, _| html(&[], asked.target()));
        asked(&scene, &["/blog/a-day-out", other]);
        let verdict = finding(&scene, "example.org/blog/*").verdict;
        assert_eq!(matches!(verdict, FindingVerdict::Proposal(_)), is_proposed, "{other}: {verdict:?}");
    }
    // Nor is a line proposed for the existing rule `/blog/*`, since it matches the other pattern as well.
    let (_, scene) = behind(Setup::safe().rule("/blog/*", |_| {}), |asked, _| html(&[], asked.target()));
    asked(&scene, &["/blog/a-day-out", "/blog/17"]);
    assert!(why_nothing(&scene, "example.org/blog/*").contains("another pattern"));
}

#[test]
fn what_overrules_the_application_is_tried_with_its_dangers() {
    let says = ["Cache-Control: no-store", "Set-Cookie: PHPSESSID=0123456789abcdef"];
    let (_, scene) = behind(Setup::safe(), move |_, _| html(&says, "page"));
    asked(&scene, &["/page"]);
    let FindingVerdict::Proposal(proposal) = finding(&scene, "example.org/page").verdict else { panic!("no proposal") };
    let expected = ["ttl-override = \"1m\"", "ignore = [\"no-store\"]", "cookies.session = [\"PHPSESSID\"]"];
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
    let FindingVerdict::Differs(changes, differences) = &found.verdict else { panic!("{found:?}") };
    assert_eq!(lines(changes), ["ttl = \"1m\""]);
    assert!(differences[0].visitors.contains("You are at "), "{differences:?}");
}

#[test]
fn an_explanation_tries_what_it_proposes() {
    let tips = |is_enabled: bool, page: fn(&Asked) -> String| {
        let guard = Arc::new(GuardRules { is_enabled, ..GuardRules::default() });
        let setup = Setup::safe().route(move |route| route.guard = guard);
        let (_application, scene) = behind(setup, move |asked, _| html(&[], page(asked)));
        let question = Question { is_live: true, is_tried: true, ..Question::get("http://example.org/page") };
        scene.engine.handle().explain(&question).unwrap().tips
    };
    let address: fn(&Asked) -> String =
        |asked| format!("<p>You are at {}</p>", asked.field("x-forwarded-for").unwrap_or("home"));
    let differs = tips(true, address);
    assert!(matches!(differs, Tips::Nothing(why) if why.contains("differs by visitor")), "{differs:?}");
    assert!(matches!(tips(false, address), Tips::Either(..)), "with guard = false, nothing is compared");
    let same = tips(true, |_| "<p>News</p>".to_owned());
    let Tips::Either(_, instead) = &same else { panic!("{same:?}") };
    assert_eq!(lines(instead), ["ttl = \"1m\""]);
}

/// What a live explanation proposes for a pattern that the guard has blocked.
fn of_blocked(says: &'static [&'static str], page: fn(&Asked) -> String) -> Tips {
    let guard = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
    let setup = Setup::safe().route(move |route| {
        route.guard = guard;
        grant(route).ttl_seconds = 3600;
    });
    let (_application, scene) = behind(setup, move |asked, _| html(says, page(asked)));
    scene.eventually(|| {
        scene.advance(11);
        scene.client().get("/page").detail() == "leak-guard"
    });
    let question = Question { is_live: true, is_tried: true, ..Question::get("http://example.org/page") };
    scene.engine.handle().explain(&question).unwrap().tips
}

#[test]
fn the_line_is_named_by_which_visitors_can_share_a_page_that_differs() {
    let language: fn(&Asked) -> String = |asked| {
        let words = [("de", "Hafen"), ("ja", "港")];
        let liked = asked.field("accept-language").unwrap_or("en").get(..2).unwrap_or("en").to_owned();
        let word = words.iter().find(|(language, _)| *language == liked).map_or("Harbour", |(_, word)| word);
        format!("<body lang=\"{liked}\"><h1>{word}</h1>")
    };
    let Tips::Changes(changes) = of_blocked(&[], language) else { panic!("no line") };
    let expected =
        r#"key-languages = ["en", "de", "ja", "ko", "fr", "es", "zh-CN", "zh-TW", "pt-BR", "pt", "it", "ru"]"#;
    assert_eq!(lines(&changes), [expected]);
    let device: fn(&Asked) -> String = |asked| {
        let is_small = asked.field("user-agent").is_some_and(|agent| agent.contains("Mobile"));
        if is_small { "<h1>For a small screen</h1>" } else { "<h1>For a large screen</h1>" }.to_owned()
    };
    let Tips::Changes(changes) = of_blocked(&[], device) else { panic!("no line") };
    assert_eq!(lines(&changes), ["key-device = true"]);
    // AWStats, as Debian sets it up.
    let says = &["Cache-Control: public", "Expires: 0", "Last-Modified: Sat, 28 Nov 2026 00:00:00 GMT"];
    let Tips::Changes(changes) = of_blocked(says, language) else { panic!("no line") };
    assert_eq!(lines(&changes), [expected, "ignore = [\"expires\"]"], "both are needed");
    let referrer: fn(&Asked) -> String =
        |asked| format!("<p>You come from {}</p>", asked.field("referer").unwrap_or("home"));
    let tips = of_blocked(&[], referrer);
    assert!(matches!(tips, Tips::Nothing(why) if why.contains("not do so by language or device")), "{tips:?}");
}

/// The suggestions of an explanation that tries them, for a page of such an application.
fn tried(answers: fn(&Asked, usize) -> Vec<u8>) -> Tips {
    let guard = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
    let (_application, scene) = behind(Setup::safe().route(move |route| route.guard = guard), answers);
    let question = Question { is_live: true, is_tried: true, ..Question::get("http://example.org/page") };
    scene.engine.handle().explain(&question).unwrap().tips
}

#[test]
fn what_is_proposed_for_a_missing_page_is_tried_as_well() {
    let same = tried(|_, _| reply("404 Not Found", &["Content-Type: text/html"], "<p>Not here</p>"));
    let Tips::Either(_, instead) = &same else { panic!("{same:?}") };
    assert_eq!(lines(instead), ["cache.negative-ttl = \"1m\""]);
    let differs = tried(|asked, _| {
        let page = format!("<p>You are at {}</p>", asked.field("x-forwarded-for").unwrap_or("home"));
        reply("404 Not Found", &["Content-Type: text/html"], page)
    });
    assert!(matches!(differs, Tips::Nothing(why) if why.contains("differs by visitor")), "{differs:?}");
}

#[test]
fn a_line_that_could_not_be_tried_is_not_proposed() {
    let tips = tried(|_, before| match before {
        0 => html(&[], "<p>News</p>"),
        _ => reply("503 Service Unavailable", &[], ""),
    });
    let Tips::Changes(all) = &tips else { panic!("{tips:?}") };
    assert!(all.iter().all(|one| matches!(one.change, SuggestedChange::Send(..))), "{all:?}");
}

#[test]
fn a_page_with_the_value_of_the_session_that_it_opens_is_not_proposed() {
    let says = ["Set-Cookie: PHPSESSID=0123456789abcdef"];
    let (_, scene) = behind(Setup::safe(), move |_, _| html(&says, "<a href='/x?PHPSESSID=0123456789abcdef'>x</a>"));
    asked(&scene, &["/page"]);
    let found = finding(&scene, "example.org/page");
    let FindingVerdict::Refused(_, reason) = &found.verdict else { panic!("{found:?}") };
    assert_eq!(reason.id(), "cookie-value-in-response");
}

#[test]
fn a_page_with_a_token_is_never_proposed() {
    type In = fn(usize) -> String;
    let all: [In; 3] = [
        |n| format!("<form method=post><input type=hidden name=t value={n}></form>"),
        |n| format!("<meta name=csrf content={n}>"),
        |n| format!("<script>var csrf = {n};</script>"),
    ];
    for text in all {
        for control in ["X: 1", "Cache-Control: no-store"] {
            let (_, scene) = behind(Setup::safe(), move |_, count| html(&[control], text(count + 1000)));
            asked(&scene, &["/page"]);
            let found = finding(&scene, "example.org/page");
            assert!(matches!(found.verdict, FindingVerdict::Nothing(why) if why.contains("token")), "{found:?}");
        }
    }
}

#[test]
fn no_vary_is_ever_proposed_away() {
    for vary in ["Vary: *", "Vary: User-Agent", "Vary: Cookie, Accept-Language"] {
        for control in ["Cache-Control: no-store", "Cache-Control: max-age=60"] {
            let (_, scene) = behind(Setup::safe(), move |_, _| html(&[vary, control], "page"));
            for number in 1..=3 {
                visitor(&scene, number).get_with("/page", &[&format!("User-Agent: {number}"), "Cookie: a=b"]);
            }
            let found = finding(&scene, "example.org/page");
            if let FindingVerdict::Proposal(proposal) = &found.verdict {
                let text = lines(&proposal.changes).join("\n");
                assert!(!text.contains("\"vary\""), "{text}");
            }
        }
    }
}

#[test]
fn a_page_that_sets_an_unknown_cookie_or_at_which_people_log_in_is_never_proposed() {
    let says = ["Set-Cookie: test=1"];
    let (_, scene) =
        behind(Setup::safe(), move |asked, _| html(if asked.target() == "/login" { &says } else { &[] }, "x"));
    asked(&scene, &["/login", "/account/register"]);
    for pattern in ["example.org/login", "example.org/account/*"] {
        let found = finding(&scene, pattern);
        assert!(matches!(found.verdict, FindingVerdict::Nothing(_)), "{found:?}");
    }
    let (_, scene) = behind(Setup::safe(), move |_, _| html(&says, "page"));
    // The cookie was set in the answer to a request with a cookie.
    asked_with(&scene, &["/page"], &["Cookie: a=b"]);
    let found = finding(&scene, "example.org/page");
    assert!(matches!(found.verdict, FindingVerdict::Nothing(_)), "{found:?}");
}

/// The verdict about a cookie that makes pages pass. `before` are the requests that come first.
fn for_a_cookie(sets: impl Fn(&Asked) -> bool + Send + Sync + 'static, before: &[(&str, &str)]) -> FindingVerdict {
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
    asked_with(&scene, &["/page"], &[&format!("Cookie: {NAME}=k")]);
    finding(&scene, "example.org/page").verdict
}

#[test]
fn a_cookie_that_a_log_in_sets_is_never_proposed_as_noise() {
    let first = [("GET", "/")];
    match for_a_cookie(|asked| asked.field("cookie").is_none(), &first) {
        FindingVerdict::Proposal(proposal) => {
            assert_eq!(
                lines(&proposal.changes),
                ["cookies.noise = [\"default\", \"2e61f26e7a4e8194d3d5d054536403e0\"]"]
            );
        }
        other => panic!("{other:?}"),
    }
    let is_nothing = |verdict: &FindingVerdict| matches!(verdict, FindingVerdict::Nothing(_));
    let never = for_a_cookie(|_| false, &first);
    assert!(is_nothing(&never), "no answer has set it: {never:?}");
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
    let setup = setup.site(&[HostPattern::Exact("example.org".to_owned())], |_| {});
    let (_, scene) = behind(setup, |asked, _| html(&[], asked.field("user-agent").unwrap_or_default()));
    scene.eventually(|| {
        scene.advance(11);
        scene.client().get("/page").detail() == "leak-guard"
    });
    ["/page", "http://example.org:8080/page"].iter().for_each(|target| drop(scene.client().get(target)));
    scene.eventually(|| scene.engine.handle().diagnose(None).blocked.first().is_some_and(|one| one.requests >= 3));
    let diagnosis = scene.engine.handle().diagnose(None);
    assert_eq!(diagnosis.blocked[0].guarded.pattern, "example.org/page");
    assert!(diagnosis.findings.is_empty(), "{:?}", diagnosis.findings);
    assert_eq!(scene.engine.handle().diagnose(Some("other.example")).blocked.len(), 0);
    assert_eq!(scene.engine.handle().diagnose(Some("Example.org")).blocked.len(), 1);
}

#[test]
fn a_diagnosis_stores_nothing_and_what_is_kept_needs_no_line() {
    let (application, scene) = behind(Setup::safe(), |_, _| html(&["Cache-Control: max-age=60"], "page"));
    for number in 1..=3 {
        visitor(&scene, number).get("/page");
        scene.advance(61);
    }
    visitor(&scene, 1).get("/page");
    let found = finding(&scene, "example.org/page");
    assert!(matches!(found.verdict, FindingVerdict::Nothing(why) if why.contains("are stored already")), "{found:?}");
    let count = application.count();
    assert!(scene.client().get("/page").is_hit());
    assert_eq!(application.count(), count);
}

#[test]
fn no_url_is_asked_for_once_more_that_one_visitor_alone_has_asked_for() {
    let (application, scene) = behind(Setup::safe(), |_, _| html(&[], "page"));
    // Each visitor has a link of their own, as in mails.
    (1..=6).for_each(|number| drop(visitor(&scene, number).get(&format!("/welcome.php?id={number}"))));
    // One visitor reads a page again and again, and two visitors read another page.
    (0..9).for_each(|_| drop(visitor(&scene, 1).get("/mine.php?id=1")));
    (1..=2).for_each(|number| drop(visitor(&scene, number).get("/ours.php?id=1")));
    asked(&scene, &["/all.php?id=1"]);
    let count = application.count();
    for pattern in ["example.org/welcome.php?id", "example.org/mine.php?id", "example.org/ours.php?id"] {
        let found = finding(&scene, pattern);
        assert!(matches!(found.verdict, FindingVerdict::Nothing(why) if why.contains("three visitors")), "{found:?}");
    }
    assert!(matches!(finding(&scene, "example.org/all.php?id").verdict, FindingVerdict::Proposal(_)));
    let again = application.asked().split_off(count);
    assert!(!again.is_empty() && again.iter().all(|asked| asked.target() == "/all.php?id=1"), "{again:?}");
}

#[test]
fn no_link_that_may_be_made_for_one_time_is_asked_for_once_more() {
    let targets =
        ["/bbs/password_lost_certify.php?mb_no=1&mb_nonce=2", "/newsletter/unsubscribe/17", "/x.php?act_key=1"];
    let (application, scene) = behind(Setup::safe(), |_, _| html(&[], "page"));
    asked(&scene, &targets);
    let count = application.count();
    for pattern in [
        "example.org/bbs/password_lost_certify.php?mb_no&mb_nonce",
        "example.org/newsletter/*/{n}",
        "example.org/x.php?act_key",
    ] {
        let found = finding(&scene, pattern);
        assert!(matches!(found.verdict, FindingVerdict::Nothing(_)), "{found:?}");
    }
    assert_eq!(application.count(), count);
}
