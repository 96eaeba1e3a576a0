//! A response whose body is a file outside the cache (X-Sendfile): what is stored is the application's decision, not the bytes.
//!
//! The entry has the application's head and, in the place of the bytes, the name and what it led to then. That is the decision, not the
//! file: whoever uses it looks where the name leads by now, and drops the entry when that is not the same ([`Cache::drop_changed`](crate::Cache::drop_changed)). Nothing
//! here reads the name or the identity.

use crate::budget::ALLOCATION_BYTES;

/// The name of the file and its identity when it was stored. Both are opaque to the cache; the caller interprets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalBody {
    /// The response field that named it.
    pub field: &'static str,
    /// The name, as it was received.
    pub name: Box<[u8]>,
    /// Numbers that tell it from all else that the name may lead to.
    pub identity: [u64; 7],
}

impl ExternalBody {
    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.name.len() + 2 * ALLOCATION_BYTES) as u64
    }
}
