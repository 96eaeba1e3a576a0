//! The cookies that Kasoku adds to each anonymous request: `ck_visit_ip={address:base64}`.
//!
//! An application counts each of Kasoku's requests as a visit, unless a cookie says that this visitor has been counted. So the
//! configuration may name such cookies (`anonymous-request-cookies`). They are the same in each anonymous request, so they make no
//! difference between answers. The cache decides by the request without them, since a request with cookies counts as a visitor's.

use std::fmt;

/// Stands for the client address that the request tells the application.
const ADDRESS: &str = "{address}";

/// The same address in base64 (RFC 4648 section 4).
const ADDRESS_BASE64: &str = "{address:base64}";

/// The longest text of a cookie, in bytes.
const TEXT_BYTES_MAX: usize = 512;

/// A cookie of anonymous requests. It is written as `name=value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnonymousCookie {
    name: String,
    value: String,
}

/// Why a text is no such cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnonymousCookieError {
    /// It has no `=`, or no name that a cookie can have.
    #[error("it has no `=` after the name of a cookie")]
    Name,
    /// Its value holds a character that no cookie's value can hold.
    #[error("{0:?} can't stand in a value")]
    Value(char),
    /// A brace belongs to no known placeholder.
    #[error("`{}` and `{}` are the only placeholders", ADDRESS, ADDRESS_BASE64)]
    Placeholder,
    /// The text is too long.
    #[error("it is longer than {} bytes", TEXT_BYTES_MAX)]
    Length,
}

impl AnonymousCookie {
    /// Reads a cookie.
    ///
    /// # Errors
    /// The reason why it is none.
    pub fn parse(text: &str) -> Result<Self, AnonymousCookieError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(AnonymousCookieError::Length);
        }
        let (name, value) = text.split_once('=').ok_or(AnonymousCookieError::Name)?;
        if !is_token(name) {
            return Err(AnonymousCookieError::Name);
        }
        if let Some(found) = value.chars().find(|letter| !letter.is_ascii_graphic() || *letter == ';') {
            return Err(AnonymousCookieError::Value(found));
        }
        if written(value, "", "").contains(['{', '}']) {
            return Err(AnonymousCookieError::Placeholder);
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cookie in a request that tells `address`.
    pub fn pair(&self, address: &str) -> String {
        format!("{}={}", self.name, written(&self.value, address, &base64(address.as_bytes())))
    }
}

impl fmt::Display for AnonymousCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

fn written(value: &str, address: &str, coded: &str) -> String {
    value.replace(ADDRESS_BASE64, coded).replace(ADDRESS, address)
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// RFC 4648 section 4, padded.
fn base64(bytes: &[u8]) -> String {
    let letter = |sextet: u32| match sextet as u8 {
        sextet @ 0..=25 => char::from(b'A' + sextet),
        sextet @ 26..=51 => char::from(b'a' + sextet - 26),
        sextet @ 52..=61 => char::from(b'0' + sextet - 52),
        62 => '+',
        _ => '/',
    };
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        let letters = (0..4).map(|place| letter(bits >> (18 - 6 * place) & 0x3f));
        text.extend(letters.take(group.len() + 1));
        text.extend(std::iter::repeat_n('=', 3 - group.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_everybody_writes_it() {
        for (text, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("0.0.0.0", "MC4wLjAuMA==")] {
            assert_eq!(base64(text.as_bytes()), coded, "{text}");
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn what_is_no_cookie_is_refused() {
        use AnonymousCookieError::{Length, Name, Placeholder, Value};
        for (text, error) in [
            ("", Name),
            ("a", Name),
            ("=a", Name),
            ("a b=c", Name),
            ("a;b=c", Name),
            ("a=b c", Value(' ')),
            ("a=b;c", Value(';')),
            ("a=é", Value('é')),
            ("a=\r", Value('\r')),
            ("a={adress}", Placeholder),
            ("a={address:hex}", Placeholder),
            ("a={", Placeholder),
            (&format!("a={}", "b".repeat(600)), Length),
        ] {
            assert_eq!(AnonymousCookie::parse(text), Err(error), "{text}");
        }
        for text in ["a=", "a=b=c", "2a0d={address:base64}"] {
            assert_eq!(AnonymousCookie::parse(text).unwrap().to_string(), text);
        }
    }
}
