//! Serves the files below a directory as an origin: `file:///var/www/html`.
//!
//! It answers GET and HEAD with what [`document_root`](crate::document_root) finds; other methods are 405, and there are no listings.
//! The cache in front sends only requests that it can't answer, so they are misses, validations or passes; conditions and ranges are
//! evaluated all the same.
//!
//! A file may change while it is read. Its entity tag names the version that was opened (`head`), and a body whose file has changed
//! by its end is an error (`body`), so no mix of versions is stored under that tag.
//!
//! Nothing here waits for a disk on the worker's thread: threads that may wait look up and read what the kernel does not have in
//! memory (`may_wait`).

mod body;
mod charset;
mod head;
mod named;
mod parts;
mod siblings;
#[cfg(test)]
mod tests;

use crate::Limits;
use crate::document_root::{DocumentRoot, OpenFile, ResolvedPath, Rules, Scripts, find, look_up_in_time, may_wait};
use crate::request::Request;
use crate::response::{self, LocalBody, Response};
pub use body::FileBody;
use bytes::Bytes;
use head::{ContentChoice, FileRepresentation};
use http::{Method, StatusCode};
use kasoku_origin::Error;
use kasoku_origin::permits::Permit;
use kasoku_semantics::coding::accepted;
use kasoku_wire::ResponseHead;
pub use named::{
    SendfileContext, SendfileName, SendfileTarget, find as find_named, refused, respond as respond_named,
    tags_no_content,
};
pub use parts::FileParts;
use siblings::{Negotiated, with_siblings};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// The methods for files.
const ALLOWED: &str = "GET, HEAD";

/// Answers from the files below `root`.
///
/// # Errors
/// [`Error::Unreachable`] when the root itself can't be opened, [`Error::FirstByteTimeout`] when the disk takes too long. A fault of
/// the path alone is a response.
pub async fn send(root: &Path, request: &Request<'_>, permit: Option<Permit>) -> Result<Response, Error> {
    let rules = Rules { gateway: request.gateway, scripts: Scripts::None, open_files: request.open_files };
    let found = look_up_in_time(request.limits, find(root, &request.head.target, &rules)).await?;
    answer(root, request, found, permit).await
}

/// Answers with what was found below `root`; a script is forbidden. `permit` is kept until the end of the body.
///
/// # Errors
/// As [`send`].
pub(crate) async fn answer(
    root: &Path,
    request: &Request<'_>,
    found: ResolvedPath,
    permit: Option<Permit>,
) -> Result<Response, Error> {
    let method = &request.head.method;
    match found {
        ResolvedPath::Missing => Ok(response::own(StatusCode::NOT_FOUND, method)),
        ResolvedPath::Broken => Ok(response::own(StatusCode::INTERNAL_SERVER_ERROR, method)),
        // A script is never sent as a file.
        ResolvedPath::Forbidden | ResolvedPath::Script(_) => Ok(response::own(StatusCode::FORBIDDEN, method)),
        ResolvedPath::File(_) | ResolvedPath::Redirect(_) if !matches!(*method, Method::GET | Method::HEAD) => {
            let mut response = response::own(StatusCode::METHOD_NOT_ALLOWED, method);
            //= RFC 9110 section 15.5.6
            //# The origin server MUST generate an Allow header field in a 405 response containing a list of the target
            //# resource's currently supported methods.
            response.head.fields.push("Allow", ALLOWED);
            Ok(response)
        }
        ResolvedPath::Redirect(path) => {
            let mut response = response::own(StatusCode::MOVED_PERMANENTLY, method);
            let query = request.head.target.split_once('?').map_or("", |(_, query)| query);
            let separator = if query.is_empty() { "" } else { "?" };
            response.head.fields.push("Location", [path.as_str(), separator, query].concat());
            Ok(response)
        }
        ResolvedPath::File(file) => {
            let found = async {
                let charset = charset::of_file(&file, &request.gateway.files.charset).await?;
                Ok((negotiate(root, request, file).await?, charset))
            };
            let (negotiated, charset) = look_up_in_time(request.limits, found).await?;
            Ok(file_response(request, negotiated, charset, permit))
        }
    }
}

/// Chooses between the file and the compressed copies beside it, by what the client accepts.
async fn negotiate(root: &Path, request: &Request<'_>, file: OpenFile) -> io::Result<Negotiated> {
    let rules = &request.gateway.files;
    let (symlinks, open_files) = (rules.symlinks, request.open_files);
    if !rules.precompressed || open_files.is_alone(root, &file.name, symlinks) {
        return Ok(Negotiated::alone(file));
    }
    let accepted = accepted(&request.head.fields);
    let (file, siblings) = match with_siblings(&DocumentRoot::new(root, open_files), &file, symlinks) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let at = root.to_owned();
            may_wait(move || {
                let siblings = with_siblings(&DocumentRoot::waiting(&at), &file, symlinks)?;
                Ok((file, siblings))
            })
            .await?
        }
        siblings => (file, siblings?),
    };
    if siblings.iter().all(Option::is_none) {
        open_files.remember_alone(root, &file.name, symlinks);
    }
    Ok(Negotiated::new(file, siblings, &accepted))
}

fn file_response(request: &Request<'_>, negotiated: Negotiated, charset: &str, permit: Option<Permit>) -> Response {
    let Negotiated { file, coding, varies, modified, name } = negotiated;
    let representation = FileRepresentation { file: &file, name: &name, modified, coding, varies, charset };
    let (head, outcome) = head::respond(request.head, &representation, SystemTime::now());
    let (method, limits) = (&request.head.method, request.limits);
    FileSending { file, method, limits, permit, rate_max: None }.response(head, outcome)
}

/// A file, and how it is sent as a body.
struct FileSending<'a> {
    file: OpenFile,
    method: &'a Method,
    limits: &'a Limits,
    /// Kept until the body is read.
    permit: Option<Permit>,
    /// In bytes per second. `None`: as configured.
    rate_max: Option<u64>,
}

impl FileSending<'_> {
    fn response(self, head: ResponseHead, outcome: ContentChoice) -> Response {
        let Self { file, method, limits, permit, rate_max } = self;
        match outcome {
            ContentChoice::Part(part) => {
                let body = FileBody::new(&file, part, limits, permit).at_rate(rate_max);
                Response { head, body: LocalBody::File(Box::new(body)) }
            }
            ContentChoice::Parts(ranges) => {
                let (head, parts) = FileParts::new(file, &ranges, head, limits, permit);
                Response { head, body: LocalBody::FileParts(Box::new(parts.at_rate(rate_max))) }
            }
            ContentChoice::Nothing => {
                let has_body = *method != Method::HEAD && head.status != StatusCode::NOT_MODIFIED;
                Response { head, body: LocalBody::Whole(has_body.then(Bytes::new)) }
            }
        }
    }
}
