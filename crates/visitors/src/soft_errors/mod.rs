//! Finds errors that say 200: an answer with the words of a failing program, or unlike the good pages of its URL pattern.
//!
//! Many programs say 200 whatever happens, and a granted lifetime would keep their "can't connect to the database" for an hour. Such an
//! answer is sent, and lives for seconds. It may also be right: a search without results, or a post that was deleted. So it replaces its own
//! page, and it has its full lifetime where another page of its pattern is good at the same time. Only where a second good page turns
//! the same way, or where the words of a failing program come with an unlike answer, has the application failed: then stale pages go first.

mod phrases;

pub use phrases::is_failure;

use kasoku_semantics::media_type;
use kasoku_wire::ResponseHead;

/// How many good pages of a pattern must be known before an answer is compared with them.
const GOOD_MIN: usize = 3;

/// An answer that is so many times smaller than each good page is unlike them.
const SMALLER_TIMES: u64 = 4;

/// The most kinds of elements that are known of a pattern's frame, and the fewest that make one.
const FRAME_MAX: usize = 128;
const FRAME_MIN: usize = 4;

/// The most media types of a pattern's good pages.
const TYPES_MAX: usize = 4;

/// How long an answer lives that may be an error, at first and at most, in seconds.
const FIRST_SECONDS: u64 = 5;
const LAST_SECONDS: u64 = 300;

/// Another page says that the application works if it was asked for at most so long ago, in milliseconds.
const AT_ONCE_MS: u64 = 10_000;

/// Two pages turn the same way if no more time lies between them, in milliseconds.
const TURN_MS: u64 = 60_000;

/// What an answer is compared by.
#[derive(Debug)]
pub struct Shape<'k> {
    media_type: Vec<u8>,
    bytes: u64,
    /// The kinds of its elements, in order.
    kinds: &'k [u64],
    is_failure: bool,
}

/// A good page that has turned into something else.
struct Turned {
    url: u64,
    at_ms: u64,
    media_type: Vec<u8>,
    bytes: u64,
}

impl<'k> Shape<'k> {
    /// The shape of an answer. `kinds`: of its elements, in order, if it has a markup; `bytes`: the length of its body.
    pub fn of(head: &ResponseHead, body: &[u8], bytes: u64, kinds: &'k [u64]) -> Self {
        Self { media_type: type_of(head), bytes, kinds, is_failure: phrases::is_failure(body) }
    }

    fn has(&self, kind: u64) -> bool {
        self.kinds.binary_search(&kind).is_ok()
    }

    fn is_smaller_than(&self, bytes: u64) -> bool {
        self.bytes.saturating_mul(SMALLER_TIMES) < bytes
    }

    /// Whether another page has turned into the same.
    fn is_like(&self, turned: &Turned) -> bool {
        let (least, most) = (self.bytes.min(turned.bytes), self.bytes.max(turned.bytes));
        self.media_type == turned.media_type && most <= least.saturating_mul(2)
    }
}

fn type_of(head: &ResponseHead) -> Vec<u8> {
    media_type::of(head).to_ascii_lowercase()
}

/// The stored response that an answer would replace.
#[derive(Clone, Debug)]
pub struct Replaced {
    media_type: Vec<u8>,
    bytes: u64,
    /// If it may be an error itself: when it came, by the monotonic clock in milliseconds, and how long it lived, in seconds.
    soft_error: Option<(u64, u64)>,
}

impl Replaced {
    /// A response of that head and length. `soft_error`: if it may be an error itself, when it came, by the monotonic clock in
    /// milliseconds, and how long it lived, in seconds.
    pub fn new(head: &ResponseHead, bytes: u64, soft_error: Option<(u64, u64)>) -> Self {
        Self { media_type: type_of(head), bytes, soft_error }
    }
}

/// What an answer is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A page: it has its full lifetime.
    Page,
    /// Perhaps an error: it lives these seconds.
    SoftError(u64),
    /// The application has failed: a stale page goes first, and otherwise it lives these seconds.
    Outage(u64),
}

/// What is known of the good pages of one URL pattern.
#[derive(Default)]
pub(crate) struct GoodPages {
    /// The first ones, by hashes of their URLs.
    urls: Vec<u64>,
    types: Vec<Vec<u8>>,
    least_bytes: u64,
    most_bytes: u64,
    /// The kinds of elements that all of them have.
    frame: Vec<u64>,
    /// The last one, and the last one with another URL: the hash, and when it came.
    last: [Option<(u64, u64)>; 2],
    /// The last good page that has turned into something else since.
    turned: Option<Turned>,
}

impl GoodPages {
    /// Takes an answer for a page or an error. `url`: the hash of its URL.
    pub(crate) fn take(&mut self, url: u64, shape: &Shape<'_>, replaced: Option<&Replaced>, now_ms: u64) -> Taken {
        if self.are_known() && !shape.is_failure && self.are_outgrown_by(shape) {
            // What seemed to be good was an error.
            *self = Self::default();
        }
        let good = replaced.filter(|one| one.soft_error.is_none());
        let is_unlike = match self.are_known() {
            true => self.are_unlike(shape),
            false => good.is_some_and(|one| shape.media_type != one.media_type || shape.is_smaller_than(one.bytes)),
        };
        if !is_unlike && !shape.is_failure {
            self.learn(url, shape, now_ms);
            return Taken::Page;
        }
        let before = replaced.and_then(|one| one.soft_error);
        if !shape.is_failure && before.is_some_and(|(since_ms, _)| self.works_since(since_ms, url, now_ms)) {
            return Taken::Page;
        }
        let seconds =
            before.map_or(FIRST_SECONDS, |(_, lived)| lived.saturating_mul(2).clamp(FIRST_SECONDS, LAST_SECONDS));
        if good.is_some() && is_unlike && (shape.is_failure || self.turns_as_another(url, shape, now_ms)) {
            return Taken::Outage(seconds);
        }
        Taken::SoftError(seconds)
    }

    fn are_known(&self) -> bool {
        self.urls.len() >= GOOD_MIN
    }

    fn are_unlike(&self, shape: &Shape<'_>) -> bool {
        let is_framed = self.frame.len() >= FRAME_MIN;
        let common = self.frame.iter().filter(|kind| shape.has(**kind)).count();
        !self.types.contains(&shape.media_type)
            || shape.is_smaller_than(self.least_bytes)
            || is_framed && 2 * common < self.frame.len()
    }

    /// Whether an answer is so much larger that the others were errors.
    fn are_outgrown_by(&self, shape: &Shape<'_>) -> bool {
        self.are_unlike(shape) && self.most_bytes.saturating_mul(SMALLER_TIMES) < shape.bytes
    }

    fn learn(&mut self, url: u64, shape: &Shape<'_>, now_ms: u64) {
        let is_first = self.urls.is_empty();
        if self.urls.len() < GOOD_MIN && !self.urls.contains(&url) {
            self.urls.push(url);
        }
        if self.types.len() < TYPES_MAX && !self.types.contains(&shape.media_type) {
            self.types.push(shape.media_type.clone());
        }
        self.least_bytes = if is_first { shape.bytes } else { self.least_bytes.min(shape.bytes) };
        self.most_bytes = self.most_bytes.max(shape.bytes);
        match is_first {
            true => self.frame = shape.kinds.iter().copied().take(FRAME_MAX).collect(),
            // A file among pages says nothing of their frame.
            false if shape.kinds.is_empty() => {}
            false => self.frame.retain(|kind| shape.has(*kind)),
        }
        self.turned = None;
        if self.last[0].is_some_and(|(last, _)| last != url) {
            self.last[1] = self.last[0];
        }
        self.last[0] = Some((url, now_ms));
    }

    /// Whether another URL had a good page since that time, just now.
    fn works_since(&self, since_ms: u64, url: u64, now_ms: u64) -> bool {
        let is_now = |at_ms: u64| at_ms > since_ms && now_ms.saturating_sub(at_ms) <= AT_ONCE_MS;
        self.last.iter().flatten().any(|(other, at_ms)| *other != url && is_now(*at_ms))
    }

    /// Whether another good page has just turned into the same.
    fn turns_as_another(&mut self, url: u64, shape: &Shape<'_>, now_ms: u64) -> bool {
        let is_same =
            |one: &&Turned| one.url != url && now_ms.saturating_sub(one.at_ms) <= TURN_MS && shape.is_like(one);
        let other = self.turned.as_ref().filter(is_same).map(|one| one.url);
        // The first page that has turned stays known, for the third one.
        let (media_type, bytes) = (shape.media_type.clone(), shape.bytes);
        self.turned = Some(Turned { url: other.unwrap_or(url), at_ms: now_ms, media_type, bytes });
        other.is_some()
    }
}

#[cfg(test)]
mod tests;
