//! Checks path patterns of rules.
//!
//! `*` matches any run of characters, also none and also `/`; everything else matches itself, `?` included. A pattern is compared
//! with the path of the request as it was sent, without the query. This module checks patterns and finds those that an earlier one
//! always wins over; the engine does the matching.

use crate::issue::{ValueError, quoted};

/// The longest pattern, in bytes: a longer one would match no request-target that Kasoku accepts.
const PATTERN_BYTES_MAX: usize = 4096;

/// The pattern, if the text is one.
pub(crate) fn parse_path_pattern(text: &str) -> Result<String, ValueError> {
    let bad = |why: &str, help: &str| ValueError::new(format!("{} is not a path pattern: {why}", quoted(text)), help);
    if text.starts_with('^') || text.ends_with('$') || text.contains(".*") && !text.starts_with(['/', '*']) {
        return Err(bad(
            "it looks like a regular expression",
            "patterns are globs, where `*` matches anything: \"/static/*\"",
        ));
    }
    if text.contains("://") {
        return Err(bad("it is a URL", "write the path alone, and the host into `hosts` of the site"));
    }
    if !text.starts_with(['/', '*']) {
        return Err(bad("it must start with `/` or `*`", "like \"/static/*\" or \"*.css\""));
    }
    if !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(bad(
            "requests have no such characters in their path",
            "write them percent-encoded: a space is \"%20\"",
        ));
    }
    if text.len() > PATTERN_BYTES_MAX {
        return Err(bad("it is too long", "write at most 4096 bytes"));
    }
    Ok(text.to_owned())
}

/// Whether `earlier` matches every path that `later` matches. Never wrongly true.
///
/// `later` is matched as if it were a path, except that its `*` can only be matched by a `*` of `earlier`.
pub(crate) fn covers(earlier: &str, later: &str) -> bool {
    let (pattern, text) = (earlier.as_bytes(), later.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(t) {
        match pattern.get(p) {
            Some(b'*') => {
                last_star = Some((p, t));
                p += 1;
            }
            Some(same) if same == byte && *byte != b'*' => {
                p += 1;
                t += 1;
            }
            _ => match last_star {
                // The last star of `earlier` takes one more character of `later`.
                Some((star, taken)) => {
                    last_star = Some((star, taken + 1));
                    p = star + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|b| *b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_pattern_is_said_in_words() {
        for (text, words) in [
            ("", "must start with"),
            ("admin/*", "must start with"),
            ("^/admin", "regular expression"),
            ("https://example.org/admin", "it is a URL"),
            ("/my files/*", "no such characters"),
            ("/bücher", "no such characters"),
        ] {
            let fault = parse_path_pattern(text).unwrap_err();
            assert!(fault.message.contains(words), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn patterns_are_kept_as_they_are() {
        for text in ["/", "/*", "*.css", "/a/*/b", "/what?"] {
            assert_eq!(parse_path_pattern(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_pattern_covers_what_it_matches_and_nothing_more() {
        for (earlier, later, expected) in [
            ("/*", "/admin/*", true),
            ("*", "*.css", true),
            ("/admin/*", "/*", false),
            ("/admin/*", "/admin/users/*", true),
            ("/admin/*", "/admin", false),
            ("*.css", "/static/*.css", true),
            ("*.css", "/static/*", false),
            ("/a*b", "/a*c*b", true),
            ("/a*b*", "/ab", true),
            ("/a", "/a", true),
            ("/a", "/a*", false),
        ] {
            assert_eq!(covers(earlier, later), expected, "{earlier} over {later}");
        }
    }

    /// The plain recursive definition of a glob.
    fn matches(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|taken| matches(rest, &text[taken..])),
            Some((byte, rest)) => text.first() == Some(byte) && matches(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn what_is_covered_matches(earlier in "[ab*]{0,6}", later in "[ab*]{0,6}", path in "[ab]{0,8}") {
            if covers(&earlier, &later) && matches(later.as_bytes(), path.as_bytes()) {
                prop_assert!(matches(earlier.as_bytes(), path.as_bytes()));
            }
        }

        #[test]
        fn covering_a_plain_path_is_matching_it(earlier in "[ab*]{0,6}", path in "[ab]{0,8}") {
            prop_assert_eq!(covers(&earlier, &path), matches(earlier.as_bytes(), path.as_bytes()));
        }
    }
}
