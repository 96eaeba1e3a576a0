//! What is true: the clock, the version of each page with its history, and which versions may not be served any more.
//!
//! The origin, the clients and the checker share one process, so they share one clock and need no slack for disagreement. A version
//! and its time are taken together under the page's lock: at that time, the version was the current one.
//!
//! **Floors.** Once a client has seen that an unsafe request succeeded, or a purge has returned, a request that is sent *later* must
//! get that version or a newer one (RFC 9111 section 4.4). A client reads the floor before it sends a request; a request that was in
//! flight when the floor rose may still get the old version.

use crate::page::Page;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// See the [module](self).
pub struct World {
    /// All pages, by number.
    pub pages: Vec<Page>,
    epoch: Instant,
    histories: Vec<Mutex<History>>,
    floors: Vec<AtomicU32>,
    invalidations: Vec<AtomicU32>,
    hits: Vec<AtomicU32>,
    next: AtomicU64,
    over: AtomicBool,
}

/// When each version of a page began, in microseconds; version 1 is the first.
struct History {
    began: Vec<u64>,
    /// The last few answers of the origin: their serial, and when a client had the head.
    heard: VecDeque<(u64, u64)>,
}

/// How many answers of one page `heard` has.
const HEARD_MAX: usize = 16;

impl World {
    /// That many pages, each in its first version.
    pub fn new(pages: u32) -> Self {
        let each = || 0..pages;
        Self {
            pages: each().map(Page::new).collect(),
            epoch: Instant::now(),
            histories: each().map(|_| Mutex::new(History { began: vec![0], heard: VecDeque::new() })).collect(),
            floors: each().map(|_| AtomicU32::new(0)).collect(),
            invalidations: each().map(|_| AtomicU32::new(0)).collect(),
            hits: each().map(|_| AtomicU32::new(u32::MAX)).collect(),
            next: AtomicU64::new(1),
            over: AtomicBool::new(false),
        }
    }

    /// Microseconds since the world began.
    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_micros() as u64
    }

    /// A number that is given out once.
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The current version of a page, and a time at which it is current.
    pub fn current(&self, page: &Page) -> (u32, u64) {
        let mut history = self.history(page.number);
        let now = self.now();
        if now > history.began.last().copied().unwrap_or(0) + page.version_micros {
            history.began.push(now);
        }
        (history.began.len() as u32, now)
    }

    /// Starts a new version of a page. Returns it and its time.
    pub fn change(&self, page: u32) -> (u32, u64) {
        let mut history = self.history(page);
        let now = self.now();
        history.began.push(now);
        (history.began.len() as u32, now)
    }

    /// When a version ceased to be the current one; `None`: it is still current.
    pub fn ended(&self, page: u32, version: u32) -> Option<u64> {
        self.history(page).began.get(version as usize).copied()
    }

    /// Notes that a client has the head of an answer that the origin made for it: the cache has received this answer by now.
    pub fn hear(&self, page: u32, serial: u64) {
        let now = self.now();
        let heard = &mut self.history(page).heard;
        if heard.len() == HEARD_MAX {
            heard.pop_front();
        }
        heard.push_back((serial, now));
    }

    /// The time by which the cache had received that answer, if it is known.
    pub fn heard(&self, page: u32, serial: u64) -> Option<u64> {
        self.history(page).heard.iter().find(|(one, _)| *one == serial).map(|(_, at)| *at)
    }

    /// The oldest version that a request sent from now on may get.
    pub fn floor(&self, page: u32) -> u32 {
        self.floors[page as usize].load(Ordering::SeqCst)
    }

    /// From now on, no request may get an older version than that.
    pub fn raise_floor(&self, page: u32, version: u32) {
        self.floors[page as usize].fetch_max(version, Ordering::SeqCst);
    }

    /// Notes that a request or a purge is about to drop what is stored for a page.
    pub fn note_invalidation(&self, page: u32) {
        self.invalidations[page as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// How many invalidations of the page were noted.
    pub fn invalidations(&self, page: u32) -> u32 {
        self.invalidations[page as usize].load(Ordering::SeqCst)
    }

    /// Notes a hit for a request that was sent when that many invalidations had happened.
    pub fn mark_hit(&self, page: u32, invalidations: u32) {
        self.hits[page as usize].store(invalidations, Ordering::SeqCst);
    }

    /// Whether the page has been hit and not invalidated since: if it is not stored, it was evicted.
    pub fn is_expected(&self, page: u32) -> bool {
        self.hits[page as usize].load(Ordering::SeqCst) == self.invalidations(page)
    }

    /// Whether the traffic should end.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends the traffic.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn history(&self, page: u32) -> std::sync::MutexGuard<'_, History> {
        self.histories[page as usize].lock().unwrap()
    }
}
