//! The buffer into which a worker reads a small file.

use std::cell::RefCell;

/// The buffer into which a worker reads a small file.
pub(crate) struct ScratchBuffer(pub(crate) RefCell<Box<[u8]>>);

impl ScratchBuffer {
    /// The longest file that is read, and not sent by sendfile(2), in bytes.
    pub(crate) const BYTES: usize = 32 << 10;

    pub(crate) fn new() -> Self {
        Self(RefCell::new(vec![0; Self::BYTES].into()))
    }
}
