//! A request whose response may be shared, as its origin sees it.
//!
//! The cache is safe only if it looks up what the origin will see: a field that reaches the origin but not the look-up could change a
//! response that other clients get. So one type is looked up, filled and sent to the origin. Only this file makes it, from the received
//! request, its [`CacheRoute`] and its peer. It holds its key and the rules by which it was made, and no caller can add to it. So no
//! caller can look up one request and store the response to another.

use crate::{Key, Meta};
use http::Method;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::effective_uri::split;
use kasoku_semantics::forward::{Audience, Destination, forward, make_background};
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::unkeyed::is_unkeyed_in_profile_rfc;
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use std::sync::Arc;

/// Where a request belongs: its key, and the rules of its site and path.
#[derive(Clone, Copy, Debug)]
pub struct CacheRoute<'a> {
    /// The effective request URI. The origin gets its path and query as the target.
    pub key: &'a Key,
    /// The caching rules.
    pub policy: &'a Arc<Policy>,
    /// The `Host` for the origin; `None`: the authority of the key.
    pub origin_host: Option<&'a str>,
    /// Whether the cache makes content codings of stored responses here.
    pub makes_codings: bool,
    /// The target as the application reads it, where it differs from the key's. The templates make tags of its parameters.
    pub read_target: Option<&'a str>,
    /// Tags that the response gets besides those that the policy's templates make.
    pub tags: &'a [String],
}

impl<'a> CacheRoute<'a> {
    /// A route with only a key and rules.
    pub fn new(key: &'a Key, policy: &'a Arc<Policy>) -> Self {
        Self { key, policy, origin_host: None, makes_codings: false, read_target: None, tags: &[] }
    }
}

/// See the [module](self). A clone is cheap and is the same request.
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
    /// The request of a client that waits for the response. It has no body: a request with a body passes.
    pub fn new(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer) -> Self {
        Self::forwarded(received, route, peer, Audience::Shared)
    }

    /// The same, for a request that no client waits for.
    pub fn background(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer) -> Self {
        Self::forwarded(received, route, peer, Audience::Background)
    }

    /// A POST whose response may be stored for later GETs (RFC 9110 section 9.3.3). A POST passes, and keeps all its fields. So the
    /// result is `None` where a request that may be shared would lose one of them: in profile safe, where a lifetime is granted, and
    /// where the client sent a field that could change the response without being in the key.
    pub fn post(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer) -> Option<Self> {
        let is_by_the_rfc = route.policy.profile == Profile::Rfc && !route.policy.grant.is_granting();
        let is_post = received.method == Method::POST;
        let is_unkeyed = |(name, _)| is_unkeyed_in_profile_rfc(name, peer.is_trusted);
        let is_keyed = !received.fields.iter().any(is_unkeyed);
        (is_by_the_rfc && is_post && is_keyed).then(|| Self::forwarded(received, route, peer, Audience::OneClient))
    }

    fn forwarded(received: &RequestHead, route: &CacheRoute<'_>, peer: &Peer, audience: Audience) -> Self {
        let CacheRoute { key, policy, origin_host, makes_codings, read_target, tags } = *route;
        // Where a key is not an effective request URI, the whole key is the target.
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

    /// What the origin is asked, without the conditions and ranges that a fill adds.
    pub fn head(&self) -> &RequestHead {
        &self.0.head
    }

    /// The key of the request.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The rules by which the request was made, and by which its response is stored.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.0.policy
    }

    pub(crate) fn read_target(&self) -> Option<&str> {
        self.0.read_target.as_deref()
    }

    pub(crate) fn tags(&self) -> &[String] {
        &self.0.tags
    }

    /// The same request without a client: it does not carry a client's address.
    pub(crate) fn without_client(&self) -> Self {
        self.changed(|_| {})
    }

    /// The same request, sent in the background to refresh `stale` (RFC 5861 section 3). In profile safe it has no credentials except
    /// those that select the variant: the answer to one visitor refreshes nothing for the others.
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

    /// The same request as one that no client waits for, after `change` has changed its head.
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
