//! Formats the current time for the lines of the access log: once a second, in UTC.
//!
//! UTC because a log that jumps by an hour twice a year can't be sorted, and because looking up a time zone reads files.

use kasoku_semantics::time::Now;

const SECONDS_PER_DAY: u64 = 86_400;
const YEAR_9999_ENDS: u64 = 253_402_300_799;
const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// A moment in both formats: CLF and RFC 3339.
pub(crate) struct Stamp {
    /// The second that the texts name; `None` before the first [`Stamp::set`].
    second: Option<i64>,
    clf: Vec<u8>,
    rfc3339: Vec<u8>,
    ms: u64,
}

impl Default for Stamp {
    /// Reserves room for the texts, so that nothing is allocated later.
    fn default() -> Self {
        Self { second: None, clf: Vec::with_capacity(32), rfc3339: Vec::with_capacity(32), ms: 0 }
    }
}

impl Stamp {
    /// Sets the moment. Times before 1970 and after 9999 become the first and the last second between.
    pub(crate) fn set(&mut self, now: Now) {
        self.ms = now.unix_ms.rem_euclid(1000).unsigned_abs();
        if self.second == Some(now.unix_seconds()) {
            return;
        }
        self.second = Some(now.unix_seconds());
        let seconds = u64::try_from(now.unix_seconds()).unwrap_or(0).min(YEAR_9999_ENDS);
        let (year, month, day) = civil(seconds / SECONDS_PER_DAY);
        let of_day = seconds % SECONDS_PER_DAY;
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);

        self.clf.clear();
        digits(&mut self.clf, day, 2);
        self.clf.push(b'/');
        self.clf.extend_from_slice(MONTHS.get(month as usize - 1).map_or(b"---", |name| *name));
        self.clf.push(b'/');
        digits(&mut self.clf, year, 4);
        for part in [hour, minute, second] {
            self.clf.push(b':');
            digits(&mut self.clf, part, 2);
        }
        self.clf.extend_from_slice(b" +0000");

        self.rfc3339.clear();
        digits(&mut self.rfc3339, year, 4);
        for (mark, part) in [(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)] {
            self.rfc3339.push(mark);
            digits(&mut self.rfc3339, part, 2);
        }
    }

    /// `10/Oct/2000:13:55:36 +0000`
    pub(crate) fn clf(&self) -> &[u8] {
        &self.clf
    }

    /// `2000-10-10T13:55:36`, to be followed by the milliseconds and `Z` (RFC 3339).
    pub(crate) fn rfc3339_seconds(&self) -> &[u8] {
        &self.rfc3339
    }

    /// Milliseconds within the second.
    pub(crate) fn ms(&self) -> u64 {
        self.ms
    }
}

/// Year, month and day of a day since the Unix epoch: Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>). Its years begin in March, so that a leap day is the last of its
/// year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Appends the last `width` digits of a number.
fn digits(out: &mut Vec<u8>, number: u64, width: u32) {
    out.extend((0..width).rev().map(|place| b'0' + (number / 10_u64.pow(place) % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_wire::field::date;

    fn stamp(unix_ms: i64) -> Stamp {
        let mut stamp = Stamp::default();
        stamp.set(Now { unix_ms, mono_ms: 0 });
        stamp
    }

    fn clf(unix_ms: i64) -> String {
        String::from_utf8(stamp(unix_ms).clf().to_vec()).unwrap()
    }

    #[test]
    fn a_moment_in_both_spellings() {
        let stamp = stamp(971_186_136_007);
        assert_eq!(stamp.clf(), b"10/Oct/2000:13:55:36 +0000");
        assert_eq!((stamp.rfc3339_seconds(), stamp.ms()), (&b"2000-10-10T13:55:36"[..], 7));
    }

    #[test]
    fn each_day_of_four_centuries_is_that_of_http_dates() {
        for day in 0..400 * 366 {
            let date = date::format(day * 86_400); // Sun, 06 Nov 1994 08:49:37 GMT
            let words: Vec<&str> = date.split(' ').collect();
            let expected = format!("{}/{}/{}:00:00:00 +0000", words[1], words[2], words[3]);
            assert_eq!(clf(day * 86_400_000), expected);
        }
    }

    #[test]
    fn the_texts_follow_the_clock_and_milliseconds_do_not_wait_for_the_second() {
        let mut stamp = stamp(999);
        stamp.set(Now { unix_ms: 1_000, mono_ms: 1 });
        assert_eq!((stamp.rfc3339_seconds(), stamp.ms()), (&b"1970-01-01T00:00:01"[..], 0));
        stamp.set(Now { unix_ms: 1_500, mono_ms: 501 });
        assert_eq!((stamp.clf(), stamp.ms()), (&b"01/Jan/1970:00:00:01 +0000"[..], 500));
    }

    #[test]
    fn times_that_no_clock_shows_stay_at_the_border() {
        assert_eq!(clf(-1), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(clf(i64::MAX), "31/Dec/9999:23:59:59 +0000");
    }
}
