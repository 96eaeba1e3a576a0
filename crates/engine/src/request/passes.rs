//! Which requests never meet the cache, and why.

use crate::request::message::Request;
use crate::request::route::Routed;
use crate::request::visitor;
use http::Method;
use kasoku_semantics::reason::Reason;
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
    visitor::passes(&request.head.fields, &routed.route, is_anonymous)
}
