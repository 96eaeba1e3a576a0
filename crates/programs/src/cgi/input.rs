//! Sends a request's body to a program's standard input.
//!
//! A program need not read its input: if the program closes it, the rest of the body is not sent.

use bytes::Bytes;
use kasoku_origin::{Error, Upload, UploadPiece};
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

type Sent = Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// Given standard input and the longest pause: sends all of a body.
type Send = Box<dyn FnOnce(pipe::Sender, Duration) -> Sent>;

/// A request's body, if there is one.
pub(super) struct Input(Option<Send>);

impl Input {
    /// No body.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// The body `upload`, if there is one.
    pub(super) fn of<U: Upload + 'static>(upload: Option<U>) -> Self {
        Self(upload.map(|upload| -> Send { Box::new(|to, pause_max| Box::pin(send(upload, to, pause_max))) }))
    }

    /// Sends the body in a task of its own, as a program may answer before it has read all of it.
    pub(super) fn start(self, to: Option<pipe::Sender>, pause_max: Duration) -> InputTask {
        let sending = self.0.zip(to).map(|(send, to)| tokio::task::spawn_local(send(to, pause_max)));
        InputTask(sending)
    }
}

async fn send(mut upload: impl Upload, mut to: pipe::Sender, pause_max: Duration) -> Result<(), Error> {
    while let UploadPiece::Data(data) = upload.next().await.map_err(Error::Upload)? {
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

/// The task that sends the body. Dropping it stops the task, and the program reads an end of file.
pub(super) struct InputTask(Option<JoinHandle<Result<(), Error>>>);

impl InputTask {
    pub(super) fn is_running(&self) -> bool {
        self.0.is_some()
    }

    /// Waits until the body has been sent.
    pub(super) async fn ended(&mut self) -> Result<(), Error> {
        let Some(task) = &mut self.0 else { return Ok(()) };
        let sent = task.await.unwrap_or(Err(Error::ClosedEarly));
        self.0 = None;
        sent
    }
}

impl Drop for InputTask {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
