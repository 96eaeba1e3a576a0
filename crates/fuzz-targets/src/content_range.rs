//! Fuzz target for Content-Range and the part that a 206 carries. Input: the length of the body, then Content-Range, Content-Length
//! and Content-Type, each on its own line; the last two may be left out.

use crate::input::{field, number_and_lines};
use http::StatusCode;
use kasoku_semantics::{combinable, part};
use kasoku_wire::ResponseHead;
use kasoku_wire::field::content_range::{ContentRange, parse};

pub(crate) fn run(data: &[u8]) {
    let (length, lines) = number_and_lines(data);
    let mut response = ResponseHead::new(StatusCode::PARTIAL_CONTENT).with("ETag", "\"a\"");
    for (name, line) in ["Content-Range", "Content-Length", "Content-Type"].into_iter().zip(&lines) {
        response.fields.push(name, line);
    }
    let range = parse(&response.fields);
    match range {
        Some(ContentRange::Part { first, last, complete }) => {
            assert!(first <= last && last < u64::MAX && complete.is_none_or(|complete| last < complete));
        }
        Some(ContentRange::Unsatisfied { .. }) | None => {
            assert!(part(&response, Some(length)).is_err() && part(&response, None).is_err());
        }
    }
    if let Some(range) = range {
        assert_eq!(parse(&field("content-range", [range.to_string()])), Some(range));
    }
    let Ok(carried) = part(&response, Some(length)) else { return };
    assert_eq!(carried.range.length(), length, "the body has another length than the range");
    assert_eq!(part(&response, None), Ok(carried));
    assert!(part(&response, Some(length.wrapping_add(1))).is_err());
    assert!(carried.complete_length.is_none_or(|complete| carried.range.last < complete));
    let whole = carried.complete_length;
    assert_eq!(combinable(&response, whole, &response, whole), whole.is_some());
    assert!(!combinable(&response, whole, &response, Some(u64::MAX)) || whole == Some(u64::MAX));
}
