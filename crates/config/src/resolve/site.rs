//! Sites and rules.
//!
//! A rule's route is its site's with the rule's own keys on top; a site's is the defaults of its profile with the keys
//! of the top and its own on top. Routes that add nothing to the caching rules share them.

use super::listen::WrittenListener;
use super::{is_flag, policy, shadow};
use crate::issue::{At, Issue, Place, quoted};
use crate::raw::{Raw, RawRoute, RawRule, RawSite, Texts};
use crate::table::{self, Scope};
use crate::{address, bounds, glob, host};
use kasoku_engine::options::{HostPattern, ListenAddress, OriginAddress, Route, Rule, Site};
use kasoku_semantics::policy::{Policy, Profile};
use std::net::IpAddr;
use std::sync::Arc;

/// All sites, each with its faults; and what can never get its turn.
pub(super) fn sites(raw: &Raw, listeners: &[WrittenListener], issues: &mut Vec<Issue>) -> Vec<Site> {
    if raw.sites.is_empty() {
        issues.push(Issue::error("there is no site to serve").help(
            "write a `[[site]]` with `origin = \"http://127.0.0.1:8000\"`, or give `--origin http://127.0.0.1:8000`",
        ));
    }
    policy::check(&raw.route, issues);
    let profile = profile(raw.profile.as_ref(), issues).unwrap_or(Profile::Safe);
    let context = Context { raw, listeners, profile };
    let sites = raw.sites.iter().map(|raw| site(raw, &context, issues)).collect();
    shadow::warn(&raw.sites, issues);
    sites
}

/// What all sites start from.
struct Context<'r> {
    raw: &'r Raw,
    listeners: &'r [WrittenListener],
    profile: Profile,
}

fn site(raw: &RawSite, context: &Context<'_>, issues: &mut Vec<Issue>) -> Site {
    policy::check(&raw.route, issues);
    let hosts = hosts(raw, issues);
    let name = raw
        .hosts
        .iter()
        .flat_map(|hosts| &hosts.value)
        .next()
        .map_or_else(|| "default".to_owned(), |first| first.value.to_ascii_lowercase());
    let profile = profile(raw.profile.as_ref(), issues).unwrap_or(context.profile);
    let mut route = Route::new(profile, origins(raw.origins.as_ref(), context, issues));
    lay_over(&mut route, &context.raw.route);
    lay_over(&mut route, &raw.route);
    set_origin_host(&mut route, raw.origin_host.as_ref(), issues);
    let rules = raw.rules.iter().filter_map(|raw| rule(raw, &route, context, issues)).collect();
    Site { name, hosts, rules, route: Arc::new(route) }
}

fn rule(raw: &RawRule, site: &Route, context: &Context<'_>, issues: &mut Vec<Issue>) -> Option<Rule> {
    policy::check(&raw.route, issues);
    let mut route = site.clone();
    lay_over(&mut route, &raw.route);
    set_origin_host(&mut route, raw.origin_host.as_ref(), issues);
    super::set(&mut route.pass, &raw.pass);
    if raw.origins.is_some() {
        route.origins = origins(raw.origins.as_ref(), context, issues);
    }
    let path = raw.path.as_ref()?;
    match glob::parse_path_pattern(&path.value) {
        Ok(path) => Some(Rule { path, route: Arc::new(route) }),
        Err(fault) => {
            issues.push(fault.at(&path.place));
            None
        }
    }
}

/// Lays the keys that may stand at the top, in a site and in a rule over a route.
fn lay_over(route: &mut Route, raw: &RawRoute) {
    let mut policy = Policy::clone(&route.policy);
    policy::set_cache(&mut policy, &raw.cache);
    if policy != *route.policy {
        route.policy = Arc::new(policy);
    }
    policy::set_query(&mut route.query, &raw.query);
    policy::set_origin_limits(&mut route.origin, &raw.origin_limits);
    if let Some(upgrades) = &raw.upgrades {
        route.upgrades = upgrades.value.iter().map(|protocol| protocol.value.to_ascii_lowercase()).collect();
    }
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

fn profile(text: Option<&At<String>>, issues: &mut Vec<Issue>) -> Option<Profile> {
    let row = table::find(Scope::Top, "profile")?;
    match bounds::one_of(row, text?) {
        Ok(0) => Some(Profile::Safe),
        Ok(_) => Some(Profile::Rfc),
        Err(issue) => {
            issues.push(issue);
            None
        }
    }
}

fn origins(written: Option<&Texts>, context: &Context<'_>, issues: &mut Vec<Issue>) -> Vec<OriginAddress> {
    let mut origins = Vec::new();
    let Some(written) = written else { return origins };
    if written.value.is_empty() {
        issues.push(
            Issue::error("there is no origin in the list")
                .at(&written.place)
                .help("like `origin = \"http://127.0.0.1:8000\"`"),
        );
    }
    for text in &written.value {
        match address::parse_origin(&text.value) {
            Ok(origin) => {
                if let Some(listener) =
                    context.listeners.iter().find(|listener| is_same(&origin, &listener.value.address))
                {
                    issues.push(loops(text, listener.written.as_ref().map(|written| &written.place)));
                }
                origins.push(origin);
            }
            Err(fault) => issues.push(fault.at(&text.place)),
        }
    }
    origins
}

/// Whether requests to that origin would come back to us.
fn is_same(origin: &OriginAddress, listener: &ListenAddress) -> bool {
    match (origin, listener) {
        (OriginAddress::Tcp { host, port }, ListenAddress::Tcp(address)) if *port == address.port() => {
            let ip = if host == "localhost" { Some(IpAddr::from([127, 0, 0, 1])) } else { host.parse().ok() };
            ip.is_some_and(|ip: IpAddr| ip == address.ip() || address.ip().is_unspecified() && ip.is_loopback())
        }
        (OriginAddress::Unix(origin), ListenAddress::Unix(listener)) => origin == listener,
        _ => false,
    }
}

fn loops(text: &At<String>, listener: Option<&Place>) -> Issue {
    let issue = Issue::error(format!(
        "{} is where Kasoku itself listens: requests would go round for ever",
        quoted(&text.value)
    ));
    let words = if is_flag(&text.place) {
        "give the application's own address, or another `--listen`"
    } else {
        "write the application's own address, or another `listen`"
    };
    super::with_related(issue.at(&text.place).help(words), listener, "the listener")
}

fn set_origin_host(route: &mut Route, written: Option<&At<String>>, issues: &mut Vec<Issue>) {
    let Some(text) = written else { return };
    match address::parse_origin_host(&text.value) {
        Ok(host) => route.origin_host = Some(host),
        Err(fault) => issues.push(fault.at(&text.place)),
    }
}
