//! Remembers items of the shared tier that were read and judged, so that those which are requested again and again are not read and judged anew each
//! time: that is a third of what a look-up costs.
//!
//! What is remembered of an item are the bytes up to its body, what they say, and that the rules allow it. An item whose bytes differ, or which is
//! looked up under other rules, is read anew. What changes without the item is never remembered: whether a purge covers it, whether it is fresh, and
//! whether it is the variant that a request selects.
//!
//! Only a cache that keeps no responses in memory has this: elsewhere, what is requested again is in memory.

use super::content::ReadResponse;
use crate::budget::{Budget, SpareCharge};
use kasoku_semantics::policy::Policy;
use kasoku_shared::names::Name;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// One part in this many of the memory may hold remembered items.
const MEMORY_SHARE: u64 = 64;

/// An item with more bytes before its body is not remembered.
const FRONT_BYTES_MAX: usize = 16 << 10;

/// What an item takes as a rule, in bytes: the number of items that the table expects depends on it.
const USUAL_BYTES: u64 = 2 << 10;

/// See the [module](self).
pub(crate) struct JudgedItems(Cache<Name, Arc<JudgedItem>, ByWeight>);

struct JudgedItem {
    /// The item's bytes up to its body.
    front: Box<[u8]>,
    /// What they say.
    response: Arc<ReadResponse>,
    /// The rules that allow it to answer a request that they know by its target alone.
    policy: Arc<Policy>,
    charge: SpareCharge,
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
    pub(crate) fn new(memory_bytes_max: u64) -> Self {
        let bytes_max = memory_bytes_max / MEMORY_SHARE;
        let items = usize::try_from(bytes_max / USUAL_BYTES).unwrap_or(usize::MAX);
        Self(Cache::with_weighter(items, bytes_max, ByWeight))
    }

    /// What the item of that name says, if it was judged as it is, under these rules.
    pub(super) fn get(&self, name: &Name, content: &[u8], policy: &Arc<Policy>) -> Option<Arc<ReadResponse>> {
        let item = self.0.get(name)?;
        let is_same = content.starts_with(&item.front) && Arc::ptr_eq(policy, &item.policy);
        is_same.then(|| item.response.clone())
    }

    /// The item of that name says this in the bytes before its body, and these rules allow it, whatever request they know by its target alone asks
    /// for it.
    pub(super) fn remember(
        &self,
        name: Name,
        front: &[u8],
        response: &Arc<ReadResponse>,
        policy: &Arc<Policy>,
        budget: &Arc<Budget>,
    ) {
        let bytes = size_of::<JudgedItem>() + name.as_str().len() + front.len() + response.key.len();
        if front.len() > FRONT_BYTES_MAX {
            return;
        }
        let Some(charge) = budget.try_charge(bytes as u64 + response.meta.memory_bytes()) else { return };
        let (response, policy) = (response.clone(), policy.clone());
        self.0.insert(name, Arc::new(JudgedItem { front: front.into(), response, policy, charge }));
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
        (content, response.into())
    }

    fn name(path: &str) -> Name {
        Namespace::default().response(path)
    }

    #[test]
    fn only_an_item_that_is_the_same_up_to_its_body_is_known() {
        let (items, budget, policy) = (JudgedItems::new(MEMORY), Budget::new(MEMORY), Arc::new(Policy::default()));
        let (content, response) = item("\"a\"");
        assert!(items.get(&name("/"), &content, &policy).is_none());
        items.remember(name("/"), &content[..response.body_begins], &response, &policy, &budget);
        let known = items.get(&name("/"), &content, &policy).expect("it was remembered");
        assert_eq!(known.meta.head, response.meta.head);
        assert!(budget.held_bytes() > response.body_begins as u64);

        let other_body = [&content[..response.body_begins], b"ydob"].concat();
        assert!(items.get(&name("/"), &other_body, &policy).is_some());
        assert!(items.get(&name("/"), &content[..response.body_begins - 1], &policy).is_none(), "cut");
        assert!(items.get(&name("/"), &item("\"b\"").0, &policy).is_none(), "another head");
        assert!(items.get(&name("/other"), &content, &policy).is_none(), "another name");
        assert!(items.get(&name("/"), &content, &Arc::new(Policy::default())).is_none(), "other rules");
        drop(items);
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (items, budget, policy) = (JudgedItems::new(MEMORY), Budget::new(MEMORY), Arc::new(Policy::default()));
        let (content, response) = item("\"a\"");
        for number in 0..2_000 {
            items.remember(name(&format!("/{number}")), &content, &response, &policy, &budget);
        }
        assert!((MEMORY / MEMORY_SHARE / 4..=MEMORY / MEMORY_SHARE).contains(&budget.held_bytes()), "{budget:?}");
        items.remember(name("/long"), &[b'a'; FRONT_BYTES_MAX + 1], &response, &policy, &budget);
        assert!(items.get(&name("/long"), &[b'a'; FRONT_BYTES_MAX + 1], &policy).is_none());

        let full = Budget::new(MEMORY);
        let _held = full.charge(MEMORY - 100);
        items.remember(name("/full"), &content, &response, &policy, &full);
        assert!(items.get(&name("/full"), &content, &policy).is_none());
    }
}
