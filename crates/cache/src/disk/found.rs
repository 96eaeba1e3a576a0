//! What a look-up finds on disk: responses and their compressed forms, first without their bytes, then with them.

use super::description::CodedForm;
use crate::{Body, Entry, ExternalBody, Meta};
use bytes::Bytes;
use kasoku_semantics::coding::Coding;
use kasoku_store::disk::{Disk, StoredBody, StoredObject};
use std::sync::Arc;

/// A response that was found on disk.
pub(super) struct FoundResponse {
    pub(super) object: StoredObject,
    pub(super) meta: Meta,
    pub(super) complete_length: Option<u64>,
    pub(super) body: FoundBody,
}

/// The body of such a response.
pub(super) enum FoundBody {
    /// The chunks that were read, each with the offset of its first byte.
    Read(Vec<(u64, Bytes)>),
    /// It is large, or a part of a large one, and stays on disk.
    OnDisk(StoredBody),
    /// It is a file outside the cache.
    External(ExternalBody),
}

impl FoundBody {
    /// The body as memory has it.
    pub(super) fn into_body(self, complete_length: Option<u64>) -> Body {
        match self {
            Self::Read(chunks) => Body::of_chunks(chunks, complete_length),
            Self::OnDisk(stored) => Body::on_disk(stored, complete_length.unwrap_or_default()),
            Self::External(external_body) => Body::external_body_at(external_body),
        }
    }
}

/// A compressed form that was found on disk.
pub(super) struct FoundForm {
    pub(super) object: StoredObject,
    pub(super) form: CodedForm,
    pub(super) bytes: Vec<Bytes>,
}

/// What was found on disk for a key.
#[derive(Default)]
pub(super) struct FoundAll {
    pub(super) responses: Vec<FoundResponse>,
    pub(super) forms: Vec<FoundForm>,
}

impl FoundForm {
    pub(super) fn new(object: StoredObject) -> Option<Self> {
        let form = CodedForm::read(&object.description).filter(|form| form.variant_number() == object.variant)?;
        Some(Self { object, form, bytes: Vec::new() })
    }

    /// The compressed body, if it is a form of the body with that hash.
    pub(super) fn of_body(&self, body_hash: u64) -> Option<(Coding, Body)> {
        let coding = self.form.coding().filter(|_| self.form.body_hash == body_hash)?;
        Some((coding, Body::whole(&self.bytes)))
    }
}

impl FoundAll {
    /// What of these objects `is_wanted`, without its bytes. A form is wanted with its response.
    pub(super) fn new(
        objects: Vec<StoredObject>,
        response: impl Fn(StoredObject) -> Option<FoundResponse>,
        is_wanted: impl Fn(&FoundResponse) -> bool,
    ) -> Self {
        let is_form = |object: &StoredObject| CodedForm::read(&object.description).is_some();
        let (forms, responses): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_form);
        let responses: Vec<_> = responses.into_iter().filter_map(response).filter(is_wanted).collect();
        let is_of_one = |found: &FoundForm| responses.iter().any(|response| response.object.variant == found.form.of);
        let forms = forms.into_iter().filter_map(FoundForm::new).filter(is_of_one).collect();
        Self { responses, forms }
    }

    /// The same with its bytes; `None` where the disk must be waited for. That wait finds out about damage as well.
    pub(super) fn read_now(mut self) -> Option<Self> {
        self.responses = self.responses.into_iter().map(FoundResponse::with_body_now).collect::<Option<_>>()?;
        for found in &mut self.forms {
            for chunk in &found.object.chunks {
                found.bytes.push(chunk.bytes_now().ok()??);
            }
        }
        Some(self)
    }

    /// The same after a wait for the disk: what of it can be read.
    pub(super) async fn read(self) -> Self {
        let mut read = Self::default();
        for found in self.responses {
            read.responses.extend(found.with_body().await);
        }
        'forms: for mut found in self.forms {
            for chunk in &found.object.chunks {
                let Ok(bytes) = chunk.bytes().await else { continue 'forms };
                found.bytes.push(bytes);
            }
            read.forms.push(found);
        }
        read
    }
}

impl FoundResponse {
    /// The same with its body; `None` where the disk must be waited for. That wait finds out about damage as well.
    pub(super) fn with_body_now(mut self) -> Option<Self> {
        if let FoundBody::Read(read) = &mut self.body {
            for chunk in &self.object.chunks {
                read.push((chunk.first(), chunk.bytes_now().ok()??));
            }
        }
        Some(self)
    }

    /// The same for a thread that may wait for the disk; `None` where it can't be read.
    pub(super) fn with_body_and_wait(mut self) -> Option<Self> {
        if let FoundBody::Read(read) = &mut self.body {
            for chunk in &self.object.chunks {
                read.push((chunk.first(), chunk.bytes_and_wait().ok()?));
            }
        }
        Some(self)
    }

    /// The same with its body, after a wait for the disk; `None` where it can't be read.
    pub(super) async fn with_body(mut self) -> Option<Self> {
        if let FoundBody::Read(read) = &mut self.body {
            for chunk in &self.object.chunks {
                read.push((chunk.first(), chunk.bytes().await.ok()?));
            }
        }
        Some(self)
    }
}

/// The entry that memory would have of a response that was found.
pub(super) struct FoundEntry {
    pub(super) object: StoredObject,
    /// Whether its hits are counted when it is found, and not when it is sent.
    pub(super) is_counted: bool,
    pub(super) entry: Arc<Entry>,
    /// The objects of its compressed forms.
    pub(super) coded_forms: Vec<StoredObject>,
    /// The variants of the objects that are compressed forms of an earlier body.
    pub(super) outdated_forms: Vec<u64>,
}

impl FoundEntry {
    /// The response answers a request.
    pub(super) fn count_hits(&self, disk: &Disk) {
        if self.is_counted {
            disk.count_hit(&self.object);
        }
        self.coded_forms.iter().for_each(|form| disk.count_hit(form));
    }
}
