//! Finds the rule of a target, and the lists of URL patterns that it matches.
//!
//! A path is compared as it was sent, and as applications read it ([`PathReader`]). A short address is also compared as the address
//! for which it stands (`rewrite`), so the rule for `/bbs/board.php` is the rule for `/free/5`; this holds in front of an HTTP
//! origin too, which rewrites by itself. This module does not look whether a file exists at the short address: then the rule may be
//! that of a page, although the origin sends a file.

use crate::request::path::PathReader;
use crate::sites::{ActiveRoute, ActiveSite};
use http::Method;
use kasoku_options::UrlPattern;
use kasoku_options::glob::{BytePairs, Glob, Path};
use kasoku_options::url_pattern::Fitting;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::reason::Reason;
use std::sync::Arc;

/// Path and query of a target, in each reading.
pub(super) struct TargetParts<'t> {
    sent: Path<'t>,
    query: Option<&'t str>,
    /// The path as applications read it, where it differs.
    read: Option<Path<'t>>,
    /// Path and query of the target for which a short address stands.
    long: Option<(Path<'t>, Option<&'t str>)>,
    /// The pairs of bytes that at least one of these paths has.
    pairs: BytePairs,
}

impl<'t> TargetParts<'t> {
    /// A target, and the target for which it stands if it is a short address.
    pub(super) fn new(target: &'t str, stands_for: Option<&'t str>, paths: &'t mut PathReader) -> Self {
        let (path, query) = path_and_query(target);
        let (sent, read) = (Path::new(path), paths.read(path).map(Path::new));
        let long = stands_for.map(path_and_query).map(|(path, query)| (Path::new(path), query));
        let others = read.into_iter().chain(long.map(|(path, _)| path));
        let pairs = others.fold(sent.pairs(), |pairs, path| pairs.in_either(path.pairs()));
        Self { sent, query, read, long, pairs }
    }

    /// Whether a glob over paths fits the path as it was sent, or that of the address for which it stands.
    fn fits_as_sent(&self, glob: &Glob) -> bool {
        self.sent.fits(glob) || self.fits_long(glob)
    }

    /// The same for the path as applications read it.
    fn fits_as_read(&self, glob: &Glob) -> bool {
        self.read.unwrap_or(self.sent).fits_as_read(glob) || self.fits_long(glob)
    }

    fn fits_long(&self, glob: &Glob) -> bool {
        self.long.is_some_and(|(path, _)| path.fits(glob))
    }

    /// Whether one of these patterns fits the target, in any reading.
    pub(super) fn is_any<'p>(&self, patterns: impl Iterator<Item = &'p UrlPattern>) -> bool {
        let mut fitting = Fitting::new(self.query);
        let mut fitting_long = self.long.map(|(path, query)| (path, Fitting::new(query)));
        for pattern in patterns.filter(|pattern| self.pairs.may_fit(pattern.path())) {
            let glob = pattern.path();
            let fits = self.sent.fits(glob) || self.read.is_some_and(|read| read.fits_as_read(glob));
            if fits && fitting.takes(pattern) {
                return true;
            }
            if let Some((path, fitting)) = &mut fitting_long
                && path.fits(glob)
                && fitting.takes(pattern)
            {
                return true;
            }
        }
        fitting.is_any() || fitting_long.is_some_and(|(_, long)| long.is_any())
    }
}

/// The target for which a short address stands; `None`: `target` is no short address.
pub(super) fn stands_for(site: &ActiveSite, target: &str, paths: &mut PathReader) -> Option<String> {
    paths.stands_for(&site.route.gateway.rewrites, target)
}

/// The routes that a target of a site matches.
pub(super) struct MatchedRoute<'s, 't> {
    /// The route of the first rule that fits its path as it was sent, or the site's own.
    pub(super) route: &'s Arc<ActiveRoute>,
    /// The same for the path as applications read it.
    as_read: &'s Arc<ActiveRoute>,
    /// None: the site has neither rules nor lists of URLs.
    asked: Option<TargetParts<'t>>,
}

/// Finds the route of a target of this site. `stands_for`: the target for which it stands if it is a short address.
pub(super) fn find<'s, 't>(
    site: &'s ActiveSite,
    target: &'t str,
    stands_for: Option<&'t str>,
    paths: &'t mut PathReader,
) -> MatchedRoute<'s, 't> {
    let own = &site.route;
    if site.rules.is_empty() && own.refuse_urls.is_empty() && !lists_urls(own) {
        return MatchedRoute { route: own, as_read: own, asked: None };
    }
    let asked = TargetParts::new(target, stands_for, paths);
    let first_match = |is_match: &dyn Fn(&Glob) -> bool| {
        site.rules.iter().find(|rule| is_match(&rule.path)).map_or(own, |rule| &rule.route)
    };
    let route = first_match(&|rule| asked.fits_as_sent(rule));
    let as_read = if asked.read.is_some() { first_match(&|rule| asked.fits_as_read(rule)) } else { route };
    MatchedRoute { route, as_read, asked: Some(asked) }
}

impl<'s> MatchedRoute<'s, '_> {
    /// Why the request passes, if it does.
    ///
    /// Applications differ in how they read a path: some decode it and fold dot segments before they look, some after. Where the
    /// two readings lead to different routes, it is unknown which one suits the page: the request takes the route of the path as it
    /// was sent, and passes.
    pub(super) fn passes(&self) -> Option<Reason> {
        if self.route.pass || !Arc::ptr_eq(self.route, self.as_read) {
            return Some(Reason::PassRule);
        }
        let is_listed = self.asked.as_ref().is_some_and(|asked| asked.is_any(urls(self.route)));
        is_listed.then_some(Reason::PassUrl)
    }

    /// The route that refuses the target, if one does.
    ///
    /// A path that can be read in two ways is compared in both. If either reading says that the URL passes, it passes; if either
    /// says that it is refused, it is refused. So the lists of two routes count: that of the path as it was sent, and that of the
    /// path as applications read it. `/open/../data/x` is refused by the site's list although the rule for `/open/*` has an empty
    /// one.
    pub(super) fn refusing(&self) -> Option<&'s Arc<ActiveRoute>> {
        let asked = self.asked.as_ref()?;
        let other = (!Arc::ptr_eq(self.route, self.as_read)).then_some(self.as_read);
        std::iter::once(self.route).chain(other).find(|route| asked.is_any(route.refuse_urls.iter()))
    }
}

fn lists_urls(route: &ActiveRoute) -> bool {
    urls(route).next().is_some()
}

/// The URLs of a route that pass: those that are listed; those that write into a session or end it; those of which the application
/// makes links for one visitor; and those that change something, since the application has to get each such request.
fn urls(route: &ActiveRoute) -> impl Iterator<Item = &UrlPattern> {
    let listed = route.pass_urls.iter().chain(&route.session.logout).chain(&route.session.harmless_urls);
    let changes = route.changes.list.iter().filter(|change| change.method.as_ref().is_none_or(Method::is_safe));
    let fresh = route.fresh_links.iter().map(|one| &one.url);
    listed
        .chain(fresh)
        .chain(&route.device_urls.mobile)
        .chain(&route.device_urls.desktop)
        .chain(changes.map(|change| &change.url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::ActiveRule;
    use kasoku_options::{self as options, Rewrite};
    use kasoku_semantics::policy::Profile;

    fn route(change: impl FnOnce(&mut options::Route)) -> Arc<ActiveRoute> {
        let mut route = options::Route::new(Profile::Safe, Vec::new());
        change(&mut route);
        Arc::new(ActiveRoute::of(route, "", 0))
    }

    fn site(rules: Vec<(&str, Arc<ActiveRoute>)>, route: Arc<ActiveRoute>) -> ActiveSite {
        let rules = rules.into_iter().map(|(path, route)| ActiveRule { path: path.into(), route }).collect();
        ActiveSite { name: "any".to_owned(), hosts: Vec::new(), rules, route }
    }

    fn patterns(urls: &[&str]) -> Vec<UrlPattern> {
        urls.iter().map(|url| UrlPattern::parse(url).unwrap()).collect()
    }

    fn passes(site: &ActiveSite, target: &str) -> bool {
        let mut paths = PathReader::default();
        let long = stands_for(site, target, &mut paths);
        find(site, target, long.as_deref(), &mut paths).passes().is_some()
    }

    #[test]
    fn a_path_that_can_be_read_in_two_ways_passes() {
        let passing = || route(|route| route.pass = true);
        let rules = vec![
            ("/static/*", route(|_| {})),
            ("/admin/*", passing()),
            ("/caf%C3%A9/*", passing()),
            ("/a b/*", route(|_| {})),
        ];
        let site = site(rules, route(|_| {}));
        for target in [
            "/admin/x",
            "/%61dmin/x",
            "//admin/x",
            "/admin/..%2fx",
            "/admin/../x",
            "/static/..%2fadmin/x",
            "/static/../x",
            "/caf%C3%A9/",
            "/caf%c3%a9/x",
        ] {
            assert!(passes(&site, target), "{target}");
        }
        for target in ["/x", "/b/../x", "/%78", "/x?/admin/", "/static/%78", "/static/./x"] {
            assert!(!passes(&site, target), "{target}");
        }
    }

    #[test]
    fn a_short_address_has_the_rule_and_the_lists_of_the_one_for_which_it_stands() {
        let board = route(|route| route.pass_urls = patterns(&["/bbs/board.php?wr_id=5"]));
        let rules = vec![("/own/*", route(|route| route.pass = true)), ("/bbs/board.php", board.clone())];
        let rewrites =
            ["/{b:word} => /bbs/board.php?bo_table={b}", "/{b:word}/{id:digits} => /bbs/board.php?wr_id={id}"];
        let site = site(
            rules,
            route(|route| {
                route.gateway.rewrites = rewrites.iter().map(|text| Rewrite::parse(text).unwrap()).collect();
                route.refuse_urls = patterns(&["/bbs/board.php?bo_table=secret"]);
            }),
        );
        let found = |target: &str| {
            let mut paths = PathReader::default();
            let long = stands_for(&site, target, &mut paths);
            let found = find(&site, target, long.as_deref(), &mut paths);
            (Arc::ptr_eq(found.route, &board), found.passes(), found.refusing().is_some())
        };
        for target in ["/free", "/free/6", "/free?page=2", "//free", "/%66ree", "/bbs/board.php?bo_table=free"] {
            assert_eq!(found(target), (true, None, false), "{target}");
        }
        for target in ["/free/5", "/x/../free/5", "/free/6?wr_id=5"] {
            assert_eq!(found(target), (true, Some(Reason::PassUrl), false), "{target}");
        }
        assert_eq!(found("/own/5").1, Some(Reason::PassRule), "a rule before it counts, by the address as it was sent");
        assert_eq!(found("/free/x"), (false, None, false));
    }

    fn refusing_site(urls: &[&str], rules: &[(&str, &[&str])]) -> ActiveSite {
        let list = |urls: &[&str]| route(|route| route.refuse_urls = patterns(urls));
        site(rules.iter().map(|(path, urls)| (*path, list(urls))).collect(), list(urls))
    }

    #[track_caller]
    fn expect(site: &ActiveSite, refused: &[&str], served: &[&str]) {
        for (target, expected) in refused.iter().map(|it| (it, true)).chain(served.iter().map(|it| (it, false))) {
            let found = find(site, target, None, &mut PathReader::default()).refusing().is_some();
            assert_eq!(found, expected, "{target}");
        }
    }

    #[test]
    fn a_url_is_refused_by_each_reading_of_its_path() {
        let site = refusing_site(&["/data/*.php*", "*/config.yml", "*?cmd=*"], &[]);
        let refused = [
            "/data/a/x.php",
            "/%64ata/x.php",
            "/data/x.%70hp",
            "//data//x.php",
            "/x/../data/x.php",
            "/x/%2e%2e/data/x.php",
            "/data%2fx.php",
            "/a/config.yml?b",
            "/?cmd=id",
            "/?a=b&%63md=id",
        ];
        expect(&site, &refused, &["/data/x.jpg", "/database/x", "/?data/x.php", "/config.yml.html", "*"]);
    }

    #[test]
    fn a_rule_may_refuse_other_urls_and_no_detour_leads_around_either_list() {
        let site = refusing_site(&["/data/*"], &[("/data/open/*", &[]), ("/adm/*", &["/adm/dump*"])]);
        let refused =
            ["/data/x", "/data/open/../x", "/data/open/%2e%2e/x", "/adm/dump", "/x/../adm/dump", "/adm/x/../dump"];
        expect(&site, &refused, &["/data/open/x", "/adm/x", "/dump"]);
        // A path that can be read in two ways is refused if one of the two lists has it.
        expect(&site, &["/data/./open/x"], &[]);
    }

    #[test]
    fn a_site_without_a_list_refuses_nothing() {
        expect(&refusing_site(&[], &[("/a/*", &[])]), &[], &["/a/x", "/%61/../x"]);
    }
}
