//! Hashes of what is compared: with keys that are drawn when the process starts, so that no page is made to collide.

use foldhash::quality::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The hash of a text.
pub(super) fn hash(text: &[u8]) -> u64 {
    KEYS.hash_one(text)
}

/// The hash of a value.
pub(super) fn hash_of(value: &impl Hash) -> u64 {
    KEYS.hash_one(value)
}

/// A hash that is computed piece by piece.
#[derive(Clone, Copy)]
pub(super) struct RunningHash(u64);

impl RunningHash {
    pub(super) fn begin() -> Self {
        static SEED: LazyLock<u64> = LazyLock::new(|| hash(b"text") | 1);
        Self(*SEED)
    }

    #[inline]
    pub(super) fn add(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    pub(super) fn add_word(&mut self, word: &[u8]) {
        self.mix(hash(word));
    }

    #[inline]
    fn mix(&mut self, part: u64) {
        // Multiplying by an odd constant (2^64 divided by the golden ratio) loses no bit.
        self.0 = (self.0.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub(super) fn end(self) -> u64 {
        self.0
    }
}
