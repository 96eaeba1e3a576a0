//! Detects pages in UTF-16 or UTF-32. Such a page does not contain the bytes of a text that browsers read in it.
//!
//! The media type or a byte order mark tells, as in browsers. Scans treat such a page as unreadable: it is too rare to be worth
//! decoding. Other charsets write letters and digits as ASCII does.

use kasoku_wire::ResponseHead;

/// Parts of the names of such charsets, in lower case: those of the WHATWG's Encoding Standard (section 4.2) and of IANA.
const WIDE: [&[u8]; 7] = [b"utf-16", b"utf16", b"utf-32", b"utf32", b"ucs-", b"ucs2", b"unicode"];

/// How a body in such a charset begins: with a byte order mark, or, in XML without one, with `<` (XML 1.0 appendix F). In
/// little-endian order, the mark of UTF-32 begins with that of UTF-16.
const BEGINNINGS: [&[u8]; 6] = [b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff", b"<\0", b"\0<", b"\0\0\0<"];

/// Whether the Content-Type of a response names such a charset. A name that only contains a part of one counts as well.
pub fn says_wide(head: &ResponseHead) -> bool {
    head.fields.all("content-type").any(|value| {
        let holds = |name: &&[u8]| value.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name));
        WIDE.iter().any(holds)
    })
}

/// Whether a body begins as text in such a charset does.
pub fn begins_wide(body: &[u8]) -> bool {
    BEGINNINGS.iter().any(|beginning| body.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ok;

    #[test]
    fn a_type_says_so_in_any_spelling() {
        for charset in
            ["utf-16", "UTF-16BE", "\"Utf-16le\"", "utf-32", "ISO-10646-UCS-2", "csUnicode", "unicodeFFFE", "UTF16"]
        {
            assert!(says_wide(&ok().with("Content-Type", format!("text/html; charset={charset}"))), "{charset}");
        }
        for media_type in ["text/html", "text/html; charset=utf-8", "text/html; charset=Shift_JIS", "image/png", ""] {
            assert!(!says_wide(&ok().with("Content-Type", media_type)), "{media_type}");
        }
        assert!(!says_wide(&ok()));
    }

    #[test]
    fn a_page_begins_so() {
        let units: Vec<u8> = "\u{feff}<x>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(begins_wide(&units) && units.get(2..).is_some_and(begins_wide));
        let units: Vec<u8> = "\u{feff}<x>".chars().flat_map(|one| u32::from(one).to_be_bytes()).collect();
        assert!(begins_wide(&units) && units.get(4..).is_some_and(begins_wide));
        for body in [&b""[..], b"<html>", b"\xef\xbb\xbf<html>", b"\x1f\x8b", b"\x89PNG", b"\xff\xd8\xff"] {
            assert!(!begins_wide(body), "{body:?}");
        }
    }
}
