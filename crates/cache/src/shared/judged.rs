//! Remembers items of the shared tier that were read and judged, so that those which are requested again and again are not read and judged anew each
//! time: that is a third of what a look-up costs.
//!
//! What is remembered of an item are its bytes up to the body, what they say, and that the rules allow it. An item whose bytes differ, or which is
//! looked up under other rules, is read anew. What can change while the bytes stay the same is found out each time: its age, whether a purge covers
//! it, and whether it is the variant that a request selects.
//!
//! Only a cache that keeps no responses in memory has this: elsewhere, what is requested again is in memory.

use super::content::{AHEAD_MS_MAX, ReadResponse};
use crate::budget::{ALLOCATION_BYTES, Budget, Charge};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::time::Now;
use kasoku_shared::names::Name;
use kasoku_store::INDEX_BYTES_PER_ENTRY;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// One part in this many of the memory may hold remembered items.
const MEMORY_SHARE: u64 = 64;

/// An item with more bytes before its body is not remembered.
const FRONT_BYTES_MAX: usize = 16 << 10;

/// What an item takes as a rule, in bytes: the number of items that the table expects depends on it.
const USUAL_BYTES: u64 = 2 << 10;

/// The allocations of an item besides those of its head: itself, its bytes, its name, what they say, its key.
const ALLOCATIONS: usize = 5;

/// See the [module](self).
pub(crate) struct JudgedItems {
    items: Cache<Name, Arc<JudgedItem>, ByWeight>,
    budget: Arc<Budget>,
}

struct JudgedItem {
    /// The item's bytes up to its body.
    front: Box<[u8]>,
    /// What they say.
    response: Arc<ReadResponse>,
    /// The rules that allow it to answer plain GETs.
    policy: Arc<Policy>,
    charge: Charge,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<Name, Arc<JudgedItem>> for ByWeight {
    fn weight(&self, _: &Name, item: &Arc<JudgedItem>) -> u64 {
        item.charge.bytes()
    }
}

impl JudgedItems {
    /// For a cache with that much memory.
    pub(crate) fn new(memory_bytes_max: u64, budget: Arc<Budget>) -> Self {
        let bytes_max = memory_bytes_max / MEMORY_SHARE;
        let items = usize::try_from(bytes_max / USUAL_BYTES).unwrap_or(usize::MAX);
        Self { items: Cache::with_weighter(items, bytes_max, ByWeight), budget }
    }

    /// What the item of that name says, if it was judged as it is, under these rules. Its time of receipt is not newer than an item's may be.
    pub(super) fn get(&self, name: &Name, content: &[u8], policy: &Arc<Policy>, now: Now) -> Option<Arc<ReadResponse>> {
        let item = self.items.get(name)?;
        // Each worker has its own copy of the rules.
        let is_same =
            content.starts_with(&item.front) && (Arc::ptr_eq(policy, &item.policy) || **policy == *item.policy);
        let received_ms = item.response.meta.freshness.response_time.unix_ms;
        (is_same && received_ms <= now.unix_ms.saturating_add(AHEAD_MS_MAX)).then(|| item.response.clone())
    }

    /// The item of that name says this, and these rules allow it to answer any plain GET for its key.
    pub(super) fn remember(&self, name: Name, content: &[u8], response: &Arc<ReadResponse>, policy: &Arc<Policy>) {
        let Some(front) = content.get(..response.body_begins).filter(|front| front.len() <= FRONT_BYTES_MAX) else {
            return;
        };
        if self.budget.is_short() {
            return;
        }
        let own = size_of::<JudgedItem>() + size_of::<ReadResponse>() + ALLOCATIONS * ALLOCATION_BYTES;
        let texts = name.as_str().len() + front.len() + response.key.len();
        let charge = self.budget.charge((own + texts) as u64 + INDEX_BYTES_PER_ENTRY + response.meta.memory_bytes());
        let (response, policy) = (response.clone(), policy.clone());
        self.items.insert(name, Arc::new(JudgedItem { front: front.into(), response, policy, charge }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::{Read, read, write};
    use super::*;
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

    fn name(path: &str) -> Name {
        Namespace::default().response(path)
    }

    #[test]
    fn only_an_item_that_is_the_same_up_to_its_body_is_known() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let get = |name: &Name, content: &[u8], policy: &Arc<Policy>| items.get(name, content, policy, NOW);
        let (content, response) = item("\"a\"");
        assert!(get(&name("/"), &content, &policy).is_none());
        items.remember(name("/"), &content, &response, &policy);
        let known = get(&name("/"), &content, &policy).expect("it was remembered");
        assert_eq!(known.meta.head, response.meta.head);
        assert!(budget.held_bytes() > response.body_begins as u64);

        let other_body = [&content[..response.body_begins], b"ydob"].concat();
        assert!(get(&name("/"), &other_body, &policy).is_some());
        assert!(get(&name("/"), &content[..response.body_begins - 1], &policy).is_none(), "cut");
        assert!(get(&name("/"), &item("\"b\"").0, &policy).is_none(), "another head");
        assert!(get(&name("/other"), &content, &policy).is_none(), "another name");
        assert!(get(&name("/"), &content, &Arc::new((*policy).clone())).is_some(), "the same rules of another worker");
        let other = Policy { ttl_max_seconds: 7, ..(*policy).clone() };
        assert!(get(&name("/"), &content, &Arc::new(other)).is_none(), "other rules");
        let earlier = Now { unix_ms: NOW.unix_ms - AHEAD_MS_MAX - 1, ..NOW };
        assert!(items.get(&name("/"), &content, &policy, earlier).is_none(), "the clock was set back");
        drop(items);
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let (content, response) = item("\"a\"");
        for number in 0..2_000 {
            items.remember(name(&format!("/{number}")), &content, &response, &policy);
        }
        assert!((MEMORY / MEMORY_SHARE / 4..=MEMORY / MEMORY_SHARE).contains(&budget.held_bytes()), "{budget:?}");
        let (content, response) = item(&format!("\"{}\"", "a".repeat(FRONT_BYTES_MAX)));
        items.remember(name("/long"), &content, &response, &policy);
        assert!(items.get(&name("/long"), &content, &policy, NOW).is_none());
    }

    #[test]
    fn nothing_is_remembered_while_memory_is_short() {
        let (budget, policy) = (Budget::new(MEMORY), Arc::new(Policy::default()));
        let items = JudgedItems::new(MEMORY, budget.clone());
        let (content, response) = item("\"a\"");
        let held = budget.charge(MEMORY - 100);
        items.remember(name("/"), &content, &response, &policy);
        assert!(items.get(&name("/"), &content, &policy, NOW).is_none());
        drop(held);
        items.remember(name("/"), &content, &response, &policy);
        assert!(items.get(&name("/"), &content, &policy, NOW).is_some());
    }
}
