//! Why an origin gave no response, or an incomplete one. What the client sees of it: `engine/src/error.rs`.

use crate::health::Blame;
use kasoku_sys::process::Ending;
use kasoku_wire::cgi::CgiError;
use kasoku_wire::fastcgi::FastCgiError;
use kasoku_wire::http1::{BodyError, ResponseError};
use std::fmt;
use std::io;

/// Why an origin gave no response, or only a part of one.
#[derive(Debug)]
pub enum Error {
    /// No origin was asked: all are down.
    Down,
    /// All connections that the limits allow were in use, and the queue for one was full.
    QueueFull,
    /// All connections that the limits allow were in use, and none became free in time.
    Busy,
    /// No connection: refused, no route, no such name, no such socket.
    Unreachable(io::Error),
    /// No connection in time.
    ConnectTimeout,
    /// No response head in time.
    FirstByteTimeout,
    /// A pause in the response's body, or in the origin's reading of the request's body, was too long.
    BetweenBytesTimeout,
    /// The connection ended before any byte of a response.
    ClosedBeforeResponse,
    /// The connection ended within the head or the body.
    ClosedEarly,
    /// The bytes received are not a response head (RFC 9112).
    MalformedHead(ResponseError),
    /// The output of a program is not a CGI response (RFC 3875).
    MalformedCgi(CgiError),
    /// A program ended without a response head.
    EndedBeforeHead,
    /// The bytes received are not FastCGI records.
    MalformedRecords(FastCgiError),
    /// A FastCGI application server reported that it is overloaded, before it did anything.
    Overloaded,
    /// A FastCGI application server does not take requests of this kind.
    Refused,
    /// The body's framing is broken.
    MalformedBody(BodyError),
    /// A 101 that the request did not ask for, or more interim responses than [`crate::limits::INTERIM_RESPONSES_MAX`].
    UnexpectedInterim,
    /// Local redirects followed one another too often.
    RedirectsForEver,
    /// A program can't be run: it is not executable, its interpreter is missing, or its arguments and environment are too large.
    NotStarted(io::Error),
    /// A program ended before its response was complete.
    ProgramEnded(Ending),
    /// A program ran for longer than it may.
    ProgramTimeout,
    /// The request's body did not come to its end: the client's fault, or Kasoku had no room for it.
    Upload(UploadError),
    /// The response names a file in this field, and sending files is not configured.
    SendfileOff(&'static str),
    /// The response names a file in a way that can't be understood, for this reason.
    SendfileMalformed(&'static str),
    /// A file changed while it was read: the bytes sent may be of two versions, or too few.
    FileChanged,
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
    /// The body is longer than allowed.
    TooLarge,
    /// A pause was too long, or the whole body took too long.
    Timeout,
    /// The body had to be buffered first, and there is no room for it now.
    NoRoom,
    /// The body had to be buffered first, and could not be written to disk or read back.
    NotKept,
}

impl Error {
    /// Whether no origin was asked at all.
    pub fn is_unasked(&self) -> bool {
        matches!(self, Self::Down | Self::QueueFull | Self::Busy)
    }

    /// What this error tells about the origin.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Down | Self::QueueFull | Self::Busy | Self::NotStarted(_) | Self::Upload(_) => Blame::NoOrigin,
            Self::Unreachable(error) if is_own_shortage(error) => Blame::NoOrigin,
            // An overloaded application server has not begun the request, so another origin may be asked, whatever the method.
            Self::Unreachable(_) | Self::ConnectTimeout | Self::Overloaded => Blame::Connection,
            _ => Blame::Answer,
        }
    }

    /// Whether another origin may be asked after this one, if the request can be sent again: the connection failed before the head was
    /// complete. Not after a timeout: what was too slow for one origin is hardly faster at the next, and would load all of them. Nor
    /// after a malformed response.
    pub fn is_connection_lost(&self) -> bool {
        matches!(self, Self::ClosedBeforeResponse | Self::ClosedEarly | Self::Io(_))
    }
}

impl Error {
    /// A failed write: too slow, or broken.
    pub fn from_write(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::BetweenBytesTimeout,
            _ => Self::Io(error),
        }
    }
}

/// EMFILE, ENFILE and ENOMEM, on every architecture of Linux.
const OWN_SHORTAGES: [i32; 3] = [24, 23, 12];

/// Whether Kasoku could not connect because it ran short of descriptors, memory or local ports.
fn is_own_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error().is_some_and(|code| OWN_SHORTAGES.contains(&code))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("all origins are down"),
            Self::QueueFull => f.write_str("too many requests wait for a connection to the origin"),
            Self::Busy => f.write_str("all connections to the origin are in use"),
            Self::Unreachable(error) => write!(f, "the origin can't be reached: {error}"),
            Self::ConnectTimeout => f.write_str("the origin did not accept a connection in time"),
            Self::FirstByteTimeout => f.write_str("the origin did not answer in time"),
            Self::BetweenBytesTimeout => f.write_str("the origin paused for too long"),
            Self::ClosedBeforeResponse => f.write_str("the origin closed the connection without an answer"),
            Self::ClosedEarly => f.write_str("the origin closed the connection within its answer"),
            Self::MalformedHead(error) => write!(f, "the origin's answer is malformed: {error}"),
            Self::MalformedCgi(error) => write!(f, "the program's output is malformed: {error}"),
            Self::EndedBeforeHead => f.write_str("the program ended without the head of an answer"),
            Self::MalformedRecords(error) => write!(f, "the FastCGI answer is malformed: {error}"),
            Self::Overloaded => f.write_str("the FastCGI application server is overloaded"),
            Self::Refused => f.write_str("the FastCGI application server refuses to answer requests"),
            Self::MalformedBody(error) => write!(f, "the body of the origin's answer is malformed: {error}"),
            Self::UnexpectedInterim => f.write_str("the origin sent an unexpected 101, or too many interim answers"),
            Self::RedirectsForEver => f.write_str("the origin answered with too many local redirects in a row"),
            Self::NotStarted(error) => write!(f, "the program can't be run: {error}"),
            Self::ProgramEnded(Ending::Exit(code)) => {
                write!(f, "the program ended with code {code} before its answer was complete")
            }
            Self::ProgramEnded(Ending::Signal(signal)) => {
                write!(f, "the program was ended by signal {signal} before its answer was complete")
            }
            Self::ProgramEnded(Ending::Unknown) => f.write_str("the program ended before its answer was complete"),
            Self::ProgramTimeout => f.write_str("the program ran for longer than the configuration allows"),
            Self::Upload(error) => write!(f, "the body of the request could not be received: {error:?}"),
            Self::SendfileOff(field) => {
                write!(f, "the origin names a file in {field}, which the configuration does not allow (`sendfile`)")
            }
            Self::SendfileMalformed(why) => write!(f, "the origin names a file in a form that can't be read: {why}"),
            Self::FileChanged => f.write_str("the file changed while it was read"),
            Self::Io(error) => write!(f, "the connection to the origin failed: {error}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_we_run_out_of_descriptors_is_no_fault_of_the_origin() {
        let unreachable = |code| Error::Unreachable(io::Error::from_raw_os_error(code)).blame();
        let (emfile, refused) = (24, 111);
        assert_eq!((unreachable(emfile), unreachable(refused)), (Blame::NoOrigin, Blame::Connection));
        assert_eq!(Error::FirstByteTimeout.blame(), Blame::Answer);
    }
}
