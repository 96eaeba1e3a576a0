//! The response of a program or a file: a head, then a body piece by piece. A body that is cut short is an error here, never an end.

use crate::cgi::CgiBody;
use crate::files::{FileBody, FileParts};
use crate::gateway::GatewayBody;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_origin::{BodyPiece, Error};
use kasoku_wire::ResponseHead;

/// A final response.
pub type Response = kasoku_origin::Response<LocalBody>;

/// The answer to a request. `B`: the type of a response's body; a caller that asks origins of all kinds has its own.
pub enum Reply<B = LocalBody> {
    /// A response.
    Response(kasoku_origin::Response<B>),
    /// A program's local redirect (RFC 3875 section 6.2.2): the client gets what a GET of this path and query yields on this server.
    LocalRedirect(String),
}

impl<B> Reply<B> {
    /// The same with another type of body, for instance one of several kinds.
    pub fn with_body<C>(self, of: impl FnOnce(B) -> C) -> Reply<C> {
        match self {
            Self::Response(response) => Reply::Response(response.with_body(of)),
            Self::LocalRedirect(target) => Reply::LocalRedirect(target),
        }
    }
}

/// A response's body while it is read. Dropping it before its end closes the connection, or ends the program, that produces it.
pub enum LocalBody {
    /// All of a file, or one range of it.
    File(Box<FileBody>),
    /// Several ranges of a file.
    FileParts(Box<FileParts>),
    /// The output of an application server's program (FastCGI, SCGI).
    Gateway(Box<GatewayBody>),
    /// The output of a CGI program, which runs for this request.
    Cgi(Box<CgiBody>),
    /// A body that is in memory; `None` after it was read, or where the response has no body.
    Whole(Option<Bytes>),
}

/// A short text response that Kasoku makes itself, where no program and no file answers the request.
pub(crate) fn own(status: StatusCode, method: &Method) -> Response {
    let text = format!("{} {}\n", status.as_str(), status.canonical_reason().unwrap_or_default());
    let head = ResponseHead::new(status)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Content-Length", text.len().to_string());
    let body = if *method == Method::HEAD { None } else { Some(text.into()) };
    Response { head, body: LocalBody::Whole(body) }
}

impl LocalBody {
    /// The body's length in bytes, if it is known before the body's end.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::File(body) => Some(body.length()),
            Self::FileParts(body) => Some(body.length()),
            Self::Gateway(body) => body.length(),
            Self::Cgi(body) => body.length(),
            Self::Whole(data) => Some(data.as_ref().map_or(0, |data| data.len() as u64)),
        }
    }

    /// Whether Kasoku itself reads the body from a file.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::FileParts(_))
    }

    /// Whether the response has no body, whatever its fields say.
    pub fn is_none(&self) -> bool {
        match self {
            Self::File(_) | Self::FileParts(_) | Self::Cgi(_) => false,
            Self::Gateway(body) => body.is_none(),
            Self::Whole(data) => data.is_none(),
        }
    }

    /// The next piece. No data follows the end or an error.
    pub async fn next(&mut self) -> Result<BodyPiece, Error> {
        match self {
            Self::File(body) => body.next().await,
            Self::FileParts(body) => body.next().await,
            Self::Gateway(body) => body.next().await,
            Self::Cgi(body) => body.next().await,
            Self::Whole(data) => Ok(match data.take().filter(|data| !data.is_empty()) {
                Some(data) => BodyPiece::Data(data),
                None => BodyPiece::End(None),
            }),
        }
    }

    /// After the end: whether the body may be incomplete although nothing proves it. It may go to the client that asked, and must
    /// not be stored.
    pub fn may_be_incomplete(&self) -> bool {
        match self {
            Self::Cgi(body) => body.may_be_incomplete(),
            Self::Gateway(body) => body.may_be_incomplete(),
            Self::File(_) | Self::FileParts(_) | Self::Whole(_) => false,
        }
    }

    /// Gives up the rest of the body, for instance when a file is sent instead (X-Sendfile). It frees the producer as soon as
    /// possible: a connection is kept if the rest is short; a CGI program may work on.
    pub fn discard(self) {
        match self {
            Self::Gateway(body) => body.discard(),
            Self::Cgi(body) => body.discard(),
            Self::File(_) | Self::FileParts(_) | Self::Whole(_) => {}
        }
    }
}
