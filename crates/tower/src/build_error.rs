//! Why an application gets no layer.

use kasoku_cache::purge_exchange::settings::ExchangeError;

/// The least memory of a cache.
pub(crate) const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// Why no layer can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither [`CacheBuilder::authority`](crate::CacheBuilder::authority) nor
    /// [`CacheBuilder::authorities`](crate::CacheBuilder::authorities) was called, or with an empty list.
    #[error("the cache has to know for which scheme and authority the application answers")]
    NoAuthority,
    /// An authority that is no host with an optional port.
    #[error("{0:?} is no host with an optional port")]
    InvalidAuthority(String),
    /// Less memory than a cache can work with.
    #[error("a cache needs at least {MEMORY_BYTES_MIN} bytes of memory")]
    TooLittleMemory,
    /// [`CacheBuilder::key_cookies`](crate::CacheBuilder::key_cookies) or [`CacheBuilder::key_fields`](crate::CacheBuilder::key_fields)
    /// without [`CacheBuilder::ttl`](crate::CacheBuilder::ttl): the application's `Vary` decides there.
    #[error("cookies and fields can be in the key only where a lifetime is granted; elsewhere, Vary names them")]
    KeyWithoutTtl,
    /// A name that is no name of a field.
    #[error("{0:?} is no name of a field")]
    InvalidField(String),
    /// Less room on disk than a disk tier can work with.
    #[cfg(feature = "disk")]
    #[error("a disk tier needs at least {} bytes", kasoku_cache::disk::SIZE_BYTES_MIN)]
    TooLittleDisk,
    /// The directory of the disk tier can't be used, for this reason: another process uses it, it has files of another program, or the disk
    /// fails.
    #[cfg(feature = "disk")]
    #[error("the disk cache can't be used: {0}")]
    Disk(String),
    /// The shared tier or the peers can't be used: their settings can't be, another program listens at the address of this process, or there
    /// are both.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// A thread of the disk tier can't be started, or the one that exchanges purges with other processes, for this reason.
    #[error("a thread of the cache can't be started: {0}")]
    Thread(String),
}
