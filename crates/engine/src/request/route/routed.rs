//! The result of routing a request: a value, which the steps after routing read.

use crate::request::path::PathReader;
use crate::request::route::find::TargetParts;
use crate::sites::ActiveRoute;
use kasoku_cache::{CacheRoute, Key, SharedRequest};
use kasoku_options::UrlPattern;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::effective_uri::split;
use kasoku_semantics::forward::Destination;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::pattern::{Pattern, PatternNames};
use kasoku_visitors::session::table::SessionPlace;
use kasoku_wire::{Fields, RequestHead};
use std::cell::OnceCell;
use std::sync::Arc;

/// The site, rule and key of a request, and whether it passes.
pub(crate) struct Routed {
    pub(crate) route: Arc<ActiveRoute>,
    /// Why the request passes, if it does: its rule or a list of URLs says so, its path can be read in two ways, or its URL holds a
    /// credential, or a parameter or value that pages don't take.
    pub(crate) passes: Option<Reason>,
    /// The route that refuses its URL, if one does.
    pub(crate) refused_by: Option<Arc<ActiveRoute>>,
    /// The effective request URI, `http://example.org/path?query`.
    pub(crate) key: Key,
    /// `http` or `https`, as the client sees it.
    pub(crate) scheme: &'static str,
    /// The number of the site.
    pub(crate) site: usize,
    /// Where the authority ends in the URI of the key.
    pub(super) authority_end: usize,
    /// The target for which it stands, if it is a short address (`rewrite`), in a buffer of the worker's [`PathReader`].
    pub(crate) stands_for: Option<String>,
    /// Its URL pattern, once that was asked for.
    pub(super) pattern: OnceCell<Option<Box<Pattern>>>,
}

impl Routed {
    /// Host and port, normalised: lower case, without a default port.
    pub(crate) fn authority(&self) -> &str {
        self.key.uri().get(self.scheme.len() + "://".len()..self.authority_end).unwrap_or_default()
    }

    /// The route as the cache knows it. `tags`: see [`CacheRoute::tags`].
    pub(crate) fn cache_route<'a>(&'a self, tags: &'a [String]) -> CacheRoute<'a> {
        CacheRoute {
            key: &self.key,
            policy: &self.route.policy,
            origin_host: self.route.origin_host.as_deref(),
            makes_codings: self.route.compression.is_enabled,
            read_target: self.stands_for(),
            tags,
        }
    }

    /// Where the request goes, for making the request to the origin.
    pub(crate) fn destination(&self) -> Destination<'_> {
        self.cache_route(&[]).destination()
    }

    /// The request whose response may be shared, made for a client that waits for it.
    pub(crate) fn shared(&self, request: &RequestHead, peer: &Peer) -> SharedRequest {
        SharedRequest::new(request, &self.cache_route(self.tags(request)), peer)
    }

    /// The tags of the request's URL pattern.
    pub(crate) fn tags(&self, request: &RequestHead) -> &[String] {
        self.pattern(&request.fields).map_or(&[], |pattern| &pattern.tags)
    }

    /// Scheme and authority, `http://example.org`, and the site.
    pub(crate) fn base(&self) -> Base {
        Base { uri: self.key.uri().get(..self.authority_end).unwrap_or_default().to_owned(), site: self.site }
    }

    /// The target for the origin: path and query, or `*`.
    pub(crate) fn target(&self) -> &str {
        self.key.uri().get(self.authority_end..).unwrap_or_default()
    }

    /// The target for which it stands, if it is a short address: the application reads this one.
    pub(crate) fn stands_for(&self) -> Option<&str> {
        self.stands_for.as_deref()
    }

    /// Path and query as the application reads them.
    pub(crate) fn read_target(&self) -> &str {
        self.stands_for().unwrap_or(self.target())
    }

    /// The URL pattern under which the leak guard compares the page before it is shared; `None`: the guard does not look at it.
    /// `request`: the client's own fields.
    pub(crate) fn pattern(&self, request: &Fields) -> Option<&Pattern> {
        self.pattern.get_or_init(|| self.make_pattern(request).map(Box::new)).as_deref()
    }

    fn make_pattern(&self, request: &Fields) -> Option<Pattern> {
        let route = &*self.route;
        let named = PatternNames { rules: &route.guard_rules_hash, host: route.guarded_hosts.name(self.authority()) };
        Pattern::of(route.visitor_rules(), named, self.read_target(), request)
    }

    /// Where the request's session is known: authority and rules.
    pub(crate) fn session_place(&self) -> SessionPlace<'_> {
        SessionPlace { authority: self.authority(), rules: self.route.session_rules_hash }
    }

    /// Whether one of these patterns fits the URL, in any reading. Few requests need this, so the path may be read into memory of its own.
    pub(crate) fn is_any<'p, P>(&self, patterns: impl Fn() -> P) -> bool
    where
        P: Iterator<Item = &'p UrlPattern>,
    {
        let is_any = || {
            let mut paths = PathReader::default();
            TargetParts::new(self.target(), self.stands_for.as_deref(), &mut paths).is_any(patterns())
        };
        patterns().next().is_some() && is_any()
    }
}

/// Scheme and authority as the keys of a site have them, and the number of the site.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(super) uri: String,
    pub(super) site: usize,
}

impl Base {
    /// The base of a URI as keys spell it, in the site of that number; `None`: that is no such URI.
    pub(crate) fn of(uri: &str, site: usize) -> Option<Self> {
        Some(Self { uri: split(uri)?.base.to_owned(), site })
    }
}
