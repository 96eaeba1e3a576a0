//! Anonymous visitors: pages that open a session for every visitor are stored, and no visitor gets a page that was made for
//! another.
//!
//! The application is a board like a PHP program (`anonymous/board.rs`): it opens a session with each page, forbids caches to
//! store any page, and knows a member only by the session. Kasoku has the rules that such a program needs.
//!
//! - `anonymous/private_pages.rs`: the ways in which a private page could be shared, at least one scenario for each, and what is a hit all
//!   the same.
//! - `anonymous/situations.rs`: some 370 requests and answers in tables, with the result and the reason of each.
//! - `anonymous/states.rs`: the states of a session; `anonymous/probing.rs`: how a state is found out; `anonymous/ending.rs`: how
//!   sessions end.
//! - `anonymous/session_scope.rs`: sessions at several hosts and rules, how they are probed, and what is told of them.
//! - `anonymous/refreshing.rs`: stored pages that stop being shareable.
//! - `anonymous/validators.rs`: which validators a browser gets, and what it may store.
//! - `anonymous/pages.rs`: how a page is recognized, and the messages that may come in its place.
//! - `anonymous/harmless.rs`: requests that pass with a session and leave it anonymous.
//! - `anonymous/changes.rs`: which stored pages a write drops.
//! - `anonymous/beacon.rs`: how the application hears of visitors who are served from memory.
//! - `anonymous/fresh_links.rs`: links on shared pages that an application makes for one visitor each.
//! - `anonymous/request_cookies.rs`: an anonymous request is no visit.
//! - `anonymous/addresses.rs`: an anonymous request has the address of no client.
//! - `anonymous/guard.rs`: pages that the leak guard compares before they are shared.
//! - `anonymous/soft_errors.rs`: answers that say 200 and are errors.
//! - `anonymous/doctor.rs`: what `kasoku doctor` proposes for misses, and what it never proposes.
//! - `anonymous/leaks.rs`: leaks that other caches had, rebuilt.
mod addresses;
mod beacon;
mod board;
mod changes;
mod doctor;
mod ending;
mod fresh_links;
mod guard;
mod harmless;
mod leaks;
mod pages;
mod private_pages;
mod probing;
mod refreshing;
mod request_cookies;
mod session_scope;
mod situations;
mod soft_errors;
mod states;
mod validators;

use crate::poisoning::application;
use kasoku_engine::explain::Question;
use kasoku_options::{
    CookiePattern, OtherCookies, Route, SessionProbe, SessionRules, SettingLocations, StatefulUrl, UrlPattern,
};
use kasoku_semantics::grant::{Grant, Ignored};
use kasoku_semantics::policy::Policy;
use kasoku_testkit::{Scenario, Setup};
use std::sync::Arc;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn urls(patterns: &[&str]) -> Vec<UrlPattern> {
    patterns.iter().map(|text| UrlPattern::parse(text).unwrap()).collect()
}

/// URLs that leave data in a session, each with the pages that show the data.
fn stateful(all: &[(&str, Option<&str>)]) -> Vec<StatefulUrl> {
    let read = |text| UrlPattern::parse(text).unwrap();
    all.iter().map(|(url, pages)| StatefulUrl { url: read(url), shown_by: pages.map(read) }).collect()
}

fn policy(route: &mut Route) -> &mut Policy {
    Arc::make_mut(&mut route.policy)
}

fn grant(route: &mut Route) -> &mut Grant {
    &mut policy(route).grant
}

fn session(route: &mut Route) -> &mut SessionRules {
    Arc::make_mut(&mut route.session)
}

/// A cookie and its value, both globs.
fn cookie(name: &str, value: &str) -> CookiePattern {
    CookiePattern { name: name.to_owned(), value: value.to_owned() }
}

/// The settings that an operator writes for such a board, with their lines. They grant a minute to pages that forbid storing only
/// because they opened a session, and they say what each cookie means.
fn of_a_board(route: &mut Route) {
    let rules = grant(route);
    rules.ttl_override_seconds = 60;
    rules.ignore = vec![Ignored::NoStore, Ignored::NoCache, Ignored::MustRevalidate, Ignored::MaxAge, Ignored::Expires];
    route.cookies.others = Some(OtherCookies::Pass);
    route.cookies.noise.extend(names(&["2a0d2363701f23f8a75028924a3af643", "ck_font_resize_*"]));
    route.pass_urls = urls(&["/login*.php", "*?preview", "*?act=disp*Form"]);
    session(route).cookies = names(&["PHPSESSID", "G5*PHPSESSID"]);
    session(route).logout = urls(&["/logout.php"]);
    let written = [
        ("ttl-override", 1),
        ("cookies.others", 2),
        ("pass-urls", 3),
        ("cookies.session", 4),
        ("cookies.pass", 5),
        ("ttl", 6),
        ("session.logout", 7),
    ];
    let settings = written.map(|(key, line)| (key, format!("board.toml:{line}").into())).into();
    route.places = SettingLocations { settings, rule: Some("board.toml:9".into()), ..SettingLocations::default() };
}

/// The same, with a probe by which Kasoku asks the application whether a session is anonymous.
fn with_probe(route: &mut Route) {
    of_a_board(route);
    let text = "login_check.php".to_owned();
    session(route).probe = Some(SessionProbe { target: "/login.php".to_owned(), status: 200, text });
}

/// Waits until a session is known to be anonymous. Asking for an explanation changes nothing.
#[track_caller]
fn is_found_anonymous(scene: &Scenario, cookies: &str) {
    scene.eventually(|| is_anonymous(scene, cookies));
}

/// Whether a session is known to be anonymous.
fn is_anonymous(scene: &Scenario, cookies: &str) -> bool {
    let question = Question { fields: vec![format!("Cookie: {cookies}")], ..Question::get("http://example.org/none") };
    scene.engine.handle().explain(&question).unwrap().cache_status().contains("session=anonymous")
}

/// A string parameter of Cache-Status, without its quotes.
fn told(response: &kasoku_testkit::Response, name: &str) -> Option<String> {
    response.cache_status(name).map(|value| value.trim_matches('"').to_owned())
}

/// Profile safe, with the rules of a board.
fn guarded() -> Setup {
    Setup::safe().route(of_a_board)
}
