//! Asks application servers (FastCGI, SCGI): finds what the path leads to, takes a permit for one of the origin's connections, then
//! speaks the protocol ([`GatewayClients`]).
//!
//! The gateway protocols, including CGI, tell a program the same about a request and read the same answer from it; only the
//! transport differs. So CGI uses parts of this module.
//!
//! | file | job |
//! |---|---|
//! | `target` | whether the path leads to a script, to a file, or nowhere; what the script is told |
//! | `request` | the request to an application server |
//! | `output`, `body` | a program's output: the head, then the body, each within its time |
//! | `log` | a program's standard error, for Kasoku's log |

pub(crate) mod body;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod request;
pub(crate) mod target;

pub use body::GatewayBody;

use crate::Endpoint;
use crate::fastcgi::FastCgi;
use crate::request::Request;
use crate::response::{self, Reply};
use crate::scgi::Scgi;
use crate::upload;
use http::StatusCode;
use kasoku_options::SpawnedProgram;
use kasoku_origin::counters::Counters;
use kasoku_origin::group::ChosenOrigin;
use kasoku_origin::upload::is_repeatable;
use kasoku_origin::{Error, Interim, Upload};
use kasoku_wire::ResponseHead;
use kasoku_wire::http1::BodyLength;
use request::GatewayRequest;
use std::rc::Rc;
use target::GatewayTarget;

/// An application server.
#[derive(Clone, Copy)]
pub enum GatewayServer<'a> {
    /// A FastCGI server at this address.
    FastCgi(&'a Endpoint),
    /// A FastCGI program that Kasoku starts itself.
    Spawned(&'a SpawnedProgram),
    /// An SCGI server at this address.
    Scgi(&'a Endpoint),
}

/// One worker's clients for all application servers.
pub struct GatewayClients {
    fastcgi: FastCgi,
    scgi: Scgi,
}

impl GatewayClients {
    /// No connection is opened yet.
    pub fn new(counters: Rc<Counters>) -> Self {
        Self { fastcgi: FastCgi::new(counters.clone()), scgi: Scgi::new(counters) }
    }

    /// Asks a program, and waits for the head of its answer. `upload` is taken when there is a connection for it.
    pub async fn send<U: Upload + 'static>(
        &self,
        server: GatewayServer<'_>,
        choice: &ChosenOrigin,
        request: &Request<'_>,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Reply, Error> {
        let program = match target::find(request).await? {
            GatewayTarget::Program(program) => program,
            GatewayTarget::Answer(response) => return Ok(Reply::Response(response)),
        };
        let is_repeatable = is_repeatable(request.head, upload);
        let body_bytes = match upload::length_of(upload) {
            BodyLength::None => None,
            BodyLength::Length(bytes) => Some(bytes),
            BodyLength::Chunked | BodyLength::UntilClose => {
                return Ok(Reply::Response(response::own(StatusCode::LENGTH_REQUIRED, &request.head.method)));
            }
        };
        let permit = choice.take_permit(request.limits).await?;
        upload::invite(request.head, interim).await;
        let gateway_request = GatewayRequest { request, program: &program, is_repeatable, body_bytes };
        match server {
            GatewayServer::FastCgi(endpoint) => {
                self.fastcgi.send(endpoint, choice, permit, gateway_request, upload).await
            }
            GatewayServer::Spawned(spawned) => {
                self.fastcgi.send_spawned(spawned, choice, permit, gateway_request, upload).await
            }
            GatewayServer::Scgi(endpoint) => self.scgi.send(endpoint, choice, permit, gateway_request, upload).await,
        }
    }

    /// Sends a health check on a connection of its own, which needs no permit and is not kept. The body is not read.
    ///
    /// # Errors
    /// Also for a program that Kasoku starts itself: Kasoku knows without a request whether its processes run.
    pub async fn check(&self, server: GatewayServer<'_>, request: &Request<'_>) -> Result<ResponseHead, Error> {
        let reply = match target::find_for_check(request).await? {
            GatewayTarget::Answer(response) => return Ok(response.head),
            GatewayTarget::Program(program) => {
                let gateway_request =
                    GatewayRequest { request, program: &program, is_repeatable: true, body_bytes: None };
                match server {
                    GatewayServer::FastCgi(endpoint) => self.fastcgi.check(endpoint, gateway_request).await?,
                    GatewayServer::Spawned(_) => {
                        return Err(Error::Unreachable(std::io::ErrorKind::Unsupported.into()));
                    }
                    GatewayServer::Scgi(endpoint) => self.scgi.check(endpoint, gateway_request).await?,
                }
            }
        };
        Ok(match reply {
            Reply::Response(response) => response.head,
            Reply::LocalRedirect(path) => ResponseHead::new(StatusCode::FOUND).with("Location", path),
        })
    }

    /// Closes connections that were idle for too long, or that the server has closed. To be called from time to time.
    pub fn sweep(&self) {
        self.fastcgi.sweep();
    }
}
