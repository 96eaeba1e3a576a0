//! What a program or a file answers: a head, then a body piece by piece. A body that ends early is an error here, never an end.

use crate::cgi::CgiBody;
use crate::files::{FileBody, FileParts};
use crate::gateway::GatewayBody;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_origin::{BodyPiece, Error};
use kasoku_wire::ResponseHead;

/// A final response.
pub type Response = kasoku_origin::Response<OriginBody>;

/// What is said to a request. `B`: the body of a response, as whoever asks origins of all kinds has it.
pub enum Reply<B = OriginBody> {
    /// A response.
    Response(kasoku_origin::Response<B>),
    /// A CGI program's local redirect (RFC 3875 section 6.2.2): the answer is what a GET of this path and query gets here.
    LocalRedirect(String),
}

impl<B> Reply<B> {
    /// The same with its body as one of several kinds.
    pub fn with_body<C>(self, of: impl FnOnce(B) -> C) -> Reply<C> {
        match self {
            Self::Response(response) => Reply::Response(response.with_body(of)),
            Self::LocalRedirect(target) => Reply::LocalRedirect(target),
        }
    }
}

/// A response's body on its way. Dropping it before the end ends what makes it: a connection, or a program.
pub enum OriginBody {
    /// From a file.
    File(Box<FileBody>),
    /// From several places of a file.
    FileParts(Box<FileParts>),
    /// What an application server's program prints.
    Program(Box<GatewayBody>),
    /// From a program that runs for this request.
    Cgi(Box<CgiBody>),
    /// What is there already; `None` once it was read, or where the response has none.
    Whole(Option<Bytes>),
}

/// A response of our own with a line of text, for what a path leads to that no program and no file answers for.
pub(crate) fn own(status: StatusCode, method: &Method) -> Response {
    let text = format!("{} {}\n", status.as_str(), status.canonical_reason().unwrap_or_default());
    let head = ResponseHead::new(status)
        .with("Content-Type", "text/plain; charset=utf-8")
        .with("Content-Length", text.len().to_string());
    let body = if *method == Method::HEAD { None } else { Some(text.into()) };
    Response { head, body: OriginBody::Whole(body) }
}

impl OriginBody {
    /// The body's length in bytes, where something tells before its end.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::File(body) => Some(body.length()),
            Self::FileParts(body) => Some(body.length()),
            Self::Program(body) => body.length(),
            Self::Cgi(body) => body.length(),
            Self::Whole(data) => Some(data.as_ref().map_or(0, |data| data.len() as u64)),
        }
    }

    /// Whether it is a file that this program reads itself.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::FileParts(_))
    }

    /// Whether the response has no body, whatever its fields say.
    pub fn is_none(&self) -> bool {
        match self {
            Self::File(_) | Self::FileParts(_) | Self::Cgi(_) => false,
            Self::Program(body) => body.is_none(),
            Self::Whole(data) => data.is_none(),
        }
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub async fn next(&mut self) -> Result<BodyPiece, Error> {
        match self {
            Self::File(body) => body.next().await,
            Self::FileParts(body) => body.next().await,
            Self::Program(body) => body.next().await,
            Self::Cgi(body) => body.next().await,
            Self::Whole(data) => Ok(match data.take().filter(|data| !data.is_empty()) {
                Some(data) => BodyPiece::Data(data),
                None => BodyPiece::End(None),
            }),
        }
    }

    /// After its end: whether it may be incomplete for all that anybody can tell. Who asked may have it; it is not to be kept.
    pub fn is_doubtful(&self) -> bool {
        match self {
            Self::Cgi(body) => body.is_doubtful(),
            Self::Program(body) => body.is_doubtful(),
            Self::File(_) | Self::FileParts(_) | Self::Whole(_) => false,
        }
    }

    /// Nobody wants it: what makes it is free as soon as that can be, whoever reads what stands in its place. A connection is kept
    /// where the rest is short; a program may work on.
    pub fn discard(self) {
        match self {
            Self::Program(body) => body.discard(),
            Self::Cgi(body) => body.discard(),
            Self::File(_) | Self::FileParts(_) | Self::Whole(_) => {}
        }
    }
}
