//! Sorts requests by what their Accept asks for.
//!
//! An application that can answer in several types chooses by Accept (RFC 9110 section 12.5.1). Of the values that clients send, most
//! say only what their program does with any answer: a browser that opens a page, its elements for images, styles, scripts, fonts and
//! media, a feed reader, a program that takes everything. The others ask for a type: `application/json`, a fragment
//! (`text/vnd.turbo-stream.html, text/html`), an event stream. A type that no browser, feed reader or player lists is reason enough,
//! whatever its weight: applications rank the types by their own taste.

use kasoku_wire::Fields;
use kasoku_wire::field::quality_list::preferences;

/// What an Accept asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptClass {
    /// Anything: there is no Accept, or it prefers `*/*`.
    Any,
    /// A page, as a browser's navigation.
    Document,
    /// What a page is made of, or anything else: images, styles, scripts, fonts, media.
    Resource,
    /// A feed, or anything else.
    Feed,
    /// A type that only some applications know.
    Other,
}

/// The Accept that the origin gets for [`AcceptClass::Document`].
const DOCUMENT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// The Accept that the origin gets for all other classes.
const ANYTHING: &str = "*/*";

impl AcceptClass {
    /// The Accept that stands for the class in a request whose response may be shared. It is in the same class as sent; that of
    /// resources and feeds is in [`AcceptClass::Any`], since their clients take anything.
    pub fn accept(self) -> &'static str {
        if self == Self::Document { DOCUMENT } else { ANYTHING }
    }
}

const ANY: u8 = 1;
const HTML: u8 = 2;
const RESOURCE: u8 = 4;
const FEED: u8 = 8;
/// Types that stand beside others in browsers' lists.
const COMPANION: u8 = 16;

/// Whole types, in lower case.
const TYPES: [(&[u8], u8); 31] = [
    (b"*/*", ANY),
    // Java's URLConnection.
    (b"*", ANY),
    (b"text/html", HTML),
    (b"text/*", HTML),
    (b"application/xhtml+xml", COMPANION),
    (b"application/xml", COMPANION),
    (b"application/*", COMPANION),
    (b"application/signed-exchange;v=b3", COMPANION),
    (b"text/xml", COMPANION),
    (b"text/plain", COMPANION),
    (b"text/sgml", COMPANION),
    (b"text/vnd.wap.wml", COMPANION),
    (b"application/vnd.wap.xhtml+xml", COMPANION),
    (b"application/msword", COMPANION),
    (b"application/x-shockwave-flash", COMPANION),
    (b"application/xaml+xml", COMPANION),
    (b"multipart/mixed", COMPANION),
    // SimplePie's way to say `*/*` to servers that do not know it.
    (b"unknown/unknown", COMPANION),
    (b"application/unknown", COMPANION),
    (b"text/css", RESOURCE),
    (b"text/javascript", RESOURCE),
    (b"application/javascript", RESOURCE),
    (b"application/ecmascript", RESOURCE),
    (b"application/x-javascript", RESOURCE),
    (b"application/x-ecmascript", RESOURCE),
    (b"application/wasm", RESOURCE),
    (b"application/ogg", RESOURCE),
    (b"application/atom+xml", FEED),
    (b"application/rss+xml", FEED),
    (b"application/rdf+xml", FEED),
    (b"application/feed+json", FEED),
];

/// Beginnings of types, in lower case.
const FAMILIES: [(&[u8], u8); 8] = [
    (b"image/", RESOURCE),
    (b"audio/", RESOURCE),
    (b"video/", RESOURCE),
    (b"font/", RESOURCE),
    (b"application/font-", RESOURCE),
    (b"application/x-font-", RESOURCE),
    (b"application/x-ms-", COMPANION),
    (b"application/vnd.ms-", COMPANION),
];

fn type_of(name: &[u8]) -> u8 {
    let is_type = |row: &&(&[u8], u8)| row.0.len() == name.len() && row.0.eq_ignore_ascii_case(name);
    let begins = |row: &&(&[u8], u8)| name.get(..row.0.len()).is_some_and(|start| start.eq_ignore_ascii_case(row.0));
    TYPES.iter().find(is_type).or_else(|| FAMILIES.iter().find(begins)).map_or(0, |row| row.1)
}

/// What most clients send, as it is: reading the list takes 6,000 instructions, and each hit asks.
const USUAL: [(&[u8], AcceptClass); 8] = [
    (b"*/*", AcceptClass::Any),
    // Chrome, Edge.
    (
        b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
        AcceptClass::Document,
    ),
    // Safari, Firefox.
    (b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", AcceptClass::Document),
    (
        b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8",
        AcceptClass::Document,
    ),
    (b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", AcceptClass::Document),
    (b"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", AcceptClass::Resource),
    (b"image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", AcceptClass::Resource),
    (b"text/css,*/*;q=0.1", AcceptClass::Resource),
];

/// The class of a request by its Accept.
pub fn accept_class(request: &Fields) -> AcceptClass {
    let only = request.only("accept");
    let usual = only.and_then(|value| USUAL.iter().find(|(one, _)| *one == value));
    usual.map_or_else(|| listed_class(request), |(_, class)| *class)
}

fn listed_class(request: &Fields) -> AcceptClass {
    let (mut best, mut preferred, mut listed) = (0, 0, 0);
    for one in request.all("accept").flat_map(preferences) {
        let found = type_of(one.value);
        if found == 0 {
            return AcceptClass::Other;
        }
        if one.quality > best {
            (best, preferred) = (one.quality, 0);
        }
        if one.quality > 0 {
            listed |= found;
        }
        if one.quality == best {
            preferred |= found;
        }
    }
    let takes_anything = listed & ANY != 0;
    match preferred {
        0 => AcceptClass::Any,
        _ if preferred & FEED != 0 && listed & (ANY | HTML) != 0 => AcceptClass::Feed,
        _ if preferred & FEED != 0 => AcceptClass::Other,
        _ if preferred & HTML != 0 => AcceptClass::Document,
        _ if preferred & RESOURCE != 0 && takes_anything => AcceptClass::Resource,
        _ if preferred & ANY != 0 => AcceptClass::Any,
        _ => AcceptClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_most_clients_send_is_what_reading_it_would_say() {
        for (value, class) in USUAL {
            let request: Fields = [("Accept", value)].into_iter().collect();
            assert_eq!((listed_class(&request), accept_class(&request)), (class, class));
        }
    }
}
