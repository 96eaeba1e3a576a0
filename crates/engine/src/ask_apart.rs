//! Asks the origins of a route on a connection that no other request uses, and tells nobody: for an explanation, or an attempt.

use crate::errand::key_hash;
use crate::request::route::Routed;
use kasoku_origin::group::{Asking, Chosen, Group};
use kasoku_origin::health::Blame;
use kasoku_origin::{
    Circumstances, Client, Directory, Error, NoInterim, NoUpload, OpenFiles, Reply, Request, Response,
};
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::net::SocketAddr;

/// Asks the origins of a route in turn, until one can be reached, on a connection that no other request uses. `remote`: who is told to ask.
pub(crate) async fn send_apart(
    routed: &Routed,
    request: &RequestHead,
    remote: Option<SocketAddr>,
    now: Now,
) -> Result<Response, Error> {
    let (client, route) = (Client::new(), &routed.route);
    let circumstances = Circumstances { is_https: routed.scheme == "https", remote, ..Circumstances::default() };
    let (gateway, limits) = (&route.gateway, &route.origin);
    let asked =
        Request { head: request, circumstances: &circumstances, gateway, limits, open_files: &OpenFiles::default() };
    let group = Group::new(route.balance, &route.origins, route.origin.connections_max, &Directory::default(), 0);
    let mut asking = Asking::new(key_hash(routed), true);
    let mut sent = Err(Error::Down);
    while let Chosen::Ask(choice) = group.choose(&mut asking, &route.health, now.mono_ms) {
        sent = client.send(&choice, &asked, &mut Some(NoUpload), &mut NoInterim).await;
        if !sent.as_ref().is_err_and(|error| error.blame() == Blame::Connection) {
            break;
        }
    }
    match sent? {
        Reply::Response(response) => Ok(response),
        // What is there is another URL's to explain.
        Reply::Elsewhere(_) => Err(Error::RedirectsForEver),
    }
}
