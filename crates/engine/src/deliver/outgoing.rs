//! Sends a response, head and pieces, to the client's door, and notes how that went.

mod file;
mod pacing;

use crate::door::{BODY_PIECES_PER_SEND, Follows, HeadWriter};
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use crate::request::notes::Notes;
use bytes::Bytes;
pub(crate) use file::Interrupted;
use http::StatusCode;
use kasoku_cache::Entry;
use kasoku_metrics::Counter;
use kasoku_options::HitHeaders;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_sys::pause::while_peer_takes;
use kasoku_wire::Fields;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The result of `$next`. While that is not ready, the head goes out, so that the client sees that an answer has begun.
macro_rules! or_flush {
    ($out:ident, $next:expr) => {{
        if $out.is_head_waiting() {
            let at_once = tokio::select! {
                biased;
                next = $next => Some(next),
                () = std::future::ready(()) => None,
            };
            match at_once {
                Some(next) => next,
                None => {
                    if $out.flush().await.is_err() {
                        return $out.cut();
                    }
                    $next.await
                }
            }
        } else {
            $next.await
        }
    }};
}

pub(crate) use or_flush;

/// While memory is short, a client's rate is measured over this time.
const SLOWNESS_WINDOW: Duration = Duration::from_secs(5);

/// While memory is short, a response that only its readers still hold must be taken as a whole in this time.
const HELD_SECONDS_MAX: u64 = 300;

/// The memory that a response holds for as long as its client reads it.
pub(crate) enum HeldMemory<'e> {
    /// None, or one piece.
    Little,
    /// A stored response, which may have been evicted or replaced meanwhile.
    Entry(&'e Arc<Entry>),
    /// The pieces of a fill that the client has not taken.
    Fill,
}

/// Returns when memory is short and the client, which holds memory that would be free without it, takes less than it must. Polled
/// only while a write waits, so a client that takes its answer at once costs no timer.
async fn is_too_slow(exchange: &Exchange, holds: &HeldMemory<'_>) {
    let Exchange { worker, door, .. } = exchange;
    exchange.takes_time();
    let least = exchange.settings.limits.send_rate_min;
    let mut before = door.taken_bytes();
    loop {
        Box::pin(tokio::time::sleep(SLOWNESS_WINDOW)).await;
        let rate_min = match holds {
            HeldMemory::Little => 0,
            HeldMemory::Entry(entry) if worker.cache.is_stored(&exchange.uri, entry) => 0,
            HeldMemory::Entry(entry) if least > 0 => least.max(entry.memory_bytes() / HELD_SECONDS_MAX),
            HeldMemory::Entry(_) | HeldMemory::Fill => least,
        };
        let taken = door.taken_bytes();
        if worker.cache.is_short() && taken.saturating_sub(before) < rate_min.saturating_mul(SLOWNESS_WINDOW.as_secs())
        {
            return worker.cells.count(Counter::SlowReadersCut);
        }
        before = taken;
    }
}

/// Writes what the cache did, with the notes of the request, and our own Set-Cookie lines.
fn tell(exchange: &Exchange, head: &mut HeadWriter, cache: Option<&CacheStatus>, settings: HitHeaders) {
    let is_set_aside = exchange.identity.get().session.is_some_and(|session| session.is_anonymous);
    match (exchange.existing_extras(), cache) {
        (None, None) => {}
        // A hit allocates nothing for its note.
        (None, Some(cache)) if is_set_aside => {
            head.cache_status(cache, Some(&Notes::of_session("anonymous")), settings)
        }
        (None, Some(cache)) => head.cache_status(cache, None, settings),
        (Some(mut extras), cache) => {
            if is_set_aside && extras.session.is_none() && extras.own_cookies.is_empty() {
                extras.notes.session("anonymous");
            }
            if let Some(cache) = cache {
                head.cache_status(cache, Some(&extras.notes), settings);
            }
            for line in std::mem::take(&mut extras.own_cookies) {
                head.field("Set-Cookie", line);
            }
        }
    }
}

/// Polls once, and returns `None` instead of waiting.
pub(crate) async fn at_once<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    let polled = poll_fn(|cx| match poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => Poll::Ready(None),
    });
    // Outside tokio's budget: if that were used up, it would look like a client that takes nothing. The reads give other tasks their turn.
    tokio::task::unconstrained(polled).await
}

/// Polls until ready, as long as the client takes something within each `send-timeout`.
async fn in_time<T>(exchange: &Exchange, poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>) -> io::Result<T> {
    while_peer_takes(exchange.settings.limits.send_timeout, || exchange.door.taken_bytes(), poll).await
}

/// Waits for `sent`, unless the client is too slow while memory is short.
async fn unless_too_slow(
    exchange: &Exchange,
    holds: &HeldMemory<'_>,
    sent: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    tokio::select! {
        biased;
        sent = sent => sent,
        () = is_too_slow(exchange, holds) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Sends a head that no body follows.
pub(crate) async fn send_head(exchange: &Exchange, mut head: HeadWriter) -> io::Result<()> {
    in_time(exchange, |cx| exchange.door.poll_send(cx, &mut head, &mut &mut [][..])).await
}

/// A response on its way out. The head waits for the first piece, so that both can go in one system call.
pub(crate) struct Outgoing<'e> {
    exchange: &'e Exchange,
    head: HeadWriter,
    holds: HeldMemory<'e>,
    pub(crate) delivered: Delivered,
}

impl<'e> Outgoing<'e> {
    pub(crate) fn begin(
        exchange: &'e Exchange,
        head: HeadWriter,
        code: StatusCode,
        follows: Follows,
        status: CacheStatus,
    ) -> Self {
        Self::framed(exchange, head, code, follows, Some(status), true)
    }

    /// `may_go_on`: whether the connection can carry another request, as far as this answer knows.
    pub(crate) fn framed(
        exchange: &'e Exchange,
        mut head: HeadWriter,
        status: StatusCode,
        follows: Follows,
        cache: Option<CacheStatus>,
        may_go_on: bool,
    ) -> Self {
        let settings = exchange.settings.hit_headers;
        tell(exchange, &mut head, cache.as_ref(), settings);
        if settings.request_id {
            head.request_id(exchange.id());
        }
        let keeps_alive = exchange.door.complete(&mut head, follows, may_go_on && !exchange.worker.is_stopping());
        exchange.progressed(status, 0);
        let delivered = Delivered { is_whole: true, keeps_alive, cache, ..Delivered::cut(status) };
        Self { exchange, head, holds: HeldMemory::Little, delivered }
    }

    /// Notes which memory the response holds.
    pub(crate) fn holding(self, holds: HeldMemory<'e>) -> Self {
        Self { holds, ..self }
    }

    pub(crate) fn is_head_waiting(&self) -> bool {
        !self.head.is_gone()
    }

    /// Sends the head, if it still waits.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.send(&mut []).await
    }

    /// Sends one piece of the body.
    pub(crate) async fn piece(&mut self, piece: Bytes) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        self.delivered.body_bytes += piece.len() as u64;
        let sent = self.send(&mut [IoSlice::new(&piece)]).await;
        self.exchange.progressed(self.delivered.status, self.delivered.body_bytes);
        sent
    }

    /// Sends the head, if it still waits, and these pieces.
    async fn send(&mut self, pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.send_or_end(pieces, false).await
    }

    /// The same; `is_all`: these are the last pieces, so it ends the answer.
    async fn send_or_end(&mut self, mut pieces: &mut [IoSlice<'_>], is_all: bool) -> io::Result<()> {
        let (exchange, head) = (self.exchange, &mut self.head);
        let mut poll = |cx: &mut Context<'_>| {
            if !pieces.is_empty() || !is_all {
                ready!(exchange.door.poll_send(cx, head, &mut pieces))?;
            }
            if is_all { exchange.door.poll_end(cx, head, None) } else { Poll::Ready(Ok(())) }
        };
        // Most answers find room at once, and need no timer.
        match at_once(&mut poll).await {
            Some(sent) => sent,
            None => Box::pin(unless_too_slow(exchange, &self.holds, in_time(exchange, poll))).await,
        }
    }

    /// Sends a body that is all in memory, and ends the answer.
    pub(crate) async fn all<'b>(mut self, mut body: impl Iterator<Item = &'b [u8]>) -> Delivered {
        let body_start = self.exchange.door.sent_bytes() + self.head.len() as u64;
        let mut body_bytes = 0;
        loop {
            let mut batch = [IoSlice::new(&[]); BODY_PIECES_PER_SEND];
            let mut count = 0;
            for (place, piece) in batch.iter_mut().zip(&mut body) {
                *place = IoSlice::new(piece);
                body_bytes += piece.len() as u64;
                count += 1;
            }
            let is_all = count < BODY_PIECES_PER_SEND;
            if self.send_or_end(batch.get_mut(..count).unwrap_or_default(), is_all).await.is_err() {
                self.delivered.body_bytes = self.sent_since(body_start);
                return self.cut();
            }
            self.delivered.body_bytes = body_bytes;
            self.exchange.progressed(self.delivered.status, body_bytes);
            if is_all {
                return self.delivered;
            }
        }
    }

    fn sent_since(&self, start: u64) -> u64 {
        self.exchange.door.sent_bytes().saturating_sub(start)
    }

    /// Ends the answer.
    pub(crate) async fn end(mut self, trailers: Option<Fields>) -> Delivered {
        let exchange = self.exchange;
        let (head, trailers) = (&mut self.head, trailers.as_ref());
        let mut poll_end = |cx: &mut Context<'_>| exchange.door.poll_end(cx, head, trailers);
        let ended = match at_once(&mut poll_end).await {
            Some(ended) => ended,
            None => Box::pin(unless_too_slow(exchange, &self.holds, in_time(exchange, poll_end))).await,
        };
        if ended.is_err() { self.cut() } else { self.delivered }
    }

    /// Cuts the answer: its body has broken off, or the client does not take it. Whether the response will be stored all the same
    /// is unknown by now, so the result does not say that it is.
    pub(crate) fn cut(self) -> Delivered {
        let was_to_be_stored = self.delivered.cache.as_ref().is_some_and(|status| status.stored);
        let cache = self.delivered.cache.map(|status| CacheStatus { stored: false, ..status });
        let was_meant_for_cache = self.delivered.was_meant_for_cache || was_to_be_stored;
        Delivered { is_whole: false, cache, was_meant_for_cache, ..self.delivered }
    }
}
