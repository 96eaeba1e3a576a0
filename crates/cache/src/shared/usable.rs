//! Decides whether a response that the shared tier holds may be used for a request.
//!
//! Whoever can write to the servers can write anything, as long as no secret is set. So what was read passes the rules for responses of an
//! origin again: as if the origin had just sent this head in answer to this request. A program may have chosen the lifetime, so no rule
//! about it applies. All that the rules would take out of a head makes it unusable here, since no front end has written it.
//!
//! What these rules can't see stays trusted: the lifetime, the body, and so what was searched for in it before it was stored
//! (docs/shared-format.md says what the secret is for). The caller compares the key, the variant, the generation and the body.

use super::content::ReadResponse;
use crate::Meta;
use http::StatusCode;
use kasoku_semantics::Validators;
use kasoku_semantics::downstream::announce_lifetime;
use kasoku_semantics::effective::nominated;
use kasoku_semantics::freshness::{Freshness, LifetimeSource, freshness};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::set_cookies::sets_cookie;
use kasoku_semantics::storable::objections;
use kasoku_semantics::stored_fields::{has_only_stored_fields, is_never_shared};
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// Why what was read may not answer `request` (as it would be sent to the origin), if it may not. A request with Cookie or Authorization
/// gets only what a response to it could be stored as: pass the request without them to ask whether a response is for everybody.
///
/// Of a [plain GET](kasoku_semantics::request::is_plain_get), nothing is read here but the target: [`JudgedItems`](super::judged::JudgedItems)
/// depends on that.
pub(crate) fn may_be_used(read: &ReadResponse, request: &RequestHead, policy: &Policy) -> Result<(), Reason> {
    let meta = &read.meta;
    if !meta.is_under(policy) {
        return Err(Reason::RulesChanged);
    }
    has_no_foreign_fields(&meta.head.fields)?;
    meta.withheld.as_deref().map_or(Ok(()), has_no_foreign_fields)?;
    let said = meta.origin_head(policy);
    let own = freshness(request, &said, meta.freshness.response_time, meta.freshness.response_time, policy);
    is_storable(&said, &Freshness { source: own.source, ..meta.freshness }, request, policy)?;
    if !has_only_stored_fields(&said, policy) || !has_its_validators(meta, policy) || !claims_hold(meta, &own, policy) {
        return Err(Reason::SharedItem);
    }
    if !is_announced(meta, request, policy) {
        return Err(Reason::SharedItem);
    }
    // More fields than the response nominates select it for fewer requests.
    let is_alike = nominated(request, &said, policy).iter().all(|name| meta.nominated.contains(name));
    if is_alike { Ok(()) } else { Err(Reason::VaryChanged) }
}

/// Whether there is no field that is in no shared response: one that sets a cookie, belongs to a connection, or names a file to a server.
pub(crate) fn has_no_foreign_fields(fields: &Fields) -> Result<(), Reason> {
    if sets_cookie(fields) {
        return Err(Reason::SetCookie);
    }
    if fields.iter().any(|(name, _)| is_never_shared(name)) { Err(Reason::SharedItem) } else { Ok(()) }
}

/// Whether an origin's response with this head could be stored, apart from its lifetime.
fn is_storable(
    said: &ResponseHead,
    freshness: &Freshness,
    request: &RequestHead,
    policy: &Policy,
) -> Result<(), Reason> {
    if said.status == StatusCode::PARTIAL_CONTENT {
        return Err(Reason::RequestSpecificStatus);
    }
    let is_of_the_lifetime = |reason: &Reason| {
        // A stored response answers a HEAD as well.
        matches!(
            reason,
            Reason::NotCacheable
                | Reason::NoExpiryNoValidator
                | Reason::NoCacheNoValidator
                | Reason::Expired
                | Reason::HeadOnly
        )
    };
    let objections = objections(request, said, freshness, policy);
    objections.into_iter().find(|reason| !is_of_the_lifetime(reason)).map_or(Ok(()), Err)
}

/// Whether the application's validators are withheld where they must be. Kasoku reads no files itself where not the whole route is files,
/// as far as a head tells.
fn has_its_validators(meta: &Meta, policy: &Policy) -> bool {
    meta.validators() == Validators::of(policy, policy.is_of_files)
}

/// Whether what the lines say of the head agrees with it. `own` is the freshness that the head has by itself.
fn claims_hold(meta: &Meta, own: &Freshness, policy: &Policy) -> bool {
    let claimed = &meta.freshness;
    let is_negative = |freshness: &Freshness| freshness.source == LifetimeSource::Negative;
    let is_within = policy.ttl_max_seconds == 0 || claimed.own_lifetime() <= policy.ttl_max_seconds;
    is_within
        && claimed.is_granted() == own.is_granted()
        && (is_negative(own) || !is_negative(claimed))
        && (claimed.no_cache || !own.no_cache)
        && (claimed.must_revalidate || !own.must_revalidate)
}

/// Whether the head tells clients to ask again each time, where the lifetime is the operator's and is not announced.
fn is_announced(meta: &Meta, request: &RequestHead, policy: &Policy) -> bool {
    if policy.grant.announce_ttl || !meta.freshness.is_granted() {
        return true;
    }
    let mut told = meta.head.clone();
    announce_lifetime(request, &mut told, &meta.freshness, policy);
    told == meta.head
}

#[cfg(test)]
#[path = "usable_tests.rs"]
mod tests;
