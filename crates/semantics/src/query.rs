//! Splits and decodes the query of a URL, or a form in the same format, as applications do.
//!
//! Applications differ: some split at `;` as well, and PHP drops spaces before a name and everything from a NUL on. A decision that
//! depends on a parameter considers each of these readings.

use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::iter;

/// Whether `is_it` accepts a parameter of the query. A parameter that contains `;` is tried as a whole and split there, as some
/// programs do (CGI.pm).
pub fn any_pair(query: &str, mut is_it: impl FnMut(&str) -> bool) -> bool {
    pairs(query).any(|pair| is_it(pair) || (has(pair, b";") && pair.split(';').any(&mut is_it)))
}

/// The parameters of a query, split at `&`.
pub fn pairs(query: &str) -> impl Iterator<Item = &str> {
    split_all(query, b'&')
}

/// The parameters of a query, split at `&` and at `;`.
pub fn parts(query: &str) -> impl Iterator<Item = &str> {
    pairs(query).flat_map(|pair| split_all(pair, b';'))
}

/// Name and value of a parameter, as they were sent.
pub fn name_and_value(pair: &str) -> (&str, &str) {
    let (name, value) = split(pair, b'=');
    (name, value.unwrap_or_default())
}

/// The path and the query of a request target.
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

/// The text before and after the first occurrence of the ASCII character `at`. Parts of URLs are short, so a plain loop is faster
/// than a search that is made for long texts.
fn split(text: &str, at: u8) -> (&str, Option<&str>) {
    match text.bytes().position(|byte| byte == at) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// Whether the text contains one of these ASCII characters.
fn has(text: &str, any: &[u8]) -> bool {
    text.bytes().any(|byte| any.contains(&byte))
}

/// The name of a parameter as applications read it: PHP drops spaces before the name and everything from a NUL on.
pub fn read_name(text: &str) -> Cow<'_, str> {
    match decoded(text) {
        Cow::Borrowed(name) => Cow::Borrowed(name),
        Cow::Owned(name) => Cow::Owned(name.trim_start_matches(' ').split('\0').next().unwrap_or_default().to_owned()),
    }
}

/// A name or a value of a query as applications read it: without percent-encoding, and with a space for `+`.
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !has(text, b"%+") {
        return Cow::Borrowed(text);
    }
    let text = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&text).decode_utf8_lossy().into_owned())
}
