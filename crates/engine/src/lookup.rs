//! Asks the cache, and carries out what it says.

use crate::deliver::Answer;
use crate::error::Fault;
use crate::fetch;
use crate::forward::{Audience, forward};
use crate::respond::{self, forwarded};
use crate::route::Routed;
use crate::serve::Exchange;
use kasoku_cache::{Ask, Entry, FillReader, Joined, Lookup};
use kasoku_semantics::reason::Reason;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// Finds the answer to a request that may meet the cache.
pub(crate) async fn look_up(exchange: &Exchange, routed: &Routed) -> Answer {
    let outgoing = forward(&exchange.request, routed, &exchange.connection.peer, Audience::Shared, None);
    let ask = ask(exchange, routed, &outgoing);
    match exchange.worker.cache.look_up(&ask) {
        Lookup::Hit(entry, reason, refresh) => {
            if let Some(writer) = refresh {
                fetch::refresh(exchange, routed, writer, outgoing.clone());
            }
            hit(exchange, &entry, reason)
        }
        Lookup::Join(reader) => join(exchange, routed, outgoing, reader).await,
        Lookup::Fill(writer, reason) => fetch::fill(exchange, routed, writer, outgoing, reason).await,
        Lookup::Pass(reason) => fetch::pass(exchange, routed, None, reason).await,
        Lookup::Unavailable(reason) => Answer::Own(Fault::OnlyIfCached(reason), Some(forwarded(reason))),
    }
}

pub(crate) fn hit(exchange: &Exchange, entry: &Arc<Entry>, reason: Reason) -> Answer {
    let ttl = entry.meta.freshness.remaining(exchange.worker.now());
    Answer::Stored(entry.clone(), respond::hit(reason, ttl))
}

fn ask<'a>(exchange: &Exchange, routed: &'a Routed, outgoing: &'a RequestHead) -> Ask<'a> {
    Ask { key: &routed.key, request: outgoing, policy: &routed.route.policy, now: exchange.worker.now() }
}

/// What a second client of a running fill does: it waits for the head, looks whether the response is for it as well,
/// and streams it; else it asks for itself, without waiting for anybody again.
async fn join(exchange: &Exchange, routed: &Routed, outgoing: RequestHead, reader: FillReader) -> Answer {
    let waited = tokio::time::timeout(exchange.connection.limits.fill_wait_max, reader.head()).await;
    let mut status = forwarded(Reason::Collapsed);
    status.collapsed = true;
    let ask = ask(exchange, routed, &outgoing);
    match waited {
        Ok(Joined::Streaming(meta)) if exchange.worker.cache.may_share(&ask, &meta) => {
            return Answer::Filling(meta, reader, status);
        }
        Ok(Joined::Settled(entry, reason)) => {
            if matches!(reason, Reason::HitStaleError | Reason::HitStaleDisconnected) {
                return hit(exchange, &entry, reason);
            }
            if exchange.worker.cache.may_share(&ask, &entry.meta) {
                status.detail = Some(reason);
                return Answer::Stored(entry, status);
            }
        }
        Ok(Joined::Failed(reason)) => return Answer::Own(Fault::Origin(reason), Some(status)),
        Ok(Joined::Streaming(_) | Joined::Released(_)) | Err(_) => {}
    }
    drop(reader);
    let reason = Reason::KnownPrivate;
    match exchange.worker.cache.fill_alone(&ask) {
        Some(writer) => fetch::fill(exchange, routed, writer, outgoing, reason).await,
        None => fetch::pass(exchange, routed, None, reason).await,
    }
}
