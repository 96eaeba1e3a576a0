//! Records when the application last counted each visitor: a hash of the address and the site. All workers share the table.
//!
//! The table is bounded. A visitor who was evicted causes one more beacon, which is harmless: applications count an address once a
//! day.

use crate::{FactId, FactTable};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

/// Visitors that the table remembers.
const VISITORS_MAX: usize = 64 << 10;

/// See the [module](self).
pub struct CountedVisitors {
    /// When the application last counted each visitor, in milliseconds.
    known: FactTable<Option<u64>>,
    hashers: [RandomState; 2],
}

impl Default for CountedVisitors {
    fn default() -> Self {
        Self { known: FactTable::with_room_for(VISITORS_MAX), hashers: Default::default() }
    }
}

impl CountedVisitors {
    /// Whether the application has not counted a visitor for `every`. `site` is the mark of the site.
    pub fn is_due(&self, site: u64, address: IpAddr, every: Duration, now_ms: u64) -> bool {
        is_long_ago(self.known.get(self.id(site, address)).flatten(), every, now_ms)
    }

    /// Whether the caller is to tell the application. Of all callers that see that a visitor is due, one gets `true`.
    pub fn claim(&self, site: u64, address: IpAddr, every: Duration, now_ms: u64) -> bool {
        self.known.change(self.id(site, address), |last| {
            let is_due = is_long_ago(*last, every, now_ms);
            if is_due {
                *last = Some(now_ms);
            }
            is_due
        })
    }

    /// The application has just counted a visitor by itself.
    pub fn note_counted(&self, site: u64, address: IpAddr, now_ms: u64) {
        self.known.change(self.id(site, address), |last| *last = Some(now_ms));
    }

    fn id(&self, site: u64, address: IpAddr) -> FactId {
        self.hashers.each_ref().map(|hasher| hasher.hash_one((site, address)))
    }
}

fn is_long_ago(last: Option<u64>, every: Duration, now_ms: u64) -> bool {
    last.is_none_or(|last| u128::from(now_ms.saturating_sub(last)) >= every.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(600);

    #[test]
    fn of_two_who_see_that_it_is_due_one_tells() {
        let counted = CountedVisitors::default();
        let visitor = IpAddr::from([198, 51, 100, 7]);
        let due = |now_ms| counted.is_due(1, visitor, EVERY, now_ms);
        let claim = |now_ms| counted.claim(1, visitor, EVERY, now_ms);
        assert!(due(0) && due(0));
        assert_eq!((claim(0), claim(0)), (true, false));
        assert_eq!((due(599_999), due(600_000)), (false, true));
        counted.note_counted(1, visitor, 500_000);
        assert_eq!((due(600_000), claim(1_100_000)), (false, true));
        assert!(counted.is_due(2, visitor, EVERY, 0), "at another site");
        assert!(counted.is_due(1, [198, 51, 100, 8].into(), EVERY, 0), "another visitor");
    }

    #[test]
    fn their_number_is_bounded() {
        let counted = CountedVisitors::default();
        let visitor = |number: u32| IpAddr::from(number.to_be_bytes());
        let count = 4 * VISITORS_MAX as u32;
        (0..count).for_each(|number| counted.note_counted(1, visitor(number), 0));
        let known = (0..count).filter(|number| !counted.is_due(1, visitor(*number), EVERY, 0)).count();
        assert!((1..=VISITORS_MAX).contains(&known), "{known}");
    }
}
