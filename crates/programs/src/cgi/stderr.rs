//! Reads what a program writes to standard error, for the log.
//!
//! All of it is read, since the program would stand still at a full pipe. [`ErrorLog`] decides how much of it is logged, and how.

use crate::gateway::log::ErrorLog;
use bytes::BytesMut;
use kasoku_origin::limits::READ_BYTES;
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// How many reads are made after the program has ended: as many as take what a pipe holds, and a little more. Other processes that
/// still write there are not waited for.
const LAST_READS_MAX: usize = 4;

/// See the [module](self).
pub(super) struct StderrReader {
    pipe: pipe::Receiver,
    buffer: BytesMut,
    log: ErrorLog,
}

impl StderrReader {
    pub(super) fn new(pipe: pipe::Receiver, log: ErrorLog) -> Self {
        Self { pipe, buffer: BytesMut::new(), log }
    }

    /// Reads and logs for ever.
    pub(super) async fn read_on(&mut self) {
        loop {
            self.buffer.reserve(READ_BYTES);
            match self.pipe.read_buf(&mut self.buffer).await {
                Ok(1..) => self.write(),
                _ => return std::future::pending().await,
            }
        }
    }

    /// Reads what is there, and closes the pipe.
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
