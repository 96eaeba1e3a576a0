//! Handles parts of a representation (RFC 9111 sections 3.3 and 3.4, RFC 9110 section 15.3.7): which bytes a 206 carries, which
//! parts may be combined, and which bytes are missing.

use crate::range::is_strong_date;
use crate::{ByteRange, Reason};
use http::StatusCode;
use kasoku_wire::ResponseHead;
use kasoku_wire::field::content_range::{self, ContentRange};
use kasoku_wire::field::etag::EntityTag;
use kasoku_wire::field::list;

/// The part that a 206 carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialContent {
    /// The bytes of the complete representation that it carries.
    pub range: ByteRange,
    /// The length of the complete representation in bytes, where the origin states it.
    pub complete_length: Option<u64>,
}

/// The part that `response` carries. `body_length` is the number of bytes in its body; `None`: not known yet. `Err`: it is no 206
/// with a single Content-Range, or the range disagrees with `body_length` or with Content-Length.
pub fn part(response: &ResponseHead, body_length: Option<u64>) -> Result<PartialContent, Reason> {
    if response.status != StatusCode::PARTIAL_CONTENT {
        return Err(Reason::ContentRangeInvalid);
    }
    let media_type = response.fields.first("content-type").and_then(|value| list::parameters(value).next());
    if media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case(b"multipart/byteranges")) {
        return Err(Reason::MultipartRange);
    }
    let Some(ContentRange::Part { first, last, complete }) = content_range::parse(&response.fields) else {
        return Err(Reason::ContentRangeInvalid);
    };
    let range = ByteRange { first, last };
    let is_wrong = |length: Option<u64>| length.is_some_and(|length| length != range.length());
    // If the lengths disagree, the cache would put bytes in the wrong place.
    if is_wrong(body_length) || is_wrong(content_length(response)) {
        return Err(Reason::ContentRangeLength);
    }
    Ok(PartialContent { range, complete_length: complete })
}

/// Whether the part of `new` may be combined with the stored one: both have the same strong validator, and the same complete
/// length, which must be known.
//= RFC 9110 section 15.3.7.3
//# A client that has received multiple partial responses to GET requests on a target resource MAY combine those
//# responses into a larger continuous range if they share the same strong validator.
pub fn combinable(
    stored: &ResponseHead,
    stored_length: Option<u64>,
    new: &ResponseHead,
    new_length: Option<u64>,
) -> bool {
    stored_length.is_some() && stored_length == new_length && same_strong_validator(stored, new)
}

/// Whether both heads describe the same bytes: they have the same strong entity tag, or neither has a tag and both have the same
/// strong Last-Modified.
fn same_strong_validator(stored: &ResponseHead, new: &ResponseHead) -> bool {
    match (EntityTag::of(&stored.fields), EntityTag::of(&new.fields)) {
        (Some(one), Some(two)) => one.strong_eq(&two),
        (None, None) => {
            let modified = stored.fields.only("last-modified");
            let is_same = modified.is_some() && modified == new.fields.only("last-modified");
            is_same && is_strong_date(stored) && is_strong_date(new)
        }
        _ => false,
    }
}

fn content_length(response: &ResponseHead) -> Option<u64> {
    std::str::from_utf8(response.fields.only("content-length")?).ok()?.parse().ok()
}

//= RFC 9111 section 3.3
//# A cache MUST NOT use an incomplete response to answer requests unless the response has been made complete, or the
//# request is partial and specifies a range wholly within the incomplete response.
/// The smallest range that covers every byte of `want` that `have` (sorted, disjoint) lacks; `None`: nothing is missing.
pub fn missing(have: &[ByteRange], want: ByteRange) -> Option<ByteRange> {
    let mut first = want.first;
    for range in have {
        if range.first <= first && first <= range.last {
            first = range.last.checked_add(1)?;
        }
    }
    if first > want.last {
        return None;
    }
    let mut last = want.last;
    for range in have.iter().rev() {
        if range.first <= last && last <= range.last && range.first > first {
            last = range.first - 1;
        }
    }
    Some(ByteRange { first, last })
}

/// The value of a Range field that asks for `range`. It has no last position where `range` reaches the end of the representation,
/// so that the answer shows whether the representation has grown.
pub fn range_value(range: ByteRange, complete_length: Option<u64>) -> String {
    if complete_length.is_some_and(|length| range.last.checked_add(1) == Some(length)) {
        format!("bytes={}-", range.first)
    } else {
        format!("bytes={}-{}", range.first, range.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, at, ok, safe, status};
    use crate::validation::combined_head;

    fn partial(content_range: &str) -> ResponseHead {
        status(206).with("Content-Range", content_range).with("ETag", "\"a\"")
    }

    fn bytes(first: u64, last: u64) -> ByteRange {
        ByteRange { first, last }
    }

    #[test]
    fn a_part_says_where_it_belongs() {
        let part_of = |value| part(&partial(value), None).unwrap();
        assert_eq!(part_of("bytes 4-9/10"), PartialContent { range: bytes(4, 9), complete_length: Some(10) });
        assert_eq!(part_of("bytes 4-9/*"), PartialContent { range: bytes(4, 9), complete_length: None });
    }

    #[test]
    fn a_part_of_another_length_than_it_says_is_refused() {
        let response = partial("bytes 4-9/10");
        assert_eq!(part(&response, Some(5)), Err(Reason::ContentRangeLength));
        assert!(part(&response, Some(6)).is_ok());
        assert_eq!(part(&response.with("Content-Length", "5"), None), Err(Reason::ContentRangeLength));
    }

    #[test]
    fn what_is_not_one_part_is_refused() {
        let multi = partial("bytes 0-1/2").with("Content-Type", "Multipart/Byteranges; boundary=x");
        assert_eq!(part(&multi, None), Err(Reason::MultipartRange));
        for value in ["", "bytes */10", "items 0-1/2", "bytes 1-0/2"] {
            assert_eq!(part(&partial(value), None), Err(Reason::ContentRangeInvalid), "{value}");
        }
        assert_eq!(part(&ok(), None), Err(Reason::ContentRangeInvalid));
    }

    #[test]
    fn parts_share_a_strong_validator_and_a_length() {
        //= RFC 9110 section 15.3.7.3
        //# A client that has received multiple partial responses to GET requests on a target resource MAY combine those
        //# responses into a larger continuous range if they share the same strong validator.
        let one = partial("bytes 0-4/10");
        let same = |stored: &ResponseHead, new: &ResponseHead| combinable(stored, Some(10), new, Some(10));
        assert!(same(&one, &partial("bytes 5-9/10")));
        assert!(same(&ok().with("ETag", "\"a\""), &one));
        assert!(!combinable(&one, Some(10), &partial("bytes 5-9/11"), Some(11)));
        assert!(!combinable(&one, Some(10), &partial("bytes 5-9/*"), None));
        assert!(!combinable(&one, None, &one, None));
        let other = |tag| status(206).with("Content-Range", "bytes 5-9/10").with("ETag", tag);
        assert!(!same(&one, &other("\"b\"")));
        assert!(!same(&other("W/\"a\""), &other("W/\"a\"")));
        let bare = status(206).with("Content-Range", "bytes 5-9/10");
        assert!(!same(&bare, &bare));
        let dated = bare.with("Last-Modified", at(-10));
        assert!(same(&dated, &dated));
        assert!(!same(&dated, &one));
    }

    #[test]
    fn combining_takes_the_newer_fields() {
        //= RFC 9111 section 3.4
        //# When combining the new response with one or more stored responses, a cache MUST update the stored response header
        //# fields using the header fields provided in the new response, as per Section 3.2.
        let stored = partial("bytes 0-4/10").with("A", "1");
        let head = combined_head(&stored, &partial("bytes 5-9/10").with("A", "2"), NOW, &safe());
        assert_eq!(head.fields.only("a"), Some(&b"2"[..]));
        assert_eq!(head.fields.only("content-range"), Some(&b"bytes 0-4/10"[..]));
    }

    #[test]
    fn what_is_missing_is_one_range() {
        //= RFC 9111 section 3.3
        //# A cache MUST NOT use an incomplete response to answer requests unless the response has been made complete, or the
        //# request is partial and specifies a range wholly within the incomplete response.
        let have = [bytes(0, 4), bytes(8, 9)];
        assert_eq!(missing(&have, bytes(0, 4)), None);
        assert_eq!(missing(&have, bytes(1, 9)), Some(bytes(5, 7)));
        assert_eq!(missing(&have, bytes(3, 12)), Some(bytes(5, 12)));
        assert_eq!(missing(&have, bytes(6, 6)), Some(bytes(6, 6)));
        assert_eq!(missing(&[], bytes(0, 9)), Some(bytes(0, 9)));
        assert_eq!(missing(&[bytes(0, 4), bytes(5, 9)], bytes(0, 9)), None);
        assert_eq!(missing(&[bytes(0, u64::MAX)], bytes(0, u64::MAX)), None);
    }

    #[test]
    fn a_range_to_the_end_is_asked_for_openly() {
        assert_eq!(range_value(bytes(5, 9), Some(10)), "bytes=5-");
        assert_eq!(range_value(bytes(5, 8), Some(10)), "bytes=5-8");
        assert_eq!(range_value(bytes(5, 9), None), "bytes=5-9");
    }
}
