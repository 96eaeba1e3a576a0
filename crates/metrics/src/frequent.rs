//! Finds the keys that come most often, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi: Efficient Computation of
//! Frequent and Top-k Elements in Data Streams, 2005).
//!
//! A table of n entries counts the keys that come. A new key replaces the key with the smallest count, and takes over that count:
//! so a count is never too small, and at most `count_excess` too large. A key that comes more often than one time in n is in the
//! table, whatever else comes; in a flood of keys that each come once, these keys replace only rare ones.
//!
//! With so few entries, a linear search is about as fast as a hash table, and needs no memory for one.

use std::hash::{BuildHasher, RandomState};

/// See the [module](self). `T` is what is summed up for a key while it is in the table.
#[derive(Debug)]
pub struct Frequent<T> {
    entries: Vec<FrequentKey<T>>,
    entries_max: usize,
    key_bytes_max: usize,
    hasher: RandomState,
}

/// A key, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequentKey<T> {
    /// The key, cut to the table's maximum.
    pub key: String,
    hash: u64,
    /// How often the key came, at most.
    pub count: u64,
    /// How much of `count` may belong to other keys.
    pub count_excess: u64,
    /// The sum since the key entered the table.
    pub sum: T,
}

impl<T: Default> Frequent<T> {
    /// An empty table of at most `entries_max` entries (at least one), each with at most `key_bytes_max` bytes of its key.
    pub fn new(entries_max: usize, key_bytes_max: usize) -> Self {
        Self { entries: Vec::new(), entries_max: entries_max.max(1), key_bytes_max, hasher: RandomState::new() }
    }

    /// Counts an occurrence of `key`; `add` adds it to the key's sum.
    pub fn count(&mut self, key: &str, add: impl FnOnce(&mut T)) {
        let key = cut(key, self.key_bytes_max);
        let hash = self.hasher.hash_one(key);
        let known = self.entries.iter_mut().find(|entry| entry.hash == hash && entry.key == key);
        if let Some(entry) = known {
            entry.count += 1;
            add(&mut entry.sum);
        } else if self.entries.len() < self.entries_max {
            let mut sum = T::default();
            add(&mut sum);
            self.entries.push(FrequentKey { key: key.to_owned(), hash, count: 1, count_excess: 0, sum });
        } else if let Some(entry) = self.entries.iter_mut().min_by_key(|entry| entry.count) {
            // Reuse the memory of the key that is replaced.
            entry.key.clear();
            entry.key.push_str(key);
            entry.count_excess = entry.count;
            entry.count += 1;
            (entry.hash, entry.sum) = (hash, T::default());
            add(&mut entry.sum);
        }
    }

    /// The entries, in no order.
    pub fn entries(&self) -> &[FrequentKey<T>] {
        &self.entries
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

/// The longest beginning of `key` that has at most `bytes_max` bytes and ends between characters.
pub(crate) fn cut(key: &str, bytes_max: usize) -> &str {
    key.get(..key.floor_char_boundary(bytes_max)).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(table: &Frequent<u64>, key: &str) -> Option<(u64, u64, u64)> {
        let found = table.entries().iter().find(|entry| entry.key == key);
        found.map(|entry| (entry.count, entry.count_excess, entry.sum))
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut table = Frequent::new(2, 10);
        for (number, key) in [(1, "/a"), (20, "/b"), (300, "/a"), (4_000, "/a")] {
            table.count(key, |sum| *sum += number);
        }
        assert_eq!((count(&table, "/a"), count(&table, "/b")), (Some((3, 0, 4_301)), Some((1, 0, 20))));
    }

    #[test]
    fn who_comes_often_stays_in_a_flood_of_keys_that_come_once() {
        let mut table = Frequent::new(16, 20);
        for number in 0..10_000 {
            table.count(&format!("/flood/{number}"), |sum| *sum += 1);
            if number % 10 == 0 {
                table.count("/often", |sum| *sum += 1);
            }
        }
        let (most, excess, sum) = count(&table, "/often").unwrap();
        assert!(most >= 1_000 && most - excess <= 1_000, "{most} {excess}");
        assert!(sum <= 1_000, "what others have added is not its own: {sum}");
        assert_eq!(table.entries().len(), 16);
        let sum: u64 = table.entries().iter().map(|entry| entry.count).sum();
        assert_eq!(sum, 11_000, "all that came is counted for a key");
    }

    #[test]
    fn long_keys_are_cut_between_characters() {
        let mut table = Frequent::new(4, 4);
        table.count("/ab\u{e9}", |_| {});
        table.count("/ab\u{e9}x", |_| {});
        assert_eq!(count(&table, "/ab"), Some((2, 0, 0)));
    }
}
