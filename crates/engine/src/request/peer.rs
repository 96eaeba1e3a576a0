//! Who is at the other end of a connection.

use std::net::SocketAddr;

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The client's address, or what the PROXY protocol says; `None` for a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// Whether its `Forwarded` and `X-Forwarded-*` count.
    pub(crate) is_trusted: bool,
}
