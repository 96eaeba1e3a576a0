//! Finds the keys that took longest, in bounded memory.
//!
//! A table of n entries holds the n keys with the longest times. A key that was pushed out comes back with its next time that is
//! long enough, so the longest times are exact; its count and its sum begin anew.

use crate::frequent::cut;
use std::hash::{BuildHasher, RandomState};

/// See the [module](self).
#[derive(Debug)]
pub struct Slowest {
    entries: Vec<Slow>,
    entries_max: usize,
    key_bytes_max: usize,
    hasher: RandomState,
}

/// A key, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// The key, cut to the table's maximum.
    pub key: String,
    hash: u64,
    /// The longest time of the key, in microseconds.
    pub max_us: u64,
    /// The sum of its times since it entered the table, in microseconds.
    pub sum_us: u64,
    /// The number of these times.
    pub count: u64,
}

impl Slowest {
    /// An empty table of at most `entries_max` entries (at least one), each with at most `key_bytes_max` bytes of its key.
    pub fn new(entries_max: usize, key_bytes_max: usize) -> Self {
        Self { entries: Vec::new(), entries_max: entries_max.max(1), key_bytes_max, hasher: RandomState::new() }
    }

    /// Counts a time of `us` microseconds for `key`.
    pub fn observe(&mut self, key: &str, us: u64) {
        let key = cut(key, self.key_bytes_max);
        let hash = self.hasher.hash_one(key);
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.hash == hash && entry.key == key) {
            entry.max_us = entry.max_us.max(us);
            entry.sum_us = entry.sum_us.saturating_add(us);
            entry.count += 1;
        } else if self.entries.len() < self.entries_max {
            self.entries.push(Slow { key: key.to_owned(), hash, max_us: us, sum_us: us, count: 1 });
        } else if let Some(entry) =
            self.entries.iter_mut().min_by_key(|entry| entry.max_us).filter(|entry| entry.max_us < us)
        {
            // Reuse the memory of the key that is pushed out.
            entry.key.clear();
            entry.key.push_str(key);
            (entry.hash, entry.max_us, entry.sum_us, entry.count) = (hash, us, us, 1);
        }
    }

    /// The entries, in no order.
    pub fn entries(&self) -> &[Slow] {
        &self.entries
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_times_are_exact_however_many_keys_there_are() {
        let mut table = Slowest::new(3, 20);
        // Each key comes twice; /n takes n and 2n.
        for number in (1..=1_000).chain(1..=1_000) {
            table.observe(&format!("/{number}"), number);
            table.observe(&format!("/{number}"), 2 * number);
        }
        let mut longest: Vec<_> = table.entries().iter().map(|entry| (entry.max_us, entry.key.as_str())).collect();
        longest.sort_unstable();
        assert_eq!(longest, [(1_996, "/998"), (1_998, "/999"), (2_000, "/1000")]);
    }

    #[test]
    fn of_what_stays_each_time_counts() {
        let mut table = Slowest::new(2, 20);
        for us in [10, 30, 20] {
            table.observe("/a", us);
        }
        let entry = table.entries().first().unwrap();
        assert_eq!((entry.max_us, entry.sum_us, entry.count), (30, 60, 3));
    }
}
