//! A hasher whose results depend neither on the process nor on the processor, for what is compared with stored responses.
//!
//! [`Hash`] does not promise what it feeds to a hasher. So a test of the engine compares results with fixed numbers: it would fail with a compiler
//! that feeds something else.

use std::hash::Hasher;
use xxhash_rust::xxh3::Xxh3;

/// See the [module](self).
#[derive(Default)]
pub struct StableHasher(Xxh3);

impl Hasher for StableHasher {
    fn finish(&self) -> u64 {
        self.0.digest()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn write_u16(&mut self, number: u16) {
        self.write(&number.to_le_bytes());
    }

    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    fn write_u128(&mut self, number: u128) {
        self.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    // The signed ones are passed on as unsigned ones by default; `isize` is the discriminant of an enum.
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as i64 as u64);
    }
}
