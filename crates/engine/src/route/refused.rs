//! URLs that are refused: they are answered 403 from here, whatever the origin, the method and what is stored.
//!
//! Where a path can be read in two ways, a URL that may pass does pass, and one that may be refused is refused. So the lists of two routes
//! count: of the one to which the path leads as it was sent, and of the one to which it leads as applications read it. `/open/../data/x` is
//! refused by the site's list although the rule for `/open/*` has an empty one.

use super::{first_match, fits_any};
use crate::glob::matches;
use crate::options::{Route, Site};
use crate::path::PathReader;
use crate::url_pattern::path_and_query;
use std::sync::Arc;

/// The route that refuses a target of this site, if one does.
pub(crate) fn refusing<'s>(site: &'s Site, target: &str, paths: &mut PathReader) -> Option<&'s Arc<Route>> {
    let lists = |route: &Route| !route.refuse_urls.is_empty();
    if !lists(&site.route) && !site.rules.iter().any(|rule| lists(&rule.route)) {
        return None;
    }
    let (path, query) = path_and_query(target);
    let as_sent = first_match(site, |rule| matches(rule, path));
    let as_read = match paths.read(path) {
        Some(mut reading) => first_match(site, |rule| reading.fits(rule, matches)),
        None => as_sent,
    };
    [as_sent, as_read].into_iter().find(|route| fits_any(route.refuse_urls.iter(), path, query, paths.read(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Rule, UrlPattern};
    use kasoku_semantics::policy::Profile;

    fn route(urls: &[&str]) -> Arc<Route> {
        let refuse_urls = urls.iter().map(|url| UrlPattern::parse(url).unwrap()).collect();
        Arc::new(Route { refuse_urls, ..Route::new(Profile::Safe, Vec::new()) })
    }

    fn site(urls: &[&str], rules: &[(&str, &[&str])]) -> Site {
        let rule = |(path, urls): &(&str, &[&str])| Rule { path: (*path).to_owned(), route: route(urls) };
        Site { name: "any".to_owned(), hosts: Vec::new(), rules: rules.iter().map(rule).collect(), route: route(urls) }
    }

    #[track_caller]
    fn expect(site: &Site, refused: &[&str], served: &[&str]) {
        for (target, expected) in refused.iter().map(|it| (it, true)).chain(served.iter().map(|it| (it, false))) {
            assert_eq!(refusing(site, target, &mut PathReader::default()).is_some(), expected, "{target}");
        }
    }

    #[test]
    fn a_url_is_refused_by_each_reading_of_its_path() {
        let site = site(&["/data/*.php*", "*/config.yml", "*?cmd=*"], &[]);
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
        let site = site(&["/data/*"], &[("/data/open/*", &[]), ("/adm/*", &["/adm/dump*"])]);
        let refused =
            ["/data/x", "/data/open/../x", "/data/open/%2e%2e/x", "/adm/dump", "/x/../adm/dump", "/adm/x/../dump"];
        expect(&site, &refused, &["/data/open/x", "/adm/x", "/dump"]);
        // A doubt counts against it.
        expect(&site, &["/data/./open/x"], &[]);
    }

    #[test]
    fn a_site_without_a_list_refuses_nothing() {
        expect(&site(&[], &[("/a/*", &[])]), &[], &["/a/x", "/%61/../x"]);
    }
}
