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
    version: String,
}

impl DiskTier {
    /// In this directory, which is made if it does not exist. It has to be empty, or a cache of Kasoku, and no other process may use it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let options =
            DiskOptions { path: path.into(), size_bytes: SIZE_BYTES_DEFAULT, admission: Admission::default() };
        Self { options, version: String::new() }
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

    /// What is stored under one version is not used under another. Default: the empty one.
    ///
    /// The cache compares what it was told as data, such as lifetimes, with what it was told when a response was stored. It can't compare
    /// functions, nor the application itself. A release that answers a URI otherwise, or gives it other [tags](crate::CacheBuilder::tags),
    /// names another version, or purges what has changed. Where there is a shared tier, its version counts as well.
    ///
    /// ```
    /// let tier = kasoku_tower::DiskTier::new("/var/cache/blog").version(env!("CARGO_PKG_VERSION"));
    /// # let _ = tier;
    /// ```
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    pub(crate) fn named_version(&self) -> &str {
        &self.version
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
