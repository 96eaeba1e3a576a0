//! One request's answer, record by record, from its connection.

use super::exchange::Keeper;
use crate::error::Error;
use crate::gateway::log::ErrorLog;
use crate::http::Connection;
use crate::limits::READ_BYTES;
use bytes::Bytes;
use kasoku_wire::fastcgi::{Decoded, Decoder, EndRequest, ProtocolStatus};
use std::time::Duration;

/// See the [module](self).
pub(crate) struct Records {
    connection: Connection,
    decoder: Decoder,
    log: ErrorLog,
    keeper: Option<Keeper>,
    /// Whether anything has come of the answer, standard error included.
    has_begun: bool,
    is_ended: bool,
}

/// How long the end of a request is waited for, when nothing more of its answer is wanted.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(1);
/// The most that is read until then, in bytes.
const DRAIN_BYTES_MAX: usize = 256 << 10;

impl Records {
    /// The answer to the request of that number; `keeper` says where the connection goes afterwards.
    pub(super) fn new(connection: Connection, request_id: u16, log: ErrorLog, keeper: Option<Keeper>) -> Self {
        Self { connection, decoder: Decoder::new(request_id), log, keeper, has_begun: false, is_ended: false }
    }

    /// The next piece of standard output; `None` after the end of the request. Standard error goes to the log.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match self.decoder.decode(&mut self.connection.read_ahead).map_err(Error::MalformedRecords)? {
                Decoded::Stdout(data) => {
                    self.has_begun = true;
                    return Ok(Some(data));
                }
                Decoded::Stderr(data) => {
                    self.has_begun = true;
                    self.log.write(&data);
                }
                Decoded::StdoutEnd => {}
                Decoded::End(end) => return self.end(end),
                Decoded::NeedMore => {
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
                Ok(None)
            }
            // Who has begun to answer is not overloaded.
            _ if self.has_begun => Err(Error::ClosedEarly),
            ProtocolStatus::Overloaded => Err(Error::Overloaded),
            ProtocolStatus::CannotMultiplex | ProtocolStatus::UnknownRole => Err(Error::Refused),
        }
    }

    /// Nothing more is wanted: where connections are kept, waits for the end of the request in the background, so that the next one
    /// can have this connection. A program that has more to do than that has its connection closed.
    pub(crate) fn finish(mut self, is_upload_complete: bool) {
        let Some(keeper) = self.keeper.take().filter(|_| is_upload_complete) else { return };
        if self.is_ended {
            return keeper.keep(self.connection);
        }
        tokio::task::spawn_local(async move {
            if let Ok(true) = tokio::time::timeout(DRAIN_TIME_MAX, self.drains()).await {
                keeper.keep(self.connection);
            }
        });
    }

    /// Drops what is still printed; whether the request came to its end.
    async fn drains(&mut self) -> bool {
        let mut left = DRAIN_BYTES_MAX;
        while let Ok(piece) = self.next().await {
            let Some(piece) = piece else { return true };
            left = left.saturating_sub(piece.len());
            if left == 0 {
                break;
            }
        }
        false
    }
}
