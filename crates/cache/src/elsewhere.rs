//! A response whose bytes lie elsewhere: what is kept of a file that an application has named.
//!
//! The entry has the application's head and, in the place of the bytes, the name and what it led to then. That is the decision, not the
//! file: whoever uses it looks where the name leads by now, and drops the entry when that is not the same ([`Cache::drop_changed`](crate::Cache::drop_changed)). Nothing
//! here reads the name or the identity.

use crate::budget::ALLOCATION_BYTES;

/// What lies elsewhere, by which name, and what that led to. Whoever stores it gives all of this its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The response field that named it.
    pub field: &'static str,
    /// The name, as it was received.
    pub name: Box<[u8]>,
    /// Numbers that tell it from all else that the name may lead to.
    pub identity: [u64; 7],
}

impl Elsewhere {
    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.name.len() + 2 * ALLOCATION_BYTES) as u64
    }
}
