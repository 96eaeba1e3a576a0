//! A stored response: immutable, reference counted, shared by all requests that it answers.

use crate::budget::{ALLOCATION_BYTES, Budget, Charge};
use crate::generations::{Epoch, Generations, Validity};
use crate::own_tag::LINE_BYTES as OWN_TAG_LINE_BYTES;
use crate::sync::{AtomicU64, Ordering};
use crate::tags::Tags;
use crate::{Body, Key};
use kasoku_semantics::Validators;
use kasoku_semantics::age::date_value;
use kasoku_semantics::coding::Coding;
use kasoku_semantics::downstream::without_announcement;
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::validators::restore;
use kasoku_semantics::vary::variant_key;
use kasoku_store::INDEX_BYTES_PER_ENTRY;
use kasoku_wire::{Fields, ResponseHead};
use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// All of a response except its body: known as soon as the origin's head has come.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Status and fields as stored: without hop-by-hop fields, Age and fields that must not be shared.
    pub head: ResponseHead,
    /// When the response was received, its age at that time, and its lifetime.
    pub freshness: Freshness,
    /// The request fields that `Vary` nominates, lower case and sorted. Empty: the response fits every request.
    pub nominated: Vec<String>,
    /// The values of the nominated fields in the request that fetched the response, normalised.
    pub variant: Vec<u8>,
    /// The application's validators, where clients get a tag of the cache's own instead (see [`own_tag`](crate::own_tag)).
    pub(crate) withheld: Option<Box<Fields>>,
    /// The tags by which the response is dropped.
    pub(crate) tags: Option<Arc<Tags>>,
    /// The purge epoch in which the request for this response began.
    pub(crate) epoch: Epoch,
    /// The fingerprint of the rules under which the response was stored.
    pub(crate) rules: u64,
}

impl Meta {
    /// The same response with another head.
    pub fn with_head(&self, head: ResponseHead) -> Self {
        Self { head, ..self.clone() }
    }

    /// Which validators tell whether a client has this response already.
    pub fn validators(&self) -> Validators {
        if self.withheld.is_some() { Validators::OwnTag } else { Validators::Any }
    }

    /// The head as the application sent it: with the application's validators, and without what the cache tells clients about a granted
    /// lifetime.
    pub fn origin_head(&self, policy: &Policy) -> Cow<'_, ResponseHead> {
        let said = without_announcement(&self.head, &self.freshness, policy);
        let Some(withheld) = &self.withheld else { return said };
        let mut said = said.into_owned();
        restore(&mut said, withheld);
        Cow::Owned(said)
    }

    /// Whether the response was stored under the present rules.
    pub(crate) fn is_under(&self, policy: &Policy) -> bool {
        self.rules == policy.rules
    }

    /// Whether a request with these fields selects this response (RFC 9111 section 4.1).
    pub fn is_selected_by(&self, request: &Fields, policy: &Policy) -> bool {
        if self.nominated.is_empty() {
            return true;
        }
        let mut variant = Vec::with_capacity(self.variant.len());
        variant_key(&self.nominated, request, policy, &mut variant);
        variant == self.variant
    }

    /// Whether this response was received after `other`.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        self.freshness.response_time.mono_ms > other.freshness.response_time.mono_ms
    }

    /// When the origin made the response, in seconds since 1970: its Date, or else the time at which it was received.
    pub(crate) fn date_seconds(&self) -> i64 {
        date_value(&self.head, self.freshness.response_time)
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let names: usize = self.nominated.iter().map(|name| name.len() + size_of::<String>()).sum();
        let own = size_of::<Self>() + self.head.fields.memory_bytes() + self.head.reason.len() + self.variant.len();
        let withheld = self.withheld.as_ref().map_or(0, |fields| {
            size_of::<Fields>()
                + fields.memory_bytes()
                + OWN_TAG_LINE_BYTES
                + ALLOCATIONS_OF_WITHHELD * ALLOCATION_BYTES
        });
        let tags = self.tags.as_ref().map_or(0, |tags| tags.memory_bytes() + 2 * ALLOCATION_BYTES);
        (own + names + withheld + tags + ALLOCATIONS_OF_A_HEAD * ALLOCATION_BYTES) as u64
    }
}

/// A response that can be sent: [`Meta`] and body, each shared, so that a 304 replaces only the [`Meta`].
#[derive(Debug)]
pub struct Entry {
    /// Head, freshness and variant.
    pub meta: Arc<Meta>,
    /// The bytes: all of them, or the parts that arrived in 206 responses.
    pub body: Arc<Body>,
    /// The head for clients that get the whole response.
    prepared: PreparedHead,
    /// The head for each content coding, in the order of [`Coding::ALL`].
    prepared_coded: OnceLock<Box<[PreparedHead; Coding::ALL.len()]>>,
    /// See [`Entry::host_value`].
    host: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// The finding of [`Entry::may_be_coded`] and the mark of the rules under which it was made. 0: not judged yet.
    judged: AtomicU64,
    /// The last purge epoch in which this response was found valid.
    checked: AtomicU64,
    /// An entry with the same head, for which the head is prepared: see [`Entry::with_head_of`].
    model: Option<Arc<Entry>>,
    /// The charge for everything but the body.
    charge: Charge,
}

/// A prepared head, with the mark under which it was made.
type PreparedHead = OnceLock<(u8, Box<[u8]>)>;

/// Allocations of a [`Meta`]: the struct itself, the fields' block and lines, reason, names, variant.
const ALLOCATIONS_OF_A_HEAD: usize = 6;

/// Allocations of [`Meta::withheld`]: the struct itself, the block and the lines.
const ALLOCATIONS_OF_WITHHELD: usize = 3;

/// A [`Resource`](crate::resource::Resource) without its key and its list of entries, in bytes.
pub(crate) const RESOURCE_BYTES: usize = 56;

/// The cost of one more entry besides head and body: the struct itself, its place in its resource and in the index.
const OVERHEAD_BYTES: u64 = INDEX_BYTES_PER_ENTRY + (size_of::<Entry>() + RESOURCE_BYTES + 5 * ALLOCATION_BYTES) as u64;

/// The most bytes that the deliverer's own fields add to a prepared head. More are not accounted.
const PREPARED_BYTES_MORE: u64 = 128;

/// The fields that a host's own form of a head has besides the stored ones: Content-Length, ETag, Age and Cache-Status.
const HOST_FIELDS_MORE: u64 = 4;

impl Entry {
    /// A response that can be sent, stored under this key.
    pub(crate) fn new(meta: Arc<Meta>, body: Arc<Body>, key: &Key, budget: &Arc<Budget>) -> Self {
        let charge = budget.charge(Self::head_bytes(&meta, key.uri(), budget));
        Self::charged(meta, body, charge, None)
    }

    /// What an entry of its own is charged for everything but the body.
    pub(crate) fn head_bytes(meta: &Meta, uri: &str, budget: &Budget) -> u64 {
        let of_host = (meta.head.fields.len() as u64 + HOST_FIELDS_MORE).saturating_mul(budget.host_field_bytes);
        meta.memory_bytes() + prepared_bytes(meta) + of_host + uri.len() as u64 + OVERHEAD_BYTES
    }

    /// A response with the head of `model`, which is prepared there for all such responses. All their bodies have the same length. What
    /// depends on a body's bytes, as the heads for content codings do, is no other's.
    pub(crate) fn with_head_of(model: &Arc<Self>, body: Arc<Body>, budget: &Arc<Budget>) -> Self {
        Self::charged(model.meta.clone(), body, budget.charge(OVERHEAD_BYTES), Some(model.clone()))
    }

    fn charged(meta: Arc<Meta>, body: Arc<Body>, charge: Charge, model: Option<Arc<Self>>) -> Self {
        let checked = AtomicU64::new(meta.epoch);
        let (prepared, prepared_coded, host) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { meta, body, prepared, prepared_coded, host, judged: AtomicU64::new(0), checked, model, charge }
    }

    /// The entry that has what depends on the head alone.
    fn of_head(&self) -> &Self {
        self.model.as_deref().unwrap_or(self)
    }

    /// The part of a whole response's head that is the same for all clients. The first delivery of the response makes it. `mark` stands
    /// for the settings of the deliverer; `None` where the head was made under another mark.
    pub fn prepared_head(&self, mark: u8, make: impl FnOnce() -> Box<[u8]>) -> Option<&[u8]> {
        prepared(&self.of_head().prepared, mark, make)
    }

    /// The same for the body in this coding.
    pub fn prepared_coded_head(&self, coding: Coding, mark: u8, make: impl FnOnce() -> Box<[u8]>) -> Option<&[u8]> {
        prepared(self.prepared_coded.get_or_init(Box::default).get(coding as usize)?, mark, make)
    }

    /// The head in the host's own form, for a host that sends no bytes: made once, by the first delivery of the response. What it may cost
    /// is said when the cache is made ([`Cache::for_host`](crate::Cache::for_host)).
    pub fn host_value(&self, make: impl FnOnce() -> Arc<dyn Any + Send + Sync>) -> &(dyn Any + Send + Sync) {
        self.of_head().host.get_or_init(make).as_ref()
    }

    /// Whether content codings may be made of this response, by the rules that `mark` stands for. `judge` is called once, and again when
    /// the rules have changed.
    pub fn may_be_coded(&self, mark: u64, judge: impl FnOnce() -> bool) -> bool {
        // The lowest bit is the finding. The highest bit tells a finding from 0, which stands for none.
        let of = |finding: bool| mark << 1 | 1 << 63 | u64::from(finding);
        let known = &self.of_head().judged;
        let judged = known.load(Ordering::Relaxed);
        if judged == of(true) || judged == of(false) {
            return judged == of(true);
        }
        let finding = judge();
        known.store(of(finding), Ordering::Relaxed);
        finding
    }

    /// The bytes charged for a prepared head.
    pub(crate) fn prepared_bytes(&self) -> u64 {
        prepared_bytes(&self.meta)
    }

    /// Whether no purge of many keys has come since this response was last found valid.
    fn is_checked(&self, epoch: Epoch) -> bool {
        self.checked.load(Ordering::Relaxed) == epoch
    }

    /// Whether no purge of many keys since the response's request began covers it.
    pub(crate) fn holds(&self, key: &Key, generations: &Generations) -> bool {
        self.validity(key, generations).0 == Validity::Valid
    }

    /// What the purges of many keys since the response's request began have left of it, and the epoch up to which they were compared.
    pub(crate) fn validity(&self, key: &Key, generations: &Generations) -> (Validity, Epoch) {
        // The epoch is read before the marks: a later purge changes the epoch, so the next comparison finds it.
        let epoch = generations.epoch();
        if self.is_checked(epoch) {
            return (Validity::Valid, epoch);
        }
        let validity = generations.validity(key.bytes(), self.meta.tags.as_deref(), self.meta.epoch);
        if validity == Validity::Valid {
            self.checked.store(epoch, Ordering::Relaxed);
        }
        (validity, epoch)
    }

    /// Memory held, in bytes: all costs of storing the entry, its body's codings included.
    pub fn memory_bytes(&self) -> u64 {
        self.charge.bytes() + self.body.memory_bytes() + self.body.codings.memory_bytes()
    }
}

fn prepared_bytes(meta: &Meta) -> u64 {
    let allocated = size_of::<PreparedHead>() + 2 * ALLOCATION_BYTES;
    meta.head.fields.block().len() as u64 + PREPARED_BYTES_MORE + allocated as u64
}

fn prepared(place: &PreparedHead, mark: u8, make: impl FnOnce() -> Box<[u8]>) -> Option<&[u8]> {
    let (made_under, head) = place.get_or_init(|| (mark, make()));
    (*made_under == mark).then_some(head)
}
