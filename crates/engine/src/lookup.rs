//! Asks the cache, and carries out what it says: a hit, a fill, or waiting for the fill of another client (`join`).

use crate::deliver::Answer;
use crate::error::Fault;
use crate::fetch;
use crate::forward::{Audience, forward};
use crate::respond::{self, forwarded};
use crate::route::Routed;
use crate::serve::Exchange;
use kasoku_cache::{Ask, Entry, FillReader, Joined, Lookup, Meta};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// Fills that one request waits for: the first, and that of its own variant.
const JOINS_MAX: usize = 2;

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
/// and streams it. Another variant's fill tells by which fields the origin chooses; then it waits once more, for its
/// own variant. Else it asks for itself, without waiting for anybody again.
async fn join(exchange: &Exchange, routed: &Routed, outgoing: RequestHead, mut reader: FillReader) -> Answer {
    for _ in 0..JOINS_MAX {
        let waited = tokio::time::timeout(exchange.connection.limits.fill_wait_max, reader.head()).await;
        let joined = match waited {
            Ok(joined) => joined,
            Err(_) => break,
        };
        let ask = ask(exchange, routed, &outgoing);
        let other = match taken(exchange, &ask, joined, reader) {
            Taken::Answer(answer) => return *answer,
            Taken::Nothing => break,
            Taken::OtherVariant(meta) => meta,
        };
        reader = match exchange.worker.cache.look_up_variant(&ask, &other) {
            Lookup::Join(reader) => reader,
            Lookup::Fill(writer, reason) => return fetch::fill(exchange, routed, writer, outgoing, reason).await,
            _ => break,
        };
    }
    let reason = Reason::KnownPrivate;
    match exchange.worker.cache.fill_alone(&ask(exchange, routed, &outgoing)) {
        Some(writer) => fetch::fill(exchange, routed, writer, outgoing, reason).await,
        None => fetch::pass(exchange, routed, None, reason).await,
    }
}

/// What a fill is to a client that has waited for it.
enum Taken {
    /// An answer.
    Answer(Box<Answer>),
    /// Another variant than the client's.
    OtherVariant(Arc<Meta>),
    /// Not for this client.
    Nothing,
}

fn taken(exchange: &Exchange, ask: &Ask<'_>, joined: Joined, reader: FillReader) -> Taken {
    let cache = &exchange.worker.cache;
    let status = CacheStatus { collapsed: true, ..forwarded(Reason::Collapsed) };
    let answer = match joined {
        Joined::Streaming(meta) if cache.may_share(ask, &meta) => Answer::Filling(meta, reader, status),
        Joined::Streaming(meta) if !meta.is_selected_by(&ask.request.fields, ask.policy) => {
            return Taken::OtherVariant(meta);
        }
        Joined::Settled(entry, reason @ (Reason::HitStaleError | Reason::HitStaleDisconnected)) => {
            hit(exchange, &entry, reason)
        }
        Joined::Settled(entry, reason) if cache.may_share(ask, &entry.meta) => {
            Answer::Stored(entry, CacheStatus { detail: Some(reason), ..status })
        }
        Joined::Failed(reason) => {
            Answer::Own(Fault::Origin(reason), Some(CacheStatus { detail: Some(reason), ..status }))
        }
        Joined::Streaming(_) | Joined::Settled(..) | Joined::Released(_) => return Taken::Nothing,
    };
    Taken::Answer(Box::new(answer))
}
