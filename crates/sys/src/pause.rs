//! Waits for a peer as long as it takes bytes: a timeout that begins anew whenever it has taken some.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

/// Waits for `poll` as long as `taken_bytes`, which the peer has taken so far, grows within each `pause_max`.
///
/// # Errors
/// Those of `poll`; [`io::ErrorKind::TimedOut`]: the peer took nothing for that long.
pub async fn while_peer_takes<T>(
    pause_max: Duration,
    taken_bytes: impl Fn() -> u64,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>,
) -> io::Result<T> {
    let mut taken = taken_bytes();
    loop {
        match tokio::time::timeout(pause_max, poll_fn(&mut poll)).await {
            Ok(done) => return done,
            Err(_) => match std::mem::replace(&mut taken, taken_bytes()) {
                before if before == taken => return Err(io::ErrorKind::TimedOut.into()),
                _ => {}
            },
        }
    }
}
