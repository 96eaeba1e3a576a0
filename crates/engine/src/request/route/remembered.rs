//! Caches the routes of recently requested targets, per worker.
//!
//! Rule, lists of URLs, short address, parameters and tags follow from the target and the settings alone. Under the policy of an
//! application, finding them costs more than all the rest of a hit, and most requests are for few of a site's targets. So each
//! worker keeps what it found beside the settings from which it follows: a reload begins with an empty table. Of a client's
//! request, only the target is kept.
//!
//! A target has one place in the table, and the target that was requested last takes it: a crawler costs other targets the time
//! that finding takes, and no more. A place keeps its buffers for the next target, so a hit on a page that was found before
//! allocates nothing.

use crate::request::path::PathReader;
use crate::request::route::NormalisedAuthority;
use crate::request::route::routed::Routed;
use crate::sites::{ActiveRoute, ActiveSite};
use kasoku_cache::Cache;
use kasoku_semantics::policy::Profile;
use kasoku_semantics::reason::Reason;
use std::cell::OnceCell;
use std::hash::BuildHasher;
use std::sync::Arc;

/// The most targets that a worker remembers.
const TARGETS_MAX: usize = 1024;

/// The longest target that is remembered, and the longest target for which it may stand, in bytes.
const TARGET_BYTES_MAX: usize = 256;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Remembered {
    /// Empty before the first target.
    places: Vec<Option<RememberedRoute>>,
    hasher: foldhash::fast::RandomState,
}

/// The route of a target.
pub(super) struct RememberedRoute {
    texts: RememberedTexts,
    site: usize,
    route: Arc<ActiveRoute>,
    passes: Option<Reason>,
    refused_by: Option<Arc<ActiveRoute>>,
    is_short: bool,
}

#[derive(Default)]
struct RememberedTexts {
    /// The target as it was sent.
    sent: String,
    /// The target as the key has it.
    asked_for: String,
    /// The target for which it stands, if it is a short address.
    stands_for: String,
}

/// Whether a site's targets are worth remembering: a rule, a rewrite, or whether the request passes for a credential, depends on
/// the target. In other sites the route is found at once.
pub(super) fn is_worth_it(site: &ActiveSite) -> bool {
    let is_safe = site.route.policy.profile == Profile::Safe;
    is_safe || !site.rules.is_empty() || !site.route.gateway.rewrites.is_empty()
}

impl Remembered {
    /// The route of that target in the site of that number, if it is remembered.
    pub(super) fn find(&self, site: usize, target: &str) -> Option<&RememberedRoute> {
        let lead = self.places.get(self.place(site, target))?.as_ref()?;
        (lead.site == site && lead.texts.sent == target).then_some(lead)
    }

    /// Remembers the route of a target.
    pub(super) fn keep(&mut self, target: &str, led: &Routed) {
        let stands_for = led.stands_for();
        // The target in the key is a part of this one, so it is no longer.
        if target.len().max(stands_for.map_or(0, str::len)) > TARGET_BYTES_MAX {
            return;
        }
        if self.places.is_empty() {
            self.places.resize_with(TARGETS_MAX, || None);
        }
        let number = self.place(led.site, target);
        let Some(place) = self.places.get_mut(number) else { return };
        let mut texts = place.take().map(|lead| lead.texts).unwrap_or_default();
        write(&mut texts.sent, target);
        write(&mut texts.asked_for, led.target());
        write(&mut texts.stands_for, stands_for.unwrap_or_default());
        *place = Some(RememberedRoute {
            texts,
            site: led.site,
            route: led.route.clone(),
            passes: led.passes,
            refused_by: led.refused_by.clone(),
            is_short: stands_for.is_some(),
        });
    }

    fn place(&self, site: usize, target: &str) -> usize {
        let hash = self.hasher.hash_one((site, target));
        (hash % TARGETS_MAX as u64) as usize
    }
}

fn write(place: &mut String, text: &str) {
    place.clear();
    place.push_str(text);
}

impl RememberedRoute {
    /// The route for a request to that authority.
    pub(super) fn follow(&self, of: NormalisedAuthority, cache: &Cache, paths: &mut PathReader) -> Routed {
        let NormalisedAuthority { mut uri, scheme, .. } = of;
        let authority_end = uri.len();
        uri.push_str(&self.texts.asked_for);
        Routed {
            route: self.route.clone(),
            passes: self.passes,
            refused_by: self.refused_by.clone(),
            key: cache.key(uri),
            scheme,
            site: self.site,
            authority_end,
            stands_for: self.is_short.then(|| paths.copy(&self.texts.stands_for)),
            pattern: OnceCell::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::route::route_in;
    use crate::sites::ActiveRule;
    use kasoku_options::{self as options, Rewrite, TagTemplate, UrlPattern};
    use kasoku_semantics::policy::Profile;

    fn sites() -> [ActiveSite; 2] {
        let route = |change: &dyn Fn(&mut options::Route)| {
            let mut route = options::Route::new(Profile::Safe, Vec::new());
            change(&mut route);
            Arc::new(ActiveRoute::of(route, "", 0))
        };
        let patterns = |url: &str| vec![UrlPattern::parse(url).unwrap()];
        let board = route(&|route| {
            route.pass_urls = patterns("*?wr_id=7");
            route.query.ignore = vec!["utm_*".to_owned()];
            route.query.known = vec!["bo_table".to_owned(), "wr_id".to_owned()];
            let policy = Arc::make_mut(&mut route.policy);
            policy.grant.ttl_seconds = 60;
            policy.tags.templates = vec![TagTemplate::parse("post-{wr_id:digits}").unwrap()];
        });
        let own = route(&|route| {
            route.refuse_urls = patterns("/data/*.php*");
            route.gateway.rewrites =
                vec![Rewrite::parse("/{b:word}/{id:digits} => /b.php?bo_table={b}&wr_id={id}").unwrap()];
        });
        let other =
            ActiveSite { name: "other".to_owned(), hosts: Vec::new(), rules: Vec::new(), route: route(&|_| {}) };
        let rules = vec![
            ActiveRule { path: "/b.php".into(), route: board },
            ActiveRule { path: "/own/*".into(), route: route(&|route| route.pass = true) },
        ];
        [ActiveSite { name: "boards".to_owned(), hosts: Vec::new(), rules, route: own }, other]
    }

    fn told(routed: &Routed) -> impl PartialEq + std::fmt::Debug {
        let Routed { route, passes, refused_by, key, scheme, site, authority_end, stands_for, .. } = routed;
        let refused_by = refused_by.as_ref().map(Arc::as_ptr);
        (
            Arc::as_ptr(route),
            *passes,
            refused_by,
            key.uri().to_owned(),
            *scheme,
            *site,
            *authority_end,
            stands_for.clone(),
        )
    }

    #[test]
    fn what_is_remembered_is_what_is_found() {
        let (sites, cache) =
            (sites(), Cache::new(kasoku_cache::CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 }));
        let mut remembered = Remembered::default();
        let mut paths = PathReader::default();
        let of =
            |host: &str| NormalisedAuthority { uri: format!("http://{host}"), start: "http://".len(), scheme: "http" };
        let mut found = Vec::new();
        for (site, host) in [(0, "a.org"), (0, "b.example.org"), (1, "a.org")] {
            for target in [
                "/",
                "*",
                "/free/5",
                "/free/7",
                "/%66ree/5",
                "/free/5?utm_source=x",
                "/free/5?other=1",
                "/free/5?wr_id=05",
                "/own/5",
                "/x/../own/5",
                "/data/x.php",
                "/b.php?wr_id=5&utm_x",
                "/free/5?sid=1",
            ] {
                let expected = route_in(&sites, site, &cache, &mut paths, of(host), target).ok().unwrap();
                for _ in 0..2 {
                    if remembered.find(site, target).is_none() {
                        remembered.keep(target, &expected);
                    }
                    let again = remembered.find(site, target).unwrap().follow(of(host), &cache, &mut paths);
                    assert_eq!(told(&again), told(&expected), "{host} {target}");
                }
                found.push((expected.passes, expected.refused_by.is_some(), expected.stands_for.is_some()));
            }
        }
        // The targets above do lead to different places.
        found.dedup();
        assert!(found.len() > 20, "{found:?}");
    }

    #[test]
    fn what_is_too_long_is_not_kept_and_the_table_does_not_grow() {
        let (sites, cache) =
            (sites(), Cache::new(kasoku_cache::CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 }));
        let mut remembered = Remembered::default();
        let mut keep = |target: &str| {
            let of = NormalisedAuthority { uri: "http://a".to_owned(), start: "http://".len(), scheme: "http" };
            let routed = route_in(&sites, 0, &cache, &mut PathReader::default(), of, target).ok().unwrap();
            remembered.keep(target, &routed);
            (remembered.find(0, target).is_some(), remembered.places.len())
        };
        assert_eq!(keep(&format!("/{}", "x".repeat(TARGET_BYTES_MAX))), (false, 0));
        assert_eq!(
            keep(&format!("/{}/5", "x".repeat(TARGET_BYTES_MAX - 10))),
            (false, 0),
            "the one for which it is short is too long"
        );
        for number in 0..2 * TARGETS_MAX {
            assert_eq!(keep(&format!("/{number}")), (true, TARGETS_MAX));
        }
    }
}
