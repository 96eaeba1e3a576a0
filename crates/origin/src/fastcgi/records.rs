//! One request's answer, record by record, from its connection.

use super::exchange::Keeper;
use crate::error::Error;
use crate::gateway::log::ErrorLog;
use crate::http::Connection;
use crate::limits::READ_BYTES;
use bytes::Bytes;
use kasoku_wire::fastcgi::{Decoded, Decoder, EndRequest, ProtocolStatus};

/// See the [module](self).
pub(crate) struct Records {
    connection: Connection,
    decoder: Decoder,
    log: ErrorLog,
    keeper: Option<Keeper>,
    /// Whether anything has come of the answer, standard error included.
    has_begun: bool,
}

impl Records {
    /// The answer to the request of that number; `keeper` says where the connection goes afterwards.
    pub(super) fn new(connection: Connection, request_id: u16, log: ErrorLog, keeper: Option<Keeper>) -> Self {
        Self { connection, decoder: Decoder::new(request_id), log, keeper, has_begun: false }
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

    fn end(&self, end: EndRequest) -> Result<Option<Bytes>, Error> {
        match end.protocol_status {
            ProtocolStatus::RequestComplete => Ok(None),
            // Who has begun to answer is not overloaded.
            _ if self.has_begun => Err(Error::ClosedEarly),
            ProtocolStatus::Overloaded => Err(Error::Overloaded),
            ProtocolStatus::CannotMultiplex | ProtocolStatus::UnknownRole => Err(Error::Refused),
        }
    }

    /// Nothing more is wanted: keeps the connection, if its answer has ended and nothing else has come.
    pub(crate) fn finish(mut self, is_upload_complete: bool) {
        let Some(keeper) = self.keeper.take().filter(|_| is_upload_complete) else { return };
        // The end mostly came with the last bytes; nobody waits for it here. What is printed beyond the answer is dropped.
        let is_ended = loop {
            match self.decoder.decode(&mut self.connection.read_ahead) {
                Ok(Decoded::Stdout(_) | Decoded::StdoutEnd) => {}
                Ok(Decoded::Stderr(data)) => self.log.write(&data),
                Ok(Decoded::End(end)) => break end.protocol_status == ProtocolStatus::RequestComplete,
                Ok(Decoded::NeedMore) | Err(_) => break false,
            }
        };
        if is_ended && self.connection.read_ahead.is_empty() {
            keeper.keep(self.connection);
        }
    }
}
