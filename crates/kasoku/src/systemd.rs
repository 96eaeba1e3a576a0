//! Tells systemd the program's state (`Type=notify`): a datagram to the socket that `NOTIFY_SOCKET` names. Without that variable,
//! nothing is sent.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The program serves.
pub(crate) const READY: &str = "READY=1";

/// The program ends.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Sends a state to systemd. A failure is logged and changes nothing else.
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
