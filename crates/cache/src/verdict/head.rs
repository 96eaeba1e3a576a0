//! What the origin's answer to a HEAD request means for what is stored (RFC 9111 section 4.3.5).

use super::FillWriter;
use crate::{Cache, Entry, Meta};
use kasoku_semantics::credentials::{has_unkeyed_credentials, may_share};
use kasoku_semantics::request::request_directives;
use kasoku_semantics::time::Now;
use kasoku_semantics::validation::{HeadOutcome, freshness_after_validation, head_response};
use kasoku_wire::ResponseHead;
use std::sync::Arc;

impl Cache {
    /// Applies the origin's answer to a HEAD request to the stored response that a GET would have selected (RFC 9111 section 4.3.5). Does
    /// nothing where the key was invalidated since `own`, the fill of this request, began: what is stored is younger than this answer.
    pub fn on_head(&self, response: &ResponseHead, request_time: Now, response_time: Now, own: &FillWriter) {
        let (key, policy, request) = (own.key(), own.policy(), own.sent());
        if request_directives(&request.fields).no_store || own.is_poisoned() {
            return;
        }
        let Some(resource) = self.0.memory.value(key.hash(), key.bytes()) else { return };
        let Some(old) = resource.select(&request.fields, policy) else { return };
        // The stored body is a file that an earlier answer named. This answer names no file, so it says nothing about that file.
        if !old.meta.is_under(policy) || old.body.external_body().is_some() {
            return;
        }
        match head_response(&old.meta.head, response, response_time, policy) {
            HeadOutcome::Ignore => {}
            // The answer to one visitor neither changes nor drops the shared response.
            HeadOutcome::Invalidate(_) if has_unkeyed_credentials(&request.fields, policy) => {}
            HeadOutcome::Update(head) if may_share(request, &head, policy).is_err() => {}
            HeadOutcome::Invalidate(_) => self.remove(key, old),
            HeadOutcome::Update(head) => {
                let freshness =
                    freshness_after_validation(request, &head, response, request_time, response_time, policy);
                let meta = Meta { head, freshness, ..(*old.meta).clone() };
                let new = Arc::new(Entry::new(Arc::new(meta), old.body.clone(), key, &self.0.budget));
                self.replace(key, old, new, || !own.is_poisoned());
            }
        }
    }
}
