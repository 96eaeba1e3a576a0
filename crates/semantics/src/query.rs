//! The query of a URL, and the form that is written like one, as applications read them.
//!
//! Programs differ: some divide at `;` as well, PHP leaves out spaces before a name and all from a NUL on. What is decided by a
//! parameter is decided by each way of reading it.

use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::iter;

/// Whether one of the parameters of a query is it; where one holds a `;`, by which some programs divide as well (CGI.pm), so are its parts.
pub fn any_pair(query: &str, mut is_it: impl FnMut(&str) -> bool) -> bool {
    pairs(query).any(|pair| is_it(pair) || (has(pair, b";") && pair.split(';').any(&mut is_it)))
}

/// What stands between the `&` of a query.
pub fn pairs(query: &str) -> impl Iterator<Item = &str> {
    split_all(query, b'&')
}

/// The same, where a `;` divides as well.
pub fn parts(query: &str) -> impl Iterator<Item = &str> {
    pairs(query).flat_map(|pair| split_all(pair, b';'))
}

/// Name and value of a parameter, as they were sent.
pub fn name_and_value(pair: &str) -> (&str, &str) {
    let (name, value) = split(pair, b'=');
    (name, value.unwrap_or_default())
}

/// Path and query of a target.
pub fn path_and_query(target: &str) -> (&str, Option<&str>) {
    split(target, b'?')
}

fn split_all(text: &str, at: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let (part, next) = split(rest?, at);
        rest = next;
        Some(part)
    })
}

/// What stands before and behind the first of that ASCII character. Parts of URLs are short: a loop is done with them before a
/// search for long texts has begun.
fn split(text: &str, at: u8) -> (&str, Option<&str>) {
    match text.bytes().position(|byte| byte == at) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// Whether one of these ASCII characters is there.
fn has(text: &str, any: &[u8]) -> bool {
    text.bytes().any(|byte| any.contains(&byte))
}

/// The name of a parameter as applications read it: PHP leaves out spaces before it, and all from a NUL on.
pub fn read_name(text: &str) -> Cow<'_, str> {
    match decoded(text) {
        Cow::Borrowed(name) => Cow::Borrowed(name),
        Cow::Owned(name) => Cow::Owned(name.trim_start_matches(' ').split('\0').next().unwrap_or_default().to_owned()),
    }
}

/// A name or a value of a query as applications read it: without percent-encoding, and `+` for a space.
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !has(text, b"%+") {
        return Cow::Borrowed(text);
    }
    let text = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&text).decode_utf8_lossy().into_owned())
}
