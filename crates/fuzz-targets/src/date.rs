//! Fuzz target for dates in all three formats. Input: one date, as the value of a field.

use crate::input::lines;
use kasoku_wire::field::date::{format, parse, written};

/// Clocks in 2026, 2060 and 2099: a two-digit year may mean a different century at each of them. With a clock before 2020, the most
/// recent such year in the past may lie before 1970, where times begin.
const NOWS: [i64; 3] = [1_795_000_000, 2_840_140_800, 4_102_444_799];
/// The last second of the year 9999.
const TIME_MAX: i64 = 253_402_300_799;
const YEARS_50: i64 = 50 * 31_556_952;
const DAY: i64 = 86_400;

pub(crate) fn run(data: &[u8]) {
    let Some(value) = lines(data).into_iter().next() else { return };
    for now in NOWS {
        let time = parse(&value, now);
        assert_eq!(parse(&value, now), time);
        assert_eq!(parse(&value.to_ascii_lowercase(), now), time, "case matters");
        assert_eq!(parse(&value.to_ascii_uppercase(), now), time, "case matters");
        let Some(time) = time else { continue };
        assert!((0..=TIME_MAX).contains(&time), "{time} is beyond what can be written");
        assert!(
            value.iter().all(|byte| byte.is_ascii_alphanumeric() || b" \t,:-".contains(byte)),
            "no date has that byte"
        );
        let text = format(time);
        assert_eq!(written(time).to_string(), text);
        assert_eq!(parse(text.as_bytes(), now), Some(time), "{text}");
        // A weekday that is spelled out comes with a two-digit year.
        let day = value.iter().take_while(|byte| **byte != b',').count();
        if value.get(day) == Some(&b',') && day > 3 {
            assert!(time <= now + YEARS_50, "{text} is more than 50 years ahead");
            // Only 29 February may be missing in the nearest year with these two digits.
            assert!(time + YEARS_50 + DAY >= now || text.contains("29 Feb"), "{text} is more than 50 years ago");
        }
    }
}
