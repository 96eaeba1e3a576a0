//! Finds a text in a page however pages encode it: percent-encoded in a URL (once or twice), escaped in a script or in JSON, or
//! with HTML entities.
//!
//! The text is the value of a cookie. Letters, digits and `-._~` are written as they are everywhere, so a plain search by the
//! caller finds most values. A needless encoding (`%61` for `a`), encryption or a hash hides a value from both searches.

use std::ops::Range;

/// HTML entities with names.
const NAMED: [(u8, &str); 5] = [(b'&', "&amp;"), (b'"', "&quot;"), (b'<', "&lt;"), (b'>', "&gt;"), (b'\'', "&apos;")];

/// Bytes with which an encoded character may begin.
const BEGINNINGS: [u8; 4] = *b"%\\&+";

/// Where `text` stands in `bytes` with some of its characters encoded. Occurrences without an encoded character may be missing.
pub(crate) fn places(bytes: &[u8], text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_never_encoded = text.iter().all(|byte| is_plain(*byte));
    let bytes = if is_never_encoded { &[] } else { bytes };
    let first = text.first().copied().unwrap_or_default();
    let may_begin = move |at: u8| at == first || (!is_plain(first) && BEGINNINGS.contains(&at));
    let forms: Vec<(u8, Vec<String>)> = text.iter().map(|byte| (*byte, forms(*byte))).collect();
    let starts = bytes.iter().enumerate().filter(move |(_, at)| may_begin(**at));
    starts.filter_map(move |(start, _)| {
        let rest = after_all(bytes.get(start..)?, &forms)?;
        Some(start..bytes.len() - rest.len())
    })
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// The encoded forms of a character. Of forms that begin alike, the longest comes first.
fn forms(byte: u8) -> Vec<String> {
    if is_plain(byte) {
        return Vec::new();
    }
    let named = NAMED.iter().filter(|(one, _)| *one == byte).map(|(_, name)| (*name).to_owned());
    let escaped = b"/\\\"'".contains(&byte).then(|| format!("\\{}", char::from(byte)));
    let space = (byte == b' ').then(|| "+".to_owned());
    let by_number = [
        format!("%25{byte:02x}"),
        format!("%{byte:02x}"),
        format!("\\u00{byte:02x}"),
        format!("&#x{byte:x};"),
        format!("&#{byte};"),
        format!("&#{byte:03};"),
    ];
    by_number.into_iter().chain(named).chain(escaped).chain(space).collect()
}

/// What follows the whole text at the beginning of `bytes`; `None`: the text does not stand there.
fn after_all<'b>(bytes: &'b [u8], forms: &[(u8, Vec<String>)]) -> Option<&'b [u8]> {
    forms.iter().try_fold(bytes, |rest, (byte, forms)| after(rest, *byte, forms))
}

/// What follows a character at the beginning of `bytes`, encoded or as it is; `None`: the character does not stand there.
fn after<'b>(bytes: &'b [u8], byte: u8, forms: &[String]) -> Option<&'b [u8]> {
    let encoded = forms.iter().find_map(|form| {
        let (start, rest) = bytes.split_at_checked(form.len())?;
        start.eq_ignore_ascii_case(form.as_bytes()).then_some(rest)
    });
    encoded.or_else(|| bytes.strip_prefix(&[byte]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(bytes: &[u8], text: &[u8]) -> bool {
        places(bytes, text).next().is_some()
    }

    #[test]
    fn a_value_is_found_as_urls_scripts_and_pages_write_it() {
        for page in [
            "?s=ab%2Fcd%2Bef%3D%3D&x",
            "?s=ab%2fcd%2bef%3d%3d",
            "?s=ab/cd%2Bef==",
            "?s=ab%252Fcd%252Bef%253D%253D",
            "{\"s\":\"ab\\/cd+ef==\"}",
            "s='ab\\u002Fcd\\u002bef=='",
            "ab&#x2F;cd&#43;ef&#061;&#61;",
            "%ab%ab/cab%2Fcd%2Bef==",
        ] {
            assert!(contains(page.as_bytes(), b"ab/cd+ef=="), "{page}");
        }
        assert_eq!(places(b"xab%2Fcdx ab\\/cd", b"ab/cd").collect::<Vec<_>>(), [1..8, 10..16]);
        assert!(contains(b"x a+b&amp;c&quot; x", b"a b&c\"") && contains(b"%2Fa", b"/a"));
    }

    #[test]
    fn what_is_not_all_of_it_is_not_found() {
        for page in ["", "ab", "ab%2Fcd%2Bef%3D", "ab%2Ecd%2Bef==", "ab%2", "AB%2Fcd%2Bef==", "ab /cd+ef=="] {
            assert!(!contains(page.as_bytes(), b"ab/cd+ef=="), "{page}");
        }
        assert!(!contains(b"%61bc", b"abc"), "what needs no encoding");
        assert!(!contains(b"anything", b""));
    }
}
