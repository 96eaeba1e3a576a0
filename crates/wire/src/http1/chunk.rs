//! Parses the line that opens a chunk: its size and its extensions (RFC 9112 sections 7.1 and 7.1.1).
//!
//! Kasoku drops extensions, but refuses those that break the grammar: a line that two recipients split at different places can hide
//! a request in a chunk. The tests are in `body_tests.rs`.

use super::body_error::BodyError;
use super::grammar::{is_tchar, is_text, is_token};

/// The most digits of a chunk size, leading zeros included: 16 hexadecimal digits fill 64 bits.
const CHUNK_SIZE_DIGITS_MAX: usize = 16;
/// Splits `chunk-size [ chunk-ext ]`, a line without its CRLF, into size and extensions.
//= RFC 9112 section 7.1
//# recipients MUST anticipate potentially large hexadecimal numerals and prevent parsing errors due to integer conversion
//# overflows or precision loss due to integer representation.
pub(super) fn chunk_line(line: &[u8]) -> Result<(u64, &[u8]), BodyError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, extensions) = line.split_at_checked(digits).unwrap_or((line, &[]));
    if digits.is_empty() || digits.len() > CHUNK_SIZE_DIGITS_MAX {
        return Err(BodyError::ChunkSize);
    }
    let size = digits.iter().fold(0u64, |size, digit| size << 4 | u64::from(hex_value(*digit)));
    match extensions {
        [] | [b';' | b' ' | b'\t', ..] if is_chunk_ext(extensions) => Ok((size, extensions)),
        [b';' | b' ' | b'\t', ..] => Err(BodyError::ChunkExtension),
        _ => Err(BodyError::ChunkSize),
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    }
}

/// `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`, RFC 9112 section 7.1.1.
//= RFC 9112 section 7.1.1
//# A recipient MUST ignore unrecognized chunk extensions.
fn is_chunk_ext(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let [b';', after @ ..] = skip_bws(rest) else { return false };
        let Some(after) = skip_token(skip_bws(after)) else { return false };
        rest = after;
        if let [b'=', value @ ..] = skip_bws(after) {
            let value = skip_bws(value);
            let Some(after) = skip_quoted_string(value).or_else(|| skip_token(value)) else { return false };
            rest = after;
        }
    }
    true
}

fn skip_bws(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    bytes.get(end..).unwrap_or_default()
}

fn skip_token(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().take_while(|byte| is_tchar(**byte)).count();
    let (token, rest) = bytes.split_at_checked(end)?;
    is_token(token).then_some(rest)
}

fn skip_quoted_string(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"\"")?;
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', escaped, after @ ..] if is_text(*escaped) => after,
            [byte, after @ ..] if is_text(*byte) && *byte != b'\\' => after,
            _ => return None,
        };
    }
}
