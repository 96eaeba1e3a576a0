//! The options of a data cache.

use super::DataCache;
use super::codec::Codec;
use super::name::CacheName;
use super::others::Others;
use super::stored::{StaleFor, ms};
use super::tier::ValueTier;
use crate::clock;
use crate::purge_exchange::settings::{ExchangeError, Peers, SharedTier, WantedExchange};
use crate::purge_exchange::{Link, PurgeExchange, PurgeFollower};
use bytes::Bytes;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest value by default, in bytes: this, or one part in [`VALUE_SHARE`] of the memory, if that is less.
const VALUE_BYTES_MAX: u64 = 1 << 20;
const VALUE_SHARE: u64 = 8;

/// The longest back-off by default, as in the server.
const BACK_OFF_MAX_MS: u64 = 30_000;

/// Makes a [`DataCache`]. Windows and lifetimes count in whole milliseconds. `P` says whether other processes are told of purges:
/// [`Builder::peers`] and [`Builder::shared`] make a builder of the other kind.
pub struct Builder<V, P = OneProcess> {
    pub(super) options: Options<V>,
    name: Option<String>,
    wanted: WantedExchange,
    codec: Option<Codec<V>>,
    version: String,
    processes: PhantomData<P>,
}

/// Of a [`Builder`]: the cache is for its own process.
#[derive(Debug)]
pub struct OneProcess(());

/// Of a [`Builder`]: the cache tells its purges to other processes, and hears of theirs.
#[derive(Debug)]
pub struct SeveralProcesses(());

/// Why no cache for several processes can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// [`Builder::name`] was not called.
    #[error("a data cache of several processes has a name, the same in all of them")]
    NoName,
    /// The name has another character than it may have, is empty or too long.
    #[error("{0:?} is no name of a data cache: it has 1 to 64 letters, digits, `-`, `_` and `.`")]
    InvalidName(String),
    /// The servers or the peers can't be used.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The thread that exchanges purges with other processes can't be started, for this reason.
    #[error("the thread that exchanges purges can't be started: {0}")]
    Thread(String),
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
            name: None,
            wanted: WantedExchange::default(),
            codec: None,
            version: String::new(),
            processes: PhantomData,
        }
    }

    /// An empty cache.
    pub fn build(self) -> DataCache<V> {
        DataCache::with(self.options, None, None)
    }
}

impl<V: Clone + Send + Sync + 'static, P> Builder<V, P> {
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

    /// The name of the cache: 1 to 64 letters, digits, `-`, `_` and `.`. The caches of the same name in several processes are one: a purge in
    /// one of them holds in all. Other caches, of data or of responses, may use the same servers or hear of the same peers. A cache in one
    /// process needs no name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells other processes of purges, and hears of theirs, without servers between them. See "Several processes" at the
    /// [module](super). A layer or another data cache of the same process needs an address of its own to listen at.
    ///
    /// ```no_run
    /// use kasoku_cache::data::{BuildError, DataCache, Peers};
    ///
    /// # fn token() -> Vec<u8> { vec![7; 32] }
    /// let peers = Peers::new(([10, 0, 0, 1], 6083).into(), token()).peer("10.0.0.2", 6083);
    /// let numbers = DataCache::builder(1 << 20, |_: &u64| 0).name("numbers").peers(peers).open()?;
    /// # let _ = numbers;
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn peers(self, peers: Peers) -> Builder<V, SeveralProcesses> {
        self.exchanging(|wanted| WantedExchange { peers: Some(peers), ..wanted })
    }

    /// Tells other processes of purges, and hears of theirs, by memcached servers or Redis. See "Several processes" at the [module](super).
    ///
    /// ```no_run
    /// use kasoku_cache::data::{BuildError, DataCache, SharedTier};
    ///
    /// # fn secret() -> Vec<u8> { vec![7; 32] }
    /// let servers = SharedTier::redis(["redis://10.0.0.1"]).secret(secret());
    /// let numbers = DataCache::builder(1 << 20, |_: &u64| 0).name("numbers").shared(servers).open()?;
    /// # let _ = numbers;
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn shared(self, tier: SharedTier) -> Builder<V, SeveralProcesses> {
        self.exchanging(|wanted| WantedExchange { shared: Some(tier), ..wanted })
    }

    fn exchanging(self, by: impl FnOnce(WantedExchange) -> WantedExchange) -> Builder<V, SeveralProcesses> {
        let Self { options, name, wanted, codec, version, processes: _ } = self;
        Builder { options, name, wanted: by(wanted), codec, version, processes: PhantomData }
    }

    /// Also keeps values on the servers of [`Builder::shared`]. `encode` turns a value into bytes; if it returns `None`, the value is not written.
    /// `decode` turns bytes into a value; if it returns `None`, the load runs its loader. If neither this nor another `share_` method is called, the
    /// processes share purges only. Without [`Builder::shared`], this has no effect.
    ///
    /// What `decode` gets has passed a checksum, or an HMAC if there is a [secret](SharedTier::secret). Without a secret, anyone who can write to
    /// the servers can choose these bytes. They can come from an older release that has the same [version](Builder::version).
    #[must_use]
    pub fn share_values(
        mut self,
        encode: impl Fn(&V) -> Option<Bytes> + Send + Sync + 'static,
        decode: impl Fn(Bytes) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        self.codec = Some(Codec::new(encode, decode));
        self
    }

    /// Values of different versions are never mixed: a release reads from the servers only what was written under its own version. Change the
    /// version when a release gives keys other values, or stores them in another form. Purges reach all versions. Default: the empty one.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }
}

impl<P> Builder<Bytes, P> {
    /// [`Builder::share_values`] with the bytes as they are.
    #[must_use]
    pub fn share_bytes(mut self) -> Self {
        self.codec = Some(Codec::bytes());
        self
    }
}

#[cfg(feature = "serde")]
impl<V: serde::Serialize + serde::de::DeserializeOwned, P> Builder<V, P> {
    /// [`Builder::share_values`] with the values as JSON. If serde can't read the bytes as the type, the load runs its loader. serde ignores
    /// unknown fields, and reads a missing optional field as `None`. So set another [version](Builder::version) in a release that changes the type.
    ///
    /// ```no_run
    /// use kasoku_cache::data::{BuildError, DataCache, SharedTier};
    ///
    /// #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// struct Post {
    ///     title: String,
    /// }
    ///
    /// let posts = DataCache::builder(64 << 20, |post: &Post| post.title.len())
    ///     .name("posts")
    ///     .shared(SharedTier::redis(["redis://10.0.0.1"]))
    ///     .share_json()
    ///     .version("2")
    ///     .open()?;
    /// # let _ = posts;
    /// # Ok::<(), BuildError>(())
    /// ```
    #[must_use]
    pub fn share_json(mut self) -> Self {
        self.codec = Some(Codec::json());
        self
    }
}

impl<V: Clone + Send + Sync + 'static> Builder<V, SeveralProcesses> {
    /// Opens an empty cache and starts the thread that exchanges purges. Blocks the calling thread until every server or peer was asked for its
    /// purges, for at most one second. A server or peer that can't be reached is no error: the thread asks it again until it answers.
    ///
    /// # Errors
    /// - The name is missing or invalid.
    /// - The settings of the servers or peers are invalid, or the address to listen on is in use.
    /// - Both [`Builder::shared`] and [`Builder::peers`] were called.
    /// - The thread can't be started.
    pub fn open(self) -> Result<DataCache<V>, BuildError> {
        let name = self.name.ok_or(BuildError::NoName)?;
        let name = CacheName::new(&name).ok_or(BuildError::InvalidName(name))?;
        let (exchange, peers_socket) = self.wanted.open()?;
        let tier = exchange.as_ref().and_then(PurgeExchange::tier).zip(self.codec);
        let values = tier.map(|(tier, codec)| ValueTier::new(tier, codec, &self.version));
        // The builder's clock is that of lifetimes alone: the others don't go by it.
        let others = exchange.map(|exchange| Others { link: Link::new(exchange, clock::system()), name });
        let cache = DataCache::with(self.options, others, values);
        let follower = PurgeFollower::start_for(&cache, peers_socket);
        let follower = follower.map_err(|error| BuildError::Thread(error.to_string()))?.map(Arc::new);
        Ok(DataCache { follower, ..cache })
    }
}
