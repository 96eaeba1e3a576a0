//! The disk tier of a layer: its directory, and what may be in it.

use crate::build_error::BuildError;
use kasoku_cache::Cache;
use kasoku_cache::disk::{Admission, DiskOptions, DiskState, SIZE_BYTES_DEFAULT, SIZE_BYTES_MIN};
use std::path::PathBuf;

/// Where responses are kept on disk, and how much of it they may take: see [`CacheBuilder::disk`](crate::CacheBuilder::disk).
#[derive(Clone, Debug)]
#[must_use]
pub struct DiskTier {
    options: DiskOptions,
}

impl DiskTier {
    /// In this directory, which is made if it does not exist. It has to be empty, or a cache of Kasoku, and no other process may use it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let options =
            DiskOptions { path: path.into(), size_bytes: SIZE_BYTES_DEFAULT, admission: Admission::default() };
        Self { options }
    }

    /// What the directory may take, in bytes, with its log and its index. Default 10 GiB, at least 64 MiB. The largest response may have a
    /// quarter of that.
    pub fn size_bytes(mut self, bytes: u64) -> Self {
        self.options.size_bytes = bytes;
        self
    }

    /// Which responses are written. Default [`Admission::Always`].
    pub fn admission(mut self, admission: Admission) -> Self {
        self.options.admission = admission;
        self
    }

    /// What the cache has to know of it.
    pub(crate) fn checked(self) -> Result<DiskOptions, BuildError> {
        if self.options.size_bytes < SIZE_BYTES_MIN {
            return Err(BuildError::TooLittleDisk);
        }
        Ok(self.options)
    }
}

/// Refuses a new cache whose directory can't be used. The disk tier itself would try again. But whoever begins a layer should learn at once that its
/// directory can't be used.
pub(crate) fn check_directory(cache: &Cache) -> Result<(), BuildError> {
    match cache.disk_status().map(|status| status.state) {
        Some(DiskState::Failed(why)) => Err(BuildError::Disk(why)),
        _ => Ok(()),
    }
}
