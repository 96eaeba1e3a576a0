//! What the origin's answer to a HEAD request means for what is stored (RFC 9111 section 4.3.5).

use super::FillWriter;
use crate::{Ask, Cache, Entry, Meta};
use kasoku_semantics::credentials::{may_share, says_who};
use kasoku_semantics::request::request_directives;
use kasoku_semantics::time::Now;
use kasoku_semantics::validation::{HeadOutcome, freshness_after_validation, head_response};
use kasoku_wire::ResponseHead;
use std::sync::Arc;

impl Cache {
    /// Applies the origin's answer to a HEAD request to the stored response that a GET would have selected
    /// (RFC 9111 section 4.3.5), unless there was an invalidation since the request's `own` fill began: then what is
    /// stored is younger than this answer.
    pub fn on_head(
        &self,
        ask: &Ask<'_>,
        response: &ResponseHead,
        request_time: Now,
        response_time: Now,
        own: &FillWriter,
    ) {
        if request_directives(&ask.request.fields).no_store || own.is_poisoned() {
            return;
        }
        let Some(resource) = self.0.memory.value(ask.key.hash(), ask.key.bytes()) else { return };
        let Some(old) = resource.select(&ask.request.fields, ask.policy) else { return };
        // An answer that names no file says nothing about the file that another one named.
        if !old.meta.is_under(ask.policy) || old.body.elsewhere().is_some() {
            return;
        }
        match head_response(&old.meta.head, response, response_time, ask.policy) {
            HeadOutcome::Ignore => {}
            // What one visitor was told neither changes nor drops what all get.
            HeadOutcome::Invalidate(_) if says_who(&ask.request.fields, ask.policy) => {}
            HeadOutcome::Update(head) if may_share(ask.request, &head, ask.policy).is_err() => {}
            HeadOutcome::Invalidate(_) => self.remove(ask.key, old),
            HeadOutcome::Update(head) => {
                let (request, policy) = (ask.request, ask.policy);
                let freshness =
                    freshness_after_validation(request, &head, response, request_time, response_time, policy);
                let meta = Meta { head, freshness, ..(*old.meta).clone() };
                let new = Arc::new(Entry::new(Arc::new(meta), old.body.clone(), ask.key, &self.0.budget));
                self.replace(ask.key, old, new, || !own.is_poisoned());
            }
        }
    }
}
