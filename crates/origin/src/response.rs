//! An origin's response: its head, then its body piece by piece. A body that ends early is an error here, never an end;
//! what becomes of it is decided in `engine/src/fetch.rs` (`pump`) and `engine/src/deliver.rs` (the client is cut).

use crate::error::Error;
use crate::http::{ResponseBody, Tunnel};
use bytes::Bytes;
use http::StatusCode;
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
    /// What is there already; `None` once it was read, or where the response has none.
    Whole(Option<Bytes>),
}

/// See [`Body::Http`].
pub struct HttpBody(pub(crate) ResponseBody);

/// A piece of a response's body.
#[derive(Debug)]
pub enum Piece {
    /// Bytes, never none.
    Data(Bytes),
    /// The end, with trailer fields if there are some.
    End(Option<Fields>),
}

impl Response {
    /// Whether the origin has switched protocols.
    pub fn is_switched(&self) -> bool {
        self.head.status == StatusCode::SWITCHING_PROTOCOLS
    }
}

impl Body {
    /// The body's length in bytes, where something tells before its end.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Http(body) => body.0.length(),
            Self::Whole(data) => Some(data.as_ref().map_or(0, |data| data.len() as u64)),
        }
    }

    /// Whether the response has no body, whatever its fields say.
    pub fn is_none(&self) -> bool {
        match self {
            Self::Http(body) => body.0.is_none(),
            Self::Whole(data) => data.is_none(),
        }
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub async fn next(&mut self) -> Result<Piece, Error> {
        match self {
            Self::Http(body) => body.0.next().await,
            Self::Whole(data) => Ok(match data.take().filter(|data| !data.is_empty()) {
                Some(data) => Piece::Data(data),
                None => Piece::End(None),
            }),
        }
    }

    /// What is left after 101.
    pub fn into_tunnel(self) -> Option<Tunnel> {
        match self {
            Self::Http(body) => body.0.into_tunnel(),
            Self::Whole(_) => None,
        }
    }
}
