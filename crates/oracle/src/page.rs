//! The properties of each URL: size, caching, Vary, validators, framing, all derived from a hash of its number.
//!
//! The origin, the clients and the checker agree on these properties without messages: the origin answers by them, and the checker
//! knows from the URL alone which answers may be shared, between whom, and for how long.
//!
//! Half of the pages belong to a site of profile safe, half to one of profile rfc. Four pages in a row share a path and
//! differ in the query.

use crate::random::hash;
use kasoku_semantics::policy::Profile;

/// The hosts of the two sites.
pub const HOSTS: [(&str, Profile); 2] = [("safe.test", Profile::Safe), ("rfc.test", Profile::Rfc)];

/// The limit of heuristic lifetimes in the sites' settings, in seconds. Last-Modified lies years back, so the limit is the lifetime.
pub const HEURISTIC_SECONDS: u64 = 2;

/// How long, in seconds, the sites' settings allow a stale response while the origin cannot be reached.
pub const DISCONNECTED_SECONDS: u64 = 3;

/// The largest response that is stored, in bytes; some pages are larger.
pub const OBJECT_BYTES_MAX: u64 = 2 << 20;

/// The visitor who asks: 0 is anonymous, 1 to 9 send a cookie, from 11 on Authorization.
pub type Visitor = u16;

/// The visitors that get the same page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All visitors get the same page.
    Shared,
    /// Each visitor gets a page of their own, and the response says so (private, no-store).
    Private,
    /// Each visitor gets a page of their own, and the response says only how long it is fresh: the mistake that applications make. In
    /// profile safe, both Cookie and Authorization select such a page; in profile rfc only Authorization, since RFC 9111 protects
    /// nothing else.
    Personal,
    /// Each cookie gets a page of its own, and the response says `Vary: Cookie`.
    ByCookie,
}

/// What the response varies by, apart from Cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// Nothing.
    None,
    /// The field X-Lang.
    Language,
    /// Whether Accept-Encoding has gzip. (The bytes are not compressed; the variant's number in them is what counts.)
    Encoding,
}

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Content-Length.
    Length,
    /// Chunks.
    Chunked,
    /// The connection's end.
    Close,
}

/// Which validators a response carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validator {
    /// A strong entity tag and Last-Modified.
    StrongAndDate,
    /// A strong entity tag.
    Strong,
    /// A weak entity tag.
    Weak,
    /// Last-Modified only.
    Date,
    /// No validator. Such a page is never asked for with HEAD, since the answer could not be told from another version's.
    None,
}

/// How long a response may be used again, and under which conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caching {
    /// The value of Cache-Control; empty: the field is not sent.
    pub cache_control: String,
    /// The freshness lifetime in seconds; `None`: the cache must ask the origin each time.
    pub lifetime: Option<u64>,
    /// Seconds.
    pub stale_while_revalidate: u64,
    /// Seconds.
    pub stale_if_error: Option<u64>,
    /// Whether it must never be served stale.
    pub must_revalidate: bool,
}

/// A URL and its properties.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its number, from 0.
    pub number: u32,
    /// Its site.
    pub host: &'static str,
    /// The site's profile.
    pub profile: Profile,
    /// Path and query.
    pub target: String,
    /// How long its responses may be used again.
    pub caching: Caching,
    /// The visitors that get the same page.
    pub audience: Audience,
    /// What it varies by.
    pub variation: Variation,
    /// How the end of its body is marked.
    pub framing: Framing,
    /// Which validators it has.
    pub validator: Validator,
    /// Whether the origin answers Range with 206.
    pub takes_ranges: bool,
    /// Whether some of its responses set a cookie.
    pub sets_cookie: bool,
    /// How long a version lives at most, in microseconds.
    pub version_micros: u64,
    size: u64,
}

impl Page {
    /// The page of that number.
    pub fn new(number: u32) -> Self {
        let roll = |what: u64, sides: u64| hash(&[u64::from(number), what]) % sides;
        let (host, profile) = HOSTS[(number / 4 % 2) as usize];
        let (path, query) = (number / 4, number % 4);
        let (audience, caching) = caching(roll(1, 20), 1 + roll(2, 3));
        let variation = match (audience, roll(3, 6)) {
            (Audience::Shared, 0) => Variation::Language,
            (Audience::Shared, 1) => Variation::Encoding,
            _ => Variation::None,
        };
        let heuristic = caching.cache_control.is_empty();
        let validator = match roll(4, 8) {
            _ if heuristic => Validator::Date,
            // A date can't tell one visitor's page from another's: an origin that answers 304 to a date may mean either.
            0..=2 | 6 if audience != Audience::Shared => Validator::Strong,
            0..=2 => Validator::StrongAndDate,
            3 | 4 => Validator::Strong,
            5 => Validator::Weak,
            6 => Validator::Date,
            _ => Validator::None,
        };
        let framing = match roll(5, 10) {
            0..=5 => Framing::Length,
            6..=8 => Framing::Chunked,
            _ => Framing::Close,
        };
        Self {
            number,
            host,
            profile,
            target: if query == 0 { format!("/p/{path}") } else { format!("/p/{path}?q={query}") },
            caching,
            audience,
            variation,
            framing,
            validator,
            takes_ranges: roll(6, 4) > 0,
            sets_cookie: audience == Audience::Shared && roll(7, 8) == 0,
            version_micros: 300_000 + 400_000 * roll(8, 12),
            // Pages with low numbers are asked for all the time, so they are small; otherwise the largest pages would be all the
            // traffic.
            size: match roll(9, if number < 60 { 42 } else { 48 }) {
                0 | 1 => 0,
                2..=24 => 1 + roll(10, 3000),
                25..=38 => 4 << (10 + roll(10, 3)),
                39..=44 => 50_000 + roll(10, 150_000),
                45 | 46 => 1 << 20,
                _ => 3 << 20,
            },
        }
    }

    /// The length of a version in bytes. It differs a little from version to version.
    pub fn length(&self, version: u32, variant: u8) -> u64 {
        match self.size {
            0 => 0,
            size => size + hash(&[u64::from(self.number), u64::from(version), u64::from(variant)]) % (1 + size / 8),
        }
    }

    /// The visitor whose label the page carries when this visitor asks the origin; 0: the page is the same for all.
    pub fn label(&self, visitor: Visitor) -> Visitor {
        let has_cookie = (1..=9).contains(&visitor);
        match self.audience {
            Audience::Shared => 0,
            Audience::Private => visitor,
            Audience::Personal if self.profile == Profile::Rfc && has_cookie => 0,
            Audience::Personal => visitor,
            Audience::ByCookie if has_cookie => visitor,
            Audience::ByCookie => 0,
        }
    }

    /// The variant that a request with that language and coding selects.
    pub fn variant(&self, language: u8, takes_gzip: bool) -> u8 {
        match self.variation {
            Variation::None => 0,
            Variation::Language => language,
            Variation::Encoding => u8::from(takes_gzip),
        }
    }

    /// The value of Vary; empty: the field is not sent.
    pub fn vary(&self) -> &'static str {
        match (self.audience, self.variation) {
            (Audience::ByCookie, _) => "Cookie",
            (_, Variation::Language) => "X-Lang",
            (_, Variation::Encoding) => "Accept-Encoding",
            (_, Variation::None) => "",
        }
    }

    /// Last-Modified of a version, if the page has one: years back, one second for each version.
    pub fn last_modified(&self, version: u32) -> Option<u64> {
        matches!(self.validator, Validator::Date | Validator::StrongAndDate).then(|| 1_600_000_000 + u64::from(version))
    }

    /// Whether an answer of the origin may ever be given to a second request.
    pub fn is_shareable(&self) -> bool {
        self.audience != Audience::Private
    }
}

fn caching(roll: u64, seconds: u64) -> (Audience, Caching) {
    let with = |cache_control: String, lifetime: Option<u64>| Caching {
        cache_control,
        lifetime,
        stale_while_revalidate: 0,
        stale_if_error: None,
        must_revalidate: false,
    };
    let shared = |caching| (Audience::Shared, caching);
    match roll {
        0..=4 => shared(with(format!("max-age={seconds}"), Some(seconds))),
        5 | 6 => shared(with(format!("public, max-age={seconds}"), Some(seconds))),
        7 | 8 => {
            shared(Caching { must_revalidate: true, ..with(format!("max-age=0, s-maxage={seconds}"), Some(seconds)) })
        }
        9..=11 => shared(Caching {
            stale_while_revalidate: 2,
            ..with("max-age=1, stale-while-revalidate=2".to_owned(), Some(1))
        }),
        12 => shared(Caching { stale_if_error: Some(3), ..with("max-age=1, stale-if-error=3".to_owned(), Some(1)) }),
        13 => shared(Caching {
            must_revalidate: true,
            ..with(format!("max-age={seconds}, must-revalidate"), Some(seconds))
        }),
        14 => shared(with("no-cache".to_owned(), None)),
        15 => (Audience::Private, with("private, max-age=60".to_owned(), None)),
        16 => (Audience::Private, with("no-store".to_owned(), None)),
        17 => shared(with(String::new(), Some(HEURISTIC_SECONDS))),
        18 => (Audience::Personal, with("max-age=2".to_owned(), Some(2))),
        _ => (Audience::ByCookie, Caching { must_revalidate: true, ..with("s-maxage=2".to_owned(), Some(2)) }),
    }
}
