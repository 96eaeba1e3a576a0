//! Parses Range (RFC 9110 section 14.2) with the unit `bytes`. A field with another unit or an invalid value is ignored, so the
//! cache answers with the whole representation.

use super::list;
use crate::Fields;
use smallvec::SmallVec;

/// The most ranges in one request. A client that asks for more gets the whole representation.
pub const RANGES_MAX: usize = 64;

/// One range as requested, not yet resolved against the representation's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSpec {
    /// `first-last`, both included.
    FromTo(u64, u64),
    /// `first-`: to the end.
    From(u64),
    /// `-length`: the last `length` bytes.
    Suffix(u64),
}

/// Parses the Range field into at least one and at most [`RANGES_MAX`] ranges. `None` if the field is missing, repeated, invalid,
/// of another unit, or has too many ranges.
pub fn parse(fields: &Fields) -> Option<SmallVec<[RangeSpec; 2]>> {
    let value = fields.only("range")?;
    let at = value.iter().position(|b| *b == b'=')?;
    let (unit, set) = (value.get(..at)?, value.get(at + 1..)?);
    //= RFC 9110 section 14.2
    //# A server that supports range requests MAY ignore or reject a Range header field that contains an invalid
    //# ranges-specifier
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let specs: Option<SmallVec<[RangeSpec; 2]>> = list::split(set).take(RANGES_MAX + 1).map(spec).collect();
    specs.filter(|specs| (1..=RANGES_MAX).contains(&specs.len()))
}

fn spec(member: &[u8]) -> Option<RangeSpec> {
    let at = member.iter().position(|b| *b == b'-')?;
    let (first, last) = (member.get(..at)?, member.get(at + 1..)?);
    match (first, last) {
        (b"", length) => Some(RangeSpec::Suffix(number(length)?)),
        (first, b"") => Some(RangeSpec::From(number(first)?)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            //= RFC 9110 section 14.1.1
            //# An int-range is invalid if the last-pos value is present and less than the first-pos.
            (first <= last).then_some(RangeSpec::FromTo(first, last))
        }
    }
}

/// Parses digits. A number that does not fit 64 bits becomes `u64::MAX`: both lie beyond the end of any representation.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(value: &str) -> Option<Vec<RangeSpec>> {
        parse(&[("Range", value)].into_iter().collect()).map(SmallVec::into_vec)
    }

    #[test]
    fn three_forms() {
        let expected = vec![RangeSpec::FromTo(0, 1), RangeSpec::From(5), RangeSpec::Suffix(3)];
        assert_eq!(ranges("bytes=0-1, 5-,-3"), Some(expected));
        assert_eq!(ranges("Bytes=0-0"), Some(vec![RangeSpec::FromTo(0, 0)]));
    }

    #[test]
    fn what_is_invalid_is_no_range() {
        //= RFC 9110 section 14.1.1
        //# An int-range is invalid if the last-pos value is present and less than the first-pos.
        //= RFC 9110 section 14.2
        //# A server that supports range requests MAY ignore or reject a Range header field that contains an invalid
        //# ranges-specifier
        for value in ["", "bytes", "bytes=", "bytes=1-0", "bytes=a-b", "bytes=1", "items=0-1", "bytes=-", "bytes=0-1-2"]
        {
            assert_eq!(ranges(value), None, "{value}");
        }
        assert_eq!(parse(&[("Range", "bytes=0-1"), ("Range", "bytes=2-3")].into_iter().collect()), None);
    }

    #[test]
    fn their_number_is_bounded() {
        let value = |count: usize| format!("bytes={}", vec!["0-1"; count].join(","));
        assert_eq!(ranges(&value(RANGES_MAX)).map(|specs| specs.len()), Some(RANGES_MAX));
        assert_eq!(ranges(&value(RANGES_MAX + 1)), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value in "(bytes=)?[\t -~\u{80}-\u{ff}]*") {
            let _ = ranges(&value);
        }
    }
}
