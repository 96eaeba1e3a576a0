//! Names the hosts of a site in URL patterns, so that there are no more names than the configuration has.
//!
//! A client chooses the Host of its request. A site without `hosts` serves any host, and a site with `*.example.org` serves any
//! host below it, each with any port. A name for each of them would let clients make endless patterns, so all hosts that the
//! configuration does not tell apart have one name.

use kasoku_options::Site;
use kasoku_options::host::{HostPattern, host_name};
use std::borrow::Cow;

/// The hosts of a site, as its URL patterns name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardedHosts {
    site: String,
    hosts: Vec<HostPattern>,
    /// The fixed host of the site's keys, if the configuration sets one.
    key_host: Option<String>,
}

impl GuardedHosts {
    /// Those of a site.
    pub fn of(site: &Site) -> Self {
        Self::new(&site.name, &site.hosts, site.route.key.host.as_deref())
    }

    fn new(site: &str, hosts: &[HostPattern], key_host: Option<&str>) -> Self {
        Self { site: site.to_owned(), hosts: hosts.to_vec(), key_host: key_host.map(str::to_owned) }
    }

    /// The name of a host that the site serves: the host without its port, or `*.example.org`, or the site's name where any host is
    /// served.
    pub fn name<'h>(&'h self, authority: &'h str) -> Cow<'h, str> {
        if let Some(host) = &self.key_host {
            return Cow::Borrowed(host);
        }
        match self.hosts.iter().find(|pattern| pattern.fits(authority)) {
            Some(HostPattern::Exact(_)) => Cow::Borrowed(host_name(authority)),
            Some(HostPattern::Below(suffix)) => Cow::Owned(format!("*{suffix}")),
            None => Cow::Borrowed(&self.site),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_names_than_the_configuration_has() {
        let exact = HostPattern::Exact("a.org".to_owned());
        let below = HostPattern::Below(".a.org".to_owned());
        for (hosts, key_host, authority, expected) in [
            (vec![exact.clone(), below.clone()], None, "a.org", "a.org"),
            (vec![exact.clone(), below.clone()], None, "a.org:8080", "a.org"),
            (vec![exact.clone(), below], None, "x.y.a.org:1", "*.a.org"),
            (vec![], None, "anything", "default"),
            (vec![], None, "[::1]:80", "default"),
            (vec![exact], Some("key.org:8080"), "a.org", "key.org:8080"),
        ] {
            let hosts = GuardedHosts::new("default", &hosts, key_host);
            assert_eq!(hosts.name(authority), expected, "{authority}");
        }
    }
}
