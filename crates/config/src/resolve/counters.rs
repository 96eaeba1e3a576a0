//! Resolves the settings that keep the application's own counters counting.

use super::visitors::{after, check_lengths, is_target, own};
use crate::address::parse_stand_ins;
use crate::issue::{Issue, SourceLocation, quoted};
use crate::raw::{LocatedTexts, RawRoute};
use kasoku_options::{AnonymousCookie, BeaconRules, Route, UrlTemplate};
use kasoku_semantics::cookies;
use std::sync::Arc;

/// The most cookies of anonymous requests: each such request carries all of them.
const COOKIES_MAX: usize = 16;

/// Lays written keys over a route.
pub(super) fn set_route(route: &mut Route, raw: &RawRoute) {
    if let Some(range) = &raw.counters.anonymous_request_addresses {
        route.stand_ins = parse_stand_ins(&range.value).unwrap_or_default();
    }
    if let Some(list) = &raw.counters.anonymous_request_cookies {
        route.cookies.anonymous = after(list, &route.cookies.anonymous, |text| AnonymousCookie::parse(text).ok());
    }
    let mut beacons = BeaconRules::clone(&route.beacons);
    // An empty text means none, whatever an outer level says.
    if let Some(target) = &raw.counters.beacon {
        beacons.visitor = Some(target.value.clone()).filter(|target| is_target(target));
    }
    if let Some(template) = &raw.counters.view_beacon {
        beacons.view = UrlTemplate::parse(&template.value).ok();
    }
    if beacons != *route.beacons {
        route.beacons = Arc::new(beacons);
    }
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    let raw = &raw.counters;
    if let Some(range) = &raw.anonymous_request_addresses
        && let Err(fault) = parse_stand_ins(&range.value)
    {
        issues.push(fault.at(&range.place));
    }
    for text in own(&raw.anonymous_request_cookies) {
        if let Err(error) = AnonymousCookie::parse(&text.value) {
            let issue = Issue::error(format!("{} is not a cookie: {error}", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("write name and value: \"counted={address:base64}\""));
        }
    }
    if let Some(target) = raw.beacon.as_ref().filter(|target| !target.value.is_empty() && !is_target(&target.value)) {
        let issue = Issue::error(format!("{} is not a path", quoted(&target.value))).at(&target.place);
        issues.push(issue.help("write the path of a page that counts its visitors: \"/count.php\""));
    }
    if let Some(template) = raw.view_beacon.as_ref().filter(|template| !template.value.is_empty())
        && let Err(error) = UrlTemplate::parse(&template.value)
    {
        let issue = Issue::error(format!("{} is not a path: {error}", quoted(&template.value))).at(&template.place);
        issues.push(
            issue.help("write path and query, with parameters of the page's query in braces: \"/count.php?id={id}\""),
        );
    }
    check_lengths(&[(&raw.anonymous_request_cookies, COOKIES_MAX)], issues);
}

/// Reports keys that contradict other settings or have no effect, once the route is complete. `is_final`: no inner rule may add to
/// it. `levels`: what was written there, the innermost first.
pub(super) fn warn(levels: &[&RawRoute], route: &Route, is_final: bool, issues: &mut Vec<Issue>) {
    contradictions(levels, route, issues);
    let Some(own) = levels.first() else { return };
    let own = &own.counters;
    let written = [
        ("anonymous-request-cookies", own.anonymous_request_cookies.as_ref().map(|it| &it.place)),
        ("beacon", own.beacon.as_ref().filter(|it| !it.value.is_empty()).map(|it| &it.place)),
        ("view-beacon", own.view_beacon.as_ref().filter(|it| !it.value.is_empty()).map(|it| &it.place)),
    ];
    for (key, place) in written.into_iter().filter_map(|(key, place)| Some((key, place?))) {
        if is_final && !route.policy.grant.is_granting() {
            let issue = Issue::warning(format!("{} has no effect: no lifetime is granted here", quoted(key)));
            issues.push(issue.at(place).help("write `ttl = \"1h\"` or `ttl-override` beside it, or leave it out"));
        }
    }
}

/// Reports cookies of anonymous requests that would identify a visitor, or that are in the key. The issue points at a list of
/// `levels`.
fn contradictions(levels: &[&RawRoute], route: &Route, issues: &mut Vec<Issue>) {
    type CookieList = fn(&RawRoute) -> Option<&LocatedTexts>;
    let lists: [(&[String], &str, &str, CookieList); 3] = [
        (&route.session.cookies, "cookies.session", "an anonymous request can't have a session", |raw| {
            raw.cookies.session.as_ref()
        }),
        (&route.cookies.pass, "cookies.pass", "an anonymous request can't tell who the visitor is", |raw| {
            raw.cookies.pass.as_ref()
        }),
        (&route.policy.grant.key_cookies, "cookies.key", "the visitor's own cookie is sent", |raw| {
            raw.cookies.key.as_ref()
        }),
    ];
    for (globs, key, why, written) in lists {
        let is_in_it = |cookie: &&AnonymousCookie| cookies::is_any(globs, cookie.name().as_bytes());
        let Some(cookie) = route.cookies.anonymous.iter().find(is_in_it) else { continue };
        let text = cookie.to_string();
        let of_cookie = |raw: &&RawRoute| -> Option<SourceLocation> {
            own(&raw.counters.anonymous_request_cookies).find(|it| it.value == text).map(|it| it.place.clone())
        };
        let of_list = |raw: &&RawRoute| written(raw).map(|list| list.place.clone());
        // If neither list was written at these levels, the issue was reported further out.
        let Some(place) = levels.iter().find_map(of_cookie).or_else(|| levels.iter().find_map(of_list)) else {
            continue;
        };
        let message = format!("{} is in `{key}` as well: {why}", quoted(&text));
        issues.push(
            Issue::error(message)
                .at(&place)
                .help(format!("remove the cookie from `anonymous-request-cookies` or from `{key}`")),
        );
    }
}
