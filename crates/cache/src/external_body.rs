//! A response whose body is a file outside the cache (X-Sendfile): the cache stores the application's decision, not the bytes.
//!
//! The entry holds the application's head, the name of the file, and the identity of the file when the response was stored. The caller
//! that serves the entry opens the name again, and drops the entry if the identity has changed
//! ([`Cache::drop_changed`](crate::Cache::drop_changed)). This crate never reads the name or the identity.

use crate::budget::ALLOCATION_BYTES;

/// The name of the file and its identity when it was stored. Both are opaque to the cache; the caller interprets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalBody {
    /// The response field that named the file.
    pub field: Box<str>,
    /// The name as the application sent it.
    pub name: Box<[u8]>,
    /// Numbers that tell this file from every other file to which the name may lead.
    pub identity: [u64; 7],
}

impl ExternalBody {
    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.field.len() + self.name.len() + 3 * ALLOCATION_BYTES) as u64
    }
}
