//! The input of a look-up: the request and the time.

use crate::Key;
use crate::selection::{FillId, RequestedFor, Selection};
use crate::shared_request::SharedRequest;
use crate::tags::Tags;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// One look-up: a request, its key and rules, and the time.
#[derive(Clone, Copy)]
pub(crate) struct CacheQuery<'a> {
    pub(crate) shared: &'a SharedRequest,
    pub(crate) key: &'a Key,
    pub(crate) request: &'a RequestHead,
    pub(crate) policy: &'a Policy,
    pub(crate) now: Now,
}

impl<'a> CacheQuery<'a> {
    pub(crate) fn new(shared: &'a SharedRequest, now: Now) -> Self {
        Self { shared, key: shared.key(), request: shared.head(), policy: shared.policy(), now }
    }

    pub(crate) fn tags(&self) -> Option<Arc<Tags>> {
        Tags::of(self.key, self.shared.read_target(), self.policy, self.shared.tags())
    }

    /// Identifies the fill of this selection for this request.
    pub(crate) fn fill_id<'w>(&'w self, selection: &'w Selection, requested_for: RequestedFor) -> FillId<'w> {
        FillId { hash: self.key.hash(), key: self.key.bytes(), selection, requested_for, rules: self.policy.rules }
    }
}
