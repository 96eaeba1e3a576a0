//! Parses sizes, durations, statuses and tokens, as people write them: `"64KiB"`, `"1h30m"`, `"4xx"`.
//!
//! Own parsers, because a fault in a configuration deserves a sentence of its own: `64k` is not merely invalid, it is
//! ambiguous, and the report says between what. Units are required for durations and optional for sizes (plain
//! numbers are bytes). Whole numbers only: `1.5GiB` is `1536MiB`.

use crate::issue::{ValueError, quoted};
use std::time::Duration;

const SIZE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

const DURATION_UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

const SIZE_HELP: &str = "a size is a whole number of bytes, or one with a unit: \"64KiB\", \"10MB\", \"1GiB\"";
const DURATION_HELP: &str = "a duration is a whole number with a unit: \"500ms\", \"5s\", \"10m\", \"1h30m\", \"7d\"";

/// `65536`, `64KiB`, `10 MB`: bytes. The case of the unit does not matter.
pub(crate) fn parse_size(text: &str) -> Result<u64, ValueError> {
    let bad = |why: &str, help: &str| ValueError::new(format!("{} is not a size: {why}", quoted(text)), help);
    let (number, unit) = number_and_rest(text.trim());
    let unit = unit.trim();
    if number.is_empty() {
        return Err(bad("it must start with a number", SIZE_HELP));
    }
    if unit.starts_with(['.', ',']) {
        return Err(bad("it must be a whole number", "take the next smaller unit: \"1536MiB\" is one and a half GiB"));
    }
    let named = SIZE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, bytes)| *bytes);
    let factor = match (named, unit) {
        (Some(bytes), _) => bytes,
        (None, "") => 1,
        (None, "k" | "K" | "m" | "M" | "g" | "G" | "t" | "T") => {
            let letter = unit.to_ascii_uppercase();
            let help =
                format!("write \"{number}{letter}iB\" (powers of 1024) or \"{number}{letter}B\" (powers of 1000)");
            return Err(bad(&format!("the unit {} can mean two things", quoted(unit)), &help));
        }
        (None, _) => return Err(bad(&format!("{} is no unit of size", quoted(unit)), SIZE_HELP)),
    };
    let size = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    size.ok_or_else(|| bad("it is too large a number", SIZE_HELP))
}

/// `500ms`, `5s`, `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, ValueError> {
    let bad = |why: &str, help: &str| ValueError::new(format!("{} is not a duration: {why}", quoted(text)), help);
    let mut rest = text.trim();
    let mut total_ms = 0_u64;
    loop {
        let (number, after) = number_and_rest(rest);
        if number.is_empty() {
            return Err(bad("it must be a number with a unit", DURATION_HELP));
        }
        if after.starts_with(['.', ',']) {
            return Err(bad(
                "it must be a whole number",
                "take the next smaller unit: \"1500ms\" is one and a half seconds",
            ));
        }
        let after = after.trim_start();
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(unit_end).unwrap_or((after, ""));
        if unit.is_empty() {
            return Err(bad(
                "it has no unit",
                &format!("write \"{number}s\" for seconds or \"{number}ms\" for milliseconds"),
            ));
        }
        let Some((_, factor)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(bad(&format!("{} is no unit of time", quoted(unit)), DURATION_HELP));
        };
        let part_ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor));
        let sum_ms = part_ms.and_then(|part| total_ms.checked_add(part));
        total_ms = sum_ms.ok_or_else(|| bad("it is too large a number", DURATION_HELP))?;
        rest = next.trim_start();
        if rest.is_empty() {
            return Ok(Duration::from_millis(total_ms));
        }
    }
}

/// The shortest exact way to write a size; [`parse_size`] reads it back.
pub(crate) fn show_size(bytes: u64) -> String {
    let unit =
        SIZE_UNITS.iter().find(|(name, factor)| name.contains('i') && bytes > 0 && bytes.is_multiple_of(*factor));
    unit.map_or_else(|| bytes.to_string(), |(name, factor)| format!("{}{name}", bytes / factor))
}

/// The shortest exact way to write a duration, to the millisecond; [`parse_duration`] reads it back.
pub(crate) fn show_duration(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let unit = DURATION_UNITS.iter().find(|(_, factor)| ms > 0 && ms.is_multiple_of(*factor));
    unit.map_or_else(|| "0s".to_owned(), |(name, factor)| format!("{}{name}", ms / factor))
}

fn number_and_rest(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// `404`, `4xx`, `any`: the first and the last status.
pub(crate) fn statuses_of(text: &str) -> Option<(u16, u16)> {
    let class = |digit: &str| digit.parse::<u16>().ok().filter(|class| (2..=5).contains(class));
    match text.to_ascii_lowercase().as_str() {
        "any" => Some((200, 599)),
        text => match text.strip_suffix("xx") {
            Some(digit) => class(digit).map(|class| (class * 100, class * 100 + 99)),
            None => text.parse().ok().filter(|code| (200..=599).contains(code)).map(|code| (code, code)),
        },
    }
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [("0", 0), ("65536", 65_536), ("64KiB", 65_536), ("10MB", 10_000_000), ("1 gib", 1 << 30)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn durations_as_people_write_them() {
        for (text, ms) in [("500ms", 500), ("5s", 5_000), ("1h", 3_600_000), ("1h30m", 5_400_000), ("1m 1s", 61_000)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_said_in_words() {
        for (text, words) in [
            ("64k", "two things"),
            ("1.5GiB", "whole number"),
            ("-1", "start with a number"),
            ("", "start with a number"),
            ("5 apples", "`apples` is no unit"),
            ("99999999999TiB", "too large"),
            ("99999999999999999999", "too large"),
        ] {
            let fault = parse_size(text).unwrap_err();
            assert!(fault.message.contains(words), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn what_is_no_duration_is_said_in_words() {
        for (text, words) in [
            ("5", "no unit"),
            ("5 sec", "`sec` is no unit"),
            ("1.5s", "whole number"),
            ("", "number with a unit"),
            ("5s!", "`s!` is no unit"),
            ("5s !", "number with a unit"),
            ("99999999999999999999s", "too large"),
        ] {
            let fault = parse_duration(text).unwrap_err();
            assert!(fault.message.contains(words), "{text}: {}", fault.message);
        }
    }

    proptest! {
        #[test]
        fn a_shown_size_reads_back(bytes: u64) {
            prop_assert_eq!(parse_size(&show_size(bytes)), Ok(bytes));
        }

        #[test]
        fn a_shown_duration_reads_back(ms: u64) {
            let duration = Duration::from_millis(ms);
            prop_assert_eq!(parse_duration(&show_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text in ".{0,40}") {
            let _ = (parse_size(&text), parse_duration(&text));
        }
    }

    #[test]
    fn statuses_as_people_write_them() {
        for (text, range) in [("404", (404, 404)), ("3xx", (300, 399)), ("5XX", (500, 599)), ("any", (200, 599))] {
            assert_eq!(statuses_of(text), Some(range), "{text}");
        }
        for text in ["", "1xx", "6xx", "xx", "20", "99", "600", "404,405", "-1", "٤xx"] {
            assert_eq!(statuses_of(text), None, "{text}");
        }
    }
}
