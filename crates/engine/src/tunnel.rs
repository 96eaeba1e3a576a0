//! Both directions after 101: bytes, nothing else.

use crate::connection::Connection;
use bytes::BytesMut;
use kasoku_origin::http::Tunnel;
use kasoku_sys::Stream;
use std::io::{self, IoSlice};
use std::time::Duration;

/// A tunnel in which neither side sends anything for this long is closed.
const IDLE_MAX: Duration = Duration::from_secs(3600);

/// What is read at once, in bytes.
const READ_BYTES: usize = 16 << 10;

/// Carries bytes until both sides have closed, one has failed, or both were silent for too long.
pub(crate) async fn run(connection: &Connection, mut tunnel: Tunnel) {
    let from_client = connection.read_ahead.take();
    let up = copy(&connection.stream, &tunnel.stream, from_client);
    let down = copy(&tunnel.stream, &connection.stream, std::mem::take(&mut tunnel.read_ahead));
    tokio::pin!(up, down);
    // An end of file goes on to the other side and leaves the other direction open; a failure ends both.
    tokio::select! {
        ended = &mut up => if ended.is_ok() { let _ = down.await; },
        ended = &mut down => if ended.is_ok() { let _ = up.await; },
    }
}

async fn copy(from: &Stream, to: &Stream, mut buf: BytesMut) -> io::Result<()> {
    loop {
        if !buf.is_empty() {
            to.write_all(&mut [IoSlice::new(&buf)], IDLE_MAX).await?;
            buf.clear();
        }
        if tokio::time::timeout(IDLE_MAX, from.read(&mut buf, READ_BYTES)).await?? == 0 {
            return to.shutdown_write();
        }
    }
}
