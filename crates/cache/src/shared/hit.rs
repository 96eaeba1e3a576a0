//! The path of a hit in the shared tier, where memory keeps no responses: an item that is remembered as judged answers without a fill.
//!
//! A fill collapses requests and asks the origin. A request for an item that is remembered needs neither as a rule, and a fill costs more
//! than the conversation with the server (bench/reports/memcached.md). So this path does not collapse concurrent requests for the same
//! page. nginx's memcached module does not collapse them either. An item that can't answer is not asked for, and one that has changed, or
//! is gone, is forgotten: then [`Cache::look_up`] decides, and collapses the requests.
//!
//! An invalidation need not poison this look-up as it poisons a fill: the item is compared with the purges after it was read, and nothing
//! is stored.

use super::Items;
use super::current::{Wanted, usable_now};
use super::judged::{JudgedItem, Place};
use super::read::{charged_body, hit_reason, may_be_answered};
use crate::lookup::may_hit;
use crate::shared_request::CacheRoute;
use crate::tags::Tags;
use crate::{Cache, Entry};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::{is_plain_get, request_directives};
use kasoku_semantics::reuse::{Reuse, reuse};
use kasoku_semantics::time::Now;
use kasoku_shared::{Item, Missing};
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// What the shared tier has for a request, without a fill.
pub enum SharedHit {
    /// A response that answers, and why.
    Response(Arc<Entry>, Reason),
    /// No remembered item can answer at once. [`Cache::look_up`] must decide, and its fill may find the response in the shared tier.
    Undecided,
    /// The server failed. [`Cache::look_up`] must decide, and its fill does not ask the shared tier: one timeout is enough.
    Failed,
}

impl Cache {
    /// The response in the shared tier, if it is remembered as judged and may answer at once. Nothing bounds the wait but the timeout of one
    /// operation.
    ///
    /// `received` is the request as the client sent it: see [`Cache::hit`]. Responses that vary, and those in several chunks, are not found here.
    pub async fn hit_in_the_shared_tier(
        &self,
        received: &RequestHead,
        route: &CacheRoute<'_>,
        items: &Items,
        now: impl Fn() -> Now,
    ) -> SharedHit {
        let Some(judged) = &self.0.judged else { return SharedHit::Undecided };
        let place = Place { uri: route.key.uri(), variant: &[] };
        let known = judged.get(place).filter(|known| self.may_hit_known(known, received, route, now()));
        let Some(known) = known else { return SharedHit::Undecided };
        let entry = match known.read(items).await {
            Ok(item) => self.entry_of_known(&known, &item, (received, route), items, now()),
            Err(Missing::Failed) => return SharedHit::Failed,
            Err(Missing::Away) => return SharedHit::Undecided,
            Err(Missing::Absent | Missing::Damaged) => None,
        };
        let Some(entry) = entry else {
            judged.forget(place);
            return SharedHit::Undecided;
        };
        SharedHit::Response(Arc::new(entry), hit_reason(items.tier()))
    }

    /// Whether a known item can answer a request if it is still the same.
    fn may_hit_known(&self, known: &JudgedItem, received: &RequestHead, route: &CacheRoute<'_>, now: Now) -> bool {
        let CacheRoute { key, policy, .. } = *route;
        let response = known.response();
        let is_fresh = || {
            let freshness = response.freshness_at(now);
            matches!(reuse(&freshness, &request_directives(&received.fields), policy, now), Reuse::Fresh)
        };
        may_hit(received)
            && is_plain_get(received)
            && may_be_answered(received, policy)
            && known.is_in_one_piece()
            && response.meta.nominated.is_empty()
            && is_fresh()
            && self.has_memory_for(response)
            // With a disk, a response that was read is written there: a fill does that.
            && self.0.disk.is_none()
            && self.0.hit_for_miss.passes(self.asked_key(key, policy), now).is_none()
    }

    /// The response of a known item as it was read.
    fn entry_of_known(
        &self,
        known: &JudgedItem,
        item: &Item,
        (received, route): (&RequestHead, &CacheRoute<'_>),
        items: &Items,
        now: Now,
    ) -> Option<Entry> {
        let CacheRoute { key, policy, .. } = *route;
        let response = known.says(item.content(), policy, now)?.clone();
        let body = [item.content().slice(response.body_begins..)];
        if item.chunks_left() != 0 || body[0].len() as u64 != response.body_length {
            return None;
        }
        let tags = Tags::of(key, route.read_target, policy, route.tags);
        let wanted = Wanted { request: received, key, policy };
        let usable = usable_now(self, wanted, (response, tags, item.server), items, now).ok()?;
        Some(known.entry(usable, charged_body(self, &body), key, &self.0.budget))
    }
}
