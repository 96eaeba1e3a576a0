//! A response on its way out: head and pieces to the client's socket, and how it went.

mod eagerness;
mod file;
mod pacing;
mod scratch;

use crate::delivered::Delivered;
use crate::exchange::Exchange;
use crate::head::{Framing, Head};
use crate::request::notes::Notes;
use bytes::Bytes;
pub(crate) use eagerness::Eagerness;
pub(crate) use file::Interrupted;
use http::StatusCode;
use kasoku_cache::Entry;
use kasoku_metrics::Counter;
use kasoku_options::HitHeaders;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_wire::Fields;
use kasoku_wire::http1::{encode_chunk_head, encode_last_chunk};
pub(crate) use scratch::Scratch;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

/// Pieces that go into one system call.
const PIECES_PER_WRITE: usize = 8;

/// Up to this length a head and what follows it are copied into one piece, in bytes: the kernel takes one piece some 0.15 µs faster
/// than a list of two, which is more than the copy costs.
const COPIED_BYTES_MAX: usize = 12 << 10;

/// What `$next` brings; while it is not there yet, the head goes out, so that a client sees that an answer has begun.
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

/// While memory is short, a client must take so much in this time.
const SLOWNESS_WINDOW: Duration = Duration::from_secs(5);

/// While memory is short, what is held only for its readers must be taken as a whole in this time.
const HELD_SECONDS_MAX: u64 = 300;

/// What memory a response holds, for as long as its client reads it.
pub(crate) enum Holds<'e> {
    /// None, or a piece.
    Little,
    /// A stored response, which may have been evicted or replaced meanwhile.
    Entry(&'e Arc<Entry>),
    /// The pieces of a fill that the client has not taken.
    Fill,
}

/// Returns when memory is short, the client holds what would be free without it, and it takes less than it must. Polled
/// only while a write waits, so a client that takes its answer at once costs no timer.
async fn is_too_slow(exchange: &Exchange, holds: &Holds<'_>) {
    let Exchange { worker, connection, .. } = exchange;
    exchange.takes_time();
    let least = exchange.settings.limits.send_rate_min;
    let mut before = connection.stream.taken_bytes();
    loop {
        Box::pin(tokio::time::sleep(SLOWNESS_WINDOW)).await;
        let rate_min = match holds {
            Holds::Little => 0,
            Holds::Entry(entry) if worker.cache.is_stored(&exchange.uri, entry) => 0,
            Holds::Entry(entry) if least > 0 => least.max(entry.memory_bytes() / HELD_SECONDS_MAX),
            Holds::Entry(_) | Holds::Fill => least,
        };
        let taken = connection.stream.taken_bytes();
        if worker.cache.is_short() && taken.saturating_sub(before) < rate_min.saturating_mul(SLOWNESS_WINDOW.as_secs())
        {
            return worker.cells.count(Counter::SlowReadersCut);
        }
        before = taken;
    }
}

/// Writes what the cache did, and what else is told of a request; and what ends its session, if it ends.
fn tell(exchange: &Exchange, head: &mut Head, cache: Option<&CacheStatus>, settings: HitHeaders) {
    let is_set_aside = exchange.seen.get().standing.is_some_and(|standing| standing.is_anonymous);
    match (exchange.existing_aside(), cache) {
        (None, None) => {}
        // A hit needs no memory for what is told of it.
        (None, Some(cache)) if is_set_aside => {
            head.cache_status(cache, Some(&Notes::of_session("anonymous")), settings)
        }
        (None, Some(cache)) => head.cache_status(cache, None, settings),
        (Some(mut aside), cache) => {
            if is_set_aside && aside.session.is_none() && aside.own_cookies.is_empty() {
                aside.notes.session("anonymous");
            }
            if let Some(cache) = cache {
                head.cache_status(cache, Some(&aside.notes), settings);
            }
            for line in std::mem::take(&mut aside.own_cookies) {
                head.field("Set-Cookie", line);
            }
        }
    }
}

/// Appends the pieces of a body to its head for as long as both are small; returns the first that has no room.
fn append_small<'b>(head: &mut Vec<u8>, body: &mut impl Iterator<Item = &'b [u8]>) -> Option<&'b [u8]> {
    body.find(|piece| {
        let is_small = head.len() + piece.len() <= COPIED_BYTES_MAX;
        if is_small {
            // Room for any that is small, so that the buffer grows once and not with each longer answer.
            head.reserve(COPIED_BYTES_MAX - head.len());
            head.extend_from_slice(piece);
        }
        !is_small
    })
}

/// A response on its way out. The head waits for the first piece, so that both can go in one system call.
pub(crate) struct Outgoing<'e> {
    exchange: &'e Exchange,
    /// Empty once it is written.
    head: Vec<u8>,
    framing: Framing,
    holds: Holds<'e>,
    pub(crate) delivered: Delivered,
}

impl<'e> Outgoing<'e> {
    pub(crate) fn begin(
        exchange: &'e Exchange,
        head: Head,
        code: StatusCode,
        framing: Framing,
        status: CacheStatus,
    ) -> Self {
        Self::framed(exchange, head, code, framing, Some(status), true)
    }

    /// `may_go_on`: whether the connection can carry another request, as far as this answer knows.
    pub(crate) fn framed(
        exchange: &'e Exchange,
        mut head: Head,
        status: StatusCode,
        framing: Framing,
        cache: Option<CacheStatus>,
        may_go_on: bool,
    ) -> Self {
        let settings = exchange.settings.hit_headers;
        tell(exchange, &mut head, cache.as_ref(), settings);
        if settings.request_id {
            head.request_id(exchange.id());
        }
        // A request whose body was not read can't be followed by another: say so.
        let may_go_on = may_go_on && exchange.body.is_complete() && !exchange.worker.is_stopping();
        let (head, keeps_alive) = head.finish(framing, &exchange.request, may_go_on);
        exchange.progressed(status, 0);
        let delivered = Delivered { is_whole: true, keeps_alive, cache, ..Delivered::cut(status) };
        Self { exchange, head, framing, holds: Holds::Little, delivered }
    }

    /// The same, of a response that holds memory.
    pub(crate) fn holding(self, holds: Holds<'e>) -> Self {
        Self { holds, ..self }
    }

    pub(crate) fn is_head_waiting(&self) -> bool {
        !self.head.is_empty()
    }

    /// Writes the head, if it still waits.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        let head = std::mem::take(&mut self.head);
        self.write(&mut [IoSlice::new(&head)]).await
    }

    /// Sends one piece of the body.
    pub(crate) async fn piece(&mut self, piece: Bytes) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut before = std::mem::take(&mut self.head);
        let after: &[u8] = if self.framing == Framing::Chunked {
            encode_chunk_head(piece.len(), &mut before);
            b"\r\n"
        } else {
            b""
        };
        self.delivered.body_bytes += piece.len() as u64;
        let mut parts = [IoSlice::new(&before), IoSlice::new(&piece), IoSlice::new(after)];
        let written = self.write(&mut parts).await;
        self.exchange.progressed(self.delivered.status, self.delivered.body_bytes);
        written
    }

    async fn write(&self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        // Most answers find room at once, and need nothing that waits.
        if self.exchange.connection.write_at_once(&mut parts).await? {
            return Ok(());
        }
        Box::pin(self.write_later(parts)).await
    }

    async fn write_later(&self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        tokio::select! {
            biased;
            written = self.exchange.connection.write(parts) => written,
            () = is_too_slow(self.exchange, &self.holds) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Sends a body that is all here.
    pub(crate) async fn all<'b>(mut self, mut body: impl Iterator<Item = &'b [u8]>) -> Delivered {
        let mut first = std::mem::take(&mut self.head);
        let head_bytes = first.len() as u64;
        let next = append_small(&mut first, &mut body);
        let before = self.exchange.connection.stream.sent_bytes();
        let written = match next {
            None => self.write(&mut [IoSlice::new(&first)]).await,
            Some(_) => self.write_pieces(&first, next.into_iter().chain(body), before + head_bytes).await,
        };
        self.delivered.body_bytes = self.sent_since(before + head_bytes);
        if written.is_err() {
            return self.cut();
        }
        self.exchange.progressed(self.delivered.status, self.delivered.body_bytes);
        self.exchange.worker.buffers.give(first);
        self.delivered
    }

    /// Writes the pieces, as many at a time as one system call takes. `body_start`: what the connection had sent before the body.
    async fn write_pieces<'b>(
        &self,
        first: &[u8],
        mut rest: impl Iterator<Item = &'b [u8]>,
        body_start: u64,
    ) -> io::Result<()> {
        let mut first = Some(first);
        loop {
            let mut batch = [IoSlice::new(&[]); PIECES_PER_WRITE];
            let mut count = 0;
            for (place, piece) in batch.iter_mut().zip(std::iter::from_fn(|| first.take().or_else(|| rest.next()))) {
                *place = IoSlice::new(piece);
                count += 1;
            }
            let Some(batch) = batch.get_mut(..count).filter(|batch| !batch.is_empty()) else { return Ok(()) };
            self.write(batch).await?;
            self.exchange.progressed(self.delivered.status, self.sent_since(body_start));
        }
    }

    fn sent_since(&self, start: u64) -> u64 {
        self.exchange.connection.stream.sent_bytes().saturating_sub(start)
    }

    /// The body has come to its end.
    pub(crate) async fn end(mut self, trailers: Option<Fields>) -> Delivered {
        let mut last = std::mem::take(&mut self.head);
        if self.framing == Framing::Chunked {
            encode_last_chunk(trailers.as_ref(), &mut last);
        }
        if !last.is_empty() && self.write(&mut [IoSlice::new(&last)]).await.is_err() {
            return self.cut();
        }
        self.delivered
    }

    /// The body will not come to its end, or nobody takes it. Whether it is stored all the same, nobody knows by then: it isn't said.
    pub(crate) fn cut(self) -> Delivered {
        let was_to_be_stored = self.delivered.cache.as_ref().is_some_and(|status| status.stored);
        let cache = self.delivered.cache.map(|status| CacheStatus { stored: false, ..status });
        let was_meant_for_cache = self.delivered.was_meant_for_cache || was_to_be_stored;
        Delivered { is_whole: false, cache, was_meant_for_cache, ..self.delivered }
    }
}
