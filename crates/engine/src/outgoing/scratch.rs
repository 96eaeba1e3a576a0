//! Where a worker puts a head and a small file together.

use std::cell::RefCell;

/// Up to this length a file is copied, in bytes.
pub(super) const COPIED_BYTES_MAX: usize = 32 << 10;

/// Where a worker puts a head and a small file together.
pub(crate) struct Scratch(pub(super) RefCell<Box<[u8]>>);

impl Scratch {
    /// For heads of up to 4 KiB; the file behind a longer one is sent as if it were long.
    pub(super) const BYTES: usize = COPIED_BYTES_MAX + (4 << 10);

    pub(crate) fn new() -> Self {
        Self(RefCell::new(vec![0; Self::BYTES].into()))
    }
}
