//! What unsafe methods drop (RFC 9111 section 4.4).

use crate::{Cache, Key};
use http::{Method, StatusCode};
use kasoku_semantics::invalidation::{invalidated_uris, invalidates};
use kasoku_wire::Fields;

impl Cache {
    /// After a response to `method`: drops what is stored for the target, and for the Location and Content-Location of
    /// the same origin, which `canonical` spells as keys are spelled. Returns how many keys were dropped.
    pub fn on_unsafe_response(
        &self,
        method: &Method,
        key: &Key,
        status: StatusCode,
        response: &Fields,
        canonical: impl Fn(String) -> String,
    ) -> usize {
        if !invalidates(method, status) {
            return 0;
        }
        let others = invalidated_uris(key.uri(), response).into_iter().map(|uri| self.key(canonical(uri)));
        std::iter::once(key.clone()).chain(others).filter(|key| self.invalidate(key)).count()
    }

    /// Drops all responses of a key, and keeps what is being filled for it from being stored. Returns whether
    /// something was stored.
    pub fn invalidate(&self, key: &Key) -> bool {
        // The order matters, see `save`.
        self.0.fills.poison(key.hash(), key.bytes());
        let mut was_stored = false;
        self.0.memory.update(key.hash(), key.bytes(), |resource| {
            was_stored = resource.is_some();
            None
        });
        was_stored
    }
}
