//! Compares looks at a page, to find out whether the page is the same for all visitors.
//!
//! Where an operator grants a lifetime, Kasoku shares pages that never said that they may be shared. An anonymous fetch has no client's
//! data. So two things can go wrong, and each has a check of its own:
//!
//! - The page has a value that a later request sends back, such as the token of a form. Such a value stands in a [`Place`], and each
//!   page that is stored is read for its places.
//! - The page depends on who asks. Two visitors look at it twice each, and [`compare`] finds what each of them gets twice and the other
//!   never. Everything else that differs is time: clocks, counters, ids, rows that come and go.

mod hashing;
mod known_pieces;
mod lines;
mod looks;
mod names;
mod nested;
mod noise;
mod outline;
mod page_parts;
mod places;
mod regions;
mod split;
mod value_form;

use crate::age::date_value;
use crate::coding::media_type;
use crate::query::path_and_query;
use crate::time::Now;
use kasoku_wire::ResponseHead;
pub use known_pieces::KnownPieces;
pub use lines::{DIFFERENCES_MAX, LINE_BYTES_MAX, line};
pub use looks::{FoundPlace, LooksVerdict, compare, compare_places};
use memchr::memmem;
pub use names::names_token;
pub use noise::{NOISE_BYTES_MAX, NOISE_MAX, Noise, NoiseError};
pub use outline::Outline;
pub use page_parts::Place;
pub use regions::PagePart;

/// How a body is divided into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// An HTML page.
    Html,
    /// A page in XML, a feed, or other XML.
    Xml,
    /// JSON, or a script.
    Script,
    /// Any other text.
    Text,
}

impl Markup {
    /// The markup of a response; `None`: its type is no text. A response without a type counts as HTML, because browsers may take
    /// it for a page.
    pub fn of(head: &ResponseHead) -> Option<Self> {
        let Some(value) = head.fields.first("content-type") else { return Some(Self::Html) };
        let media_type = media_type(value).to_ascii_lowercase();
        let of_application = media_type.strip_prefix(b"application/");
        Some(match &media_type[..] {
            b"text/html" | b"" => Self::Html,
            b"text/xml" => Self::Xml,
            b"text/json" => Self::Script,
            // A stream of events never ends.
            b"text/event-stream" => return None,
            text if text.starts_with(b"text/") && text.ends_with(b"script") => Self::Script,
            text if text.starts_with(b"text/") => Self::Text,
            _ => match of_application? {
                b"xml" => Self::Xml,
                b"json" => Self::Script,
                other if other.ends_with(b"+xml") => Self::Xml,
                other if other.ends_with(b"+json") || other.ends_with(b"script") => Self::Script,
                _ => return None,
            },
        })
    }
}

/// Where two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DifferencePlace {
    /// In the status or in a header field.
    Head,
    /// In that part of the body.
    Body(PagePart),
}

impl DifferencePlace {
    /// One word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Body(PagePart::Form | PagePart::FormElement) => "form",
            Self::Body(PagePart::Meta) => "meta",
            Self::Body(PagePart::Script) => "script",
            Self::Body(PagePart::Page | PagePart::Sealed) => "page",
        }
    }
}

/// A difference as it is shown: a line of each answer, around the first byte that differs. A value that is noise is written as its
/// placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is.
    pub place: DifferencePlace,
    /// The line of the anonymous page.
    pub anonymous: String,
    /// The line of the visitor's page.
    pub visitors: String,
}

/// What an answer says that its comparison needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// When it was made, in seconds since 1970.
    pub now_s: u64,
    /// The nonces of its own Content-Security-Policy (CSP Level 3 section 2.3.1), which only browsers check.
    pub nonces: Vec<Vec<u8>>,
    /// The URL that was asked for, and the values in it: a page that repeats one has it from the client, and the URL is in the key.
    pub asked: Vec<Vec<u8>>,
}

/// The most nonces that are read of one answer.
const NONCES_MAX: usize = 8;

/// The most values that are read of one URL.
const ASKED_MAX: usize = 64;

impl AnswerFacts {
    /// Reads them. `uri`: what was asked for.
    pub fn of(uri: &str, head: &ResponseHead, body: &[u8], now: Now) -> Self {
        let mut nonces = Vec::new();
        for field in ["content-security-policy", "content-security-policy-report-only"] {
            head.fields.all(field).for_each(|policy| add_nonces(policy, &mut nonces));
        }
        // A policy may stand in a `<meta>`.
        add_nonces(body, &mut nonces);
        let target =
            uri.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..))).unwrap_or(uri);
        let (path, query) = path_and_query(target);
        let parameters =
            query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
        let asked = [uri, target]
            .into_iter()
            .chain(path.split('/'))
            .chain(parameters)
            .filter(|value| !value.is_empty())
            .take(ASKED_MAX);
        let asked = asked.map(|value| value.as_bytes().to_vec()).collect();
        Self { now_s: u64::try_from(date_value(head, now)).unwrap_or(0), nonces, asked }
    }
}

fn add_nonces(policy: &[u8], nonces: &mut Vec<Vec<u8>>) {
    let mut rest = policy;
    while let Some(at) = memmem::find(rest, b"'nonce-").filter(|_| nonces.len() < NONCES_MAX) {
        rest = rest.get(at + b"'nonce-".len()..).unwrap_or_default();
        let end = memchr::memchr(b'\'', rest).unwrap_or(rest.len());
        nonces.push(rest.get(..end).unwrap_or_default().to_vec());
    }
}

#[cfg(test)]
#[path = "difference/tests.rs"]
mod tests;
