//! Selects the parts of a stored representation that a request wants (RFC 9110 sections 13.1.5 and 14.2).

use http::{Method, StatusCode};
use kasoku_wire::field::date;
use kasoku_wire::field::etag::EntityTag;
use kasoku_wire::field::range::{RangeSpec, parse};
use kasoku_wire::{RequestHead, ResponseHead};
use smallvec::SmallVec;

/// A range of bytes; both ends are included, `first <= last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte's position.
    pub first: u64,
    /// The last byte's position.
    pub last: u64,
}

impl ByteRange {
    /// The number of bytes: at least 1.
    pub fn length(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    fn touches(self, other: ByteRange) -> bool {
        self.first <= other.last.saturating_add(1) && other.first <= self.last.saturating_add(1)
    }
}

/// Byte ranges; a single one, which is the usual case, needs no heap memory.
pub type ByteRanges = SmallVec<[ByteRange; 1]>;

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeOutcome {
    /// The whole, with 200.
    Full,
    /// These ranges, with 206: one or more, in the order of the request, none overlapping or adjacent to another.
    Ranges(ByteRanges),
    /// Nothing, with 416.
    Unsatisfiable,
}

/// The ranges that `request` wants of `stored`, whose complete representation has `complete_length` bytes.
pub fn range(request: &RequestHead, stored: &ResponseHead, complete_length: u64) -> RangeOutcome {
    //= RFC 9110 section 14.2
    //# A server MUST ignore a Range header field received with a request method that is unrecognized or for which range
    //# handling is not defined. For this specification, GET is the only method for which range handling is defined.
    let is_ranged = request.method == Method::GET
        && matches!(stored.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT)
        && if_range_holds(request, stored);
    let Some(specs) = is_ranged.then(|| parse(&request.fields)).flatten() else { return RangeOutcome::Full };
    // Content-Range can't express the whole of an empty representation. Whoever goes on with a download gets what there is, as from nginx,
    // Apache and Varnish (RFC 9110 section 14.2: a server may ignore Range).
    if complete_length == 0 {
        return RangeOutcome::Full;
    }
    let mut ranges = ByteRanges::new();
    for spec in specs {
        if let Some(range) = resolve(spec, complete_length) {
            add(&mut ranges, range);
        }
    }
    if ranges.is_empty() { RangeOutcome::Unsatisfiable } else { RangeOutcome::Ranges(ranges) }
}

/// Whether If-Range, if there is one, names the stored representation: only then may it be sent in part.
pub fn if_range_holds(request: &RequestHead, stored: &ResponseHead) -> bool {
    if !request.fields.contains("if-range") {
        return true;
    }
    let Some(value) = request.fields.only("if-range") else { return false };
    //= RFC 9110 section 13.1.5
    //# A recipient of an If-Range header field MUST ignore the Range header field if the If-Range condition evaluates to
    //# false.
    if date::parse(value, 0).is_some() {
        return is_strong_date(stored) && stored.fields.only("last-modified") == Some(value);
    }
    match (EntityTag::parse(value), EntityTag::of(&stored.fields)) {
        (Some(asked), Some(stored)) => asked.strong_eq(&stored),
        _ => false,
    }
}

/// Whether the stored Last-Modified is a strong validator (RFC 9110 section 8.8.2.2): at least a second before Date.
pub(crate) fn is_strong_date(stored: &ResponseHead) -> bool {
    let time = |name| stored.fields.only(name).and_then(|value| date::parse(value, 0));
    matches!((time("last-modified"), time("date")), (Some(modified), Some(date)) if modified < date)
}

fn resolve(spec: RangeSpec, complete_length: u64) -> Option<ByteRange> {
    let end = complete_length.checked_sub(1)?;
    let (first, last) = match spec {
        RangeSpec::FromTo(first, last) => (first, last.min(end)),
        RangeSpec::From(first) => (first, end),
        RangeSpec::Suffix(0) => return None,
        RangeSpec::Suffix(length) => (complete_length.saturating_sub(length), end),
    };
    (first <= end).then_some(ByteRange { first, last })
}

/// Adds `range`, merged with all ranges that it touches, at the position of the first of them.
fn add(ranges: &mut ByteRanges, mut range: ByteRange) {
    let mut place = ranges.len();
    // A merged range may touch further ranges. Each turn removes one, so the loop ends.
    while let Some(at) = ranges.iter().position(|one| one.touches(range)) {
        let one = ranges.remove(at);
        range = ByteRange { first: range.first.min(one.first), last: range.last.max(one.last) };
        place = place.min(at);
    }
    ranges.insert(place.min(ranges.len()), range);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, get, ok, status};

    fn ranges(value: &str, length: u64) -> RangeOutcome {
        range(&get().with("Range", value), &ok(), length)
    }

    fn these(ranges: &[(u64, u64)]) -> RangeOutcome {
        RangeOutcome::Ranges(ranges.iter().map(|(first, last)| ByteRange { first: *first, last: *last }).collect())
    }

    #[test]
    fn the_three_forms() {
        assert_eq!(ranges("bytes=0-1", 11), these(&[(0, 1)]));
        assert_eq!(ranges("bytes=1-", 11), these(&[(1, 10)]));
        assert_eq!(ranges("bytes=-1", 11), these(&[(10, 10)]));
        assert_eq!(ranges("bytes=5-99, -99", 10), these(&[(0, 9)]));
    }

    #[test]
    fn beyond_the_end_is_unsatisfiable() {
        assert_eq!(ranges("bytes=10-", 10), RangeOutcome::Unsatisfiable);
        assert_eq!(ranges("bytes=-0", 10), RangeOutcome::Unsatisfiable);
        assert_eq!(ranges("bytes=10-, 0-0", 10), these(&[(0, 0)]));
    }

    #[test]
    fn an_empty_representation_is_sent_as_it_is() {
        for value in ["bytes=0-", "bytes=0-0", "bytes=5-9", "bytes=-5", "bytes=-0", "bytes=0-1, 3-4"] {
            assert_eq!(ranges(value, 0), RangeOutcome::Full, "{value}");
        }
    }

    #[test]
    fn overlapping_and_adjacent_ranges_become_one() {
        assert_eq!(ranges("bytes=8-9, 0-1, 2-3", 20), these(&[(8, 9), (0, 3)]));
        assert_eq!(ranges("bytes=0-1, 4-5, 9-9, 1-4", 20), these(&[(0, 5), (9, 9)]));
        assert_eq!(ranges("bytes=0-,0-,0-,0-", 20), these(&[(0, 19)]));
    }

    #[test]
    fn without_a_valid_range_the_whole_is_sent() {
        for value in ["items=0-1", "bytes=2-1", "bytes=x"] {
            assert_eq!(ranges(value, 10), RangeOutcome::Full, "{value}");
        }
        assert_eq!(range(&get(), &ok(), 10), RangeOutcome::Full);
        assert_eq!(range(&get().with("Range", "bytes=0-1"), &status(404), 10), RangeOutcome::Full);
    }

    #[test]
    fn only_get_has_ranges() {
        //= RFC 9110 section 14.2
        //# A server MUST ignore a Range header field received with a request method that is unrecognized or for which range
        //# handling is not defined. For this specification, GET is the only method for which range handling is defined.
        let request = RequestHead { method: Method::HEAD, ..get().with("Range", "bytes=0-1") };
        assert_eq!(range(&request, &ok(), 10), RangeOutcome::Full);
    }

    #[test]
    fn if_range_of_another_representation_gets_the_whole() {
        //= RFC 9110 section 13.1.5
        //# A recipient of an If-Range header field MUST ignore the Range header field if the If-Range condition evaluates to
        //# false.
        let modified = at(-100);
        let stored = ok().with("ETag", "\"a\"").with("Last-Modified", &modified);
        let asked = |if_range: &str| range(&get().with("Range", "bytes=0-1").with("If-Range", if_range), &stored, 10);
        assert_eq!(asked("\"a\""), these(&[(0, 1)]));
        assert_eq!(asked(&modified), these(&[(0, 1)]));
        for other in ["\"b\"", "W/\"a\"", &at(-99), ""] {
            assert_eq!(asked(other), RangeOutcome::Full, "{other}");
        }
    }

    #[test]
    fn a_date_that_is_no_strong_validator_gets_the_whole() {
        let modified = at(0);
        let request = get().with("If-Range", &modified);
        assert!(!if_range_holds(&request, &ok().with("Last-Modified", &modified)));
        let weak = get().with("If-Range", "W/\"a\"");
        assert!(!if_range_holds(&weak, &ok().with("ETag", "W/\"a\"")));
    }

    proptest::proptest! {
        #[test]
        fn what_is_sent_lies_inside_and_apart(value in "bytes=([0-9]{0,3}-[0-9]{0,3},){1,9}[0-9]{1,3}-", length in 0_u64..400) {
            if let RangeOutcome::Ranges(ranges) = ranges(&value, length) {
                for (index, one) in ranges.iter().enumerate() {
                    proptest::prop_assert!(one.first <= one.last && one.last < length);
                    proptest::prop_assert!(ranges.iter().skip(index + 1).all(|other| !one.touches(*other)));
                }
            }
        }
    }
}
