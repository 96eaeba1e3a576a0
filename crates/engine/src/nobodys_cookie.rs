//! Cookies that go along with each request in nobody's name: `ck_visit_ip={address:base64}`.
//!
//! An application counts what Kasoku asks for as a visit of its own, unless a cookie says that this visitor has been counted. So the
//! configuration may name such cookies (`nobody-cookies`). They are the same in each request in nobody's name, so no answer differs by
//! them from another; the cache decides by the request without them, since cookies make a request one of somebody ([`sent`]).

use crate::options::Route;
use kasoku_semantics::cookies;
use kasoku_wire::{Fields, RequestHead};
use std::borrow::Cow;
use std::fmt;

/// What stands for the address that the application is told.
const ADDRESS: &str = "{address}";

/// The same in base64 (RFC 4648 section 4).
const ADDRESS_BASE64: &str = "{address:base64}";

/// The longest text of one, in bytes.
const TEXT_BYTES_MAX: usize = 512;

/// A cookie of nobody. It is written as `name=value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NobodysCookie {
    name: String,
    value: String,
}

/// Why a text is no such cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NobodysCookieError {
    /// It has no `=`, or no name that a cookie can have.
    Name,
    /// Its value holds a character that no cookie's value can hold.
    Value(char),
    /// A brace that belongs to no placeholder that there is.
    Placeholder,
    /// It is too long.
    Length,
}

impl fmt::Display for NobodysCookieError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("it has no `=` behind the name of a cookie"),
            Self::Value(found) => write!(f, "{found:?} can't stand in a value"),
            Self::Placeholder => write!(f, "`{ADDRESS}` and `{ADDRESS_BASE64}` are all that may stand in braces"),
            Self::Length => write!(f, "it is longer than {TEXT_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for NobodysCookieError {}

impl NobodysCookie {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, NobodysCookieError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(NobodysCookieError::Length);
        }
        let (name, value) = text.split_once('=').ok_or(NobodysCookieError::Name)?;
        if !is_token(name) {
            return Err(NobodysCookieError::Name);
        }
        if let Some(found) = value.chars().find(|letter| !letter.is_ascii_graphic() || *letter == ';') {
            return Err(NobodysCookieError::Value(found));
        }
        if written(value, "", "").contains(['{', '}']) {
            return Err(NobodysCookieError::Placeholder);
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for NobodysCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// The cookies of whoever is told to have that address, as a value of Cookie; empty: there are none.
pub(crate) fn of_address(route: &Route, address: &str) -> String {
    let coded = base64(address.as_bytes());
    let pair = |cookie: &NobodysCookie| format!("{}={}", cookie.name, written(&cookie.value, address, &coded));
    route.cookies.nobodys.iter().map(pair).collect::<Vec<_>>().join("; ")
}

/// A request that asks for a page in nobody's name, as it is sent. The cache goes on deciding by the one that it was made of.
pub(crate) fn sent<'r>(request: &'r RequestHead, route: &Route, address: &str) -> Cow<'r, RequestHead> {
    if route.cookies.nobodys.is_empty() || !route.policy.grant.is_granting() {
        return Cow::Borrowed(request);
    }
    let mut sent = request.clone();
    let mut cookies = sent.fields.combined("cookie").unwrap_or_default();
    if !cookies.is_empty() {
        cookies.extend_from_slice(b"; ");
    }
    cookies.extend_from_slice(of_address(route, address).as_bytes());
    sent.fields.set("Cookie", cookies);
    Cow::Owned(sent)
}

/// What a request says of its visitor, without the cookies that `route` may have added: they say nothing of anybody.
pub(crate) fn without<'r>(request: &'r Fields, route: &Route) -> Cow<'r, Fields> {
    let is_nobodys = |pair: &[u8]| route.cookies.nobodys.iter().any(|one| one.name.as_bytes() == cookies::name(pair));
    // Where nothing is granted, such a cookie is the visitor's own.
    if !route.policy.grant.is_granting() || !cookies::pairs(request).any(is_nobodys) {
        return Cow::Borrowed(request);
    }
    let others: Vec<&[u8]> = cookies::pairs(request).filter(|pair| !is_nobodys(pair)).collect();
    let mut without = request.clone();
    without.remove("cookie");
    if !others.is_empty() {
        without.push("Cookie", others.join(&b"; "[..]));
    }
    Cow::Owned(without)
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
    use kasoku_semantics::policy::Profile;
    use std::sync::Arc;

    fn route(cookies: &[&str]) -> Route {
        let mut route = Route::new(Profile::Safe, Vec::new());
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 60;
        route.cookies.nobodys = cookies.iter().map(|text| NobodysCookie::parse(text).unwrap()).collect();
        route
    }

    #[test]
    fn base64_is_as_everybody_writes_it() {
        for (text, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("0.0.0.0", "MC4wLjAuMA==")] {
            assert_eq!(base64(text.as_bytes()), coded, "{text}");
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn the_address_stands_where_it_is_wanted() {
        let route = route(&["a={address}", "b=x{address:base64}y{address}", "c=1"]);
        assert_eq!(of_address(&route, "0.0.0.0"), "a=0.0.0.0; b=xMC4wLjAuMA==y0.0.0.0; c=1");
        assert_eq!(of_address(&route, "198.51.100.7").split("; ").next(), Some("a=198.51.100.7"));
    }

    #[test]
    fn they_stand_behind_the_cookies_of_the_key_in_one_field() {
        let mut route = route(&["c=1"]);
        let mut request = RequestHead::new(http::Method::GET, "/".to_owned());
        let cookie = |route: &Route, request: &RequestHead| {
            let sent = sent(request, route, "0.0.0.0");
            let lines: Vec<_> =
                sent.fields.all("cookie").map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            lines.join(" | ")
        };
        assert_eq!(cookie(&route, &request), "c=1");
        request.fields.push("Cookie", "lang=de");
        assert_eq!(cookie(&route, &request), "lang=de; c=1");
        Arc::make_mut(&mut route.policy).grant.ttl_seconds = 0;
        assert_eq!(cookie(&route, &request), "lang=de", "where nothing is granted, nobody asks in nobody's name");
    }

    #[test]
    fn what_is_no_cookie_is_refused() {
        use NobodysCookieError::{Length, Name, Placeholder, Value};
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
            assert_eq!(NobodysCookie::parse(text), Err(error), "{text}");
        }
        for text in ["a=", "a=b=c", "2a0d={address:base64}"] {
            assert_eq!(NobodysCookie::parse(text).unwrap().to_string(), text);
        }
    }
}
