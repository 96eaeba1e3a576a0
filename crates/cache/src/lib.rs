//! The HTTP cache: looks up stored responses, joins concurrent misses into fills, stores what fills bring, and invalidates it.
//!
//! This crate decides and stores; it performs no I/O. It spawns no task, never sleeps and reads no clock, so any host can embed it. (But
//! [`data`] reads a clock if it is given none, and [`shared`] and [`purge_exchange`] ask other machines, by tokio.) A caller asks [`Cache::look_up`] and gets a [`Lookup`]: an entry to deliver, a running fill to join, or a
//! [`FillWriter`] with which the caller must ask the origin; or it lets [`course`] decide what becomes of that. The caller hands the origin's
//! answer to the writer, and the writer says what the answer means
//! ([`Verdict`]). Dropping a writer wakes every request that waits for its fill.
//!
//! In the order in which data flows through them:
//!
//! | file | job |
//! |---|---|
//! | [`key`], `shared_request`, `query` | the input of a look-up: a request as its origin sees it |
//! | [`lookup`] | the decision: hit, join, fill, pass |
//! | [`course`] | the steps from a look-up to an answer: joins, a second try after a failure, a fetch of its own |
//! | [`fill`], `collapse`, `pieces` | a response that one task writes and many requests read; the registry of such fills; their bytes |
//! | `selection` | tells the fills of one key apart: by variant or range, and by the kind of client for which the origin is asked |
//! | `failing` | recent failed fetches, and what they mean for the next request |
//! | [`verdict`] | what the origin's answer means for the fill |
//! | [`body_writer`] | appends the body to a fill, within bounds |
//! | [`budget`] | bounds the memory that all responses together may hold |
//! | [`disk`] | the disk tier below the memory: what is written there, and read from there |
//! | [`shared`] | the shared tier below both: what is written there, and read from there |
//! | [`save`] | changes what is stored, after a finished fill, a 304 or a HEAD |
//! | `completed`, `own_tag` | what a head gets once the whole body has come; the entity tag that clients get instead of the application's validators |
//! | [`external_body`] | a response whose body is a file outside the cache: what is stored of it |
//! | [`represent`] | what a client gets of a stored response: conditions, ranges, codings, Age, the head |
//! | [`purge_exchange`] | tells other caches of purges, and carries out theirs |
//! | [`invalidate`], `invalidated` | what unsafe methods and purges drop, and whether that is certain |
//! | [`succession`] | passes removals to the process that takes this one's place |
//! | [`coding`] | compressed forms of stored bodies |
//! | [`generations`], `tags` | purges of many keys at once: of a site, a URI prefix, a tag |
//! | `possible_changes` | makes pages stale that may have changed, ever less often |
//! | [`inspect`], [`refusals`] | explain why a request gets what it gets, without changing anything |
//! | [`entry`], [`body`], [`resource`] | what is stored: a response, its bytes, all variants of a key |
//! | [`clock`], [`timer`] | tells the time, and bounds a wait, for hosts inside an application |
//! | [`stable_hasher`] | for fingerprints of rules that are compared with stored responses |
//! | [`data`] | beside the HTTP cache: a cache for an application's own values, made of the same parts |

pub mod body;
pub mod body_writer;
pub mod budget;
pub mod clock;
pub mod coding;
mod collapse;
mod completed;
pub mod course;
pub mod data;
pub mod disk;
pub mod entry;
pub mod external_body;
mod failing;
pub mod fill;
pub mod generations;
mod hit_for_miss;
pub mod inspect;
pub mod invalidate;
mod invalidated;
pub mod key;
pub mod lookup;
mod own_tag;
mod pieces;
mod possible_changes;
pub mod purge_exchange;
mod query;
pub mod refusals;
pub mod represent;
pub mod resource;
pub mod save;
mod selection;
pub mod shared;
pub mod shared_request;
pub mod stable_hasher;
pub mod succession;
mod sync;
mod tags;
pub mod timer;
pub mod verdict;

pub use body::Body;
pub use body_writer::BodyWriter;
pub use entry::{Entry, Meta};
pub use external_body::ExternalBody;
pub use fill::{FillEvent, FillReader, Joined};
pub use generations::{Purge, PurgeScope, PurgeScopeError};
pub use invalidated::{Invalidated, Purged, Reach, Reaching, TOLD_TIMEOUT, Told, Uncertain};
pub use key::Key;
pub use lookup::Lookup;
pub use possible_changes::{DeferredMark, PossibleMark};
pub use shared_request::{CacheRoute, SharedRequest};
pub use verdict::{FillWriter, Verdict};

use budget::Budget;
pub use budget::{HeldCharge, SpareCharge};
use clock::Clock;
use collapse::Fills;
use disk::{DiskOptions, DiskTier};
use failing::Failing;
use generations::Generations;
use hit_for_miss::HitForMiss;
use kasoku_shared::PurgeExchange;
pub use kasoku_store::Evicted;
use kasoku_store::Memory;
use possible_changes::PossibleChanges;
use purge_exchange::OtherCaches;
use refusals::Refusals;
use resource::Resource;
use shared::JudgedItems;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use succession::Succession;
use sync::RwLock;

/// Bounds of a cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Memory that all responses may hold together, in bytes: stored ones, fills, and evicted ones that clients still read.
    pub memory_bytes_max: u64,
    /// The largest response that is stored, in bytes of head and body.
    pub object_bytes_max: u64,
}

/// The tiers of a cache.
#[derive(Clone, Debug)]
pub struct Tiers {
    /// Whether responses stay in memory. If not, each hit comes from another tier.
    pub keeps_in_memory: bool,
    /// The disk tier, if there is one.
    pub disk: Option<DiskOptions>,
    /// How purges reach other caches, if there are any: by a shared tier below the others, or without one.
    pub exchange: Option<PurgeExchange>,
}

impl Default for Tiers {
    /// Memory alone.
    fn default() -> Self {
        Self { keeps_in_memory: true, disk: None, exchange: None }
    }
}

/// The cache: shared by all workers, cheap to clone.
#[derive(Clone)]
pub struct Cache(Arc<SharedCache>);

struct SharedCache {
    limits: CacheLimits,
    memory: Arc<Memory<Arc<Resource>>>,
    disk: Option<DiskTier>,
    others: Option<OtherCaches>,
    /// Otherwise each response is evicted from memory at once.
    keeps_in_memory: bool,
    /// Whether other rules for the same key mean another application, which may fail and refuse otherwise.
    has_applications: bool,
    /// Of the shared tier; `None` where memory keeps what comes from there.
    judged: Option<JudgedItems>,
    succession: RwLock<Option<Succession>>,
    fills: Fills,
    budget: Arc<Budget>,
    hit_for_miss: HitForMiss,
    failing: Failing,
    refusals: Refusals,
    generations: Arc<Generations>,
    possible_changes: PossibleChanges,
}

impl Cache {
    /// An empty cache in memory.
    pub fn new(limits: CacheLimits) -> Self {
        Self::for_host(limits, 0)
    }

    /// The same for a host that keeps the heads of stored responses in a form of its own ([`Entry::host_value`]), which costs
    /// `host_field_bytes` for each field. There, each `Policy::rules` is another application: what is known of a key's failures and refusals
    /// under one is not used for another.
    pub fn for_host(limits: CacheLimits, host_field_bytes: u64) -> Self {
        let budget = Budget::for_host(limits.memory_bytes_max, host_field_bytes);
        let has_applications = host_field_bytes > 0;
        match Self::build::<Infallible>(limits, budget, (true, has_applications), None, |_, _| Ok(None)) {
            Ok(cache) => cache,
            Err(never) => match never {},
        }
    }

    /// The same with tiers below the memory: see [`Cache::with_tiers`].
    ///
    /// # Errors
    /// As of [`Cache::with_tiers`].
    pub fn for_host_with_tiers(
        limits: CacheLimits,
        host_field_bytes: u64,
        tiers: Tiers,
        clock: Clock,
    ) -> io::Result<Self> {
        let budget = Budget::for_host(limits.memory_bytes_max, host_field_bytes);
        Self::build_tiers(limits, budget, host_field_bytes > 0, tiers, clock)
    }

    /// A cache with a disk tier below its memory: see [`Cache::with_tiers`].
    ///
    /// # Errors
    /// As of [`Cache::with_tiers`].
    pub fn with_disk(limits: CacheLimits, options: DiskOptions, clock: Clock) -> io::Result<Self> {
        Self::with_tiers(limits, Tiers { disk: Some(options), ..Tiers::default() }, clock)
    }

    /// A cache with tiers below its memory: a disk tier, a shared tier, or both. Without a shared tier, purges may be exchanged all the same.
    ///
    /// # Errors
    /// A thread of the disk tier can't be started. A directory that can't be used is no error: see [`Cache::disk_status`].
    pub fn with_tiers(limits: CacheLimits, tiers: Tiers, clock: Clock) -> io::Result<Self> {
        Self::build_tiers(limits, Budget::new(limits.memory_bytes_max), false, tiers, clock)
    }

    fn build_tiers(
        limits: CacheLimits,
        budget: Arc<Budget>,
        has_applications: bool,
        tiers: Tiers,
        clock: Clock,
    ) -> io::Result<Self> {
        let Tiers { keeps_in_memory, disk, exchange } = tiers;
        let others = exchange.clone().map(|exchange| OtherCaches::new(exchange, clock.clone()));
        Self::build(limits, budget, (keeps_in_memory, has_applications), others, |generations, memory| {
            disk.map(|options| DiskTier::start(limits, options, (clock, exchange), generations, memory)).transpose()
        })
    }

    fn build<E>(
        limits: CacheLimits,
        budget: Arc<Budget>,
        (keeps_in_memory, has_applications): (bool, bool),
        others: Option<OtherCaches>,
        disk: impl FnOnce(&Arc<Generations>, &Arc<Memory<Arc<Resource>>>) -> Result<Option<DiskTier>, E>,
    ) -> Result<Self, E> {
        let generations = Arc::new(Generations::new());
        let resource_bytes_max = limits.object_bytes_max.max(resource::BYTES_MIN);
        let memory = Arc::new(Memory::new(budget.tier_bytes_max(), resource_bytes_max));
        Ok(Self(Arc::new(SharedCache {
            disk: disk(&generations, &memory)?,
            others,
            keeps_in_memory,
            has_applications,
            judged: (!keeps_in_memory).then(|| JudgedItems::new(limits.memory_bytes_max, budget.clone())),
            succession: RwLock::default(),
            limits,
            memory,
            fills: Fills::new(budget.clone(), generations.clone()),
            budget,
            hit_for_miss: HitForMiss::new(),
            failing: Failing::new(),
            refusals: Refusals::new(),
            generations,
            possible_changes: PossibleChanges::default(),
        })))
    }

    /// The application of these rules, where rules tell applications apart.
    fn application(&self, rules: u64) -> u64 {
        if self.0.has_applications { rules } else { 0 }
    }

    /// Bytes that stored responses use, by the cache's own account.
    pub fn used_bytes(&self) -> u64 {
        self.0.memory.used_bytes()
    }

    /// The most bytes that stored responses may use.
    pub fn tier_bytes_max(&self) -> u64 {
        self.0.memory.bytes_max()
    }

    /// The most bytes that all responses may hold together, stored or not.
    pub fn memory_bytes_max(&self) -> u64 {
        self.0.limits.memory_bytes_max
    }

    /// The responses that the memory tier evicted for lack of room.
    pub fn evicted(&self) -> Evicted {
        self.0.memory.evicted()
    }

    /// Whether this response is still stored under this URI. If not, only its readers hold it.
    pub fn is_stored(&self, uri: &str, entry: &Arc<Entry>) -> bool {
        let hash = self.0.memory.hash(uri.as_bytes());
        self.0.memory.value(hash, uri.as_bytes()).is_some_and(|resource| resource.has(entry))
    }

    /// Keys with at least one stored response.
    pub fn len(&self) -> usize {
        self.0.memory.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.0.memory.is_empty()
    }

    /// Fills that are running.
    pub fn fills_running(&self) -> usize {
        self.0.fills.running()
    }

    /// Bytes that all responses hold, by the cache's own account: stored ones, fills, and evicted or replaced ones that clients still
    /// read.
    pub fn held_bytes(&self) -> u64 {
        self.0.budget.held_bytes()
    }

    /// Charges `bytes` for memory that holds no response, for as long as the result lives. `None` where memory would be short with this
    /// charge, or where all such charges together would exceed a sixteenth of the memory.
    pub fn try_charge(&self, bytes: u64) -> Option<SpareCharge> {
        self.0.budget.try_charge(bytes)
    }

    /// An account for a response that is held in memory before its fill begins.
    pub fn hold(&self) -> HeldCharge {
        HeldCharge::new(&self.0.budget)
    }

    /// Whether memory is short: the cache refuses large responses now, and soon all responses.
    pub fn is_short(&self) -> bool {
        self.0.budget.is_short()
    }
}
