//! Asks origins of all kinds, each as its kind wants, for one worker.

use super::response::{Body, Reply};
use kasoku_options::{OriginAddress as Address, OriginLimits as Limits};
use kasoku_origin::counters::Counters;
use kasoku_origin::group::ChosenOrigin;
use kasoku_origin::http::{ConnectionPool, OriginConnection};
use kasoku_origin::{Error, Interim, Upload};
use kasoku_programs::gateway::{GatewayClients, GatewayServer};
use kasoku_programs::{Request, cgi, files};
use kasoku_wire::ResponseHead;
use std::rc::Rc;

/// See the [module](self).
pub(crate) struct Client {
    http: Rc<ConnectionPool>,
    servers: GatewayClients,
    counters: Rc<Counters>,
}

impl Client {
    /// A client without connections.
    pub(crate) fn new() -> Self {
        let counters = Rc::<Counters>::default();
        Self {
            http: Rc::new(ConnectionPool::new(counters.clone())),
            servers: GatewayClients::new(counters.clone()),
            counters,
        }
    }

    /// The counts of what has happened so far.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Asks, and waits for the final head. Takes `upload` as soon as an origin reads it; if `upload` is still there after an error,
    /// nothing was sent.
    pub(crate) async fn send<U: Upload + 'static>(
        &self,
        choice: &ChosenOrigin,
        request: &Request<'_>,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Reply, Error> {
        let servers = &self.servers;
        let reply = match &choice.origin.address {
            Address::Http(endpoint) => {
                let sent = self.http.send(choice, endpoint, &request.plain(), upload, interim).await;
                return sent.map(|response| Reply::Response(response.with_body(Body::Http)));
            }
            Address::Files(root) => {
                self.counters.request();
                let permit = choice.take_permit(request.limits).await?;
                files::send(root, request, Some(permit)).await.map(kasoku_programs::Reply::Response)
            }
            Address::FastCgi(endpoint) => {
                servers.send(GatewayServer::FastCgi(endpoint), choice, request, upload, interim).await
            }
            Address::Spawned(program) => {
                servers.send(GatewayServer::Spawned(program), choice, request, upload, interim).await
            }
            Address::Scgi(endpoint) => {
                servers.send(GatewayServer::Scgi(endpoint), choice, request, upload, interim).await
            }
            Address::Cgi(programs) => cgi::send(choice, programs, request, upload, interim, &self.counters).await,
        };
        reply.map(|reply| reply.with_body(Body::Local))
    }

    /// Connects to an origin, to find out whether it can be reached. An origin without an endpoint counts as reachable.
    pub(crate) async fn reach(&self, choice: &ChosenOrigin, limits: &Limits) -> Result<(), Error> {
        let Some(endpoint) = choice.origin.address.endpoint() else { return Ok(()) };
        OriginConnection::open(endpoint, choice.connect_timeout(limits)).await?;
        choice.origin.health.connected();
        self.counters.connection();
        Ok(())
    }

    /// Asks on a connection of its own, which takes no permit and is not kept: an origin whose permits are all taken must be checked
    /// as well. The body is not read.
    pub(crate) async fn check(&self, address: &Address, request: &Request<'_>) -> Result<ResponseHead, Error> {
        match address {
            Address::Http(endpoint) => self.http.check(endpoint, &request.plain()).await,
            Address::Files(root) => files::send(root, request, None).await.map(|response| response.head),
            Address::FastCgi(endpoint) => self.servers.check(GatewayServer::FastCgi(endpoint), request).await,
            Address::Spawned(program) => self.servers.check(GatewayServer::Spawned(program), request).await,
            Address::Scgi(endpoint) => self.servers.check(GatewayServer::Scgi(endpoint), request).await,
            Address::Cgi(programs) => cgi::check(programs, request).await,
        }
    }

    /// Closes the connections that were idle for too long, or that their origin has closed. To be called now and then.
    pub(crate) fn sweep(&self) {
        self.http.sweep();
        self.servers.sweep();
    }
}
