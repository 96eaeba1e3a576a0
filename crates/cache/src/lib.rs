//! Key, look-up, fill, save and invalidation over the tiers.
//!
//! This crate decides and remembers; it drives nobody. It spawns no task, sleeps nowhere and reads no clock, so any host
//! can embed it. A caller asks [`Cache::look_up`] and gets a [`Lookup`]: an entry to deliver, a running fill to join, or
//! a [`FillWriter`] with which it must ask the origin. What the origin answers goes back into the writer, which says what
//! it means ([`Verdict`]). A writer that is dropped wakes everyone who waits.
//!
//! In the order of the data:
//!
//! | file | job |
//! |---|---|
//! | [`key`], `ask` | what is looked up, and for whom |
//! | [`lookup`] | the decision: hit, join, fill, pass |
//! | [`fill`], `fills`, `pieces` | a response in the making that one task writes and many read; all that run; the bytes |
//! | `selection` | by what fills of one key are told apart: what they bring, and on whose behalf |
//! | `failing` | what failed a moment ago, and what that means for who asks now |
//! | [`verdict`] | what the origin's answer means for the fill |
//! | [`body_writer`] | appends to a fill, within bounds |
//! | [`budget`] | what all responses together may hold |
//! | [`save`] | where a finished fill, a 304 or a HEAD changes what is stored |
//! | `own_tag` | the entity tag that clients get in the place of the application's validators |
//! | [`elsewhere`] | the answer whose bytes are a file of somebody else's: what is stored of it |
//! | [`invalidate`] | what unsafe methods drop |
//! | [`coding`] | what is made of a stored body in content codings |
//! | [`generations`], `tags` | what is purged as a whole: a site, all URIs with one beginning, all that has one tag |
//! | `doubts` | what may have changed, and is dropped at most once a second |
//! | [`inspect`], [`refusals`] | why a request gets what it gets, for whoever asks: nothing is changed |
//! | [`entry`], [`body`], [`resource`] | what is stored: a response, its bytes, all variants of a key |

mod ask;
pub mod body;
pub mod body_writer;
pub mod budget;
pub mod coding;
mod doubts;
pub mod elsewhere;
pub mod entry;
mod failing;
pub mod fill;
mod fills;
pub mod generations;
pub mod inspect;
pub mod invalidate;
pub mod key;
pub mod known_private;
pub mod lookup;
mod own_tag;
mod pieces;
pub mod refusals;
pub mod resource;
pub mod save;
mod selection;
mod sync;
mod tags;
pub mod verdict;

pub use ask::Ask;
pub use body::Body;
pub use body_writer::BodyWriter;
pub use doubts::Later;
pub use elsewhere::Elsewhere;
pub use entry::{Entry, Meta};
pub use failing::NOBODYS_OWN;
pub use fill::{FillReader, Joined, Next};
pub use generations::{Purge, Scope, ScopeError};
pub use key::Key;
pub use lookup::Lookup;
pub use verdict::{FillWriter, Verdict};

use budget::Budget;
pub use budget::{HeldCharge, SpareCharge};
use doubts::Doubts;
use failing::Failing;
use fills::Fills;
use generations::Generations;
pub use kasoku_store::Evicted;
use kasoku_store::Memory;
use known_private::KnownPrivate;
use refusals::Refusals;
use resource::Resource;
use std::sync::Arc;

/// Bounds of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What responses may hold in all, in bytes: stored, on their way, or evicted while somebody reads them.
    pub memory_bytes_max: u64,
    /// The largest response that is stored, in bytes of head and body.
    pub object_bytes_max: u64,
}

/// The cache: shared by all workers, cheap to clone.
#[derive(Clone)]
pub struct Cache(Arc<Inner>);

struct Inner {
    limits: Limits,
    memory: Memory<Arc<Resource>>,
    fills: Fills,
    budget: Arc<Budget>,
    known_private: KnownPrivate,
    failing: Failing,
    refusals: Refusals,
    generations: Arc<Generations>,
    doubts: Doubts,
}

impl Cache {
    /// An empty cache.
    pub fn new(limits: Limits) -> Self {
        let budget = Budget::new(limits.memory_bytes_max);
        let generations = Arc::new(Generations::new());
        let resource_bytes_max = limits.object_bytes_max.max(resource::BYTES_MIN);
        Self(Arc::new(Inner {
            limits,
            memory: Memory::new(budget.tier_bytes_max(), resource_bytes_max),
            fills: Fills::new(budget.clone(), generations.clone()),
            budget,
            known_private: KnownPrivate::new(),
            failing: Failing::new(),
            refusals: Refusals::new(),
            generations,
            doubts: Doubts::default(),
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
