//! Why an operation has no result.

use crate::names::NAME_BYTES_MAX;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// Why an operation has no result.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    /// There was no connection.
    #[error("cannot connect: {0}")]
    Connect(Arc<io::Error>),
    /// There was no answer in time.
    #[error("no answer within the operation timeout")]
    Timeout,
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(Arc<io::Error>),
    /// The server sent something else than a reply.
    #[error("{0}")]
    Protocol(Arc<str>),
    /// The server can't do it, for example because it has no memory left for such an item.
    #[error("the server refused: {0}")]
    Refused(String),
    /// The server can't be used now: it is a replica, or still loads what it had, or does not let us in.
    #[error("the server can't be used: {0}")]
    Unusable(String),
    /// No server is known to be the primary. None was asked.
    #[error("no server is known to be the primary")]
    NoPrimary,
    /// Several servers say that they are the primary.
    #[error("several servers say that they are the primary")]
    SeveralPrimaries,
    /// There is an item, but it is no number.
    #[error("the item is no number")]
    NotANumber,
    /// Too many operations wait for the server already. It was not asked.
    #[error("too many operations wait for the server")]
    Busy,
    /// The value is above the limit of items. The server was not asked.
    #[error("the value of {bytes} bytes is longer than an item may be")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The item can't be called so. The server was not asked.
    #[error("the name of an item has to be 1 to {NAME_BYTES_MAX} printable characters of ASCII without blanks")]
    Name,
    /// There is no server of this number.
    #[error("there is no server {0}")]
    NoSuchServer(usize),
}

impl Failure {
    /// Whether it is about one request, and says nothing about the server.
    pub(crate) fn is_about_the_request(&self) -> bool {
        match self {
            Self::Refused(_)
            | Self::NotANumber
            | Self::Busy
            | Self::TooLong { .. }
            | Self::Name
            | Self::NoSuchServer(_) => true,
            Self::Connect(_)
            | Self::Timeout
            | Self::Closed
            | Self::Broken(_)
            | Self::Protocol(_)
            | Self::Unusable(_)
            | Self::NoPrimary
            | Self::SeveralPrimaries => false,
        }
    }

    /// Whether the process that was asked has ended: the machine says that nothing listens there, or has closed the connection.
    pub(crate) fn says_that_it_ended(&self) -> bool {
        let is_end = |error: &io::Error| {
            use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, UnexpectedEof};
            matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | UnexpectedEof)
        };
        match self {
            Self::Closed => true,
            Self::Connect(error) | Self::Broken(error) => is_end(error),
            _ => false,
        }
    }
}
