//! Finds the rule in which proposed lines would stand. It must not be wider than the pattern of which a page was compared.
//!
//! A rule like `*.php` of an application's policy also matches the pages at which people log in, and the comparison of one page
//! says nothing about those. So the lines go into a rule of their own, for the script's own path, unless the rule that decides
//! now matches nothing else. Where the path needs a `*`, it may match more than the pattern. Then nothing is proposed if it also
//! matches another pattern that was seen, or, for a new rule, the path of another rule.
//!
//! The first rule that matches a URL decides. So a new rule takes its URLs from the rule that decides now, with all lines of that
//! rule. Where that rule has lines of its own, nothing is proposed, since they would be lost.

use crate::request::route::{Routed, serving};
use crate::sites::{ActiveRoute, ActiveRule, ActiveSite};
use kasoku_options::SettingLocations;
use kasoku_options::glob::{matches, overlap};
use kasoku_semantics::query::path_and_query;
use std::sync::Arc;

const NO_PATH: &str = "no rule can match these URLs alone: their path can't be written as a pattern";
const OTHERS: &str =
    "no rule can match these URLs alone: a path that matches them also matches URLs of another rule or another pattern";
const OWN_LINES: &str = "the rule of these URLs has lines of its own, and it matches other URLs as well or belongs to an application's policy: a new rule for these URLs alone would stand before it and lack its lines";

/// Where proposed lines would stand.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// The path of the rule.
    pub(super) path: String,
    /// Where that rule is written; `None`: it is a new rule.
    pub(super) place: Option<String>,
    /// What follows from the rule's place among the rules: a sentence for people.
    pub(super) order: String,
}

/// A pattern that was seen on a site.
pub(super) struct SeenPattern<'s> {
    site: &'s str,
    /// The pattern without its host and its class.
    shape: &'s str,
}

impl<'s> SeenPattern<'s> {
    /// Reads a pattern as cases name it; `None`: no site serves it any more.
    pub(super) fn of(sites: &'s [ActiveSite], pattern: &'s str) -> Option<Self> {
        let authority = pattern.split('/').next()?;
        Some(Self { site: &serving(sites, authority)?.name, shape: shape(pattern) })
    }
}

/// Where lines for a pattern would stand, or why there is no place for them.
pub(super) fn placement(
    site: &ActiveSite,
    routed: &Routed,
    pattern: &str,
    seen: &[SeenPattern<'_>],
) -> Result<Placement, &'static str> {
    let path = path_of(pattern, routed.read_target()).ok_or(NO_PATH)?;
    let rule = site.rules.iter().find(|rule| Arc::ptr_eq(&rule.route, &routed.route));
    let own = rule.filter(|rule| matches(&path, rule.path.as_str()) && !is_of_policy(&rule.route.places));
    if own.is_none() {
        may_precede(site, rule, &path)?;
    }
    let path = own.map_or(path, |own| own.path.to_string());
    let is_other = |other: &&SeenPattern<'_>| other.site == site.name && other.shape != shape(pattern);
    if path.contains('*') && seen.iter().filter(is_other).any(|other| overlap(&path, &glob_of(other.shape, NUMBER))) {
        return Err(OTHERS);
    }
    let place = |rule: &ActiveRule| rule.route.places.rule.as_deref().unwrap_or("the configuration").to_owned();
    let order = match (own, rule) {
        (Some(_), _) => format!("the lines apply to all URLs with the path {path}, whatever their parameters"),
        (None, Some(rule)) => format!(
            "the first rule that matches a URL decides: put this one before the rule of {} (path = \"{}\"), which then no longer applies to {path}, whatever its parameters",
            place(rule),
            rule.path
        ),
        (None, None) => format!("the rule applies to all URLs with the path {path}, whatever their parameters"),
    };
    Ok(Placement { path, place: own.map(place), order })
}

/// Checks that a new rule for a path may stand before all others. `rule`: the one that decides about the pattern now.
fn may_precede(site: &ActiveSite, rule: Option<&ActiveRule>, path: &str) -> Result<(), &'static str> {
    if rule.is_some_and(|rule| has_lines_of_its_own(&rule.route, &site.route)) {
        return Err(OWN_LINES);
    }
    let is_rule = |other: &ActiveRule| rule.is_some_and(|rule| Arc::ptr_eq(&rule.route, &other.route));
    let takes_from_others = match path.contains('*') {
        true => site.rules.iter().any(|other| !is_rule(other) && overlap(other.path.as_str(), path)),
        // A short address may have another rule than the script for which it stands.
        false => match site.rules.iter().find(|other| matches(other.path.as_str(), path)) {
            Some(first) => !is_rule(first),
            None => false,
        },
    };
    if takes_from_others { Err(OTHERS) } else { Ok(()) }
}

/// Whether a rule has settings that differ from the site's own.
fn has_lines_of_its_own(rule: &ActiveRoute, site: &ActiveRoute) -> bool {
    let written = |route: &ActiveRoute| {
        let mut settings = route.places.settings.clone();
        settings.remove("path");
        settings
    };
    (rule.policy.rules, &rule.origins, &rule.refuse_urls, &rule.upgrades)
        != (site.policy.rules, &site.origins, &site.refuse_urls, &site.upgrades)
        || written(rule) != written(site)
}

/// Whether a rule is written in an application's policy, which operators do not edit.
fn is_of_policy(places: &SettingLocations) -> bool {
    let file = |place: &Option<Arc<str>>| {
        place.as_deref().and_then(|place| place.rsplit_once(':')).map(|(file, _)| file.to_owned())
    };
    file(&places.site).is_some_and(|site| file(&places.rule).is_some_and(|rule| rule != site))
}

/// The shape of a pattern: `/search?q`.
fn shape(pattern: &str) -> &str {
    let without_class = pattern.split(' ').next().unwrap_or_default();
    without_class.find('/').and_then(|at| without_class.get(at..)).unwrap_or_default()
}

/// Stands for all numbers in a path. A shape writes a number as `{n}`, so no other segment of it is one.
const NUMBER: &str = "0";

/// A glob that matches all paths of a shape. `number`: what stands for a number in it.
fn glob_of(shape: &str, number: &str) -> String {
    let path = shape.split('?').next().unwrap_or_default();
    let names: Vec<&str> = path.split('/').map(|segment| if segment == "{n}" { number } else { segment }).collect();
    names.join("/").replace("**", "*")
}

/// A glob that matches the paths of a pattern; `None`: it would not match the URL from which the pattern was made. `target`: as
/// the application reads it.
fn path_of(pattern: &str, target: &str) -> Option<String> {
    let glob = glob_of(shape(pattern), "*");
    let (path, _) = path_and_query(target);
    matches(&glob, path).then_some(glob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fits_the_url_from_which_the_pattern_was_made() {
        for (pattern, target, path) in [
            ("a.org/search?q", "/search?q=boats", Some("/search")),
            ("a.org/{n}/{n}/*", "/2026/11/a-day-out", Some("/*/*/*")),
            ("a.org/blog/* (mobile, ko)", "/blog/x", Some("/blog/*")),
            ("a.org/", "/", Some("/")),
            ("a.org/bbs/board.php?bo_table&wr_id", "/bbs/board.php?bo_table=free&wr_id=5", Some("/bbs/board.php")),
            ("a.org/a/*/**", "/a/b/c/d", Some("/a/*/*")),
            ("a.org/about", "/%61bout", None),
        ] {
            assert_eq!(path_of(pattern, target).as_deref(), path, "{pattern}");
        }
    }

    #[test]
    fn a_policys_rule_is_in_another_file_than_its_site() {
        let of = |site: Option<&str>, rule: &str| {
            is_of_policy(&SettingLocations {
                site: site.map(Into::into),
                rule: Some(rule.into()),
                ..SettingLocations::default()
            })
        };
        assert!(of(Some("kasoku.toml:7"), "gnuboard5.toml:340"));
        assert!(!of(Some("kasoku.toml:7"), "kasoku.toml:9") && !of(None, "kasoku.toml:9"));
    }
}
