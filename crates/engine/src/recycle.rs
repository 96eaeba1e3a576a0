//! Pools of buffers that a worker reuses.
//!
//! A hit allocates nothing: the head of its request, its key and the head of its answer live in buffers that earlier requests left
//! here. An idle connection holds none of them. The number of buffers that are kept, and the size of each, have a bound, so one
//! large request does not make the worker larger for ever.

use kasoku_wire::RequestHead;
use std::cell::RefCell;

/// The most buffers of one kind that are kept. More are in use only while clients are slow to take their answers.
const KEPT_MAX: usize = 64;

/// The largest buffer that is kept, in bytes.
const KEPT_BYTES_MAX: usize = 32 << 10;

/// A buffer that can be reused.
pub(crate) trait Recycle {
    /// A new, empty buffer.
    fn fresh() -> Self;
    /// Empties the buffer; its memory stays.
    fn clear(&mut self);
    /// The memory that the buffer holds, in bytes.
    fn memory_bytes(&self) -> usize;
}

/// The pool for buffers of one kind.
pub(crate) struct BufferPool<T>(RefCell<Vec<T>>);

impl<T: Recycle> BufferPool<T> {
    pub(crate) fn new() -> Self {
        Self(RefCell::new(Vec::with_capacity(KEPT_MAX)))
    }

    /// Takes an empty buffer out of the pool, or makes one.
    pub(crate) fn take(&self) -> T {
        self.0.borrow_mut().pop().unwrap_or_else(T::fresh)
    }

    /// Gives a buffer back to the pool, which frees it if it is too large or the pool is full.
    pub(crate) fn give(&self, mut used: T) {
        let bytes = used.memory_bytes();
        let mut kept = self.0.borrow_mut();
        if bytes > 0 && bytes <= KEPT_BYTES_MAX && kept.len() < KEPT_MAX {
            used.clear();
            kept.push(used);
        }
    }
}

impl Recycle for Vec<u8> {
    fn fresh() -> Self {
        Self::with_capacity(1024)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn memory_bytes(&self) -> usize {
        self.capacity()
    }
}

impl Recycle for String {
    fn fresh() -> Self {
        Self::with_capacity(256)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn memory_bytes(&self) -> usize {
        self.capacity()
    }
}

impl Recycle for RequestHead {
    fn fresh() -> Self {
        Self::new(http::Method::GET, String::with_capacity(256))
    }

    fn clear(&mut self) {
        self.method = http::Method::GET;
        self.target.clear();
        self.fields.clear();
    }

    fn memory_bytes(&self) -> usize {
        self.target.capacity() + self.fields.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty_with_its_memory() {
        let pool = BufferPool::<Vec<u8>>::new();
        let mut buffer = pool.take();
        buffer.extend_from_slice(&[b'x'; 5000]);
        let place = buffer.as_ptr();
        pool.give(buffer);
        let again = pool.take();
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }

    #[test]
    fn neither_large_ones_nor_too_many_are_kept() {
        let pool = BufferPool::<Vec<u8>>::new();
        pool.give(Vec::with_capacity(KEPT_BYTES_MAX + 1));
        assert!(pool.0.borrow().is_empty());
        for _ in 0..KEPT_MAX + 5 {
            pool.give(Vec::with_capacity(10));
        }
        assert_eq!(pool.0.borrow().len(), KEPT_MAX);
    }
}
