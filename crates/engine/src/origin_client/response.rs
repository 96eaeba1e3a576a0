//! An origin's response, whichever kind of origin sent it. A body that ends early is an error here, never an end. What then becomes
//! of it is decided in `cache/fetch/fill_body.rs` (`pump`) and in `deliver/mod.rs` (the client is cut).

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_origin::http::ResponseBody;
use kasoku_origin::{BodyPiece, Error, Tunnel};
use kasoku_programs::LocalBody;
use kasoku_wire::Fields;

/// A final response, or 101.
pub(crate) type Response = kasoku_origin::Response<Body>;

/// What an origin answers: a response, or a local redirect of a program.
pub(crate) type Reply = kasoku_programs::Reply<Body>;

/// A response's body on its way. Dropping it before its end ends the connection or the program from which it comes.
pub(crate) enum Body {
    /// From an HTTP connection.
    Http(Box<ResponseBody>),
    /// From an application server, a CGI program or a file.
    Local(LocalBody),
    /// A body of which a part was read and put back, and the rest.
    Begun(Box<BegunBody>),
}

/// See [`Body::Begun`].
pub(crate) struct BegunBody {
    read: Option<Bytes>,
    rest: Body,
    /// The trailer fields, where `rest` has come to its end.
    end: Option<Option<Fields>>,
}

/// A short page of our own in the place of what is not sent; no cache may store it.
pub(crate) fn refused(status: StatusCode, method: &Method) -> Response {
    kasoku_programs::refused(status, method).with_body(Body::Local)
}

impl Body {
    /// No body.
    pub(crate) fn none() -> Self {
        Self::Local(LocalBody::Whole(None))
    }

    /// A body of which `read` was read already. `end`: its trailer fields, if it was read to its end.
    pub(crate) fn begun(read: Bytes, rest: Self, end: Option<Option<Fields>>) -> Self {
        Self::Begun(Box::new(BegunBody { read: Some(read).filter(|read| !read.is_empty()), rest, end }))
    }

    /// The body's length in bytes, where it is known before the end.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Http(body) => body.length(),
            Self::Local(body) => body.length(),
            Self::Begun(body) => match body.end {
                Some(_) => Some(body.read.as_ref().map_or(0, |read| read.len() as u64)),
                None => body.rest.length(),
            },
        }
    }

    /// Whether the body is a file that this program reads itself.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::Local(body) if body.is_file())
    }

    /// Whether the body is one range of such a file.
    pub(crate) fn is_file_in_one(&self) -> bool {
        matches!(self, Self::Local(LocalBody::File(_)))
    }

    /// Whether the response has no body, whatever its fields say.
    pub(crate) fn is_none(&self) -> bool {
        match self {
            Self::Http(body) => body.is_none(),
            Self::Local(body) => body.is_none(),
            Self::Begun(body) => body.rest.is_none(),
        }
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub(crate) async fn next(&mut self) -> Result<BodyPiece, Error> {
        match self {
            Self::Http(body) => body.next().await,
            Self::Local(body) => body.next().await,
            Self::Begun(body) => match (body.read.take(), &mut body.end) {
                (Some(read), _) => Ok(BodyPiece::Data(read)),
                (None, Some(trailers)) => Ok(BodyPiece::End(trailers.take())),
                (None, None) => Box::pin(body.rest.next()).await,
            },
        }
    }

    /// After the end: whether the body may be incomplete, since nothing tells its length. The client that asked may have it; it
    /// must not be stored.
    pub(crate) fn may_be_incomplete(&self) -> bool {
        match self {
            Self::Http(_) => false,
            Self::Local(body) => body.may_be_incomplete(),
            Self::Begun(body) => body.rest.may_be_incomplete(),
        }
    }

    /// Gives up the body, so that what it comes from is free as soon as possible, even while a client still reads another body in
    /// its place. A connection is kept where the rest is short; a program may work on.
    pub(crate) fn discard(self) {
        match self {
            Self::Http(body) => body.discard(),
            Self::Local(body) => body.discard(),
            Self::Begun(body) => body.rest.discard(),
        }
    }

    /// The tunnel that follows a 101.
    pub(crate) fn into_tunnel(self) -> Option<Tunnel> {
        match self {
            Self::Http(body) => body.into_tunnel(),
            Self::Local(_) | Self::Begun(_) => None,
        }
    }
}
