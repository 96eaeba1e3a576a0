//! The disk tier.

use std::path::PathBuf;

/// 64 MiB.
pub const DISK_BYTES_MIN: u64 = 64 << 20;

/// 10 GiB.
pub const DISK_BYTES_DEFAULT: u64 = 10 << 30;

/// Where responses are kept on disk, and how much of it they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskTier {
    /// The directory.
    pub path: PathBuf,
    /// What it may take, in bytes. Default 10 GiB.
    pub size_bytes: u64,
    /// Which responses are written.
    pub admission: DiskAdmission,
    /// Whether a large body is compared with its checksums before it is sent. If not, it goes out by sendfile(2).
    pub verify: bool,
}

/// Which responses are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskAdmission {
    /// All that are stored in memory.
    #[default]
    Always,
    /// Those that are stored for the second time.
    SecondRequest,
    /// Those that memory evicts.
    OnEviction,
}
