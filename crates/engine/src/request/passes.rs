//! Decides which requests pass without a look-up, and why.

use crate::request::message::Request;
use crate::request::route::Routed;
use http::Method;
use kasoku_cache::Cache;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_visitors::passing;
use kasoku_wire::Fields;
use kasoku_wire::http1::BodyLength;

/// Why a request passes, if it does. `is_anonymous`: its visitor is known to be anonymous, although the request may carry a session.
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

/// Why a request for a part passes, if it does. Where a lifetime is granted, the origin would be asked for the whole for each part,
/// and the whole is known to be too large to be stored.
pub(crate) fn part_passes(request: &Fields, routed: &Routed, cache: &Cache, now: Now) -> Option<Reason> {
    let is_part = routed.route.policy.grant.is_granting() && request.contains("range");
    (is_part && cache.is_known_too_large(&routed.key, now)).then_some(Reason::ObjectTooLarge)
}
