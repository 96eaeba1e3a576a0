//! Purges responses: for the methods PURGE and BAN from a listed address, and for the operator's commands.
//!
//! A URL is purged under both schemes, since the sender often does not know whether a proxy in front of Kasoku terminates TLS.
//! All variants of it go. A prefix and a site become marks in the cache, so their purge takes no longer than that of a URL.
//!
//! Plugins of applications send PURGE to Varnish and nginx. So Kasoku obeys it on the site's own listeners, from listed
//! addresses; with PURGE or BAN a plugin may also name tags. A request that came through a proxy seems to come from the proxy's
//! address, often this machine's. Kasoku obeys it only where that proxy is trusted and names a client that is listed.

mod meant;

pub use meant::SiteNames;

use crate::exchange::Exchange;
use crate::request::path::PathReader;
use crate::request::route::{Routed, canonical, host_in_keys, serving};
use crate::runtime::handle::EngineHandle;
use crate::runtime::removals::{NotCertain, certain};
use crate::sites::{ActiveSite, sites};
use http::{Method, StatusCode};
use kasoku_cache::Uncertain;
use kasoku_cache::{Cache, Purge, PurgeScope, PurgeScopeError};
use kasoku_cache::{Invalidated, Reach};
use kasoku_metrics::Counter;
use kasoku_options::AddressRange;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::client_address::client;
use kasoku_semantics::tags::TAGS_MAX;
use kasoku_semantics::time::Now;
use kasoku_wire::Fields;
use kasoku_wire::target::{RequestTarget, parse_target, write_authority};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The target of a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeTarget {
    /// One URL, in all variants: `http://example.org/page?id=1`.
    Url(String),
    /// All URLs that begin like this one: `http://example.org/blog/`.
    Prefix(String),
    /// All URLs of one host: `example.org`; or of a site, by its name in logs and metrics.
    Site(String),
    /// All responses with one of these tags: in the site that serves this host, or in all sites.
    Tags(Vec<String>, Option<String>),
    /// Everything.
    All,
}

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// For a URL: whether something was stored for it. `None` where other front ends may have had something, and for a prefix, a site or a tag.
    pub was_stored: Option<bool>,
    /// Which servers of the shared tier, or which peers, have got it; `None` where there are none, or nobody has waited for them.
    pub reach: Option<Reach>,
}

/// Why nothing was purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PurgeError {
    /// It is not an http or https URL.
    #[error("not an http or https URL: {url}{hint}", url = .0, hint = url_hint(.0))]
    Url(String),
    /// The prefix, site or tag is not valid.
    #[error(transparent)]
    Scope(#[from] PurgeScopeError),
    /// It was purged, and that may be undone.
    #[error(transparent)]
    Uncertain(#[from] Uncertain),
    /// It was purged, and the disk tier has not noted it in time.
    #[error("it was purged in memory, and the disk does not answer: the next start may undo that")]
    DiskTimeout,
    /// No site here has tags, or the named site has none.
    #[error("no such site has tags: `tags` in the configuration of a site says which tags its responses get")]
    NoTags,
    /// The configuration makes no tag of that name (`tags`).
    #[error("no response can have the tag {0}: `tags` in the configuration makes no such tag")]
    UnknownTag(String),
    /// No site serves that host. With the names that would do.
    #[error("no site is configured for the host {0} (sites: {1})")]
    NoSite(String, SiteNames),
    /// A path without a host. With the names that would do.
    #[error("{0} has no host: write http://HOST{0} as visitors write it, a port included (sites: {1})")]
    NoHost(String, SiteNames),
    /// That site serves many hosts, and is not the only site.
    #[error(
        "the site {0} serves many hosts and is not the only site: name one of its hosts, or purge everything (--all)"
    )]
    ManyHosts(String),
}

/// What to write instead of a host alone.
fn url_hint(url: &str) -> String {
    meant::host_alone(url).map_or_else(String::new, |host| {
        format!(" (write a page like http://{host}/page, or --site {host} for the whole host)")
    })
}

impl EngineHandle {
    /// Purges for the operator, and waits until the disk tier has noted that.
    ///
    /// # Errors
    /// The target is not valid, and nothing is purged. Or the disk tier can't note it.
    pub async fn purge_durably(&self, target: &PurgeTarget, purge: Purge) -> Result<Purged, PurgeError> {
        let (purged, invalidated) = self.begin_purge(target, purge)?;
        let reach = noted(self.cache(), invalidated).await?;
        Ok(Purged { reach, ..purged })
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// The target is not valid. Nothing is purged.
    pub fn purge(&self, target: &PurgeTarget, purge: Purge) -> Result<Purged, PurgeError> {
        self.begin_purge(target, purge).map(|(purged, _)| purged)
    }

    fn begin_purge(&self, target: &PurgeTarget, purge: Purge) -> Result<(Purged, Invalidated), PurgeError> {
        let sites = sites(&self.options());
        let target = meant::meant(&sites, target)?;
        if let Some(host) = host_of(&target).filter(|host| !is_known(&sites, host)) {
            return Err(PurgeError::NoSite(host, SiteNames::of(&sites)));
        }
        let purged = purge_target(self.cache(), &sites, &target, purge, self.now())?;
        // A purge follows a change, which may have removed what made pages differ by visitor.
        match host_of(&target) {
            Some(host) => self.guard().look_again(|shown| is_of_host(&sites, shown, &host)),
            None if *target == PurgeTarget::All => self.guard().look_again(|_| true),
            None => {}
        }
        self.cells().count_shared(Counter::Purges);
        Ok(purged)
    }
}

/// Waits until the disk tier has noted a purge, and the shared tier. Returns which of its servers have, or which peers.
async fn noted(cache: &Cache, invalidated: Invalidated) -> Result<Option<Reach>, PurgeError> {
    if invalidated.is_certain() {
        return Ok(None);
    }
    match certain(cache, invalidated).await {
        Ok(reach) => Ok(reach),
        Err(NotCertain::Uncertain(error)) => Err(error.into()),
        Err(NotCertain::DiskTimeout) => Err(PurgeError::DiskTimeout),
    }
}

fn purge_target(
    cache: &Cache,
    sites: &[ActiveSite],
    target: &PurgeTarget,
    purge: Purge,
    now: Now,
) -> Result<(Purged, Invalidated), PurgeError> {
    let mut invalidated = Invalidated::default();
    let mut all_of = |scope: PurgeScope<'_>| {
        let purged = cache.purge_all_of(scope, purge, now).map_err(PurgeError::Scope);
        purged.map(|purged| invalidated.add(purged))
    };
    match target {
        PurgeTarget::Url(url) => {
            let mut invalidated = Invalidated::default();
            for uri in under_both_schemes(url)? {
                let key = cache.key(canonical(sites, &mut PathReader::default(), uri));
                invalidated.add(cache.purge(&key, purge, now));
            }
            let is_known = invalidated.keys > 0 || cache.purge_exchange().is_none();
            return Ok((Purged { was_stored: is_known.then_some(invalidated.keys > 0), reach: None }, invalidated));
        }
        PurgeTarget::Prefix(prefix) => {
            for uri in under_both_schemes(prefix)? {
                let uri = with_host_in_keys(sites, &uri);
                all_of(PurgeScope::Prefix(&uri))?;
            }
        }
        PurgeTarget::Site(host) => {
            let host = host_as_in_keys(host)?;
            // The key's host may have a port, which a site's name has not.
            all_of(PurgeScope::Site(without_port(host_in_keys(sites, &host))))?;
        }
        PurgeTarget::Tags(tags, host) => {
            let tagged = tagged_sites(sites, host.as_deref())?;
            let is_unknown = |tag: &&String| !tag.is_empty() && !tagged.iter().any(|site| makes_tag(site, tag));
            if let Some(tag) = tags.iter().find(is_unknown) {
                return Err(PurgeError::UnknownTag(tag.clone()));
            }
            for name in tagged.into_iter().map(ActiveSite::tagged_as) {
                tags.iter().try_for_each(|tag| all_of(PurgeScope::Tag(name, &tag.to_ascii_lowercase())))?;
            }
        }
        PurgeTarget::All => all_of(PurgeScope::All)?,
    }
    Ok((Purged { was_stored: None, reach: None }, invalidated))
}

/// The host that a purge is about, as keys have it, without its port.
fn host_of(target: &PurgeTarget) -> Option<String> {
    match target {
        PurgeTarget::Url(url) | PurgeTarget::Prefix(url) => {
            let [uri, _] = under_both_schemes(url).ok()?;
            let (_, rest) = uri.split_once("://")?;
            Some(without_port(rest.split('/').next()?).to_owned())
        }
        PurgeTarget::Site(host) => host_as_in_keys(host).ok(),
        PurgeTarget::Tags(..) | PurgeTarget::All => None,
    }
}

/// Whether a pattern of the guard may be of a host.
pub(crate) fn is_of_host(sites: &[ActiveSite], shown: &str, host: &str) -> bool {
    serving(sites, host).is_some_and(|site| shown.split('/').next() == Some(&*site.route.guarded_hosts.name(host)))
}

/// Whether a site serves that host, or has it in its keys.
fn is_known(sites: &[ActiveSite], host: &str) -> bool {
    let is_in_keys = |site: &ActiveSite| site.route.key.host.as_deref().map(without_port) == Some(host);
    serving(sites, host).is_some() || sites.iter().any(is_in_keys)
}

/// Whether responses of a site may have that tag.
fn makes_tag(site: &ActiveSite, tag: &str) -> bool {
    site.routes().any(|route| route.policy.tags.can_make(&tag.to_ascii_lowercase()))
}

/// The sites that have tags: the one that serves a host, or all.
fn tagged_sites<'s>(sites: &'s [ActiveSite], host: Option<&str>) -> Result<Vec<&'s ActiveSite>, PurgeError> {
    let is_meant: &dyn Fn(&ActiveSite) -> bool = match host {
        Some(host) => {
            let host = host_as_in_keys(host)?;
            &move |one| serving(sites, &host).is_some_and(|site| std::ptr::eq(site, one))
        }
        None => &|_| true,
    };
    let tagged: Vec<&ActiveSite> = sites.iter().filter(|site| is_meant(site) && !site.tagged_as().is_empty()).collect();
    if tagged.is_empty() { Err(PurgeError::NoTags) } else { Ok(tagged) }
}

/// A URL as keys spell it, except for the query: once for http and once for https. Without a scheme it is one of http, if it has
/// a path: a single word is a mistake.
fn under_both_schemes(url: &str) -> Result<[String; 2], PurgeError> {
    let error = || PurgeError::Url(url.to_owned());
    if !url.contains('/') {
        return Err(error());
    }
    // No request has a fragment, and a URL that is copied from a browser may have one.
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let with_scheme = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let Ok(RequestTarget::Absolute { scheme, authority, path_and_query }) = parse_target(&Method::GET, &with_scheme)
    else {
        return Err(error());
    };
    let default_port = if scheme == "https" { 443 } else { 80 };
    let mut normalised = String::new();
    write_authority(authority.as_bytes(), default_port, &mut normalised).map_err(|_| error())?;
    Ok(["http", "https"].map(|scheme| format!("{scheme}://{normalised}{path_and_query}")))
}

/// A URI with the host that keys have for it.
fn with_host_in_keys(sites: &[ActiveSite], uri: &str) -> String {
    let split =
        uri.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_at_checked(rest.find('/')?)?)));
    let Some((scheme, (authority, target))) = split else { return uri.to_owned() };
    format!("{scheme}://{}{target}", host_in_keys(sites, authority))
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

/// A host's name as keys spell it. A port is an error, since a site with a port would match nothing.
fn host_as_in_keys(host: &str) -> Result<String, PurgeError> {
    let error = || PurgeError::Scope(PurgeScopeError::EmptySite);
    let mut normalised = String::new();
    write_authority(host.as_bytes(), 80, &mut normalised).map_err(|_| error())?;
    let has_port = normalised.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    if has_port { Err(error()) } else { Ok(normalised) }
}

/// The methods with which plugins of applications purge.
pub(crate) const METHODS: [&str; 2] = ["PURGE", "BAN"];

/// Answers such a method: status and text. A plugin must not believe that a purge was carried out when it was not, so a form that
/// is not known here gets 501.
pub(crate) async fn purge(exchange: &Exchange, routed: &Routed) -> (StatusCode, String) {
    let Exchange { worker, settings, .. } = exchange;
    if let Some(why) = refusal(exchange) {
        return (StatusCode::FORBIDDEN, why.to_owned());
    }
    let (target, purge) = match wanted(exchange, routed) {
        Ok(wanted) => wanted,
        Err(why) => return (StatusCode::NOT_IMPLEMENTED, why),
    };
    match purge_target(&worker.cache, &settings.sites, &target, purge, exchange.now()) {
        Ok((purged, invalidated)) => {
            worker.cells.count(Counter::Purges);
            let reach = match noted(&worker.cache, invalidated).await {
                Ok(reach) => reach,
                Err(error) => {
                    return (StatusCode::INTERNAL_SERVER_ERROR, format!("Purged in memory only: {error}."));
                }
            };
            let what = match (&target, purged.was_stored) {
                (PurgeTarget::Url(url), Some(true)) => format!("Purged {url}"),
                (PurgeTarget::Url(url), Some(false)) => format!("Purged {url}: nothing was stored for it"),
                (PurgeTarget::Url(url), None) => format!("Purged {url}: nothing was stored for it at this front end"),
                (PurgeTarget::Prefix(prefix), _) => format!("Purged all URLs that begin with {prefix}"),
                (PurgeTarget::Site(host), _) => format!("Purged all of {host}"),
                (PurgeTarget::Tags(tags, _), _) => {
                    format!("Purged all responses with one of the tags {}", tags.join(" "))
                }
                (PurgeTarget::All, _) => "Purged everything".to_owned(),
            };
            (StatusCode::OK, format!("{what}{}", reach.map_or_else(String::new, |reach| told(&reach))))
        }
        Err(error @ (PurgeError::NoTags | PurgeError::UnknownTag(_))) => {
            (StatusCode::NOT_IMPLEMENTED, format!("Nothing was purged: {error}."))
        }
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()),
    }
}

/// How many of the others have got a purge, for the end of an answer.
fn told(reach: &Reach) -> String {
    let others = if reach.are_peers { "peers" } else { "servers" };
    format!(" ({} of {} {others} told)", reach.reached(), reach.all)
}

/// Fields that only proxies add: a request with one of them did not begin at the connected peer.
const FROM_PROXIES: [&str; 14] = [
    "cf-connecting-ip",
    "client-ip",
    "forwarded",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// Whether a web page in a browser sends the request. The browser may be at a listed address, and no plugin sends these fields
/// (Origin, and those of W3C Fetch Metadata).
fn is_from_a_page(fields: &Fields) -> bool {
    let is_metadata = |name: &[u8]| name.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"sec-fetch-"));
    fields.contains("origin") || fields.iter().any(|(name, _)| is_metadata(name))
}

/// The addresses by which `purge-from` lists this machine.
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Whether the client has the address to which it connected: a program that connects to an address of its own machine comes from
/// that address.
fn is_of_this_machine(exchange: &Exchange, address: IpAddr) -> bool {
    let own = exchange.door.local_address();
    own.is_some_and(|own| own.ip().to_canonical() == address.to_canonical())
}

/// Why a client may not purge.
fn refusal(exchange: &Exchange) -> Option<&'static str> {
    let (peer, fields) = (&exchange.peer, &exchange.request.head.fields);
    if is_from_a_page(fields) {
        return Some("A purge from a web page (with an Origin or Sec-Fetch field) is refused.");
    }
    if FROM_PROXIES.iter().any(|name| fields.contains(name)) {
        if !peer.is_trusted {
            return Some(
                "This purge came through a proxy that is not in `trusted-proxies`, so its sender is not known.",
            );
        }
        // Without the proxy's own address: it is often listed, and would count for each visitor.
        if client(&Peer { address: None, ..*peer }, fields).is_none() {
            return Some(
                "This purge came through a proxy that names no client in X-Forwarded-For or Forwarded, so its sender is not known.",
            );
        }
    }
    let from = &exchange.settings.purge_from;
    let may_purge = match client(peer, fields) {
        Some(address) => {
            let is_in = |address| from.iter().any(|range| range.contains(address));
            is_in(address) || (is_of_this_machine(exchange, address) && LOOPBACK.into_iter().any(is_in))
        }
        None => from.contains(&AddressRange::Unix),
    };
    (!may_purge).then_some("This address may not purge: `purge-from` lists those that may.")
}

/// Fields in which plugins name tags, and `true` where the pages become stale instead of being dropped: those of Fastly,
/// Varnish's xkey, Drupal's purgers, FOSHttpCache, TYPO3 and Magento. A regular expression in such a field names no known tag.
const TAG_FIELDS: [(&str, bool); 9] = [
    ("surrogate-key", false),
    ("xkey-purge", false),
    ("xkey-softpurge", true),
    ("xkey", false),
    ("cache-tags", false),
    ("cache-tag", false),
    ("x-cache-tags", false),
    ("x-tags", false),
    ("x-magento-tags-pattern", false),
];

/// Fields by which a site's VCL may purge something else than the URL.
const OTHERS: [&str; 8] =
    ["ban", "x-ban", "x-ban-host", "x-ban-regex", "x-ban-url", "x-purge-host", "x-purge-regex", "x-purge-url"];

/// What a plugin purges: tags, or else a URL. `X-Purge-Method: regex` with a path that ends in `.*` stands for all URLs that
/// begin like it. W3 Total Cache names no method: it empties a cache by a path that ends in `/.*`.
fn wanted(exchange: &Exchange, routed: &Routed) -> Result<(PurgeTarget, Purge), String> {
    let fields = &exchange.request.head.fields;
    let is_set = |name: &str| fields.only(name).is_some_and(|value| value != b"0");
    let is_soft = is_set("soft-purge") || is_set("fastly-soft-purge");
    let kind = |is_soft| if is_soft { Purge::Soft } else { Purge::Hard };
    let named = |(name, is_soft)| fields.combined(name).map(|tags| (name, tags, is_soft));
    if let Some((name, tags, makes_stale)) = TAG_FIELDS.into_iter().find_map(named) {
        let tags = String::from_utf8_lossy(&tags).into_owned();
        let tags: Vec<String> = tags.split([' ', ',']).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
        if tags.is_empty() || tags.len() > TAGS_MAX {
            return Err(format!("Nothing was purged: {name} names no tag, or more than {TAGS_MAX}."));
        }
        let host = without_port(routed.authority()).to_owned();
        return Ok((PurgeTarget::Tags(tags, Some(host)), kind(makes_stale || is_soft)));
    }
    if let Some(name) = OTHERS.into_iter().find(|name| fields.contains(name)) {
        return Err(format!("Nothing was purged: Kasoku does not know what {name} means."));
    }
    if exchange.request.head.method.as_str() == "BAN" {
        return Err("Nothing was purged: Kasoku understands BAN only with tags. PURGE drops a URL, and with X-Purge-Method: prefix all URLs that begin like it.".to_owned());
    }
    let url = routed.key.uri();
    let unsaid: &[u8] = if url.ends_with("/.*") || url.contains('\\') { b"regex" } else { b"exact" };
    let target = match fields.only("x-purge-method").unwrap_or(unsaid).to_ascii_lowercase().as_slice() {
        b"exact" | b"default" => PurgeTarget::Url(url.to_owned()),
        b"prefix" => PurgeTarget::Prefix(url.to_owned()),
        b"regex" => match url.strip_suffix(".*").map(|prefix| prefix.trim_end_matches('(')) {
            // A `?` may also begin a query.
            Some(prefix) if !prefix.contains(['*', '[', '(', '\\', '^', '$', '|', '+', '?']) => {
                PurgeTarget::Prefix(prefix.to_owned())
            }
            _ => {
                return Err("Nothing was purged: Kasoku understands only regular expressions that are plain text and end in `.*`.".to_owned());
            }
        },
        _ => return Err("Nothing was purged: X-Purge-Method is one of exact, default, prefix and regex.".to_owned()),
    };
    Ok((target, kind(is_soft)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_host_without_a_port() {
        let host = |host| host_as_in_keys(host).ok();
        for (written, name) in [("A.org", "a.org"), ("a.org:80", "a.org"), ("a.org.", "a.org"), ("[::1]", "[::1]")] {
            assert_eq!(host(written).as_deref(), Some(name), "{written}");
        }
        for written in ["", "a.org:8080", "[::1]:8080", "http://a.org", "a.org/", "*", "u@a.org"] {
            assert_eq!(host(written), None, "{written}");
        }
    }

    #[test]
    fn a_url_is_spelled_as_in_keys_under_both_schemes() {
        let both = |url| under_both_schemes(url).unwrap();
        for (url, rest) in [
            ("http://A.org/x?b=1", "a.org/x?b=1"),
            ("https://a.org:443/", "a.org/"),
            ("http://a.org:80", "a.org/"),
            ("a.org/x", "a.org/x"),
            ("a.org/", "a.org/"),
            ("http://a.org:8080/", "a.org:8080/"),
            ("http://[::1]:8080/x", "[::1]:8080/x"),
        ] {
            assert_eq!(both(url), [format!("http://{rest}"), format!("https://{rest}")], "{url}");
        }
        for url in
            ["", "a.org", "nonsense", "/x", "ftp://a.org/", "http://", "http:///x", "http://a b/", "http://u@a.org/"]
        {
            assert!(under_both_schemes(url).is_err(), "{url}");
        }
    }
}
