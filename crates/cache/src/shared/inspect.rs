//! Tells what the shared tier has for a request, and where, without any effect on answers: no response comes into memory or on
//! disk. An item may be remembered as judged.

use super::current::Wanted;
use super::read::{find, hit_reason, judge};
use super::{Items, Tier};
use crate::query::CacheQuery;
use crate::{Cache, Entry, SharedRequest};
use kasoku_semantics::ground::Because;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_shared::names::Name;
use std::sync::Arc;

/// Where the response to a request is in the shared tier, if it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPlace {
    /// The name of its item.
    pub name: String,
    /// The address of the server that has it, or of the one in its place.
    pub server: String,
}

impl Cache {
    /// Where the shared tier would have the response to a request. `selected` is what is stored here for it: responses that vary have
    /// names of their own.
    pub fn shared_place(&self, request: &SharedRequest, selected: Option<&Entry>) -> Option<SharedPlace> {
        let tier = self.shared_tier()?;
        let (uri, namespace) = (request.key().uri(), tier.namespace());
        let name = match selected.map(|entry| &entry.meta).filter(|meta| !meta.nominated.is_empty()) {
            Some(meta) => namespace.variant(uri, &meta.variant),
            None => namespace.response(uri),
        };
        Some(place(tier, &name))
    }

    /// What the shared tier has for a request, and where: a response that may answer it, or why there is none. Nothing bounds the wait but
    /// the timeouts of its servers.
    pub async fn inspect_shared(
        &self,
        items: &Items,
        request: &SharedRequest,
        now: Now,
    ) -> (Result<(Arc<Entry>, Reason), Because>, SharedPlace) {
        let (found, name) = find(self, request, items, now).await;
        let found = match found {
            Ok(found) => found.complete(items, &name).await,
            Err(why) => Err(why),
        };
        let tags = CacheQuery::new(request, now).tags();
        let judged = found.and_then(|found| judge(self, Wanted::by(request), tags, found, items, now));
        (judged.map(|entry| (Arc::new(entry), hit_reason(items.tier()))), place(items.tier(), &name))
    }
}

fn place(tier: &Tier, name: &Name) -> SharedPlace {
    let servers = tier.servers();
    let number = tier.server_of(name).unwrap_or_else(|| servers.server_of(name.as_bytes()));
    let server = servers.server(number).map(|server| server.address.clone()).unwrap_or_default();
    SharedPlace { name: name.to_string(), server }
}
