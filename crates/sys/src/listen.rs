//! Opens listening sockets: TCP, Unix, and those that another process hands over.
//!
//! Each worker has a socket of its own on a TCP address (SO_REUSEPORT), so the kernel spreads connections and no two workers share a
//! queue. SO_REUSEPORT alone would let a second process share the port unnoticed. So [`tcp`] binds its first socket without it, which
//! fails if another socket listens there, and allows sharing only afterwards. A Unix socket and an inherited descriptor have one
//! queue: every worker gets a duplicate.

use crate::stream::Unsent;
use rustix::fs::{Mode, OFlags};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// Connections that the kernel queues for one listening socket.
pub const BACKLOG: i32 = 4096;

/// One listening socket, not yet registered with an event loop.
#[derive(Debug)]
pub enum ListeningSocket {
    /// TCP.
    Tcp(std::net::TcpListener),
    /// A Unix stream socket.
    Unix(std::os::unix::net::UnixListener),
}

impl ListeningSocket {
    /// Another descriptor of the same socket and queue, for another worker.
    pub fn duplicate(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
        }
    }

    /// The descriptor's number, for a process that it is handed over to.
    pub fn number(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }

    /// The TCP address; `None` for a Unix socket.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}

impl AsFd for ListeningSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// Opens one socket for each of `count` workers on the same address. With port 0 the kernel chooses one port for all. If another
/// socket listens there already, the error is `AddrInUse`.
pub fn tcp(address: SocketAddr, count: usize) -> io::Result<Vec<ListeningSocket>> {
    let first = bound(address, false)?;
    first.listen(BACKLOG)?;
    let address = first.local_addr()?.as_socket().unwrap_or(address);
    // From here on this process's other sockets may join. A process that binds its own first socket is still refused.
    first.set_reuse_port(true)?;
    let mut sockets = vec![ListeningSocket::Tcp(first.into())];
    for _ in 1..count {
        let socket = bound(address, true)?;
        socket.listen(BACKLOG)?;
        sockets.push(ListeningSocket::Tcp(socket.into()));
    }
    Ok(sockets)
}

fn bound(address: SocketAddr, reuse_port: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(reuse_port)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    for_clients(&socket)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Sets what accepted sockets inherit: small writes go out at once, and little unsent data waits in the kernel.
fn for_clients(socket: &Socket) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(Unsent::Little.bytes_max())
}

/// A Unix socket at `path`, with the permissions that the umask leaves. A socket file that no process serves is replaced; a socket
/// that is served, or a file of another kind, is `AddrInUse`.
pub fn unix(path: &Path) -> io::Result<ListeningSocket> {
    unix_socket(path, None)
}

/// The same for its owner and group alone, whatever the umask. At no moment can other users connect.
pub fn unix_for_group(path: &Path) -> io::Result<ListeningSocket> {
    const MODE: u32 = 0o660;
    let socket = unix_socket(path, Some(MODE))?;
    set_mode_and_owner(path, MODE, None)?;
    Ok(socket)
}

/// The same for one user alone: this process's, or the user of number `owner`, whom only root can name.
pub fn unix_for_user(path: &Path, owner: Option<u32>) -> io::Result<ListeningSocket> {
    const MODE: u32 = 0o600;
    let socket = unix_socket(path, Some(MODE))?;
    set_mode_and_owner(path, MODE, owner)?;
    Ok(socket)
}

/// Sets the permissions that the umask has reduced. It goes by descriptor, so that it follows no link that is put in the socket's place.
fn set_mode_and_owner(path: &Path, mode: u32, owner: Option<u32>) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if std::fs::File::from(file.try_clone()?).metadata()?.file_type().is_socket() {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::fs::set_permissions(&path, Permissions::from_mode(mode))?;
        // Some sandboxes refuse chown(2) altogether, for instance by systemd's group `@privileged`.
        if owner.is_some() {
            std::os::unix::fs::chown(&path, owner, None)?;
        }
    }
    Ok(())
}

fn unix_socket(path: &Path, mode: Option<u32>) -> io::Result<ListeningSocket> {
    let address = SockAddr::unix(path)?;
    if let Ok(file) = std::fs::symlink_metadata(path) {
        let served = Socket::new(Domain::UNIX, Type::STREAM, None)?.connect(&address).is_ok();
        if served || !file.file_type().is_socket() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        std::fs::remove_file(path)?;
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    if let Some(mode) = mode {
        // On Linux the socket file begins with this mode, less the umask.
        rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
    }
    socket.bind(&address)?;
    socket.listen(BACKLOG)?;
    Ok(ListeningSocket::Unix(socket.into()))
}

/// The listening socket that was handed over as descriptor `number` (systemd socket activation: 3 and up).
/// A descriptor that is not open, not a socket, or not listening is an error. The descriptor itself stays open.
pub fn inherited(number: i32) -> io::Result<ListeningSocket> {
    if number < 3 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptors 0 to 2 are standard input and output"));
    }
    let socket = Socket::from(duplicate(number)?);
    if !socket.is_listener()? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the descriptor is not a listening socket"));
    }
    socket.set_nonblocking(true)?;
    match socket.domain()? {
        Domain::UNIX => Ok(ListeningSocket::Unix(socket.into())),
        _ => {
            for_clients(&socket)?;
            Ok(ListeningSocket::Tcp(socket.into()))
        }
    }
}

/// Takes over the listening socket that the process which this one replaces has left open as descriptor `number`. The descriptor
/// itself is closed: while any descriptor of the socket is open, the kernel lets clients connect. To be called once for each number,
/// before this process opens anything of its own.
///
/// # Errors
/// As [`inherited`].
pub fn adopt(number: i32) -> io::Result<ListeningSocket> {
    let socket = inherited(number)?;
    close(number);
    Ok(socket)
}

/// Takes over the connected socket that such a process has left open, to send it a message.
///
/// # Errors
/// The descriptor is not open.
pub fn adopt_stream(number: i32) -> io::Result<std::os::unix::net::UnixStream> {
    if number < 3 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let stream = duplicate(number)?;
    close(number);
    Ok(stream.into())
}

/// Lets the programs that this process starts inherit a descriptor, under the same number.
///
/// # Errors
/// The kernel's.
pub fn leave_open(descriptor: &impl AsFd) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())?)
}

#[allow(unsafe_code)]
fn close(number: i32) {
    // SAFETY: the process that started this one left the number open, and nothing in this process owns it: the kernel gives no new
    // descriptor a number that is taken.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
}

#[allow(unsafe_code)]
fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: the borrow lives only for the call below. The number comes from the operator (LISTEN_FDS); the kernel
    // answers EBADF when nothing is open under it, and we take ownership only of the duplicate.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    borrowed.try_clone_to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn loopback() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[test]
    fn workers_share_one_port_and_a_second_program_does_not() -> io::Result<()> {
        let sockets = tcp(loopback(), 2)?;
        let address = sockets[0].local_address().unwrap();
        assert_eq!(sockets[1].local_address(), Some(address));
        assert_eq!(tcp(address, 1).map_err(|e| e.kind()).err(), Some(io::ErrorKind::AddrInUse));
        Ok(())
    }

    #[test]
    fn each_socket_of_a_port_gets_connections() -> io::Result<()> {
        let sockets = tcp(loopback(), 2)?;
        let address = sockets[0].local_address().unwrap();
        let mut accepted = [0, 0];
        for _ in 0..200 {
            let _connection = std::net::TcpStream::connect(address)?;
            for (socket, count) in sockets.iter().zip(&mut accepted) {
                let ListeningSocket::Tcp(listener) = socket else { unreachable!() };
                *count += usize::from(listener.accept().is_ok());
            }
        }
        assert!(accepted[0] > 0 && accepted[1] > 0 && accepted[0] + accepted[1] == 200, "{accepted:?}");
        Ok(())
    }

    #[test]
    fn a_stale_unix_socket_is_replaced_and_a_served_one_is_not() -> io::Result<()> {
        let path = std::env::temp_dir().join(format!("kasoku-listen-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        drop(unix(&path)?);
        let served = unix(&path)?;
        assert_eq!(unix(&path).map_err(|e| e.kind()).err(), Some(io::ErrorKind::AddrInUse));
        drop(served);
        std::fs::remove_file(&path)
    }

    #[test]
    fn an_inherited_descriptor_must_listen() -> io::Result<()> {
        let socket = std::net::TcpListener::bind(loopback())?;
        assert_eq!(inherited(socket.as_raw_fd())?.local_address(), Some(socket.local_addr()?));
        let connected = std::net::TcpStream::connect(socket.local_addr()?)?;
        assert!(inherited(connected.as_raw_fd()).is_err());
        assert!(inherited(1).is_err());
        assert!(inherited(9999).is_err());
        Ok(())
    }
}
