//! Warns of settings that may do more than was meant: of lifetimes, and of what is in the key.
//!
//! Each warning says what happens to which visitors, since this module can't know whether that is intended. `expiry` warns of the
//! dangers of `ignore`.

use super::shadow::PAIRS_MAX;
use crate::host::covers;
use crate::issue::{Issue, Located, SourceLocation, quoted};
use crate::raw::{LocatedTexts, RawExpiry, RawRoute, RawSite};
use crate::value::{show_duration, statuses_of};
use kasoku_options::{HostPattern, Site};
use std::collections::HashMap;
use std::time::Duration;

/// The longest lifetime of an application's error that causes no warning: the error may outlive its cause by that much.
const FAILURE_TTL_MAX: Duration = Duration::from_secs(5 * 60);

/// The same for a client's error, except `404` and `410`: those say something lasting about a URL.
const REFUSAL_TTL_MAX: Duration = Duration::from_secs(60 * 60);

/// Warns of the dangers of single keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    warn_of_everything(
        &raw.query.ignore,
        "`/search?q=a` and `/search?q=b` are one page, and the application sees no parameters",
        "name the parameters that change no page: \"utm_*\"",
        issues,
    );
    errors_for_long(raw.expiry.ttl_status.as_deref().unwrap_or_default(), issues);
}

/// Warns of patterns of a list that match everything.
pub(super) fn warn_of_everything(list: &Option<LocatedTexts>, becomes: &str, help: &str, issues: &mut Vec<Issue>) {
    for text in list.iter().flat_map(|list| &list.value).filter(|text| is_everything(&text.value)) {
        let issue = Issue::warning(format!("{} matches everything: {becomes}", quoted(&text.value)));
        issues.push(issue.at(&text.place).help(help));
    }
}

/// Whether a glob matches each name.
pub(super) fn is_everything(glob: &str) -> bool {
    !glob.is_empty() && glob.bytes().all(|byte| byte == b'*')
}

/// Warns of each entry that keeps an error for long. Of several that fit a status the narrowest counts.
fn errors_for_long(statuses: &[(Located<String>, Located<Duration>)], issues: &mut Vec<Issue>) {
    let entries: Vec<_> = statuses
        .iter()
        .filter_map(|(status, ttl)| statuses_of(&status.value).map(|(first, last)| (first, last, status, ttl)))
        .collect();
    let mut told: Vec<&SourceLocation> = Vec::new();
    for code in 400..600 {
        let fits = entries.iter().filter(|(first, last, ..)| (*first..=*last).contains(&code));
        let Some((_, _, status, ttl)) = fits.min_by_key(|(first, last, ..)| last - first) else { continue };
        let Some(max) = longest(code) else { continue };
        if ttl.value <= max || told.contains(&&status.place) {
            continue;
        }
        told.push(&status.place);
        let message = match code {
            500.. => {
                format!("an error of the application is served to all visitors for {}", show_duration(ttl.value))
            }
            _ => {
                format!("a refusal of one visitor ({code}) is served to all visitors for {}", show_duration(ttl.value))
            }
        };
        let help = match status.value.parse::<u16>() {
            Ok(_) => format!("up to \"{}\" there is no warning", show_duration(max)),
            Err(_) => {
                format!(
                    "name the statuses that are to be stored for long, like `404`, and give the rest \"{}\"",
                    show_duration(max)
                )
            }
        };
        issues.push(Issue::warning(message).at(&ttl.place).related(&status.place, "for this status").help(help));
    }
}

/// How long an error of that status may be stored without a warning; none: for any time, or it is never stored.
fn longest(code: u16) -> Option<Duration> {
    match code {
        404 | 410 | 407 | 412 | 416 => None,
        400..500 => Some(REFUSAL_TTL_MAX),
        500.. => Some(FAILURE_TTL_MAX),
        _ => None,
    }
}

/// Warns of lifetimes, written here, that are longer than the `ttl-max` that holds here.
pub(super) fn above_the_bound(raw: &RawExpiry, max_seconds: u64, issues: &mut Vec<Issue>) {
    let of_status = raw.ttl_status.iter().flatten().map(|(_, ttl)| ("ttl-status", ttl));
    let of_all = [("ttl", &raw.ttl), ("ttl-override", &raw.ttl_override)];
    let written = of_all.into_iter().filter_map(|(key, ttl)| Some((key, ttl.as_ref()?))).chain(of_status);
    for (key, ttl) in written.filter(|(_, ttl)| max_seconds > 0 && ttl.value.as_secs() > max_seconds) {
        let max = show_duration(Duration::from_secs(max_seconds));
        let issue =
            Issue::warning(format!("`{key}` is {}, but `ttl-max` ends it after {max}", show_duration(ttl.value)));
        let issue = super::with_related(issue.at(&ttl.place), raw.ttl_max.as_ref().map(|max| &max.place), "the limit");
        issues.push(issue.help("write a shorter lifetime, or a longer `ttl-max` beside it"));
    }
}

/// Warns of sites whose keys have the host of another site. They never serve each other's pages, unless their rules and origins are
/// the same, but each replaces what the other has stored.
pub(super) fn shared_hosts(raw: &[RawSite], sites: &[Site], issues: &mut Vec<Issue>) {
    let mut named: HashMap<&str, &SourceLocation> = HashMap::new();
    let mut pairs = 0;
    for (number, own) in raw.iter().enumerate() {
        let host = sites.get(number).and_then(|site| site.route.key.host.as_deref());
        let Some((text, host)) = own.key_host.as_ref().zip(host) else { continue };
        let first = named.get(host).map(|place| (*place, "named here as well"));
        named.entry(host).or_insert(&text.place);
        pairs += sites.len();
        let server = raw.iter().zip(sites).position(|(_, site)| pairs <= PAIRS_MAX && serves(site, host));
        let server = server.filter(|server| *server != number).and_then(|server| raw.get(server));
        let server = server.filter(|other| other.key_host.is_none()).and_then(|other| {
            let place = other.hosts.as_ref().map(|hosts| &hosts.place).or(other.place.as_ref())?;
            Some((place, "this site serves it"))
        });
        let Some((other, label)) = first.or(server) else { continue };
        let issue = Issue::warning(format!(
            "{} is in the keys of another site, too: each replaces what the other has stored",
            quoted(&text.value)
        ));
        let help = "put their hosts into one site, or give this one a `key-host` of its own";
        issues.push(issue.at(&text.place).related(other, label).help(help));
    }
}

/// Whether a site's `hosts` match an authority; its port does not count.
fn serves(site: &Site, authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let host = HostPattern::Exact(host.to_owned());
    site.hosts.is_empty() || site.hosts.iter().any(|pattern| covers(pattern, &host))
}
