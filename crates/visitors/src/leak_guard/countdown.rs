//! Counts a worker's requests down to the next one whose page is compared again.

use std::cell::Cell;

/// The fewest requests of a worker between two samples, and the number of values that are added at random.
const GAP_MIN: u64 = 192;
const GAP_SPREAD: u64 = 129;

/// Requests of a worker until the next sample.
pub struct Countdown(Cell<u64>);

impl Default for Countdown {
    fn default() -> Self {
        Self(Cell::new(GAP_MIN))
    }
}

impl Countdown {
    /// Counts a request, and returns whether it is sampled. `random`: any number.
    pub fn is_due(&self, random: impl FnOnce() -> u64) -> bool {
        let left = self.0.get();
        self.0.set(match left {
            0 => GAP_MIN + random() % GAP_SPREAD,
            _ => left - 1,
        });
        left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_one_in_a_hundred_is_looked_at() {
        let countdown = Countdown::default();
        let mut number = 0_u64;
        let mut random = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            number >> 33
        };
        let due = (0..100_000).filter(|_| countdown.is_due(&mut random)).count();
        assert!((350..450).contains(&due), "{due}");
    }
}
