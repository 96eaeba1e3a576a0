//! Decides before the look-up whether a request passes. If it does not, makes its key and the form of the request that the cache sees.

use crate::message;
use crate::recycle::Buffers;
use crate::rules::{Authorities, Rules, Visitor, is_as_sent};
use http::header::HOST;
use http::{Extensions, Method, request};
use kasoku_cache::{Cache, CacheRoute, Key, SharedRequest};
use kasoku_semantics::anonymous_request::is_cache_field;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::effective_uri::{RequestedUri, write_normalised};
use kasoku_semantics::grant::{Grant, GrantRefusal};
use kasoku_semantics::hop_by_hop::is_never_forwarded;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request_fields;
use kasoku_semantics::url_credentials;
use kasoku_wire::target::write_authority;
use kasoku_wire::{Fields, RequestHead};
use std::net::SocketAddr;
use std::sync::Arc;

/// Fields that a shared request lacks or has with another value, and that do not tell one visitor from another: they name the authority, the
/// proxies on the way, and the length of a body that is empty.
const NOT_OF_A_VISITOR: [&str; 3] = ["host", "via", "content-length"];

/// What is to be done with a request.
pub(crate) enum Routed {
    /// The request is looked up.
    LookUp(Asked),
    /// The request goes to the application unchanged. An unsafe request has a key, since it may invalidate that key's responses.
    Pass(Option<Key>, Reason),
}

/// A request that is looked up.
pub(crate) struct Asked {
    pub(crate) key: Key,
    /// The request, without the credentials that `Rules::withhold` removes.
    pub(crate) received: RequestHead,
    /// Whether the shared request lacks credentials that the visitor has sent.
    pub(crate) has_withheld: bool,
}

impl Asked {
    /// Keeps the buffers for the next request. To be called when this request is answered.
    pub(crate) fn recycle(self) {
        Buffers { head: self.received, uri: self.key.into_uri() }.give_back();
    }
}

/// A request that is no hit, with what its shared request and its fill need.
pub(crate) struct Missed {
    pub(crate) asked: Asked,
    pub(crate) peer: Peer,
    pub(crate) tags: Vec<String>,
    pub(crate) kept: Extensions,
    /// Whether the shared request lacks credentials, extensions or other fields that the visitor's own request has.
    pub(crate) is_set_aside: bool,
}

impl Missed {
    pub(crate) fn route<'a>(&'a self, policy: &'a Arc<Policy>) -> CacheRoute<'a> {
        CacheRoute { tags: &self.tags, ..CacheRoute::new(&self.asked.key, policy) }
    }

    /// The request that the application gets for all visitors.
    pub(crate) fn shared_request(&mut self, policy: &Arc<Policy>) -> SharedRequest {
        let request = SharedRequest::new(&self.asked.received, &self.route(policy), &self.peer);
        self.is_set_aside |= policy.grant.is_granting() || lacks_fields(request.head(), &self.asked.received);
        request
    }
}

impl Rules {
    /// `has_body`: whether the request brings a body.
    pub(crate) fn route(&self, cache: &Cache, parts: &request::Parts, has_body: bool) -> Routed {
        let method = &parts.method;
        let Buffers { head: mut received, uri } = Buffers::take();
        message::write_received(parts, &mut received);
        if !method.is_safe() {
            return Routed::Pass(self.key(cache, parts, &received, uri), Reason::Method);
        }
        if received.fields.contains("upgrade") {
            return Routed::Pass(None, Reason::Upgrade);
        }
        if method != Method::GET && method != Method::HEAD {
            return Routed::Pass(None, Reason::Method);
        }
        if has_body || promises_body(&received.fields) {
            return Routed::Pass(None, Reason::RequestBodyOnGet);
        }
        // Without a body there is nothing to continue with.
        received.fields.remove("expect");
        let has_withheld = match self.withhold(parts, &mut received) {
            Ok(has_withheld) => has_withheld,
            Err(reason) => return Routed::Pass(None, reason),
        };
        let grant = &self.policy.grant;
        if grant.is_granting() && request_fields::passing(&received.fields, grant).next().is_some() {
            return Routed::Pass(None, Reason::PassField);
        }
        let Some(key) = self.key(cache, parts, &received, uri) else { return Routed::Pass(None, Reason::PassRule) };
        let target = self.target(&key);
        // The types of `http` let other characters through. No purge could name such a page.
        if !is_as_sent(target) {
            return Routed::Pass(None, Reason::PassUrl);
        }
        if let Some(reason) = url_credentials::passes(target, &self.policy, &[]) {
            return Routed::Pass(None, reason);
        }
        Routed::LookUp(Asked { key, received, has_withheld })
    }

    /// Adds to a request that missed what its shared request and its fill need.
    pub(crate) fn missed(&self, parts: &request::Parts, asked: Asked) -> Missed {
        let mut kept = Extensions::new();
        let copied = self.kept.iter().filter(|keep| keep(&parts.extensions, &mut kept)).count();
        let ignored = self.ignored.iter().filter(|has| has(&parts.extensions)).count();
        let is_set_aside = asked.has_withheld || parts.extensions.len() > copied + ignored;
        let address = self.client.as_ref().and_then(|client| client(parts));
        let peer = Peer { address: address.map(|ip| SocketAddr::new(ip, 0)), is_trusted: false };
        let tags = self.tags.as_ref().map(|tags| tags(parts)).unwrap_or_default();
        Missed { asked, peer, tags, kept, is_set_aside }
    }

    /// Withholds the credentials of a visitor whom the application calls anonymous. Returns whether the request has any.
    ///
    /// # Errors
    /// The request passes, since its answer may be for one visitor.
    fn withhold(&self, parts: &request::Parts, received: &mut RequestHead) -> Result<bool, Reason> {
        let grant = &self.policy.grant;
        let visitor = self.identify.as_ref().map(|identify| identify(parts));
        match visitor {
            Some(Visitor::Member) => Err(Reason::PassSession),
            Some(Visitor::Anonymous) => {
                let mut removed = received.fields.remove("authorization");
                // Where a lifetime is granted, the application gets the cookies of the key and no others.
                if grant.is_granting() {
                    removed += usize::from(grant.refuses(&received.fields, |_| false).is_some());
                } else {
                    removed += received.fields.remove("cookie");
                }
                Ok(removed > 0)
            }
            Some(Visitor::Unknown) if !grant.is_granting() => Ok(false),
            Some(Visitor::Unknown) | None => {
                let nothing_in_key = Grant::default();
                let grant = if grant.is_granting() { grant } else { &nothing_in_key };
                match grant.refuses(&received.fields, |_| false) {
                    None => Ok(false),
                    Some(GrantRefusal::Authorization) => Err(Reason::PassAuthorization),
                    Some(GrantRefusal::Cookie(_)) => Err(Reason::PassCookie),
                    Some(GrantRefusal::Session(_)) => Err(Reason::PassSession),
                    Some(GrantRefusal::Field(_)) => Err(Reason::PassField),
                }
            }
        }
    }

    /// Path and query of a key.
    fn target<'k>(&self, key: &'k Key) -> &'k str {
        let scheme_length = self.scheme.name().len() + "://".len();
        let authority_on = key.uri().get(scheme_length..).unwrap_or_default();
        authority_on.find('/').and_then(|length| authority_on.get(length..)).unwrap_or_default()
    }

    /// The key of a request; `None` where its URI is none of the application's. `uri`: a buffer for its text.
    fn key(&self, cache: &Cache, parts: &request::Parts, received: &RequestHead, mut uri: String) -> Option<Key> {
        let asked = RequestedUri::of(received).ok()?;
        uri.clear();
        uri.push_str(self.scheme.name());
        uri.push_str("://");
        match &self.authorities {
            Authorities::One(authority) => uri.push_str(authority),
            Authorities::Listed(listed) => {
                let start = uri.len();
                write_authority(host(parts)?, self.scheme.default_port(), &mut uri).ok()?;
                let is_listed = listed.iter().any(|one| uri.get(start..) == Some(one));
                is_listed.then_some(())?;
            }
        }
        write_normalised(&asked.target, &self.query, &mut uri);
        Some(cache.key(uri))
    }
}

/// The host that a request names: by its URI, or by its one `Host`.
fn host(parts: &request::Parts) -> Option<&[u8]> {
    if let Some(authority) = parts.uri.authority() {
        return Some(authority.as_str().as_bytes());
    }
    let mut named = parts.headers.get_all(HOST).iter();
    match (named.next(), named.next()) {
        (Some(only), None) => Some(only.as_bytes()),
        _ => None,
    }
}

/// Whether the shared request lacks fields of the visitor's own request that the application might use. Conditions do not count, since the
/// cache answers them itself, and neither do the fields of a connection.
fn lacks_fields(shared: &RequestHead, received: &RequestHead) -> bool {
    received.fields.iter().any(|(name, value)| {
        let is_sent = |(one, sent): (&[u8], &[u8])| one.eq_ignore_ascii_case(name) && sent == value;
        let is_of_no_visitor = NOT_OF_A_VISITOR.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        !is_of_no_visitor && !is_cache_field(name) && !is_never_forwarded(name) && !shared.fields.iter().any(is_sent)
    })
}

/// Whether the head says that a body follows.
fn promises_body(fields: &Fields) -> bool {
    fields.contains("transfer-encoding") || !fields.all("content-length").all(|length| length == b"0")
}
