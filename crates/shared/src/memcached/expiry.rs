//! When a server forgets an item, as memcached writes it.
//!
//! It takes up to 30 days as seconds from now, more as a Unix time, and 0 as never. So a lifetime of 0 can't be written, and a long
//! one needs the time of the day.

use crate::expiry::Expiry;

/// The longest time that memcached takes as one from now, in seconds.
const RELATIVE_MAX: u64 = 30 * 24 * 60 * 60;

/// The last Unix time that memcached reads: it takes 32 bits with a sign.
const UNIX_TIME_MAX: u64 = i32::MAX as u64;

/// An expiry as memcached writes it, at this Unix time in seconds. None if it is over already: such an item is not written.
pub(super) fn exptime(expiry: Expiry, now: u64) -> Option<u32> {
    let seconds = match expiry {
        Expiry::Never => 0,
        Expiry::After(0) => return None,
        Expiry::After(seconds) if seconds <= RELATIVE_MAX => seconds,
        Expiry::After(seconds) => now.saturating_add(seconds),
        Expiry::At(time) if time <= now || time <= RELATIVE_MAX => return None,
        Expiry::At(time) => time,
    };
    u32::try_from(seconds.min(UNIX_TIME_MAX)).ok()
}

#[cfg(test)]
mod tests {
    use super::Expiry::*;
    use super::exptime;

    #[test]
    fn a_lifetime_is_written_as_memcached_understands_it() {
        const NOW: u64 = 1_795_000_000;
        const DAY: u64 = 86_400;
        for (expiry, written) in [
            (Never, Some(0)),
            (After(0), None),
            (After(1), Some(1)),
            (After(30 * DAY), Some(2_592_000)),
            (After(30 * DAY + 1), Some(1_797_592_001)),
            (After(u64::MAX), Some(2_147_483_647)),
            (At(0), None),
            (At(60), None),
            (At(NOW), None),
            (At(NOW + 1), Some(1_795_000_001)),
            (At(u64::MAX), Some(2_147_483_647)),
        ] {
            assert_eq!(exptime(expiry, NOW), written, "{expiry:?}");
        }
        assert_eq!(exptime(After(31 * DAY), 0), Some(31 * 86_400), "the clock is wrong, the item is over at once");
        assert_eq!(exptime(At(60), 0), None, "it would be taken as one from now");
    }
}
