//! A worker's settings: everything that a reload replaces while requests run.
//!
//! A request takes the settings that are valid when it arrives, and is served by them to its end. Each worker has a copy of its
//! own, since a reference count that all workers change would make them wait for each other.

use crate::request::respond::replaced_fields;
use crate::request::route::Remembered;
use crate::sites::{ActiveSite, sites};
use kasoku_metrics::{Metrics, SiteCells};
use kasoku_options::{AddressRange, ClientLimits, HitHeaders, Options, RequestBuffer, Traces};
use kasoku_origin::{Group, OriginRegistry};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct Settings {
    pub(crate) sites: Vec<ActiveSite>,
    /// The worker's counters for each site, in the same order.
    pub(crate) site_cells: Vec<Arc<SiteCells>>,
    pub(crate) limits: Rc<ClientLimits>,
    pub(crate) request_buffer: RequestBuffer,
    pub(crate) trusted_proxies: Vec<AddressRange>,
    pub(crate) purge_from: Vec<AddressRange>,
    pub(crate) hit_headers: HitHeaders,
    /// See [`replaced_fields`].
    pub(crate) replaced_fields: [&'static str; 3],
    /// The routes of targets that were routed by these settings.
    pub(crate) remembered: RefCell<Remembered>,
    pub(crate) traces: Traces,
    /// Whether bodies that are sent from disk are compared with their checksums.
    pub(crate) verifies_disk: bool,
    /// The names of the session cookies of all sites and rules, as globs.
    pub(crate) session_cookies: Vec<String>,
}

impl Settings {
    /// Makes the settings of one worker from these options. `registry` has the state of the origins, `metrics` the counters.
    pub(crate) fn new(options: &Options, registry: &OriginRegistry, metrics: &Metrics, worker: usize) -> Self {
        let mut sites = sites(options);
        let routes = sites.iter_mut().flat_map(ActiveSite::routes_mut);
        // No other code has these copies yet.
        for route in routes.filter_map(Arc::get_mut) {
            let connections_max = route.origin.connections_max;
            route.group = Group::new(route.balance, &route.origins, connections_max, registry, worker);
        }
        let session_cookies = session_cookies(&sites);
        let site_cells = sites.iter().map(|site| metrics.of_site(&site.name, worker)).collect();
        Self {
            sites,
            site_cells,
            session_cookies,
            remembered: RefCell::default(),
            limits: Rc::new(options.limits.clone()),
            request_buffer: options.request_buffer.clone(),
            trusted_proxies: options.trusted_proxies.clone(),
            purge_from: options.purge_from.clone(),
            hit_headers: options.hit_headers,
            verifies_disk: options.disk.as_ref().is_none_or(|disk| disk.verify),
            replaced_fields: replaced_fields(options.hit_headers),
            traces: options.traces.clone(),
        }
    }
}

fn session_cookies(sites: &[ActiveSite]) -> Vec<String> {
    let routes = sites.iter().flat_map(ActiveSite::routes);
    let mut names: Vec<String> = routes.flat_map(|route| route.session.cookies.iter().cloned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
