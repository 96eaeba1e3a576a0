//! Parses and writes HTTP dates (RFC 9110 section 5.6.7): the preferred format and the two obsolete ones.
//!
//! Times are `i64` seconds since the Unix epoch. The crate httpdate parses the text. It cannot know the century of RFC 850's
//! two-digit year, so this file derives the century from the caller's clock.

use std::fmt::Display;
use std::time::{Duration, UNIX_EPOCH};

/// The size of the buffers in which a date is rewritten, in bytes: a longer text is no date.
const DATE_BYTES_MAX: usize = 64;

/// The days of the week as RFC 850's format spells them, then as the two other formats do.
const WEEKDAYS: [[&str; 7]; 2] = [
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
];

/// Parses `value`; `None` if it is no HTTP date. `now` (Unix seconds) decides the century of two-digit years.
pub fn parse(value: &[u8], now: i64) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    // "Although all date formats are specified to be case-sensitive, a cache recipient SHOULD match the field value
    // case-insensitively." (RFC 9111 section 4.2). Nearly all dates come in the right case, so the text is first tried as sent.
    parse_text(text, now).or_else(|| parse_text(in_usual_case(text, &mut [0; DATE_BYTES_MAX])?, now))
}

//= RFC 9111 section 4.2
//# A cache recipient MUST NOT allow local time zones to influence the calculation or comparison of an age or expiration
//# time.
// All three formats are UTC, and any other zone makes the date invalid.
fn parse_text(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    let seconds = unix_seconds(text).or_else(|| parse_with_any_weekday(text))?;
    if is_rfc850(text) { century(text, seconds, now) } else { Some(seconds) }
}

fn unix_seconds(text: &str) -> Option<i64> {
    let time = httpdate::parse_http_date(text).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Parses a date with a wrong weekday, which httpdate refuses. Day, month and year identify the date, so a weekday that the origin
/// computed wrongly does not matter.
fn parse_with_any_weekday(text: &str) -> Option<i64> {
    let mut buffer = [0; DATE_BYTES_MAX];
    WEEKDAYS.iter().find_map(|names| {
        let rest = names.iter().find_map(|name| text.strip_prefix(name))?;
        names.iter().find_map(|name| unix_seconds(joined(name, rest, &mut buffer)?))
    })
}

/// Joins `start` and `rest` in `buffer`, which is on the stack; `None` if the result is too long to be a date.
fn joined<'b>(start: &str, rest: &str, buffer: &'b mut [u8; DATE_BYTES_MAX]) -> Option<&'b str> {
    let text = buffer.get_mut(..start.len() + rest.len())?;
    let (head, tail) = text.split_at_mut(start.len());
    head.copy_from_slice(start.as_bytes());
    tail.copy_from_slice(rest.as_bytes());
    std::str::from_utf8(text).ok()
}

/// `text` with its words capitalised, and `GMT` in capitals; `None` if it is too long to be a date.
///
/// `buffer` is on the stack because texts that are no dates are frequent here: each If-Range with an entity tag is one.
fn in_usual_case<'b>(text: &str, buffer: &'b mut [u8; DATE_BYTES_MAX]) -> Option<&'b str> {
    let copy = buffer.get_mut(..text.len())?;
    copy.copy_from_slice(text.as_bytes());
    for word in copy.split_mut(|byte| !byte.is_ascii_alphabetic()) {
        match word {
            [b'G' | b'g', b'M' | b'm', b'T' | b't'] => word.make_ascii_uppercase(),
            [first, rest @ ..] => {
                first.make_ascii_uppercase();
                rest.make_ascii_lowercase();
            }
            [] => {}
        }
    }
    std::str::from_utf8(copy).ok()
}

/// `seconds` (Unix time; clamped to the years 1970 to 9999) in the preferred format: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn format(seconds: i64) -> String {
    written(seconds).to_string()
}

/// The same as [`format()`], as a value that can be written without allocating a string.
pub fn written(seconds: i64) -> impl Display {
    const YEAR_9999_ENDS: u64 = 253_402_300_799;
    let seconds = u64::try_from(seconds).unwrap_or(0).min(YEAR_9999_ENDS);
    httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Whether `text` is in RFC 850's format, the only one that spells out the day's name: `Sunday, 06-Nov-94 08:49:37 GMT`.
fn is_rfc850(text: &str) -> bool {
    text.split_once(',').is_some_and(|(day, rest)| day.len() > 3 && rest.trim_start().as_bytes().get(2) == Some(&b'-'))
}

/// `seconds`, moved to the latest year with the same last two digits that is at most 50 years ahead of `now`.
//= RFC 9110 section 5.6.7
//# Recipients of a timestamp value in rfc850-date format, which uses a two-digit year, MUST interpret a timestamp that
//# appears to be more than 50 years in the future as representing the most recent year in the past that had the same
//# last two digits.
fn century(text: &str, seconds: i64, now: i64) -> Option<i64> {
    const YEAR: i64 = 31_556_952;
    let (_, rest) = text.split_once(',')?;
    let mut parts = rest.trim().splitn(3, '-');
    let (day, month, rest) = (parts.next()?, parts.next()?, parts.next()?);
    // httpdate accepts any byte in the place of the space before the hour; this parser accepts only the space.
    let (year, rest) = rest.split_once(' ')?;
    let year = year.parse::<i64>().ok()?;
    let in_century = |century: i64| {
        // The date is parsed again in the preferred format, so that leap years come out right.
        let year = century * 100 + year;
        // A weekday that is right in one century may be wrong in another.
        parse_with_any_weekday(&format!("Mon, {day} {month} {year} {rest}"))
    };
    let centuries = [21, 20, 19];
    Some(centuries.into_iter().filter_map(in_century).find(|time| *time <= now + 50 * YEAR).unwrap_or(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_000_000; // November 2026

    #[test]
    fn three_formats_name_the_same_moment() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse(text.as_bytes(), NOW), Some(784_111_777), "{text}");
        }
        assert_eq!(format(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn a_two_digit_year_far_ahead_is_in_the_past() {
        //= RFC 9110 section 5.6.7
        //# Recipients of a timestamp value in rfc850-date format, which uses a two-digit year, MUST interpret a timestamp that
        //# appears to be more than 50 years in the future as representing the most recent year in the past that had the same
        //# last two digits.
        let year = |text: &[u8]| parse(text, NOW).map(|time| 1970 + time / 31_556_952);
        assert_eq!(year(b"Thursday, 18-Aug-50 02:01:18 GMT"), Some(2050));
        assert_eq!(year(b"Tuesday, 18-Aug-70 02:01:18 GMT"), Some(2070));
        assert_eq!(year(b"Monday, 18-Aug-80 02:01:18 GMT"), Some(1980));
    }

    #[test]
    fn case_does_not_matter() {
        for text in ["SUN, 06 Nov 1994 08:49:37 GMT", "Sun, 06 NOV 1994 08:49:37 gMT", "sunday, 06-nov-94 08:49:37 gmt"]
        {
            assert_eq!(parse(text.as_bytes(), NOW), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn a_weekday_that_does_not_fit_is_no_reason_to_refuse_a_date() {
        for text in ["Thu, 06 Nov 1994 08:49:37 GMT", "Wednesday, 06-Nov-94 08:49:37 GMT", "fri nov  6 08:49:37 1994"] {
            assert_eq!(parse(text.as_bytes(), NOW), Some(784_111_777), "{text}");
        }
        // 8 August 2050 is a Monday, 18 August 2070 as well.
        assert_eq!(parse(b"Thu Aug  8 02:01:18 2050", NOW), Some(2_543_536_878));
        assert_eq!(parse(b"Thursday, 18-Aug-70 02:01:18 GMT", NOW), parse(b"Mon, 18 Aug 2070 02:01:18 GMT", NOW));
        for text in ["Thu, 31 Nov 1994 08:49:37 GMT", "Day, 06 Nov 1994 08:49:37 GMT", "Thursday Nov  6 08:49:37 1994"]
        {
            assert_eq!(parse(text.as_bytes(), NOW), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        //= RFC 9111 section 4.2
        //# A cache recipient MUST NOT allow local time zones to influence the calculation or comparison of an age or expiration
        //# time.
        for text in ["", "0", "-1", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST", "1 January"] {
            assert_eq!(parse(text.as_bytes(), NOW), None, "{text}");
        }
    }

    #[test]
    fn what_stands_for_the_space_before_the_hour_makes_no_date() {
        for text in
            ["Sunday, 06-Nov-94`08:49:37 GMT", "Sunday, 06-Nov-94T08:49:37 GMT", "Sunday, 06-Nov-94-08:49:37 GMT"]
        {
            assert_eq!(parse(text.as_bytes(), NOW), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(value: Vec<u8>, now in -1_000_000_000_000_i64..1_000_000_000_000) {
            let _ = parse(&value, now);
        }

        #[test]
        fn what_is_written_is_read(seconds in 0_i64..253_402_300_799) {
            proptest::prop_assert_eq!(parse(format(seconds).as_bytes(), NOW), Some(seconds));
        }
    }
}
