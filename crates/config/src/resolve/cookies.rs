//! Resolves what cookies mean: a cookie identifies a visitor, starts a session, chooses a page, or changes no page.
//!
//! No default depends on another list. A cookie that no list names makes a request pass, so a forgotten cookie only costs hits. An
//! operator who has the other cookies removed is warned which visitors then get the shared page.

use super::dangers::{is_everything, warn_of_everything};
use super::visitors::{NAMES_MAX as SESSIONS_MAX, check_lengths, names_after, own};
use crate::bounds;
use crate::issue::{Issue, Located, SourceLocation, quoted};
use crate::raw::RawCookies;
use crate::table::{self, SettingScope};
use kasoku_options::{OtherCookies, Route};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::set_cookies::names_a_session;
use std::sync::Arc;

/// The most entries of each list but that of sessions: each is compared with the cookies of each request.
const NAMES_MAX: usize = 64;

/// Lays written keys over a route.
pub(super) fn set_route(route: &mut Route, policy: &mut Policy, raw: &RawCookies) {
    if let Some(pass) = &raw.pass {
        route.cookies.pass = names_after(pass, &route.cookies.pass);
    }
    if let Some(session) = &raw.session {
        let names = names_after(session, &route.session.cookies);
        Arc::make_mut(&mut route.session).cookies = names;
    }
    if let Some(key) = &raw.key {
        policy.grant.key_cookies = names_after(key, &policy.grant.key_cookies);
    }
    if let Some(noise) = &raw.noise {
        route.cookies.noise = names_after(noise, &route.cookies.noise);
    }
    match others(raw) {
        Some(Ok(0)) => route.cookies.others = Some(OtherCookies::Pass),
        Some(Ok(_)) => route.cookies.others = Some(OtherCookies::Remove),
        Some(Err(_)) | None => {}
    }
}

fn others(raw: &RawCookies) -> Option<Result<usize, Issue>> {
    Some(bounds::one_of(table::find(SettingScope::Top, "cookies.others")?, raw.others.as_ref()?))
}

/// Reports the faults of these keys and warns of their dangers, once for each place where they are written.
pub(super) fn check(raw: &RawCookies, issues: &mut Vec<Issue>) {
    issues.extend(others(raw).and_then(Result::err));
    let is_name = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !b";,=".contains(&b));
    let lists = [&raw.pass, &raw.session, &raw.key, &raw.noise];
    for text in lists.into_iter().flat_map(own).filter(|text| !is_name(&text.value)) {
        let issue = Issue::error(format!("{} can't match the name of a cookie", quoted(&text.value)));
        issues.push(issue.at(&text.place).help("write the name alone, without a value: \"lang\", \"_ga_*\""));
    }
    for text in own(&raw.key).filter(|text| names_a_session(&text.value)) {
        let issue = Issue::warning(format!("{} gives each visitor a variant of their own", quoted(&text.value)));
        let help = "at most 64 variants of a URL are kept; leave it out, and such requests pass";
        issues.push(issue.at(&text.place).help(help));
    }
    check_lengths(
        &[(&raw.pass, NAMES_MAX), (&raw.session, SESSIONS_MAX), (&raw.key, NAMES_MAX), (&raw.noise, NAMES_MAX)],
        issues,
    );
    warn_of_everything(
        &raw.key,
        "each visitor has a variant of their own, and at most 64 of a URL are kept",
        "name the cookies that choose among a few pages: \"lang\"",
        issues,
    );
    warn_of_everything(
        &raw.noise,
        "no cookie counts, and visitors who are logged in get the page for all visitors",
        "name the cookies that change no page; if no visitor logs in, `cookies.others = \"remove\"` does the same",
        issues,
    );
    warn_of_everything(
        &raw.pass,
        "requests with any cookie pass, even if it is only one of analytics",
        "name the cookies that tell who the visitor is; without this list, no request passes because of a cookie of `cookies.noise`",
        issues,
    );
}

/// Warns which visitors get the shared page where cookies are removed. `grants`: whether a lifetime is granted there, or further
/// in.
pub(super) fn warn(raw: &RawCookies, route: &Route, grants: bool, issues: &mut Vec<Issue>) {
    if !grants || route.cookies.others != Some(OtherCookies::Remove) {
        return;
    }
    let removing = raw.others.as_ref().filter(|text| text.value.eq_ignore_ascii_case("remove"));
    let told = match (raw.pass.as_ref().filter(|list| !list.value.is_empty()), removing) {
        // `check` warns of such a list where it is written. It leaves no cookie to remove.
        (Some(list), _) if list.value.iter().any(|text| is_everything(&text.value)) => None,
        (Some(list), _) => Some((
            &list.place,
            "every cookie that is not in this list or in the key is removed: a visitor who is known by another cookie gets the page for all visitors",
            "list each cookie that tells who the visitor is: of logins, carts, drafts, passwords of pages",
        )),
        (None, Some(text)) if route.cookies.pass.is_empty() => Some((
            &text.place,
            "cookies that are not in the key are removed: visitors who are logged in get the page for all visitors",
            "this is right if no visitor logs in; otherwise name the cookies of logins: `cookies.pass = [\"session*\"]`",
        )),
        (None, _) => None,
    };
    issues.extend(told.map(|(place, message, help)| Issue::warning(message).at(place).help(help)));
}

/// The written keys that have no effect without a granted lifetime.
pub(super) fn idle<'r>(raw: &'r RawCookies, route: &Route) -> [(&'static str, Option<&'r SourceLocation>); 3] {
    fn place<T>(written: Option<&Located<T>>) -> Option<&SourceLocation> {
        written.map(|it| &it.place)
    }
    // Without a granted lifetime, these settings still decide which requests pass.
    let passes = route.cookies.others == Some(OtherCookies::Pass) || !route.cookies.pass.is_empty();
    let removes = raw.others.as_ref().filter(|text| !text.value.eq_ignore_ascii_case("pass"));
    [
        ("cookies.key", place(raw.key.as_ref())),
        ("cookies.noise", place(raw.noise.as_ref().filter(|_| !passes))),
        ("cookies.others", place(removes)),
    ]
}
