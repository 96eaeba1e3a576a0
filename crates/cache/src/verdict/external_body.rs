//! The verdict on a response whose body is a file outside the cache ([`ExternalBody`]).
//!
//! The cache stores such a response as soon as its head has come. So its fill does not stream but settles: each waiting request gets the
//! entry and opens the file itself. Beyond the rules for all responses, one more rule holds: the response itself must state its lifetime.
//! The application decides who may have a file, so neither a heuristic lifetime nor a granted one may stand in for asking it.

use super::{FillWriter, OriginExchange, Verdict};
use crate::external_body::ExternalBody;
use crate::{Body, Entry, Meta};
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::reason::Reason;
use std::sync::Arc;

impl FillWriter {
    /// Whether this fill validates a stored response whose body is a file outside the cache.
    pub fn validates_external_body(&self) -> bool {
        self.validated().is_some_and(|base| base.body.external_body().is_some())
    }

    /// What a response with an external body means: [`Verdict::External`] or [`Verdict::Private`].
    pub fn on_external_body(self, exchange: &OriginExchange<'_>, external_body: ExternalBody) -> Verdict {
        let meta = match self.may_keep(exchange) {
            Ok(meta) => meta,
            Err(reason) => return self.private(exchange, reason),
        };
        let (cache, key) = (self.cache().clone(), self.key().clone());
        let body = Body::external_body_at(external_body).charged(&cache.0.budget);
        let entry = Arc::new(Entry::new(Arc::new(meta), body, &key, &cache.0.budget));
        let is_stored = cache.save_elsewhere(
            &key,
            &entry,
            || self.is_poisoned(),
            |_| {
                cache.put_on_disk(key.bytes(), &entry);
                true
            },
        );
        self.settle(entry, Reason::Collapsed);
        Verdict::External { is_stored }
    }

    fn may_keep(&self, exchange: &OriginExchange<'_>) -> Result<Meta, Reason> {
        let OriginExchange { response, request_time, response_time, .. } = *exchange;
        if !freshness(self.sent(), response, request_time, response_time, self.policy()).is_explicit() {
            return Err(Reason::Sendfile);
        }
        self.may_store(&OriginExchange { body_length: Some(0), ..*exchange })
    }
}
