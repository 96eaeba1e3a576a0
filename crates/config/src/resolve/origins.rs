//! Resolves the origins of a site or rule, how requests are spread over them, and when one counts as down.
//!
//! Faults and warnings are reported where the list stands. `weight` and `balance` are checked when the route is complete, since
//! each may come from further outside.

use super::listen::WrittenListener;
use super::{is_flag, set, with_related};
use crate::issue::{Issue, Located, SourceLocation, ValueError, quoted};
use crate::raw::{RawHealth, RawOrigin, RawOrigins, RawRoute};
use crate::table::{self, SettingScope};
use crate::{address, bounds};
use kasoku_options::{
    Balance, ListenAddress, ORIGINS_MAX, OriginAddress, OriginEndpoint, OriginHealth, OriginOptions, Route, Site,
};
use std::collections::HashMap;
use std::net::IpAddr;

/// The longest path of a check, in bytes.
const CHECK_PATH_BYTES_MAX: usize = 2048;

/// The origins of a list; those with a fault are left out.
pub(super) fn origins(
    written: Option<&RawOrigins>,
    listeners: &[WrittenListener],
    issues: &mut Vec<Issue>,
) -> Vec<OriginOptions> {
    let Some(written) = written else { return Vec::new() };
    if written.value.is_empty() {
        issues.push(
            Issue::error("there is no origin in the list")
                .at(&written.place)
                .help("like `origin = \"http://127.0.0.1:8000\"`"),
        );
    }
    if let Some(surplus) = written.value.get(ORIGINS_MAX) {
        let issue = Issue::error(format!("there are more than {ORIGINS_MAX} origins")).at(&surplus.place);
        issues.push(issue.help("put a load balancer in front of the rest"));
    }
    let mut first_of: HashMap<OriginAddress, &SourceLocation> = HashMap::new();
    let mut origins = Vec::new();
    for raw in &written.value {
        let Some(origin) = origin(raw, listeners, issues) else { continue };
        let place = raw.url.as_ref().map_or(&raw.place, |url| &url.place);
        if let Some(first) = first_of.get(&origin.address) {
            let issue = Issue::warning(format!("{} is in the list twice", quoted(&origin.address.to_string())));
            issues.push(issue.at(place).related(first, "the first").help("give it a `weight` instead"));
        }
        first_of.entry(origin.address.clone()).or_insert(place);
        origins.push(origin);
    }
    if !origins.is_empty() && origins.iter().all(|origin| origin.is_backup) {
        let issue = Issue::warning("all origins are backups, so they are asked as if none were").at(&written.place);
        issues.push(issue.help("remove `backup` from those that are to be asked first"));
    }
    origins
}

fn origin(raw: &RawOrigin, listeners: &[WrittenListener], issues: &mut Vec<Issue>) -> Option<OriginOptions> {
    let text = raw.url.as_ref()?;
    let address = address::parse_origin(&text.value).map_err(|fault| issues.push(fault.at(&text.place))).ok()?;
    if let Some(listener) = listeners.iter().find(|listener| is_same(&address, &listener.value.address)) {
        issues.push(loops(text, listener.written.as_ref().map(|written| &written.place)));
    }
    let mut origin = OriginOptions::from(address);
    if let Some(weight) = &raw.weight {
        origin.weight = u32::try_from(weight.value).unwrap_or(u32::MAX);
    }
    set(&mut origin.is_backup, &raw.backup);
    origin.connections_max = raw.connections_max.as_ref().map(|max| usize::try_from(max.value).unwrap_or(usize::MAX));
    Some(origin)
}

/// Whether requests to that origin would come back to Kasoku.
fn is_same(origin: &OriginAddress, listener: &ListenAddress) -> bool {
    let Some(endpoint) = origin.endpoint() else { return false };
    match (endpoint, listener) {
        (OriginEndpoint::Tcp { host, port }, ListenAddress::Tcp(address)) if *port == address.port() => {
            let ip = if host == "localhost" { Some(IpAddr::from([127, 0, 0, 1])) } else { host.parse().ok() };
            ip.is_some_and(|ip: IpAddr| ip == address.ip() || address.ip().is_unspecified() && ip.is_loopback())
        }
        (OriginEndpoint::Unix(origin), ListenAddress::Unix(listener)) => origin == listener,
        _ => false,
    }
}

fn loops(text: &Located<String>, listener: Option<&SourceLocation>) -> Issue {
    let issue =
        Issue::error(format!("{} is where Kasoku itself listens: requests would go in a circle", quoted(&text.value)));
    let words = if is_flag(&text.place) {
        "give the application's own address, or another `--listen`"
    } else {
        "write the application's own address, or another `listen`"
    };
    with_related(issue.at(&text.place).help(words), listener, "the listener")
}

/// Warns of a `balance` or a `weight` that has no effect on the complete route.
pub(super) fn warn(written: Option<&RawOrigins>, raw: &RawRoute, route: &Route, issues: &mut Vec<Issue>) {
    if let (Some(balance), [_]) = (&raw.balance, route.origins.as_slice())
        && route.balance != Balance::First
    {
        let issue = Issue::warning(format!("{} has no effect: there is one origin", quoted(&balance.value)));
        issues.push(issue.at(&balance.place).help("write a list of origins, or leave `balance` out"));
    }
    let weights = written.iter().flat_map(|written| &written.value).filter_map(|origin| origin.weight.as_ref());
    if let Some(weight) = weights.into_iter().next()
        && route.balance == Balance::First
    {
        let issue = Issue::warning("the weight has no effect: the first origin that can be asked gets all requests")
            .at(&weight.place);
        issues.push(issue.help("write `balance = \"round-robin\"` or `balance = \"hash\"`"));
    }
}

/// Warns of origins that two routes want to check differently: an origin has only one check.
pub(super) fn warn_of_two_checks(sites: &[Site], issues: &mut Vec<Issue>) {
    let check = |health: &OriginHealth| OriginHealth {
        failures: 0,
        back_off: std::time::Duration::ZERO,
        back_off_max: std::time::Duration::ZERO,
        ..health.clone()
    };
    let mut checks: HashMap<&OriginAddress, OriginHealth> = HashMap::new();
    let routes =
        sites.iter().flat_map(|site| [&site.route].into_iter().chain(site.rules.iter().map(|rule| &rule.route)));
    let mut told = Vec::new();
    for route in routes.filter(|route| route.health.path.is_some()) {
        for origin in &route.origins {
            let first = checks.entry(&origin.address).or_insert_with(|| check(&route.health));
            if *first != check(&route.health) && !told.contains(&&origin.address) {
                told.push(&origin.address);
            }
        }
    }
    for address in told {
        let issue = Issue::warning(format!("{} is checked in two ways", quoted(&address.to_string())));
        issues.push(
            issue.help("an origin has only one check, the first in the file: give both the same `origin-health`"),
        );
    }
}

/// Lays the written `balance` over another.
pub(super) fn set_balance(balance: &mut Balance, written: Option<&Located<String>>) {
    let row = table::find(SettingScope::Top, "balance");
    match written.zip(row).and_then(|(text, row)| bounds::one_of(row, text).ok()) {
        Some(0) => *balance = Balance::First,
        Some(1) => *balance = Balance::RoundRobin,
        Some(_) => *balance = Balance::Hash,
        None => {}
    }
}

/// Lays written rules of health over others.
pub(super) fn set_health(health: &mut OriginHealth, raw: &RawHealth) {
    let count = |option: &mut u32, written: &Option<Located<u64>>| {
        if let Some(written) = written {
            *option = u32::try_from(written.value).unwrap_or(u32::MAX);
        }
    };
    count(&mut health.failures, &raw.failures);
    set(&mut health.back_off, &raw.back_off);
    set(&mut health.interval, &raw.interval);
    set(&mut health.timeout, &raw.timeout);
    if let Some(path) = &raw.path {
        health.path = Some(path.value.clone());
    }
    if let Some(Ok(statuses)) = raw.expect.as_ref().map(|text| statuses(&text.value)) {
        health.expect = statuses;
    }
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    if let Some((text, row)) = raw.balance.as_ref().zip(table::find(SettingScope::Top, "balance")) {
        issues.extend(bounds::one_of(row, text).err());
    }
    if let Some(text) = &raw.health.path {
        let is_path = text.value.starts_with('/')
            && text.value.len() <= CHECK_PATH_BYTES_MAX
            && text.value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !is_path {
            let issue = Issue::error(format!("{} is not the path of a check", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("it starts with `/` and is written as in a request: \"/healthz\""));
        }
    }
    if let Some(text) = &raw.health.expect {
        issues.extend(statuses(&text.value).err().map(|fault| fault.at(&text.place)));
    }
}

/// `200`, or `200-399`.
fn statuses(text: &str) -> Result<(u16, u16), ValueError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let status = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (200..=599).contains(status));
    match (status(first), status(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => Err(ValueError::new(
            format!("{} is no status, and no range of statuses, from 200 to 599", quoted(text)),
            "write one, like \"200\", or the first and the last, like \"200-399\"",
        )),
    }
}
