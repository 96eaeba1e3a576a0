//! Runs a CGI program (RFC 3875) for one request.
//!
//! ```text
//! search -> permit -> launch -> supervise, input, stderr   (tasks)
//!                           \-> head -> CgiBody
//! ```
//!
//! | file | job |
//! |---|---|
//! | `search` | which program answers for a path, or why none does |
//! | `input` | sends the request's body to standard input |
//! | `launch` | environment, pipes, the start |
//! | `program` | a running program, and the task that sees to its end |
//! | `stderr` | standard error, for the log |
//! | `output`, `body` | standard output: the head, then the body |
//!
//! **A program gets** its standard descriptors, the meta-variables (`meta_variables`), PATH, and the variables of the configuration.
//! Its working directory is the one of its file, and its one argument is its name. Words of a query without `=` are not passed as
//! arguments (RFC 3875 section 4.4): no program has needed that since the nineties, and attackers made php-cgi print its source by it
//! (CVE-2012-1823).
//!
//! **The end of the output** is the answer's end. But the kernel closes the pipe of a killed program as it closes that of a finished
//! one. So without a Content-Length an answer is complete only if its program exits with 0 or works on. If a signal has ended the
//! program, the answer is broken. If it has exited with another code, the client gets the answer and the cache does not store it
//! (`CgiBody::may_be_incomplete`): it may be complete, as other servers assume, or only what a script had printed when it died.
//!
//! **No process is left behind.** The reader of the output holds a `program::RunningProgram`. If it is dropped, because the answer is
//! not needed any more, comes too late or is malformed, the program's process group is ended. A program that has finished its answer
//! may work on until its time is over. The number of programs is bounded for the whole process ([`kasoku_origin::permits`]).

mod body;
mod input;
mod launch;
mod output;
mod program;
mod search;
mod stderr;
#[cfg(test)]
mod tests;

pub use body::CgiBody;

use crate::request::Request;
use crate::response::Reply;
use crate::upload;
use http::StatusCode;
use input::Input;
use kasoku_origin::counters::Counters;
use kasoku_origin::group::ChosenOrigin;
use kasoku_origin::permits::PermitPool;
use kasoku_origin::{Error, Interim, NoInterim, Upload};
use kasoku_wire::ResponseHead;
use kasoku_wire::http1::BodyLength;
use search::ScriptSearch;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Runs the program for a request, and waits for the head of its output. `upload` is taken once the program runs.
pub async fn send<U: Upload + 'static>(
    choice: &ChosenOrigin,
    programs: &Path,
    request: &Request<'_>,
    upload: &mut Option<U>,
    interim: &mut impl Interim,
    counters: &Counters,
) -> Result<Reply, Error> {
    let (script, root) = match search::search(programs, request).await? {
        ScriptSearch::Script(script, root) => (script, root),
        ScriptSearch::Answer(response) => return Ok(Reply::Response(response)),
    };
    let limits = request.limits;
    let body = upload::length_of(upload);
    let bounds = &limits.programs;
    let permit = choice.take_permit_of(bounds.processes_max, limits).await?;
    upload::invite(request.head, interim).await;
    counters.request();
    let launched = launch::launch(&script, &root, request, body, permit).await?;
    let input = Input::of(upload.take().filter(|_| !matches!(body, BodyLength::None)));
    counters.connection();
    choice.origin.health.connected();
    output::answer(launched.supervised(input, request)?, &script, request, interim).await
}

/// Sends a health check: runs a program, however many run already. Its body is not read.
pub async fn check(programs: &Path, request: &Request<'_>) -> Result<ResponseHead, Error> {
    let (script, root) = match search::search(programs, request).await? {
        ScriptSearch::Script(script, root) => (script, root),
        ScriptSearch::Answer(response) => return Ok(response.head),
    };
    let permit = Arc::<PermitPool>::default().take(1, 0, Duration::ZERO).await?;
    let running = launch::launch(&script, &root, request, BodyLength::None, permit).await?;
    match output::answer(running.supervised(Input::none(), request)?, &script, request, &mut NoInterim).await? {
        Reply::Response(response) => Ok(response.head),
        Reply::LocalRedirect(path) => Ok(ResponseHead::new(StatusCode::FOUND).with("Location", path)),
    }
}
