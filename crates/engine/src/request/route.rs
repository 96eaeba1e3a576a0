//! Routes a request: trusted proxies, effective request URI, site, rule and cache key.

mod authority;
mod find;
mod parameters;
mod proxied;
mod remembered;
mod routed;

use crate::error::Fault;
use crate::recycle::BufferPool;
use crate::request::path::PathReader;
use crate::sites::{ActiveRoute, ActiveSite};
pub(crate) use authority::KnownAuthority;
use find::{TargetParts, find, stands_for};
use kasoku_cache::Cache;
use kasoku_options::UrlPattern;
use kasoku_semantics::effective_uri::{RequestedUri, UriParts, split, without_path_parameters, write_normalised};
use kasoku_semantics::invalidation::location_target;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::url_credentials;
use kasoku_wire::target::write_authority;
use kasoku_wire::{Fields, RequestHead};
use proxied::Proxied;
pub(crate) use remembered::Remembered;
use remembered::is_worth_it;
pub(crate) use routed::{Base, Routed};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// The target to which an answer redirects its client, and what the application would read.
pub(crate) struct RedirectTarget {
    target: String,
    stands_for: Option<String>,
}

impl RedirectTarget {
    /// The target of an answer's Location, whatever host it names; `None`: the answer has no Location, or none that can be read.
    pub(crate) fn of(sites: &[ActiveSite], routed: &Routed, answer: &Fields) -> Option<Self> {
        let target = location_target(routed.key.uri(), answer)?;
        let site = sites.get(routed.site)?;
        let stands_for = stands_for(site, &target, &mut PathReader::default());
        Some(Self { target, stands_for })
    }

    pub(crate) fn read_target(&self) -> &str {
        self.stands_for.as_deref().unwrap_or(&self.target)
    }

    /// Whether one of these patterns fits the target.
    pub(crate) fn is_any(&self, patterns: &[UrlPattern]) -> bool {
        let mut paths = PathReader::default();
        TargetParts::new(&self.target, self.stands_for.as_deref(), &mut paths).is_any(patterns.iter())
    }
}

/// A worker's reusable buffers for routing, with the routes of the last requests.
#[derive(Clone, Copy)]
pub(crate) struct RouteScratch<'w> {
    pub(crate) cache: &'w Cache,
    pub(crate) uris: &'w BufferPool<String>,
    pub(crate) known_authority: &'w RefCell<KnownAuthority>,
    pub(crate) paths: &'w RefCell<PathReader>,
    pub(crate) remembered: &'w RefCell<Remembered>,
}

/// Finds the site and the rule of a request, and its key. `own_address`: the address that the client has connected to.
pub(crate) fn route(
    sites: &[ActiveSite],
    scratch: RouteScratch<'_>,
    head: &RequestHead,
    is_trusted: bool,
    own_address: impl FnOnce() -> Option<SocketAddr>,
) -> Result<Routed, Fault> {
    let proxied = Proxied::of(&head.fields, is_trusted);
    let scheme = if proxied.is_https { "https" } else { "http" };
    let default_port = if proxied.is_https { 443 } else { 80 };
    let RequestedUri { host, target, scheme: claimed } = RequestedUri::of(head).map_err(Fault::Request)?;
    // A request for https on a plain connection must not share an answer with a request for http.
    if claimed == Some("https") && !proxied.is_https {
        return Err(Fault::WrongScheme);
    }
    // The one text that a request needs, in a buffer that is reused.
    let mut uri = scratch.uris.take();
    uri.push_str(scheme);
    uri.push_str("://");
    let authority_start = uri.len();
    match proxied.host.or(host) {
        Some(host) => scratch.known_authority.borrow_mut().write(host, default_port, &mut uri)?,
        // HTTP/1.0 without Host: the address that the client has connected to.
        None => match own_address() {
            Some(own) => {
                // Writing to a String cannot fail.
                let _ = write!(uri, "{own}");
            }
            None => uri.push_str("localhost"),
        },
    }
    let paths = &mut scratch.paths.borrow_mut();
    let of = NormalisedAuthority { uri, start: authority_start, scheme };
    let (number, site) = of.site(sites)?;
    if !is_worth_it(site) {
        return route_in(sites, number, scratch.cache, paths, of, &target);
    }
    let mut remembered = scratch.remembered.borrow_mut();
    if let Some(lead) = remembered.find(number, &target) {
        return Ok(lead.follow(of.for_keys_of(site), scratch.cache, paths));
    }
    let routed = route_in(sites, number, scratch.cache, paths, of, &target)?;
    remembered.keep(&target, &routed);
    Ok(routed)
}

/// The beginning of a URI up to the end of its authority, normalised.
struct NormalisedAuthority {
    uri: String,
    /// Where the authority begins.
    start: usize,
    scheme: &'static str,
}

impl NormalisedAuthority {
    /// The site that serves the authority, with its number.
    fn site<'s>(&self, sites: &'s [ActiveSite]) -> Result<(usize, &'s ActiveSite), Fault> {
        let number = site_number(sites, self.uri.get(self.start..).unwrap_or_default());
        number.and_then(|number| Some((number, sites.get(number)?))).ok_or(Fault::NoSite)
    }

    /// Writes the host of the site's keys in the place of the authority, where the site sets one.
    fn for_keys_of(mut self, site: &ActiveSite) -> Self {
        if let Some(host) = &site.route.key.host {
            self.uri.truncate(self.start);
            self.uri.push_str(host);
        }
        self
    }
}

fn route_from(
    sites: &[ActiveSite],
    cache: &Cache,
    paths: &mut PathReader,
    of: NormalisedAuthority,
    target: &str,
) -> Result<Routed, Fault> {
    let (number, _) = of.site(sites)?;
    route_in(sites, number, cache, paths, of, target)
}

/// Routes a target in the site of that number, whatever the authority.
fn route_in(
    sites: &[ActiveSite],
    number: usize,
    cache: &Cache,
    paths: &mut PathReader,
    of: NormalisedAuthority,
    target: &str,
) -> Result<Routed, Fault> {
    let site = sites.get(number).ok_or(Fault::NoSite)?;
    let NormalisedAuthority { mut uri, scheme, .. } = of.for_keys_of(site);
    let authority_end = uri.len();
    let target = &*without_path_parameters(target, &site.route.key.path_parameters);
    let long = stands_for(site, target, paths);
    let found = find(site, target, long.as_deref(), paths);
    let (route, passes, refused_by) = (found.route.clone(), found.passes(), found.refusing().cloned());
    write_normalised(target, &route.query, &mut uri);
    let asked_for = uri.get(authority_end..).unwrap_or_default();
    // The application does not read the parameters that were left out of the query.
    let stands_for = match long {
        Some(long) if asked_for != target => {
            paths.give_back(long);
            stands_for(site, asked_for, paths)
        }
        long => long,
    };
    let read = stands_for.as_deref().unwrap_or(asked_for);
    let passes = passes.or_else(|| passes_by_query(asked_for, read, &route));
    Ok(Routed {
        route,
        passes,
        refused_by,
        key: cache.key(uri),
        scheme,
        site: number,
        authority_end,
        stands_for,
        pattern: OnceCell::new(),
    })
}

/// Why a request passes for its URL, if it does: for a credential, or for a parameter or value that the pages of the route don't take.
fn passes_by_query(target: &str, read: &str, route: &ActiveRoute) -> Option<Reason> {
    let is_short = !std::ptr::eq(target, read);
    let by_credential = |target| url_credentials::passes(target, &route.policy, &route.session.cookies);
    let credential = by_credential(target).or_else(|| if is_short { by_credential(read) } else { None });
    credential.or_else(|| parameters::passes(read, route))
}

/// The route that refuses a target of this site, if one does.
pub(crate) fn refusing<'s>(site: &'s ActiveSite, target: &str, paths: &mut PathReader) -> Option<&'s Arc<ActiveRoute>> {
    let long = stands_for(site, target, paths);
    find(site, target, long.as_deref(), paths).refusing()
}

/// Routes a URL that no client has requested. Its target is absolute, as a client writes it to a proxy.
pub(crate) fn route_url(sites: &[ActiveSite], cache: &Cache, head: &RequestHead) -> Result<Routed, Fault> {
    let RequestedUri { host, target, scheme: claimed } = RequestedUri::of(head).map_err(Fault::Request)?;
    let (scheme, default_port) = if claimed == Some("https") { ("https", 443) } else { ("http", 80) };
    let mut uri = format!("{scheme}://");
    let start = uri.len();
    write_authority(host.unwrap_or_default(), default_port, &mut uri).map_err(Fault::Request)?;
    route_from(sites, cache, &mut PathReader::default(), NormalisedAuthority { uri, start, scheme }, &target)
}

/// Path and query of a key's URI in the site of that number, as the application reads them.
pub(crate) fn read_target_of(sites: &[ActiveSite], site: usize, uri: &str) -> Option<String> {
    let target = split(uri)?.target;
    Some(stands_for(sites.get(site)?, target, &mut PathReader::default()).unwrap_or_else(|| target.to_owned()))
}

/// Path and query of another URL of the same site, as the application reads them.
pub(crate) fn read_beside<'t>(sites: &[ActiveSite], routed: &Routed, target: &'t str) -> Cow<'t, str> {
    let site = sites.get(routed.site);
    let long = site.and_then(|site| stands_for(site, target, &mut PathReader::default()));
    long.map_or(Cow::Borrowed(target), Cow::Owned)
}

/// Routes another target of the same site.
pub(crate) fn route_beside(
    sites: &[ActiveSite],
    scratch: RouteScratch<'_>,
    base: &Base,
    target: &str,
) -> Option<Routed> {
    let scheme = if base.uri.starts_with("https://") { "https" } else { "http" };
    let of = NormalisedAuthority { uri: base.uri.clone(), start: scheme.len() + "://".len(), scheme };
    // Keys may have another host than the site's own, even one of another site: so the site is not looked for by the host.
    route_in(sites, base.site, scratch.cache, &mut scratch.paths.borrow_mut(), of, target).ok()
}

/// A URI as its key spells it: the host that the site's keys have, and the query as its route normalises it.
pub(crate) fn canonical(sites: &[ActiveSite], paths: &mut PathReader, uri: String) -> String {
    let Some(UriParts { scheme, authority, target, .. }) = split(&uri) else { return uri };
    let Some(site) = serving(sites, authority) else { return uri };
    let key = &site.route.key;
    let target = &*without_path_parameters(target, &key.path_parameters);
    let long = stands_for(site, target, paths);
    let route = find(site, target, long.as_deref(), paths).route;
    let mut canonical = format!("{scheme}://{}", key.host.as_deref().unwrap_or(authority));
    write_normalised(target, &route.query, &mut canonical);
    canonical
}

/// The route for the target of a program's local redirect in the same site, and whether requests for that target pass.
pub(crate) fn route_redirect(site: &ActiveSite, paths: &mut PathReader, target: &str) -> (Arc<ActiveRoute>, bool) {
    let long = stands_for(site, target, paths);
    let found = find(site, target, long.as_deref(), paths);
    let (route, passes) = (found.route, found.passes());
    let read = long.as_deref().unwrap_or(target);
    (route.clone(), passes.or_else(|| passes_by_query(target, read, route)).is_some())
}

/// The host that keys of requests to `authority` have.
pub(crate) fn host_in_keys<'h>(sites: &'h [ActiveSite], authority: &'h str) -> &'h str {
    serving(sites, authority).and_then(|site| site.route.key.host.as_deref()).unwrap_or(authority)
}

/// The site that serves an authority.
pub(crate) fn serving<'o>(sites: &'o [ActiveSite], authority: &str) -> Option<&'o ActiveSite> {
    sites.get(site_number(sites, authority)?)
}

fn site_number(sites: &[ActiveSite], authority: &str) -> Option<usize> {
    let is_served = |site: &ActiveSite| {
        if site.hosts.is_empty() {
            return true;
        }
        site.hosts.iter().any(|pattern| pattern.fits(authority))
    };
    sites.iter().position(is_served)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::{self as options, HostPattern};
    use kasoku_semantics::policy::Profile;

    fn plain() -> Arc<ActiveRoute> {
        Arc::new(ActiveRoute::of(options::Route::new(Profile::Safe, Vec::new()), "", 0))
    }

    #[test]
    fn a_program_that_leads_to_a_credential_in_a_url_makes_a_page_for_one() {
        let site = ActiveSite { name: "any".to_owned(), hosts: Vec::new(), rules: Vec::new(), route: plain() };
        let passes = |target: &str| route_redirect(&site, &mut PathReader::default(), target).1;
        assert!(passes("/list?sid=5") && passes("/list;jsessionid=5") && !passes("/list?page=5"));
    }

    #[test]
    fn the_first_site_that_matches_serves() {
        let site_of = |hosts: Vec<HostPattern>, name: &str| ActiveSite {
            name: name.to_owned(),
            hosts,
            rules: Vec::new(),
            route: plain(),
        };
        let sites = [
            site_of(vec![HostPattern::Exact("a.org".into()), HostPattern::Below(".a.org".into())], "a"),
            site_of(vec![], "any"),
        ];
        let name = |host| serving(&sites, host).map(|site| site.name.clone());
        assert_eq!(name("a.org").as_deref(), Some("a"));
        assert_eq!(name("www.a.org").as_deref(), Some("a"));
        assert_eq!(name("xa.org").as_deref(), Some("any"));
        assert!(serving(&sites[..1], ".a.org").is_none());
    }
}
