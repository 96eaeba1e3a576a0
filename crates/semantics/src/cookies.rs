//! Reads the cookies of a request, and writes those that are in the key in one order.
//!
//! Where an operator grants a lifetime, a request takes the cookies that the rule names to the origin, and no others. They go in
//! one order, whatever order the client sent them in: by name, those of one name as they came. So each combination of values makes
//! one variant. Names are compared byte by byte, with `*` in a glob for any run of bytes; values are never interpreted.

use crate::glob;
use kasoku_wire::Fields;
use kasoku_wire::field::list::trim;
use memchr::memchr;
use smallvec::SmallVec;
use std::iter;

/// How many cookies are sorted without an allocation; the limits of a request's head bound their number.
const ON_STACK: usize = 16;

/// The cookies of a request, as `name=value`, in the order in which they came.
pub fn pairs(request: &Fields) -> impl Iterator<Item = &[u8]> {
    request.all("cookie").flat_map(pairs_of)
}

/// The cookies of one Cookie line. Of a line of Set-Cookie, the first result is the cookie.
pub fn pairs_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    let pairs = iter::from_fn(move || {
        let (pair, next) = split(rest?, b';');
        rest = next;
        Some(trim(pair))
    });
    pairs.filter(|pair| !pair.is_empty())
}

/// A cookie's name; of a cookie without `=` all of it.
pub fn name(pair: &[u8]) -> &[u8] {
    trim(split(pair, b'=').0)
}

/// A cookie's value; of a cookie without `=` nothing.
pub fn value(pair: &[u8]) -> &[u8] {
    trim(split(pair, b'=').1.unwrap_or_default())
}

/// What stands before and behind the first byte `at`; `None`: there is no such byte.
fn split(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match memchr(at, text) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// Whether one of these globs matches a cookie's name.
pub fn is_any(globs: &[String], name: &[u8]) -> bool {
    // A request asks this of each of its cookies and each glob of a list, and nearly all differ in their first byte.
    let begins_alike = |glob: &[u8]| glob.first().is_none_or(|first| *first == b'*' || Some(first) == name.first());
    globs.iter().any(|glob| begins_alike(glob.as_bytes()) && is_match(glob, name))
}

/// Whether a glob, in which `*` stands for any run of bytes, matches a name or a value.
pub fn is_match(glob: &str, text: &[u8]) -> bool {
    glob::is_match(glob.as_bytes(), text)
}

/// Whether a request has one of the cookies that these globs name.
pub fn has_any(globs: &[String], request: &Fields) -> bool {
    !globs.is_empty() && pairs(request).any(|pair| is_any(globs, name(pair)))
}

/// Whether a request has no other cookies than those that these globs name.
pub fn has_only(globs: &[String], request: &Fields) -> bool {
    pairs(request).all(|pair| is_any(globs, name(pair)))
}

/// Appends the cookies of a request that the globs name, as a value of Cookie. Nothing is appended where there are none.
pub fn write(globs: &[String], request: &Fields, out: &mut Vec<u8>) {
    let of_these = pairs(request).filter(|pair| is_any(globs, name(pair)));
    let mut kept: SmallVec<[(usize, &[u8]); ON_STACK]> = of_these.enumerate().collect();
    kept.sort_unstable_by_key(|(place, pair)| (name(pair), *place));
    for (index, (_, pair)) in kept.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b"; ");
        }
        out.extend_from_slice(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(globs: &[&str]) -> Vec<String> {
        globs.iter().map(|glob| (*glob).to_owned()).collect()
    }

    fn kept(names: &[&str], lines: &[&str]) -> String {
        let request: Fields = lines.iter().map(|line| ("Cookie", line)).collect();
        let mut out = Vec::new();
        write(&globs(names), &request, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_cookies_that_count_have_one_spelling() {
        assert_eq!(kept(&["lang", "theme"], &["theme=dark; _ga=1; lang=de"]), "lang=de; theme=dark");
        assert_eq!(kept(&["lang", "theme"], &["lang=de;theme=dark", "sid=1"]), "lang=de; theme=dark");
        assert_eq!(kept(&["a"], &["a=2; a=1"]), "a=2; a=1", "of one name, as they came");
        assert_eq!(kept(&["lang"], &["sid=1", "langs=de", "Lang=de"]), "");
        assert_eq!(kept(&["lang"], &["; ; lang = de ;"]), "lang = de");
        assert_eq!(kept(&["a"], &["a"]), "a");
    }

    #[test]
    fn what_was_written_reads_as_itself() {
        let once = kept(&["*"], &["b=2; a=1; b=1;c"]);
        assert_eq!(once, kept(&["*"], &[&once]));
    }

    #[test]
    fn a_request_without_cookies_has_only_those_that_are_named() {
        assert!(has_only(&[], &Fields::new()) && !has_any(&globs(&["*"]), &Fields::new()));
        let request: Fields = [("Cookie", "lang=de; sid=1")].into_iter().collect();
        assert!(has_any(&globs(&["lang"]), &request) && !has_only(&globs(&["lang"]), &request));
        assert!(has_only(&globs(&["lang", "s*"]), &request));
    }
}
