//! What the gateway protocols have in common: CGI, FastCGI and SCGI tell a program the same of a request and read the same from it;
//! only the way there and back differs. Here is the way to application servers ([`GatewayClients`]): what the path leads to, a place
//! among the connections, then the protocol.
//!
//! | file | job |
//! |---|---|
//! | `target` | whether the path leads to a script, to a file, or nowhere; what the script is told |
//! | `request` | what is asked |
//! | `output`, `body` | what a program prints: the head, then the body, each within its time |
//! | `log` | what a program writes to its standard error, for our log |

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
    /// It speaks FastCGI.
    FastCgi(&'a Endpoint),
    /// It speaks FastCGI, and is ours.
    Spawned(&'a SpawnedProgram),
    /// It speaks SCGI.
    Scgi(&'a Endpoint),
}

/// One worker's side of all application servers.
pub struct GatewayClients {
    fastcgi: FastCgi,
    scgi: Scgi,
}

impl GatewayClients {
    /// Without connections.
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
        let place = choice.place(request.limits).await?;
        upload::invite(request.head, interim).await;
        let question = GatewayRequest { request, program: &program, is_repeatable, body_bytes };
        match server {
            GatewayServer::FastCgi(endpoint) => self.fastcgi.send(endpoint, choice, place, question, upload).await,
            GatewayServer::Spawned(spawned) => {
                self.fastcgi.send_spawned(spawned, choice, place, question, upload).await
            }
            GatewayServer::Scgi(endpoint) => self.scgi.send(endpoint, choice, place, question, upload).await,
        }
    }

    /// Asks on a connection of its own, which needs no place and is not kept. The body is not read.
    ///
    /// # Errors
    /// Also for a program of ours: whether its processes live is known without a question.
    pub async fn probe(&self, server: GatewayServer<'_>, request: &Request<'_>) -> Result<ResponseHead, Error> {
        let reply = match target::find_for_check(request).await? {
            GatewayTarget::Answer(response) => return Ok(response.head),
            GatewayTarget::Program(program) => {
                let question = GatewayRequest { request, program: &program, is_repeatable: true, body_bytes: None };
                match server {
                    GatewayServer::FastCgi(endpoint) => self.fastcgi.probe(endpoint, question).await?,
                    GatewayServer::Spawned(_) => {
                        return Err(Error::Unreachable(std::io::ErrorKind::Unsupported.into()));
                    }
                    GatewayServer::Scgi(endpoint) => self.scgi.probe(endpoint, question).await?,
                }
            }
        };
        Ok(match reply {
            Reply::Response(response) => response.head,
            Reply::LocalRedirect(path) => ResponseHead::new(StatusCode::FOUND).with("Location", path),
        })
    }

    /// Closes the connections that were idle for too long, or that were closed. To be called now and then.
    pub fn sweep(&self) {
        self.fastcgi.sweep();
    }
}
