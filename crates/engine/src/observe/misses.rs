//! Counts the requests that were not served from memory, by URL pattern and reason: how many, for how many URLs, and how long the
//! origin took.
//!
//! Each worker has a table of its own, and writes to it when a GET was a miss or passed; a hit does not touch it. As in `top`, a
//! worker begins a fresh table after half an hour and keeps the one before beside it, so the numbers cover the last half to one
//! hour. When a table is full, the case with the fewest requests makes room.

use crate::observe::miss_examples::{Examples, visitor};
use kasoku_semantics::reason::Reason;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most cases (pattern and reason) of one table.
const CASES_MAX: usize = 256;

/// How much of a pattern is kept, in bytes.
const PATTERN_BYTES_MAX: usize = 512;

/// How long a table counts until a fresh one is begun, in milliseconds.
const WINDOW_MS: u64 = 1_800_000;

/// Hashes of URLs that are kept for each case, to estimate how many URLs there were.
const HASHES_MAX: usize = 64;

/// A URL pattern, and why its requests were not served from memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MissKey {
    pub(crate) pattern: String,
    pub(crate) reason: Reason,
}

/// The numbers of one case.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissStats {
    pub(crate) requests: u64,
    pub(crate) origin_us: u64,
    pub(crate) urls: Urls,
    /// Some of its URLs.
    pub(crate) examples: Examples,
    /// The name of the cookie that made the last request pass, or kept its response from being stored.
    pub(crate) cookie: Option<String>,
}

/// Estimates how many different URLs there were: keeps the smallest of their hashes, whose spread shows the number (Bar-Yossef et
/// al., 2002).
#[derive(Clone, Debug, Default)]
pub(crate) struct Urls(Vec<u64>);

impl Urls {
    fn add(&mut self, hash: u64) {
        let Err(at) = self.0.binary_search(&hash) else { return };
        if at < HASHES_MAX {
            self.0.insert(at, hash);
            self.0.truncate(HASHES_MAX);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        match self.0.last() {
            Some(last) if self.0.len() == HASHES_MAX => {
                let share = (*last as f64 / u64::MAX as f64).max(f64::MIN_POSITIVE);
                ((HASHES_MAX - 1) as f64 / share) as u64
            }
            _ => self.0.len() as u64,
        }
    }
}

/// A request that was not served from memory.
pub(crate) struct MissedRequest<'m> {
    pub(crate) pattern: &'m str,
    pub(crate) reason: Reason,
    pub(crate) url: &'m str,
    /// The client's address.
    pub(crate) address: Option<IpAddr>,
    pub(crate) origin_us: u64,
    pub(crate) cookie: Option<&'m [u8]>,
}

/// The table of one worker.
pub(crate) struct MissTable {
    windows: Mutex<MissWindows>,
    /// The same in all workers, so that their hashes can be merged.
    hasher: RandomState,
}

struct MissWindows {
    current: MissWindow,
    previous: MissWindow,
}

struct MissWindow {
    since_ms: u64,
    cases: HashMap<MissKey, MissStats>,
}

impl MissWindows {
    fn turn(&mut self, now_ms: u64) {
        let begin = || MissWindow { since_ms: now_ms, cases: HashMap::new() };
        let age_ms = now_ms.saturating_sub(self.current.since_ms);
        if age_ms >= WINDOW_MS {
            self.previous = std::mem::replace(&mut self.current, begin());
        }
        if age_ms >= 2 * WINDOW_MS {
            self.previous = begin();
        }
    }
}

impl MissTable {
    /// Makes a table for each worker.
    pub(crate) fn of_workers(workers: usize, now_ms: u64) -> Vec<Self> {
        let hasher = RandomState::new();
        let window = || MissWindow { since_ms: now_ms, cases: HashMap::new() };
        let one = || Self {
            windows: Mutex::new(MissWindows { current: window(), previous: window() }),
            hasher: hasher.clone(),
        };
        (0..workers).map(|_| one()).collect()
    }

    /// Counts a request that was not served from memory.
    pub(crate) fn missed(&self, now_ms: u64, missed: &MissedRequest<'_>) {
        let cut = |text: &str, max: usize| text.get(..text.floor_char_boundary(max)).unwrap_or(text).to_owned();
        let hash = self.hasher.hash_one(missed.url);
        let key = MissKey { pattern: cut(missed.pattern, PATTERN_BYTES_MAX), reason: missed.reason };
        let cases = &mut self.at(now_ms).current.cases;
        if cases.len() >= CASES_MAX && !cases.contains_key(&key) {
            let least = cases.iter().min_by_key(|(_, case)| case.requests).map(|(key, _)| key.clone());
            least.and_then(|key| cases.remove(&key));
        }
        let case = cases.entry(key).or_default();
        case.requests += 1;
        case.origin_us = case.origin_us.saturating_add(missed.origin_us);
        case.urls.add(hash);
        case.examples.add(missed.url, visitor(missed.address, &self.hasher));
        case.cookie = missed.cookie.map(|name| String::from_utf8_lossy(name).into_owned());
    }

    fn at(&self, now_ms: u64) -> MutexGuard<'_, MissWindows> {
        // The table is sound after each step, so also after a panic.
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn(now_ms);
        windows
    }
}

/// The cases of all workers, and how many seconds they cover. The case for which the origin took longest comes first.
pub(crate) fn all<'c>(workers: impl Iterator<Item = &'c MissTable>, now_ms: u64) -> (Vec<(MissKey, MissStats)>, u64) {
    let (mut sums, mut since_ms) = (HashMap::<MissKey, MissStats>::new(), now_ms);
    for worker in workers {
        let windows = worker.at(now_ms);
        for window in [&windows.previous, &windows.current] {
            since_ms = since_ms.min(window.since_ms);
            for (key, case) in &window.cases {
                let sum = sums.entry(key.clone()).or_default();
                sum.requests += case.requests;
                sum.origin_us = sum.origin_us.saturating_add(case.origin_us);
                case.urls.0.iter().for_each(|hash| sum.urls.add(*hash));
                sum.examples.join(&case.examples);
                sum.cookie.clone_from(&case.cookie);
            }
        }
    }
    let mut all: Vec<(MissKey, MissStats)> = sums.into_iter().collect();
    let weight = |case: &MissStats| (case.origin_us, case.requests);
    all.sort_unstable_by(|(one_key, one), (key, other)| {
        weight(other).cmp(&weight(one)).then_with(|| one_key.pattern.cmp(&key.pattern))
    });
    (all, now_ms.saturating_sub(since_ms) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed<'m>(pattern: &'m str, url: &'m str) -> MissedRequest<'m> {
        MissedRequest { pattern, reason: Reason::NoStore, url, address: None, origin_us: 10, cookie: None }
    }

    #[test]
    fn what_workers_have_seen_is_counted_together() {
        let workers = MissTable::of_workers(2, 0);
        for (worker, url) in [(0, "/a?1"), (1, "/a?1"), (1, "/a?2"), (0, "/b")] {
            workers[worker].missed(1, &missed(&url[..2], url));
        }
        let (all, seconds) = all(workers.iter(), 5_000);
        let told: Vec<_> =
            all.iter().map(|(key, case)| (&*key.pattern, case.requests, case.origin_us, case.urls.count())).collect();
        assert_eq!(told, [("/a", 3, 30, 2), ("/b", 1, 10, 1)]);
        assert_eq!(seconds, 5);
    }

    #[test]
    fn many_urls_are_estimated_and_tables_are_bounded() {
        let workers = MissTable::of_workers(1, 0);
        (0..20_000).for_each(|number| workers[0].missed(1, &missed("/a", &format!("/a?{number}"))));
        (0..2 * CASES_MAX).for_each(|number| workers[0].missed(1, &missed(&format!("/{number}"), "/x")));
        let (cases, _) = all(workers.iter(), 1);
        assert_eq!(cases.len(), CASES_MAX);
        let urls = cases[0].1.urls.count();
        assert!((10_000..40_000).contains(&urls), "{urls}");
    }

    #[test]
    fn what_is_older_than_an_hour_is_forgotten() {
        let workers = MissTable::of_workers(1, 0);
        workers[0].missed(0, &missed("/a", "/a"));
        assert_eq!(all(workers.iter(), 2 * WINDOW_MS - 1).0.len(), 1);
        assert_eq!(all(workers.iter(), 4 * WINDOW_MS).0.len(), 0);
    }
}
