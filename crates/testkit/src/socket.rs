//! A socket with a buffer of bytes that were read ahead. Every wait is bounded.

use crate::WAIT_MAX;
use crate::message::{Framing, Head, field};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A sender counts as held up when its peer has taken nothing for this long.
const HELD_UP_AFTER: Duration = Duration::from_millis(300);

pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub(crate) struct Socket {
    stream: Stream,
    ahead: Vec<u8>,
    /// Set on the client's end of a connection through a thread ([`memory`](crate::memory)).
    sends: Option<BytesInTransit>,
    /// Set on the end of that thread.
    receives: Option<BytesInTransit>,
}

/// The progress of bytes on their way through a thread. The client that sends bytes waits until the thread has done what they ask
/// for, so that requests reach the engine in the order in which a test sends them.
#[derive(Clone, Default)]
pub(crate) struct BytesInTransit(Arc<Progress>);

#[derive(Default)]
struct Progress {
    written: AtomicU64,
    read: AtomicU64,
    /// The thread has read bytes and not dealt with them yet.
    is_busy: AtomicBool,
    /// A request is with the engine, so the bytes behind it have to wait.
    is_answering: AtomicBool,
}

impl BytesInTransit {
    /// Sets whether a request is with the engine.
    pub(crate) fn answering(&self, is_answering: bool) {
        self.0.is_answering.store(is_answering, Ordering::SeqCst);
    }

    fn has_read(&self, bytes: usize) {
        self.0.is_busy.store(true, Ordering::SeqCst);
        self.0.read.fetch_add(bytes as u64, Ordering::SeqCst);
    }

    fn wait(&self) {
        let Progress { written, read, is_busy, is_answering } = &*self.0;
        let begun = Instant::now();
        let is_done = || {
            is_answering.load(Ordering::SeqCst)
                || read.load(Ordering::SeqCst) == written.load(Ordering::SeqCst) && !is_busy.load(Ordering::SeqCst)
        };
        while !is_done() && begun.elapsed() < WAIT_MAX {
            std::thread::yield_now();
        }
    }
}

/// Why there is nothing more to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The peer closed its side.
    Eof,
    /// The peer reset the connection.
    Reset,
    /// Nothing came for [`WAIT_MAX`].
    Hangs,
}

/// A body as far as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// `None`: the body came to its end.
    pub(crate) stopped: Option<Stopped>,
}

impl Socket {
    pub(crate) fn new(stream: Stream) -> Self {
        let socket = Self { stream, ahead: Vec::new(), sends: None, receives: None };
        socket.sock(|sock| {
            sock.set_read_timeout(Some(WAIT_MAX)).unwrap();
            sock.set_write_timeout(Some(WAIT_MAX)).unwrap();
        });
        if let Stream::Tcp(tcp) = &socket.stream {
            tcp.set_nodelay(true).unwrap();
        }
        socket
    }

    /// Makes this the client's end of a connection through a thread.
    pub(crate) fn sending(self, handed_over: BytesInTransit) -> Self {
        Self { sends: Some(handed_over), ..self }
    }

    /// Makes this the end of that thread.
    pub(crate) fn receiving(self, handed_over: BytesInTransit) -> Self {
        Self { receives: Some(handed_over), ..self }
    }

    fn sock<T>(&self, call: impl FnOnce(SockRef<'_>) -> T) -> T {
        match &self.stream {
            Stream::Tcp(stream) => call(SockRef::from(&stream.as_fd())),
            Stream::Unix(stream) => call(SockRef::from(&stream.as_fd())),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(BytesInTransit(progress)) = &self.sends {
            progress.written.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        }
        match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes)?,
            Stream::Unix(stream) => stream.write_all(bytes)?,
        }
        if let Some(sends) = &self.sends {
            sends.wait();
        }
        Ok(())
    }

    /// Writes until the peer takes nothing for [`HELD_UP_AFTER`], or all is written; returns the number of bytes written.
    pub(crate) fn write_until_held_up(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sock(|sock| sock.set_write_timeout(Some(HELD_UP_AFTER)).unwrap());
        let mut sent = 0;
        let ended = loop {
            let written = match &mut self.stream {
                Stream::Tcp(stream) => stream.write(&bytes[sent..]),
                Stream::Unix(stream) => stream.write(&bytes[sent..]),
            };
            match written {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(sent),
                Err(error) => break Err(error),
            }
            if sent == bytes.len() {
                break Ok(sent);
            }
        };
        self.sock(|sock| sock.set_write_timeout(Some(WAIT_MAX)).unwrap());
        ended
    }

    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        self.sock(|sock| sock.shutdown(Shutdown::Write))
    }

    /// Makes the close that follows a reset.
    pub(crate) fn reset_on_close(&self) {
        self.sock(|sock| sock.set_linger(Some(Duration::ZERO)).unwrap());
    }

    /// Shrinks the receive buffer, so that the sender soon notices when this side does not read.
    pub(crate) fn small_buffer(&self) {
        self.sock(|sock| sock.set_recv_buffer_size(4096).unwrap());
    }

    pub(crate) fn more(&mut self) -> Result<(), Stopped> {
        let mut buf = [0; 64 << 10];
        if let Some(BytesInTransit(progress)) = &self.receives {
            progress.is_busy.store(false, Ordering::SeqCst);
        }
        let read = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(&mut buf),
            Stream::Unix(stream) => stream.read(&mut buf),
        };
        match read {
            Ok(0) => Err(Stopped::Eof),
            Ok(read) => {
                self.ahead.extend_from_slice(&buf[..read]);
                if let Some(receives) = &self.receives {
                    receives.has_read(read);
                }
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(Stopped::Hangs)
            }
            Err(_) => Err(Stopped::Reset),
        }
    }

    /// Whether the peer has closed both of its sides. Only a pair of Unix sockets can tell.
    pub(crate) fn has_left(&self) -> bool {
        const MSG_NOSIGNAL: i32 = 0x4000;
        self.sock(|sock| sock.send_with_flags(&[], MSG_NOSIGNAL).is_err())
    }

    /// Whether anything has come that was not used: bytes, or the end of the connection.
    pub(crate) fn has_something(&mut self) -> bool {
        let set = |socket: &Self, nonblocking| socket.sock(|sock| sock.set_nonblocking(nonblocking).unwrap());
        set(self, true);
        let came = self.more() != Err(Stopped::Hangs);
        set(self, false);
        came || !self.ahead.is_empty()
    }

    /// The bytes that were read and not used.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Reads exactly that many bytes, or as many as come.
    pub(crate) fn exactly(&mut self, count: usize) -> (Vec<u8>, Option<Stopped>) {
        while self.ahead.len() < count {
            if let Err(stopped) = self.more() {
                return (std::mem::take(&mut self.ahead), Some(stopped));
            }
        }
        (self.ahead.drain(..count).collect(), None)
    }

    pub(crate) fn head(&mut self) -> Result<Head, Stopped> {
        loop {
            if let Some(end) = find(&self.ahead, b"\r\n\r\n") {
                let head = Head::parse(&self.ahead[..end]);
                self.ahead.drain(..end + 4);
                return Ok(head);
            }
            self.more()?;
        }
    }

    pub(crate) fn content(&mut self, framing: Framing) -> Content {
        match framing {
            Framing::Nothing => Content::default(),
            Framing::Length(length) => {
                let (body, stopped) = self.exactly(length);
                Content { body, stopped, ..Content::default() }
            }
            Framing::Chunked => {
                let mut content = Content::default();
                content.stopped = self.chunks(&mut content.body, &mut content.trailers).err();
                content
            }
        }
    }

    /// Everything until the peer closes.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, Stopped) {
        loop {
            if let Err(stopped) = self.more() {
                return (std::mem::take(&mut self.ahead), stopped);
            }
        }
    }

    fn chunks(&mut self, body: &mut Vec<u8>, trailers: &mut Vec<(String, String)>) -> Result<(), Stopped> {
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
            let size = size.unwrap_or_else(|_| panic!("not a chunk size: {line:?}"));
            if size == 0 {
                break;
            }
            let (data, stopped) = self.exactly(size);
            body.extend(data);
            stopped.map_or(Ok(()), Err)?;
            assert_eq!(self.line()?, "", "behind a chunk");
        }
        loop {
            match self.line()?.as_str() {
                "" => return Ok(()),
                line => trailers.push(field(line)),
            }
        }
    }

    fn line(&mut self) -> Result<String, Stopped> {
        loop {
            if let Some(end) = find(&self.ahead, b"\r\n") {
                let line = String::from_utf8_lossy(&self.ahead[..end]).into_owned();
                self.ahead.drain(..end + 2);
                return Ok(line);
            }
            self.more()?;
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
