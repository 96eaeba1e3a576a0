//! An origin's response: its head, then its body piece by piece. A body that ends early is an error here, never an end;
//! what becomes of it is decided in `engine/src/fetch/fill_task.rs` (`pump`) and `engine/src/deliver.rs` (the client is cut).

use crate::error::Error;
use crate::files::{FileBody, FileParts};
use crate::gateway::body;
use crate::http::{ResponseBody, Tunnel};
use crate::piece::Piece;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_wire::{Fields, ResponseHead};

/// A final response, or 101.
pub struct Response {
    /// The head as it was received.
    pub head: ResponseHead,
    /// The body, still to be read.
    pub body: Body,
}

/// What an origin says to a request.
pub enum Reply {
    /// A response.
    Response(Response),
    /// A CGI program's local redirect (RFC 3875 section 6.2.2): the answer is what a GET of this path and query gets here.
    Elsewhere(String),
}

/// A response's body on its way. Dropping it before the end ends what makes it: a connection, or a program.
pub enum Body {
    /// From an HTTP connection.
    Http(Box<HttpBody>),
    /// From a file.
    File(Box<FileBody>),
    /// From several places of a file.
    FileParts(Box<FileParts>),
    /// What a program prints.
    Program(Box<ProgramBody>),
    /// From a program that runs for this request.
    Cgi(Box<CgiBody>),
    /// What is there already; `None` once it was read, or where the response has none.
    Whole(Option<Bytes>),
    /// What was read of one by somebody who has put it back, and the rest.
    Begun(Box<BegunBody>),
}

/// See [`Body::Begun`].
pub struct BegunBody {
    read: Option<Bytes>,
    rest: Body,
    /// Where `rest` has come to its end.
    end: Option<Option<Fields>>,
}

/// See [`Body::Http`].
pub struct HttpBody(pub(crate) ResponseBody);

/// See [`Body::Program`].
pub struct ProgramBody(pub(crate) body::ProgramBody);

/// See [`Body::Cgi`].
pub struct CgiBody(pub(crate) crate::cgi::Body);

impl Response {
    /// One of our own with a line of text, for what a path leads to that no program and no file answers for.
    pub(crate) fn own(status: StatusCode, method: &Method) -> Self {
        let text = format!("{} {}\n", status.as_str(), status.canonical_reason().unwrap_or_default());
        let head = ResponseHead::new(status)
            .with("Content-Type", "text/plain; charset=utf-8")
            .with("Content-Length", text.len().to_string());
        let body = if *method == Method::HEAD { None } else { Some(text.into()) };
        Self { head, body: Body::Whole(body) }
    }

    /// Whether the origin has switched protocols.
    pub fn is_switched(&self) -> bool {
        self.head.status == StatusCode::SWITCHING_PROTOCOLS
    }
}

impl Body {
    /// A body of which `read` was read already; with `end`, its trailer fields, to its end.
    pub fn begun(read: Bytes, rest: Self, end: Option<Option<Fields>>) -> Self {
        Self::Begun(Box::new(BegunBody { read: Some(read).filter(|read| !read.is_empty()), rest, end }))
    }

    /// The body's length in bytes, where something tells before its end.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Http(body) => body.0.length(),
            Self::File(body) => Some(body.length()),
            Self::FileParts(body) => Some(body.length()),
            Self::Program(body) => body.0.length(),
            Self::Cgi(body) => body.0.length(),
            Self::Whole(data) => Some(data.as_ref().map_or(0, |data| data.len() as u64)),
            Self::Begun(body) => match body.end {
                Some(_) => Some(body.read.as_ref().map_or(0, |read| read.len() as u64)),
                None => body.rest.length(),
            },
        }
    }

    /// Whether it is a file that this program reads itself.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::FileParts(_))
    }

    /// Whether the response has no body, whatever its fields say.
    pub fn is_none(&self) -> bool {
        match self {
            Self::Http(body) => body.0.is_none(),
            Self::File(_) | Self::FileParts(_) | Self::Cgi(_) => false,
            Self::Program(body) => body.0.is_none(),
            Self::Whole(data) => data.is_none(),
            Self::Begun(body) => body.rest.is_none(),
        }
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub async fn next(&mut self) -> Result<Piece, Error> {
        match self {
            Self::Http(body) => body.0.next().await,
            Self::File(body) => body.next().await,
            Self::FileParts(body) => body.next().await,
            Self::Program(body) => body.0.next().await,
            Self::Cgi(body) => body.0.next().await,
            Self::Whole(data) => Ok(match data.take().filter(|data| !data.is_empty()) {
                Some(data) => Piece::Data(data),
                None => Piece::End(None),
            }),
            Self::Begun(body) => match (body.read.take(), &mut body.end) {
                (Some(read), _) => Ok(Piece::Data(read)),
                (None, Some(trailers)) => Ok(Piece::End(trailers.take())),
                (None, None) => Box::pin(body.rest.next()).await,
            },
        }
    }

    /// After its end: whether it may be incomplete for all that anybody can tell. Who asked may have it; it is not to be kept.
    pub fn is_doubtful(&self) -> bool {
        match self {
            Self::Cgi(body) => body.0.is_doubtful(),
            Self::Program(body) => body.0.is_doubtful(),
            Self::Begun(body) => body.rest.is_doubtful(),
            Self::Http(_) | Self::File(_) | Self::FileParts(_) | Self::Whole(_) => false,
        }
    }

    /// Nobody wants it: what makes it is free as soon as that can be, whoever reads what stands in its place. A connection is kept
    /// where the rest is short; a program may work on.
    pub fn discard(self) {
        match self {
            Self::Http(body) => body.0.discard(),
            Self::Program(body) => body.0.discard(),
            Self::Cgi(body) => body.0.discard(),
            Self::Begun(body) => body.rest.discard(),
            Self::File(_) | Self::FileParts(_) | Self::Whole(_) => {}
        }
    }

    /// What is left after 101.
    pub fn into_tunnel(self) -> Option<Tunnel> {
        match self {
            Self::Http(body) => body.0.into_tunnel(),
            Self::Begun(_) | Self::Cgi(_) | Self::File(_) | Self::FileParts(_) | Self::Program(_) | Self::Whole(_) => {
                None
            }
        }
    }
}
