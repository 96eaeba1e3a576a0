//! Formats numbers and texts for people.

/// The time that something took.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        ..0.0995 => format!("{:.1} ms", seconds * 1e3),
        ..0.9995 => format!("{:.0} ms", seconds * 1e3),
        ..99.5 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// The same, with `-` for an unknown time.
pub(super) fn optional_time(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), time)
}

/// A time that has gone by, such as an uptime.
pub(super) fn span(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, 0) => format!("{minutes} min"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

pub(super) fn bytes(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0} B"),
        ..1e6 => format!("{:.1} kB", count / 1e3),
        ..1e9 => format!("{:.1} MB", count / 1e6),
        _ => format!("{:.1} GB", count / 1e9),
    }
}

/// Bytes in the units of settings (64 MiB), for a number that is shown beside a setting.
pub(crate) fn binary_bytes(count: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = units.len().min(1 + (count.max(1.0).log2() / 10.0) as usize) - 1;
    let number = count / 1024_f64.powi(power as i32);
    let decimals = usize::from(power > 0 && number < 9.95);
    format!("{number:.decimals$} {}", units.get(power).unwrap_or(&"B"))
}

/// A rate per second, with tenths below 100,000.
pub(super) fn rate(per_second: f64) -> String {
    if per_second < 99_999.95 { format!("{per_second:.1}") } else { format!("{per_second:.0}") }
}

pub(super) fn share(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

/// Escapes all but printable ASCII: URLs that visitors ask for must not reach the operator's terminal as they are.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ' '..='~') { c.to_string() } else { c.escape_unicode().to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0843, 0.25, 2.3456, 120.0].map(time), ["84.3 ms", "250 ms", "2.3 s", "120 s"]);
        assert_eq!([59.9, 421.0, 11_523.0, 90_000.0].map(span), ["1 min", "7 min 1 s", "3 h 12 min", "1 d 1 h"]);
        assert_eq!([999.0, 12_345_678.0, 4e9].map(bytes), ["999 B", "12.3 MB", "4.0 GB"]);
        assert_eq!([0.0, 1_400.0, 48e6, 1_073_741_824.0].map(binary_bytes), ["0 B", "1.4 KiB", "46 MiB", "1.0 GiB"]);
        assert_eq!((rate(71.06), rate(412_345.6)), ("71.1".to_owned(), "412346".to_owned()));
        assert_eq!((share(Some(0.9123)), share(None)), ("91.2 %".to_owned(), "-".to_owned()));
    }

    #[test]
    fn what_could_move_the_cursor_or_turn_the_text_around_is_escaped() {
        assert_eq!(
            plain("/\u{1b}[2J\u{9b}\u{202e}\u{e9}\r\n\u{7f}~"),
            "/\\u{1b}[2J\\u{9b}\\u{202e}\\u{e9}\\u{d}\\u{a}\\u{7f}~"
        );
    }
}
