//! The origins' side of one worker: asks an origin in the way that its kind wants.

use crate::Address;
use crate::Limits;
use crate::cgi;
use crate::counters::Counters;
use crate::error::Error;
use crate::files;
use crate::gateway::{Server, Servers};
use crate::group::Choice;
use crate::http;
use crate::interim::Interim;
use crate::request::Request;
use crate::response::Reply;
use crate::upload::Upload;
use kasoku_wire::ResponseHead;
use std::rc::Rc;

/// See the [module](self).
pub struct Client {
    http: Rc<http::Pool>,
    servers: Servers,
    counters: Rc<Counters>,
}

impl Client {
    /// Without connections.
    pub fn new() -> Self {
        let counters = Rc::<Counters>::default();
        Self { http: Rc::new(http::Pool::new(counters.clone())), servers: Servers::new(counters.clone()), counters }
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Asks, and waits for the final head. `upload` is taken as soon as somebody is there who reads it; when it is still there
    /// after an error, nothing was sent.
    pub async fn send<U: Upload + 'static>(
        &self,
        choice: &Choice,
        request: &Request<'_>,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Reply, Error> {
        match &choice.origin.address {
            Address::Http(endpoint) => {
                self.http.send(choice, endpoint, request, upload, interim).await.map(Reply::Response)
            }
            Address::Files(root) => {
                self.counters.request();
                let place = choice.place(request.limits).await?;
                files::send(root, request, Some(place)).await.map(Reply::Response)
            }
            Address::FastCgi(endpoint) => {
                self.servers.send(Server::FastCgi(endpoint), choice, request, upload, interim).await
            }
            Address::Spawned(program) => {
                self.servers.send(Server::Spawned(program), choice, request, upload, interim).await
            }
            Address::Scgi(endpoint) => {
                self.servers.send(Server::Scgi(endpoint), choice, request, upload, interim).await
            }
            Address::Cgi(programs) => cgi::send(choice, programs, request, upload, interim, &self.counters).await,
        }
    }

    /// Whether there are connections to an origin, as far as that is known without a request.
    pub async fn reach(&self, choice: &Choice, limits: &Limits) -> Result<(), Error> {
        let endpoint = match &choice.origin.address {
            Address::Http(endpoint) | Address::FastCgi(endpoint) | Address::Scgi(endpoint) => endpoint,
            Address::Files(_) | Address::Spawned(_) | Address::Cgi(_) => return Ok(()),
        };
        http::Connection::open(endpoint, choice.connect_timeout(limits)).await?;
        choice.origin.health.connected();
        self.counters.connection();
        Ok(())
    }

    /// Asks on a connection of its own, which needs no place and is not kept: whether an origin that has no place free works
    /// must be known as well. The body is not read.
    pub async fn probe(&self, address: &Address, request: &Request<'_>) -> Result<ResponseHead, Error> {
        match address {
            Address::Http(endpoint) => self.http.probe(endpoint, request).await,
            Address::Files(root) => files::send(root, request, None).await.map(|response| response.head),
            Address::FastCgi(endpoint) => self.servers.probe(Server::FastCgi(endpoint), request).await,
            Address::Spawned(program) => self.servers.probe(Server::Spawned(program), request).await,
            Address::Scgi(endpoint) => self.servers.probe(Server::Scgi(endpoint), request).await,
            Address::Cgi(programs) => cgi::probe(programs, request).await,
        }
    }

    /// Closes the connections that were idle for too long, or that their origin has closed. To be called now and then.
    pub fn sweep(&self) {
        self.http.sweep();
        self.servers.sweep();
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}
