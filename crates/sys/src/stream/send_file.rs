//! Sends bytes of a file into a socket without copying them through this process (sendfile(2)).
//!
//! The socket takes references to the pages that the kernel keeps of the file. So nothing is copied, and no buffer is held while the
//! peer is slow. A change to the file after a page was taken and before it has left goes out as well. The calling thread waits for a
//! page that is not in memory; a caller that must not wait makes sure beforehand that it is.
//!
//! sendfile(2) knows no MSG_NOSIGNAL. A program in Rust ignores SIGPIPE; one in another language that embeds this must do so.

use super::{NO_SIGNAL, Stream};
use rustix::net::SendFlags;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

/// How much unsent data a client's TCP socket takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// 256 KiB, the default of accepted sockets. More would only wait in the kernel, for each slow client, and hide how slow it is.
    Little,
    /// As much as the socket's buffer holds, which the kernel makes larger on long and fast paths (`net.ipv4.tcp_wmem`).
    WhatFits,
}

impl Unsent {
    pub(crate) fn bytes_max(self) -> u32 {
        match self {
            Self::Little => 256 << 10,
            Self::WhatFits => u32::MAX,
        }
    }
}

/// More data comes at once: the kernel sends what it has together with that, or a fifth of a second later at most (tcp(7)).
const MORE_FOLLOWS: SendFlags = SendFlags::MORE;

impl Stream {
    /// Sends as many of the `bytes_max` bytes of `file` at `offset` as there is room for; 0: the file ends there. Pending: the task
    /// is woken when there is room. [`io::ErrorKind::InvalidInput`]: this file can't be sent with sendfile(2), but can be read.
    // Unlike a short write, a short count does not show that the socket is full: the file may have ended. So only the next call finds
    // out; otherwise a task could wait for room that is there.
    pub fn poll_send_file(
        &self,
        cx: &mut Context<'_>,
        file: impl AsFd,
        offset: u64,
        bytes_max: usize,
    ) -> Poll<io::Result<usize>> {
        let send = || Ok(rustix::fs::sendfile(&self.socket, &file, Some(&mut { offset }), bytes_max)?);
        let sent = ready!(self.poll_with_room(cx, send, |_| false))?;
        self.sent_bytes.set(self.sent_bytes.get() + sent as u64);
        Poll::Ready(Ok(sent))
    }

    /// Sets how much unsent data the socket takes, from now on. It has no effect on sockets other than TCP.
    pub fn keep_unsent(&self, unsent: Unsent) {
        if self.is_tcp {
            let _ = self.socket.set_tcp_notsent_lowat(unsent.bytes_max());
        }
    }

    /// Ready when there is room.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watched()?.poll_write_ready(cx).map_ok(drop)
    }

    /// Writes as much of `start` as there is room for. More must follow at once: both then share a packet. Returns the number of bytes.
    pub fn poll_write_start(&self, cx: &mut Context<'_>, start: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(self.poll_write(cx, &[IoSlice::new(start)], NO_SIGNAL | MORE_FOLLOWS))?;
        self.sent_bytes.set(self.sent_bytes.get() + written as u64);
        Poll::Ready(Ok(written))
    }
}

#[cfg(test)]
mod tests {
    use super::super::poll_once;
    use super::*;
    use crate::pause::while_peer_takes;
    use bytes::BytesMut;
    use std::fs::File;
    use std::io::Write;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpStream, UnixStream};

    impl Stream {
        async fn has_room(&self, pause_max: Duration) -> io::Result<()> {
            while_peer_takes(pause_max, || self.taken_bytes(), |cx| self.poll_room(cx)).await
        }

        async fn write_start(&self, start: &[u8]) -> io::Result<usize> {
            Ok(poll_once(|cx| self.poll_write_start(cx, start)).await.transpose()?.unwrap_or(0))
        }

        async fn send_file(&self, file: impl AsFd, offset: u64, bytes_max: usize) -> io::Result<Option<usize>> {
            poll_once(|cx| self.poll_send_file(cx, file.as_fd(), offset, bytes_max)).await.transpose()
        }
    }

    const LONG: Duration = Duration::from_secs(10);

    async fn pair() -> (Stream, Stream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (connected, accepted) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        let a = Stream::tcp(connected.unwrap()).unwrap();
        // The event loop has not yet seen a new socket.
        a.has_room(LONG).await.unwrap();
        (a, Stream::tcp(accepted.unwrap().0).unwrap())
    }

    async fn unix_pair() -> (Stream, Stream) {
        let (a, b) = UnixStream::pair().unwrap();
        let a = Stream::unix(a).unwrap();
        a.has_room(LONG).await.unwrap();
        (a, Stream::unix(b).unwrap())
    }

    fn file_of(content: &[u8]) -> File {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = std::env::temp_dir().join(format!("kasoku-send-file-{}-{number}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&name).unwrap();
        std::fs::remove_file(name).unwrap();
        file.write_all(content).unwrap();
        file
    }

    async fn read_all(from: &Stream) -> Vec<u8> {
        let (mut all, mut buf) = (Vec::new(), BytesMut::new());
        while from.read(&mut buf, 64 << 10).await.unwrap() > 0 {
            all.extend_from_slice(&buf.split());
        }
        all
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_file_arrives_behind_its_head_in_however_many_steps_there_is_room_for() {
        let content: Vec<u8> = (0..9_000_001_u32).map(|number| (number % 251) as u8).collect();
        let file = file_of(&content);
        let (a, b) = pair().await;
        let sending = async {
            assert_eq!(a.write_start(b"head").await.unwrap(), 4);
            let (mut position, mut waits) = (1, 0);
            loop {
                match a.send_file(&file, position, 1 << 20).await.unwrap() {
                    Some(0) => break,
                    Some(sent) => position += sent as u64,
                    None => {
                        waits += 1;
                        a.has_room(LONG).await.unwrap();
                    }
                }
            }
            a.shutdown_write().unwrap();
            (a.sent_bytes(), waits > 0)
        };
        let ((sent, has_waited), received) = tokio::join!(sending, read_all(&b));
        assert!(received.strip_prefix(b"head").unwrap() == &content[1..]);
        assert_eq!((sent, has_waited), (9_000_004, true));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_unix_socket_takes_a_file_as_well() {
        let (a, b) = unix_pair().await;
        assert_eq!(a.send_file(&file_of(b"0123456789"), 3, 4).await.unwrap(), Some(4));
        a.shutdown_write().unwrap();
        assert_eq!(read_all(&b).await, b"3456");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_peer_that_takes_nothing_is_waited_for_only_so_long() {
        let file = file_of(&vec![b'x'; 32 << 20]);
        let (a, _b) = pair().await;
        let mut position = 0;
        while let Some(sent) = a.send_file(&file, position, 32 << 20).await.unwrap() {
            position += sent as u64;
        }
        assert!(position < 32 << 20);
        let waited = a.has_room(Duration::from_millis(20)).await;
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_peer_that_is_gone_is_an_error_and_not_a_signal() {
        let file = file_of(b"0123456789");
        let (a, b) = unix_pair().await;
        drop(b);
        assert_eq!(a.send_file(&file, 0, 10).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
