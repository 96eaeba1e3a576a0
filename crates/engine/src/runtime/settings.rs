//! A worker's settings: everything that a reload replaces while requests run.
//!
//! A request takes the settings that hold when it comes, and is served by them to its end. Each worker has a copy of its
//! own, since a count of references that all workers change would make them wait for each other.

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
    /// Where the worker counts what they answer, in the same order.
    pub(crate) site_cells: Vec<Arc<SiteCells>>,
    pub(crate) limits: Rc<ClientLimits>,
    pub(crate) request_buffer: RequestBuffer,
    pub(crate) trusted_proxies: Vec<AddressRange>,
    pub(crate) purge_from: Vec<AddressRange>,
    pub(crate) hit_headers: HitHeaders,
    /// Where targets lead by them.
    pub(crate) remembered: RefCell<Remembered>,
    pub(crate) traces: Traces,
    /// The cookies of all sessions, of whichever site and rule: globs over names.
    pub(crate) session_cookies: Vec<String>,
}

impl Settings {
    /// Of these options, for the worker of that number, with what `directory` knows of the origins and `metrics` has counted.
    pub(crate) fn new(options: &Options, directory: &OriginRegistry, metrics: &Metrics, worker: usize) -> Self {
        let mut sites = sites(options);
        let routes = sites.iter_mut().flat_map(ActiveSite::routes_mut);
        // Nobody else has these copies yet.
        for route in routes.filter_map(Arc::get_mut) {
            let connections_max = route.origin.connections_max;
            route.group = Group::new(route.balance, &route.origins, connections_max, directory, worker);
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
