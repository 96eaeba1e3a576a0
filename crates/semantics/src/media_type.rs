//! Tells by the media type of a response whether it is an endless stream, and whether it is a file or a page.
//!
//! The application declares the type, and the cache believes it. Browsers do not show a page that is declared as an image, so a
//! wrong type gains an attacker nothing.

use crate::coding::media_type;
use kasoku_wire::ResponseHead;

/// Streams that last for as long as the client stays connected: server-sent events, and series of images that replace one another.
const ENDLESS: [&str; 2] = ["text/event-stream", "multipart/x-mixed-replace"];

/// Prefixes of types that applications do not make anew for each visitor: media, fonts, style sheets, scripts and archives. Pages,
/// data and documents are left out (a PDF may be an invoice), and so is `application/octet-stream`, which does not tell what the
/// content is.
const STATIC: [&str; 36] = [
    "application/ecmascript",
    "application/font",
    "application/gzip",
    "application/java-archive",
    "application/javascript",
    "application/ogg",
    "application/vnd.android.package-archive",
    "application/vnd.debian.binary-package",
    "application/vnd.ms-cab-compressed",
    "application/vnd.ms-fontobject",
    "application/vnd.rar",
    "application/wasm",
    "application/x-7z-compressed",
    "application/x-apple-diskimage",
    "application/x-bzip",
    "application/x-compress",
    "application/x-cpio",
    "application/x-debian-package",
    "application/x-font",
    "application/x-gzip",
    "application/x-iso9660-image",
    "application/x-javascript",
    "application/x-lzma",
    "application/x-rar-compressed",
    "application/x-redhat-package-manager",
    "application/x-rpm",
    "application/x-tar",
    "application/x-xz",
    "application/x-zip-compressed",
    "application/zip",
    "application/zstd",
    "audio/",
    "font/",
    "image/",
    "text/css",
    "video/",
];

/// Types of scripts that begin with `text/`. They are compared as a whole.
const SCRIPTS: [&str; 2] = ["text/javascript", "text/ecmascript"];

/// The media type of a response without its parameters; empty where it has none.
pub fn of(head: &ResponseHead) -> &[u8] {
    head.fields.first("content-type").map(media_type).unwrap_or_default()
}

/// Whether applications do not make responses of this type anew for each visitor. A response without a type may be anything, so it
/// does not count as static.
pub fn is_static(head: &ResponseHead) -> bool {
    let Some(value) = head.fields.only("content-type") else { return false };
    let media_type = media_type(value);
    let begins_with =
        |start: &&str| media_type.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()));
    STATIC.iter().any(begins_with) || is_any(media_type, &SCRIPTS)
}

/// Whether a response is an endless stream. Each client needs a stream of its own, which begins when the client asks for it.
pub fn is_endless(head: &ResponseHead) -> bool {
    head.fields.all("content-type").any(|value| is_any(media_type(value), &ENDLESS))
}

fn is_any(media_type: &[u8], types: &[&str]) -> bool {
    types.iter().any(|one| media_type.eq_ignore_ascii_case(one.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ok;

    #[test]
    fn files_are_told_from_pages_and_data() {
        for value in [
            "image/png",
            "Image/SVG+xml",
            "font/woff2",
            "application/font-woff",
            "text/css; charset=utf-8",
            "TEXT/JavaScript",
            "application/zip",
            "application/x-bzip2",
            "video/mp4",
        ] {
            assert!(is_static(&ok().with("Content-Type", value)), "{value}");
        }
        for value in [
            "text/html",
            "text/plain",
            "text/csv",
            "text/javascripts",
            "application/json",
            "application/pdf",
            "application/octet-stream",
            "application/xhtml+xml",
            "application/rss+xml",
            "",
        ] {
            assert!(!is_static(&ok().with("Content-Type", value)), "{value}");
        }
        assert!(!is_static(&ok()));
        assert!(!is_static(&ok().with("Content-Type", "image/png").with("Content-Type", "text/html")));
    }

    #[test]
    fn streams_of_events_and_of_pictures_have_no_end() {
        for value in [
            "text/event-stream",
            "Text/Event-Stream; charset=utf-8",
            "multipart/x-mixed-replace;boundary=frame",
            " text/event-stream ",
        ] {
            assert!(is_endless(&ok().with("Content-Type", value)), "{value}");
        }
        assert!(is_endless(&ok().with("Content-Type", "text/html").with("Content-Type", "text/event-stream")));
        for value in ["text/html", "text/event-streams", "multipart/mixed", ""] {
            assert!(!is_endless(&ok().with("Content-Type", value)), "{value}");
        }
        assert!(!is_endless(&ok()));
    }
}
