//! Splits comma-separated lists (RFC 9110 section 5.6.1), but not at commas inside quoted strings.
//!
//! A list may span several lines; a quoted string may not. If a line opens a quoted string and does not close it, that quote and
//! all later ones in the line count as ordinary bytes: an unfinished string must not hide a `no-store`. Empty members are skipped,
//! as section 5.6.1.2 demands.

use crate::Fields;
use std::borrow::Cow;

/// The members of the list in all lines named `name`, trimmed, in order, empty ones left out.
pub fn members<'a>(fields: &'a Fields, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    fields.all(name).flat_map(split)
}

/// The members of one line's list, trimmed, empty ones left out.
//= RFC 9110 section 5.6.1.2
//# A recipient MUST parse and ignore a reasonable number of empty list elements
pub fn split(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    Split { rest: Some(value), separator: b',', quotes: true }.map(trim).filter(|member| !member.is_empty())
}

/// The pieces of one line's list, trimmed, empty ones included: for comparing fields whose grammar is not known.
pub fn pieces(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    Split { rest: Some(value), separator: b',', quotes: true }.map(trim)
}

/// The parts of one member between semicolons, trimmed; the first is the member without its parameters.
pub fn parameters(member: &[u8]) -> impl Iterator<Item = &[u8]> {
    Split { rest: Some(member), separator: b';', quotes: true }.map(trim)
}

/// `value` without optional white space (space and tab) at both ends.
pub fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Whether `value` is a token (RFC 9110 section 5.6.2).
pub fn is_token(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(|b| is_tchar(*b))
}

fn is_tchar(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// The text of a quoted-string without its quotes and backslashes (RFC 9110 section 5.6.4), or `None` when `value`
/// is not exactly one quoted-string.
pub fn unquote(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let [b'"', inner @ .., b'"'] = value else { return None };
    if !inner.iter().any(|b| matches!(b, b'"' | b'\\')) {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return None,
            b'\\' => text.push(*bytes.next()?),
            _ => text.push(*byte),
        }
    }
    Some(Cow::Owned(text))
}

/// Iterates over the pieces between separators outside quoted strings, in time linear in the value's length.
struct Split<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
    /// False once a quoted string was found unfinished: from there on quotes are ordinary bytes.
    quotes: bool,
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let mut at = 0;
        while let Some(byte) = rest.get(at) {
            if *byte == self.separator {
                self.rest = rest.get(at + 1..);
                return rest.get(..at);
            }
            if *byte == b'"' && self.quotes {
                match quoted_len(rest.get(at..).unwrap_or_default()) {
                    Some(len) => at += len,
                    None => self.quotes = false,
                }
            } else {
                at += 1;
            }
        }
        self.rest = None;
        Some(rest)
    }
}

/// The length of the quoted-string at the start of `value`, quotes included.
fn quoted_len(value: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match value.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(value: &[u8]) -> Vec<&[u8]> {
        split(value).collect()
    }

    #[test]
    fn members_of_all_lines_without_the_empty_ones() {
        //= RFC 9110 section 5.6.1.2
        //# A recipient MUST parse and ignore a reasonable number of empty list elements
        let fields: Fields = [("A", "1, ,2,"), ("b", "x"), ("a", ",\t3 ")].into_iter().collect();
        assert_eq!(members(&fields, "a").collect::<Vec<_>>(), [b"1", b"2", b"3"]);
    }

    #[test]
    fn a_comma_in_a_quoted_string_separates_nothing() {
        assert_eq!(list(br#"a="1, \"2", b"#), [&br#"a="1, \"2""#[..], b"b"]);
    }

    #[test]
    fn an_unfinished_string_hides_nothing() {
        assert_eq!(list(br#"a="1, no-store"#), [&br#"a="1"#[..], b"no-store"]);
        assert_eq!(list(br#"a="\", no-store"#), [&br#"a="\""#[..], b"no-store"]);
    }

    #[test]
    fn quoted_strings_lose_their_quotes_and_backslashes() {
        assert_eq!(unquote(br#""a\"b""#).as_deref(), Some(&b"a\"b"[..]));
        for invalid in [&b"a"[..], b"\"", b"\"a", br#""a"b""#, br#""a\""#] {
            assert_eq!(unquote(invalid), None, "{invalid:?}");
        }
    }

    #[test]
    fn parameters_follow_semicolons() {
        let parts: Vec<_> = parameters(br#"a; q=1 ;x="1;2""#).collect();
        assert_eq!(parts, [&b"a"[..], b"q=1", br#"x="1;2""#]);
    }

    proptest::proptest! {
        #[test]
        fn splitting_loses_no_byte(value: Vec<u8>) {
            let pieces: Vec<&[u8]> = Split { rest: Some(&value), separator: b',', quotes: true }.collect();
            proptest::prop_assert_eq!(pieces.join(&b","[..]), value.clone());
            let _ = unquote(&value);
        }
    }
}
