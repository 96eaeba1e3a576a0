//! What an operator's target means: a site may be called by the name that logs and metrics use.
//!
//! Responses are kept by host. So a site that serves any host (`default`), or all hosts below a name (`*.example.org`), can be purged by its
//! name only where everything that is stored is its own. Elsewhere the error says which hosts can be named.

use super::{PurgeError, Target, host_as_in_keys, without_port};
use crate::sites::Site;
use kasoku_options::HostPattern;
use std::borrow::Cow;
use std::fmt;

/// The most hosts that an error lists.
const HOSTS_LISTED_MAX: usize = 20;

/// What `--site` may name: hosts and patterns, and `default` for the site that serves any host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named(Vec<String>);

impl Named {
    pub(super) fn of(sites: &[Site]) -> Self {
        Self(sites.iter().flat_map(names).collect())
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (listed, more) = self.0.split_at(self.0.len().min(HOSTS_LISTED_MAX));
        f.write_str(&listed.join(", "))?;
        if more.is_empty() { Ok(()) } else { write!(f, " and {} more", more.len()) }
    }
}

/// The target as the cache knows it.
///
/// # Errors
/// It is a site of many hosts beside others, or a path without a host.
pub(super) fn meant<'t>(sites: &[Site], target: &'t Target) -> Result<Cow<'t, Target>, PurgeError> {
    Ok(match target {
        // Even the host of the only site would not do: keys have the port of the visitors' address as well.
        Target::Url(path) | Target::Prefix(path) if path.starts_with('/') && !path.starts_with("//") => {
            return Err(PurgeError::NoHost(path.clone(), Named::of(sites)));
        }
        Target::Site(name) => match site_of_many_hosts(sites, name) {
            Some(site) => Cow::Owned(all_of(sites, site, name)?),
            None => Cow::Borrowed(target),
        },
        Target::Url(_) | Target::Prefix(_) | Target::Tags(..) | Target::All => Cow::Borrowed(target),
    })
}

/// The host that stands alone in the place of a URL.
pub(super) fn host_alone(url: &str) -> Option<String> {
    if url.contains('/') { None } else { host_as_in_keys(url).ok() }
}

/// The site that has this name and serves more hosts than one under it. A host that is called so comes first.
fn site_of_many_hosts<'s>(sites: &'s [Site], name: &str) -> Option<&'s Site> {
    let is_host =
        |pattern: &HostPattern| matches!(pattern, HostPattern::Exact(host) if host.eq_ignore_ascii_case(name));
    if sites.iter().flat_map(|site| &site.hosts).any(is_host) {
        return None;
    }
    let is_pattern = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(_) => false,
        HostPattern::Below(suffix) => name.strip_prefix('*').is_some_and(|below| below.eq_ignore_ascii_case(suffix)),
    };
    let is_meant = |site: &&Site| match site.hosts.as_slice() {
        [] => site.name.eq_ignore_ascii_case(name),
        patterns => patterns.iter().any(is_pattern),
    };
    sites.iter().find(is_meant)
}

fn all_of(sites: &[Site], site: &Site, name: &str) -> Result<Target, PurgeError> {
    match (site.route.key.host.as_deref(), sites.len(), site.hosts.len()) {
        (Some(host), _, _) => Ok(Target::Site(without_port(host).to_owned())),
        (None, 1, 0 | 1) => Ok(Target::All),
        (None, _, _) => Err(PurgeError::ManyHosts(name.to_owned())),
    }
}

fn names(site: &Site) -> Vec<String> {
    if site.hosts.is_empty() {
        return vec![site.name.clone()];
    }
    let name = |pattern: &HostPattern| match pattern {
        HostPattern::Exact(host) => host.clone(),
        HostPattern::Below(suffix) => format!("*{suffix}"),
    };
    site.hosts.iter().map(name).collect()
}
