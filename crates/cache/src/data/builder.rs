//! The options of a data cache.

use super::DataCache;
use super::stored::StaleFor;
use std::time::{Duration, Instant};

/// The largest value by default, in bytes: this, or one part in [`VALUE_SHARE`] of the memory, if that is less.
const VALUE_BYTES_MAX: u64 = 1 << 20;
const VALUE_SHARE: u64 = 8;

/// The longest back-off by default, as in the server.
const BACK_OFF_MAX_MS: u64 = 30_000;

/// Makes a [`DataCache`]. Windows and lifetimes count in whole milliseconds.
pub struct Builder<V> {
    pub(super) options: Options<V>,
}

pub(super) struct Options<V> {
    pub(super) memory_bytes_max: u64,
    pub(super) value_bytes_max: u64,
    pub(super) negative_ttl: Option<Duration>,
    pub(super) stale_for: StaleFor,
    pub(super) back_off_max_ms: u64,
    pub(super) weigh: Box<dyn Fn(&V) -> usize + Send + Sync>,
    pub(super) clock: Box<dyn Fn() -> Duration + Send + Sync>,
}

impl<V> Options<V> {
    pub(super) fn now_ms(&self) -> u64 {
        ms((self.clock)())
    }
}

impl<V: Clone + Send + Sync + 'static> Builder<V> {
    pub(super) fn new(memory_bytes_max: u64, weigh: Box<dyn Fn(&V) -> usize + Send + Sync>) -> Self {
        let start = Instant::now();
        Self {
            options: Options {
                memory_bytes_max,
                value_bytes_max: VALUE_BYTES_MAX.min(memory_bytes_max / VALUE_SHARE),
                negative_ttl: None,
                stale_for: StaleFor::default(),
                back_off_max_ms: BACK_OFF_MAX_MS,
                weigh,
                clock: Box::new(move || start.elapsed()),
            },
        }
    }

    /// The weight of the heaviest value that is stored, in bytes, its key and its tags included. A heavier one is returned to its callers
    /// and not stored. By default 1 MiB, but at most an eighth of the memory.
    #[must_use]
    pub fn value_bytes_max(mut self, bytes: u64) -> Self {
        self.options.value_bytes_max = bytes;
        self
    }

    /// How long "not found" is remembered, unless the loader says otherwise. By default as long as a value.
    #[must_use]
    pub fn negative_ttl(mut self, ttl: Duration) -> Self {
        self.options.negative_ttl = Some(ttl);
        self
    }

    /// How long after its lifetime a value answers at once while one caller loads it anew. By default not at all.
    #[must_use]
    pub fn stale_while_revalidate(mut self, window: Duration) -> Self {
        self.options.stale_for.while_revalidate_ms = ms(window);
        self
    }

    /// How long after its lifetime a value answers where loads fail. By default not at all.
    #[must_use]
    pub fn stale_if_error(mut self, window: Duration) -> Self {
        self.options.stale_for.if_error_ms = ms(window);
        self
    }

    /// The longest back-off. After a failed load, an expired value that may still answer does so for a while without another load: for a
    /// second first, and twice as long after each further failure, up to this bound. By default 30 seconds.
    #[must_use]
    pub fn back_off_max(mut self, back_off: Duration) -> Self {
        self.options.back_off_max_ms = ms(back_off);
        self
    }

    /// Another clock: it returns the time since some fixed moment, and never goes back. For tests that move time themselves. By default
    /// [`Instant`].
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.options.clock = Box::new(clock);
        self
    }

    /// An empty cache.
    pub fn build(self) -> DataCache<V> {
        DataCache::with(self.options)
    }
}

pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
