//! A request whose answer may be shared, as its origin sees it.
//!
//! The cache is safe only if it looks up what the origin will see: a field that reaches the origin, and not the look-up, could change an answer
//! that others get. So one type goes through the look-up, the fill and the origin, and only this file makes one: of the request as it
//! came, of where it belongs and of who is at the other end, by [`forward`]. Nothing can be added to it afterwards.

use crate::request::forward::{Audience, forward};
use crate::request::message::Request;
use crate::request::peer::Peer;
use crate::request::route::Routed;
use kasoku_cache::{CacheQuery, Meta};
use kasoku_semantics::policy::Profile;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;

/// See the [module](self).
#[derive(Clone)]
pub(crate) struct SharedRequest(RequestHead);

impl SharedRequest {
    /// Of a client that waits for its answer.
    pub(crate) fn of(request: &Request, routed: &Routed, peer: &Peer) -> Self {
        Self(forward(request, routed, peer, Audience::Shared, None))
    }

    /// For everybody: no client waits for this very answer.
    pub(crate) fn anonymous(request: &Request, routed: &Routed, peer: &Peer) -> Self {
        Self(forward(request, routed, peer, Audience::Background, None))
    }

    /// To refresh a stored response in the background (RFC 5861 section 3). It is anonymous where it may be, since what a visitor is told
    /// refreshes nothing for the others.
    pub(crate) fn to_refresh(request: &Request, routed: &Routed, peer: &Peer, stale: &Meta) -> Self {
        let Self(mut head) = Self::anonymous(request, routed, peer);
        // What the client wants of its own answer is not meant for this one.
        for directive in ["cache-control", "pragma"] {
            head.fields.remove(directive);
        }
        for credentials in ["cookie", "authorization"] {
            let is_in_the_key = stale.nominated.iter().any(|name| name == credentials);
            if routed.route.policy.profile == Profile::Safe && !is_in_the_key {
                head.fields.remove(credentials);
            }
        }
        Self(head)
    }

    /// Its head.
    pub(crate) fn head(&self) -> &RequestHead {
        &self.0
    }

    /// The question to the cache. `also`: tags that the response gets besides those of the rules.
    pub(crate) fn ask<'a>(&'a self, routed: &'a Routed, now: Now, also: &'a [String]) -> CacheQuery<'a> {
        let policy = &routed.route.policy;
        CacheQuery { key: &routed.key, request: &self.0, policy, now, read: routed.stands_for(), also }
    }
}
