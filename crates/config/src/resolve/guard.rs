//! Resolves the settings of the leak guard, which compares pages before they are shared.

use super::visitors::{after, check_lengths, own};
use crate::issue::{Issue, quoted};
use crate::raw::{RawGuard, RawRoute};
use kasoku_options::{GuardCookie, GuardRules, Route};
use kasoku_semantics::difference::{NOISE_MAX, Noise, NoiseError};
use std::sync::Arc;

/// Sets the default: the guard is on.
pub(super) fn set_default(route: &mut Route) {
    Arc::make_mut(&mut route.guard).is_enabled = true;
}

/// Lays written keys over a route.
pub(super) fn set_route(route: &mut Route, raw: &RawGuard) {
    let mut rules = GuardRules::clone(&route.guard);
    if let Some(guard) = &raw.guard {
        (rules.is_enabled, rules.only_warns) = (guard.value != "false", guard.value == "warn");
    }
    if let Some(list) = &raw.noise {
        rules.noise = after(list, &rules.noise, |text| Noise::parse(text).ok());
    }
    // An empty text means none, whatever an outer level says.
    if let Some(cookie) = &raw.cookie {
        rules.cookie = GuardCookie::parse(&cookie.value);
    }
    if rules != *route.guard {
        route.guard = Arc::new(rules);
    }
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    let raw = &raw.guard;
    for text in own(&raw.noise) {
        let Err(error) = Noise::parse(&text.value) else { continue };
        let help = match &error {
            NoiseError::Token(_) => {
                "leave it out: pages with a token pass, until the application leaves the token out of them"
            }
            NoiseError::Kind(_) => "the placeholders are {digits}, {number}, {hex}, {time} and {word}",
            NoiseError::NoPlaceholder => "write the part that differs as a placeholder: \"read {digits} times\"",
            NoiseError::Adjacent | NoiseError::Bare => {
                "write the words around the value: \"generated in {number} seconds\""
            }
            NoiseError::Length | NoiseError::TooMany => "write an entry for each value, with the words around it",
        };
        let issue = Issue::error(format!("{} can't be noise: {error}", quoted(&text.value))).at(&text.place);
        issues.push(issue.help(help));
    }
    // The value is a secret, so no message contains it.
    if let Some(cookie) =
        raw.cookie.as_ref().filter(|it| !it.value.is_empty() && GuardCookie::parse(&it.value).is_none())
    {
        let issue = Issue::error("`guard-cookie` is not a list of cookies").at(&cookie.place);
        issues.push(issue.help("write them as a browser sends them: \"name=value; other=value\""));
    }
    check_lengths(&[(&raw.noise, NOISE_MAX)], issues);
}

/// Warns of keys that have no effect where they are written. `is_final`: no inner rule may grant a lifetime.
pub(super) fn warn(raw: &RawGuard, route: &Route, is_final: bool, issues: &mut Vec<Issue>) {
    let written = [
        ("guard-noise", raw.noise.as_ref().filter(|list| !list.value.is_empty()).map(|list| &list.place)),
        ("guard-cookie", raw.cookie.as_ref().filter(|it| !it.value.is_empty()).map(|it| &it.place)),
    ];
    for (key, place) in written.into_iter().filter_map(|(key, place)| Some((key, place?))) {
        if !route.guard.is_enabled {
            let issue = Issue::warning(format!("{} has no effect: `guard` is false here", quoted(key))).at(place);
            issues.push(issue.help("leave one of the two out"));
        } else if is_final && !route.policy.grant.is_granting() {
            let issue = Issue::warning(format!("{} has no effect: no lifetime is granted here", quoted(key))).at(place);
            issues.push(issue.help("write `ttl = \"1h\"` or `ttl-override` beside it, or leave it out"));
        }
    }
}
