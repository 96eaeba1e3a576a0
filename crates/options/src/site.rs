//! Sites and their rules.

use crate::glob::Glob;
use crate::host::HostPattern;
use crate::route::Route;
use std::sync::Arc;

/// A site: which hosts, and what happens to their requests.
#[derive(Clone, Debug)]
pub struct Site {
    /// A name for logs and metrics: the first host pattern, or `default`.
    pub name: String,
    /// Empty: any host.
    pub hosts: Vec<HostPattern>,
    /// The first whose path matches decides.
    pub rules: Vec<Rule>,
    /// What happens when no rule matches.
    pub route: Arc<Route>,
}

/// One rule of a site.
#[derive(Clone, Debug)]
pub struct Rule {
    /// A glob over the path (without the query): `*` matches any run of characters, everything else itself.
    pub path: Glob,
    /// What happens to requests that match; the site's settings with the rule's own on top.
    pub route: Arc<Route>,
}
