//! Why there is no response, or no end of one. What a client sees of it: `engine/src/error.rs`.

use kasoku_wire::http1::{BodyError, ResponseError};
use std::fmt;
use std::io;

/// Why an origin gave no response, or only a part of one.
#[derive(Debug)]
pub enum Error {
    /// All connections that the limits allow were in use, and none became free in time.
    Busy,
    /// No connection: refused, no route, no such name, no such socket.
    Unreachable(io::Error),
    /// No connection in time.
    ConnectTimeout,
    /// No head of a response in time.
    FirstByteTimeout,
    /// A pause in the response's body, or in taking the request's, was too long.
    BetweenBytesTimeout,
    /// The connection ended before any byte of a response.
    ClosedBeforeResponse,
    /// The connection ended within the head or the body.
    ClosedEarly,
    /// What came is not a response (RFC 9112).
    MalformedHead(ResponseError),
    /// The body's framing is broken.
    MalformedBody(BodyError),
    /// A 101 nobody asked for, or more interim responses than [`crate::limits::INTERIM_RESPONSES_MAX`].
    UnexpectedInterim,
    /// The request's body did not come to its end: the client is to blame.
    Upload(UploadError),
    /// The connection failed.
    Io(io::Error),
}

/// Why a request's body did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadError {
    /// The client closed the connection.
    Closed,
    /// Its framing is broken.
    Malformed,
    /// It is longer than allowed.
    TooLarge,
    /// A pause was too long.
    Timeout,
}

impl Error {
    /// Whether the origin got nothing of the request, so that another origin may be asked without harm.
    pub fn is_before_sending(&self) -> bool {
        matches!(self, Self::Busy | Self::Unreachable(_) | Self::ConnectTimeout)
    }
}

impl Error {
    /// A failed write: too slow, or broken.
    pub(crate) fn from_write(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::BetweenBytesTimeout,
            _ => Self::Io(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("all connections to the origin are in use"),
            Self::Unreachable(error) => write!(f, "the origin can't be reached: {error}"),
            Self::ConnectTimeout => f.write_str("the origin did not accept a connection in time"),
            Self::FirstByteTimeout => f.write_str("the origin did not answer in time"),
            Self::BetweenBytesTimeout => f.write_str("the origin paused for too long"),
            Self::ClosedBeforeResponse => f.write_str("the origin closed the connection without an answer"),
            Self::ClosedEarly => f.write_str("the origin closed the connection within its answer"),
            Self::MalformedHead(error) => write!(f, "the origin's answer is malformed: {error}"),
            Self::MalformedBody(error) => write!(f, "the body of the origin's answer is malformed: {error}"),
            Self::UnexpectedInterim => f.write_str("the origin sent interim answers that nobody asked for"),
            Self::Upload(error) => write!(f, "the body of the request did not come to its end: {error:?}"),
            Self::Io(error) => write!(f, "the connection to the origin failed: {error}"),
        }
    }
}

impl std::error::Error for Error {}
