//! Decides whether a response that the rules allow may answer a request now. That depends on what the bytes of the item do not say: the
//! variant that the request selects, the purges, and the age.

use super::Items;
use super::content::ReadResponse;
use crate::generations::{Epoch, Validity};
use crate::tags::Tags;
use crate::{Cache, Key, Meta, SharedRequest};
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::request_directives;
use kasoku_semantics::reuse::{Reuse, reuse};
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// A request that is to be answered from the shared tier.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) request: &'a RequestHead,
    pub(super) key: &'a Key,
    pub(super) policy: &'a Arc<Policy>,
}

impl<'a> Wanted<'a> {
    pub(super) fn by(request: &'a SharedRequest) -> Self {
        Self { request: request.head(), key: request.key(), policy: request.policy() }
    }
}

/// A response that the rules allow, and which may answer a request now.
pub(super) struct Usable {
    pub(super) response: Arc<ReadResponse>,
    pub(super) freshness: Freshness,
    pub(super) tags: Option<Arc<Tags>>,
    pub(super) born: Epoch,
}

impl Usable {
    /// The head of the response that is delivered.
    pub(super) fn meta(self) -> Meta {
        let Self { response, freshness, tags, born } = self;
        Meta { freshness, tags, epoch: born, ..Arc::unwrap_or_clone(response).meta }
    }
}

/// The response, if it may answer this request now. It was read from this server. `tags` are those that the page may have.
pub(super) fn usable_now(
    cache: &Cache,
    wanted: Wanted<'_>,
    (response, tags, server): (Arc<ReadResponse>, Option<Arc<Tags>>, usize),
    items: &Items,
    now: Now,
) -> Result<Usable, Because> {
    let Wanted { request, key, policy } = wanted;
    let freshness = response.freshness_at(now);
    if !response.meta.is_selected_by(&request.fields, policy) {
        return Err(Because::Reason(Reason::VaryMiss));
    }
    let born = items.born(server, response.generation, cache).ok_or(Because::Ground(Ground::SharedUnordered))?;
    if cache.0.generations.shared_validity(key.uri(), tags.as_deref(), born) != Validity::Valid {
        return Err(Because::Reason(Reason::Purged));
    }
    match reuse(&freshness, &request_directives(&request.fields), policy, now) {
        Reuse::Fresh => {}
        Reuse::Stale(reason) | Reuse::Validate(reason) if reason != Reason::HitMaxStale => {
            return Err(Because::Reason(reason));
        }
        Reuse::Stale(_) | Reuse::Validate(_) | Reuse::StaleWhileRevalidate => {
            return Err(Because::Reason(Reason::Stale));
        }
    }
    Ok(Usable { response, freshness, tags, born })
}
