//! Parses and compares entity tags (RFC 9110 section 8.8.3), and the lists of them in If-None-Match and If-Match (section 13.1).
//!
//! Some applications send tags without quotes. The parser takes such a tag as opaque bytes: it equals a quoted tag of the same
//! bytes, and counts as strong, because it has no `W/`. The weak mark must be exact: `w/"a"` and `W\"a"` are opaque bytes too.

use super::list;
use crate::Fields;

/// One entity tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTag<'a> {
    /// Whether the tag is marked `W/`.
    pub weak: bool,
    /// The bytes between the quotes, or all bytes of a tag without quotes.
    pub opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Parses one tag; `None` if `value` is empty or `*`.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let value = list::trim(value);
        if value.is_empty() || value == b"*" {
            return None;
        }
        let (weak, rest) = match value {
            [b'W', b'/', b'"', inner @ .., b'"'] if !inner.contains(&b'"') => (true, inner),
            [b'"', inner @ .., b'"'] if !inner.contains(&b'"') => (false, inner),
            other => (false, other),
        };
        Some(Self { weak, opaque: rest })
    }

    /// The tag of a response; `None` unless the response has exactly one ETag line.
    pub fn of(fields: &'a Fields) -> Option<Self> {
        Self::parse(fields.only("etag")?)
    }

    /// Strong comparison (section 8.8.3.2): both strong, and the same bytes.
    pub fn strong_eq(&self, other: &EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison (section 8.8.3.2): the same bytes.
    pub fn weak_eq(&self, other: &EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }

    /// The tag in the RFC's grammar, with quotes, for requests that the cache sends. A tag that contains a quote is written as it
    /// came.
    pub fn write(&self) -> Vec<u8> {
        if self.opaque.contains(&b'"') {
            return self.opaque.to_vec();
        }
        let mark: &[u8] = if self.weak { b"W/" } else { b"" };
        [mark, b"\"", self.opaque, b"\""].concat()
    }
}

/// The members of all If-None-Match or If-Match lines, in order.
pub fn tags<'a>(fields: &'a Fields, name: &'a str) -> impl Iterator<Item = ListedTag<'a>> {
    fields.all(name).flat_map(|line| {
        let mut rest = line;
        // Entity tags have no escapes: a backslash is an ordinary byte. So they cannot be split like quoted strings.
        std::iter::from_fn(move || {
            let (member, after) = next_tag(rest)?;
            rest = after;
            Some(member)
        })
        .filter_map(|member| {
            if member == b"*" { Some(ListedTag::Any) } else { EntityTag::parse(member).map(ListedTag::One) }
        })
    })
}

/// A member of an If-None-Match or If-Match list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedTag<'a> {
    /// `*`: any representation.
    Any,
    /// One tag.
    One(EntityTag<'a>),
}

impl ListedTag<'_> {
    /// Whether the member matches `tag` by weak comparison. [`ListedTag::Any`] also matches a representation without a tag.
    pub fn matches_weakly(&self, tag: Option<&EntityTag<'_>>) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => tag.is_some_and(|tag| one.weak_eq(tag)),
        }
    }
}

/// The next member of a list of tags, trimmed, and what follows its comma.
fn next_tag(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut quoted = false;
    if value.is_empty() {
        return None;
    }
    let end = value.iter().position(|b| {
        quoted ^= *b == b'"';
        *b == b',' && !quoted
    });
    let end = end.unwrap_or(value.len());
    Some((list::trim(value.get(..end)?), value.get(end + 1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> EntityTag<'_> {
        EntityTag::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn comparisons_of_the_rfc() {
        // The table of RFC 9110 section 8.8.3.2.
        for (one, two, strong, weak) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            assert_eq!(tag(one).strong_eq(&tag(two)), strong, "{one} {two}");
            assert_eq!(tag(one).weak_eq(&tag(two)), weak, "{one} {two}");
        }
    }

    #[test]
    fn an_unquoted_tag_is_opaque_bytes() {
        assert!(tag("abc").strong_eq(&tag("\"abc\"")));
        assert!(!tag("w/\"abc\"").weak_eq(&tag("\"abc\"")));
        assert_eq!(tag("abc").write(), b"\"abc\"");
        assert_eq!(tag("W/\"abc\"").write(), b"W/\"abc\"");
    }

    #[test]
    fn lists_hold_tags_with_commas_and_backslashes() {
        let fields: Fields = [("If-None-Match", "\"a,b\", W/\"c\\\""), ("If-None-Match", "d")].into_iter().collect();
        let list: Vec<_> = tags(&fields, "If-None-Match").collect();
        assert_eq!(list, ["\"a,b\"", "W/\"c\\\"", "d"].map(|text| ListedTag::One(tag(text))));
        assert!(list[1].matches_weakly(Some(&tag("\"c\\\""))) && !list[1].matches_weakly(None));
    }

    #[test]
    fn a_star_matches_whatever_there_is() {
        let fields: Fields = [("If-None-Match", " * ")].into_iter().collect();
        assert_eq!(tags(&fields, "if-none-match").collect::<Vec<_>>(), [ListedTag::Any]);
        assert!(ListedTag::Any.matches_weakly(None));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value in "[\t -~\u{80}-\u{ff}]*") {
            let fields: Fields = [("If-None-Match", &value)].into_iter().collect();
            let _ = tags(&fields, "If-None-Match").count();
            let _ = EntityTag::parse(value.as_bytes());
        }
    }
}
