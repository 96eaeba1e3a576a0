//! Sends a file by sendfile(2): from the kernel's memory into the socket, a window at a time.
//!
//! While its client is slow, a download holds the file and the head's few bytes, but no buffer and no thread. Between any two
//! windows, the worker's other connections have their turn. A window is looked at again after each wait (`FileBody::has_waited`),
//! since what was in memory before may be gone.
//!
//! A small file is copied into a buffer of the worker and goes out with the head in one system call. If not all of it finds room,
//! the rest is sent from the file.

use crate::deliver::outgoing::pacing::Pacing;
use crate::deliver::outgoing::{Outgoing, at_once, in_time, unless_too_slow};
use crate::exchange::Exchange;
use crate::runtime::scratch::ScratchBuffer;
use kasoku_origin::{BodyPiece, Error};
use kasoku_programs::{FileBody, FileParts};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Why a file was not sent to its end.
pub(crate) enum Interrupted {
    /// The client has gone, or takes too little.
    Client,
    /// The disk tier does not give the bytes.
    Disk,
    /// The file did not give the bytes that were announced, or can't be read.
    File(Error),
}

impl From<Error> for Interrupted {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

impl From<io::Error> for Interrupted {
    fn from(_: io::Error) -> Self {
        Self::Client
    }
}

/// Which of its two ends made sendfile(2) fail: the client's socket, or the file.
fn of_sendfile(error: io::Error) -> Interrupted {
    match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotConnected
        | io::ErrorKind::TimedOut => Interrupted::Client,
        _ => Interrupted::File(Error::Io(error)),
    }
}

impl Outgoing<'_> {
    /// Sends a file, all of which the head has announced. The caller ends the answer after it.
    pub(crate) async fn file(&mut self, body: &mut FileBody) -> Result<(), Interrupted> {
        let exchange = self.exchange;
        let rate_max = body.rate_max().unwrap_or(self.rate_max());
        if (rate_max == 0 || rate_max >= body.left()) && self.copied(body).await? {
            return Ok(());
        }
        let mut pacing = Pacing::begin(rate_max);
        loop {
            let (bytes_max, has_waited) = self.turn(&pacing, body.left()).await?;
            if has_waited {
                body.has_waited(false);
            }
            let Some(window) = self.awaited(body.window()).await? else { return Ok(()) };
            let length = window.length.min(bytes_max);
            let (file, position) = (window.file.as_fd(), window.position);
            let head = &mut self.head;
            match at_once(|cx| exchange.door.poll_send_file(cx, head, file, position, length)).await.transpose() {
                Ok(None) => {
                    self.room().await?;
                    body.has_waited(exchange.door.is_eager());
                }
                Ok(Some(0)) => return Err(Error::FileChanged.into()),
                Ok(Some(sent)) => {
                    let is_all = sent == window.length;
                    self.has_sent(body, sent);
                    pacing.iter_mut().for_each(|pacing| pacing.has_sent(sent));
                    if is_all && body.left() > 0 {
                        tokio::task::yield_now().await;
                    }
                }
                Err(error) => match error.kind() {
                    // The door or the file system can't send files so, or a filter of system calls forbids it.
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied => {
                        return self.pieces(body, pacing).await;
                    }
                    _ => return Err(of_sendfile(error)),
                },
            }
        }
    }

    /// Sends several parts of a file through memory; the head has announced all of them. The caller ends the answer after them.
    pub(crate) async fn file_parts(&mut self, parts: &mut FileParts) -> Result<(), Interrupted> {
        let mut pacing = Pacing::begin(parts.rate_max().unwrap_or(self.rate_max()));
        loop {
            self.turn(&pacing, parts.left()).await?;
            let BodyPiece::Data(piece) = self.awaited(parts.next()).await? else { return Ok(()) };
            pacing.iter_mut().for_each(|pacing| pacing.has_sent(piece.len()));
            self.piece(piece).await?;
        }
    }

    /// The configured rate, in bytes per second; 0: as fast as the client takes it.
    fn rate_max(&self) -> u64 {
        self.exchange.route.as_ref().map_or(0, |route| route.file_rate_max)
    }

    /// Waits until something may be sent; returns how many bytes, and whether there was a wait.
    async fn turn(&self, pacing: &Option<Pacing>, left: u64) -> io::Result<(usize, bool)> {
        let Some(pacing) = pacing else { return Ok((usize::MAX, false)) };
        let mut has_waited = false;
        loop {
            match pacing.now(left) {
                Ok(bytes) => return Ok((usize::try_from(bytes).unwrap_or(usize::MAX), has_waited)),
                Err(wait) => self.rest(wait).await?,
            }
            has_waited = true;
        }
    }

    /// Waits for that time, unless the client goes away.
    async fn rest(&self, wait: Duration) -> io::Result<()> {
        self.exchange.takes_time();
        Box::pin(async {
            tokio::select! {
                biased;
                () = self.exchange.gone() => Err(io::ErrorKind::ConnectionReset.into()),
                () = tokio::time::sleep(wait) => Ok(()),
            }
        })
        .await
    }

    /// Sends a small file together with the head; returns whether that was all of it.
    async fn copied(&mut self, body: &mut FileBody) -> Result<bool, Interrupted> {
        let left = usize::try_from(body.left()).unwrap_or(usize::MAX);
        if !(1..=ScratchBuffer::BYTES).contains(&left) {
            return Ok(false);
        }
        let taken = poll_fn(|cx| Poll::Ready(self.copy(cx, body, left)));
        // Outside tokio's budget: the reads give other tasks their turn.
        let taken = tokio::task::unconstrained(taken).await?;
        self.has_sent(body, taken);
        Ok(body.left() == 0)
    }

    /// Returns how many bytes of the file the door has taken.
    fn copy(&mut self, cx: &mut Context<'_>, body: &FileBody, left: usize) -> Result<usize, Interrupted> {
        let Exchange { worker, door, .. } = self.exchange;
        let mut scratch = worker.scratch.0.borrow_mut();
        let Some(file) = scratch.get_mut(..left) else { return Ok(0) };
        if !body.copy_at_once(file)? {
            return Ok(0);
        }
        let mut piece = [IoSlice::new(file)];
        let mut pieces = &mut piece[..];
        if let Poll::Ready(Err(error)) = door.poll_send(cx, &mut self.head, &mut pieces) {
            return Err(error.into());
        }
        Ok(left - pieces.iter().map(|piece| piece.len()).sum::<usize>())
    }

    /// The next part of a file. While the disk is waited for, the head goes out, so that the client sees that an answer has begun.
    async fn awaited<T>(&mut self, next: impl Future<Output = Result<T, Error>>) -> Result<T, Interrupted> {
        let mut next = pin!(next);
        match poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await {
            Poll::Ready(next) => Ok(next?),
            Poll::Pending => {
                self.exchange.takes_time();
                self.flush().await?;
                Ok(next.await?)
            }
        }
    }

    fn has_sent(&mut self, body: &mut FileBody, bytes: usize) {
        body.has_sent(bytes);
        self.delivered.body_bytes += bytes as u64;
        self.exchange.progressed(self.delivered.status, self.delivered.body_bytes);
    }

    /// Waits until the client takes something.
    async fn room(&self) -> io::Result<()> {
        let exchange = self.exchange;
        let began = Instant::now();
        // Boxed: only a client that has to be waited for needs the timer and its memory.
        let room = in_time(exchange, |cx| exchange.door.poll_room(cx));
        let room = Box::pin(unless_too_slow(exchange, &self.holds, room)).await;
        exchange.door.has_paused(began.elapsed());
        room
    }

    /// Sends a file through memory, where it can't be sent without reading it.
    async fn pieces(&mut self, body: &mut FileBody, mut pacing: Option<Pacing>) -> Result<(), Interrupted> {
        loop {
            self.turn(&pacing, body.left()).await?;
            let BodyPiece::Data(piece) = body.next().await? else { return Ok(()) };
            pacing.iter_mut().for_each(|pacing| pacing.has_sent(piece.len()));
            self.piece(piece).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_sector_is_not_the_clients_fault() {
        // EPIPE, ECONNRESET, ETIMEDOUT; EIO, EOVERFLOW, ENOMEM.
        let is_clients = |code| matches!(of_sendfile(io::Error::from_raw_os_error(code)), Interrupted::Client);
        assert_eq!([32, 104, 110, 5, 75, 12].map(is_clients), [true, true, true, false, false, false]);
    }
}
