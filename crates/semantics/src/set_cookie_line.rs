//! Reads the lines by which a response sets cookies (RFC 6265 section 5.2).

use kasoku_wire::Fields;
use kasoku_wire::field::list::trim;

/// Whether `name` is Set-Cookie or the obsolete Set-Cookie2.
pub(crate) fn is_set_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"set-cookie") || name.eq_ignore_ascii_case(b"set-cookie2")
}

/// Whether a response sets a cookie.
pub fn sets_cookie(response: &Fields) -> bool {
    response.iter().any(|(name, _)| is_set_cookie(name))
}

/// The name and the value of the cookie that a Set-Cookie line sets (RFC 6265 section 5.2).
pub fn pair(line: &[u8]) -> (&[u8], &[u8]) {
    let pair = line.split(|byte| *byte == b';').next().unwrap_or_default();
    match pair.iter().position(|byte| *byte == b'=') {
        Some(equals) => {
            (trim(pair.get(..equals).unwrap_or_default()), unquoted(trim(pair.get(equals + 1..).unwrap_or_default())))
        }
        None => (b"", trim(pair)),
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}
