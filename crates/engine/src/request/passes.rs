//! Which requests never meet the cache, and why.

use crate::request::message::Request;
use crate::request::route::Routed;
use http::Method;
use kasoku_cache::Cache;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_visitors::passing;
use kasoku_wire::Fields;
use kasoku_wire::http1::BodyLength;

/// Why a request never meets the cache, if it doesn't. `is_anonymous`: its visitor is known to be nobody, although it carries a session.
pub(crate) fn pass_reason(
    request: &Request,
    routed: &Routed,
    upgrade: Option<&str>,
    is_anonymous: bool,
) -> Option<Reason> {
    if upgrade.is_some() {
        return Some(Reason::Upgrade);
    }
    if !request.head.method.is_safe() || request.head.method == Method::OPTIONS {
        return Some(Reason::Method);
    }
    if !matches!(request.body, BodyLength::None) {
        return Some(Reason::RequestBodyOnGet);
    }
    if routed.passes.is_some() {
        return routed.passes;
    }
    passing::passes(&request.head.fields, routed.route.visitor_rules(), is_anonymous)
}

/// Why a request for a part passes, if it does: where a lifetime is granted the whole would be fetched for each part, and is known to be too
/// large to be stored.
pub(crate) fn part_passes(request: &Fields, routed: &Routed, cache: &Cache, now: Now) -> Option<Reason> {
    let is_part = routed.route.policy.grant.is_granting() && request.contains("range");
    (is_part && cache.is_known_too_large(&routed.key, now)).then_some(Reason::ObjectTooLarge)
}
