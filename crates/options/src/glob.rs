//! Compares paths with globs, in which `*` stands for any run of characters and nothing else is special.
//!
//! Under the policy of an application, each request compares its path with some eighty globs, and one or two fit. So a [`Glob`] knows which pairs of
//! neighbouring bytes a path must have to fit it, and a [`Path`] knows which it has. That rules out nearly all globs with a few instructions each,
//! where a search for their literals took fifty to two hundred: on gnuboard5 the searches were two fifths of a hit (docs/decisions/0010).

use kasoku_semantics::glob::is_match;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A glob over paths, made ready to be compared with many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: String,
    /// As applications read it, where that is something else.
    read: Option<String>,
    /// What a path has that fits it, whichever way the glob is read.
    needs: BytePairs,
}

impl Glob {
    /// As it was written.
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

// The rest follows from the text.
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
    /// A path, as it was sent or as it is read.
    pub fn new(text: &'p str) -> Self {
        Self { text, has: BytePairs::of_path(text) }
    }

    /// Which pairs of bytes stand in it.
    pub fn pairs(&self) -> BytePairs {
        self.has
    }

    /// Whether it fits a glob as that was written.
    pub fn fits(&self, glob: &Glob) -> bool {
        self.has.may_fit(glob) && matches(&glob.text, self.text)
    }

    /// Whether it fits a glob as applications read that.
    pub fn fits_as_read(&self, glob: &Glob) -> bool {
        self.has.may_fit(glob) && matches(glob.read(), self.text)
    }
}

/// A set of pairs of neighbouring bytes, the edge of the text counted as a byte. Several pairs share one of its 128 bits, so a pair may seem to be in the set
/// that is not; none that is in it is missed.
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

    /// Those that are in each path that fits a glob: what stands beside a `*` has any neighbour.
    fn of_glob(glob: &str) -> Self {
        let (pairs, last) =
            glob.bytes().fold((Self::default(), EDGE), |(pairs, last), byte| (pairs.with_literal(last, byte), byte));
        pairs.with_literal(last, EDGE)
    }

    fn with_literal(self, one: u8, next: u8) -> Self {
        if one == b'*' || next == b'*' { self } else { self.with(one, next) }
    }

    fn with(self, one: u8, next: u8) -> Self {
        // Neighbouring letters of one word fall on different bits.
        let number = u32::from(one) * 31 + u32::from(next);
        Self(self.0 | 1 << (number % u128::BITS))
    }

    /// Those that stand in one of two.
    pub fn in_either(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn in_both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether a path with these pairs may fit a glob; if not, it does not.
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
