//! What a program writes to standard error, on its way to the log.
//!
//! All of it is read, or the program would stand still when the pipe is full; how much of it is logged, and how, says
//! [`ErrorLog`].

use crate::gateway::log::ErrorLog;
use bytes::BytesMut;
use kasoku_origin::limits::READ_BYTES;
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Reads of a program's last words, once it has ended: as many as a pipe holds, and a little more. Whoever still writes there is
/// not waited for.
const LAST_READS_MAX: usize = 4;

/// See the [module](self).
pub(super) struct Complaints {
    pipe: pipe::Receiver,
    buffer: BytesMut,
    log: ErrorLog,
}

impl Complaints {
    pub(super) fn new(pipe: pipe::Receiver, log: ErrorLog) -> Self {
        Self { pipe, buffer: BytesMut::new(), log }
    }

    /// Reads for ever.
    pub(super) async fn read_on(&mut self) {
        loop {
            self.buffer.reserve(READ_BYTES);
            match self.pipe.read_buf(&mut self.buffer).await {
                Ok(1..) => self.write(),
                _ => return std::future::pending().await,
            }
        }
    }

    /// Reads what is there, and closes.
    pub(super) fn end(mut self) {
        for _ in 0..LAST_READS_MAX {
            self.buffer.reserve(READ_BYTES);
            match self.pipe.try_read_buf(&mut self.buffer) {
                Ok(1..) => self.write(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }

    fn write(&mut self) {
        self.log.write(&self.buffer);
        self.buffer.clear();
    }
}
