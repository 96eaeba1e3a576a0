//! Which URLs are worth a look: those that were most often no hits, and those that took their origins longest.
//!
//! Each worker has two small tables of its own ([`kasoku_metrics::frequent`], [`kasoku_metrics::slowest`]), which it writes when a
//! request was a miss or has passed, and when an origin has answered; a hit touches neither. They tell of the last minutes: after five, a
//! fresh pair takes their place, and they are kept beside it for five more. So what is shown is between five and
//! ten minutes old at most, once the program runs for that long.
//!
//! Who reads them ([`Handle::top`]) takes the lock of one worker after the other, for as long as copying takes; nobody holds
//! one across a wait. URLs are kept up to [`URL_BYTES_MAX`] bytes, and what is in a query may be a secret: they are for the operator.

use crate::handle::Handle;
use kasoku_metrics::{Frequent, Slowest};
use kasoku_semantics::reason::Reason;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries of one table.
pub const ENTRIES_MAX: usize = 256;

/// What is kept of a URL, in bytes; those that begin alike for so long are one.
pub const URL_BYTES_MAX: usize = 512;

/// After so long fresh tables are begun, in milliseconds.
const WINDOW_MS: u64 = 300_000;

/// What is worth a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Top {
    /// How far it goes back, in seconds.
    pub seconds: u64,
    /// The most frequent first.
    pub missed: Vec<Missed>,
    /// The slowest first.
    pub slow: Vec<SlowUrl>,
}

/// A URL that was often no hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The effective URI, after the rules for the query.
    pub url: String,
    /// Requests for it that were misses or passed. While many other URLs are missed, it may be too large.
    pub count: u64,
    /// By how much at most.
    pub count_excess: u64,
    /// Why it was the last time.
    pub reason: Option<Reason>,
}

/// A URL that its origin took long for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowUrl {
    /// As above.
    pub url: String,
    /// The longest time until the head of an answer, in microseconds.
    pub max_us: u64,
    /// The mean, in microseconds.
    pub mean_us: u64,
    /// How often an origin was asked.
    pub count: u64,
}

/// One worker's.
pub(crate) struct Tables(Mutex<Windows>);

struct Windows {
    current: Window,
    previous: Window,
}

struct Window {
    since_ms: u64,
    missed: Frequent<Option<Reason>>,
    slow: Slowest,
}

impl Window {
    fn new(now_ms: u64) -> Self {
        let missed = Frequent::new(ENTRIES_MAX, URL_BYTES_MAX);
        Self { since_ms: now_ms, missed, slow: Slowest::new(ENTRIES_MAX, URL_BYTES_MAX) }
    }

    fn begin(&mut self, now_ms: u64) {
        self.since_ms = now_ms;
        self.missed.clear();
        self.slow.clear();
    }
}

impl Windows {
    fn turn(&mut self, now_ms: u64) {
        let age = now_ms.saturating_sub(self.current.since_ms);
        if age >= WINDOW_MS {
            std::mem::swap(&mut self.current, &mut self.previous);
            self.current.begin(now_ms);
        }
        if age >= 2 * WINDOW_MS {
            self.previous.begin(now_ms);
        }
    }
}

impl Tables {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self(Mutex::new(Windows { current: Window::new(now_ms), previous: Window::new(now_ms) }))
    }

    /// A request for this URL was no hit.
    pub(crate) fn missed(&self, now_ms: u64, url: &str, reason: Option<Reason>) {
        self.at(now_ms).current.missed.count(url, reason);
    }

    /// An origin took so many microseconds for the head of an answer, or to fail.
    pub(crate) fn slow(&self, now_ms: u64, url: &str, us: u64) {
        self.at(now_ms).current.slow.observe(url, us);
    }

    fn at(&self, now_ms: u64) -> MutexGuard<'_, Windows> {
        // Tables are sound after each step, so also after a panic.
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn(now_ms);
        windows
    }
}

impl Handle {
    /// What is worth a look: at most so many URLs of each kind, over all workers.
    pub fn top(&self, urls_max: usize) -> Top {
        merged(self.tops().iter().map(AsRef::as_ref), self.now().mono_ms, urls_max)
    }
}

fn merged<'t>(tables: impl Iterator<Item = &'t Tables>, now_ms: u64, urls_max: usize) -> Top {
    let (mut missed, mut slow) = (HashMap::new(), HashMap::new());
    let mut since_ms = now_ms;
    for table in tables {
        let windows = table.at(now_ms);
        for window in [&windows.previous, &windows.current] {
            since_ms = since_ms.min(window.since_ms);
            window.missed.entries().iter().for_each(|entry| add_missed(&mut missed, entry));
            window.slow.entries().iter().for_each(|entry| add_slow(&mut slow, entry));
        }
    }
    let mut top = Top { seconds: now_ms.saturating_sub(since_ms) / 1000, ..Top::default() };
    top.missed = missed.into_values().collect();
    top.slow = slow.into_values().collect();
    for url in &mut top.slow {
        // So far it is the sum.
        url.mean_us = url.mean_us.checked_div(url.count).unwrap_or(0);
    }
    // Where numbers are the same, by URL: what stands still on a screen can be read.
    top.missed.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.url.cmp(&b.url)));
    top.slow.sort_unstable_by(|a, b| b.max_us.cmp(&a.max_us).then_with(|| a.url.cmp(&b.url)));
    top.missed.truncate(urls_max);
    top.slow.truncate(urls_max);
    top
}

fn add_missed(sums: &mut HashMap<String, Missed>, entry: &kasoku_metrics::frequent::Entry<Option<Reason>>) {
    let (count, count_excess, reason) = (entry.count, entry.count_excess, entry.last);
    match sums.entry(entry.key.clone()) {
        Entry::Vacant(place) => {
            let url = entry.key.clone();
            place.insert(Missed { url, count, count_excess, reason });
        }
        Entry::Occupied(mut sum) => {
            let sum = sum.get_mut();
            sum.count += count;
            sum.count_excess += count_excess;
            sum.reason = reason;
        }
    }
}

fn add_slow(sums: &mut HashMap<String, SlowUrl>, entry: &kasoku_metrics::slowest::Slow) {
    match sums.entry(entry.key.clone()) {
        Entry::Vacant(place) => {
            let url = entry.key.clone();
            place.insert(SlowUrl { url, max_us: entry.max_us, mean_us: entry.sum_us, count: entry.count });
        }
        Entry::Occupied(mut sum) => {
            let sum = sum.get_mut();
            sum.max_us = sum.max_us.max(entry.max_us);
            sum.mean_us = sum.mean_us.saturating_add(entry.sum_us);
            sum.count += entry.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(tables: &[&Tables], now_ms: u64, urls_max: usize) -> Top {
        merged(tables.iter().copied(), now_ms, urls_max)
    }

    #[test]
    fn what_several_workers_have_seen_is_one_list() {
        let workers = [Tables::new(0), Tables::new(0)];
        for (worker, url, us) in [(0, "/a", 10), (1, "/b", 40), (1, "/a", 50), (1, "/a", 60), (0, "/c", 5)] {
            workers[worker].missed(1_000, url, Some(if worker == 0 { Reason::NoStore } else { Reason::SetCookie }));
            workers[worker].slow(1_000, url, us);
        }
        let all = top(&[&workers[0], &workers[1]], 7_000, 2);
        let missed = |url: &str, count, reason| Missed { url: url.to_owned(), count, count_excess: 0, reason };
        assert_eq!(
            all.missed,
            [missed("/a", 3, Some(Reason::SetCookie)), missed("/b", 1, Some(Reason::SetCookie))],
            "no more than wanted"
        );
        let slow = |url: &str, max_us, mean_us, count| SlowUrl { url: url.to_owned(), max_us, mean_us, count };
        assert_eq!(all.slow, [slow("/a", 60, 40, 3), slow("/b", 40, 40, 1)]);
        assert_eq!(all.seconds, 7);
    }

    #[test]
    fn what_is_older_than_two_windows_is_forgotten() {
        let worker = Tables::new(0);
        let urls = |now_ms| -> Vec<String> {
            top(&[&worker], now_ms, 10).missed.into_iter().map(|missed| missed.url).collect()
        };
        worker.missed(0, "/first", None);
        worker.missed(WINDOW_MS, "/second", None);
        assert_eq!(urls(2 * WINDOW_MS - 1), ["/first", "/second"]);
        assert_eq!(urls(2 * WINDOW_MS), ["/second"]);
        assert_eq!(top(&[&worker], 2 * WINDOW_MS, 10).seconds, WINDOW_MS / 1000);
        assert_eq!(urls(10 * WINDOW_MS), [] as [&str; 0], "nobody came for long");
    }
}
