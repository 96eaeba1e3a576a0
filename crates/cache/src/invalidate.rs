//! Invalidation by unsafe methods (RFC 9111 section 4.4).

use crate::fill::Fill;
use crate::{Cache, FillWriter, Key};
use http::{Method, StatusCode};
use kasoku_semantics::invalidation::{invalidated_uris, invalidates};
use kasoku_wire::Fields;
use std::sync::Arc;

impl Cache {
    /// After a response to `method`: drops the responses that are stored for the target, and for the Location and Content-Location of the
    /// same origin. `canonical` spells a URI as keys are spelled. Returns how many keys had stored responses.
    ///
    /// Running fills of these keys are not stored either, except `own`: the fill of this very response, which does not predate it.
    pub fn on_unsafe_response(
        &self,
        method: &Method,
        key: &Key,
        status: StatusCode,
        response: &Fields,
        canonical: impl Fn(String) -> String,
        own: Option<&FillWriter>,
    ) -> usize {
        if !invalidates(method, status) {
            return 0;
        }
        let others = invalidated_uris(key.uri(), response).into_iter().map(|uri| self.key(canonical(uri)));
        let own = own.and_then(FillWriter::fill);
        std::iter::once(key.clone()).chain(others).filter(|key| self.invalidate_but(key, own)).count()
    }

    /// Drops all responses of a key, and keeps its running fills from being stored. Returns whether any response was stored.
    pub fn invalidate(&self, key: &Key) -> bool {
        self.invalidate_but(key, None)
    }

    fn invalidate_but(&self, key: &Key, spared: Option<&Arc<Fill>>) -> bool {
        // The order matters, see `save`.
        self.0.fills.poison(key.hash(), key.bytes(), spared);
        self.0.hit_for_miss.forget(key.hash());
        let mut was_stored = false;
        self.0.memory.update(key.hash(), key.bytes(), |resource| {
            was_stored = resource.is_some();
            None
        });
        was_stored
    }
}
