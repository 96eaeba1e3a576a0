//! Why an origin gave no response, or an incomplete one. What the client sees of it: `engine/src/error.rs`.

use crate::health::Blame;
use kasoku_sys::process::Ending;
use kasoku_wire::cgi::CgiError;
use kasoku_wire::fastcgi::FastCgiError;
use kasoku_wire::http1::{BodyError, ResponseError};
use std::io;

/// Why an origin gave no response, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No origin was asked: all are down.
    #[error("all origins are down")]
    Down,
    /// All connections that the limits allow were in use, and the queue for one was full.
    #[error("too many requests wait for a connection to the origin")]
    QueueFull,
    /// All connections that the limits allow were in use, and none became free in time.
    #[error("all connections to the origin are in use")]
    Busy,
    /// No connection: refused, no route, no such name, no such socket.
    #[error("the origin can't be reached: {0}")]
    Unreachable(io::Error),
    /// No connection in time.
    #[error("the origin did not accept a connection in time")]
    ConnectTimeout,
    /// No response head in time.
    #[error("the origin did not answer in time")]
    FirstByteTimeout,
    /// A pause in the response's body, or in the origin's reading of the request's body, was too long.
    #[error("the origin paused for too long")]
    BetweenBytesTimeout,
    /// The connection ended before any byte of a response.
    #[error("the origin closed the connection without an answer")]
    ClosedBeforeResponse,
    /// The connection ended within the head or the body.
    #[error("the origin closed the connection within its answer")]
    ClosedEarly,
    /// The bytes received are not a response head (RFC 9112).
    #[error("the origin's answer is malformed: {0}")]
    MalformedHead(ResponseError),
    /// The output of a program is not a CGI response (RFC 3875).
    #[error("the program's output is malformed: {0}")]
    MalformedCgi(CgiError),
    /// A program ended without a response head.
    #[error("the program ended without the head of an answer")]
    EndedBeforeHead,
    /// The bytes received are not FastCGI records.
    #[error("the FastCGI answer is malformed: {0}")]
    MalformedRecords(FastCgiError),
    /// A FastCGI application server reported that it is overloaded, before it did anything.
    #[error("the FastCGI application server is overloaded")]
    Overloaded,
    /// A FastCGI application server does not take requests of this kind.
    #[error("the FastCGI application server refuses to answer requests")]
    Refused,
    /// The body's framing is broken.
    #[error("the body of the origin's answer is malformed: {0}")]
    MalformedBody(BodyError),
    /// A 101 that the request did not ask for, or more interim responses than [`crate::limits::INTERIM_RESPONSES_MAX`].
    #[error("the origin sent an unexpected 101, or too many interim answers")]
    UnexpectedInterim,
    /// A 304 to a request without a condition (RFC 9110 section 15.4.5), so that nobody has what it stands for.
    #[error("the origin answered 304 to a request without a condition")]
    NothingToConfirm,
    /// Local redirects followed one another too often.
    #[error("the origin answered with too many local redirects in a row")]
    RedirectsForEver,
    /// A program can't be run: it is not executable, its interpreter is missing, or its arguments and environment are too large.
    #[error("the program can't be run: {0}")]
    NotStarted(io::Error),
    /// A program ended before its response was complete.
    #[error("the program {} before its answer was complete", ended(.0))]
    ProgramEnded(Ending),
    /// A program ran for longer than it may.
    #[error("the program ran for longer than the configuration allows")]
    ProgramTimeout,
    /// The request's body did not come to its end: the client's fault, or Kasoku had no room for it.
    #[error("the body of the request could not be received: {0}")]
    Upload(UploadError),
    /// The response names a file in this field, and sending files is not configured.
    #[error("the origin names a file in {0}, which the configuration does not allow (`sendfile`)")]
    SendfileOff(&'static str),
    /// The response names a file in a way that can't be understood, for this reason.
    #[error("the origin names a file in a form that can't be read: {0}")]
    SendfileMalformed(&'static str),
    /// A file changed while it was read: the bytes sent may be of two versions, or too few.
    #[error("the file changed while it was read")]
    FileChanged,
    /// The connection failed.
    #[error("the connection to the origin failed: {0}")]
    Io(io::Error),
}

/// Why a request's body did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The client closed the connection.
    #[error("the client closed the connection")]
    Closed,
    /// Its framing is broken.
    #[error("its framing is broken")]
    Malformed,
    /// The body is longer than allowed.
    #[error("it is longer than `limits.request-body-bytes-max`")]
    TooLarge,
    /// A pause was too long, or the whole body took too long.
    #[error("the client was too slow")]
    Timeout,
    /// The body had to be buffered first, and there is no room for it now.
    #[error("there is no room to buffer it")]
    NoRoom,
    /// The body had to be buffered first, and could not be written to disk or read back.
    #[error("the disk that buffers it failed")]
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

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Exit(code) => format!("ended with code {code}"),
        Ending::Signal(signal) => format!("was ended by signal {signal}"),
        Ending::Unknown => "ended".to_owned(),
    }
}

/// EMFILE, ENFILE and ENOMEM, on every architecture of Linux.
const OWN_SHORTAGES: [i32; 3] = [24, 23, 12];

/// Whether Kasoku could not connect because it ran short of descriptors, memory or local ports.
fn is_own_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error().is_some_and(|code| OWN_SHORTAGES.contains(&code))
}

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
