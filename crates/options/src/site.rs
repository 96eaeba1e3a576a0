//! Sites and their rules.

use crate::glob::Glob;
use crate::host::HostPattern;
use crate::route::Route;
use std::sync::Arc;

/// A site: its hosts, and how their requests are served.
#[derive(Clone, Debug)]
pub struct Site {
    /// A name for logs and metrics: the first host pattern, or `default`.
    pub name: String,
    /// Empty: any host.
    pub hosts: Vec<HostPattern>,
    /// The first rule whose path matches decides.
    pub rules: Vec<Rule>,
    /// The route of requests that no rule matches.
    pub route: Arc<Route>,
}

/// One rule of a site.
#[derive(Clone, Debug)]
pub struct Rule {
    /// A glob over the path (without the query): `*` matches any run of characters, everything else itself.
    pub path: Glob,
    /// The route of requests that match: the site's settings with the rule's own on top.
    pub route: Arc<Route>,
}
