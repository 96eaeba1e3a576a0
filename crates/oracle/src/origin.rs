//! The origin: answers each page by its properties, in its current version, and misbehaves now and then.
//!
//! Each connection has a thread, since the engine bounds their number. The origin misbehaves as real applications do: errors, answers
//! cut in the middle, connections closed without an answer, pauses before the head, between head and body, and within the body. A
//! pause between choosing a version and sending it makes a cache receive an old version after a newer one.

use crate::claim::{Claim, FIELD, Representation};
use crate::page::{Framing, Page, Validator, Visitor};
use crate::random::Random;
use crate::ranges::{Spec, resolve};
use crate::report::{Count, Report};
use crate::wire::{Fields, Reader, RequestHead, Trouble};
use crate::world::World;
use std::collections::HashMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bounds what would hang; connections that the engine keeps idle end with the engine.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What all connections share.
struct Origin {
    world: Arc<World>,
    report: Arc<Report>,
    pages: HashMap<String, u32>,
}

/// Starts the origin, and returns its address. Its listener ends with the first connection after the end of the world.
pub fn start(world: Arc<World>, report: Arc<Report>, seed: u64) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let pages = world.pages.iter().map(|page| (format!("{}{}", page.host, page.target), page.number)).collect();
    let origin = Arc::new(Origin { world, report, pages });
    thread::spawn(move || {
        for (number, socket) in listener.incoming().enumerate() {
            if origin.world.is_over() {
                return;
            }
            let origin = origin.clone();
            let Ok(socket) = socket else { continue };
            thread::spawn(move || {
                socket.set_nodelay(true).ok();
                socket.set_read_timeout(Some(READ_TIMEOUT)).ok();
                let mut reader = Reader::new(&socket);
                let mut random = Random::new(seed ^ (number as u64) << 20);
                // Any trouble ends the connection; the clients check what the engine makes of it.
                while let Ok(true) = origin.exchange(&socket, &mut reader, &mut random) {}
            });
        }
    });
    address
}

/// How an answer goes wrong, if it does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The connection is closed without an answer.
    Silent,
    /// 500 or 503.
    Error,
    /// The connection ends within the head or the body.
    Cut,
}

impl Origin {
    /// Answers one request; `Ok(false)`: the connection has to end.
    fn exchange(&self, socket: &TcpStream, reader: &mut Reader<'_>, random: &mut Random) -> Result<bool, Trouble> {
        let Some(request) = reader.request()? else { return Ok(false) };
        if let Some(length) = request.fields.framing()? {
            reader.body(length, &mut Vec::new(), &mut |_| true)?;
        }
        self.report.count(Count::OriginRequest);
        let uri = format!("{}{}", request.fields.only("host").unwrap_or_default(), request.target);
        let Some(page) = self.pages.get(&uri) else {
            self.report.mistake(format!("the origin was asked for {uri}, which no client asks for"));
            return Ok(false);
        };
        let page = &self.world.pages[*page as usize];
        if random.percent(30) {
            thread::sleep(Duration::from_micros(500 + random.below(15_000)));
        }
        let mishap = match random.below(1000) {
            0..=3 => Fault::Silent,
            4..=11 => Fault::Error,
            12..=24 => Fault::Cut,
            _ => Fault::None,
        };
        let answer = self.answer(page, &request, mishap, random);
        if mishap != Fault::None {
            self.report.count(Count::OriginMishap);
        }
        if random.percent(10) {
            thread::sleep(Duration::from_micros(500 + random.below(10_000)));
        }
        match mishap {
            Fault::Silent => Ok(false),
            _ => {
                Ok(answer.send(socket, mishap == Fault::Cut, random).is_ok() && mishap != Fault::Cut && !answer.closes)
            }
        }
    }

    fn answer(&self, page: &Page, request: &RequestHead, mishap: Fault, random: &mut Random) -> Answer {
        let is_unsafe = !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        // An unsafe request that gets an error has changed nothing; with every other mishap it has changed the page.
        let (version, at) = match is_unsafe && mishap != Fault::Error {
            true => self.world.change(page.number),
            false => self.world.current(page),
        };
        let asked = Asked::of(&request.fields);
        let (visitor, variant) = (page.label(asked.visitor), page.variant(asked.language, asked.takes_gzip));
        let length = page.length(version, variant);
        let of = Representation { page: page.number, visitor, variant, version, length };
        let mut claim = Claim { of, at, by: asked.by, serial: self.world.number(), also: None };
        if mishap == Fault::Error {
            return Answer::short(random.of(&["500 Internal Server Error", "503 Service Unavailable"]), &claim);
        }
        if is_unsafe {
            return self.changed(page, &mut claim, random);
        }
        if request.method == "OPTIONS" {
            return Answer::short("200 OK", &claim);
        }
        let mut answer = self.represent(page, claim, random);
        answer.is_head = request.method == "HEAD";
        condition(&mut answer, page, &request.fields, random);
        answer
    }

    /// The answer to an unsafe request. A quarter of them change another page of the site as well, which Location names; another
    /// quarter are answered with the page itself.
    fn changed(&self, page: &Page, claim: &mut Claim, random: &mut Random) -> Answer {
        match random.below(4) {
            0 => {
                let other = &self.world.pages[(page.number ^ 3) as usize];
                claim.also = Some((other.number, self.world.change(other.number).0));
                let mut answer = Answer::short("201 Created", claim);
                answer.head.push_str(&format!("Location: {}\r\n", other.target));
                answer
            }
            1 => {
                let mut answer = self.represent(page, *claim, random);
                answer.head.push_str(&format!("Content-Location: {}\r\n", page.target));
                answer
            }
            _ => Answer::short("204 No Content", claim),
        }
    }

    /// The answer with the whole page.
    fn represent(&self, page: &Page, claim: Claim, random: &mut Random) -> Answer {
        // A style sheet gets a heuristic lifetime in profile safe as well.
        let media_type = if page.caching.cache_control.is_empty() { "text/css" } else { "text/plain" };
        let mut head = format!("{FIELD}: {}\r\nContent-Type: {media_type}\r\n", claim.write());
        let mut field = |name: &str, value: &str| {
            if !value.is_empty() {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        };
        field("Cache-Control", &page.caching.cache_control);
        field("Vary", page.vary());
        let tag = claim.of.etag();
        match page.validator {
            Validator::StrongAndDate | Validator::Strong => field("ETag", &tag),
            Validator::Weak => field("ETag", &format!("W/{tag}")),
            Validator::Date | Validator::None => {}
        }
        if let Some(seconds) = page.last_modified(claim.of.version) {
            field("Last-Modified", &date(seconds));
        }
        if page.sets_cookie && random.percent(40) {
            field("Set-Cookie", &format!("s={}", claim.by));
        }
        if random.percent(90) {
            field("Date", &httpdate::fmt_http_date(SystemTime::now()));
        }
        Answer {
            status: "200 OK",
            head,
            claim,
            part: Some((0, claim.of.length)),
            framing: page.framing,
            is_head: false,
            closes: page.framing == Framing::Close,
        }
    }
}

/// Applies If-None-Match, If-Modified-Since, If-Range and Range to an answer that would be 200.
fn condition(answer: &mut Answer, page: &Page, fields: &Fields, random: &mut Random) {
    let of = answer.claim.of;
    let modified = page.last_modified(of.version);
    let since = |name: &str| {
        let time = httpdate::parse_http_date(fields.only(name)?).ok()?;
        Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
    };
    let has_tag = !matches!(page.validator, Validator::Date | Validator::None);
    let is_not_modified = match fields.has("if-none-match") {
        true => has_tag && fields.all("if-none-match").any(|tags| tags == "*" || tags.contains(&of.etag())),
        false => matches!((since("if-modified-since"), modified), (Some(since), Some(modified)) if modified <= since),
    };
    if is_not_modified {
        answer.status = "304 Not Modified";
        answer.part = None;
        return;
    }
    let Some(spec) = fields.only("range").and_then(Spec::parse) else { return };
    let [spec] = spec.as_slice() else { return };
    let holds = match fields.only("if-range") {
        None => true,
        Some(value) if value.starts_with('"') => page.validator != Validator::Weak && has_tag && value == of.etag(),
        Some(value) => modified.is_some_and(|modified| value == date(modified)),
    };
    if !page.takes_ranges || !holds || answer.is_head || random.percent(10) || of.length == 0 {
        return;
    }
    match resolve(*spec, of.length) {
        Some((first, last)) => {
            answer.status = "206 Partial Content";
            answer.head.push_str(&format!("Content-Range: bytes {first}-{last}/{}\r\n", of.length));
            answer.part = Some((first, last - first + 1));
        }
        None => {
            answer.status = "416 Range Not Satisfiable";
            answer.head.push_str(&format!("Content-Range: bytes */{}\r\n", of.length));
            answer.part = Some((0, 0));
            answer.framing = Framing::Length;
            answer.closes = false;
        }
    }
}

/// An answer that is ready to be sent.
struct Answer {
    status: &'static str,
    /// Field lines, except those of the framing.
    head: String,
    claim: Claim,
    /// First byte and number of bytes of the body; `None`: no body, and none is announced.
    part: Option<(u64, u64)>,
    framing: Framing,
    is_head: bool,
    closes: bool,
}

impl Answer {
    /// An answer without a body.
    fn short(status: &'static str, claim: &Claim) -> Self {
        let head = format!("{FIELD}: {}\r\n", claim.write());
        let part = (!status.starts_with("204")).then_some((0, 0));
        Self { status, head, claim: *claim, part, framing: Framing::Length, is_head: false, closes: false }
    }

    fn send(&self, mut socket: &TcpStream, is_cut: bool, random: &mut Random) -> std::io::Result<()> {
        let mut out = format!("HTTP/1.1 {}\r\n{}", self.status, self.head);
        match (self.part, self.framing) {
            (None, _) => {}
            (Some((_, count)), Framing::Length) => out.push_str(&format!("Content-Length: {count}\r\n")),
            (Some(_), Framing::Chunked) => out.push_str("Transfer-Encoding: chunked\r\n"),
            (Some(_), Framing::Close) => out.push_str("Connection: close\r\n"),
        }
        out.push_str("\r\n");
        let mut out = out.into_bytes();
        if let Some((first, count)) = self.part.filter(|_| !self.is_head) {
            out.reserve(count as usize + (count >> 8) as usize);
            self.write_body(&self.claim.of.bytes(first, count), &mut out, random);
        }
        // A cut of a body that ends with the connection can't be noticed, so such a body is sent whole.
        let is_cut = is_cut && (self.framing != Framing::Close || self.is_head);
        let end = if is_cut { random.below(out.len() as u64) as usize } else { out.len() };
        let middle = random.below(end.max(1) as u64) as usize;
        if random.percent(7) {
            socket.write_all(&out[..middle])?;
            thread::sleep(Duration::from_micros(500 + random.below(30_000)));
            return socket.write_all(&out[middle..end]);
        }
        socket.write_all(&out[..end])
    }

    fn write_body(&self, body: &[u8], out: &mut Vec<u8>, random: &mut Random) {
        if self.framing != Framing::Chunked {
            return out.extend_from_slice(body);
        }
        let mut rest = body;
        while !rest.is_empty() {
            let size = random.of(&[1, 100, 4096, 16 << 10, 100_000]).min(rest.len());
            let size = if rest.len() > 1 << 20 { size.max(4096) } else { size };
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
            rest = after;
        }
        out.extend_from_slice(b"0\r\n\r\n");
    }
}

/// The parts of a request that decide on visitor and variant, and the request's number.
struct Asked {
    visitor: Visitor,
    language: u8,
    takes_gzip: bool,
    by: u64,
}

impl Asked {
    fn of(fields: &Fields) -> Self {
        let number = |name: &str, prefix: &str| fields.only(name)?.strip_prefix(prefix)?.parse().ok();
        Self {
            visitor: number("cookie", "v=").or(number("authorization", "Visitor ")).unwrap_or(0),
            language: fields.only("x-lang").and_then(|value| value.parse().ok()).unwrap_or(0),
            takes_gzip: fields.lists("accept-encoding", "gzip"),
            by: fields.only("x-request").and_then(|value| value.parse().ok()).unwrap_or(0),
        }
    }
}

/// Seconds since 1970 as an HTTP date.
pub fn date(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}
