//! Compares an anonymous page with a visitor's page, to find out whether the page is the same for all visitors.
//!
//! Where an operator grants a lifetime, Kasoku shares pages that never said that they may be shared. A page may be shared if it
//! does not depend on the client, and a comparison shows that: Kasoku fetches the page once more as a test visitor, and compares
//! the two byte by byte. A clock or a counter is listed as noise ([`Noise`]). Forms, `<meta>` and scripts are where tokens are:
//! there nothing is noise, except, in a script, a value that the pattern names ([`PagePart`]).
//!
//! It compares bytes, and reads a page only as far as needed to know which part a byte is in.

mod lines;
mod noise;
mod regions;
mod renderings;

use crate::coding::media_type;
use kasoku_wire::ResponseHead;
pub use lines::{DIFFERENCES_MAX, LINE_BYTES_MAX, line};
use noise::Reduced;
pub use noise::{NOISE_BYTES_MAX, NOISE_MAX, Noise, NoiseError, names_token};
pub use regions::PagePart;
use regions::regions;
pub use renderings::{Fit, Rendering, TooManyLines};

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
            Self::Body(PagePart::Form) => "form",
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

/// Where two bodies differ by more than noise; empty: nowhere.
pub fn differences(anonymous: &[u8], visitors: &[u8], markup: Markup, noise: &[Noise]) -> Vec<Difference> {
    if anonymous == visitors {
        return Vec::new();
    }
    let [anonymous, visitors] = [anonymous, visitors].map(|body| Reduced::of(body, &regions(body, markup), noise));
    if anonymous.bytes == visitors.bytes { Vec::new() } else { lines::differing(&anonymous, &visitors) }
}

/// Whether a body has a part in which tokens may be: a form, a `<meta>`, a script.
pub fn has_parts(body: &[u8], markup: Markup) -> bool {
    regions(body, markup).iter().any(|region| region.part != PagePart::Page)
}

#[cfg(test)]
#[path = "difference/tests.rs"]
mod tests;
