//! Key, look-up, fill, save and invalidation over the tiers.
//!
//! This crate decides and stores; it performs no I/O. It spawns no task, never sleeps and reads no clock, so any host can embed it. A
//! caller asks [`Cache::look_up`] and gets a [`Lookup`]: an entry to deliver, a running fill to join, or a [`FillWriter`] with which it
//! must ask the origin. What the origin answers goes back into the writer, which says what it means ([`Verdict`]). A writer that is dropped
//! wakes everyone who waits.
//!
//! In the order of the data:
//!
//! | file | job |
//! |---|---|
//! | [`key`], `shared_request`, `query` | what is looked up: a request as its origin sees it |
//! | [`lookup`] | the decision: hit, join, fill, pass |
//! | [`fill`], `collapse`, `pieces` | a response in the making that one task writes and many read; all that run; the bytes |
//! | `selection` | how fills of one key differ: the variant or range, and for whom the origin is asked |
//! | `failing` | recent failures, and what they mean for the next request |
//! | [`verdict`] | what the origin's answer means for the fill |
//! | [`body_writer`] | appends to a fill, within bounds |
//! | [`budget`] | what all responses together may hold |
//! | [`save`] | where a finished fill, a 304 or a HEAD changes what is stored |
//! | `own_tag` | the entity tag that clients get in the place of the application's validators |
//! | [`external_body`] | a response whose body is a file outside the cache: what is stored of it |
//! | [`represent`] | what of a stored response a client gets: conditions, parts, codings, Age, the head |
//! | [`invalidate`] | what unsafe methods drop |
//! | [`coding`] | what is made of a stored body in content codings |
//! | [`generations`], `tags` | what is purged as a whole: a site, all URIs with one beginning, all that has one tag |
//! | `possible_changes` | tags of pages that may have changed, dropped at most once a second |
//! | [`inspect`], [`refusals`] | why a request gets what it gets, for whoever asks: nothing is changed |
//! | [`entry`], [`body`], [`resource`] | what is stored: a response, its bytes, all variants of a key |

pub mod body;
pub mod body_writer;
pub mod budget;
pub mod coding;
mod collapse;
pub mod entry;
pub mod external_body;
mod failing;
pub mod fill;
pub mod generations;
pub mod hit_for_miss;
pub mod inspect;
pub mod invalidate;
pub mod key;
pub mod lookup;
mod own_tag;
mod pieces;
mod possible_changes;
mod query;
pub mod refusals;
pub mod represent;
pub mod resource;
pub mod save;
mod selection;
mod shared_request;
mod sync;
mod tags;
pub mod verdict;

pub use body::Body;
pub use body_writer::BodyWriter;
pub use entry::{Entry, Meta};
pub use external_body::ExternalBody;
pub use fill::{FillEvent, FillReader, Joined};
pub use generations::{Purge, PurgeScope, PurgeScopeError};
pub use key::Key;
pub use lookup::Lookup;
pub use possible_changes::DeferredDrop;
pub use shared_request::{CacheRoute, SharedRequest};
pub use verdict::{FillWriter, Verdict};

use budget::Budget;
pub use budget::{HeldCharge, SpareCharge};
use collapse::Fills;
use failing::Failing;
use generations::Generations;
use hit_for_miss::HitForMiss;
pub use kasoku_store::Evicted;
use kasoku_store::Memory;
use possible_changes::PossibleChanges;
use refusals::Refusals;
use resource::Resource;
use std::sync::Arc;

/// Bounds of a cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// What responses may hold in all, in bytes: stored, on their way, or evicted while somebody reads them.
    pub memory_bytes_max: u64,
    /// The largest response that is stored, in bytes of head and body.
    pub object_bytes_max: u64,
}

/// The cache: shared by all workers, cheap to clone.
#[derive(Clone)]
pub struct Cache(Arc<SharedCache>);

struct SharedCache {
    limits: CacheLimits,
    memory: Memory<Arc<Resource>>,
    fills: Fills,
    budget: Arc<Budget>,
    hit_for_miss: HitForMiss,
    failing: Failing,
    refusals: Refusals,
    generations: Arc<Generations>,
    possible_changes: PossibleChanges,
}

impl Cache {
    /// An empty cache.
    pub fn new(limits: CacheLimits) -> Self {
        let budget = Budget::new(limits.memory_bytes_max);
        let generations = Arc::new(Generations::new());
        let resource_bytes_max = limits.object_bytes_max.max(resource::BYTES_MIN);
        Self(Arc::new(SharedCache {
            limits,
            memory: Memory::new(budget.tier_bytes_max(), resource_bytes_max),
            fills: Fills::new(budget.clone(), generations.clone()),
            budget,
            hit_for_miss: HitForMiss::new(),
            failing: Failing::new(),
            refusals: Refusals::new(),
            generations,
            possible_changes: PossibleChanges::default(),
        }))
    }

    /// Bytes that stored responses use, by their own account.
    pub fn used_bytes(&self) -> u64 {
        self.0.memory.used_bytes()
    }

    /// How many bytes these may be.
    pub fn tier_bytes_max(&self) -> u64 {
        self.0.memory.bytes_max()
    }

    /// How many bytes responses may hold in all.
    pub fn memory_bytes_max(&self) -> u64 {
        self.0.limits.memory_bytes_max
    }

    /// What was driven out of the memory tier for want of room.
    pub fn evicted(&self) -> Evicted {
        self.0.memory.evicted()
    }

    /// Whether that response is still stored under that URI, or only held by those who read it.
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

    /// Bytes that responses hold in all, by their own account: stored, on their way, or evicted or replaced while somebody
    /// still reads them.
    pub fn held_bytes(&self) -> u64 {
        self.0.budget.held_bytes()
    }

    /// Charges so many bytes for what is no response, for as long as the result lives; `None` where memory would be short
    /// with it, or all of these together would have more than a sixteenth.
    pub fn try_charge(&self, bytes: u64) -> Option<SpareCharge> {
        self.0.budget.try_charge(bytes)
    }

    /// The account of a response that is held before it is a fill.
    pub fn hold(&self) -> HeldCharge {
        HeldCharge::new(&self.0.budget)
    }

    /// Whether memory is short: large responses are not admitted any more, and soon none will be.
    pub fn is_short(&self) -> bool {
        self.0.budget.is_short()
    }
}
