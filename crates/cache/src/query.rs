//! The input of a look-up: key, request, policy and time.

use crate::Key;
use crate::selection::{FillId, RequestedFor, Selection};
use crate::tags::Tags;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// The input of a look-up.
#[derive(Clone, Copy)]
pub struct CacheQuery<'a> {
    /// The effective request URI.
    pub key: &'a Key,
    /// The request as the client sent it, normalised as it will go to the origin; where the policy grants lifetimes, without
    /// what the grant keeps back.
    pub request: &'a RequestHead,
    /// The caching rules of its site and path.
    pub policy: &'a Arc<Policy>,
    /// The present.
    pub now: Now,
    /// The target as the application reads it, where that is another than the key's: tags are made of its parameters.
    pub read: Option<&'a str>,
    /// Tags that the response gets besides those that the policy's templates make.
    pub also: &'a [String],
}

impl CacheQuery<'_> {
    pub(crate) fn tags(&self) -> Option<Arc<Tags>> {
        Tags::of(self.key, self.read, self.policy, self.also)
    }

    /// Its fill of that selection.
    pub(crate) fn which<'w>(&'w self, selection: &'w Selection, requested_for: RequestedFor) -> FillId<'w> {
        FillId { hash: self.key.hash(), key: self.key.bytes(), selection, requested_for, rules: self.policy.rules }
    }
}
