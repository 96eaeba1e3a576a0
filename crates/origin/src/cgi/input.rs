//! The request's body on its way to a program's standard input.
//!
//! A program learns the length of its input from CONTENT_LENGTH, before its first byte, and most read no input without. A
//! chunked body has no length until it has come, so up to [`AHEAD_BYTES_MAX`] of one is read first; where that is all of it, the
//! program gets its length. What is longer is streamed, and a program that can (git-http-backend) reads it to its end, as behind
//! Apache.
//!
//! A program need not read its input: one that closes it has what it needs, and what is left of the body is left.

use crate::error::Error;
use crate::upload::{Upload, UploadPiece};
use bytes::{Bytes, BytesMut};
use kasoku_wire::http1::BodyLength;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

/// How much of a body of unknown length is read before a program is run, in bytes.
const AHEAD_BYTES_MAX: usize = 64 << 10;

type Rest = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// A request's body, partly read.
pub(super) struct Input {
    length: BodyLength,
    /// Given standard input and the longest pause: sends all of it.
    send: Option<Box<dyn FnOnce(pipe::Sender, Duration) -> Rest>>,
}

impl Input {
    /// No body.
    pub(super) fn none() -> Self {
        Self { length: BodyLength::None, send: None }
    }

    /// Takes the body, and reads of it what has to be read before its program is run.
    pub(super) async fn read_ahead<U: Upload + 'static>(upload: &mut Option<U>) -> Result<Self, Error> {
        let Some(mut upload) = upload.take() else { return Ok(Self::none()) };
        let mut length = upload.length();
        let mut ahead = BytesMut::new();
        let mut is_whole = false;
        while matches!(length, BodyLength::Chunked) && ahead.len() < AHEAD_BYTES_MAX && !is_whole {
            match upload.next().await.map_err(Error::Upload)? {
                UploadPiece::Data(data) => ahead.extend_from_slice(&data),
                UploadPiece::End(_) => is_whole = true,
            }
        }
        if is_whole {
            length = BodyLength::Length(ahead.len() as u64);
        }
        let rest = (!is_whole).then_some(upload);
        let ahead = ahead.freeze();
        Ok(Self { length, send: Some(Box::new(|to, pause_max| Box::pin(send(ahead, rest, to, pause_max)))) })
    }

    /// CONTENT_LENGTH, where it is known, and whether there is a body at all.
    pub(super) fn length(&self) -> BodyLength {
        self.length
    }

    /// Sends it, in a task of its own, as a program may answer before it has read.
    pub(super) fn start(self, to: Option<pipe::Sender>, pause_max: Duration) -> Sending {
        let sending = self.send.zip(to).map(|(send, to)| tokio::task::spawn_local(send(to, pause_max)));
        Sending(sending)
    }
}

async fn send(ahead: Bytes, rest: Option<impl Upload>, mut to: pipe::Sender, pause_max: Duration) -> Result<(), Error> {
    if !write(&mut to, ahead, pause_max).await? {
        return Ok(());
    }
    let Some(mut rest) = rest else { return Ok(()) };
    while let UploadPiece::Data(data) = rest.next().await.map_err(Error::Upload)? {
        if !write(&mut to, data, pause_max).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// `false`: the program reads no more.
async fn write(to: &mut pipe::Sender, data: Bytes, pause_max: Duration) -> Result<bool, Error> {
    let mut left = &data[..];
    while !left.is_empty() {
        let written = tokio::time::timeout(pause_max, to.write(left)).await;
        match written.map_err(|_| Error::BetweenBytesTimeout)? {
            Ok(written) => left = left.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            Err(error) => return Err(Error::Io(error)),
        }
    }
    Ok(true)
}

/// The task that sends it. Dropped, it stops, and the program reads an end.
pub(super) struct Sending(Option<JoinHandle<Result<(), Error>>>);

impl Sending {
    pub(super) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) -> Result<(), Error> {
        let Some(task) = &mut self.0 else { return Ok(()) };
        let sent = task.await.unwrap_or(Err(Error::ClosedEarly));
        self.0 = None;
        sent
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
