//! The rules of RFC 9110 section 5.6 on which message framing depends.
//!
//! They are separate from the parsers of field values, because a change to one of them changes where messages end. No function here
//! knows a field's meaning.

use crate::Fields;

/// Whether `bytes` is a `token` (RFC 9110 section 5.6.2).
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(is_tchar)
}

/// Whether `byte` is a `tchar` (RFC 9110 section 5.6.2).
pub(crate) fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether `byte` may stand in a field value or a reason phrase: HTAB, SP, VCHAR or obs-text.
pub(crate) fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// `bytes` without the spaces and tabs at its ends (OWS, RFC 9110 section 5.6.3).
pub(crate) fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The members of the list that all lines of that name form together, trimmed. Empty members are skipped, as RFC 9110 section
/// 5.6.1.2 asks of recipients; the head's size bounds their number.
///
/// Only for lists of tokens: a comma inside a quoted string also separates members.
pub(super) fn list_members<'a>(fields: &'a Fields, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    fields
        .all(name)
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(trim_ows)
        .filter(|member| !member.is_empty())
}

/// `1*DIGIT` as a number: no sign, no space, no overflow.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_digits_only_and_fits() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"0042"), Some(42));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"+5", b"-1", b"5 ", b"0x5", b"5_0", b"5.0", b"\xd9\xa5"] {
            assert_eq!(decimal(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lists_span_lines_and_skip_empty_members() {
        let fields: Fields = [("A", "x,, y "), ("a", ","), ("A", "\tz")].into_iter().collect();
        assert_eq!(list_members(&fields, "a").collect::<Vec<_>>(), [b"x", b"y", b"z"]);
    }
}
