//! Defines a text that a page is searched for, and where in the page an occurrence counts.

use crate::encoded;
use memchr::memmem;
use std::ops::Range;

/// The length of the shortest value of a session that is searched for without its name, in bytes.
///
/// A value of three characters or less can be guessed, so it can't identify a session alone, and values such as `1`, `no` or `ko`
/// stand in any page.
const APART_BYTES_MIN: usize = 4;

/// A text, and whether it counts only apart from letters and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Secret {
    text: Vec<u8>,
    /// The name of the cookie that has it.
    cookie: Vec<u8>,
    /// Whether the text is short and counts only where no letter or digit precedes or follows it: `5` does not count in `2015`.
    is_apart: bool,
}

impl Secret {
    /// A text that is long enough to count anywhere.
    pub(super) fn long(name: &[u8], text: &[u8]) -> Self {
        Self { text: text.to_vec(), cookie: name.to_vec(), is_apart: false }
    }

    /// The name of the cookie that has it.
    pub(super) fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    /// A short value of a session. A word or a very short value also stands in pages without a session, so it counts only after its
    /// name, as in `?CFID=12`. `None`: the value is empty or `deleted`, which tells browsers to forget the cookie.
    pub(super) fn short(name: &[u8], value: &[u8]) -> Option<Self> {
        if value.is_empty() || value.eq_ignore_ascii_case(b"deleted") {
            return None;
        }
        let is_alone = value.len() >= APART_BYTES_MIN && !is_word(value);
        let text = if is_alone { value.to_vec() } else { [name, b"=", value].concat() };
        Some(Self { text, cookie: name.to_vec(), is_apart: true })
    }

    /// Whether this text is found wherever `other` is found.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        (&self.text, self.is_apart) == (&other.text, other.is_apart)
            || (!self.is_apart && memmem::find(&other.text, &self.text).is_some())
    }

    /// Whether the text stands in `bytes`, as it is or encoded as pages encode it.
    pub(super) fn stands_in(&self, bytes: &[u8]) -> bool {
        let counts = |place: Range<usize>| !self.is_apart || is_apart(bytes, &place);
        let mut as_it_is = memmem::find_iter(bytes, &self.text).map(|start| start..start + self.text.len());
        as_it_is.any(counts) || encoded::places(bytes, &self.text).any(counts)
    }
}

/// Whether the value is a word, such as `none`, `Guest` or `EXPIRED`: letters, without a lower-case one before a capital.
fn is_word(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_alphabetic) && !super::parts::is_mixed(value)
}

fn is_apart(bytes: &[u8], place: &Range<usize>) -> bool {
    let before = bytes.get(..place.start).unwrap_or_default();
    let after = bytes.get(place.end..).unwrap_or_default();
    let precedes = before.last().is_some_and(u8::is_ascii_alphanumeric) && !ends_with_an_escape(before);
    !precedes && !after.first().is_some_and(u8::is_ascii_alphanumeric)
}

/// Whether `bytes` end with an encoded character, whose last letter is not part of the text: `%3D`, `%253D`, `\u003d`, `\x3d`,
/// `\n`.
fn ends_with_an_escape(bytes: &[u8]) -> bool {
    let is_hex = |digits: &[&u8]| digits.iter().all(|digit| digit.is_ascii_hexdigit());
    match bytes {
        [.., b'%', a, b] | [.., b'%', b'2', b'5', a, b] | [.., b'\\', b'x', a, b] => is_hex(&[a, b]),
        [.., b'\\', b'u', a, b, c, d] => is_hex(&[a, b, c, d]),
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(value: &str) -> Secret {
        Secret::short(b"CFID", value.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_short_counts_where_it_stands_apart() {
        for page in [
            "1234567",
            "?CFID=1234567&CFTOKEN=1",
            "<input value='1234567'>",
            "id_1234567-x",
            "?u=%2Fx%3FCFID%3D1234567%26a",
            "?u=CFID%253D1234567",
            "\"CFID\\u003d1234567\"",
            "'CFID\\x3D1234567'",
            "'\\n1234567'",
            "CFID&#x3D;1234567",
            "12345678 1234567",
            "é1234567é",
        ] {
            assert!(short("1234567").stands_in(page.as_bytes()), "{page}");
        }
        for page in
            ["", "123456", "12345678", "01234567", "a1234567", "1234567a", "%1234567x", "%zz1234567", "u003d1234567"]
        {
            assert!(!short("1234567").stands_in(page.as_bytes()), "{page}");
        }
        assert!(short("a/b+1").stands_in(b"?p=a%2Fb%2B1&") && !short("a/b+1").stands_in(b"?p=a%2Fb%2B12"));
    }

    #[test]
    fn what_is_very_short_or_a_word_counts_beside_its_name() {
        for value in ["5", "abc", "none", "Guest", "EXPIRED"] {
            assert!(!short(value).stands_in(format!("{value} x={value}").as_bytes()), "{value}");
            for page in ["/?CFID=@", "/?a=1&CFID=@&b", "u=%3FCFID%3D@%26b", "\\u0026CFID\\u003d@"] {
                assert!(short(value).stands_in(page.replace('@', value).as_bytes()), "{page} {value}");
            }
            assert!(
                !short(value).stands_in(format!("xCFID={value} CFID={value}x CFID%3D{value}1").as_bytes()),
                "{value}"
            );
        }
        assert!(short("abCd").stands_in(b"abCd") && short("2026").stands_in(b"(2026)"));
    }

    #[test]
    fn what_is_forgotten_is_not_looked_for() {
        for value in ["", "deleted", "DELETED"] {
            assert_eq!(Secret::short(b"CFID", value.as_bytes()), None, "{value}");
        }
    }
}
