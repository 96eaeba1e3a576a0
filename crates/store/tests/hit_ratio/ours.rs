//! Drives the memory tier as the cache does: a look-up, and after a miss an update of the key's value.

use super::Simulator;
use kasoku_store::{Memory, Weigh};

/// See the [module](self).
pub(crate) struct Ours {
    memory: Memory<Object>,
    /// What the index adds to a value's weight, in bytes. The traces' sizes of objects include this.
    index_bytes: u64,
}

#[derive(Clone)]
struct Object {
    number: u32,
    bytes: u64,
}

impl Weigh for Object {
    fn weight_bytes(&self) -> u64 {
        self.bytes
    }

    fn belongs_to(&self, key: &[u8]) -> bool {
        self.number.to_le_bytes() == key
    }
}

impl Ours {
    /// A tier of `bytes_max` bytes for objects of at most `value_bytes_max` bytes, which decides how many shards the tier has.
    pub(crate) fn new(bytes_max: u64, value_bytes_max: u64) -> Self {
        let probe = Memory::<Object>::new(1 << 20, 1 << 10);
        probe.update(probe.hash(&[0; 4]), &[0; 4], |_| Some(Object { number: 0, bytes: 1 }));
        Self { memory: Memory::new(bytes_max, value_bytes_max), index_bytes: probe.used_bytes() - 1 }
    }
}

impl Simulator for Ours {
    fn request(&mut self, number: u32, bytes: u64) -> bool {
        let key = number.to_le_bytes();
        let hash = self.memory.hash(&key);
        if self.memory.value(hash, &key).is_some() {
            return true;
        }
        let object = Object { number, bytes: bytes.saturating_sub(self.index_bytes) };
        self.memory.update(hash, &key, |_| Some(object));
        false
    }
}
