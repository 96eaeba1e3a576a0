//! Sends a stored response whose body stays on disk: a chunk at a time, each compared with its checksum before any byte of it leaves.
//!
//! The first chunk is read before the head goes out. So a body that is gone or damaged is a miss, not an error. A chunk that is found
//! damaged later cuts the connection.
//!
//! Where the operator does not want the comparison (`disk.verify`), the bytes go out by sendfile(2).

use crate::deliver::outgoing::{HeldMemory, Interrupted, Outgoing};
use crate::deliver::stored::{Content, begin, codings};
use crate::deliver::synthetic::own;
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use crate::exchange::open_entry::{OpenEntry, Unreadable};
use crate::runtime::worker::DISK_TIMEOUT;
use bytes::Bytes;
use http::Method;
use kasoku_cache::Entry;
use kasoku_cache::disk::SpooledPiece;
use kasoku_cache::represent::{Representations, Selected};
use kasoku_programs::FileBody;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use std::iter;
use std::sync::Arc;

/// Opens the body, and reads what goes out first.
pub(crate) async fn open(exchange: &Exchange, entry: &Arc<Entry>) -> Result<OpenEntry, Unreadable> {
    let stored = entry.body.stored_body().ok_or(Unreadable::Evicted)?;
    let body = stored.open().ok_or(Unreadable::Evicted)?;
    body.count_hit();
    let mut open = OpenEntry { entry: entry.clone(), body, first: None };
    if exchange.settings.verifies_disk
        && let Some(offset) = first_wanted(exchange, entry)
    {
        open.first = Some(open.read(&exchange.worker, offset).await?);
    }
    Ok(open)
}

/// The offset of the first byte that the client gets, if it gets one.
fn first_wanted(exchange: &Exchange, entry: &Entry) -> Option<u64> {
    let request = &exchange.request.head;
    if request.method == Method::HEAD {
        return None;
    }
    match Representations::of_stored(&request.fields, codings(exchange), entry).select(request, entry, exchange.now()) {
        Selected::Whole(..) => Some(0),
        Selected::Part(range) => Some(range.first),
        Selected::Parts(ranges) => ranges.first().map(|range| range.first),
        Selected::NotModified(_) | Selected::Unsatisfiable(_) | Selected::Incomplete => None,
    }
}

/// Sends the response, or what the request's condition or range makes of it.
pub(crate) async fn send(exchange: &Exchange, mut open: OpenEntry, status: CacheStatus) -> Delivered {
    let entry = open.entry.clone();
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
        Err(Interrupted::Client | Interrupted::Disk(Unreadable::Evicted | Unreadable::Silent)) => out.cut(),
        Err(Interrupted::Disk(Unreadable::Damaged) | Interrupted::File(_)) => {
            let cache = &exchange.worker.cache;
            cache.drop_changed(&cache.key(&exchange.uri), &entry);
            out.cut()
        }
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
        let mut piece = match open.first.take() {
            Some(first) => first,
            None => open.read(&exchange.worker, at).await.map_err(Interrupted::Disk)?,
        };
        piece.truncate(usize::try_from(range.last - at + 1).unwrap_or(usize::MAX));
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
        let Some((file, position, length)) = open.body.run_at(at) else {
            return Err(Interrupted::Disk(Unreadable::Damaged));
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
