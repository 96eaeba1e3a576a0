//! Anonymous visitors: pages that open a session for everybody are kept, and nobody gets what was made for another.
//!
//! The application is a board as PHP programs are (`anonymous/board.rs`): it opens a session with each page, forbids each page to be
//! kept, and knows a member by nothing but what its session holds. Kasoku stands before it with the rules that such a program has.
//!
//! - `anonymous/ways.rs`: the ways in which a private page gets shared, one scenario or more for each, and what is a hit all the same.
//! - `anonymous/situations.rs`: some 370 requests and answers in tables, each with what becomes of it and what is told of that.
//! - `anonymous/states.rs`: what a session is known to be; `anonymous/probing.rs`: how that is found out; `anonymous/ending.rs`: how it ends.
//! - `anonymous/apart.rs`: sessions at several hosts and rules, how they are asked about, and what is told of them.
//! - `anonymous/refreshing.rs`: pages that stop being everybody's while they are kept.
//! - `anonymous/validators.rs`: by what a browser is told that it has a page already, and what it may keep.
//! - `anonymous/pages.rs`: what is a page, and what is said in its place.
//! - `anonymous/harmless.rs`: what passes with a session and makes nobody of anybody.
//! - `anonymous/changes.rs`: what a write changes of what is stored.
//! - `anonymous/beacon.rs`: how the application hears of visitors who are served from memory.
//! - `anonymous/fresh_links.rs`: links on shared pages that an application makes for one visitor each.
//! - `anonymous/nobodys_cookies.rs`: what is asked for anonymously is no visit.
//! - `anonymous/guard.rs`: pages that are compared before they are shared.
//! - `anonymous/doctor.rs`: what is proposed for what is missed, and what never.
//! - `anonymous/leaks.rs`: leaks that other caches had, rebuilt.
mod apart;
mod beacon;
mod board;
mod changes;
mod doctor;
mod ending;
mod fresh_links;
mod guard;
mod harmless;
mod leaks;
mod nobodys_cookies;
mod pages;
mod probing;
mod refreshing;
mod situations;
mod states;
mod validators;
mod ways;

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

/// URLs that leave something in a session, each with the pages that show it.
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

/// A cookie with a value, both globs.
fn cookie(name: &str, value: &str) -> CookiePattern {
    CookiePattern { name: name.to_owned(), value: value.to_owned() }
}

/// What an operator writes for such a board, and on which line: it grants a minute to pages that forbid to be kept, because a session was
/// opened, and says which cookies mean what.
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

/// The same, where the application is asked whether a session is anonymous.
fn with_probe(route: &mut Route) {
    of_a_board(route);
    let text = "login_check.php".to_owned();
    session(route).probe = Some(SessionProbe { target: "/login.php".to_owned(), status: 200, text });
}

/// Waits until a session is known to be anonymous; to ask for an explanation changes nothing.
#[track_caller]
fn is_found_anonymous(scene: &Scenario, cookies: &str) {
    scene.eventually(|| is_anonymous(scene, cookies));
}

/// Whether a session is known to be anonymous.
fn is_anonymous(scene: &Scenario, cookies: &str) -> bool {
    let question = Question { fields: vec![format!("Cookie: {cookies}")], ..Question::get("http://example.org/none") };
    scene.engine.handle().explain(&question).unwrap().cache_status().contains("session=anonymous")
}

/// A parameter of Cache-Status that is a text, without its quotes.
fn told(response: &kasoku_testkit::Response, name: &str) -> Option<String> {
    response.cache_status(name).map(|value| value.trim_matches('"').to_owned())
}

/// Profile safe, with the rules of a board.
fn guarded() -> Setup {
    Setup::safe().route(of_a_board)
}
