//! Remembers items of the shared tier that were parsed and judged, so that a repeated look-up does not parse and judge the same bytes
//! again. Both together would more than double the instructions of a look-up (bench/reports/memcached.md).
//!
//! An item is remembered with its bytes up to the body, the response that they describe, and the rules that allow it. An item whose bytes
//! differ, or that is looked up under other rules, is parsed and judged anew. Each look-up checks what can change while the bytes stay the
//! same: the age, the purges, and the variant that the request selects.
//!
//! Only a cache that keeps no responses in memory has this: elsewhere, a response that is requested again is in memory.

use super::content::{AHEAD_MS_MAX, ReadResponse};
use super::current::Usable;
use crate::budget::{ALLOCATION_BYTES, Budget, Charge};
use crate::sync::{Mutex, PoisonError};
use crate::{Body, Entry, Key, Meta};
use bytes::Bytes;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::time::Now;
use kasoku_shared::names::Name;
use kasoku_shared::{Item, Items, Missing};
use kasoku_store::INDEX_BYTES_PER_ENTRY;
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};
use std::sync::Arc;

/// One part in this many of the memory may hold remembered items.
const MEMORY_SHARE: u64 = 64;

/// An item with more bytes before its body is not remembered.
const FRONT_BYTES_MAX: usize = 16 << 10;

/// How far the two clocks may have moved apart since a head was made, in milliseconds, for the head to be used again.
const CLOCKS_APART_MS_MAX: u64 = 100;

/// What an item takes as a rule, in bytes: the number of items that the table expects depends on it.
const USUAL_BYTES: u64 = 2 << 10;

/// The allocations of an item besides those of its head: itself, its bytes, its name, what they say, its key there and in the table, its
/// variant in the table.
const ALLOCATIONS: usize = 7;

/// See the [module](self).
pub(crate) struct JudgedItems {
    items: Cache<OwnedPlace, Arc<JudgedItem>, ByWeight>,
    budget: Arc<Budget>,
}

/// The URI and the variant that an item answers. The item's name is a hash of both; computing that hash costs more than this look-up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place<'a> {
    pub(super) uri: &'a str,
    /// Empty where the responses do not vary.
    pub(super) variant: &'a [u8],
}

#[derive(PartialEq, Eq, Hash)]
struct OwnedPlace {
    uri: Box<str>,
    variant: Box<[u8]>,
}

impl Equivalent<OwnedPlace> for Place<'_> {
    fn equivalent(&self, owned: &OwnedPlace) -> bool {
        (self.uri, self.variant) == (&*owned.uri, &*owned.variant)
    }
}

/// An item that was judged.
pub(super) struct JudgedItem {
    name: Name,
    /// The server that has the name while all are there.
    home: usize,
    is_in_one_piece: bool,
    /// The item's bytes up to its body.
    front: Box<[u8]>,
    /// What they say.
    response: Arc<ReadResponse>,
    /// The rules that allow it to answer plain GETs.
    policy: Arc<Policy>,
    /// The last response that was made of it, without its body.
    model: Mutex<Option<Arc<Entry>>>,
    /// The bytes of all this, the model included.
    weight: u64,
    /// The charge for everything but the model.
    _charge: Charge,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<OwnedPlace, Arc<JudgedItem>> for ByWeight {
    fn weight(&self, _: &OwnedPlace, item: &Arc<JudgedItem>) -> u64 {
        item.weight
    }
}

impl JudgedItem {
    /// What the item said when it was judged.
    pub(super) fn response(&self) -> &ReadResponse {
        &self.response
    }

    /// Whether nothing of it was in chunks.
    pub(super) fn is_in_one_piece(&self) -> bool {
        self.is_in_one_piece
    }

    /// Reads the item as it is now.
    pub(super) async fn read(&self, items: &Items) -> Result<Item, Missing> {
        items.get_at_home(self.home, &self.name).await
    }

    /// The response that these bytes describe, if they begin as those of the judged item, and under the same rules. `None` also if its time
    /// of receipt is too far ahead of `now`.
    pub(super) fn says(&self, content: &[u8], policy: &Arc<Policy>, now: Now) -> Option<&Arc<ReadResponse>> {
        // Each worker has its own copy of the rules.
        let is_same =
            content.starts_with(&self.front) && (Arc::ptr_eq(policy, &self.policy) || **policy == *self.policy);
        let received_ms = self.response.meta.freshness.response_time.unix_ms;
        (is_same && received_ms <= now.unix_ms.saturating_add(AHEAD_MS_MAX)).then_some(&self.response)
    }

    /// The response of this item, with this body. It has the head of the last one, unless the purges or tags differ, or one of the clocks
    /// was set.
    pub(super) fn entry(&self, usable: Usable, body: Arc<Body>, key: &Key, budget: &Arc<Budget>) -> Entry {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        match &*model {
            Some(model) if is_as(&model.meta, &usable) => Entry::with_head_of(model, body, budget),
            _ => {
                let made = Arc::new(Entry::new(Arc::new(usable.meta()), Arc::default(), key, budget));
                Entry::with_head_of(model.insert(made), body, budget)
            }
        }
    }
}

/// Whether a head says what is usable now, its age to a tenth of a second included: the two clocks tick in different milliseconds.
fn is_as(meta: &Meta, usable: &Usable) -> bool {
    let [made_ms, now_ms] = [meta.freshness, usable.freshness].map(|freshness| freshness.response_time.mono_ms);
    made_ms.abs_diff(now_ms) <= CLOCKS_APART_MS_MAX && meta.epoch == usable.born && meta.tags == usable.tags
}

impl JudgedItems {
    /// For a cache with that much memory.
    pub(crate) fn new(memory_bytes_max: u64, budget: Arc<Budget>) -> Self {
        let bytes_max = memory_bytes_max / MEMORY_SHARE;
        let items = usize::try_from(bytes_max / USUAL_BYTES).unwrap_or(usize::MAX);
        Self { items: Cache::with_weighter(items, bytes_max, ByWeight), budget }
    }

    /// The item of this URI and variant that was judged last.
    pub(super) fn get(&self, place: Place<'_>) -> Option<Arc<JudgedItem>> {
        self.items.get(&place)
    }

    /// Forgets an item that has changed or is gone.
    pub(super) fn forget(&self, place: Place<'_>) {
        self.items.remove(&place);
    }

    /// Remembers an item that these rules allow to answer any plain GET for its key.
    pub(super) fn remember(&self, judged: &NewlyJudged, response: &Arc<ReadResponse>, policy: &Arc<Policy>) {
        let NewlyJudged { name, home, variant, content, is_in_one_piece } = judged;
        let Some(front) = content.get(..response.body_begins).filter(|front| front.len() <= FRONT_BYTES_MAX) else {
            return;
        };
        if self.budget.is_short() {
            return;
        }
        let own = size_of::<JudgedItem>() + size_of::<ReadResponse>() + ALLOCATIONS * ALLOCATION_BYTES;
        let texts = name.as_str().len() + front.len() + 2 * response.key.len() + variant.len();
        let charge = self.budget.charge((own + texts) as u64 + INDEX_BYTES_PER_ENTRY + response.meta.memory_bytes());
        let weight = charge.bytes() + Entry::head_bytes(&response.meta, &response.key, &self.budget);
        let place = OwnedPlace { uri: response.key.as_str().into(), variant: variant.as_slice().into() };
        let (name, response, policy) = (name.clone(), response.clone(), policy.clone());
        let (front, home, is_in_one_piece, model) = (front.into(), *home, *is_in_one_piece, Mutex::default());
        self.items.insert(
            place,
            Arc::new(JudgedItem {
                name,
                home,
                is_in_one_piece,
                front,
                response,
                policy,
                model,
                weight,
                _charge: charge,
            }),
        );
    }
}

/// An item that was read and judged anew.
pub(super) struct NewlyJudged {
    pub(super) name: Name,
    /// See [`Tier::home_of`](kasoku_shared::Tier::home_of).
    pub(super) home: usize,
    pub(super) variant: Vec<u8>,
    /// The bytes of it that were read.
    pub(super) content: Bytes,
    /// Whether they are the whole item.
    pub(super) is_in_one_piece: bool,
}

#[cfg(test)]
mod tests {
    use super::super::content::{Read, read, write};
    use super::*;
    use crate::tags::{Tags, of_site, of_tag};
    use crate::verdict::{OriginExchange, meta};
    use crate::{CacheLimits, Meta};
    use http::{Method, StatusCode};
    use kasoku_semantics::time::Now;
    use kasoku_shared::names::Namespace;
    use kasoku_shared::purge_log::Generation;
    use kasoku_wire::field::date;
    use kasoku_wire::{RequestHead, ResponseHead};

    const NOW: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000_000 };
    const MEMORY: u64 = 8 << 20;

    /// An item, and what it says.
    fn item(tag: &str) -> (Vec<u8>, Arc<ReadResponse>) {
        let response = ResponseHead::new(StatusCode::OK)
            .with("Date", date::format(NOW.unix_seconds()))
            .with("Content-Length", "4")
            .with("ETag", tag);
        let exchange = OriginExchange {
            response: &response,
            request_time: NOW,
            response_time: NOW,
            body_length: Some(4),
            is_file: false,
        };
        let meta: Meta = meta(&RequestHead::new(Method::GET, "/"), &exchange, &Policy::default(), 3);
        let cache = crate::Cache::new(CacheLimits { memory_bytes_max: MEMORY, object_bytes_max: MEMORY });
        let mut content = write(&meta, Generation { log: 1, number: 7 }, &cache.key("http://a.test/"), 4).unwrap();
        let Ok(Read::Response(response)) = read(&content, NOW) else { panic!("no response") };
        content.extend_from_slice(b"body");
        (content, response)
    }

    fn place(uri: &str) -> Place<'_> {
        Place { uri, variant: &[] }
    }

    fn newly(content: &[u8]) -> NewlyJudged {
        let name = Namespace::default().response("http://a.test/");
        NewlyJudged { name, home: 0, variant: Vec::new(), content: content.to_vec().into(), is_in_one_piece: true }
    }

    #[test]
    fn only_an_item_that_is_the_same_up_to_its_body_is_known() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let get = |content: &[u8], policy: &Arc<Policy>, now| {
            items.get(place("http://a.test/"))?.says(content, policy, now).cloned()
        };
        let (content, response) = item("\"a\"");
        assert!(get(&content, &policy, NOW).is_none());
        items.remember(&newly(&content), &response, &policy);
        let known = get(&content, &policy, NOW).expect("it was remembered");
        assert_eq!(known.meta.head, response.meta.head);
        assert!(budget.held_bytes() > response.body_begins as u64);

        let other_body = [&content[..response.body_begins], b"ydob"].concat();
        assert!(get(&other_body, &policy, NOW).is_some());
        assert!(get(&content[..response.body_begins - 1], &policy, NOW).is_none(), "cut");
        assert!(get(&item("\"b\"").0, &policy, NOW).is_none(), "another head");
        assert!(items.get(place("http://a.test/other")).is_none(), "another URI");
        assert!(items.get(Place { variant: b"ja", ..place("http://a.test/") }).is_none(), "a variant");
        assert!(get(&content, &Arc::new((*policy).clone()), NOW).is_some(), "the same rules of another worker");
        let other = Policy { ttl_max_seconds: 7, ..(*policy).clone() };
        assert!(get(&content, &Arc::new(other), NOW).is_none(), "other rules");
        let earlier = Now { unix_ms: NOW.unix_ms - AHEAD_MS_MAX - 1, ..NOW };
        assert!(get(&content, &policy, earlier).is_none(), "the clock was set back");
        drop(items);
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn a_head_is_made_anew_where_it_says_something_else() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let (content, response) = item("\"a\"");
        items.remember(&newly(&content), &response, &policy);
        let known = items.get(place("http://a.test/")).unwrap();
        let key =
            crate::Cache::new(CacheLimits { memory_bytes_max: MEMORY, object_bytes_max: MEMORY }).key("http://a.test/");
        let tags = |tag: &str| Some(Arc::new(Tags::of_hashes(of_site("a"), [of_tag("a", tag)].into(), false)));
        let entry = |born, tags, mono_ms| {
            let mut freshness = response.freshness_at(NOW);
            freshness.response_time.mono_ms += mono_ms;
            let usable = Usable { response: response.clone(), freshness, tags, born };
            known.entry(usable, Body::whole(&[Bytes::from_static(b"body")]).into(), &key, &budget)
        };
        let first = entry(3, tags("x"), 0);
        assert_eq!((first.meta.epoch, &first.meta.tags, first.body.complete_length()), (3, &tags("x"), Some(4)));
        let same = |other: &Entry| Arc::ptr_eq(&first.meta, &other.meta);
        assert!(same(&entry(3, tags("x"), CLOCKS_APART_MS_MAX)));
        let later = entry(3, tags("x"), CLOCKS_APART_MS_MAX + 1);
        assert!(!same(&later), "a clock was set");
        assert_eq!(later.meta.freshness.response_time.mono_ms, NOW.mono_ms + CLOCKS_APART_MS_MAX + 1);
        let purged = entry(4, tags("x"), 0);
        assert!(!same(&purged) && purged.meta.epoch == 4);
        let other = entry(4, tags("y"), 0);
        assert!(!same(&other) && other.meta.tags == tags("y"));

        first.prepared_head(1, || Box::from(&b"first"[..]));
        assert!(other.prepared_head(1, || Box::from(&b"other"[..])) == Some(&b"other"[..]));
        let again = entry(4, tags("y"), 0);
        assert_eq!(again.prepared_head(1, || unreachable!("it is prepared")), Some(&b"other"[..]));
        drop((first, later, purged, other, again, known, items));
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn variants_are_remembered_apart() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget);
        for (variant, tag) in [(&b"ja"[..], "\"ja\""), (b"ko", "\"ko\"")] {
            let (content, response) = item(tag);
            items.remember(&NewlyJudged { variant: variant.to_vec(), ..newly(&content) }, &response, &policy);
        }
        let tag_of = |variant| {
            let known = items.get(Place { variant, ..place("http://a.test/") })?;
            known.response.meta.head.fields.only("etag").map(<[u8]>::to_vec)
        };
        assert_eq!(tag_of(b"ja").as_deref(), Some(&b"\"ja\""[..]));
        assert_eq!(tag_of(b"ko").as_deref(), Some(&b"\"ko\""[..]));
        assert_eq!(tag_of(b""), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let (content, response) = item("\"a\"");
        for number in 0..2_000_u32 {
            let variant = number.to_be_bytes().to_vec();
            items.remember(&NewlyJudged { variant, ..newly(&content) }, &response, &policy);
        }
        assert!((MEMORY / MEMORY_SHARE / 4..=MEMORY / MEMORY_SHARE).contains(&budget.held_bytes()), "{budget:?}");
        let (content, response) = item(&format!("\"{}\"", "a".repeat(FRONT_BYTES_MAX)));
        items.remember(&newly(&content), &response, &policy);
        assert!(items.get(place("http://a.test/")).is_none(), "a long head");
    }

    #[test]
    fn nothing_is_remembered_while_memory_is_short() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let (content, response) = item("\"a\"");
        let held = budget.charge(MEMORY - 100);
        items.remember(&newly(&content), &response, &policy);
        assert!(items.get(place("http://a.test/")).is_none());
        drop(held);
        items.remember(&newly(&content), &response, &policy);
        assert!(items.get(place("http://a.test/")).is_some());
    }
}
