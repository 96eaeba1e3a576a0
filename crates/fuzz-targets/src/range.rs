//! Fuzz target for Range: resolved against a length, and the part of it that is fetched. Input: the length, Range, If-Range, ETag,
//! Last-Modified, each on its own line; the last three may be left out.

use crate::input::{field, number_and_lines};
use http::{Method, StatusCode};
use kasoku_semantics::{ByteRange, RangeOutcome, if_range_holds, missing, partial::range_value, range};
use kasoku_wire::field::range::{RANGES_MAX, RangeSpec, parse};
use kasoku_wire::{RequestHead, ResponseHead};

pub(crate) fn run(data: &[u8]) {
    let (length, lines) = number_and_lines(data);
    let mut request = RequestHead::new(Method::GET, "/");
    let mut stored = ResponseHead::new(StatusCode::OK).with("Date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (place, line) in lines.iter().enumerate() {
        match place {
            0 => request.fields.push("Range", line),
            1 => request.fields.push("If-Range", line),
            2 => stored.fields.push("ETag", line),
            3 => stored.fields.push("Last-Modified", line),
            _ => {}
        }
    }
    let Some(specs) = parse(&request.fields) else {
        assert_eq!(range(&request, &stored, length), RangeOutcome::Full);
        return;
    };
    assert!((1..=RANGES_MAX).contains(&specs.len()));
    written_again(&specs);
    for length in [length, 0, 1, 10, u64::MAX] {
        let outcome = range(&request, &stored, length);
        assert_eq!(range(&request, &stored, length), outcome);
        if !if_range_holds(&request, &stored) {
            assert_eq!(outcome, RangeOutcome::Full);
        } else if length > 0 {
            let ranges = match outcome {
                RangeOutcome::Ranges(ranges) => ranges.to_vec(),
                RangeOutcome::Unsatisfiable => Vec::new(),
                RangeOutcome::Full => panic!("a valid Range is ignored"),
            };
            resolved(&specs, &ranges, length);
        }
    }
}

/// The requested ranges, written by Kasoku, are parsed to the same ranges.
fn written_again(specs: &[RangeSpec]) {
    let text = |spec: &RangeSpec| match spec {
        RangeSpec::FromTo(first, last) => format!("{first}-{last}"),
        RangeSpec::From(first) => format!("{first}-"),
        RangeSpec::Suffix(length) => format!("-{length}"),
    };
    let set: Vec<String> = specs.iter().map(text).collect();
    let again = parse(&field("Range", [format!("bytes={}", set.join(","))]));
    assert_eq!(again.as_deref(), Some(specs));
}

/// The resolved ranges lie inside the length, do not touch each other, and hold exactly the requested bytes.
fn resolved(specs: &[RangeSpec], ranges: &[ByteRange], length: u64) {
    for (index, one) in ranges.iter().enumerate() {
        assert!(one.first <= one.last && one.last < length, "{one:?} is outside of {length} bytes");
        assert!(one.length() <= length);
        for other in &ranges[index + 1..] {
            assert!(one.last.saturating_add(1) < other.first || other.last.saturating_add(1) < one.first);
        }
        fetched(*one, ranges, length);
    }
    let end = length - 1;
    let asked = specs.iter().filter_map(|spec| match *spec {
        RangeSpec::FromTo(first, last) => (first <= end).then_some((first, last.min(end))),
        RangeSpec::From(first) => (first <= end).then_some((first, end)),
        RangeSpec::Suffix(bytes) => (bytes > 0).then_some((length - bytes.min(length), end)),
    });
    let asked: Vec<_> = asked.collect();
    for (first, last) in &asked {
        let holders = ranges.iter().filter(|one| one.first <= *first && *last <= one.last);
        assert_eq!(holders.count(), 1, "{first}-{last} is not in one of {ranges:?}");
    }
    // No range holds a byte that was not requested: each end of a range is the end of a requested range.
    for one in ranges {
        assert!(asked.iter().any(|(first, _)| *first == one.first) && asked.iter().any(|(_, last)| *last == one.last));
    }
}

/// The Range that asks for the missing part of a range resolves to that part.
fn fetched(one: ByteRange, ranges: &[ByteRange], length: u64) {
    let mut have = ranges.to_vec();
    have.sort_unstable_by_key(|one| one.first);
    assert_eq!(missing(&have, one), None);
    assert_eq!(missing(&[], one), Some(one));
    let whole = ByteRange { first: 0, last: length - 1 };
    if let Some(gap) = missing(&have, whole) {
        assert!(gap.first <= gap.last && gap.last < length);
        assert!(have.iter().all(|one| one.last < gap.first || one.first > gap.first));
        let request = RequestHead::new(Method::GET, "/").with("Range", range_value(gap, Some(length)));
        let expected = RangeOutcome::Ranges([gap].into_iter().collect());
        assert_eq!(range(&request, &ResponseHead::new(StatusCode::OK), length), expected);
    } else {
        assert_eq!(have, [whole]);
    }
}
