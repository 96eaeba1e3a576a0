//! Reads an SCGI answer from its connection.

use bytes::Bytes;
use kasoku_origin::Error;
use kasoku_origin::http::OriginConnection;
use kasoku_origin::limits::READ_BYTES;
use std::io;

/// An answer while it is read: all bytes until the connection closes.
pub(crate) struct Connected {
    pub(super) connection: OriginConnection,
    pub(super) has_begun: bool,
}

impl Connected {
    /// The next piece; `None` when the server has closed the connection.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let buffer = &mut self.connection.read_ahead;
        match self.connection.stream.read(buffer, READ_BYTES).await {
            Ok(0) if !self.has_begun => Err(Error::ClosedBeforeResponse),
            Ok(0) => Ok(None),
            Ok(_) => {
                self.has_begun = true;
                Ok(Some(buffer.split().freeze()))
            }
            // A reset is not the end of an answer.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset && self.has_begun => Err(Error::ClosedEarly),
            Err(error) => Err(Error::Io(error)),
        }
    }
}
