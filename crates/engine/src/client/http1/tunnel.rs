//! Carries bytes in both directions after a 101.

use bytes::BytesMut;
use kasoku_origin::Tunnel;
use kasoku_sys::Stream;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

/// A tunnel in which neither side sends anything for this long is closed.
const IDLE_MAX: Duration = Duration::from_secs(3600);

/// How much is read at once, in bytes.
const READ_BYTES: usize = 16 << 10;

/// Carries bytes until both sides have closed, one has failed, or both were silent for too long.
pub(crate) async fn run(client: &Stream, from_client: BytesMut, mut tunnel: Tunnel) {
    let last_activity = Cell::new(Instant::now());
    let up = copy(client, &tunnel.stream, from_client, &last_activity);
    let from_origin = std::mem::take(&mut tunnel.read_ahead);
    let down = copy(&tunnel.stream, client, from_origin, &last_activity);
    tokio::pin!(up, down);
    // An end of file goes on to the other side and leaves the other direction open; a failure ends both.
    tokio::select! {
        ended = &mut up => if ended.is_ok() { let _ = down.await; },
        ended = &mut down => if ended.is_ok() { let _ = up.await; },
    }
}

async fn copy(from: &Stream, to: &Stream, mut buf: BytesMut, last_activity: &Cell<Instant>) -> io::Result<()> {
    loop {
        if !buf.is_empty() {
            to.write_all(&mut [IoSlice::new(&buf)], IDLE_MAX).await?;
            buf.clear();
            last_activity.set(Instant::now());
        }
        let silence = last_activity.get().elapsed();
        let patience = IDLE_MAX.checked_sub(silence).ok_or(io::ErrorKind::TimedOut)?;
        match tokio::time::timeout(patience, from.read(&mut buf, READ_BYTES)).await {
            Ok(Ok(0)) => return to.shutdown_write(),
            Ok(read) => drop(read?),
            // This direction was silent. The next round tells whether the other one was as well.
            Err(_) => {}
        }
    }
}
