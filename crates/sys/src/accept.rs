//! Accepts connections from a listening socket.
//!
//! An accepted socket belongs to no event loop yet, so it can be handed to another thread before it becomes a
//! [`Stream`](crate::Stream) there.
//!
//! A client sends data as soon as it is connected, and until then the worker has nothing to do for it. So the kernel can be asked to
//! hold back a connection until data has come (TCP_DEFER_ACCEPT, tcp(7)); the worker then reads it right after accepting it.

use crate::listen::ListeningSocket;
use libc::{c_int, socklen_t};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Domain, SockFilter, SockRef};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long the kernel holds back a connection without data, in seconds: until the kernel has sent its part of the handshake once
/// more. 1 is the least possible value.
const DEFER_SECONDS: c_int = 1;

/// A listening socket in the event loop of this thread.
#[derive(Debug)]
pub struct Acceptor {
    socket: AsyncFd<OwnedFd>,
    is_deferred: bool,
}

/// A connection that belongs to no event loop yet.
#[derive(Debug)]
pub struct AcceptedSocket {
    pub(crate) socket: OwnedFd,
    /// Whether its first bytes have probably come as well.
    pub(crate) has_data: bool,
    /// The other end's address; `None` for a Unix socket.
    pub peer: Option<SocketAddr>,
}

impl Acceptor {
    /// Registers a listening socket. With `defer_accept`, a TCP connection can be accepted when data has come on it, or after a
    /// second without data; that holds for all duplicates of the socket.
    #[allow(unsafe_code)]
    pub fn new(socket: ListeningSocket, defer_accept: bool) -> io::Result<Self> {
        let is_tcp = matches!(socket, ListeningSocket::Tcp(_));
        let socket = match socket {
            ListeningSocket::Tcp(socket) => OwnedFd::from(socket),
            ListeningSocket::Unix(socket) => OwnedFd::from(socket),
        };
        // Also switches the option off: an earlier owner of the socket may have set it. If the kernel can't do it, connections are
        // not deferred.
        let is_deferred =
            is_tcp && defer(&socket, if defer_accept { DEFER_SECONDS } else { 0 }).is_ok() && defer_accept;
        // SAFETY: the descriptor is owned, and nothing takes it out or replaces it while it is registered.
        let socket = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }?;
        Ok(Self { socket, is_deferred })
    }

    /// Refuses new connections: a client that begins to connect gets no answer before the socket is closed. Connections that have
    /// begun are completed and can be accepted. It holds for all duplicates of the socket, in all processes, for good.
    ///
    /// Closing a socket resets the connections in its queue, and one can arrive between a look at the empty queue and the close.
    /// After this call none arrives.
    ///
    /// # Errors
    /// The kernel's. A Unix socket is `Unsupported`: its connections have no handshake that could be refused.
    pub fn refuse_new(&self) -> io::Result<()> {
        // Classic BPF on the TCP header: a segment with SYN is dropped. (The only segment with SYN that a listening socket gets is
        // the first one of a connection.)
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
        let socket = SockRef::from(self.socket.get_ref());
        if socket.domain()? == Domain::UNIX {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // Connections that complete the handshake from now on are not held back. Those that have completed it come as before.
        if self.is_deferred {
            defer(self.socket.get_ref(), 0)?;
        }
        socket.attach_filter(&drop_syn)
    }

    /// The next connection, if one waits.
    pub fn try_accept(&self) -> io::Result<Option<AcceptedSocket>> {
        match self.accept_from(self.socket.get_ref()) {
            Ok(accepted) => Ok(Some(accepted)),
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a connection. TCP connections send small writes at once: they inherit TCP_NODELAY from the listening
    /// socket.
    pub async fn accept(&self) -> io::Result<AcceptedSocket> {
        self.socket.async_io(Interest::READABLE, |listener| Ok(self.accept_from(listener)?)).await
    }

    /// Waits until a connection can be accepted, and accepts none.
    pub async fn waiting(&self) -> io::Result<()> {
        loop {
            let mut ready = self.socket.readable().await?;
            // What was seen before may have been accepted since.
            let mut listener = [PollFd::new(self.socket.get_ref(), PollFlags::IN)];
            if poll(&mut listener, Some(&Timespec::default()))? > 0 {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    fn accept_from(&self, listener: &OwnedFd) -> Result<AcceptedSocket, Errno> {
        let (socket, peer) = acceptfrom_with(listener, ACCEPTED)?;
        let peer = peer.and_then(|address| address.try_into().ok());
        Ok(AcceptedSocket { socket, has_data: self.is_deferred, peer })
    }
}

/// The flags of accepted sockets.
const ACCEPTED: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Sets how long the kernel holds back connections without data; 0: not at all.
#[allow(unsafe_code)]
fn defer(listener: &OwnedFd, seconds: c_int) -> io::Result<()> {
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT);
    // SAFETY: the kernel reads one int, for as long as the call takes.
    let done = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            level,
            name,
            (&raw const seconds).cast(),
            size_of::<c_int>() as socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    #[tokio::test(flavor = "current_thread")]
    async fn after_it_refuses_new_ones_a_client_that_has_connected_is_accepted_and_no_other_connects() {
        let socket = listen::tcp(([127, 0, 0, 1], 0).into(), 1).unwrap().remove(0);
        let address = socket.local_address().unwrap();
        let acceptor = Acceptor::new(socket, false).unwrap();
        let mut early = TcpStream::connect(address).unwrap();
        acceptor.refuse_new().unwrap();
        let late = TcpStream::connect_timeout(&address, Duration::from_millis(100));
        assert_eq!(late.map_err(|error| error.kind()).err(), Some(io::ErrorKind::TimedOut));
        let accepted = acceptor.accept().await.unwrap();
        assert!(acceptor.try_accept().unwrap().is_none(), "no other client is there");
        // The filter does not affect connections.
        let mut served = TcpStream::from(accepted.socket);
        served.set_nonblocking(false).unwrap();
        early.write_all(b"a").unwrap();
        served.read_exact(&mut [0]).unwrap();
        drop(acceptor);
        let refused = TcpStream::connect(address).map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));
    }

    fn deferring() -> (Acceptor, SocketAddr) {
        let socket = listen::tcp(([127, 0, 0, 1], 0).into(), 1).unwrap().remove(0);
        let address = socket.local_address().unwrap();
        (Acceptor::new(socket, true).unwrap(), address)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_deferred_connection_comes_with_its_first_bytes_and_a_silent_one_a_second_later() {
        let (acceptor, address) = deferring();
        let silent = TcpStream::connect(address).unwrap();
        assert!(acceptor.try_accept().unwrap().is_none(), "there is nothing to be done for it yet");
        let mut talks = TcpStream::connect(address).unwrap();
        talks.write_all(b"a").unwrap();
        let accepted = acceptor.accept().await.unwrap();
        assert_eq!(accepted.peer, Some(talks.local_addr().unwrap()), "it has come later, and says something");
        assert!(accepted.has_data);
        let accepted = acceptor.accept().await.unwrap();
        assert_eq!(accepted.peer, Some(silent.local_addr().unwrap()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_client_that_leaves_without_a_word_is_seen() {
        let (acceptor, address) = deferring();
        drop(TcpStream::connect(address).unwrap());
        let stream = crate::Stream::accepted(acceptor.accept().await.unwrap());
        assert_eq!(stream.read(&mut bytes::BytesMut::new(), 16).await.unwrap(), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn once_new_ones_are_refused_who_has_connected_need_not_speak() {
        let (acceptor, address) = deferring();
        let silent = TcpStream::connect(address).unwrap();
        acceptor.refuse_new().unwrap();
        let accepted = acceptor.accept().await.unwrap();
        assert_eq!(accepted.peer, Some(silent.local_addr().unwrap()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_socket_that_was_deferring_ceases_to() {
        let socket = listen::tcp(([127, 0, 0, 1], 0).into(), 1).unwrap().remove(0);
        let address = socket.local_address().unwrap();
        drop(Acceptor::new(socket.duplicate().unwrap(), true).unwrap());
        let acceptor = Acceptor::new(socket, false).unwrap();
        let silent = TcpStream::connect(address).unwrap();
        let accepted = acceptor.try_accept().unwrap().expect("nothing is waited for");
        assert_eq!((accepted.peer, accepted.has_data), (Some(silent.local_addr().unwrap()), false));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_unix_socket_can_t_refuse_new_ones_and_says_so() {
        let path = std::env::temp_dir().join(format!("kasoku-refuse-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let acceptor = Acceptor::new(listen::unix(&path).unwrap(), true).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(acceptor.refuse_new().map_err(|error| error.kind()), Err(io::ErrorKind::Unsupported));
    }
}
