//! What a worker serves requests by, and what a reload replaces while requests run.
//!
//! A request takes the settings that hold when it comes, and is served by them to its end. Each worker has a copy of its
//! own, since a count of references that all workers change would make them wait for each other.

use crate::options::{
    AddressRange, BeaconRules, Compression, GuardedHosts, HitHeaders, Limits, Options, RequestBuffer, Route, Site,
    Traces,
};
use crate::route::Remembered;
use kasoku_metrics::{Metrics, SiteCells};
use kasoku_origin::{Directory, Group};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::tags::TagRules;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct Settings {
    pub(crate) sites: Vec<Site>,
    /// Where the worker counts what they answer, in the same order.
    pub(crate) site_cells: Vec<Arc<SiteCells>>,
    pub(crate) limits: Rc<Limits>,
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
    pub(crate) fn new(options: &Options, directory: &Directory, metrics: &Metrics, worker: usize) -> Self {
        let mut sites = sites(options);
        let routes = sites
            .iter_mut()
            .flat_map(|site| std::iter::once(&mut site.route).chain(site.rules.iter_mut().map(|rule| &mut rule.route)));
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

fn session_cookies(sites: &[Site]) -> Vec<String> {
    let routes =
        sites.iter().flat_map(|site| std::iter::once(&site.route).chain(site.rules.iter().map(|rule| &rule.route)));
    let mut names: Vec<String> = routes.flat_map(|route| route.session.cookies.iter().cloned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The sites as requests are routed by: with the fingerprints of their rules.
pub(crate) fn sites(options: &Options) -> Vec<Site> {
    let mut sites = options.sites.clone();
    for site in &mut sites {
        let tagged_as = tagged_as(site).to_owned();
        let mark = of_site(site);
        let hosts = Arc::new(site.guarded_hosts());
        own(&mut site.route, &tagged_as, mark);
        guard(&mut site.route, &hosts, &site.name, "");
        for rule in &mut site.rules {
            own(&mut rule.route, &tagged_as, mark);
            guard(&mut rule.route, &hosts, &site.name, rule.path.as_str());
        }
    }
    sites
}

/// Whose tags the responses of a site get; empty: nothing there is tagged.
pub(crate) fn tagged_as(site: &Site) -> &str {
    let mut routes = std::iter::once(&site.route).chain(site.rules.iter().map(|rule| &rule.route));
    let has_tags = routes.any(|route| !route.policy.tags.templates.is_empty() || !route.changes.list.is_empty());
    if has_tags { &site.name } else { "" }
}

/// Makes a copy of a route that nobody else has, with the fingerprint of its rules. `tagged_as`: whose tags its responses get, if any do;
/// `mark`: that of its site.
pub(crate) fn own(route: &mut Arc<Route>, tagged_as: &str, mark: u64) {
    let mut own = Route::clone(route);
    if own.policy.grant.is_granting() {
        let dropped = [&own.session.cookies[..], &own.cookies.noise].concat();
        let grant = &mut Arc::make_mut(&mut own.policy).grant;
        grant.dropped_cookies = dropped;
        grant.session_cookies.clone_from(&own.session.cookies);
    }
    // How long a failure is remembered decides nothing about who may have what.
    let tags = TagRules { site: tagged_as.to_owned(), templates: own.policy.tags.templates.clone() };
    own.policy = Arc::new(Policy { tags, ..(*own.policy).clone() });
    let decides = Policy { rules: 0, back_off_max_seconds: 0, ..(*own.policy).clone() };
    let rules = fingerprint(&own, &decides);
    own.policy = Arc::new(Policy { rules, ..(*own.policy).clone() });
    own.asked_about_sessions = of_sessions(&own);
    own.beacons = Arc::new(BeaconRules { mark, ..(*own.beacons).clone() });
    let mark = of_compression(&own.compression);
    own.compression = Arc::new(Compression { mark, ..(*own.compression).clone() });
    *route = Arc::new(own);
}

/// Gives a route of its own the name under which its URL patterns are known.
fn guard(route: &mut Arc<Route>, hosts: &Arc<GuardedHosts>, site: &str, path: &str) {
    let Some(route) = Arc::get_mut(route) else { return };
    route.guarded_hosts = hosts.clone();
    let mut hasher = DefaultHasher::new();
    (site, path, route.policy.rules, &*route.guard).hash(&mut hasher);
    route.guarded_as = format!("{:016x}", hasher.finish()).into();
}

/// The names under which the URL patterns of these sites are known.
pub(crate) fn guarded_as(sites: &[Site]) -> Vec<Arc<str>> {
    let routes =
        sites.iter().flat_map(|site| std::iter::once(&site.route).chain(site.rules.iter().map(|rule| &rule.route)));
    routes.map(|route| route.guarded_as.clone()).collect()
}

/// All that decides what may be stored under a key and who may have it. Where the origin is and how long it may take is no
/// part of that: an application that moves keeps its cache. But where a site names the host of its keys, another may name the
/// same, and then it is the origin that tells their pages apart.
fn fingerprint(route: &Route, policy: &Policy) -> u64 {
    // The same in each run: no seed.
    let mut hasher = DefaultHasher::new();
    let key = (&route.query, &route.key, &route.cookies, &route.origin_host, &route.device_urls);
    let session = (
        &route.session.cookies,
        &route.session.anonymous_cookies,
        &route.pass_urls,
        &route.session.logout,
        &route.session.harmless_urls,
        &route.fresh_links,
    );
    (policy, key, session, &*route.page, &route.gateway, route.pass).hash(&mut hasher);
    // Whether and how a page is compared decides nothing where all say themselves that they may be shared.
    if policy.grant.is_granting() {
        route.guard.hash(&mut hasher);
    }
    if route.key.host.is_some() {
        route.origins.iter().for_each(|origin| origin.address.hash(&mut hasher));
    }
    hasher.finish()
}

/// Who is asked about sessions, and how their answers are understood.
fn of_sessions(route: &Route) -> u64 {
    let mut hasher = DefaultHasher::new();
    let rules = &*route.session;
    (&rules.cookies, &rules.anonymous_cookies, &rules.probe, &rules.logout).hash(&mut hasher);
    route.origins.iter().for_each(|origin| origin.address.hash(&mut hasher));
    hasher.finish()
}

/// The site by whose name visitors are known.
fn of_site(site: &Site) -> u64 {
    let mut hasher = DefaultHasher::new();
    site.name.hash(&mut hasher);
    hasher.finish()
}

/// All that decides of which responses codings may be made.
fn of_compression(compression: &Compression) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&compression.types, compression.bytes_min).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{
        CookiePattern, FreshLink, NobodysCookie, OriginAddress, SessionRules, UrlPattern, UrlTemplate,
    };
    use kasoku_semantics::policy::Profile;
    use std::time::Duration;

    fn rules(change: impl FnOnce(&mut Route)) -> u64 {
        let mut route = Route::new(Profile::Safe, Vec::new());
        change(&mut route);
        let mut route = Arc::new(route);
        own(&mut route, "", 0);
        route.policy.rules
    }

    #[test]
    fn the_fingerprint_follows_what_decides_about_sharing() {
        let plain = rules(|_| {});
        assert_eq!(plain, rules(|_| {}));
        assert_ne!(plain, rules(|route| route.query.sort = true));
        assert_ne!(plain, rules(|route| route.origin_host = Some("a".to_owned())));
        let policy = Policy { negative_ttl_seconds: 1, ..Policy::new(Profile::Safe) };
        assert_ne!(plain, rules(|route| route.policy = Arc::new(policy)));
        let granting = |change: fn(&mut Policy)| rules(|route| change(Arc::make_mut(&mut route.policy)));
        assert_ne!(plain, granting(|policy| policy.grant.ttl_seconds = 1));
        assert_ne!(plain, granting(|policy| policy.grant.key_cookies.push("a".to_owned())));
        assert_ne!(plain, granting(|policy| policy.strip_fields.push("a".to_owned())));
        assert_ne!(plain, rules(|route| route.cookies.noise.clear()));
        assert_ne!(plain, rules(|route| route.cookies.pass.push("a".to_owned())));
        assert_ne!(plain, rules(|route| route.cookies.nobodys.extend(NobodysCookie::parse("a=b"))));
        assert_ne!(plain, rules(|route| Arc::make_mut(&mut route.session).cookies.push("a".to_owned())));
        let fresh = || FreshLink {
            url: UrlPattern::parse("/a").unwrap(),
            page: UrlTemplate::parse("/b").unwrap(),
            parameters: vec!["c".to_owned()],
        };
        assert_ne!(plain, rules(|route| route.fresh_links.push(fresh())));
        assert_ne!(plain, rules(|route| route.pass_urls.extend(UrlPattern::parse("/a"))));
        assert_ne!(plain, rules(|route| route.key.host = Some("a.example".to_owned())));
        let policy = Policy { back_off_max_seconds: 1, ..Policy::new(Profile::Safe) };
        assert_eq!(plain, rules(|route| route.policy = Arc::new(policy)));
        assert_eq!(plain, rules(|route| route.origin.connect_timeout = Duration::from_secs(77)));
        assert_eq!(
            plain,
            rules(|route| route.compression = Arc::new(Compression { bytes_min: 1, ..Compression::default() }))
        );
        let origin = OriginAddress::http("127.0.0.1".to_owned(), 1);
        assert_eq!(plain, rules(|route| route.origins.push(origin.clone().into())));
        let named = |route: &mut Route| route.key.host = Some("a.example".to_owned());
        let moved = |route: &mut Route| (named(route), route.origins.push(origin.clone().into())).0;
        assert_ne!(rules(named), rules(moved), "two sites whose keys have one host");
    }

    #[test]
    fn what_is_known_of_sessions_holds_for_who_is_asked_and_how() {
        let asked = |change: fn(&mut Route)| {
            let mut route = Route::new(Profile::Safe, Vec::new());
            change(&mut route);
            let mut route = Arc::new(route);
            own(&mut route, "", 0);
            route.asked_about_sessions
        };
        fn rules(route: &mut Route) -> &mut SessionRules {
            Arc::make_mut(&mut route.session)
        }
        let plain = asked(|_| {});
        assert_eq!(plain, asked(|route| rules(route).anonymous_for = Duration::from_secs(1)));
        assert_ne!(plain, asked(|route| rules(route).cookies.push("a".to_owned())));
        assert_ne!(plain, asked(|route| rules(route).logout.extend(UrlPattern::parse("/a"))));
        let pattern = |route: &mut Route| {
            rules(route).anonymous_cookies.push(CookiePattern { name: "a".to_owned(), value: "b".to_owned() });
        };
        assert_ne!(plain, asked(pattern));
        assert_ne!(plain, asked(|route| route.origins.push(OriginAddress::http("127.0.0.1".to_owned(), 1).into())));
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_an_earlier_one() {
        let mut route = Arc::new(Route::new(Profile::Safe, Vec::new()));
        own(&mut route, "", 0);
        let first = route.policy.rules;
        own(&mut route, "", 0);
        assert_eq!(route.policy.rules, first);
    }
}
