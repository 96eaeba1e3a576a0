//! Fetches from a route's origins on a connection of its own, without touching health, counters or the pool. Used by `explain --live` and
//! by trials.

use crate::origin::fetch_context::key_hash;
use crate::origin_client::{Client, Reply, Response};
use crate::request::route::Routed;
use kasoku_origin::group::{Attempts, Group, NextOrigin};
use kasoku_origin::health::Blame;
use kasoku_origin::{Error, NoInterim, NoUpload, OriginRegistry};
use kasoku_programs::{ConnectionFacts, OpenFiles, Request};
use kasoku_semantics::stored_fields::date_cookies;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::net::IpAddr;

/// Asks the origins of a route in turn, until one can be reached, on a connection that no other request uses. `stand_in`: the
/// client address that a program is told.
pub(crate) async fn send_isolated(
    routed: &Routed,
    request: &RequestHead,
    stand_in: Option<IpAddr>,
    now: Now,
) -> Result<Response, Error> {
    let (client, route) = (Client::new(), &routed.route);
    let connection = ConnectionFacts { is_https: routed.scheme == "https", stand_in, ..ConnectionFacts::default() };
    let (gateway, limits) = (&route.gateway, &route.origin);
    let asked = Request { head: request, connection: &connection, gateway, limits, open_files: &OpenFiles::default() };
    let group = Group::new(route.balance, &route.origins, route.origin.connections_max, &OriginRegistry::default(), 0);
    let mut attempts = Attempts::new(key_hash(routed), true);
    let mut sent = Err(Error::Down);
    while let NextOrigin::Ask(choice) = group.choose(&mut attempts, &route.health, now.mono_ms) {
        sent = client.send(&choice, &asked, &mut Some(NoUpload), &mut NoInterim).await;
        if !sent.as_ref().is_err_and(|error| error.blame() == Blame::Connection) {
            break;
        }
    }
    match sent? {
        Reply::Response(mut response) => {
            date_cookies(&mut response.head, now);
            Ok(response)
        }
        // A local redirect leads to another URL, which is not the one to explain.
        Reply::LocalRedirect(_) => Err(Error::RedirectsForEver),
    }
}
