//! A request whose response may be shared, as its origin sees it.
//!
//! The cache is safe only if it looks up what the origin will see: a field that reaches the origin but not the look-up could change a
//! response that other clients get. So one type is looked up, filled and sent to the origin. Only this file makes it, from the received
//! request, its [`CacheRoute`] and its peer. It holds its key and the rules by which it was made, and no caller can add to it. So no
//! caller can look up one request and store the response to another.

use crate::{Key, Meta};
use http::Method;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::effective_uri::{UriParts, split};
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

    /// Where the request goes, for making the request to the origin.
    pub fn destination(&self) -> Destination<'a> {
        let UriParts { scheme, authority, target, .. } = parts(self.key);
        let Self { origin_host, policy, makes_codings, .. } = *self;
        Destination { scheme, authority, target, origin_host, policy, makes_codings }
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
        let CacheRoute { key, policy, read_target, tags, .. } = *route;
        let head = forward(received, BodyLength::None, &route.destination(), peer, audience, None);
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
        let UriParts { scheme, authority, .. } = parts(key);
        make_background(&mut head.fields, scheme, authority);
        change(&mut head);
        let (key, policy) = (key.clone(), policy.clone());
        Self(Arc::new(Parts { key, head, policy, read_target: read_target.clone(), tags: tags.clone() }))
    }
}

/// The parts of a key. Where the key is no effective request URI, all of it is the target.
fn parts(key: &Key) -> UriParts<'_> {
    let uri = key.uri();
    split(uri).unwrap_or(UriParts { scheme: "http", authority: "", base: "", target: uri })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, CacheLimits};
    use http::Version;
    use kasoku_wire::Fields;

    #[test]
    fn without_a_client_no_address_is_told_even_for_a_key_that_is_no_uri() {
        let peer = Peer { address: Some("192.0.2.7:1234".parse().unwrap()), ..Peer::UNKNOWN };
        let received = RequestHead {
            method: Method::GET,
            target: "/".to_owned(),
            version: Version::HTTP_11,
            fields: [("Host", "a.example")].into_iter().collect::<Fields>(),
        };
        let cache = Cache::new(CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 });
        let policy = Arc::default();
        for uri in ["http://a.example/", "a key"] {
            let key = cache.key(uri);
            let shared = SharedRequest::new(&received, &CacheRoute::new(&key, &policy), &peer);
            assert_eq!(shared.head().fields.only("x-real-ip"), Some(&b"192.0.2.7"[..]), "{uri}");
            let alone = shared.without_client();
            for name in ["forwarded", "x-forwarded-for", "x-real-ip"] {
                let told = String::from_utf8_lossy(alone.head().fields.only(name).unwrap()).into_owned();
                assert!(told.contains("0.0.0.0") && !told.contains("192.0.2.7"), "{uri}: {name}: {told}");
            }
        }
    }
}
