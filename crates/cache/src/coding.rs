//! What is made of a stored body in content codings: representations of the same response.
//!
//! A coded body hangs on the body that it was made of, and lives and goes with it: whatever drops, replaces or refreshes a
//! response does so with all that was made of it, and each variant has its own. It is made once, by whoever calls
//! [`Cache::add_coding`], which is slow and for a thread that serves nobody. It is charged to the memory's account, and
//! weighs in the tier like everything that is stored.
//!
//! It does not decide when to compress or for which request, and it never waits. A request that finds no coded body gets the stored one.

use crate::resource::BYTES_MIN;
use crate::{Body, Cache, Entry};
use bytes::Bytes;
use kasoku_semantics::coding::Coding;
use kasoku_store::Weigh;
use std::sync::Arc;

/// A coded body is kept only where it saves at least one part in so many: who decodes it has work with it as well.
const SAVED_SHARE_MIN: u64 = 10;

/// What came of [`Cache::add_coding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there now.
    Made,
    /// It would have saved too little, or made the response larger than any may be: nobody need try again.
    Useless,
    /// There is no memory for it now.
    NoRoom,
    /// The response is not stored any more, or the work was given up.
    Gone,
}

impl Cache {
    /// Whether there is memory for a coded form of that body.
    pub fn has_room_to_code(&self, body: &Body) -> bool {
        self.0.budget.has_room_for(coded_bytes_max(body))
    }

    /// Makes a stored response's body in that coding, and keeps it beside the body. `encode` is given the body and the
    /// greatest length that is of use, and returns the coded bytes if they are not longer. `uri` is the response's key.
    pub fn add_coding(
        &self,
        uri: &str,
        entry: &Arc<Entry>,
        coding: Coding,
        encode: impl FnOnce(&Body, u64) -> Option<Vec<u8>>,
    ) -> Added {
        let (body, bytes_max) = (&entry.body, coded_bytes_max(&entry.body));
        if !body.is_complete() || bytes_max == 0 {
            return Added::Useless;
        }
        if !self.is_stored_body(uri, body) {
            return Added::Gone;
        }
        if !self.0.budget.has_room_for(bytes_max) {
            return Added::NoRoom;
        }
        let coded = {
            // What it may take while it is made; then what it has.
            let _work = self.0.budget.charge(bytes_max);
            let Some(bytes) = encode(body, bytes_max) else { return Added::Useless };
            Body::whole(&[Bytes::from(bytes)]).charged_with(entry.prepared_bytes(), &self.0.budget)
        };
        self.keep_coding(uri, body, coding, coded)
    }

    /// Whether a response with these very bytes is stored under that URI: a 304 makes another entry of the same body.
    fn is_stored_body(&self, uri: &str, body: &Arc<Body>) -> bool {
        let hash = self.0.memory.hash(uri.as_bytes());
        self.0.memory.value(hash, uri.as_bytes()).is_some_and(|resource| resource.has_body(body))
    }

    fn keep_coding(&self, uri: &str, body: &Arc<Body>, coding: Coding, coded: Arc<Body>) -> Added {
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let hash = self.0.memory.hash(uri.as_bytes());
        let mut added = Added::Gone;
        self.0.memory.update(hash, uri.as_bytes(), |resource| {
            let resource = resource?;
            if !resource.has_body(body) {
                return Some(resource);
            }
            if resource.weight_bytes().saturating_add(coded.charged_bytes()) > bytes_max {
                added = Added::Useless;
                return Some(resource);
            }
            added = Added::Made;
            body.keep_coded(coding, coded);
            Some(Arc::new(resource.as_ref().clone().weighed()))
        });
        added
    }
}

/// The longest coded form of a body that is of use, in bytes.
fn coded_bytes_max(body: &Body) -> u64 {
    let length = body.complete_length().unwrap_or(0);
    length - length.div_ceil(SAVED_SHARE_MIN)
}
