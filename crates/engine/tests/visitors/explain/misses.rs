//! Typical misses: each is explained, and its suggestion, applied to the application or to the configuration, makes the next
//! request a hit.

use super::explain;
use kasoku_engine::explain::{Explanation, Tips};
use kasoku_semantics::evidence::Side;
use kasoku_semantics::suggestion::SuggestedChange;
use kasoku_testkit::{Scenario, Setup, get, ok, post, reply};
use std::sync::Arc;

/// One miss: the fields of the request, the application's answer, and the expected explanation.
struct Miss {
    reason: &'static str,
    fields: &'static [&'static str],
    status: &'static str,
    answer: &'static [&'static str],
    /// A line that the explanation names as a reason against storing.
    against: &'static str,
    changes: &'static [&'static str],
}

const PAGE: Miss = Miss { reason: "", fields: &[], status: "200 OK", answer: &[], against: "", changes: &[] };

/// The suggestion for an application that states no expiry: no browser keeps the page, since a purge does not reach browsers.
const KEPT_HERE: [&str; 2] = ["Cache-Control: max-age=0", "CDN-Cache-Control: max-age=60"];

const MISSES: [Miss; 8] = [
    Miss {
        reason: "set-cookie",
        answer: &["Cache-Control: max-age=60", "Set-Cookie: PHPSESSID=x; path=/"],
        against: "Set-Cookie: PHPSESSID=***; path=/",
        changes: &["without Set-Cookie"],
        ..PAGE
    },
    Miss {
        reason: "no-store",
        fields: &["Cookie: PHPSESSID=x"],
        answer: &[
            "Cache-Control: no-store, no-cache, must-revalidate",
            "Pragma: no-cache",
            "Expires: Thu, 19 Nov 1981 08:52:00 GMT",
        ],
        against: "Cache-Control: no-store, no-cache, must-revalidate",
        changes: &["CDN-Cache-Control: public, max-age=60"],
        ..PAGE
    },
    Miss {
        reason: "authorization",
        fields: &["Authorization: Basic eDp5"],
        answer: &["Cache-Control: max-age=60"],
        against: "Authorization: Basic ***",
        changes: &["Cache-Control: public, max-age=60"],
        ..PAGE
    },
    Miss { reason: "no-expiry-no-validator", changes: &KEPT_HERE, ..PAGE },
    Miss {
        reason: "expired",
        answer: &["Expires: Thu, 01 Jan 1970 00:00:00 GMT"],
        against: "Expires: Thu, 01 Jan 1970 00:00:00 GMT",
        changes: &["CDN-Cache-Control: max-age=60"],
        ..PAGE
    },
    Miss {
        reason: "private",
        answer: &["Cache-Control: private, max-age=60"],
        against: "Cache-Control: private, max-age=60",
        changes: &["CDN-Cache-Control: max-age=60"],
        ..PAGE
    },
    Miss {
        reason: "not-cacheable",
        status: "302 Found",
        answer: &["Location: /"],
        against: "status 302",
        changes: &KEPT_HERE,
        ..PAGE
    },
    Miss { reason: "not-cacheable", status: "404 Not Found", against: "status 404", changes: &KEPT_HERE, ..PAGE },
];

fn changes(explained: &Explanation) -> Vec<SuggestedChange> {
    match &explained.tips {
        Tips::Changes(all) | Tips::Either(all, _) => all.iter().map(|one| one.change.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

fn shown(change: &SuggestedChange) -> String {
    match change {
        SuggestedChange::Send(name, value) => format!("{name}: {value}"),
        SuggestedChange::Omit(name) => format!("without {name}"),
        SuggestedChange::Set(key, value) => format!("{key} = {value}"),
    }
}

/// The field lines of the application after a change.
fn apply(change: &SuggestedChange, lines: &mut Vec<String>) {
    let (SuggestedChange::Send(name, _) | SuggestedChange::Omit(name)) = change else { return };
    lines.retain(|line| !line.split(':').next().unwrap().eq_ignore_ascii_case(name));
    if let SuggestedChange::Send(name, value) = change {
        lines.push(format!("{name}: {value}"));
    }
}

fn setup(changes: &[SuggestedChange]) -> Setup {
    let mut setup = Setup::safe();
    for change in changes {
        if let SuggestedChange::Set("cache.negative-ttl", value) = change {
            assert_eq!(value, "\"1m\"");
            setup = setup.policy(|policy| policy.negative_ttl_seconds = 60);
        }
        if let SuggestedChange::Set("ttl", value) = change {
            assert_eq!(value, "\"1m\"");
            setup = setup.policy(|policy| policy.grant.ttl_seconds = 60);
        }
    }
    setup
}

#[test]
fn each_suggested_change_gives_a_hit() {
    for miss in MISSES {
        let answer = reply(miss.status, miss.answer, "page");
        let scenario = Scenario::safe([get("/page?id=1").answers(&answer), get("/page?id=1").answers(&answer)]);
        let explained = explain(&scenario, "GET", "/page?id=1", miss.fields, true);
        assert_eq!(scenario.client().get_with("/page?id=1", miss.fields).detail(), miss.reason);
        assert_eq!(explained.status.detail.map(|reason| reason.id()), Some(miss.reason));
        let against: Vec<_> = explained.points.iter().filter(|point| point.side == Side::Against).collect();
        assert!(against.iter().any(|point| point.line == miss.against), "{}: {against:#?}", miss.reason);
        let changes = changes(&explained);
        assert_eq!(changes.iter().map(shown).collect::<Vec<_>>(), miss.changes, "{}", miss.reason);

        let mut lines: Vec<String> = miss.answer.iter().map(|line| (*line).to_owned()).collect();
        changes.iter().for_each(|change| apply(change, &mut lines));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let changed = setup(&changes).run([get("/page?id=1").answers(reply(miss.status, &lines, "page"))]);
        changed.client().get_with("/page?id=1", miss.fields);
        assert!(changed.client().get_with("/page?id=1", miss.fields).is_hit(), "{}: {lines:?}", miss.reason);
        assert_eq!(explain(&changed, "GET", "/page?id=1", miss.fields, false).tips, Tips::Needless);
    }
}

#[test]
fn a_page_that_varies_by_browser_is_a_miss_for_the_next_browser() {
    let page = ok(&["Cache-Control: max-age=60", "Vary: User-Agent, Accept-Language"], "page");
    let scenario = Scenario::safe([get("/").answers(&page)]);
    scenario.client().get_with("/", &["User-Agent: one"]);
    let explained = explain(&scenario, "GET", "/", &["User-Agent: two"], false);
    assert_eq!(explained.status.detail.map(|reason| reason.id()), Some("vary-miss"));
    assert_eq!((explained.stored.variants, explained.stored.varies_by.len()), (1, 2));
    let against: Vec<&str> =
        explained.points.iter().filter(|point| point.side == Side::Against).map(|point| point.line.as_str()).collect();
    assert_eq!(against, ["User-Agent: two", "Vary: User-Agent, Accept-Language"]);
    assert!(matches!(explained.tips, Tips::Nothing(why) if why.contains("key-device")), "{:?}", explained.tips);
}

#[test]
fn no_vary_is_proposed_away() {
    for answer in [["Cache-Control: no-store", "Vary: User-Agent"], ["Cache-Control: max-age=60", "Vary: *"]] {
        let scenario = Scenario::safe([get("/").answers(ok(&answer, "page"))]);
        let explained = explain(&scenario, "GET", "/", &[], true);
        let lines: Vec<String> = match &explained.tips {
            Tips::Changes(all) => all.iter().map(|one| shown(&one.change)).collect(),
            Tips::Either(all, instead) => all.iter().chain(instead).map(|one| shown(&one.change)).collect(),
            _ => Vec::new(),
        };
        assert!(!lines.iter().any(|line| line.to_lowercase().contains("vary")), "{lines:?}");
    }
}

#[test]
fn a_page_with_a_token_is_not_proposed_to_be_shared() {
    let answers = |text: fn(u8) -> String| {
        let html = |number| get("/").answers(ok(&["Content-Type: text/html"], text(number)));
        Scenario::safe([html(1), html(2)])
    };
    let explained = |text| explain(&answers(text), "GET", "/", &[], true).tips;
    let tokens: [fn(u8) -> String; 3] = [
        |number| format!("<form method=post><input type=hidden name=a value={number}></form>"),
        |number| format!("<meta name=csrf content={number}00>"),
        |number| format!("<script>let token = '{number}00'</script>"),
    ];
    for text in tokens {
        assert!(matches!(explained(text), Tips::Nothing(why) if why.contains("token")), "{}", text(0));
    }
    let form = get("/").answers(ok(&["Content-Type: text/html"], "<form method=post><input name=q></form>"));
    assert!(matches!(explain(&Scenario::safe([form]), "GET", "/", &[], true).tips, Tips::Changes(_)));
}

/// The lines of configuration that are proposed for a request with that cookie, which passes.
fn proposed_for_cookie(scenario: &Scenario) -> Vec<String> {
    let explained = explain(scenario, "GET", "/page", &["Cookie: 2e61f26e7a4e8194d3d5d054536403e0=k"], false);
    assert_eq!(explained.status.detail.map(|reason| reason.id()), Some("pass-cookie"));
    match explained.tips {
        Tips::Changes(all) => all.iter().map(|one| shown(&one.change)).collect(),
        Tips::Nothing(_) => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cookie_that_a_log_in_sets_is_never_proposed_as_noise() {
    let granting = || Setup::safe().policy(|policy| policy.grant.ttl_seconds = 60);
    let sets = ["Set-Cookie: 2e61f26e7a4e8194d3d5d054536403e0=k"];
    let line = "cookies.noise = [\"default\", \"2e61f26e7a4e8194d3d5d054536403e0\"]";
    let nobodys = || get("/").answers(ok(&sets, "page"));
    // The cache has not seen yet which request sets the cookie.
    assert_eq!(proposed_for_cookie(&granting().run([])), [""; 0]);
    let scenario = granting().run([nobodys()]);
    scenario.client().get("/");
    assert_eq!(proposed_for_cookie(&scenario), [line], "it was set for an anonymous request");
    let scenario = granting().run([nobodys(), post("/login_check").reads_body().sends(reply("302 Found", &sets, ""))]);
    scenario.client().get("/");
    scenario.client().send_body("POST", "/login_check", &[], "id=a");
    assert_eq!(proposed_for_cookie(&scenario), [""; 0], "a log-in sets it too");
}

#[test]
fn a_post_has_no_safe_change_and_is_not_sent_to_find_out() {
    let scenario = Scenario::safe([post("/form").reads_body().sends(ok(&[], "done"))]);
    let explained = explain(&scenario, "POST", "/form", &[], true);
    assert_eq!(scenario.origin.count(), 0);
    assert!(
        matches!(explained.tips, Tips::Nothing(why) if why.contains("reach the application")),
        "{:?}",
        explained.tips
    );
    assert_eq!(scenario.client().send_body("POST", "/form", &[], "a=1").detail(), "method");
    let explained = explain(&scenario, "HEAD", "/page", &[], true);
    assert!(matches!(explained.tips, Tips::Nothing(why) if why.contains("a GET")), "{:?}", explained.tips);
    assert!(explained.answer.is_none());
}

#[test]
fn an_error_has_no_safe_change() {
    let scenario = Scenario::safe([get("/").answers(reply("503 Service Unavailable", &[], ""))]);
    assert!(matches!(explain(&scenario, "GET", "/", &[], true).tips, Tips::Nothing(_)));
}

#[test]
fn what_others_add_to_a_link_can_be_left_out_of_the_key() {
    let page = ok(&["Cache-Control: max-age=60"], "page");
    let scenario = Scenario::safe([get("/page?id=1").answers(&page)]);
    scenario.client().get("/page?id=1");
    let link = "/page?utm_source=x&id=1&fbclid=y";
    let explained = explain(&scenario, "GET", link, &[], false);
    let changes = changes(&explained);
    assert_eq!(changes.iter().map(shown).collect::<Vec<_>>(), ["query.ignore = [\"utm_*\", \"fbclid\"]"]);
    let ignore = |route: &mut kasoku_options::Route| {
        route.query.ignore = vec!["utm_*".to_owned(), "fbclid".to_owned()];
    };
    let changed = Setup::safe().route(ignore).run([get("/page?id=1").answers(&page)]);
    changed.client().get("/page?id=1");
    assert!(changed.client().get(link).is_hit());
    let hit = explain(&changed, "GET", link, &[], false);
    assert_eq!(hit.points.first().map(|point| point.line.as_str()), Some("utm_source=x&fbclid=y"));
    // If the plain page is not stored, the cache can't know whether these parameters change the page.
    let empty = Scenario::safe([]);
    assert_eq!(explain(&empty, "GET", link, &[], false).tips, Tips::AskLive);
}

#[test]
fn where_it_is_written_is_told() {
    let place = |text: &str| Some(Arc::from(text));
    let scenario = Setup::safe()
        .rule("/editor/*", |route| {
            route.pass = true;
            route.places.site = place("kasoku.toml:3");
            route.places.rule = place("kasoku.toml:8");
            route.places.settings.insert("pass", Arc::from("kasoku.toml:9"));
        })
        .run([]);
    let explained = explain(&scenario, "GET", "/editor/x", &[], false);
    assert_eq!(explained.site.place.as_deref(), Some("kasoku.toml:3"));
    let rule = explained.rule.unwrap();
    assert_eq!((rule.name.as_str(), rule.place.as_deref()), ("/editor/*", Some("kasoku.toml:8")));
    assert_eq!(explained.points.first().map(|point| point.source.as_str()), Some("pass (kasoku.toml:9)"));
}
