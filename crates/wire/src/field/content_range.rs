//! Parses and writes Content-Range (RFC 9110 section 14.4) with the unit `bytes`.

use super::range::number;
use crate::Fields;
use std::fmt;

/// The part of a representation that a response carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRange {
    /// `bytes first-last/complete`: both positions are included; `complete` is `None` if it was sent as `*`.
    Part {
        /// The first byte's position.
        first: u64,
        /// The last byte's position.
        last: u64,
        /// The length of the whole representation in bytes.
        complete: Option<u64>,
    },
    /// `bytes */complete`, which a 416 carries.
    Unsatisfied {
        /// The length of the whole representation in bytes.
        complete: u64,
    },
}

/// Parses the field; `None` if it is missing, repeated, of another unit or invalid.
pub fn parse(fields: &Fields) -> Option<ContentRange> {
    let value = std::str::from_utf8(fields.only("content-range")?).ok()?;
    let (unit, rest) = value.split_once(' ')?;
    let (range, complete) = rest.split_once('/')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let complete = if complete == "*" { None } else { Some(number(complete.as_bytes())?) };
    if range == "*" {
        return complete.map(|complete| ContentRange::Unsatisfied { complete });
    }
    let (first, last) = range.split_once('-')?;
    let (first, last) = (number(first.as_bytes())?, number(last.as_bytes())?);
    //= RFC 9110 section 14.4
    //# A Content-Range field value is invalid if it contains a range-resp that has a last-pos value less than its
    //# first-pos value, or a complete-length value less than or equal to its last-pos value.
    let is_valid = first <= last && last < u64::MAX && complete.is_none_or(|complete| last < complete);
    is_valid.then_some(ContentRange::Part { first, last, complete })
}

/// The value as it is sent: `bytes 0-4/10`, `bytes 0-4/*`, `bytes */10`.
impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { first, last, complete: Some(complete) } => write!(f, "bytes {first}-{last}/{complete}"),
            Self::Part { first, last, complete: None } => write!(f, "bytes {first}-{last}/*"),
            Self::Unsatisfied { complete } => write!(f, "bytes */{complete}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content_range(value: &str) -> Option<ContentRange> {
        parse(&[("Content-Range", value)].into_iter().collect())
    }

    #[test]
    fn what_is_formatted_is_read_again() {
        for written in [
            ContentRange::Part { first: 0, last: 4, complete: Some(10) },
            ContentRange::Part { first: 0, last: 4, complete: None },
            ContentRange::Unsatisfied { complete: 10 },
        ] {
            assert_eq!(content_range(&written.to_string()), Some(written));
        }
    }

    #[test]
    fn the_forms_of_the_rfc() {
        let part = |first, last, complete| Some(ContentRange::Part { first, last, complete });
        assert_eq!(content_range("bytes 42-1233/1234"), part(42, 1233, Some(1234)));
        assert_eq!(content_range("bytes 42-1233/*"), part(42, 1233, None));
        assert_eq!(content_range("bytes */1234"), Some(ContentRange::Unsatisfied { complete: 1234 }));
    }

    #[test]
    fn what_contradicts_itself_is_invalid() {
        //= RFC 9110 section 14.4
        //# A Content-Range field value is invalid if it contains a range-resp that has a last-pos value less than its
        //# first-pos value, or a complete-length value less than or equal to its last-pos value.
        for value in
            ["bytes 2-1/9", "bytes 0-9/9", "bytes */*", "bytes 0-1", "items 0-1/2", "bytes -1/2", "bytes=0-1/2"]
        {
            assert_eq!(content_range(value), None, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value in "(bytes )?[\t -~\u{80}-\u{ff}]*") {
            let _ = content_range(&value);
        }
    }
}
