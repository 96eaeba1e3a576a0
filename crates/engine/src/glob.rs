//! Globs: `*` stands for any run of characters, and nothing else is special.

use memchr::memmem;

/// Whether `text` fits `glob`, in which `*` stands for any run of characters.
// Each request asks this of each pattern of its route, and most differ in one of their first bytes.
pub(crate) fn matches(glob: &str, text: &str) -> bool {
    let (mut glob, mut text) = (glob.as_bytes(), text.as_bytes());
    loop {
        match (glob, text) {
            ([b'*', rest @ ..], _) => return matches_behind_star(rest, text),
            ([a, rest_of_glob @ ..], [b, rest_of_text @ ..]) if a == b => (glob, text) = (rest_of_glob, rest_of_text),
            (glob, text) => return glob.is_empty() && text.is_empty(),
        }
    }
}

/// Whether some text fits both globs.
pub(crate) fn overlap(one: &str, other: &str) -> bool {
    match (ends(one), ends(other)) {
        (None, _) => matches(other, one),
        (_, None) => matches(one, other),
        // What stands between the ends of both stands behind each other in that text.
        (Some((start, end)), Some((other_start, other_end))) => {
            (start.starts_with(other_start) || other_start.starts_with(start))
                && (end.ends_with(other_end) || other_end.ends_with(end))
        }
    }
}

/// What stands before the first and behind the last `*` of a glob; `None`: it has none.
fn ends(glob: &str) -> Option<(&str, &str)> {
    let (start, _) = glob.split_once('*')?;
    let (_, end) = glob.rsplit_once('*')?;
    Some((start, end))
}

fn matches_behind_star(mut glob: &[u8], mut text: &[u8]) -> bool {
    while let Some(star) = memchr::memchr(b'*', glob) {
        let (piece, rest) = glob.split_at_checked(star).unwrap_or((glob, &[]));
        let Some(at) = memmem::find(text, piece) else { return false };
        text = text.get(at + piece.len()..).unwrap_or_default();
        glob = rest.get(1..).unwrap_or_default();
    }
    text.ends_with(glob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_run() {
        for (glob, text) in [
            ("/a", "/a"),
            ("/a*", "/a"),
            ("/a*", "/a/b"),
            ("/a/*/c", "/a/b/c"),
            ("*.css", "/x/y.css"),
            ("*", "/"),
            ("/a*b*c", "/a-b-b-c"),
            ("utm_*", "utm_source"),
        ] {
            assert!(matches(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("/a", "/ab"), ("/a", "/"), ("/a*c", "/ab"), ("*.css", "/x.css/y"), ("/a*ab", "/a")] {
            assert!(!matches(glob, text), "{glob} {text}");
        }
    }

    #[test]
    fn globs_overlap_where_a_text_fits_both() {
        for (one, other) in [
            ("/a", "/a"),
            ("*.php", "/bbs/*"),
            ("*/adm/*", "/*/*/*"),
            ("/*/x*", "*"),
            ("/blog/*", "/blog/a"),
            ("*a*b", "*b*a*b"),
        ] {
            assert!(overlap(one, other) && overlap(other, one), "{one} {other}");
        }
        for (one, other) in
            [("/a", "/b"), ("*.php", "*.css"), ("/blog/*", "/shop/*"), ("/blog/*", "/blog"), ("/a*", "b*")]
        {
            assert!(!overlap(one, other) && !overlap(other, one), "{one} {other}");
        }
    }

    #[test]
    fn a_glob_means_the_same_as_tried_character_by_character() {
        fn naive(glob: &[u8], text: &[u8]) -> bool {
            match (glob, text) {
                ([], _) => text.is_empty(),
                ([b'*', glob @ ..], _) => (0..=text.len()).any(|skipped| naive(glob, &text[skipped..])),
                ([a, glob @ ..], [b, text @ ..]) => a == b && naive(glob, text),
                (_, []) => false,
            }
        }
        let words = |letters: &[u8], length_max: u32| -> Vec<String> {
            let count = letters.len();
            let word =
                |length, number| (0..length).map(|at| char::from(letters[number / count.pow(at) % count])).collect();
            (0..=length_max).flat_map(|length| (0..count.pow(length)).map(move |number| word(length, number))).collect()
        };
        let texts = words(b"ab", 5);
        for glob in words(b"ab*", 5) {
            for text in &texts {
                assert_eq!(matches(&glob, text), naive(glob.as_bytes(), text.as_bytes()), "{glob} {text}");
            }
        }
    }
}
