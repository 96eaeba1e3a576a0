//! Makes the request to the origin from a request that has been routed. `kasoku_semantics::forward` decides what of it the origin sees.

use crate::request::message::Request;
use crate::request::route::Routed;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::forward;
pub(crate) use kasoku_semantics::forward::Audience;
use kasoku_wire::RequestHead;

/// The request to the origin. `upgrade`: the protocol to switch to, where the client asks for one that is allowed.
pub(crate) fn forward(
    request: &Request,
    routed: &Routed,
    peer: &Peer,
    audience: Audience,
    upgrade: Option<&str>,
) -> RequestHead {
    forward::forward(&request.head, request.body, &routed.destination(), peer, audience, upgrade)
}

/// The protocol that the client asks to switch to, if its route allows that.
pub(crate) fn upgrade<'r>(request: &Request, routed: &'r Routed) -> Option<&'r str> {
    forward::upgrade(&request.head, request.body, &routed.route.upgrades)
}
