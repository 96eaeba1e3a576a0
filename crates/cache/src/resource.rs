//! All stored responses of one key: one, or one for each variant that `Vary` made.
//!
//! A resource is immutable: a change makes a new resource that shares the entries (see `Memory::update`). So its weight is that of the
//! time when it was made, and a tier relies on that. When an entry becomes heavier, a resource with the new weight replaces it.

use crate::entry::RESOURCE_BYTES;
use crate::{Body, Entry, Meta};
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::vary::{language_selects, variant_key};
use kasoku_store::Weigh;
use kasoku_wire::Fields;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// The most variants of one key. When another comes, the oldest goes.
pub const VARIANTS_MAX: usize = 64;

/// The least bound on a value's size in the memory tier, in bytes, so that a tiny `object-bytes-max` still stores heads.
pub(crate) const BYTES_MIN: u64 = 4 << 10;

thread_local! {
    /// Where a request's variant key is made, so that a hit allocates nothing. Its size is bounded, since request heads are.
    static VARIANT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Resource {
    key: Box<[u8]>,
    /// The entry that was stored last comes first. Most keys have one.
    entries: SmallVec<[Arc<Entry>; 1]>,
    /// Whether all entries nominate the same fields: then at most one fits a request.
    is_uniform: bool,
    /// The weight of the entries when this resource was made, in bytes.
    weight_bytes: u64,
}

// An entry's charge includes this size.
const _: () = assert!(size_of::<Resource>() <= RESOURCE_BYTES);

impl Resource {
    /// A key with one response.
    pub(crate) fn new(key: &[u8], entry: Arc<Entry>) -> Self {
        Self { key: key.into(), entries: smallvec![entry], is_uniform: true, weight_bytes: 0 }.weighed()
    }

    /// The same resource with the present weight of its entries.
    pub(crate) fn weighed(mut self) -> Self {
        self.weight_bytes = self.entries.iter().map(|entry| entry.memory_bytes()).sum();
        self
    }

    /// The stored response that a request with these fields selects; the most recent one, where several fit.
    //= RFC 9111 section 4.1
    //# When a cache receives a request that can be satisfied by a stored
    //# response and that stored response contains a Vary header field
    //# (Section 12.5.5 of [HTTP]), the cache MUST NOT use that stored
    //# response without revalidation unless all the presented request header
    //# fields nominated by that Vary field value match those fields in the
    //# original request
    //= RFC 9111 section 4
    //# When more than one suitable response is stored, a cache MUST use
    //# the most recent one (as determined by the Date header field).
    pub(crate) fn select(&self, request: &Fields, policy: &Policy) -> Option<&Arc<Entry>> {
        let selected = match self.entries.as_slice() {
            [only] if only.meta.nominated.is_empty() => return Some(only),
            entries => VARIANT.with_borrow_mut(|variant| self.select_among(entries, request, policy, variant)),
        };
        selected.or_else(|| self.select_by_language(request, policy))
    }

    fn select_among<'a>(
        &self,
        entries: &'a [Arc<Entry>],
        request: &Fields,
        policy: &Policy,
        variant: &mut Vec<u8>,
    ) -> Option<&'a Arc<Entry>> {
        let mut known: Option<&[String]> = None;
        let mut selected: Option<&Arc<Entry>> = None;
        for entry in entries {
            let nominated = entry.meta.nominated.as_slice();
            // Variants of a key nearly always nominate the same fields, so one variant key serves for all of them.
            if known != Some(nominated) {
                variant.clear();
                variant_key(nominated, request, policy, variant);
                known = Some(nominated);
            }
            let fits = *variant == entry.meta.variant;
            if fits && selected.is_none_or(|other| other.meta.date_seconds() < entry.meta.date_seconds()) {
                selected = Some(entry);
                if self.is_uniform {
                    break;
                }
            }
        }
        selected
    }

    /// The response that was stored last.
    pub(crate) fn newest(&self) -> Option<&Arc<Entry>> {
        self.entries.first()
    }

    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The stored responses; the one that was stored last comes first.
    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// How many responses are stored.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The fields that tell the responses apart. A field may come more than once.
    pub(crate) fn nominated(&self) -> impl Iterator<Item = &str> {
        let distinct = if self.is_uniform { 1 } else { self.entries.len() };
        self.entries.iter().take(distinct).flat_map(|entry| &entry.meta.nominated).map(String::as_str)
    }

    /// The response whose language the request prefers, where the variants differ by language only.
    fn select_by_language(&self, request: &Fields, policy: &Policy) -> Option<&Arc<Entry>> {
        if policy.profile != Profile::Rfc {
            return None;
        }
        // Nearly all requests send one line, which needs no copy.
        let wanted = match request.only("accept-language") {
            Some(only) => Cow::Borrowed(only),
            None => Cow::Owned(request.combined("accept-language")?),
        };
        self.entries.iter().find(|entry| {
            let language = entry.meta.head.fields.only("content-language");
            entry.meta.nominated == ["accept-language"] && language.is_some_and(|it| language_selects(it, &wanted))
        })
    }

    /// Whether this very entry is stored here.
    pub(crate) fn has(&self, entry: &Arc<Entry>) -> bool {
        self.entries.iter().any(|kept| Arc::ptr_eq(kept, entry))
    }

    /// Whether an entry with this very body is stored here.
    pub(crate) fn has_body(&self, body: &Arc<Body>) -> bool {
        self.entries.iter().any(|kept| Arc::ptr_eq(&kept.body, body))
    }

    /// The entry of the same variant as `meta`.
    pub(crate) fn same_variant(&self, meta: &Meta) -> Option<&Arc<Entry>> {
        let is_same =
            |entry: &&Arc<Entry>| entry.meta.nominated == meta.nominated && entry.meta.variant == meta.variant;
        self.entries.iter().find(is_same)
    }

    /// The variant that the request asks for, as far as the newest response's `Vary` tells. Fills of this key are told apart by it.
    pub(crate) fn variant_of(&self, request: &Fields, policy: &Policy) -> Vec<u8> {
        let mut variant = Vec::new();
        if let Some(newest) = self.entries.first() {
            variant_key(&newest.meta.nominated, request, policy, &mut variant);
        }
        variant
    }

    /// The same resource with `entry` as the newest. Drops the entry that it replaces (the one of the same variant, or any where one of
    /// both has no `Vary`), and the oldest entries beyond the bounds.
    pub(crate) fn with(&self, entry: Arc<Entry>, bytes_max: u64) -> Self {
        let mut entries: SmallVec<[Arc<Entry>; 1]> = smallvec![entry];
        if let Some(new) = entries.first().filter(|new| !new.meta.nominated.is_empty()).cloned() {
            let same = |old: &Entry| old.meta.nominated == new.meta.nominated && old.meta.variant == new.meta.variant;
            let others = self.entries.iter().filter(|old| !old.meta.nominated.is_empty() && !same(old));
            entries.extend(others.take(VARIANTS_MAX - 1).cloned());
        }
        let mut resource = Self { key: self.key.clone(), entries, is_uniform: true, weight_bytes: 0 }.weighed();
        while resource.entries.len() > 1 && resource.weight_bytes > bytes_max {
            resource.entries.pop();
            resource = resource.weighed();
        }
        let nominated = |entry: &Arc<Entry>| entry.meta.nominated.clone();
        let first = resource.entries.first().map(nominated);
        resource.is_uniform = resource.entries.iter().all(|entry| Some(&entry.meta.nominated) == first.as_ref());
        resource
    }

    /// The same resource with `new` in the place of `old`; unchanged where `old` is not here any more.
    pub(crate) fn replacing(&self, old: &Arc<Entry>, new: Arc<Entry>) -> Self {
        let mut resource = self.clone();
        if let Some(place) = resource.entries.iter_mut().find(|entry| Arc::ptr_eq(entry, old)) {
            *place = new;
        }
        resource.weighed()
    }

    /// The same resource with each entry as `change` makes it. `change` must keep the variant.
    pub(crate) fn with_each(&self, change: impl Fn(&Entry) -> Arc<Entry>) -> Self {
        let entries = self.entries.iter().map(|entry| change(entry)).collect();
        Self { entries, ..self.clone() }.weighed()
    }

    /// The same resource without `entry`; `None` where no entry is left.
    pub(crate) fn without(&self, entry: &Arc<Entry>) -> Option<Self> {
        let mut resource = self.clone();
        resource.entries.retain(|kept| !Arc::ptr_eq(kept, entry));
        (!resource.entries.is_empty()).then(|| resource.weighed())
    }

    /// The same resource without the entries of other rules; `None` where no entry is left.
    pub(crate) fn under(&self, policy: &Policy) -> Option<Self> {
        let mut resource = self.clone();
        resource.entries.retain(|kept| kept.meta.is_under(policy));
        (!resource.entries.is_empty()).then(|| resource.weighed())
    }
}

impl Weigh for Resource {
    fn weight_bytes(&self) -> u64 {
        self.weight_bytes
    }

    fn belongs_to(&self, key: &[u8]) -> bool {
        *self.key == *key
    }
}
