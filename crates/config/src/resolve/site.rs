//! Resolves sites and rules.
//!
//! A rule's route is its site's with the rule's own keys on top. A site's route is the defaults of its profile with the keys of the
//! top, of its application, and its own on top. Routes that change no caching rules share them.

use super::listen::WrittenListener;
use super::{
    beaten, changes, compress, cookies, counters, dangers, expiry, fresh_links, gateway, guard, hidden, origins,
    policy, programs, sendfile, shadow, unused, visitors,
};
use crate::applications::Application;
use crate::issue::{Issue, Located};
use crate::line_numbers::LineNumbers;
use crate::raw::{Raw, RawRoute, RawRule, RawSite};
use crate::table::{self, SettingScope};
use crate::{address, bounds, glob, host};
use kasoku_options::{HostPattern, Route, Rule, Site};
use kasoku_semantics::policy::{Policy, Profile};
use std::sync::Arc;

/// Resolves all sites, and reports their faults and what is never reached.
pub(super) fn sites(
    raw: &Raw,
    listeners: &[WrittenListener],
    lines: &LineNumbers,
    issues: &mut Vec<Issue>,
) -> Vec<Site> {
    if raw.sites.is_empty() {
        issues.push(Issue::error("there is no site to serve").help(
            "write a `[[site]]` with `origin = \"http://127.0.0.1:8000\"`, or give `--origin http://127.0.0.1:8000`",
        ));
    }
    check(&raw.route, issues);
    expiry::check_path_parameters(raw.strip_path_parameters.as_ref(), issues);
    let profile = profile(raw.profile.as_ref(), issues).unwrap_or(Profile::Safe);
    let context = SiteDefaults { raw, listeners, lines, profile };
    let sites: Vec<_> = raw.sites.iter().map(|raw| site(raw, &context, issues)).collect();
    let grants = sites.iter().flat_map(routes).any(|route| route.policy.grant.is_granting());
    let top = of_top(&raw.route, lines);
    cookies::warn(&raw.route.cookies, &top, grants, issues);
    dangers::above_the_bound(&raw.route.expiry, top.policy.ttl_max_seconds, issues);
    dangers::shared_hosts(&raw.sites, &sites, issues);
    shadow::warn(&raw.sites, issues);
    unused::warn(&raw.route, sites.iter().flat_map(routes), issues);
    origins::warn_of_two_checks(&sites, issues);
    sites
}

/// What all sites start from.
struct SiteDefaults<'r> {
    raw: &'r Raw,
    listeners: &'r [WrittenListener],
    lines: &'r LineNumbers,
    profile: Profile,
}

fn site(raw: &RawSite, context: &SiteDefaults<'_>, issues: &mut Vec<Issue>) -> Site {
    check(&raw.route, issues);
    let hosts = hosts(raw, issues);
    let name = raw
        .hosts
        .iter()
        .flat_map(|hosts| &hosts.value)
        .next()
        .map_or_else(|| "default".to_owned(), |first| first.value.to_ascii_lowercase());
    let profile = profile(raw.profile.as_ref(), issues).unwrap_or(context.profile);
    let origins = origins::origins(raw.origins.as_ref(), context.listeners, issues);
    let mut route = Route::new(profile, origins);
    guard::set_default(&mut route);
    lay_over(&mut route, &context.raw.route, context.lines);
    let application = application(raw, profile, issues);
    if let Some(application) = &application {
        lay_over(&mut route, &application.route, &application.lines);
    }
    let of_application = application.as_ref().map(|_| route.policy.grant.ignore.clone());
    lay_over(&mut route, &raw.route, context.lines);
    expiry::add_ignored(&mut route, of_application.as_deref().unwrap_or_default());
    let path_parameters = [context.raw.strip_path_parameters.as_ref(), raw.strip_path_parameters.as_ref()];
    route.key = expiry::url_key(raw.key_host.as_ref(), path_parameters, issues);
    expiry::check_path_parameters(raw.strip_path_parameters.as_ref(), issues);
    route.places.site = raw.place.as_ref().map(|place| context.lines.show(place));
    set_origin_host(&mut route, raw.origin_host.as_ref(), issues);
    origins::warn(raw.origins.as_ref(), &raw.route, &route, issues);
    sendfile::warn(&[&context.raw.route.sendfile, &raw.route.sendfile], &route, issues);
    let outer = [&context.raw.route, &raw.route];
    let mut rules: Vec<Rule> = raw.rules.iter().filter_map(|raw| rule(raw, &route, outer, context, issues)).collect();
    if let Some(Application { rules: further, lines, .. }) = &application {
        let context = SiteDefaults { lines, ..*context };
        // Tests check the applications' files. An operator could not fix an issue in them.
        let unread = &mut Vec::new();
        let mut of_application: Vec<Rule> =
            further.iter().filter_map(|raw| rule(raw, &route, outer, &context, unread)).collect();
        // What the site ignores adds to what a rule of the application ignores.
        if raw.route.expiry.ignore.is_some() {
            for rule in &mut of_application {
                expiry::add_ignored(Arc::make_mut(&mut rule.route), &route.policy.grant.ignore);
            }
        }
        rules.extend(of_application);
        hidden::warn(&raw.rules, further, issues);
    }
    gateway::set_lifetime_of_files(&mut route, &outer);
    let is_final = !rules.iter().any(|rule| rule.route.policy.grant.is_granting());
    expiry::warn(&raw.route, &route, is_final, issues);
    visitors::warn(&raw.route.visitors, &route, issues);
    changes::warn(&raw.route.changes, &route, issues);
    counters::warn(&[&raw.route, &context.raw.route], &route, is_final, issues);
    guard::warn(&raw.route.guard, &route, is_final, issues);
    let site = Site { name, hosts, rules, route: Arc::new(route) };
    unused::warn(&raw.route, routes(&site), issues);
    site
}

/// The policy of the application that the site runs.
fn application(raw: &RawSite, profile: Profile, issues: &mut Vec<Issue>) -> Option<Application> {
    let (text, row) = raw.application.as_ref().zip(table::find(SettingScope::Site, "application"))?;
    if profile == Profile::Rfc {
        let issue = Issue::error("`application` can't be used with `profile = \"rfc\"`").at(&text.place);
        let issue =
            issue.help("the policy of an application needs the rules of profile safe: leave one of the two out");
        issues.push(super::with_related(issue, raw.profile.as_ref().map(|it| &it.place), "the site's profile"));
        return None;
    }
    match bounds::one_of(row, text) {
        Ok(number) => Application::read(number),
        Err(issue) => {
            issues.push(issue);
            None
        }
    }
}

/// All routes of a site: its own, and those of its rules.
fn routes(site: &Site) -> impl Iterator<Item = &Route> {
    [&*site.route].into_iter().chain(site.rules.iter().map(|rule| &*rule.route))
}

fn rule(
    raw: &RawRule,
    site: &Route,
    [top, around]: [&RawRoute; 2],
    context: &SiteDefaults<'_>,
    issues: &mut Vec<Issue>,
) -> Option<Rule> {
    check(&raw.route, issues);
    let mut route = site.clone();
    lay_over(&mut route, &raw.route, context.lines);
    route.places.rule = raw.path.as_ref().map(|path| context.lines.show(&path.place));
    set_origin_host(&mut route, raw.origin_host.as_ref(), issues);
    super::set(&mut route.pass, &raw.pass);
    if raw.origins.is_some() {
        route.origins = origins::origins(raw.origins.as_ref(), context.listeners, issues);
    }
    origins::warn(raw.origins.as_ref(), &raw.route, &route, issues);
    expiry::warn(&raw.route, &route, true, issues);
    beaten::warn(raw, &route, [around, top], issues);
    visitors::warn(&raw.route.visitors, &route, issues);
    changes::warn(&raw.route.changes, &route, issues);
    counters::warn(&[&raw.route], &route, true, issues);
    guard::warn(&raw.route.guard, &route, true, issues);
    sendfile::warn(&[&raw.route.sendfile], &route, issues);
    unused::warn(&raw.route, std::iter::once(&route), issues);
    let path = raw.path.as_ref()?;
    match glob::parse_path_pattern(&path.value) {
        Ok(path) => {
            gateway::set_prefix_of_rule(&mut route, &path);
            gateway::set_lifetime_of_files(&mut route, &[top, around, &raw.route]);
            Some(Rule { path: path.into(), route: Arc::new(route) })
        }
        Err(fault) => {
            issues.push(fault.at(&path.place));
            None
        }
    }
}

/// The route that the keys of the top make by themselves.
fn of_top(raw: &RawRoute, lines: &LineNumbers) -> Route {
    let mut route = Route::new(Profile::Safe, Vec::new());
    guard::set_default(&mut route);
    lay_over(&mut route, raw, lines);
    route
}

/// Lays the keys that may stand at the top, in a site and in a rule over a route. The route also notes where each stands: levels are
/// laid from the outside in, so the innermost place stays.
fn lay_over(route: &mut Route, raw: &RawRoute, lines: &LineNumbers) {
    route.places.settings.extend(raw.written.iter().map(|(key, place)| (*key, lines.show(place))));
    let mut policy = Policy::clone(&route.policy);
    policy::set_cache(&mut policy, &raw.cache);
    expiry::set_policy(&mut policy, &raw.expiry);
    cookies::set_route(route, &mut policy, &raw.cookies);
    visitors::set_route(route, &mut policy, &raw.visitors);
    changes::set_route(route, &mut policy, &raw.changes);
    counters::set_route(route, raw);
    fresh_links::set_route(route, &raw.visitors);
    guard::set_route(route, &raw.guard);
    if policy != *route.policy {
        route.policy = Arc::new(policy);
    }
    policy::set_query(&mut route.query, &raw.query);
    compress::set_compression(Arc::make_mut(&mut route.compression), &raw.compress);
    policy::set_origin_limits(&mut route.origin, &raw.origin_limits);
    gateway::set_gateway(&mut route.gateway, &raw.gateway);
    if let Some(rate) = &raw.gateway.files.rate_max {
        route.file_rate_max = rate.value;
    }
    programs::set_programs(&mut route.origin.programs, &mut route.gateway, &raw.programs);
    origins::set_balance(&mut route.balance, raw.balance.as_ref());
    origins::set_health(&mut route.health, &raw.health);
    sendfile::set_sendfile(&mut route.sendfile, &raw.sendfile);
    if let Some(buffers) = &raw.request_buffering {
        route.request_buffering = Some(buffers.value);
    }
}

/// Reports the faults of these keys, once for each place where they are written.
fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    policy::check(raw, issues);
    dangers::check(raw, issues);
    expiry::check(raw, issues);
    cookies::check(&raw.cookies, issues);
    visitors::check(raw, issues);
    changes::check(raw, issues);
    counters::check(raw, issues);
    fresh_links::check(&raw.visitors, issues);
    guard::check(raw, issues);
    compress::check(&raw.compress, issues);
    origins::check(raw, issues);
    gateway::check(&raw.gateway, issues);
    programs::check(&raw.programs, issues);
    sendfile::check(&raw.sendfile, issues);
}

fn hosts(raw: &RawSite, issues: &mut Vec<Issue>) -> Vec<HostPattern> {
    let mut hosts = Vec::new();
    for text in raw.hosts.iter().flat_map(|hosts| &hosts.value) {
        match host::parse_pattern(&text.value) {
            Ok(pattern) => hosts.push(pattern),
            Err(fault) => issues.push(fault.at(&text.place)),
        }
    }
    hosts
}

fn profile(text: Option<&Located<String>>, issues: &mut Vec<Issue>) -> Option<Profile> {
    let row = table::find(SettingScope::Top, "profile")?;
    match bounds::one_of(row, text?) {
        Ok(0) => Some(Profile::Safe),
        Ok(_) => Some(Profile::Rfc),
        Err(issue) => {
            issues.push(issue);
            None
        }
    }
}

fn set_origin_host(route: &mut Route, written: Option<&Located<String>>, issues: &mut Vec<Issue>) {
    let Some(text) = written else { return };
    match address::parse_origin_host(&text.value) {
        Ok(host) => route.origin_host = Some(host),
        Err(fault) => issues.push(fault.at(&text.place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_text;
    use kasoku_options::SettingLocations;

    const TEXT: &str = "profile = \"rfc\"\n\n[cache]\nnegative-ttl = \"1s\"\nstale-disconnected = \"1s\"\n\n[[site]]\n\
        origin = \"http://127.0.0.1:1\"\nprofile = \"safe\"\n[site.cache]\nnegative-ttl = \"2s\"\n\n[[site.rule]]\n\
        path = \"/a/*\"\npass = true\ncache = { negative-ttl = \"3s\" }\n";

    #[test]
    fn the_innermost_line_is_named() {
        let (options, issues) = check_text(TEXT);
        let options = options.unwrap_or_else(|| panic!("{issues:?}"));
        let site = &options.sites[0];
        let of = |places: &SettingLocations, key| places.settings.get(key).map(|place| place.to_string());
        let line = |number: usize| Some(format!("kasoku.toml:{number}"));
        let places = &site.route.places;
        assert_eq!((places.site.as_deref(), places.rule.as_deref()), (Some("kasoku.toml:7"), None));
        assert_eq!(of(places, "profile"), line(9));
        assert_eq!(of(places, "cache.negative-ttl"), line(11));
        assert_eq!(of(places, "cache.stale-disconnected"), line(5));
        assert_eq!((of(places, "pass"), of(places, "query.sort")), (None, None));
        let places = &site.rules[0].route.places;
        assert_eq!((places.site.as_deref(), places.rule.as_deref()), (Some("kasoku.toml:7"), Some("kasoku.toml:14")));
        assert_eq!(of(places, "pass"), line(15));
        assert_eq!(of(places, "cache.negative-ttl"), line(16));
    }

    #[test]
    fn each_setting_of_a_route_has_a_place() {
        let is_of_a_route = |row: &&table::Setting| {
            [SettingScope::Top, SettingScope::Rule].iter().all(|scope| row.scopes.contains(scope))
        };
        let rows: Vec<_> = table::settings().filter(is_of_a_route).collect();
        let text: String = rows.iter().map(|row| format!("{} = {}\n", row.path, row.example)).collect();
        assert!(rows.len() >= 60, "{}", rows.len());
        let (options, issues) = check_text(&format!("{text}[[site]]\norigin = \"http://127.0.0.1:1\"\n"));
        let options = options.unwrap_or_else(|| panic!("{issues:?}\n{text}"));
        for row in rows {
            let places = &options.sites[0].route.places;
            assert!(places.settings.contains_key(row.path), "{} has no place", row.path);
        }
    }
}
