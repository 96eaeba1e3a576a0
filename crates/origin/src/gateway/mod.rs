//! What the gateway protocols have in common: CGI, FastCGI and SCGI tell a program the same of a request and read the same from it;
//! only the way there and back differs. Here is the way to application servers ([`Servers`]): what the path leads to, a place
//! among the connections, then the protocol.
//!
//! | file | job |
//! |---|---|
//! | `target` | whether the path leads to a script, to a file, or nowhere; what the script is told |
//! | `question` | what is asked |
//! | `output`, `body` | what a program prints: the head, then the body, each within its time |
//! | `log` | what a program writes to its standard error, for our log |

pub(crate) mod body;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod question;
pub(crate) mod target;

use crate::Endpoint;
use crate::counters::Counters;
use crate::error::Error;
use crate::fastcgi::FastCgi;
use crate::group::Choice;
use crate::interim::Interim;
use crate::request::Request;
use crate::response::{Reply, Response};
use crate::scgi::Scgi;
use crate::upload::{self, Upload, is_repeatable};
use http::StatusCode;
use kasoku_options::SpawnedProgram;
use kasoku_wire::ResponseHead;
use kasoku_wire::http1::BodyLength;
use question::Question;
use std::rc::Rc;
use target::Target;

/// An application server.
#[derive(Clone, Copy)]
pub(crate) enum Server<'a> {
    /// It speaks FastCGI.
    FastCgi(&'a Endpoint),
    /// It speaks FastCGI, and is ours.
    Spawned(&'a SpawnedProgram),
    /// It speaks SCGI.
    Scgi(&'a Endpoint),
}

/// One worker's side of all application servers.
pub(crate) struct Servers {
    fastcgi: FastCgi,
    scgi: Scgi,
}

impl Servers {
    /// Without connections.
    pub(crate) fn new(counters: Rc<Counters>) -> Self {
        Self { fastcgi: FastCgi::new(counters.clone()), scgi: Scgi::new(counters) }
    }

    /// Asks a program, and waits for the head of its answer. `upload` is taken when there is a connection for it.
    pub(crate) async fn send<U: Upload + 'static>(
        &self,
        server: Server<'_>,
        choice: &Choice,
        request: &Request<'_>,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Reply, Error> {
        let program = match target::find(request).await? {
            Target::Program(program) => program,
            Target::Answer(response) => return Ok(Reply::Response(response)),
        };
        let is_repeatable = is_repeatable(request.head, upload);
        let body_bytes = match upload::length_of(upload) {
            BodyLength::None => None,
            BodyLength::Length(bytes) => Some(bytes),
            BodyLength::Chunked | BodyLength::UntilClose => {
                return Ok(Reply::Response(Response::own(StatusCode::LENGTH_REQUIRED, &request.head.method)));
            }
        };
        let place = choice.place(request.limits).await?;
        upload::invite(request.head, interim).await;
        let question = Question { request, program: &program, is_repeatable, body_bytes };
        match server {
            Server::FastCgi(endpoint) => self.fastcgi.send(endpoint, choice, place, question, upload).await,
            Server::Spawned(spawned) => self.fastcgi.send_spawned(spawned, choice, place, question, upload).await,
            Server::Scgi(endpoint) => self.scgi.send(endpoint, choice, place, question, upload).await,
        }
    }

    /// Asks on a connection of its own, which needs no place and is not kept. The body is not read.
    ///
    /// # Errors
    /// Also for a program of ours: whether its processes live is known without a question.
    pub(crate) async fn probe(&self, server: Server<'_>, request: &Request<'_>) -> Result<ResponseHead, Error> {
        let reply = match target::find_for_check(request).await? {
            Target::Answer(response) => return Ok(response.head),
            Target::Program(program) => {
                let question = Question { request, program: &program, is_repeatable: true, body_bytes: None };
                match server {
                    Server::FastCgi(endpoint) => self.fastcgi.probe(endpoint, question).await?,
                    Server::Spawned(_) => return Err(Error::Unreachable(std::io::ErrorKind::Unsupported.into())),
                    Server::Scgi(endpoint) => self.scgi.probe(endpoint, question).await?,
                }
            }
        };
        Ok(match reply {
            Reply::Response(response) => response.head,
            Reply::Elsewhere(path) => ResponseHead::new(StatusCode::FOUND).with("Location", path),
        })
    }

    /// Closes the connections that were idle for too long, or that were closed. To be called now and then.
    pub(crate) fn sweep(&self) {
        self.fastcgi.sweep();
    }
}
