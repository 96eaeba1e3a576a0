//! Requests: a client draws them at random, and the checker finds in them what it needs to know.

use crate::claim::Claim;
use crate::coded_tags::coded_tag;
use crate::origin::date;
use crate::page::{Page, Validator, Visitor};
use crate::random::Random;
use crate::ranges::Spec;
use crate::world::World;
use std::collections::HashMap;

/// The claims that one client has seen, by page, label and variant. Its conditions are made from them.
pub type Seen = HashMap<(u32, Visitor, u8), Claim>;

/// The cache directives of a request; numbers are seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// Wants a validation.
    pub no_cache: bool,
    /// Wants nothing to be stored.
    pub no_store: bool,
    /// Wants a stored response or none.
    pub only_if_cached: bool,
    /// Wants no response of a greater age.
    pub max_age: Option<u64>,
    /// Wants a response that stays fresh so long.
    pub min_fresh: Option<u64>,
    /// Accepts a response that has been stale so long.
    pub max_stale: Option<u64>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct ClientRequest<'w> {
    /// Its number, which the origin repeats in the claim.
    pub id: u64,
    /// The page that is asked for.
    pub page: &'w Page,
    /// GET, HEAD, POST, PUT, DELETE or OPTIONS.
    pub method: &'static str,
    /// The visitor who asks.
    pub visitor: Visitor,
    /// X-Lang; 0: none.
    pub language: u8,
    /// Whether Accept-Encoding has gzip.
    pub takes_gzip: bool,
    /// If-None-Match.
    pub tags: Vec<String>,
    /// If-Modified-Since, in seconds since 1970.
    pub since: Option<u64>,
    /// Range.
    pub ranges: Vec<Spec>,
    /// If-Range: an entity tag or a date.
    pub if_range: Option<String>,
    /// Cache-Control.
    pub directives: Directives,
    /// Minor version of HTTP/1.
    pub minor: u8,
    /// Whether the connection ends with the answer.
    pub closes: bool,
    /// Bytes of the request's body, and whether they go in chunks.
    pub upload: Option<(usize, bool)>,
    /// Microseconds of the world's clock, taken before the first byte goes out.
    pub sent_at: u64,
    /// The oldest version that the request may get, taken at the same time.
    pub floor: u32,
    /// How often the page had been invalidated by then.
    pub invalidations: u32,
    /// Whether the page was expected to be stored.
    pub is_expected: bool,
}

impl<'w> ClientRequest<'w> {
    /// A plain anonymous GET, sent now.
    pub fn plain(world: &World, page: &'w Page) -> Self {
        Self {
            id: world.number(),
            page,
            method: "GET",
            visitor: 0,
            language: 0,
            takes_gzip: false,
            tags: Vec::new(),
            since: None,
            ranges: Vec::new(),
            if_range: None,
            directives: Directives::default(),
            minor: 1,
            closes: false,
            upload: None,
            invalidations: world.invalidations(page.number),
            is_expected: world.is_expected(page.number),
            floor: world.floor(page.number),
            sent_at: world.now(),
        }
    }

    /// A random request; with `only_safe`, a safe one.
    pub fn any(world: &'w World, random: &mut Random, seen: &Seen, only_safe: bool) -> Self {
        // Some pages are asked for all the time, most of them hardly ever.
        let pages = world.pages.len() as f64;
        let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
        let page = &world.pages[(pages * share.powi(3)) as usize];
        let mut ask = Self::plain(world, page);
        ask.visitor = match random.below(10) {
            0..=5 => 0,
            6..=8 => 1 + random.below(9) as u16,
            _ => 11 + random.below(9) as u16,
        };
        ask.language = random.below(4) as u8;
        ask.takes_gzip = random.percent(50);
        ask.method = match random.below(1000) {
            0..=29 if !only_safe => random.of(&["POST", "PUT", "DELETE"]),
            30..=44 if !only_safe => "OPTIONS",
            45..=99 if page.validator != Validator::None => "HEAD",
            _ => "GET",
        };
        if matches!(ask.method, "POST" | "PUT") {
            ask.upload = Some((random.below(20_000) as usize, random.percent(50)));
        }
        if matches!(ask.method, "GET" | "HEAD") {
            ask.add_conditions(random, seen);
            ask.add_directives(random);
        }
        ask
    }

    fn add_conditions(&mut self, random: &mut Random, seen: &Seen) {
        let key = (self.page.number, self.page.label(self.visitor), self.variant());
        let known = seen.get(&key).map(|claim| claim.of);
        let has_tag = !matches!(self.page.validator, Validator::Date | Validator::None);
        if let Some(known) = known.filter(|_| random.percent(25)) {
            let modified = self.page.last_modified(known.version);
            if has_tag && random.percent(70) {
                self.tags.push(any_form(random, &known.etag()));
                if random.percent(20) {
                    self.tags.insert(0, "\"another\"".to_owned());
                }
            }
            if random.percent(60) {
                self.since = modified;
            }
        }
        if self.method != "GET" || !random.percent(20) {
            return;
        }
        let length = known.map_or(1000, |known| known.length);
        for _ in 0..random.of(&[1, 1, 1, 2, 3]) {
            self.ranges.push(Spec::any(random, length));
        }
        if let Some(known) = known.filter(|_| random.percent(30)) {
            self.if_range = match self.page.last_modified(known.version) {
                Some(modified) if random.percent(30) => Some(date(modified)),
                _ => Some(any_form(random, &known.etag())),
            };
        }
    }

    fn add_directives(&mut self, random: &mut Random) {
        if !random.percent(15) {
            return;
        }
        let Directives { no_cache, no_store, only_if_cached, max_age, min_fresh, max_stale } = &mut self.directives;
        match random.below(8) {
            0 => *no_cache = true,
            1 => *no_store = true,
            2 => *only_if_cached = true,
            3 | 4 => *max_age = Some(random.below(3)),
            5 => *min_fresh = Some(1 + random.below(2)),
            _ => *max_stale = Some(1 + random.below(3)),
        }
    }

    /// The variant that the request selects.
    pub fn variant(&self) -> u8 {
        self.page.variant(self.language, self.takes_gzip)
    }

    /// The lines before the body.
    pub fn head(&self) -> String {
        let mut out = format!(
            "{} {} HTTP/1.{}\r\nHost: {}\r\nX-Request: {}\r\n",
            self.method, self.page.target, self.minor, self.page.host, self.id
        );
        let mut field = |name: &str, value: String| out.push_str(&format!("{name}: {value}\r\n"));
        match self.visitor {
            0 => {}
            1..=9 => field("Cookie", format!("v={}", self.visitor)),
            _ => field("Authorization", format!("Visitor {}", self.visitor)),
        }
        if self.language > 0 {
            field("X-Lang", self.language.to_string());
        }
        if self.takes_gzip {
            field("Accept-Encoding", if self.id.is_multiple_of(2) { "gzip, br" } else { "br,gzip;q=1.0" }.to_owned());
        }
        if !self.tags.is_empty() {
            field("If-None-Match", self.tags.join(", "));
        }
        if let Some(since) = self.since {
            field("If-Modified-Since", date(since));
        }
        if !self.ranges.is_empty() {
            let specs: Vec<String> = self.ranges.iter().map(Spec::to_string).collect();
            field("Range", format!("bytes={}", specs.join(",")));
        }
        if let Some(if_range) = &self.if_range {
            field("If-Range", if_range.clone());
        }
        let directives = self.directives.write();
        if !directives.is_empty() {
            field("Cache-Control", directives);
        }
        match (self.minor, self.closes) {
            (0, false) => field("Connection", "keep-alive".to_owned()),
            (1, true) => field("Connection", "close".to_owned()),
            _ => {}
        }
        match self.upload {
            Some((_, true)) => field("Transfer-Encoding", "chunked".to_owned()),
            Some((bytes, false)) => field("Content-Length", bytes.to_string()),
            None => {}
        }
        out + "\r\n"
    }

    /// The whole request, as it goes over the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.head().into_bytes();
        match self.upload {
            Some((bytes, false)) => out.resize(out.len() + bytes, b'u'),
            Some((bytes, true)) => {
                if bytes > 0 {
                    out.extend_from_slice(format!("{bytes:x}\r\n").as_bytes());
                    out.resize(out.len() + bytes, b'u');
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n\r\n");
            }
            None => {}
        }
        out
    }
}

/// The tag itself, or the tag of a coded form of the same page. Also for clients that do not accept the coding: a cache that keeps
/// all forms of a page would send such a tag.
fn any_form(random: &mut Random, tag: &str) -> String {
    match random.below(10) {
        0..=5 => tag.to_owned(),
        6 => coded_tag(tag, "gzip"),
        _ => coded_tag(tag, "br"),
    }
}

impl Directives {
    /// As a value of Cache-Control.
    pub fn write(&self) -> String {
        let flag = |is_set: bool, name: &str| is_set.then(|| name.to_owned());
        let number = |value: Option<u64>, name: &str| value.map(|value| format!("{name}={value}"));
        let all = [
            flag(self.no_cache, "no-cache"),
            flag(self.no_store, "no-store"),
            flag(self.only_if_cached, "only-if-cached"),
            number(self.max_age, "max-age"),
            number(self.min_fresh, "min-fresh"),
            number(self.max_stale, "max-stale"),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
