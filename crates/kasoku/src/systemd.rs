//! What systemd wants to be told (`Type=notify`): a datagram to the socket that it names. Elsewhere nobody is told.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// It serves.
pub(crate) const READY: &str = "READY=1";

/// It ends.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Tells it; a manager that can't be reached is no reason to stop.
pub(crate) fn tell(state: &str) {
    if let Err(error) = send(state) {
        tracing::debug!(%error, state, "systemd was not told");
    }
}

fn send(state: &str) -> std::io::Result<()> {
    let Some(path) = env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match path.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&path)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}
