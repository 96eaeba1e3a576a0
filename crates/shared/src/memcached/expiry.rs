//! When a server forgets an item.
//!
//! memcached takes up to 30 days as seconds from now, more as a Unix time, and 0 as never. So a lifetime of 0 can't be written, and a long
//! one needs the time of the day.

/// The longest time that memcached takes as one from now, in seconds.
const RELATIVE_MAX: u64 = 30 * 24 * 60 * 60;

/// The last Unix time that memcached reads: it takes 32 bits with a sign.
const UNIX_TIME_MAX: u64 = i32::MAX as u64;

/// When a server forgets an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// When it needs the memory.
    Never,
    /// After this many seconds.
    After(u64),
    /// At this Unix time, in seconds.
    At(u64),
}

impl Expiry {
    /// This expiry as memcached writes it, at this Unix time in seconds. None if it is over already: such an item is not written.
    pub(super) fn exptime(self, now: u64) -> Option<u32> {
        let seconds = match self {
            Self::Never => 0,
            Self::After(0) => return None,
            Self::After(seconds) if seconds <= RELATIVE_MAX => seconds,
            Self::After(seconds) => now.saturating_add(seconds),
            Self::At(time) if time <= now || time <= RELATIVE_MAX => return None,
            Self::At(time) => time,
        };
        u32::try_from(seconds.min(UNIX_TIME_MAX)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Expiry::*;

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
            assert_eq!(expiry.exptime(NOW), written, "{expiry:?}");
        }
        assert_eq!(After(31 * DAY).exptime(0), Some(31 * 86_400), "the clock is wrong, the item is over at once");
        assert_eq!(At(60).exptime(0), None, "it would be taken as one from now");
    }
}
