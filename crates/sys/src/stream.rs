//! A connected socket, TCP or Unix, that can be read and written at the same time through a shared reference.
//!
//! Both sides of the path use it: the client's connection and the origin's. Reading and writing take `&self`, so one
//! task can send a response while another still reads the request's body. Reads have no deadline of
//! their own: callers put one around them. Writes take the longest pause in which the peer may take nothing.

use bytes::{BufMut, BytesMut};
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};

/// A read asks for at least that much room, in bytes.
const ROOM_BYTES_MIN: usize = 2 << 10;

/// A connected stream socket.
#[derive(Debug)]
pub enum Stream {
    /// TCP, with TCP_NODELAY set.
    Tcp(TcpStream),
    /// A Unix stream socket.
    Unix(UnixStream),
}

macro_rules! each {
    ($self:expr, $socket:ident => $body:expr) => {
        match $self {
            Stream::Tcp($socket) => $body,
            Stream::Unix($socket) => $body,
        }
    };
}

impl Stream {
    /// A TCP connection; small writes go out at once.
    pub fn tcp(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self::Tcp(socket))
    }

    /// A Unix connection.
    pub fn unix(socket: UnixStream) -> Self {
        Self::Unix(socket)
    }

    /// The address of the other end; `None` for a Unix socket.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.peer_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// The address of this end; `None` for a Unix socket.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Reads what is there, at most `bytes_max`, to the end of `buf`; waits until something is. 0: the peer has
    /// closed its side.
    pub async fn read(&self, buf: &mut BytesMut, bytes_max: usize) -> io::Result<usize> {
        // A peer that always has something to say must not keep the others of this worker from being heard.
        tokio::task::coop::consume_budget().await;
        loop {
            match self.try_read(buf, bytes_max) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            each!(self, socket => socket.readable().await)?;
        }
    }

    /// Reads what is there without waiting, at most `bytes_max`; `WouldBlock` when nothing is.
    pub fn try_read(&self, buf: &mut BytesMut, bytes_max: usize) -> io::Result<usize> {
        // Room is added only when little is left: pieces that are cut off the front share the buffer, so a peer that sends
        // one byte at a time must not make each of them hold a buffer of its own.
        if buf.capacity() - buf.len() < ROOM_BYTES_MIN.min(bytes_max) {
            buf.reserve(bytes_max);
        }
        let mut window = buf.limit(bytes_max);
        each!(self, socket => socket.try_read_buf(&mut window))
    }

    /// Waits until there is something to read, or the peer has closed its side.
    pub async fn readable(&self) -> io::Result<()> {
        each!(self, socket => socket.readable().await)
    }

    /// Writes all of `parts`, with as few system calls as the socket's buffer allows. `TimedOut` when the peer takes
    /// nothing for longer than `pause_max`.
    pub async fn write_all(&self, mut parts: &mut [IoSlice<'_>], pause_max: Duration) -> io::Result<()> {
        tokio::task::coop::consume_budget().await;
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match each!(self, socket => socket.try_write_vectored(parts)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut parts, written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let writable = async { each!(self, socket => socket.writable().await) };
                    tokio::time::timeout(pause_max, writable).await??;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the sending side; the peer reads an end of file. The other direction stays open.
    pub fn shutdown_write(&self) -> io::Result<()> {
        let socket = each!(self, socket => socket2::SockRef::from(socket));
        socket.shutdown(Shutdown::Write)
    }

    /// Makes the close abortive: the peer gets a reset, so that it can't take a cut response for a whole one.
    pub fn reset_on_close(&self) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket2::SockRef::from(socket).set_linger(Some(std::time::Duration::ZERO)),
            Self::Unix(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn single_bytes_share_a_buffer() -> io::Result<()> {
        const BYTES_MAX: usize = 32 << 10;
        let (a, b) = UnixStream::pair()?;
        let (a, b) = (Stream::unix(a), Stream::unix(b));
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
        let (a, b) = (Stream::unix(a), Stream::unix(b));
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
