//! One connection to an HTTP origin, and the bytes that have been read ahead from it.

use crate::counters::Counters;
use crate::error::Error;
use crate::group::ChosenOrigin;
use crate::limits::READ_BYTES;
use crate::permits::Permit;
use crate::{Endpoint, Limits};
use bytes::BytesMut;
use kasoku_sys::Stream;
use kasoku_wire::ResponseHead;
use kasoku_wire::http1::parse_response;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::lookup_host;

/// An open connection and its permits.
pub struct OriginConnection {
    /// Its socket.
    pub stream: Rc<Stream>,
    /// Bytes that were read from the socket and not yet parsed.
    pub read_ahead: BytesMut,
    /// Its permit among the connections in use; `None` while it is idle.
    pub permit: Option<Permit>,
    /// Its permit among the idle connections of the whole process to this origin, while it is idle and they are counted.
    pub kept: Option<Permit>,
}

impl OriginConnection {
    /// Opens a connection within this time.
    pub async fn open(endpoint: &Endpoint, timeout: Duration) -> Result<Self, Error> {
        let stream = async {
            let opened = match endpoint {
                Endpoint::Tcp { host, port } => connect(host, *port).await,
                Endpoint::Unix(path) => Stream::connect_unix(path),
            };
            opened.map_err(Error::Unreachable)
        };
        let stream = with_deadline(timeout, Error::ConnectTimeout, stream).await?;
        Ok(Self { stream: Rc::new(stream), read_ahead: BytesMut::new(), permit: None, kept: None })
    }

    /// Opens a connection for a request that already holds its permit.
    pub async fn open_for(
        choice: &ChosenOrigin,
        endpoint: &Endpoint,
        limits: &Limits,
        permit: Permit,
        counters: &Counters,
    ) -> Result<Self, Error> {
        let opened = Self::open(endpoint, choice.connect_timeout(limits)).await?;
        let connection = Self { permit: Some(permit), ..opened };
        choice.origin.health.connected();
        counters.connection();
        Ok(connection)
    }

    /// Whether a kept connection can carry another exchange: it is open, and the origin has sent nothing unasked.
    //= RFC 9112 section 9.2
    //# If a client receives data on a connection that doesn't have outstanding requests, the client MUST NOT consider that
    //# data to be a valid response
    pub(crate) fn is_quiet(&mut self) -> bool {
        let nothing = self.stream.try_read(&mut self.read_ahead, 1);
        self.read_ahead.is_empty() && nothing.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Reads one head, interim or final.
    pub(crate) async fn read_head(&mut self, limits: &Limits) -> Result<ResponseHead, Error> {
        loop {
            match parse_response(&self.read_ahead, &limits.head).map_err(Error::MalformedHead)? {
                Some((head, length)) => {
                    let _ = self.read_ahead.split_to(length.min(self.read_ahead.len()));
                    return Ok(head);
                }
                None => {
                    if self.stream.read(&mut self.read_ahead, READ_BYTES).await.map_err(Error::Io)? == 0 {
                        let nothing_came = self.read_ahead.is_empty();
                        return Err(if nothing_came { Error::ClosedBeforeResponse } else { Error::ClosedEarly });
                    }
                }
            }
        }
    }
}

/// Connects to the first address of the host that accepts a connection.
async fn connect(host: &str, port: u16) -> io::Result<Stream> {
    let mut failure = None;
    for address in lookup_host((host, port)).await? {
        match Stream::connect_tcp(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")))
}

/// The result of `future`, or the error `late` after `duration`.
pub async fn with_deadline<T>(
    duration: Duration,
    late: Error,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(duration, future).await.unwrap_or(Err(late))
}
