//! Finds the URLs that are worth a look: those that most often were no hits, and those for which the origin took longest.
//!
//! Each worker has two small tables of its own ([`kasoku_metrics::frequent`], [`kasoku_metrics::slowest`]). It writes to them
//! when a request was no hit, and when an origin has answered; a hit touches neither. After five minutes a fresh pair takes their
//! place, and the old pair is kept beside it for five more. So the numbers cover the last five to ten minutes, once the program
//! has run for that long.
//!
//! Reading them ([`Handle::top`](crate::EngineHandle::top)) takes the lock of one worker after the other, for as long as copying
//! takes; no code holds such a lock across a wait. URLs are kept up to [`URL_BYTES_MAX`] bytes. A query may have a secret in it,
//! so the URLs are for the operator.

use kasoku_metrics::{Frequent, Slowest};
use kasoku_semantics::reason::Reason;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most entries of one table.
pub const ENTRIES_MAX: usize = 256;

/// How much of a URL is kept, in bytes. URLs with the same beginning of that length count as one.
pub const URL_BYTES_MAX: usize = 512;

/// How long a pair of tables counts until a fresh pair is begun, in milliseconds.
const WINDOW_MS: u64 = 300_000;

/// The URLs that are worth a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Top {
    /// How far the numbers go back, in seconds.
    pub seconds: u64,
    /// The URLs, those with the most requests first.
    pub urls: Vec<TopUrl>,
}

/// A URL that often was no hit, or for which the origin took long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopUrl {
    /// The effective URI, after the rules for the query.
    pub url: String,
    /// Requests for it that were no hits. The number may be too large when many other URLs are requested.
    pub requests: u64,
    /// By how much `requests` may be too large, at most.
    pub requests_excess: u64,
    /// The same requests by kind. Requests that came before the URL was in the table are missing here.
    pub kinds: NotHitCounts,
    /// Bytes of the bodies that answered those requests.
    pub body_bytes: u64,
    /// The kind of the last of those requests, and the reason.
    pub last: Option<(NotHitKind, Option<Reason>)>,
    /// The longest time until the head of an origin's answer, in microseconds.
    pub origin_max_us: u64,
    /// The mean of those times, in microseconds.
    pub origin_mean_us: u64,
    /// How often an origin was asked; 0: the URL's times are not among the longest.
    pub origin_requests: u64,
}

/// The kind of a request that was no hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHitKind {
    /// A miss whose stored response the origin has confirmed.
    Revalidated,
    /// Any other miss.
    Miss,
    /// It passed.
    Pass,
    /// Kasoku answered it with an error of its own.
    Error,
}

/// How many requests there were of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotHitCounts {
    /// See [`NotHitKind::Revalidated`].
    pub revalidated: u64,
    /// See [`NotHitKind::Miss`].
    pub misses: u64,
    /// See [`NotHitKind::Pass`].
    pub passes: u64,
    /// See [`NotHitKind::Error`].
    pub errors: u64,
}

impl NotHitCounts {
    fn add(&mut self, other: &Self) {
        self.revalidated += other.revalidated;
        self.misses += other.misses;
        self.passes += other.passes;
        self.errors += other.errors;
    }
}

/// One request that was no hit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotHit {
    pub(crate) kind: NotHitKind,
    pub(crate) reason: Option<Reason>,
    pub(crate) body_bytes: u64,
}

/// The totals of a URL's requests that were no hits.
#[derive(Debug, Default)]
struct UrlTotals {
    kinds: NotHitCounts,
    body_bytes: u64,
    last: Option<(NotHitKind, Option<Reason>)>,
}

impl UrlTotals {
    fn add(&mut self, seen: &NotHit) {
        let count = match seen.kind {
            NotHitKind::Revalidated => &mut self.kinds.revalidated,
            NotHitKind::Miss => &mut self.kinds.misses,
            NotHitKind::Pass => &mut self.kinds.passes,
            NotHitKind::Error => &mut self.kinds.errors,
        };
        *count += 1;
        self.body_bytes = self.body_bytes.saturating_add(seen.body_bytes);
        self.last = Some((seen.kind, seen.reason));
    }
}

/// The tables of one worker.
pub(crate) struct TopTables(Mutex<TopWindows>);

struct TopWindows {
    current: TopWindow,
    previous: TopWindow,
}

struct TopWindow {
    since_ms: u64,
    asked: Frequent<UrlTotals>,
    slow: Slowest,
}

impl TopWindow {
    fn new(now_ms: u64) -> Self {
        let asked = Frequent::new(ENTRIES_MAX, URL_BYTES_MAX);
        Self { since_ms: now_ms, asked, slow: Slowest::new(ENTRIES_MAX, URL_BYTES_MAX) }
    }

    fn begin(&mut self, now_ms: u64) {
        self.since_ms = now_ms;
        self.asked.clear();
        self.slow.clear();
    }
}

impl TopWindows {
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

impl TopTables {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self(Mutex::new(TopWindows { current: TopWindow::new(now_ms), previous: TopWindow::new(now_ms) }))
    }

    /// Counts a request for this URL that was no hit.
    pub(crate) fn seen(&self, now_ms: u64, url: &str, seen: &NotHit) {
        self.at(now_ms).current.asked.count(url, |sum| sum.add(seen));
    }

    /// An origin took `us` microseconds until the head of an answer, or until it failed.
    pub(crate) fn slow(&self, now_ms: u64, url: &str, us: u64) {
        self.at(now_ms).current.slow.observe(url, us);
    }

    fn at(&self, now_ms: u64) -> MutexGuard<'_, TopWindows> {
        // The tables are sound after each step, so also after a panic.
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.turn(now_ms);
        windows
    }
}

/// Merges these tables. For each order (requests, misses, bytes, times) the first `urls_max` URLs are kept.
pub(crate) fn merged<'t>(tables: impl Iterator<Item = &'t TopTables>, now_ms: u64, urls_max: usize) -> Top {
    let mut urls: HashMap<String, TopUrl> = HashMap::new();
    let mut since_ms = now_ms;
    for table in tables {
        let windows = table.at(now_ms);
        for window in [&windows.previous, &windows.current] {
            since_ms = since_ms.min(window.since_ms);
            for entry in window.asked.entries() {
                let url = urls.entry(entry.key.clone()).or_default();
                url.requests += entry.count;
                url.requests_excess += entry.count_excess;
                url.kinds.add(&entry.sum.kinds);
                url.body_bytes = url.body_bytes.saturating_add(entry.sum.body_bytes);
                url.last = entry.sum.last;
            }
            for entry in window.slow.entries() {
                let url = urls.entry(entry.key.clone()).or_default();
                url.origin_max_us = url.origin_max_us.max(entry.max_us);
                // The sum, until all tables are added up.
                url.origin_mean_us = url.origin_mean_us.saturating_add(entry.sum_us);
                url.origin_requests += entry.count;
            }
        }
    }
    let mut urls: Vec<TopUrl> = urls.into_iter().map(|(url, sums)| TopUrl { url, ..sums }).collect();
    for url in &mut urls {
        url.origin_mean_us = url.origin_mean_us.checked_div(url.origin_requests).unwrap_or(0);
    }
    Top { seconds: now_ms.saturating_sub(since_ms) / 1000, urls: first_of_each_order(urls, urls_max) }
}

/// Keeps the first URLs of each order, so that a reader who sorts them by one of these orders sees the true first ones.
fn first_of_each_order(mut urls: Vec<TopUrl>, urls_max: usize) -> Vec<TopUrl> {
    let orders: [fn(&TopUrl) -> u64; 4] =
        [|url| url.origin_max_us, |url| url.body_bytes, |url| url.kinds.misses, requests];
    let mut is_wanted = vec![false; urls.len()];
    for order in orders {
        let mut places: Vec<(usize, &TopUrl)> = urls.iter().enumerate().filter(|(_, url)| order(url) > 0).collect();
        // Equal numbers are sorted by URL, so that rows stand still on a screen.
        places.sort_unstable_by_key(|(_, url)| (Reverse(order(url)), &url.url));
        for (place, _) in places.into_iter().take(urls_max) {
            if let Some(wanted) = is_wanted.get_mut(place) {
                *wanted = true;
            }
        }
    }
    let mut wanted = is_wanted.into_iter();
    urls.retain(|_| wanted.next().unwrap_or(false));
    urls.sort_unstable_by(|a, b| requests(b).cmp(&requests(a)).then_with(|| a.url.cmp(&b.url)));
    urls
}

/// The requests that are certain.
fn requests(url: &TopUrl) -> u64 {
    url.requests.saturating_sub(url.requests_excess)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kind: NotHitKind, reason: Reason, body_bytes: u64) -> NotHit {
        NotHit { kind, reason: Some(reason), body_bytes }
    }

    fn top(tables: &[&TopTables], now_ms: u64, urls_max: usize) -> Top {
        merged(tables.iter().copied(), now_ms, urls_max)
    }

    #[test]
    fn what_several_workers_have_seen_is_one_list() {
        let workers = [TopTables::new(0), TopTables::new(0)];
        workers[0].seen(1_000, "/a", &seen(NotHitKind::Miss, Reason::UriMiss, 10));
        workers[1].seen(1_000, "/a", &seen(NotHitKind::Pass, Reason::SetCookie, 20));
        workers[1].seen(1_000, "/a", &seen(NotHitKind::Revalidated, Reason::Revalidated, 30));
        workers[1].seen(1_000, "/b", &seen(NotHitKind::Error, Reason::OriginDown, 4));
        for (worker, url, us) in [(0, "/a", 10), (1, "/b", 40), (1, "/a", 50), (1, "/a", 60), (0, "/c", 5)] {
            workers[worker].slow(1_000, url, us);
        }
        let all = top(&[&workers[0], &workers[1]], 7_000, 10);
        assert_eq!(all.seconds, 7);
        let [a, b, c] = all.urls.as_slice() else { panic!("{all:?}") };
        let expected = TopUrl {
            url: "/a".to_owned(),
            requests: 3,
            requests_excess: 0,
            kinds: NotHitCounts { revalidated: 1, misses: 1, passes: 1, errors: 0 },
            body_bytes: 60,
            last: Some((NotHitKind::Revalidated, Some(Reason::Revalidated))),
            origin_max_us: 60,
            origin_mean_us: 40,
            origin_requests: 3,
        };
        assert_eq!(a, &expected);
        assert_eq!((b.url.as_str(), b.kinds.errors, b.origin_max_us), ("/b", 1, 40));
        assert_eq!((c.url.as_str(), c.requests, c.last, c.origin_max_us), ("/c", 0, None, 5), "slow alone");
    }

    #[test]
    fn of_each_order_there_are_the_first() {
        let worker = TopTables::new(0);
        let often = |url: &str, count, kind, bytes| {
            (0..count).for_each(|_| worker.seen(0, url, &seen(kind, Reason::UriMiss, bytes)));
        };
        often("/passes", 9, NotHitKind::Pass, 1);
        often("/misses", 5, NotHitKind::Miss, 1);
        often("/large", 3, NotHitKind::Pass, 1_000);
        often("/nothing-special", 4, NotHitKind::Pass, 1);
        worker.slow(0, "/slow", 7);
        worker.slow(0, "/quick", 6);
        let urls: Vec<String> = top(&[&worker], 0, 1).urls.into_iter().map(|url| url.url).collect();
        assert_eq!(urls, ["/passes", "/misses", "/large", "/slow"]);
    }

    #[test]
    fn what_is_older_than_two_windows_is_forgotten() {
        let worker = TopTables::new(0);
        let miss = seen(NotHitKind::Miss, Reason::UriMiss, 0);
        let urls =
            |now_ms| -> Vec<String> { top(&[&worker], now_ms, 10).urls.into_iter().map(|url| url.url).collect() };
        worker.seen(0, "/first", &miss);
        worker.seen(WINDOW_MS, "/second", &miss);
        assert_eq!(urls(2 * WINDOW_MS - 1), ["/first", "/second"]);
        assert_eq!(urls(2 * WINDOW_MS), ["/second"]);
        assert_eq!(top(&[&worker], 2 * WINDOW_MS, 10).seconds, WINDOW_MS / 1000);
        assert_eq!(urls(10 * WINDOW_MS), [] as [&str; 0], "no request came for long");
    }
}
