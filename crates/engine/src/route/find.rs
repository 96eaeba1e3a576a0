//! Which rule decides about a target, and which lists of URL patterns it is in.
//!
//! A path is compared as it was sent, and as applications read it ([`PathReader`]). A short address is compared as the address as well for
//! which it stands (`rewrite`), so the rule for `/bbs/board.php` is the rule for `/free/5`, in front of an origin of HTTP too, which does its
//! rewriting itself. Whether a file stands in the way of a short address, nobody looks here: then the rule may be that of a page, and what
//! the origin sends is none.

use crate::glob::matches;
use crate::options::{Route, Site, UrlPattern};
use crate::path::{PathReader, Reading};
use http::Method;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::reason::Reason;
use std::sync::Arc;

/// Path and query of a target.
#[derive(Clone, Copy)]
pub(super) struct Asked<'t> {
    path: &'t str,
    query: Option<&'t str>,
    /// Those for which it is short.
    stands_for: Option<(&'t str, Option<&'t str>)>,
}

impl<'t> Asked<'t> {
    /// A target, and the one for which it is short, if it is.
    pub(super) fn new(target: &'t str, stands_for: Option<&'t str>) -> Self {
        let (path, query) = path_and_query(target);
        Self { path, query, stands_for: stands_for.map(path_and_query) }
    }

    /// Whether a glob over paths fits it, as it was sent or as the address for which it is short.
    fn fits_as_sent(&self, glob: &str) -> bool {
        matches(glob, self.path) || self.fits_long(glob)
    }

    fn fits_long(&self, glob: &str) -> bool {
        self.stands_for.is_some_and(|(path, _)| matches(glob, path))
    }

    /// Whether one of these patterns fits it, in any reading.
    pub(super) fn is_any<'p, P>(&self, patterns: impl Fn() -> P, paths: &mut PathReader) -> bool
    where
        P: Iterator<Item = &'p UrlPattern>,
    {
        let mut reading = paths.read(self.path);
        let fits = |glob: &str| matches(glob, self.path) || reads_as(&mut reading, glob);
        let is_long = || {
            let (path, query) = self.stands_for?;
            UrlPattern::is_any(patterns(), |glob| matches(glob, path), query).then_some(())
        };
        UrlPattern::is_any(patterns(), fits, self.query) || is_long().is_some()
    }
}

fn reads_as(reading: &mut Option<Reading<'_>>, glob: &str) -> bool {
    reading.as_mut().is_some_and(|it| it.fits(glob, matches))
}

/// The target for which one is short, if it is.
pub(super) fn stands_for(site: &Site, target: &str, paths: &mut PathReader) -> Option<String> {
    paths.stands_for(&site.route.gateway.rewrites, target)
}

/// The route of a site's first rule that matches, or the site's own, and whether the request passes.
///
/// Applications differ in how they read a path: some decode it and fold dot segments before they look, some after. Where
/// the two readings lead to different routes, nobody knows whose page it will be: the request goes where the path as it was
/// sent leads, and passes.
pub(super) fn find<'s>(site: &'s Site, asked: &Asked<'_>, paths: &mut PathReader) -> (&'s Arc<Route>, Option<Reason>) {
    if site.rules.is_empty() && !lists_urls(&site.route) {
        return (&site.route, site.route.pass.then_some(Reason::PassRule));
    }
    let as_sent = first_match(site, |rule| asked.fits_as_sent(rule));
    if as_sent.pass {
        return (as_sent, Some(Reason::PassRule));
    }
    if !Arc::ptr_eq(as_sent, as_read(site, asked, paths).unwrap_or(as_sent)) {
        return (as_sent, Some(Reason::PassRule));
    }
    let is_listed = lists_urls(as_sent) && asked.is_any(|| urls(as_sent), paths);
    (as_sent, is_listed.then_some(Reason::PassUrl))
}

/// The route that refuses a target of this site, if one does.
///
/// Where a path can be read in two ways, a URL that may pass does pass, and one that may be refused is refused. So the lists of two routes
/// count: of the one to which the path leads as it was sent, and of the one to which it leads as applications read it. `/open/../data/x` is
/// refused by the site's list although the rule for `/open/*` has an empty one.
pub(super) fn refusing<'s>(site: &'s Site, asked: &Asked<'_>, paths: &mut PathReader) -> Option<&'s Arc<Route>> {
    let lists = |route: &Route| !route.refuse_urls.is_empty();
    if !lists(&site.route) && !site.rules.iter().any(|rule| lists(&rule.route)) {
        return None;
    }
    let as_sent = first_match(site, |rule| asked.fits_as_sent(rule));
    let as_read = as_read(site, asked, paths).unwrap_or(as_sent);
    [as_sent, as_read].into_iter().find(|route| asked.is_any(|| route.refuse_urls.iter(), paths))
}

/// The route to which a path leads as applications read it; `None`: they read it as it was sent.
fn as_read<'s>(site: &'s Site, asked: &Asked<'_>, paths: &mut PathReader) -> Option<&'s Arc<Route>> {
    let mut reading = paths.read(asked.path)?;
    Some(first_match(site, |rule| reading.fits(rule, matches) || asked.fits_long(rule)))
}

fn first_match(site: &Site, mut is_match: impl FnMut(&str) -> bool) -> &Arc<Route> {
    site.rules.iter().find(|rule| is_match(&rule.path)).map_or(&site.route, |rule| &rule.route)
}

fn lists_urls(route: &Route) -> bool {
    urls(route).next().is_some()
}

/// The URLs of a route that pass: those of its list, and those that write into a session or end it, of which the application makes links for one
/// visitor, or which change something, of which it has to hear.
fn urls(route: &Route) -> impl Iterator<Item = &UrlPattern> {
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
    use crate::options::Rule;
    use kasoku_origin::Rewrite;
    use kasoku_semantics::policy::Profile;

    fn route(change: impl FnOnce(&mut Route)) -> Arc<Route> {
        let mut route = Route::new(Profile::Safe, Vec::new());
        change(&mut route);
        Arc::new(route)
    }

    fn site(rules: Vec<(&str, Arc<Route>)>, route: Arc<Route>) -> Site {
        let rules = rules.into_iter().map(|(path, route)| Rule { path: path.to_owned(), route }).collect();
        Site { name: "any".to_owned(), hosts: Vec::new(), rules, route }
    }

    fn patterns(urls: &[&str]) -> Vec<UrlPattern> {
        urls.iter().map(|url| UrlPattern::parse(url).unwrap()).collect()
    }

    fn passes(site: &Site, target: &str) -> bool {
        let mut paths = PathReader::default();
        let long = stands_for(site, target, &mut paths);
        find(site, &Asked::new(target, long.as_deref()), &mut paths).1.is_some()
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
            let asked = Asked::new(target, long.as_deref());
            let (route, passes) = find(&site, &asked, &mut paths);
            (Arc::ptr_eq(route, &board), passes, refusing(&site, &asked, &mut paths).is_some())
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

    fn refusing_site(urls: &[&str], rules: &[(&str, &[&str])]) -> Site {
        let list = |urls: &[&str]| route(|route| route.refuse_urls = patterns(urls));
        site(rules.iter().map(|(path, urls)| (*path, list(urls))).collect(), list(urls))
    }

    #[track_caller]
    fn expect(site: &Site, refused: &[&str], served: &[&str]) {
        for (target, expected) in refused.iter().map(|it| (it, true)).chain(served.iter().map(|it| (it, false))) {
            let found = refusing(site, &Asked::new(target, None), &mut PathReader::default()).is_some();
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
        // A doubt counts against it.
        expect(&site, &["/data/./open/x"], &[]);
    }

    #[test]
    fn a_site_without_a_list_refuses_nothing() {
        expect(&refusing_site(&[], &[("/a/*", &[])]), &[], &["/a/x", "/%61/../x"]);
    }
}
