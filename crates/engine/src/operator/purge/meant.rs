//! Resolves the site name of a purge (`--site`): the same names that logs and metrics use.
//!
//! Responses are kept by host. So a site that serves any host (`default`), or all hosts below a name (`*.example.org`), can be
//! purged by its name only where everything that is stored is its own. Elsewhere the error tells the operator to name a host.

use crate::operator::purge::{PurgeError, PurgeTarget, host_as_in_keys, without_port};
use crate::sites::ActiveSite;
use kasoku_options::HostPattern;
use std::borrow::Cow;
use std::fmt;

/// The most hosts that an error lists.
const HOSTS_LISTED_MAX: usize = 20;

/// What `--site` may name: hosts and patterns, and `default` for the site that serves any host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteNames(Vec<String>);

impl SiteNames {
    pub(super) fn of(sites: &[ActiveSite]) -> Self {
        Self(sites.iter().flat_map(names).collect())
    }
}

impl fmt::Display for SiteNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (listed, more) = self.0.split_at(self.0.len().min(HOSTS_LISTED_MAX));
        f.write_str(&listed.join(", "))?;
        if more.is_empty() { Ok(()) } else { write!(f, " and {} more", more.len()) }
    }
}

/// The target in the terms of the cache.
///
/// # Errors
/// It is a site of many hosts that is not the only site, or a path without a host.
pub(super) fn meant<'t>(sites: &[ActiveSite], target: &'t PurgeTarget) -> Result<Cow<'t, PurgeTarget>, PurgeError> {
    Ok(match target {
        // Even the host of the only site would not do: keys also have the port of the address that visitors use.
        PurgeTarget::Url(path) | PurgeTarget::Prefix(path) if path.starts_with('/') && !path.starts_with("//") => {
            return Err(PurgeError::NoHost(path.clone(), SiteNames::of(sites)));
        }
        PurgeTarget::Site(name) => match site_of_many_hosts(sites, name) {
            Some(site) => Cow::Owned(all_of(sites, site, name)?),
            None => Cow::Borrowed(target),
        },
        PurgeTarget::Url(_) | PurgeTarget::Prefix(_) | PurgeTarget::Tags(..) | PurgeTarget::All => {
            Cow::Borrowed(target)
        }
    })
}

/// The host, where the operator has written a host instead of a URL.
pub(super) fn host_alone(url: &str) -> Option<String> {
    if url.contains('/') { None } else { host_as_in_keys(url).ok() }
}

/// The site of many hosts that has this name. A host of that name comes first.
fn site_of_many_hosts<'s>(sites: &'s [ActiveSite], name: &str) -> Option<&'s ActiveSite> {
    let is_host =
        |pattern: &HostPattern| matches!(pattern, HostPattern::Exact(host) if host.eq_ignore_ascii_case(name));
    if sites.iter().flat_map(|site| &site.hosts).any(is_host) {
        return None;
    }
    let is_pattern = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(_) => false,
        HostPattern::Below(suffix) => name.strip_prefix('*').is_some_and(|below| below.eq_ignore_ascii_case(suffix)),
    };
    let is_meant = |site: &&ActiveSite| match site.hosts.as_slice() {
        [] => site.name.eq_ignore_ascii_case(name),
        patterns => patterns.iter().any(is_pattern),
    };
    sites.iter().find(is_meant)
}

fn all_of(sites: &[ActiveSite], site: &ActiveSite, name: &str) -> Result<PurgeTarget, PurgeError> {
    match (site.route.key.host.as_deref(), sites.len(), site.hosts.len()) {
        (Some(host), _, _) => Ok(PurgeTarget::Site(without_port(host).to_owned())),
        (None, 1, 0 | 1) => Ok(PurgeTarget::All),
        (None, _, _) => Err(PurgeError::ManyHosts(name.to_owned())),
    }
}

fn names(site: &ActiveSite) -> Vec<String> {
    if site.hosts.is_empty() {
        return vec![site.name.clone()];
    }
    let name = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(host) => host.clone(),
        HostPattern::Below(suffix) => format!("*{suffix}"),
    };
    site.hosts.iter().map(name).collect()
}
