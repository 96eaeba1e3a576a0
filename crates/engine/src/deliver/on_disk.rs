//! Sends a stored response whose body stays on disk, a chunk at a time (`kasoku_cache::disk::OpenEntry`). The first chunk is read before the head
//! goes out. A chunk that is found damaged later cuts the connection.
//!
//! Where the operator does not want the comparison (`disk.verify`), the bytes go out by sendfile(2).

use crate::deliver::outgoing::{HeldMemory, Interrupted, Outgoing};
use crate::deliver::stored::{Content, begin, codings};
use crate::deliver::synthetic::own;
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use bytes::Bytes;
use http::Method;
use kasoku_cache::disk::{DISK_TIMEOUT, OpenEntry, SpooledPiece, Unreadable};
use kasoku_cache::represent::{Representations, Selected};
use kasoku_cache::{Entry, Key};
use kasoku_programs::FileBody;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use std::iter;
use std::sync::Arc;

/// Opens the body, and reads what goes out first.
pub(crate) async fn open(exchange: &Exchange, key: &Key, entry: &Arc<Entry>) -> Result<OpenEntry, Unreadable> {
    let mut open = exchange.worker.cache.open_on_disk(key, entry)?;
    if exchange.settings.verifies_disk
        && let Some(offset) = first_wanted(exchange, entry)
    {
        in_time(exchange, open.begin(offset)).await?;
    }
    Ok(open)
}

/// What comes of a read.
async fn in_time<T>(exchange: &Exchange, read: impl Future<Output = Result<T, Unreadable>>) -> Result<T, Unreadable> {
    exchange.worker.within_disk_timeout(read).await.unwrap_or(Err(Unreadable::Silent))
}

/// The offset of the first byte that the client gets, if it gets one.
fn first_wanted(exchange: &Exchange, entry: &Entry) -> Option<u64> {
    let request = &exchange.request.head;
    if request.method == Method::HEAD {
        return None;
    }
    let representations = Representations::of_stored(&request.fields, codings(exchange), entry);
    representations.select(request, entry, exchange.now()).first_byte()
}

/// Sends the response, or what the request's condition or range makes of it.
pub(crate) async fn send(exchange: &Exchange, mut open: OpenEntry, status: CacheStatus) -> Delivered {
    let entry = open.entry().clone();
    let request = &exchange.request.head;
    let representations = Representations::of_stored(&request.fields, codings(exchange), &entry);
    let selected = representations.select(request, &entry, exchange.now());
    // The look-up has made sure that all requested bytes are here. If one is missing after all, a part must not go out as the whole.
    if matches!(selected, Selected::Incomplete) {
        return own(exchange, &Fault::Origin(Reason::PartialMiss), Some(status)).await;
    }
    let (out, content) = begin(exchange, &entry, &representations, selected, status);
    let mut out = out.holding(HeldMemory::Fill);
    let length = entry.body.complete_length().unwrap_or_default();
    let sent = match content {
        _ if request.method == Method::HEAD => return out.all(iter::empty()).await,
        Content::Nothing => return out.all(iter::empty()).await,
        Content::Whole(_) => {
            let whole = ByteRange { first: 0, last: length.saturating_sub(1) };
            send_range(exchange, &mut open, &mut out, whole).await
        }
        Content::Part(range) => send_range(exchange, &mut open, &mut out, range).await,
        Content::Parts(parts) => {
            let mut sent = Ok(());
            for (head, range) in parts.parts {
                sent = out.piece(head).await.map_err(Interrupted::from);
                if sent.is_ok() {
                    sent = send_range(exchange, &mut open, &mut out, range).await;
                }
                if sent.is_err() {
                    break;
                }
            }
            match sent {
                Ok(()) => out.piece(parts.end).await.map_err(Interrupted::from),
                failed => failed,
            }
        }
    };
    match sent {
        Ok(()) => out.end(None).await,
        Err(Interrupted::File(_)) => {
            open.drop_damaged();
            out.cut()
        }
        Err(Interrupted::Client | Interrupted::Disk) => out.cut(),
    }
}

async fn send_range(
    exchange: &Exchange,
    open: &mut OpenEntry,
    out: &mut Outgoing<'_>,
    range: ByteRange,
) -> Result<(), Interrupted> {
    if !exchange.settings.verifies_disk {
        return send_unverified(open, out, range).await;
    }
    let mut at = range.first;
    while at <= range.last {
        let left = ByteRange { first: at, ..range };
        let piece = in_time(exchange, open.next(left)).await.map_err(|_| Interrupted::Disk)?;
        at += piece.len() as u64;
        out.piece(piece).await?;
        // A client that takes all at once must not keep the others waiting.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Sends the bytes from the file, as many at a time as lie there one behind the other.
async fn send_unverified(open: &OpenEntry, out: &mut Outgoing<'_>, range: ByteRange) -> Result<(), Interrupted> {
    let mut at = range.first;
    while at <= range.last {
        let Some((file, position, length)) = open.body().run_at(at) else {
            open.drop_damaged();
            return Err(Interrupted::Disk);
        };
        let length = length.min(range.last - at + 1);
        out.file(&mut FileBody::of_immutable(file, position, length, DISK_TIMEOUT)).await?;
        at += length;
        // A client that takes all at once must not keep the others waiting.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The next piece of a fill that has to be read from disk.
pub(crate) async fn spooled(exchange: &Exchange, piece: SpooledPiece) -> Option<Bytes> {
    exchange.worker.within_disk_timeout(piece.bytes()).await?
}
