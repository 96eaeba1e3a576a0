//! What the head of a response gets once its whole body has come: its length and, where clients get a tag of the cache's own, that.

use crate::own_tag::OwnTag;
use crate::{Key, Meta};
use http::StatusCode;
use kasoku_semantics::Validators;
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct Completion {
    length: u64,
    tag: Option<OwnTag>,
}

impl Completion {
    /// For a response of which no byte has come.
    pub(crate) fn new(meta: &Meta, key: &Key) -> Self {
        let tag = (meta.validators() == Validators::OwnTag).then(|| OwnTag::new(key, &meta.variant));
        Self { length: 0, tag }
    }

    /// Adds the next bytes of the body.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.tag.iter_mut().for_each(|tag| tag.update(bytes));
    }

    /// The response with what its whole body tells. Content-Length is there so that the answer to a HEAD can be compared with it.
    pub(crate) fn of(self, meta: &Arc<Meta>) -> Arc<Meta> {
        let has_length = meta.head.fields.contains("content-length") || meta.head.status == StatusCode::NO_CONTENT;
        if has_length && self.tag.is_none() {
            return meta.clone();
        }
        let mut meta = Meta::clone(meta);
        if !has_length {
            meta.head.fields.push("Content-Length", self.length.to_string());
        }
        if let Some(tag) = self.tag {
            tag.set(&mut meta.head.fields);
        }
        Arc::new(meta)
    }
}
