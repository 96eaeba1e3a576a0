//! A connected socket, TCP or Unix, that can be read and written at the same time through a shared reference.
//!
//! Client and origin connections both use it. Reading and writing take `&self`, so one task can send a response while another still
//! reads the request's body. Reads have no deadline of their own: callers put one around them. Writes take the longest pause in which
//! the peer may take nothing.
//!
//! No system call is made in vain: a read that got less than it had room for has emptied the socket, a write that could not place all
//! its data has filled it, and in both cases the next one waits for the event loop. So an exchange on a kept connection is one read
//! and one write. A socket is registered with the event loop when it first has to wait: a connection that brings its request with it,
//! gets its answer and is closed is never registered.

mod send_file;

use crate::AcceptedSocket;
use crate::pause::while_peer_takes;
use bytes::{BufMut, BytesMut};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
pub use send_file::Unsent;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::cell::{Cell, OnceCell};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
#[cfg(test)]
use tokio::net::TcpStream;
use tokio::net::UnixStream;
use tokio::task::coop::poll_proceed;

/// A read asks for at least that much room, in bytes.
const ROOM_BYTES_MIN: usize = 2 << 10;

/// A connected stream socket in the event loop of the thread that made it.
#[derive(Debug)]
pub struct Stream {
    /// The registration with the event loop, made at the first wait. It stands before the socket, so that it is dropped first.
    watched: OnceCell<AsyncFd<Descriptor>>,
    socket: Socket,
    /// Whether the first read is tried without the event loop: nothing was read yet, and data should be there.
    is_readable: Cell<bool>,
    is_tcp: bool,
    /// How many bytes the kernel has taken.
    sent_bytes: Cell<u64>,
    local_address: OnceCell<Option<SocketAddr>>,
}

/// The number of a descriptor that something else owns.
#[derive(Debug)]
struct Descriptor(RawFd);

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Stream {
    /// A connection that was accepted, on this thread or on another one.
    pub fn accepted(accepted: AcceptedSocket) -> Self {
        let stream = Self::new(accepted.socket.into(), accepted.peer.is_some());
        stream.is_readable.set(accepted.has_data);
        stream
    }

    /// Connects to that address; small writes go out at once. Waits for as long as the kernel tries.
    pub async fn connect_tcp(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        let is_connected = match socket.connect(&address.into()) {
            Ok(()) => true,
            Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => false,
            Err(error) => return Err(error),
        };
        let stream = Self::new(socket, true);
        if !is_connected {
            // The event loop only tells that the attempt is over; the socket tells its result.
            poll_fn(|cx| stream.watched()?.poll_write_ready(cx).map_ok(drop)).await?;
            stream.socket.take_error()?.map_or(Ok(()), Err)?;
        }
        Ok(stream)
    }

    /// Connects to the socket at that path. `WouldBlock`: its queue of connections is full.
    pub fn connect_unix(path: &Path) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        socket.connect(&SockAddr::unix(path)?)?;
        Ok(Self::new(socket, false))
    }

    /// A TCP connection; small writes go out at once.
    #[cfg(test)]
    pub(crate) fn tcp(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self::new(socket.into_std()?.into(), true))
    }

    /// A Unix connection.
    pub fn unix(socket: UnixStream) -> io::Result<Self> {
        Ok(Self::new(OwnedFd::from(socket.into_std()?).into(), false))
    }

    fn new(socket: Socket, is_tcp: bool) -> Self {
        let (is_readable, sent_bytes) = (Cell::new(false), Cell::new(0));
        Self { watched: OnceCell::new(), socket, is_readable, is_tcp, sent_bytes, local_address: OnceCell::new() }
    }

    /// The registration with the event loop, which is made if need be.
    #[allow(unsafe_code)]
    fn watched(&self) -> io::Result<&AsyncFd<Descriptor>> {
        if let Some(watched) = self.watched.get() {
            return Ok(watched);
        }
        // SAFETY: the socket owns its descriptor, nothing takes it out or replaces it, and it is dropped after this.
        let watched = unsafe { AsyncFd::register(Descriptor(self.socket.as_raw_fd())) }?;
        Ok(self.watched.get_or_init(|| watched))
    }

    /// The address of this end; `None` for a Unix socket.
    pub fn local_address(&self) -> Option<SocketAddr> {
        *self.local_address.get_or_init(|| self.socket.local_addr().ok()?.as_socket())
    }

    /// Appends what is there to `buf`, at most `bytes_max`; waits until there is something. 0: the peer has closed its side. Cancel
    /// safe: dropping the future loses no bytes. One task may wait at a time.
    pub async fn read(&self, buf: &mut BytesMut, bytes_max: usize) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, buf, bytes_max)).await
    }

    /// [`Stream::read`] as a poll: for a buffer that several connections share.
    // Each read costs a bit of the task's budget (Tokio's cooperative scheduling), so a peer that always has data does not keep this
    // worker's other connections waiting.
    pub fn poll_read(&self, cx: &mut Context<'_>, buf: &mut BytesMut, bytes_max: usize) -> Poll<io::Result<usize>> {
        if self.is_readable.get()
            && let Some(done) = ready!(poll_at_once(cx, || self.receive(buf, bytes_max)))
        {
            self.is_readable.set(false);
            return Poll::Ready(done.map(|(read, _)| read));
        }
        self.is_readable.set(false);
        loop {
            let mut ready = ready!(self.watched()?.poll_read_ready(cx))?;
            match self.receive(buf, bytes_max) {
                Ok((read, room)) => {
                    // A read from a Unix socket may return less than is queued.
                    if self.is_tcp && 0 < read && read < room {
                        ready.clear_ready();
                    }
                    return Poll::Ready(Ok(read));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Reads what is there without waiting, at most `bytes_max`; `WouldBlock` when nothing is.
    pub fn try_read(&self, buf: &mut BytesMut, bytes_max: usize) -> io::Result<usize> {
        self.receive(buf, bytes_max).map(|(read, _)| read)
    }

    /// One system call: the bytes that came, and how many there was room for.
    #[allow(unsafe_code)]
    fn receive(&self, buf: &mut BytesMut, bytes_max: usize) -> io::Result<(usize, usize)> {
        // Room is added only when little is left: pieces that are cut off the front share the buffer, and if a peer sends one byte at
        // a time, no byte must hold a buffer of its own.
        if buf.capacity() - buf.len() < ROOM_BYTES_MIN.min(bytes_max) {
            buf.reserve(bytes_max);
        }
        let spare = buf.spare_capacity_mut();
        let room = spare.len().min(bytes_max);
        let spare = spare.get_mut(..room).unwrap_or_default();
        let ((received, _), _) = rustix::net::recv(&self.socket, spare, RecvFlags::empty())?;
        let read = received.len();
        // SAFETY: recv has written `read` bytes to the start of the spare capacity.
        unsafe { buf.advance_mut(read) };
        Ok((read, room))
    }

    /// Bytes that the kernel has taken of what was written so far.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes.get()
    }

    /// Bytes that the peer has taken of what was written so far: all but what still waits in the socket's buffer.
    #[allow(unsafe_code)]
    pub fn taken_bytes(&self) -> u64 {
        // SAFETY: TIOCOUTQ, which sockets know as SIOCOUTQ, writes one int and nothing else (tcp(7), unix(7)).
        let waiting = unsafe { rustix::ioctl::ioctl(&self.socket, Getter::<TIOCOUTQ, i32>::new()) };
        self.sent_bytes.get().saturating_sub(waiting.unwrap_or(0).try_into().unwrap_or(0))
    }

    /// Writes all of `parts`, with as few system calls as the socket's buffer allows. `TimedOut` when the peer takes
    /// nothing for longer than `pause_max`.
    pub async fn write_all(&self, mut parts: &mut [IoSlice<'_>], pause_max: Duration) -> io::Result<()> {
        while poll_once(|cx| self.poll_write_all(cx, &mut parts)).await.transpose()?.is_none() {
            // Only a write that has to wait needs a timer, and memory for it.
            let written = Box::pin(self.write_later(parts, pause_max)).await?;
            self.has_sent(&mut parts, written);
        }
        Ok(())
    }

    /// Writes as much of `parts` as there is room for; `parts` becomes the rest. Pending: there is a rest, and the task is woken when
    /// there is room again.
    pub fn poll_write_all(&self, cx: &mut Context<'_>, parts: &mut &mut [IoSlice<'_>]) -> Poll<io::Result<()>> {
        self.has_sent(parts, 0);
        while !parts.is_empty() {
            let written = ready!(self.poll_write(cx, parts, NO_SIGNAL))?;
            self.has_sent(parts, written);
        }
        Poll::Ready(Ok(()))
    }

    fn has_sent(&self, parts: &mut &mut [IoSlice<'_>], bytes: usize) {
        self.sent_bytes.set(self.sent_bytes.get() + bytes as u64);
        IoSlice::advance_slices(parts, bytes);
    }

    /// Waits until there is room for a part of `parts`. If a peer takes a little now and then, there may be no room for long: the
    /// kernel reports it only when a part of its buffer is free. So the timeout looks at what the peer has taken.
    async fn write_later(&self, parts: &[IoSlice<'_>], pause_max: Duration) -> io::Result<usize> {
        while_peer_takes(pause_max, || self.taken_bytes(), |cx| self.poll_write(cx, parts, NO_SIGNAL)).await
    }

    fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>], flags: SendFlags) -> Poll<io::Result<usize>> {
        let fills = |written: &usize| self.is_tcp && *written < parts.iter().map(|part| part.len()).sum();
        self.poll_with_room(cx, || self.send(parts, flags), fills)
    }

    /// Makes the attempt as soon as there is room. `fills` tells from its result whether the socket is full now.
    fn poll_with_room<T>(
        &self,
        cx: &mut Context<'_>,
        mut attempt: impl FnMut() -> io::Result<T>,
        fills: impl Fn(&T) -> bool,
    ) -> Poll<io::Result<T>> {
        if self.watched.get().is_none()
            && let Some(done) = ready!(poll_at_once(cx, &mut attempt))
        {
            // The socket is full: the next attempt waits for room.
            if done.as_ref().is_ok_and(fills) {
                self.watched()?;
            }
            return Poll::Ready(done);
        }
        loop {
            let mut ready = ready!(self.watched()?.poll_write_ready(cx))?;
            match attempt() {
                Ok(done) => {
                    if fills(&done) {
                        ready.clear_ready();
                    }
                    return Poll::Ready(Ok(done));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// One system call: how many bytes the kernel took.
    fn send(&self, parts: &[IoSlice<'_>], flags: SendFlags) -> io::Result<usize> {
        let sent = match parts {
            // One piece alone costs the kernel less than a list of one.
            [only] => rustix::net::send(&self.socket, only, flags)?,
            parts => rustix::net::sendmsg(&self.socket, parts, &mut SendAncillaryBuffer::default(), flags)?,
        };
        if sent == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(sent) }
    }

    /// Ends the sending side; the peer reads an end of file. The other direction stays open.
    pub fn shutdown_write(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    /// Ends the receiving side, here: what has arrived can still be read, and then comes an end of file.
    pub fn shutdown_read(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Read)
    }

    /// Makes the close abortive: the peer gets a reset, so that it can't take a cut response for a whole one.
    pub fn reset_on_close(&self) -> io::Result<()> {
        if self.is_tcp { self.socket.set_linger(Some(Duration::ZERO)) } else { Ok(()) }
    }
}

/// How many bytes still wait in a socket's buffer (asm-generic/ioctls.h).
const TIOCOUTQ: Opcode = 0x5411;

/// A peer that is gone is an error of the write, not a signal for the process.
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;

/// Makes a system call without asking the event loop; it costs a bit of the task's budget as well. `None`: it has to wait.
fn poll_at_once<T>(cx: &mut Context<'_>, attempt: impl FnOnce() -> io::Result<T>) -> Poll<Option<io::Result<T>>> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    let turn = ready!(poll_proceed(cx));
    Poll::Ready(match attempt() {
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => None,
        done => {
            turn.made_progress();
            Some(done)
        }
    })
}

/// The result of one poll; `None`: it is pending.
async fn poll_once<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    poll_fn(|cx| match poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[tokio::test(flavor = "current_thread")]
    async fn a_connection_carries_what_is_written_or_says_why_there_is_none() -> io::Result<()> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let connected = Stream::connect_tcp(listener.local_addr()?).await?;
        connected.write_all(&mut [IoSlice::new(b"over tcp")], Duration::from_secs(5)).await?;
        let mut received = [0; 8];
        std::io::Read::read_exact(&mut listener.accept()?.0, &mut received)?;
        assert_eq!(&received, b"over tcp");
        let gone = listener.local_addr()?;
        drop(listener);
        let refused = Stream::connect_tcp(gone).await.map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));

        let path = std::env::temp_dir().join(format!("kasoku-connect-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path)?;
        let connected = Stream::connect_unix(&path)?;
        connected.write_all(&mut [IoSlice::new(b"over unix")], Duration::from_secs(5)).await?;
        let mut received = [0; 9];
        std::io::Read::read_exact(&mut listener.accept()?.0, &mut received)?;
        assert_eq!(&received, b"over unix");
        drop(listener);
        let refused = Stream::connect_unix(&path).map_err(|error| error.kind());
        std::fs::remove_file(&path)?;
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));
        let absent = Stream::connect_unix(&path).map_err(|error| error.kind());
        assert_eq!(absent.err(), Some(io::ErrorKind::NotFound));
        Ok(())
    }

    /// An accepted connection, and its other end.
    fn accepted(has_data: bool) -> (Stream, std::net::TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, peer) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        (Stream::accepted(AcceptedSocket { socket: socket.into(), has_data, peer: Some(peer) }), client)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_event_loop_is_told_of_a_socket_that_has_to_be_waited_for() -> io::Result<()> {
        let (stream, mut client) = accepted(true);
        io::Write::write_all(&mut client, b"request")?;
        let mut buf = BytesMut::new();
        assert_eq!((stream.read(&mut buf, 100).await?, &buf[..]), (7, &b"request"[..]));
        stream.write_all(&mut [IoSlice::new(b"answer")], Duration::from_secs(5)).await?;
        assert!(stream.watched.get().is_none(), "nothing had to be waited for");
        let next = async {
            let read = stream.read(&mut buf, 100).await;
            assert!(stream.watched.get().is_some(), "the next request had to be");
            read
        };
        let (read, written) = tokio::join!(next, async { io::Write::write_all(&mut client, b"another") });
        written?;
        assert_eq!(read?, 7);
        Ok(())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_did_not_come_with_its_connection_is_waited_for() -> io::Result<()> {
        for has_data in [true, false] {
            let (stream, mut client) = accepted(has_data);
            let mut buf = BytesMut::new();
            let (read, written) =
                tokio::join!(stream.read(&mut buf, 100), async { io::Write::write_all(&mut client, b"late") });
            written?;
            assert_eq!((read?, &buf[..]), (4, &b"late"[..]));
        }
        Ok(())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_socket_that_was_never_waited_for_takes_what_it_can_and_the_rest_later() -> io::Result<()> {
        const BYTES: usize = 32 << 20;
        let (stream, mut client) = accepted(true);
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            io::Read::read_to_end(&mut client, &mut all).map(|_| all)
        });
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        stream.write_all(&mut [IoSlice::new(&bytes)], Duration::from_secs(20)).await?;
        assert!(stream.watched.get().is_some(), "it was full");
        assert_eq!(stream.sent_bytes(), BYTES as u64);
        drop(stream);
        assert!(reader.join().unwrap()? == bytes);
        Ok(())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_was_never_waited_for_gives_others_their_turn_as_well() -> io::Result<()> {
        let (stream, client) = accepted(true);
        let writes = Rc::new(Cell::new(0));
        let (own, counted) = (tokio::task::LocalSet::new(), writes.clone());
        own.spawn_local(async move {
            // Less than the socket's buffer takes, so that it never has to wait for room.
            for _ in 0..1_000 {
                stream.write_all(&mut [IoSlice::new(b"x")], Duration::from_secs(5)).await.unwrap();
                counted.set(counted.get() + 1);
            }
            assert!(stream.watched.get().is_none());
        });
        let others_turn = own.run_until(async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            writes.get()
        });
        let others_turn = others_turn.await;
        assert!((1..1_000).contains(&others_turn), "{others_turn}");
        own.await;
        assert_eq!(writes.get(), 1_000);
        drop(client);
        Ok(())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn single_bytes_share_a_buffer() -> io::Result<()> {
        const BYTES_MAX: usize = 32 << 10;
        let (a, b) = UnixStream::pair()?;
        let (a, b) = (Stream::unix(a)?, Stream::unix(b)?);
        let mut buf = BytesMut::new();
        let mut pieces = Vec::new();
        for _ in 0..100 {
            a.write_all(&mut [IoSlice::new(b"x")], Duration::from_secs(5)).await?;
            b.read(&mut buf, BYTES_MAX).await?;
            pieces.push(buf.split().freeze());
        }
        let distance = |one: &[u8], other: &[u8]| other.as_ptr() as usize - one.as_ptr() as usize;
        assert_eq!(distance(&pieces[0], &pieces[99]), 99);
        Ok(())
    }

    #[tokio::test(flavor = "current_thread")]
    async fn both_directions_work_through_a_shared_reference() -> io::Result<()> {
        let (a, b) = UnixStream::pair()?;
        let (a, b) = (Stream::unix(a)?, Stream::unix(b)?);
        let mut buf = BytesMut::new();
        let mut parts = [IoSlice::new(b"hel"), IoSlice::new(b""), IoSlice::new(b"lo")];
        let (written, read) = tokio::join!(a.write_all(&mut parts, Duration::from_secs(5)), b.read(&mut buf, 3));
        written?;
        assert_eq!((read?, &buf[..]), (3, &b"hel"[..]));
        assert_eq!(b.try_read(&mut buf, 10)?, 2);
        assert_eq!(b.try_read(&mut buf, 10).map_err(|e| e.kind()), Err(io::ErrorKind::WouldBlock));
        a.shutdown_write()?;
        assert_eq!(b.read(&mut buf, 10).await?, 0);
        Ok(())
    }
}
