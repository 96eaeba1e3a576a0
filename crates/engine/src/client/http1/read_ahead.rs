//! Buffers bytes that a client has sent ahead: an incomplete head, and pipelined requests.
//!
//! A client makes a connection hold such bytes at no cost to itself, and there may be thousands of clients. So the bytes beyond
//! [`FREE_BYTES`] are charged to the memory budget, in its small part for what can be done without (`cache/src/budget.rs`). Bytes
//! come through a buffer that all connections of a worker share: a connection holds as much as it was sent, not as much as one
//! read may bring.

use bytes::{Buf, BytesMut};
use kasoku_cache::{Cache, SpareCharge};

/// How much each connection may hold without a charge, in bytes: enough for nearly all heads.
pub(crate) const FREE_BYTES: usize = 4 << 10;

/// See the [module](self).
pub(crate) struct ReadAhead {
    bytes: BytesMut,
    charge: Option<SpareCharge>,
    cache: Cache,
}

impl ReadAhead {
    pub(crate) fn new(cache: &Cache) -> Self {
        Self { bytes: BytesMut::new(), charge: None, cache: cache.clone() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends bytes. Returns whether there is room for all that it holds: where there is not, the connection should end soon.
    pub(crate) fn append(&mut self, more: &[u8]) -> bool {
        self.bytes.extend_from_slice(more);
        let held = self.bytes.capacity();
        let charged = self.charge.as_ref().map_or(FREE_BYTES as u64, SpareCharge::bytes);
        if held as u64 > charged {
            self.charge = None;
            self.charge = self.cache.try_charge(held as u64);
        }
        held <= FREE_BYTES || self.charge.is_some()
    }

    /// Takes bytes from the front.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.bytes.advance(bytes.min(self.bytes.len()));
        self.give_back();
    }

    /// Takes from the front the bytes that `decode` takes.
    pub(crate) fn decode<T>(&mut self, decode: impl FnOnce(&mut BytesMut) -> T) -> T {
        let decoded = decode(&mut self.bytes);
        self.give_back();
        decoded
    }

    /// Takes all bytes.
    pub(crate) fn take(&mut self) -> BytesMut {
        self.charge = None;
        std::mem::take(&mut self.bytes)
    }

    /// Frees the memory of an empty buffer, and ends its charge.
    fn give_back(&mut self) {
        if self.bytes.is_empty() {
            self.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_cache::CacheLimits;

    #[test]
    fn what_is_more_than_a_usual_head_is_charged_until_it_is_taken() {
        let cache = Cache::new(CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 });
        let mut ahead = ReadAhead::new(&cache);
        assert!(ahead.append(&[b'x'; FREE_BYTES]));
        assert_eq!(cache.held_bytes(), 0);
        assert!(ahead.append(b"xx"));
        assert!(cache.held_bytes() > FREE_BYTES as u64);
        ahead.advance(FREE_BYTES);
        assert_eq!(ahead.bytes(), b"xx");
        assert!(cache.held_bytes() > FREE_BYTES as u64, "the memory is still there");
        ahead.advance(2);
        assert_eq!((cache.held_bytes(), ahead.bytes.capacity()), (0, 0));
    }

    #[test]
    fn where_there_is_no_room_it_says_so_and_loses_nothing() {
        let cache = Cache::new(CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 });
        let mut all: Vec<ReadAhead> = (0..100).map(|_| ReadAhead::new(&cache)).collect();
        let taken = all.iter_mut().filter_map(|ahead| ahead.append(&[b'x'; 60_000]).then_some(())).count();
        assert!((1..10).contains(&taken), "{taken}: a sixteenth of the memory is for such bytes");
        assert!(all.iter().all(|ahead| ahead.bytes().len() == 60_000));
        drop(all);
        assert_eq!(cache.held_bytes(), 0);
    }
}
