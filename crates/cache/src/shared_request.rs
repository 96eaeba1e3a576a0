//! A request whose response may be shared, as its origin sees it.
//!
//! The cache is safe only if it looks up what the origin will see: a field that reaches the origin, and not the look-up, could change a
//! response that other clients get. So one type is looked up, filled and sent to the origin, and only this file makes it: of the request as
//! it came, of the place where it belongs, and of the peer that sent it. It holds its key and the rules by which it was made, and nothing
//! can be added to it, so no caller can look up one request and store the response to another.

use crate::{Key, Meta};
use http::Method;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::effective_uri::split;
use kasoku_semantics::forward::{Audience, Destination, forward, make_background};
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use std::sync::Arc;

/// Where a request belongs: its key, and the rules of its site and path.
#[derive(Clone, Copy, Debug)]
pub struct CacheRoute<'a> {
    /// The effective request URI. The origin is asked for its path and query.
    pub key: &'a Key,
    /// The caching rules.
    pub policy: &'a Arc<Policy>,
    /// `Host` for the origin; none: the authority of the key.
    pub origin_host: Option<&'a str>,
    /// Whether stored responses are sent in content codings that are made here.
    pub makes_codings: bool,
    /// The target as the application reads it, where that is another than the key's: tags are made of its parameters.
    pub read_target: Option<&'a str>,
    /// Tags that the response gets besides those that the policy's templates make.
    pub tags: &'a [String],
}

impl<'a> CacheRoute<'a> {
    /// A key and its rules, and nothing else.
    pub fn new(key: &'a Key, policy: &'a Arc<Policy>) -> Self {
        Self { key, policy, origin_host: None, makes_codings: false, read_target: None, tags: &[] }
    }
}

/// See the [module](self). A clone is cheap, and the same request.
#[derive(Clone, Debug)]
pub struct SharedRequest(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    key: Key,
    head: RequestHead,
    policy: Arc<Policy>,
    read_target: Option<Box<str>>,
    tags: Box<[String]>,
}

impl SharedRequest {
    /// The request of a client that waits for the response. Its body is not forwarded: a request with a body passes.
    pub fn new(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer) -> Self {
        Self::forwarded(received, route, peer, Audience::Shared)
    }

    /// The same, of a request for whose response no client waits.
    pub fn background(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer) -> Self {
        Self::forwarded(received, route, peer, Audience::Background)
    }

    /// A POST whose response may be stored for later GETs (RFC 9110 section 9.3.3); `None` where the rules allow no such response: in profile
    /// safe, and where a lifetime is granted, a POST has fields that are not in the key.
    pub fn post(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer) -> Option<Self> {
        let is_by_the_rfc = route.policy.profile == Profile::Rfc && !route.policy.grant.is_granting();
        let is_post = received.method == Method::POST;
        (is_by_the_rfc && is_post).then(|| Self::forwarded(received, route, peer, Audience::OneClient))
    }

    fn forwarded(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer, audience: Audience) -> Self {
        let CacheRoute { key, policy, origin_host, makes_codings, read_target, tags } = *route;
        // A key is an effective request URI; whatever else it is, the origin is asked for all of it.
        let (scheme, authority, target) =
            split(key.uri()).map_or(("http", "", key.uri()), |parts| (parts.scheme, parts.authority, parts.target));
        let to = Destination { scheme, authority, target, origin_host, policy, makes_codings };
        let head = forward(received, BodyLength::None, &to, peer, audience, None);
        Self(Arc::new(Parts {
            key: key.clone(),
            head,
            policy: policy.clone(),
            read_target: read_target.map(Box::from),
            tags: tags.into(),
        }))
    }

    /// What the origin is asked, but for the conditions and ranges that a fill adds.
    pub fn head(&self) -> &RequestHead {
        &self.0.head
    }

    /// Its key.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The rules by which it was made, and by which its response is stored.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.0.policy
    }

    pub(crate) fn read_target(&self) -> Option<&str> {
        self.0.read_target.as_deref()
    }

    pub(crate) fn tags(&self) -> &[String] {
        &self.0.tags
    }

    /// The same request, sent on no client's behalf: it tells no client's address.
    pub(crate) fn without_client(&self) -> Self {
        self.changed(|_| {})
    }

    /// The same request, sent to refresh `stale` in the background (RFC 5861 section 3). In profile safe it has no credentials but those that
    /// select the variant: what a visitor is told refreshes nothing for the others.
    pub(crate) fn to_refresh(&self, stale: &Meta) -> Self {
        let is_safe = self.0.policy.profile == Profile::Safe;
        self.changed(|head| {
            // The client meant its directives for its own response.
            for directive in ["cache-control", "pragma"] {
                head.fields.remove(directive);
            }
            for credentials in ["cookie", "authorization"] {
                let is_in_the_key = stale.nominated.iter().any(|name| name == credentials);
                if is_safe && !is_in_the_key {
                    head.fields.remove(credentials);
                }
            }
        })
    }

    /// A request that no client waits for, with a head that `change` has changed.
    fn changed(&self, change: impl FnOnce(&mut RequestHead)) -> Self {
        let Parts { key, head, policy, read_target, tags } = &*self.0;
        let mut head = head.clone();
        if let Some(parts) = split(key.uri()) {
            make_background(&mut head.fields, parts.scheme, parts.authority);
        }
        change(&mut head);
        let (key, policy) = (key.clone(), policy.clone());
        Self(Arc::new(Parts { key, head, policy, read_target: read_target.clone(), tags: tags.clone() }))
    }
}
