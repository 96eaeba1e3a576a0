//! Where what is stored changes: a finished fill, a 304, the answer to a HEAD.
//!
//! Each change happens under the lock of its key, and looks there whether an invalidation came in between: an
//! invalidation first poisons the running fills of a key and then removes what is stored, so whichever comes first, nothing
//! from before it stays.

use crate::lookup::Ask;
use crate::resource::{BYTES_MIN, Resource};
use crate::verdict::PartOf;
use crate::{Body, BodyWriter, Cache, Entry, Key, Meta};
use bytes::Bytes;
use http::StatusCode;
use kasoku_semantics::credentials::{has_credentials, may_share};
use kasoku_semantics::partial::{Part, combined_head};
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_semantics::validation::{HeadOutcome, freshness_after_validation, head_response};
use kasoku_wire::ResponseHead;
use std::sync::Arc;

impl Cache {
    /// Stores what a fill has brought. False: it was not whole, or it was invalidated meanwhile.
    pub(crate) fn save(&self, writer: &BodyWriter, pieces: &[Bytes]) -> bool {
        let Some(entry) = entry(writer, pieces).map(Arc::new) else { return false };
        let is_poisoned = || writer.fill.is_poisoned();
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let mut is_stored = false;
        self.0.memory.update(writer.key.hash(), writer.key.bytes(), |resource| {
            if is_poisoned() {
                return resource;
            }
            is_stored = true;
            Some(Arc::new(match resource {
                Some(resource) => resource.with(entry.clone(), bytes_max),
                None => Resource::new(writer.key.bytes(), entry.clone()),
            }))
        });
        if is_stored {
            self.0.known_private.forget(writer.key.hash());
        }
        if let Some(PartOf::Completing { .. }) = &writer.part {
            writer.fill.settle(entry, Reason::PartialMiss);
        }
        is_stored
    }

    /// Puts `new` in the place of `old`, if that is still stored and `is_valid` says so at that moment.
    pub(crate) fn replace(&self, key: &Key, old: &Arc<Entry>, new: Arc<Entry>, is_valid: impl FnOnce() -> bool) {
        self.0.memory.update(key.hash(), key.bytes(), |resource| {
            let resource = resource?;
            Some(if is_valid() { Arc::new(resource.replacing(old, new)) } else { resource })
        });
    }

    /// Drops one stored response.
    pub(crate) fn remove(&self, key: &Key, entry: &Arc<Entry>) {
        self.0.memory.update(key.hash(), key.bytes(), |resource| resource?.without(entry).map(Arc::new));
    }

    /// Applies the origin's answer to a HEAD request to the stored response that a GET would have selected
    /// (RFC 9111 section 4.3.5).
    pub fn on_head(&self, ask: &Ask<'_>, response: &ResponseHead, request_time: Now, response_time: Now) {
        let Some(resource) = self.0.memory.value(ask.key.hash(), ask.key.bytes()) else { return };
        let Some(old) = resource.select(&ask.request.fields, ask.policy) else { return };
        match head_response(&old.meta.head, response, response_time, ask.policy) {
            HeadOutcome::Ignore => {}
            // What one visitor was told neither changes nor drops what all get.
            HeadOutcome::Invalidate(_) if has_credentials(&ask.request.fields) => {}
            HeadOutcome::Update(head) if may_share(ask.request, &head, ask.policy).is_err() => {}
            HeadOutcome::Invalidate(_) => self.remove(ask.key, old),
            HeadOutcome::Update(head) => {
                let (request, policy) = (ask.request, ask.policy);
                let freshness =
                    freshness_after_validation(request, &head, response, request_time, response_time, policy);
                let meta = Meta { head, freshness, ..(*old.meta).clone() };
                let new = Arc::new(Entry { meta: Arc::new(meta), body: old.body.clone() });
                self.replace(ask.key, old, new, || true);
            }
        }
    }
}

/// What a fill has brought, or `None` when its length is not what the head promised.
fn entry(writer: &BodyWriter, pieces: &[Bytes]) -> Option<Entry> {
    let length: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    match &writer.part {
        None => Some(Entry { meta: with_length(&writer.meta, length), body: Arc::new(Body::whole(pieces)) }),
        Some(PartOf::Alone(part)) => has_length(part.range, length).then(|| Entry {
            meta: Arc::new(without_range(&writer.meta)),
            body: Arc::new(Body::part(part.range.first, pieces, part.complete_length)),
        }),
        Some(PartOf::Completing { base, part }) => {
            has_length(part.range, length).then(|| combined(writer, base, part, pieces))
        }
    }
}

fn combined(writer: &BodyWriter, base: &Entry, part: &Part, pieces: &[Bytes]) -> Entry {
    let body = base.body.combined(&Body::part(part.range.first, pieces, part.complete_length));
    let head = combined_head(&base.meta.head, &writer.meta.head, writer.meta.freshness.response_time, &writer.policy);
    let meta = without_range(&Meta { head, ..(*writer.meta).clone() });
    Entry { meta: Arc::new(meta), body: Arc::new(body) }
}

fn has_length(range: ByteRange, length: u64) -> bool {
    range.last.checked_sub(range.first).and_then(|distance| distance.checked_add(1)) == Some(length)
}

/// The head with the length that the body turned out to have, so that a HEAD can be compared with it.
fn with_length(meta: &Arc<Meta>, length: u64) -> Arc<Meta> {
    if meta.head.fields.contains("content-length") || meta.head.status == StatusCode::NO_CONTENT {
        return meta.clone();
    }
    let mut meta = Meta::clone(meta);
    meta.head.fields.push("Content-Length", length.to_string());
    Arc::new(meta)
}

/// The head of a part as the head of the whole that it belongs to: ranges and lengths are made when it is sent.
fn without_range(meta: &Meta) -> Meta {
    let mut head = ResponseHead { version: meta.head.version, ..ResponseHead::new(StatusCode::OK) };
    head.fields = meta.head.fields.clone();
    head.fields.remove("content-range");
    head.fields.remove("content-length");
    Meta { head, ..meta.clone() }
}
