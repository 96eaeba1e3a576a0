//! Taking connections from a listening socket.
//!
//! What is taken belongs to no event loop yet, so it can be handed to another thread before it becomes a
//! [`Stream`](crate::Stream) there.

use crate::listen::ListeningSocket;
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with};
use socket2::{Domain, SockFilter, SockRef};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A listening socket in the event loop of this thread.
#[derive(Debug)]
pub struct Acceptor(AsyncFd<OwnedFd>);

/// A connection that belongs to no event loop yet.
#[derive(Debug)]
pub struct Accepted {
    pub(crate) socket: OwnedFd,
    /// The other end's address; `None` for a Unix socket.
    pub peer: Option<SocketAddr>,
}

impl Acceptor {
    /// Registers a listening socket.
    #[allow(unsafe_code)]
    pub fn new(socket: ListeningSocket) -> io::Result<Self> {
        let socket = match socket {
            ListeningSocket::Tcp(socket) => OwnedFd::from(socket),
            ListeningSocket::Unix(socket) => OwnedFd::from(socket),
        };
        // SAFETY: the descriptor is owned, and nobody takes it out or replaces it while it is registered.
        let socket = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }?;
        Ok(Self(socket))
    }

    /// Lets nobody begin to connect any more: whoever does finds out when the socket is closed. Connections that have
    /// begun are completed and can be accepted. It holds for all duplicates of the socket, in all processes, for good.
    ///
    /// A socket that is closed resets who waits in its queue, and between a look at an empty queue and the close somebody
    /// can come. After this, nobody does.
    ///
    /// # Errors
    /// The kernel's. A Unix socket is `Unsupported`: there, connecting has no beginning of its own.
    pub fn refuse_new(&self) -> io::Result<()> {
        // Classic BPF on the TCP header: a segment with SYN is dropped. (Listening sockets get no other with SYN than the first
        // of a connection.)
        const LOAD_BYTE: u16 = 0x30;
        const JUMP_IF_SET: u16 = 0x45;
        const RETURN: u16 = 0x06;
        const FLAGS_AT: u32 = 13;
        const SYN: u32 = 0x02;
        let drop_syn = [
            SockFilter::new(LOAD_BYTE, 0, 0, FLAGS_AT),
            SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
            SockFilter::new(RETURN, 0, 0, 0),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
        ];
        let socket = SockRef::from(self.0.get_ref());
        if socket.domain()? == Domain::UNIX {
            return Err(io::ErrorKind::Unsupported.into());
        }
        socket.attach_filter(&drop_syn)
    }

    /// The next connection, if one waits.
    pub fn try_accept(&self) -> io::Result<Option<Accepted>> {
        match acceptfrom_with(self.0.get_ref(), ACCEPTED) {
            Ok((socket, peer)) => Ok(Some(Accepted::new(socket, peer))),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a connection. TCP connections send small writes at once: they inherit TCP_NODELAY from the listening
    /// socket.
    pub async fn accept(&self) -> io::Result<Accepted> {
        let (socket, peer) =
            self.0.async_io(Interest::READABLE, |listener| Ok(acceptfrom_with(listener, ACCEPTED)?)).await?;
        Ok(Accepted::new(socket, peer))
    }
}

/// How connections are accepted.
const ACCEPTED: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

impl Accepted {
    fn new(socket: OwnedFd, peer: Option<SocketAddrAny>) -> Self {
        Self { socket, peer: peer.and_then(|address| address.try_into().ok()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    #[tokio::test(flavor = "current_thread")]
    async fn after_it_refuses_new_ones_who_has_connected_is_accepted_and_nobody_else_connects() {
        let socket = listen::tcp(([127, 0, 0, 1], 0).into(), 1).unwrap().remove(0);
        let address = socket.local_address().unwrap();
        let acceptor = Acceptor::new(socket).unwrap();
        let mut early = TcpStream::connect(address).unwrap();
        acceptor.refuse_new().unwrap();
        let late = TcpStream::connect_timeout(&address, Duration::from_millis(100));
        assert_eq!(late.map_err(|error| error.kind()).err(), Some(io::ErrorKind::TimedOut));
        let accepted = acceptor.accept().await.unwrap();
        assert!(acceptor.try_accept().unwrap().is_none(), "nobody else is there");
        // The filter is not one of connections.
        let mut served = TcpStream::from(accepted.socket);
        served.set_nonblocking(false).unwrap();
        early.write_all(b"a").unwrap();
        served.read_exact(&mut [0]).unwrap();
        drop(acceptor);
        let refused = TcpStream::connect(address).map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_unix_socket_can_t_refuse_new_ones_and_says_so() {
        let path = std::env::temp_dir().join(format!("kasoku-refuse-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let acceptor = Acceptor::new(listen::unix(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(acceptor.refuse_new().map_err(|error| error.kind()), Err(io::ErrorKind::Unsupported));
    }
}
