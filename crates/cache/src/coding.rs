//! Keeps compressed forms of a stored body: representations of the same response.
//!
//! A coded body belongs to the body from which it was made: whatever drops, replaces or refreshes a response does the same with its
//! codings, and each variant has its own. The caller of [`Cache::add_coding`] makes it, once. That is slow, and meant for a thread that
//! serves no clients. A coded body is charged to the memory budget, and counts in the weight of its response.
//!
//! This file does not decide when to compress or for which request, and it never waits. A request that finds no coded body gets the
//! stored one.

use crate::disk::CodedForm;
use crate::resource::BYTES_MIN;
use crate::{Body, Cache, Entry};
use bytes::Bytes;
use kasoku_semantics::coding::Coding;
use kasoku_store::Weigh;
use std::sync::Arc;

/// A coded body is kept only if it saves at least one part in this many: the client must decode it, which costs time too.
const SAVED_SHARE_MIN: u64 = 10;

/// The result of [`Cache::add_coding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The coding is kept with the body.
    Made,
    /// It would save too little, or make the response larger than `object_bytes_max`: no further attempt is worthwhile.
    Useless,
    /// There is no memory for it at present.
    NoRoom,
    /// The response is not stored any more.
    Gone,
}

impl Cache {
    /// Whether there is memory for a coded form of that body.
    pub fn has_room_to_code(&self, body: &Body) -> bool {
        self.0.budget.has_room_for(coded_bytes_max(body))
    }

    /// Makes a coding of a stored response's body, and keeps it with the body. `uri` is the response's key. `encode` gets the body and
    /// the greatest useful length in bytes; it returns the coded bytes, or `None` if they would be longer.
    pub fn add_coding(
        &self,
        uri: &str,
        entry: &Arc<Entry>,
        coding: Coding,
        encode: impl FnOnce(&Body, u64) -> Option<Vec<u8>>,
    ) -> Added {
        let (body, bytes_max) = (&entry.body, coded_bytes_max(&entry.body));
        if !body.is_complete() || !body.is_in_memory() || bytes_max == 0 {
            return Added::Useless;
        }
        if !self.is_stored_body(uri, body) {
            return Added::Gone;
        }
        if !self.0.budget.has_room_for(bytes_max) {
            return Added::NoRoom;
        }
        let coded = {
            // While the coding is made, the most that it may take is charged; afterwards, what it takes.
            let _work = self.0.budget.charge(bytes_max);
            let Some(bytes) = encode(body, bytes_max) else { return Added::Useless };
            Body::whole(&[Bytes::from(bytes)]).charged_with(entry.prepared_bytes(), &self.0.budget)
        };
        let form = self.coded_form(entry, coding);
        self.keep_coding(uri, body, (coding, form), coded)
    }

    /// Whether a response with this very body is stored under this URI. After a 304 it is another entry with the same body.
    fn is_stored_body(&self, uri: &str, body: &Arc<Body>) -> bool {
        let hash = self.0.memory.hash(uri.as_bytes());
        self.0.memory.value(hash, uri.as_bytes()).is_some_and(|resource| resource.has_body(body))
    }

    fn keep_coding(
        &self,
        uri: &str,
        body: &Arc<Body>,
        (coding, form): (Coding, Option<CodedForm>),
        coded: Arc<Body>,
    ) -> Added {
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let hash = self.0.memory.hash(uri.as_bytes());
        let mut added = Added::Gone;
        self.update(hash, uri.as_bytes(), |resource| {
            let resource = resource?;
            if !resource.has_body(body) {
                return Some(resource);
            }
            if resource.weight_bytes().saturating_add(coded.charged_bytes()) > bytes_max {
                added = Added::Useless;
                return Some(resource);
            }
            added = Added::Made;
            self.put_coded_on_disk(uri.as_bytes(), form, &coded);
            body.keep_coded(coding, coded);
            Some(Arc::new(resource.as_ref().clone().weighed()))
        });
        added
    }
}

/// The greatest useful length of a body's coded form, in bytes.
fn coded_bytes_max(body: &Body) -> u64 {
    let length = body.complete_length().unwrap_or(0);
    length - length.div_ceil(SAVED_SHARE_MIN)
}
