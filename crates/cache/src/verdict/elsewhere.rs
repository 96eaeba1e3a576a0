//! What a response means whose bytes lie elsewhere ([`Elsewhere`]).
//!
//! Such a response is stored when its head has come. So its fill is not streamed but settled: who waits gets the entry, and fetches the
//! bytes on his own. It is stored by the rules for all responses, and by one more: the response itself must say how long it holds. Neither a
//! guess nor a lifetime that an operator grants says that an application need not be asked whether somebody may have a file.

use super::{Exchange, FillWriter, Verdict};
use crate::elsewhere::Elsewhere;
use crate::{Body, Entry, Meta};
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::reason::Reason;
use std::sync::Arc;

impl FillWriter {
    /// Whether the stored response that is validated lies elsewhere.
    pub fn validates_elsewhere(&self) -> bool {
        self.validated().is_some_and(|base| base.body.elsewhere().is_some())
    }

    /// What a response means whose body lies elsewhere: [`Verdict::Kept`], or [`Verdict::Private`].
    pub fn on_elsewhere(self, exchange: &Exchange<'_>, elsewhere: Elsewhere) -> Verdict {
        let meta = match self.may_keep(exchange) {
            Ok(meta) => meta,
            Err(reason) => return self.private(exchange, reason),
        };
        let (cache, key) = (self.cache().clone(), self.key().clone());
        let body = Body::elsewhere_at(elsewhere).charged(&cache.0.budget);
        let entry = Arc::new(Entry::new(Arc::new(meta), body, &key, &cache.0.budget));
        let is_stored = cache.save_elsewhere(&key, &entry, || self.is_poisoned());
        self.settle(entry, Reason::Collapsed);
        Verdict::Kept { is_stored }
    }

    fn may_keep(&self, exchange: &Exchange<'_>) -> Result<Meta, Reason> {
        let Exchange { request, response, request_time, response_time, .. } = *exchange;
        if !freshness(request, response, request_time, response_time, self.policy()).is_explicit() {
            return Err(Reason::Sendfile);
        }
        self.may_store(&Exchange { body_length: Some(0), ..*exchange })
    }
}
