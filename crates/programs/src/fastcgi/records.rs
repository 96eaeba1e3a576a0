//! Reads the answer to one request from its FastCGI connection, record by record.

use super::keeper::Keeper;
use crate::gateway::log::ErrorLog;
use crate::spawned::Lease;
use bytes::{Bytes, BytesMut};
use kasoku_origin::Error;
use kasoku_origin::http::OriginConnection;
use kasoku_origin::limits::READ_BYTES;
use kasoku_wire::fastcgi::{DecodedRecord, Decoder, EndRequest, ProtocolStatus};
use std::time::Duration;

/// See the [module](self). Dropping it closes the connection; but if Kasoku started the program, the rest of the answer is read
/// first, so that the process can take the next request.
pub(crate) struct Records(Option<Box<OpenExchange>>);

struct OpenExchange {
    connection: OriginConnection,
    decoder: Decoder,
    log: ErrorLog,
    after: After,
    /// Whether any output has come, standard error included.
    has_begun: bool,
    is_ended: bool,
    app_status: u32,
}

/// What to do with the connection after the answer.
pub(super) enum After {
    /// It is closed.
    Close,
    /// It is kept.
    Keep(Box<Keeper>),
    /// It is closed, and its process may take the next request.
    GiveBack(Lease),
}

/// How long to wait for END_REQUEST when the rest of the answer is not needed.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(1);
/// The same for a process that Kasoku has started and would otherwise have to replace.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// How much is read during that wait to keep a connection, in bytes.
const DRAIN_BYTES_MAX: u64 = 256 << 10;

impl Records {
    /// The answer to the request of that id.
    pub(super) fn new(connection: OriginConnection, request_id: u16, log: ErrorLog, after: After) -> Self {
        let decoder = Decoder::new(request_id);
        Self(Some(Box::new(OpenExchange {
            connection,
            decoder,
            log,
            after,
            has_begun: false,
            is_ended: false,
            app_status: 0,
        })))
    }

    /// The next piece of standard output; `None` after the end of the request. Standard error goes to the log.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match &mut self.0 {
            Some(open) => open.next().await,
            None => Err(Error::ClosedEarly),
        }
    }

    /// After the end: whether the program reports a failure by its status, as a CGI program does by its exit code.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.as_ref().is_some_and(|open| open.app_status != 0)
    }

    /// Stops reading. If the connection is to be kept, a background task waits for the end of the request, so that the next
    /// request can use the connection. It closes the connection if the end takes too long or too much output comes first.
    pub(crate) fn finish(mut self, is_upload_complete: bool) {
        let Some(mut open) = self.0.take() else { return };
        match &open.after {
            After::Keep(_) if !is_upload_complete => {}
            _ if open.is_ended => open.settle(),
            After::Keep(_) => in_background(async move {
                let drains = open.drains(DRAIN_BYTES_MAX);
                if let Ok(true) = tokio::time::timeout(DRAIN_TIME_MAX, drains).await {
                    open.settle();
                }
            }),
            // `Drop` sees to it.
            After::Close | After::GiveBack(_) => drop(Self(Some(open))),
        }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        let Some(mut open) = self.0.take() else { return };
        if let After::GiveBack(_) = open.after
            && !open.is_failed()
        {
            in_background(async move {
                if let Ok(true) = tokio::time::timeout(ANSWER_TIME_MAX, open.drains(u64::MAX)).await {
                    open.settle();
                }
            });
        }
    }
}

/// Runs the task for as long as the worker runs.
fn in_background(task: impl Future<Output = ()> + 'static) {
    if tokio::runtime::Handle::try_current().is_ok() {
        tokio::task::spawn_local(task);
    }
}

impl OpenExchange {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match self.decoder.decode(&mut self.connection.read_ahead).map_err(Error::MalformedRecords)? {
                DecodedRecord::Stdout(data) => {
                    self.has_begun = true;
                    return Ok(Some(data));
                }
                DecodedRecord::Stderr(data) => {
                    self.has_begun = true;
                    self.log.write(&data);
                }
                DecodedRecord::StdoutEnd => {}
                DecodedRecord::End(end) => return self.end(end),
                DecodedRecord::NeedMore => {
                    let read = self.connection.stream.read(&mut self.connection.read_ahead, READ_BYTES).await;
                    if read.map_err(Error::Io)? == 0 {
                        let nothing_came = !self.has_begun && self.connection.read_ahead.is_empty();
                        return Err(if nothing_came { Error::ClosedBeforeResponse } else { Error::ClosedEarly });
                    }
                }
            }
        }
    }

    fn end(&mut self, end: EndRequest) -> Result<Option<Bytes>, Error> {
        match end.protocol_status {
            ProtocolStatus::RequestComplete => {
                self.is_ended = true;
                self.app_status = end.app_status;
                if end.app_status != 0 {
                    self.log.write(format!("the program ended with status {}\n", end.app_status).as_bytes());
                }
                Ok(None)
            }
            // A server that has begun to answer is not overloaded.
            _ if self.has_begun => Err(Error::ClosedEarly),
            ProtocolStatus::Overloaded => Err(Error::Overloaded),
            ProtocolStatus::CannotMultiplex | ProtocolStatus::UnknownRole => Err(Error::Refused),
        }
    }

    /// Reads and drops further output. Returns whether the request came to its end before `bytes_max`.
    async fn drains(&mut self, bytes_max: u64) -> bool {
        let mut left = bytes_max;
        while let Ok(piece) = self.next().await {
            let Some(piece) = piece else { return true };
            left = left.saturating_sub(piece.len() as u64);
            if left == 0 {
                break;
            }
        }
        false
    }

    /// Whether the records are malformed. Then there is no end to wait for.
    fn is_failed(&mut self) -> bool {
        // An empty buffer holds no record, but the decoder remembers a fault.
        self.decoder.decode(&mut BytesMut::new()).is_err()
    }

    /// To be called when the request has ended.
    fn settle(self) {
        match self.after {
            After::Close => {}
            After::Keep(keeper) => keeper.keep(self.connection),
            After::GiveBack(lease) => lease.end(),
        }
    }
}
