//! Compares paths with globs. `*` stands for any run of characters, and no other character is special.
//!
//! Under the policy of an application, each request compares its path with about eighty globs, of which one or two fit. So a
//! [`Glob`] knows which pairs of neighbouring bytes a path must have to fit it, and a [`Path`] knows which pairs it has. That rules
//! out nearly all globs with a few instructions each. A search for their literals took fifty to two hundred: on gnuboard5, two
//! fifths of a hit (docs/decisions/0010).

use kasoku_semantics::glob::is_match;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A glob over paths, prepared to be compared with many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: String,
    /// The glob as applications read it, without percent-encoding, if that differs.
    read: Option<String>,
    /// The pairs of a path that fits, whichever way the glob is read.
    needs: BytePairs,
}

impl Glob {
    /// The glob as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn read(&self) -> &str {
        self.read.as_deref().unwrap_or(&self.text)
    }
}

impl From<String> for Glob {
    fn from(text: String) -> Self {
        let read = text.contains('%').then(|| percent_decode_str(&text).decode_utf8_lossy().into_owned());
        let needs = BytePairs::of_glob(&text);
        let needs = read.as_ref().map_or(needs, |read| needs.in_both(BytePairs::of_glob(read)));
        Self { text, read, needs }
    }
}

impl From<&str> for Glob {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

// The other fields follow from the text.
impl Hash for Glob {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// A path that is compared with many globs.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    text: &'p str,
    has: BytePairs,
}

impl<'p> Path<'p> {
    /// `text`: the path as it was sent, or as applications read it.
    pub fn new(text: &'p str) -> Self {
        Self { text, has: BytePairs::of_path(text) }
    }

    /// The pairs of neighbouring bytes in the path.
    pub fn pairs(&self) -> BytePairs {
        self.has
    }

    /// Whether the path fits a glob as it was written.
    pub fn fits(&self, glob: &Glob) -> bool {
        self.has.may_fit(glob) && matches(&glob.text, self.text)
    }

    /// Whether the path fits a glob as applications read it.
    pub fn fits_as_read(&self, glob: &Glob) -> bool {
        self.has.may_fit(glob) && matches(glob.read(), self.text)
    }
}

/// A set of pairs of neighbouring bytes; the edge of the text counts as a byte. Several pairs share one of its 128 bits, so the set
/// may seem to have a pair that it has not. It never misses a pair that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytePairs(u128);

/// Stands for the edge of a text in its pairs.
const EDGE: u8 = 0;

impl BytePairs {
    fn of_path(path: &str) -> Self {
        let (pairs, last) =
            path.bytes().fold((Self::default(), EDGE), |(pairs, last), byte| (pairs.with(last, byte), byte));
        pairs.with(last, EDGE)
    }

    /// The pairs that are in each path that fits a glob. A byte beside a `*` may have any neighbour, so it gives no pair.
    fn of_glob(glob: &str) -> Self {
        let (pairs, last) =
            glob.bytes().fold((Self::default(), EDGE), |(pairs, last), byte| (pairs.with_literal(last, byte), byte));
        pairs.with_literal(last, EDGE)
    }

    fn with_literal(self, one: u8, next: u8) -> Self {
        if one == b'*' || next == b'*' { self } else { self.with(one, next) }
    }

    fn with(self, one: u8, next: u8) -> Self {
        // The factor puts neighbouring letters of a word on different bits.
        let number = u32::from(one) * 31 + u32::from(next);
        Self(self.0 | 1 << (number % u128::BITS))
    }

    /// The pairs that are in one of the two sets, or in both.
    pub fn in_either(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn in_both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether a path with these pairs may fit a glob. `false` is certain.
    pub fn may_fit(self, glob: &Glob) -> bool {
        glob.needs.0 & !self.0 == 0
    }
}

/// Whether `text` fits `glob`, in which `*` stands for any run of characters.
pub fn matches(glob: &str, text: &str) -> bool {
    is_match(glob.as_bytes(), text.as_bytes())
}

/// Whether some text fits both globs.
pub fn overlap(one: &str, other: &str) -> bool {
    match (ends(one), ends(other)) {
        (None, _) => matches(other, one),
        (_, None) => matches(one, other),
        // A text that fits both can have the middle of one glob behind the middle of the other, so only the ends matter.
        (Some((start, end)), Some((other_start, other_end))) => {
            (start.starts_with(other_start) || other_start.starts_with(start))
                && (end.ends_with(other_end) || other_end.ends_with(end))
        }
    }
}

/// The texts before the first and behind the last `*` of a glob; `None`: it has no `*`.
fn ends(glob: &str) -> Option<(&str, &str)> {
    let (start, _) = glob.split_once('*')?;
    let (_, end) = glob.rsplit_once('*')?;
    Some((start, end))
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

    proptest::proptest! {
        #[test]
        fn a_glob_that_was_made_ready_fits_the_same_paths(
            globs in proptest::collection::vec("[/*][ab/.*]{0,4}(%61|%2[aA]|%2F|%|\\u{ac00}|\\*)?[ab/.*]{0,4}", 1..20),
            path in "/[ab/.]{0,6}(%61|%|\\u{ac00}|\\*)?[ab/.]{0,6}",
        ) {
            let made = Path::new(&path);
            for text in &globs {
                let glob = Glob::from(&**text);
                let [fits, fits_as_read] = [matches(text, &path), matches(&percent_decode_str(text).decode_utf8_lossy(), &path)];
                proptest::prop_assert_eq!((made.fits(&glob), made.fits_as_read(&glob)), (fits, fits_as_read), "{}", text);
                let more = made.pairs().in_either(Path::new("/b").pairs());
                proptest::prop_assert!(more.may_fit(&glob) || !(fits || fits_as_read), "{}", text);
            }
        }
    }

    #[test]
    fn a_path_is_told_from_nearly_all_globs_without_a_search() {
        let path = Path::new("/bbs/board.php");
        for glob in ["*/data/*.php*", "*/bbs/login.php", "*.htaccess", "/bbs", "*.ph"] {
            assert!(!path.pairs().may_fit(&glob.into()), "{glob}");
        }
        for glob in ["*", "/bbs/board.php", "*/bbs/board.php", "*.php", "/bbs/*", "*board*"] {
            assert!(path.pairs().may_fit(&glob.into()) && path.fits(&glob.into()), "{glob}");
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
