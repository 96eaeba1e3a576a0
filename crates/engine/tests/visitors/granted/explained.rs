//! What an operator is told of granted lifetimes: what keeps visitors apart, which setting granted the lifetime, and its place in
//! the configuration.

use super::{grant, names, removing, ttl};
use kasoku_engine::explain::{Explanation, Question, Side, Tips};
use kasoku_options::{SessionRules, SettingLocations};
use kasoku_semantics::grant::Ignored;
use kasoku_testkit::{Scenario, Setup, get, ok};
use std::sync::Arc;

fn explain(scene: &Scenario, fields: &[&str]) -> Explanation {
    let question = Question { fields: names(fields), ..Question::get("http://example.org/") };
    scene.engine.handle().explain(&question).unwrap()
}

/// What the explanation says about a line of the request or the answer.
fn said(explained: &Explanation, line: &str) -> (Side, String) {
    let point = explained.points.iter().find(|point| point.line == line);
    let point = point.unwrap_or_else(|| panic!("nothing is said of {line}: {:#?}", explained.points));
    (point.side, format!("{} [{}]", point.text, point.source))
}

/// The setup, as if these settings stood in a file.
fn written(setup: Setup, settings: &[&'static str]) -> Setup {
    setup.route(|route| {
        let place = |(line, key): (usize, &&'static str)| (*key, format!("kasoku.toml:{}", line + 1).into());
        route.places = SettingLocations {
            settings: settings.iter().enumerate().map(place).collect(),
            ..SettingLocations::default()
        };
    })
}

#[test]
fn a_cookie_that_makes_a_request_pass_is_named_without_its_value() {
    let scene = written(ttl(Setup::safe()), &["cookies.others"]).run([]);
    let explained = explain(&scene, &["Cookie: _ga=1; session=hunter2; theme=dark"]);
    assert_eq!(
        explained.cache_status(),
        "kasoku; fwd=bypass; detail=pass-cookie; cookie=\"session\"; rule=\"kasoku.toml:1\""
    );
    let (side, text) = said(&explained, "Cookie: session=***");
    assert_eq!(side, Side::Against);
    assert!(text.ends_with("are for all visitors. [cookies.others (kasoku.toml:1)]"), "{text}");
    assert!(!format!("{explained:?}").contains("hunter2"));
    let explained = explain(&scene, &["Authorization: Basic hunter2"]);
    assert_eq!(explained.cache_status(), "kasoku; fwd=bypass; detail=pass-authorization");
    assert_eq!(said(&explained, "Authorization: Basic ***").0, Side::Against);
}

#[test]
fn a_cookie_of_a_list_that_passes_is_said_to_be_of_that_list_and_so_are_those_that_are_removed() {
    let setup = removing(ttl(Setup::safe())).route(|route| route.cookies.pass = names(&["login"]));
    let scene = written(setup, &["cookies.pass", "cookies.others"]).run([]);
    let explained = explain(&scene, &["Cookie: _ga=1; login=hunter2"]);
    assert_eq!(
        explained.cache_status(),
        "kasoku; fwd=bypass; detail=pass-cookie; cookie=\"login\"; rule=\"kasoku.toml:1\""
    );
    let (side, text) = said(&explained, "Cookie: login=***");
    assert_eq!(side, Side::Against);
    assert!(text.ends_with("requests with this cookie pass. [cookies.pass (kasoku.toml:1)]"), "{text}");
    assert_eq!(explained.tips, Tips::Nothing("the configuration says that requests with this cookie pass"));
    let explained = explain(&scene, &["Cookie: _ga=1; theme=dark"]);
    assert!(said(&explained, "Cookie: _ga=***").1.ends_with("[cookies.noise (default)]"));
    let (side, text) = said(&explained, "Cookie: theme=***");
    assert_eq!(side, Side::For);
    assert!(text.ends_with("can't depend on it. [cookies.others (kasoku.toml:2)]"), "{text}");
}

#[test]
fn what_is_not_sent_on_is_said_not_to_matter_and_what_is_in_the_key_to_matter() {
    let setup = grant(removing(ttl(Setup::safe())), |grant| {
        grant.key_cookies = names(&["lang"]);
        grant.key_fields = names(&["accept-language"]);
    });
    let scene = written(setup, &["ttl", "cookies.key", "key-fields"]).run([get("/").answers(ok(&[], "page"))]);
    scene.client().get("/");
    let fields =
        ["Cookie: lang=de; _ga=1; session=1", "Accept-Language: de", "Referer: http://a.example/", "User-Agent: x"];
    let explained = explain(&scene, &fields);
    for (line, side, words) in [
        (
            "Cookie: lang=***",
            Side::Neither,
            "is in the key: each value has its own variant. [cookies.key (kasoku.toml:2)]",
        ),
        ("Cookie: _ga=***", Side::For, "can't depend on it. [cookies.noise (default)]"),
        ("Cookie: session=***", Side::For, "can't depend on it. [cookies.others (default)]"),
        ("Accept-Language: de", Side::Neither, "each value has its own variant. [key-fields (kasoku.toml:3)]"),
        ("Referer: http://a.example/", Side::For, "can't depend on it. [what is not in the key]"),
        ("User-Agent: x", Side::For, "can't depend on it. [what is not in the key]"),
    ] {
        let (found, text) = said(&explained, line);
        assert!(found == side && text.ends_with(words), "{line}: {found:?} {text}");
    }
    assert_eq!(explained.cache_status(), "kasoku; fwd=vary-miss; detail=vary-miss");
}

#[test]
fn the_setting_that_granted_the_lifetime_is_named_with_its_line() {
    let scene = written(ttl(Setup::safe()), &["ttl"]).run([get("/").answers(ok(&[], "page"))]);
    scene.client().get("/");
    let explained = explain(&scene, &[]);
    assert_eq!(explained.cache_status(), "kasoku; hit; ttl=60; detail=hit");
    let (side, text) = said(&explained, "");
    assert_eq!(side, Side::For);
    assert_eq!(
        text,
        "The response states no expiry, and the configuration grants it a lifetime. [ttl (kasoku.toml:1)]"
    );

    let setup = grant(Setup::safe(), |grant| {
        grant.ttl_override_seconds = 60;
        grant.ignore = vec![Ignored::NoStore];
    });
    let setup = written(setup, &["ttl-override", "ignore"]);
    let scene = setup.run([get("/").answers(ok(&["Cache-Control: no-store"], "page"))]);
    scene.client().get("/");
    let explained = explain(&scene, &[]);
    assert!(said(&explained, "").1.ends_with("[ttl-override (kasoku.toml:1)]"));
    let (side, text) = said(&explained, "Cache-Control: no-store");
    assert_eq!(
        (side, text.as_str()),
        (Side::Neither, "The configuration says that this does not count. [ignore (kasoku.toml:2)]")
    );
}

/// The application opens a session for every visitor, and counts visits in a cookie.
fn with_session(setup: Setup) -> Setup {
    setup.route(|route| {
        route.session = Arc::new(SessionRules { cookies: names(&["PHPSESSID"]), ..SessionRules::default() });
        route.cookies.noise = names(&["counted"]);
    })
}

fn explain_live(scene: &Scenario) -> Explanation {
    let question = Question { is_live: true, ..Question::get("http://example.org/") };
    scene.engine.handle().explain(&question).unwrap()
}

#[test]
fn a_form_whose_session_would_be_dropped_is_told_of() {
    let session = "Set-Cookie: PHPSESSID=0123456789abcdef";
    let search = "<form action=/search><input name=word></form>";
    let write = "<form method=post><input type=hidden name=token value=77></form>";
    for (line, page, is_told) in [(session, write, true), (session, search, false), ("X-Powered-By: PHP", write, false)]
    {
        let setup = written(with_session(ttl(Setup::safe())), &["ttl", "pass-urls"]);
        let explained = explain_live(&setup.run([get("/").answers(ok(&[line], page))]));
        let point = explained.points.iter().find(|point| point.line == "<form method=\"post\">");
        let told = point.map(|point| (point.side, point.source.as_str()));
        assert_eq!(told, is_told.then_some((Side::Neither, "pass-urls (kasoku.toml:2)")), "{line} {page}");
        assert!(explained.cache_status().contains("; stored"), "{page}: {}", explained.cache_status());
    }
}

#[test]
fn a_cookie_that_is_dropped_is_said_to_be_a_sessions_or_noise() {
    let setup = written(with_session(ttl(Setup::safe())), &["ttl", "cookies.session", "cookies.noise"]);
    let fields = ["Set-Cookie: PHPSESSID=0123456789abcdef", "Set-Cookie: counted=1"];
    let explained = explain_live(&setup.run([get("/").answers(ok(&fields, "page"))]));
    for (line, source) in [
        ("Set-Cookie: PHPSESSID=***", "[cookies.session (kasoku.toml:2)]"),
        ("Set-Cookie: counted=***", "[cookies.noise (kasoku.toml:3)]"),
    ] {
        let (side, text) = said(&explained, line);
        assert!(side == Side::Neither && text.ends_with(source), "{line}: {text}");
    }
}
