//! Resolves what stands for characters in a text within a text: references in an attribute of HTML, escapes in a string of a script.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// The references that software writes into attributes (WHATWG section 13.5). Others stay as they are.
const REFERENCES: [(&[u8], u8); 12] = [
    (b"&quot;", b'"'),
    (b"&#34;", b'"'),
    (b"&#x22;", b'"'),
    (b"&#39;", b'\''),
    (b"&#039;", b'\''),
    (b"&#x27;", b'\''),
    (b"&apos;", b'\''),
    (b"&lt;", b'<'),
    (b"&#60;", b'<'),
    (b"&gt;", b'>'),
    (b"&#62;", b'>'),
    (b"&amp;", b'&'),
];

/// A value of an attribute with its references resolved.
pub(super) fn with_entities(value: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'&', value) else { return Cow::Borrowed(value) };
    let (before, mut rest) = value.split_at_checked(first).unwrap_or((value, b""));
    let mut text = before.to_vec();
    while let Some(byte) = rest.first() {
        let found = REFERENCES.iter().find(|(reference, _)| *byte == b'&' && rest.starts_with(reference));
        let (letter, length) = found.map_or((*byte, 1), |(reference, letter)| (*letter, reference.len()));
        text.push(letter);
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(text)
}

/// A string of a script or of JSON with its escapes resolved (ECMA-404 section 9). Letters beyond ASCII become a question mark.
pub(super) fn unescaped(content: &[u8]) -> Cow<'_, [u8]> {
    let (mut text, mut rest) = (Vec::with_capacity(content.len()), content);
    while let Some(escape) = memchr2(b'\\', b'\\', rest) {
        text.extend_from_slice(rest.get(..escape).unwrap_or_default());
        let behind = rest.get(escape + 1..).unwrap_or_default();
        let hex = |length: usize| {
            let digits = behind.get(1..=length).and_then(|digits| std::str::from_utf8(digits).ok());
            digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).map(|code| (code, length + 1))
        };
        let coded = match behind.first() {
            Some(b'u') => hex(4),
            Some(b'x') => hex(2),
            _ => None,
        };
        let (letter, length) = match (coded, behind.first()) {
            (Some((code, length)), _) => (u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(b'?'), length),
            (None, Some(b'n' | b'r' | b't')) => (b' ', 1),
            (None, Some(letter)) => (*letter, 1),
            (None, None) => (b'\\', 0),
        };
        text.push(letter);
        rest = behind.get(length..).unwrap_or_default();
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_escapes_stand_for_characters() {
        assert_eq!(&*with_entities(b"a&quot;b&amp;quot;&uuml;&"), &b"a\"b&quot;&uuml;&"[..]);
        assert_eq!(&*with_entities(b"plain"), b"plain");
        assert_eq!(&*unescaped(br#"\u003cb a=\"\x31\"\/>\n\u00fc\"#), &b"<b a=\"1\"/> ?\\"[..]);
    }
}
