//! The clients: threads with one connection at a time, which draw each request at random and check each response at once.
//!
//! Connections differ: one request after the other, several requests in one write, HTTP/1.0, a single request, slow readers, and
//! clients that leave in the middle.

use crate::ask::{ClientRequest, Seen};
use crate::check::check;
use crate::got::ClientResponse;
use crate::governor::Governor;
use crate::random::Random;
use crate::report::{Count, Report};
use crate::uncode::uncode;
use crate::wire::{Length, Reader, ResponseHead, Trouble};
use crate::world::World;
use kasoku_engine::Engine;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// If no byte comes for so long, that is a mistake: after any failure, the engine has to answer or to close the connection.
const SILENCE_MAX: Duration = Duration::from_secs(25);

/// The most claims that one client remembers for its conditions.
const SEEN_MAX: usize = 10_000;

/// One client.
pub struct Client<'w> {
    /// What is true.
    pub world: &'w World,
    /// Where counts and mistakes go.
    pub report: &'w Report,
    /// Decides how long to pause.
    pub governor: &'w Governor,
    /// The engine, for purges.
    pub engine: &'w Engine,
    /// The address of the engine.
    pub address: SocketAddr,
    /// Decides everything that the client does.
    pub random: Random,
    /// The claims that this client has seen.
    pub seen: Seen,
}

/// How a connection is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionMode {
    pipelines: bool,
    is_http10: bool,
    closes: bool,
    is_slow: bool,
    /// The client leaves after so many bytes of a body; 0: before the head.
    leaves_after: Option<u64>,
}

/// What becomes of a connection after a request.
pub(crate) enum Outcome {
    /// The connection goes on.
    GoesOn,
    /// The connection has ended.
    Ended,
}

impl Client<'_> {
    /// Asks until the world ends.
    pub fn run(mut self) {
        while !self.world.is_over() {
            match TcpStream::connect(self.address) {
                Ok(socket) => self.session(&socket),
                Err(error) => return self.report.mistake(format!("no connection: {error}")),
            }
        }
    }

    fn session(&mut self, socket: &TcpStream) {
        self.report.count(Count::Connection);
        socket.set_nodelay(true).ok();
        socket.set_read_timeout(Some(SILENCE_MAX)).ok();
        socket.set_write_timeout(Some(SILENCE_MAX)).ok();
        let mut manner = ConnectionMode::default();
        let mut turns = 1 + self.random.below(60);
        match self.random.below(20) {
            0..=2 => manner.pipelines = true,
            3 | 4 => manner.is_http10 = true,
            5 => manner.closes = true,
            6 | 7 => manner.is_slow = true,
            8 | 9 => {
                turns = 1 + self.random.below(3);
                manner.leaves_after = Some(self.random.of(&[0, 1, 5000, 200_000]));
            }
            _ => {}
        }
        let mut reader = Reader::new(socket);
        for turn in (0..turns).rev() {
            if self.world.is_over() {
                return;
            }
            let leaves = manner.leaves_after.filter(|_| turn == 0);
            if let Outcome::Ended = self.turn(socket, &mut reader, manner, leaves) {
                return;
            }
            self.governor.pause();
        }
    }

    /// Sends requests in one write, and reads their responses.
    fn turn(
        &mut self,
        mut socket: &TcpStream,
        reader: &mut Reader<'_>,
        manner: ConnectionMode,
        leaves: Option<u64>,
    ) -> Outcome {
        let count = if manner.pipelines { 2 + self.random.below(4) } else { 1 };
        let mut out = Vec::new();
        let mut asks = Vec::new();
        for _ in 0..count {
            let mut ask = ClientRequest::any(self.world, &mut self.random, &self.seen, manner.pipelines);
            ask.minor = u8::from(!manner.is_http10);
            ask.closes = manner.closes || (manner.is_http10 && self.random.percent(50));
            if ask.minor == 0 && ask.upload.is_some() {
                ask.upload = Some((ask.upload.map_or(0, |(bytes, _)| bytes), false));
            }
            self.count_request(&ask, manner);
            out.extend_from_slice(&ask.bytes());
            asks.push(ask);
        }
        if socket.write_all(&out).is_err() {
            return self.ended_early(&asks[0], &Trouble::Cut);
        }
        if leaves == Some(0) {
            self.report.count(Count::Abandoned);
            return Outcome::Ended;
        }
        for ask in &asks {
            if let Outcome::Ended = self.response(reader, ask, manner, leaves) {
                return Outcome::Ended;
            }
        }
        if reader.has_more() {
            self.mistake("bytes behind the last response", &asks[asks.len() - 1], None);
            return Outcome::Ended;
        }
        Outcome::GoesOn
    }

    pub(crate) fn response(
        &mut self,
        reader: &mut Reader<'_>,
        ask: &ClientRequest<'_>,
        manner: ConnectionMode,
        leaves: Option<u64>,
    ) -> Outcome {
        let head = match reader.response() {
            Ok(Some(head)) => head,
            Ok(None) => {
                self.mistake("the connection was closed without an answer", ask, None);
                return Outcome::Ended;
            }
            Err(trouble) => return self.ended_early(ask, &trouble),
        };
        let length = match length(&head, ask) {
            Ok(length) => length,
            Err(trouble) => return self.ended_early(ask, &trouble),
        };
        self.learn_early(ask, &head);
        let mut body = Vec::new();
        let mut paused_at = 0;
        let read = reader.body(length, &mut body, &mut |bytes| {
            if manner.is_slow && bytes - paused_at > 32 << 10 {
                paused_at = bytes;
                std::thread::sleep(Duration::from_millis(3));
            }
            leaves.is_none_or(|after| (bytes as u64) < after)
        });
        let has_left = leaves.is_some_and(|after| body.len() as u64 >= after);
        match &read {
            Ok(()) => {}
            Err(Trouble::Cut) if has_left => self.report.count(Count::Abandoned),
            Err(Trouble::Cut) => self.report.count(Count::Cut),
            Err(trouble) => return self.ended_early(ask, trouble),
        }
        let ends_with_connection = length == Length::Close;
        let got = ClientResponse { head, body, is_whole: read.is_ok(), ends_with_connection };
        let (got, is_coded) = match uncode(ask, got.clone()) {
            Ok(uncoded) => uncoded,
            Err(wrong) => {
                self.mistake(&wrong, ask, Some(&got));
                return Outcome::Ended;
            }
        };
        if is_coded {
            self.report.count(Count::Coded);
        }
        for wrong in check(self.world, ask, &got) {
            self.mistake(&wrong, ask, Some(&got));
        }
        self.count_response(ask, &got);
        self.learn(ask, &got);
        let closes = got.head.fields.lists("connection", "close")
            || (got.head.minor == 0 && !got.head.fields.lists("connection", "keep-alive"))
            || ask.closes;
        if closes || ends_with_connection || read.is_err() { Outcome::Ended } else { Outcome::GoesOn }
    }

    /// Learns from the head alone by when the cache had the answer, and that an unsafe request has succeeded.
    fn learn_early(&self, ask: &ClientRequest<'_>, head: &ResponseHead) {
        let is_unsafe = !matches!(ask.method, "GET" | "HEAD" | "OPTIONS");
        let claim = head.fields.only(crate::claim::FIELD).and_then(crate::claim::Claim::parse);
        if let Some(claim) = claim.filter(|claim| claim.by == ask.id) {
            self.world.hear(ask.page.number, claim.serial);
        }
        if let Some(claim) = claim.filter(|_| is_unsafe && (200..400).contains(&head.status)) {
            self.world.raise_floor(ask.page.number, claim.of.version);
            self.report.count(Count::FloorRaised);
            if let Some((page, version)) = claim.also {
                self.world.raise_floor(page, version);
            }
        }
    }

    fn learn(&mut self, ask: &ClientRequest<'_>, got: &ClientResponse) {
        let Some(claim) = got.claim().filter(|_| matches!(got.head.status, 200 | 206)) else { return };
        if self.seen.len() < SEEN_MAX {
            self.seen.insert((ask.page.number, claim.of.visitor, claim.of.variant), claim);
        } else {
            self.seen.clear();
        }
    }

    pub(crate) fn count_request(&self, ask: &ClientRequest<'_>, manner: ConnectionMode) {
        let count = |is: bool, what| {
            if is {
                self.report.count(what);
            }
        };
        let method = match ask.method {
            "GET" => Count::Get,
            "HEAD" => Count::Head,
            "OPTIONS" => Count::Options,
            _ => Count::Unsafe,
        };
        self.report.count(method);
        count(!ask.tags.is_empty() || ask.since.is_some(), Count::Conditional);
        count(!ask.ranges.is_empty(), Count::Ranged);
        count(ask.if_range.is_some(), Count::IfRange);
        count(!ask.directives.write().is_empty(), Count::Directive);
        count(ask.visitor > 0, Count::Visitor);
        count(manner.pipelines, Count::Pipelined);
        count(manner.is_http10, Count::Http10);
        count(manner.is_slow, Count::SlowReader);
        if matches!(method, Count::Unsafe | Count::Head) {
            // Both may drop what is stored for this page, and for the other page that Location may name.
            self.world.note_invalidation(ask.page.number);
            self.world.note_invalidation(ask.page.number ^ 3);
        }
    }

    fn count_response(&self, ask: &ClientRequest<'_>, got: &ClientResponse) {
        let status = match got.head.status {
            206 if got.head.fields.only("content-type").is_some_and(|it| it.starts_with("multipart/")) => {
                Some(Count::Multipart)
            }
            206 => Some(Count::Partial),
            304 => Some(Count::NotModified),
            416 => Some(Count::Unsatisfiable),
            500 | 502 | 503 => Some(Count::OriginFailed),
            504 => Some(Count::OnlyIfCached),
            200 => Some(Count::Ok),
            _ => None,
        };
        let cache = got.cache();
        let detail = cache.detail.as_deref().unwrap_or_default();
        let claim = got.claim();
        let ended = claim.and_then(|claim| self.world.ended(claim.of.page, claim.of.version));
        let all = [
            (cache.hit, Count::Hit),
            (cache.hit && detail != "hit", Count::StaleHit),
            (cache.hit && ended.is_some_and(|ended| ended < ask.sent_at), Count::OldVersion),
            (cache.hit && !ask.page.vary().is_empty(), Count::SharedVariant),
            (cache.collapsed, Count::Collapsed),
            (detail == "revalidated", Count::Revalidated),
            (cache.stored, Count::StoredMark),
            (ask.is_expected && !ask.page.sets_cookie && detail == "uri-miss" && ask.method == "GET", Count::Evicted),
        ];
        let counts = all.into_iter().filter_map(|(is, what)| is.then_some(what));
        status.into_iter().chain(counts).for_each(|what| self.report.count(what));
        self.report.add(Count::BodyBytes, got.body.len() as u64);
        if cache.hit {
            self.world.mark_hit(ask.page.number, ask.invalidations);
        }
    }

    /// Notes that a connection has ended early, which is in order only if it was cut within an answer.
    fn ended_early(&self, ask: &ClientRequest<'_>, trouble: &Trouble) -> Outcome {
        match trouble {
            Trouble::Cut => self.report.count(Count::Cut),
            Trouble::Silence => self.mistake(&format!("nothing came for {SILENCE_MAX:?}"), ask, None),
            Trouble::Broken(how) => self.mistake(&format!("framing: {how}"), ask, None),
        }
        Outcome::Ended
    }

    fn mistake(&self, what: &str, ask: &ClientRequest<'_>, got: Option<&ClientResponse>) {
        let got = got.map_or(String::new(), |got| {
            let fields: String = got.head.fields.0.iter().map(|(name, value)| format!("  {name}: {value}\n")).collect();
            format!("{}\n{fields}  {} bytes, whole: {}", got.head.status, got.body.len(), got.is_whole)
        });
        let ClientRequest { sent_at, floor, .. } = ask;
        let request = ask.head().trim_end().replace("\r\n", "\n  ");
        self.report.mistake(format!("{what}\n{:?}\n  {request}\nsent at {sent_at} µs, floor {floor}\n{got}", ask.page));
    }
}

/// How long the body of this response is (RFC 9112 section 6.3).
fn length(head: &ResponseHead, ask: &ClientRequest<'_>) -> Result<Length, Trouble> {
    let framing = head.fields.framing()?;
    if ask.method == "HEAD" || matches!(head.status, 204 | 304) {
        return Ok(Length::Bytes(0));
    }
    Ok(framing.unwrap_or(Length::Close))
}
