//! The path of a hit in the shared tier, where memory keeps no responses: an item that is remembered as judged answers without a fill.
//!
//! A fill collapses requests and asks the origin. A request for an item that is remembered needs neither as a rule, and a fill costs more than
//! the conversation with the server (bench/reports/memcached.md). So concurrent requests for the same page are not collapsed here, as they are
//! not in nginx. If the item has changed, is stale or gone, [`Cache::look_up`] decides, and collapses them.
//!
//! Nothing poisons this look-up, as an invalidation poisons a fill: an item is compared with the purges after it was read, and nothing is
//! stored.

use super::Items;
use super::judged::Place;
use super::read::{Wanted, hit_reason, usable_now};
use crate::lookup::may_hit;
use crate::shared_request::CacheRoute;
use crate::tags::Tags;
use crate::{Body, Cache, Entry};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::is_plain_get;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::sync::Arc;

impl Cache {
    /// The response in the shared tier, if it is remembered as judged, and may answer at once. `None` means that [`Cache::look_up`] must
    /// decide. Nothing bounds the wait but the timeout of the server. A server that fails is not asked again by the look-up that follows
    /// ([`kasoku_shared`]'s health).
    ///
    /// `received` is the request as the client sent it: see [`Cache::hit`]. Responses that vary are not found here.
    pub async fn hit_in_the_shared_tier(
        &self,
        received: &RequestHead,
        route: &CacheRoute<'_>,
        items: &Items,
        now: impl Fn() -> Now,
    ) -> Option<(Arc<Entry>, Reason)> {
        let judged = self.0.judged.as_ref()?;
        let CacheRoute { key, policy, .. } = *route;
        // With a disk, what was read is written there: a fill does that.
        let may_be_here = self.0.disk.is_none() && self.0.hit_for_miss.passes(key.hash(), now()).is_none();
        let may_answer = is_plain_get(received) && !received.fields.contains("range") && may_hit(received);
        let known = judged.get(Place { uri: key.uri(), variant: &[] }).filter(|_| may_be_here && may_answer)?;
        let item = known.read(items).await.ok()?;
        let now = now();
        let response = known.says(item.content(), policy, now)?.clone();
        if item.chunks_left() != 0 || !response.meta.nominated.is_empty() {
            return None;
        }
        self.body_length(&response, &item).ok()?;
        let body = item.content().slice(response.body_begins..);
        let born = items.born(item.server, response.generation, self)?;
        let tags = Tags::of(key, route.read_target, policy, route.tags);
        let wanted = Wanted { request: received, key, policy };
        let usable = usable_now(self, wanted, (response, tags, born), now).ok()?;
        let body = Body::whole(&[body]).charged(&self.0.budget);
        let entry = known.entry(usable, body, key, &self.0.budget);
        Some((Arc::new(entry), hit_reason(items.tier())))
    }
}
