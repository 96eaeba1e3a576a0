//! Makes the sites, rules and routes by which requests are served, out of those that the configuration declares.

mod stand_in;

use kasoku_cache::stable_hasher::StableHasher;
use kasoku_options as options;
use kasoku_options::{CodingRules, Glob, HostPattern};
use kasoku_origin::Group;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::tags::TagRules;
use kasoku_visitors::RouteRules;
use kasoku_visitors::pattern::GuardedHosts;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A site: which hosts it serves, and the routes for their requests.
#[derive(Clone, Debug)]
pub(crate) struct ActiveSite {
    pub(crate) name: String,
    /// Empty: any host.
    pub(crate) hosts: Vec<HostPattern>,
    /// The first rule whose path matches decides.
    pub(crate) rules: Vec<ActiveRule>,
    /// The route of a request that matches no rule.
    pub(crate) route: Arc<ActiveRoute>,
}

/// One rule of a site.
#[derive(Clone, Debug)]
pub(crate) struct ActiveRule {
    pub(crate) path: Glob,
    pub(crate) route: Arc<ActiveRoute>,
}

/// The settings for the requests of a rule, or of a site where no rule matches. The declared settings can be read as fields of this type.
#[derive(Clone, Debug)]
pub(crate) struct ActiveRoute {
    pub(crate) declared: options::Route,
    /// The caching rules, completed by what follows from other settings: their fingerprint, the site whose tags responses get, the
    /// cookies that are dropped.
    pub(crate) policy: Arc<Policy>,
    /// Its origins, as a worker spreads requests over them.
    pub(crate) group: Group,
    /// A hash of the rules under which its URL patterns are known.
    pub(crate) guard_rules_hash: Arc<str>,
    /// The site's hosts as its URL patterns name them.
    pub(crate) guarded_hosts: Arc<GuardedHosts>,
    /// A hash of which origins are asked about sessions, and how. What is known of a session holds only under the same hash.
    pub(crate) session_rules_hash: u64,
    /// A hash of the site's name: an application's visitors are counted under it.
    pub(crate) site_name_hash: u64,
    /// A hash of all that decides from which responses codings may be made.
    pub(crate) compression_mark: u64,
}

impl Deref for ActiveRoute {
    type Target = options::Route;

    fn deref(&self) -> &options::Route {
        &self.declared
    }
}

/// The sites by which requests are routed.
pub(crate) fn sites(options: &options::Options) -> Vec<ActiveSite> {
    options.sites.iter().map(ActiveSite::of).collect()
}

/// The names under which the URL patterns of these sites are known.
pub(crate) fn guard_rules_hash(sites: &[ActiveSite]) -> Vec<Arc<str>> {
    sites.iter().flat_map(ActiveSite::routes).map(|route| route.guard_rules_hash.clone()).collect()
}

impl ActiveSite {
    /// The site that is made of a declared one.
    pub(crate) fn of(declared: &options::Site) -> Self {
        let hosts = Arc::new(GuardedHosts::of(declared));
        let route = |route: &Arc<options::Route>, path: &str| {
            let mut made = ActiveRoute::of(options::Route::clone(route), tagged_as(declared), of_name(&declared.name));
            made.guarded_hosts = hosts.clone();
            let mut hasher = DefaultHasher::new();
            (&*declared.name, path, made.policy.rules, &*made.guard).hash(&mut hasher);
            made.guard_rules_hash = format!("{:016x}", hasher.finish()).into();
            Arc::new(made)
        };
        Self {
            name: declared.name.clone(),
            hosts: declared.hosts.clone(),
            rules: declared
                .rules
                .iter()
                .map(|rule| ActiveRule { path: rule.path.clone(), route: route(&rule.route, rule.path.as_str()) })
                .collect(),
            route: route(&declared.route, ""),
        }
    }

    /// The site whose tags its responses get; empty: its responses have no tags.
    pub(crate) fn tagged_as(&self) -> &str {
        &self.route.policy.tags.site
    }

    /// The site's own route, and those of its rules.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &Arc<ActiveRoute>> {
        std::iter::once(&self.route).chain(self.rules.iter().map(|rule| &rule.route))
    }

    /// The same routes, to be completed by a worker.
    pub(super) fn routes_mut(&mut self) -> impl Iterator<Item = &mut Arc<ActiveRoute>> {
        std::iter::once(&mut self.route).chain(self.rules.iter_mut().map(|rule| &mut rule.route))
    }
}

impl ActiveRoute {
    /// The rules about visitors.
    pub(crate) fn visitor_rules(&self) -> RouteRules<'_> {
        RouteRules { declared: &self.declared, policy: &self.policy }
    }

    /// The route that is made of a declared one. `tagged_as`: the site whose tags its responses get; `site_name_hash`: the site under
    /// which visitors are counted.
    pub(crate) fn of(declared: options::Route, tagged_as: &str, site_name_hash: u64) -> Self {
        let mut policy = (*declared.policy).clone();
        if policy.grant.is_granting() {
            policy.grant.dropped_cookies = [&declared.session.cookies[..], &declared.cookies.noise].concat();
            policy.grant.session_cookies.clone_from(&declared.session.cookies);
        }
        policy.tags = TagRules { site: tagged_as.to_owned(), templates: policy.tags.templates };
        // How long a failure is remembered does not decide which requests may get a response.
        let decides = Policy { rules: 0, back_off_max_seconds: 0, ..policy.clone() };
        policy.rules = fingerprint(&declared, &decides);
        Self {
            policy: Arc::new(policy),
            group: Group::default(),
            guard_rules_hash: Arc::default(),
            guarded_hosts: Arc::default(),
            session_rules_hash: of_sessions(&declared),
            site_name_hash,
            compression_mark: of_compression(&declared.compression),
            declared,
        }
    }
}

/// The site whose tags the responses of a site get; empty: they have no tags.
fn tagged_as(site: &options::Site) -> &str {
    let mut routes = std::iter::once(&site.route).chain(site.rules.iter().map(|rule| &rule.route));
    let has_tags = routes.any(|route| !route.policy.tags.templates.is_empty() || !route.changes.list.is_empty());
    if has_tags { &site.name } else { "" }
}

/// A hash of all that decides what may be stored under a key and which requests may get it. The origin's address and its timeouts
/// are no part of it: an application that moves keeps its cache. But where a site sets the host of its keys, another site may set
/// the same host, and then only the origin tells their pages apart.
fn fingerprint(route: &options::Route, policy: &Policy) -> u64 {
    // Stored responses outlive the process, so the hash must be the same in the next one.
    let mut hasher = StableHasher::default();
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
    // Where no lifetime is granted, each response says itself whether it may be shared, and no page is compared.
    if policy.grant.is_granting() {
        route.guard.hash(&mut hasher);
    }
    if route.key.host.is_some() {
        route.origins.iter().for_each(|origin| origin.address.hash(&mut hasher));
    }
    hasher.finish()
}

/// A hash of which origins are asked about sessions, and how their answers are understood.
fn of_sessions(route: &options::Route) -> u64 {
    let mut hasher = DefaultHasher::new();
    let rules = &*route.session;
    (&rules.cookies, &rules.anonymous_cookies, &rules.probe, &rules.logout).hash(&mut hasher);
    route.origins.iter().for_each(|origin| origin.address.hash(&mut hasher));
    hasher.finish()
}

/// A hash of a site's name.
fn of_name(site: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    site.hash(&mut hasher);
    hasher.finish()
}

/// A hash of all that decides from which responses codings may be made.
fn of_compression(compression: &CodingRules) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&compression.types, compression.bytes_min).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::{
        AnonymousCookie, CookiePattern, FreshLink, OriginAddress, SessionRules, UrlPattern, UrlTemplate,
    };
    use kasoku_semantics::policy::Profile;
    use std::time::Duration;

    fn rules(change: impl FnOnce(&mut options::Route)) -> u64 {
        let mut route = options::Route::new(Profile::Safe, Vec::new());
        change(&mut route);
        ActiveRoute::of(route, "", 0).policy.rules
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
        assert_ne!(plain, rules(|route| route.cookies.anonymous.extend(AnonymousCookie::parse("a=b"))));
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
            rules(|route| route.compression = Arc::new(CodingRules { bytes_min: 1, ..CodingRules::default() }))
        );
        let origin = OriginAddress::http("127.0.0.1".to_owned(), 1);
        assert_eq!(plain, rules(|route| route.origins.push(origin.clone().into())));
        let named = |route: &mut options::Route| route.key.host = Some("a.example".to_owned());
        let moved = |route: &mut options::Route| (named(route), route.origins.push(origin.clone().into())).0;
        assert_ne!(rules(named), rules(moved), "two sites whose keys have one host");
    }

    /// A cache on disk is cold after each change of these numbers. They may change when settings are added or removed, but not with the
    /// compiler or the processor.
    #[test]
    fn the_fingerprint_is_the_same_in_each_build() {
        assert_eq!(rules(|_| {}), 9_824_072_428_241_687_953);
        assert_eq!(
            rules(|route| Arc::make_mut(&mut route.policy).grant.key_cookies.push("a".to_owned())),
            1_203_353_790_498_082_089
        );
    }

    #[test]
    fn what_is_known_of_sessions_holds_for_who_is_asked_and_how() {
        let asked = |change: fn(&mut options::Route)| {
            let mut route = options::Route::new(Profile::Safe, Vec::new());
            change(&mut route);
            ActiveRoute::of(route, "", 0).session_rules_hash
        };
        fn rules(route: &mut options::Route) -> &mut SessionRules {
            Arc::make_mut(&mut route.session)
        }
        let plain = asked(|_| {});
        assert_eq!(plain, asked(|route| rules(route).anonymous_for = Duration::from_secs(1)));
        assert_ne!(plain, asked(|route| rules(route).cookies.push("a".to_owned())));
        assert_ne!(plain, asked(|route| rules(route).logout.extend(UrlPattern::parse("/a"))));
        let pattern = |route: &mut options::Route| {
            rules(route).anonymous_cookies.push(CookiePattern { name: "a".to_owned(), value: "b".to_owned() });
        };
        assert_ne!(plain, asked(pattern));
        assert_ne!(plain, asked(|route| route.origins.push(OriginAddress::http("127.0.0.1".to_owned(), 1).into())));
    }
}
