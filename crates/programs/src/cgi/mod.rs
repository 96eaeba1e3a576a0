//! CGI (RFC 3875): a program is run for one request.
//!
//! ```text
//! search -> place -> launch -> accompany, input, complaints   (tasks)
//!                          \-> head -> CgiBody
//! ```
//!
//! | file | job |
//! |---|---|
//! | `search` | which program answers for a path, or why none does |
//! | `input` | the request's body on its way to standard input |
//! | `launch` | environment, pipes, the start |
//! | `program` | a program that runs, and the task that sees to its end |
//! | `complaints` | standard error, on its way to the log |
//! | `output`, `body` | standard output: the head, then the body |
//!
//! **A program gets** its standard descriptors, the meta-variables (`meta_variables`), PATH, and what the route's settings name; its
//! directory is where its file lies, and its one argument is its name. Words of a query without `=` are not passed as arguments
//! (RFC 3875 section 4.4): nobody has used that since the nineties but those who made php-cgi print its source by it (CVE-2012-1823).
//!
//! **The end of the output** is the answer's end. But the kernel closes a pipe for a program that was killed as for one that has
//! finished. So without a Content-Length an answer is complete only when its program ends by itself or works on; ended by
//! a signal, it is broken. Ended with a code other than 0, it is given to the client and not kept (`CgiBody::is_doubtful`):
//! it may be whole, as behind any other server, and it may be what a script had printed when it died.
//!
//! **Nothing is left behind.** Whoever reads the output holds a `program::RunningProgram`. It is dropped when nobody wants the
//! answer any more, when it is too late or when it is no answer, and then the program's process group is ended. A program that
//! has said all may work on until its time is over. The number of programs is bounded for the whole process ([`kasoku_origin::permits`]).

mod body;
mod complaints;
mod input;
mod launch;
mod output;
mod program;
mod search;
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

/// Runs the program that answers for a request, and waits for the head of what it prints. `upload` is taken when it runs.
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
    let places = &choice.origin.places;
    let place = places.take(bounds.processes_max, limits.queue_requests_max, limits.queue_timeout).await?;
    upload::invite(request.head, interim).await;
    counters.request();
    let launched = launch::launch(&script, &root, request, body, place).await?;
    let input = Input::of(upload.take().filter(|_| !matches!(body, BodyLength::None)));
    counters.connection();
    choice.origin.health.connected();
    output::answer(launched.accompanied(input, request)?, &script, request, interim).await
}

/// Runs a program to see whether it works, whatever runs already. Its body is not read.
pub async fn probe(programs: &Path, request: &Request<'_>) -> Result<ResponseHead, Error> {
    let (script, root) = match search::search(programs, request).await? {
        ScriptSearch::Script(script, root) => (script, root),
        ScriptSearch::Answer(response) => return Ok(response.head),
    };
    let place = Arc::<PermitPool>::default().take(1, 0, Duration::ZERO).await?;
    let running = launch::launch(&script, &root, request, BodyLength::None, place).await?;
    match output::answer(running.accompanied(Input::none(), request)?, &script, request, &mut NoInterim).await? {
        Reply::Response(response) => Ok(response.head),
        Reply::LocalRedirect(path) => Ok(ResponseHead::new(StatusCode::FOUND).with("Location", path)),
    }
}
