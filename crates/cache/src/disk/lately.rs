//! Remembers which keys the disk has answered a short time ago, without their responses coming into memory.
//!
//! What comes into a full memory drives something else out. That is worth it only for a response that is requested again soon: otherwise it
//! would have left memory before its next request.
//!
//! A table of fingerprints without chains and without locks: a newer key takes the place of an older one under the same number. If two
//! threads note keys at the same time, one of them may be forgotten.

use crate::sync::{AtomicU64, Ordering};
use kasoku_store::KeyHash;

/// What a response takes in memory, in bytes, for the number of keys.
const RESPONSE_BYTES: u64 = 8 << 10;

const KEYS_MIN: u64 = 256;
const KEYS_MAX: u64 = 1 << 20;

/// See the [module](self).
pub(super) struct Lately {
    fingerprints: Box<[AtomicU64]>,
}

impl Lately {
    /// For a memory of that size.
    pub(super) fn new(memory_bytes_max: u64) -> Self {
        let keys = (memory_bytes_max / RESPONSE_BYTES).clamp(KEYS_MIN, KEYS_MAX);
        Self { fingerprints: (0..keys).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Whether the key was noted. It is from now on.
    pub(super) fn is_known(&self, hash: KeyHash) -> bool {
        let Some(place) = self.fingerprints.get(hash.spread(self.fingerprints.len())) else { return false };
        let fingerprint = hash.fingerprint();
        let is_known = place.load(Ordering::Relaxed) == fingerprint;
        if !is_known {
            place.store(fingerprint, Ordering::Relaxed);
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_store::Memory;

    #[test]
    fn a_key_is_known_until_another_takes_its_place() {
        let (memory, lately) =
            (Memory::<std::sync::Arc<crate::resource::Resource>>::new(1 << 20, 1 << 16), Lately::new(0));
        let hash = |number: u32| memory.hash(&number.to_le_bytes());
        assert!(!lately.is_known(hash(1)));
        assert!(lately.is_known(hash(1)) && lately.is_known(hash(1)));
        assert_eq!((2..100_000).filter(|number| lately.is_known(hash(*number))).count(), 0);
        assert!(!lately.is_known(hash(1)));
    }
}
