//! Warns of sites, hosts and rules that are never reached, since an earlier one always matches first.
//!
//! These are warnings, as the configuration is valid. Only certain cases are reported; a rule that two earlier ones
//! cover together is not found.

use crate::issue::{Issue, Located, SourceLocation, quoted};
use crate::raw::{RawRule, RawSite};
use crate::{glob, host};
use kasoku_options::HostPattern;

/// The most pairs that are compared, so that the check of a very long file stays short.
pub(super) const PAIRS_MAX: usize = 1_000_000;

/// Warns of sites, hosts and rules that are never reached.
pub(super) fn warn(sites: &[RawSite], issues: &mut Vec<Issue>) {
    let mut pairs = 0;
    let mut earlier: Vec<(&Located<String>, HostPattern)> = Vec::new();
    let mut takes_all: Option<&SourceLocation> = None;
    for site in sites {
        if let (Some(place), Some(all)) = (&site.place, takes_all) {
            let issue = Issue::warning("the site is never reached").at(place);
            issues.push(
                issue
                    .related(all, "this site serves every host")
                    .help("put the site without `hosts` last, or give it `hosts`"),
            );
        } else {
            warn_of_hosts(site, &mut earlier, &mut pairs, issues);
        }
        if site.hosts.as_ref().is_none_or(|hosts| hosts.value.is_empty()) {
            takes_all = takes_all.or(site.place.as_ref());
        }
        warn_of_rules(&site.rules, &mut pairs, issues);
    }
}

fn warn_of_hosts<'r>(
    site: &'r RawSite,
    earlier: &mut Vec<(&'r Located<String>, HostPattern)>,
    pairs: &mut usize,
    issues: &mut Vec<Issue>,
) {
    for text in site.hosts.iter().flat_map(|hosts| &hosts.value) {
        let Ok(pattern) = host::parse_pattern(&text.value) else { continue };
        *pairs += earlier.len();
        let winner = earlier.iter().find(|(_, other)| *pairs <= PAIRS_MAX && host::covers(other, &pattern));
        if let Some((first, _)) = winner {
            let issue =
                Issue::warning(format!("requests for {} never reach this site", quoted(&text.value))).at(&text.place);
            issues.push(
                issue
                    .related(&first.place, "this matches it first")
                    .help("the first site that matches serves the request"),
            );
        }
        earlier.push((text, pattern));
    }
}

fn warn_of_rules(rules: &[RawRule], pairs: &mut usize, issues: &mut Vec<Issue>) {
    let mut earlier: Vec<&Located<String>> = Vec::new();
    for path in rules.iter().filter_map(|rule| rule.path.as_ref()) {
        if glob::parse_path_pattern(&path.value).is_err() {
            continue;
        }
        if path.value.contains(['?', '#']) {
            let issue = Issue::warning(format!("the rule for {} never matches", quoted(&path.value))).at(&path.place);
            issues.push(issue.help(
                "paths are compared without the query, and `?` stands for itself: use `*`, or leave the query out",
            ));
        }
        *pairs += earlier.len();
        let winner = earlier.iter().find(|other| *pairs <= PAIRS_MAX && glob::covers(&other.value, &path.value));
        if let Some(first) = winner {
            let issue =
                Issue::warning(format!("the rule for {} is never reached", quoted(&path.value))).at(&path.place);
            issues.push(
                issue
                    .related(&first.place, "this matches all of its paths first")
                    .help("the first rule that matches decides: put the narrower one first"),
            );
        }
        earlier.push(path);
    }
}
