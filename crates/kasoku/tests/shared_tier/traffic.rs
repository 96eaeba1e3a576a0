//! Mixed traffic through all front ends, with a checker that knows each byte and how old a page may be.
//!
//! Clients ask for pages, a few of them most of the time, whole, in part, by HEAD and with conditions, and purge some now and then. The
//! origin changes a page before each purge. When the bound of the purge is over, no answer may be of an earlier version. While no server
//! can be reached ([`Traffic::cut_off`]), front ends can't hear of each other's purges, so the bound begins at the end of that, when the
//! front ends reach a server again. The same holds for what is purged before they do.

use crate::client::{Answer, Client, in_language};
use crate::fleet::{Fleet, PURGE_BOUND, RETURN_BOUND};
use crate::front_end::Scope;
use crate::page::{self, LANGUAGES};
use kasoku_oracle::random::{Random, hash};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const CLIENTS: u64 = 6;

/// The pages, and how many of them have a tag in common.
const PAGES: u64 = 240;
const GROUPS: u64 = 24;

/// The most mistakes that are kept.
const MISTAKES_MAX: usize = 20;

/// See the [module](self).
pub(crate) struct Traffic<'f> {
    fleet: &'f Fleet,
    targets: Vec<String>,
    state: Mutex<State>,
    seed: u64,
    runs: AtomicU64,
    shared: AtomicU64,
    times: Mutex<Vec<Duration>>,
}

#[derive(Default)]
struct State {
    /// For each page: a version before which no answer may be, and from when on.
    floors: HashMap<String, Vec<(u64, Option<Instant>)>>,
    is_cut_off: bool,
    /// When all front ends reach a server again after that.
    returned: Option<Instant>,
    mistakes: Vec<String>,
}

impl<'f> Traffic<'f> {
    pub(crate) fn of(fleet: &'f Fleet, seed: u64) -> Self {
        let target = |number: u64| {
            let group = number % GROUPS;
            let kind = ["page", "page", "page", "page", "page", "vary", "brief"][(number % 7) as usize];
            let bytes = match number % 40 {
                7 => 1_200_000,
                17 | 27 => 70_000,
                _ => 100 + hash(&[seed, number]) % 5000,
            };
            format!("/{kind}/{bytes}/group-{group}/{number}?group={group}")
        };
        let (targets, state) = ((0..PAGES).map(target).collect(), Mutex::default());
        let (runs, shared, times) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        Self { fleet, targets, state, seed, runs, shared, times }
    }

    /// Sends that many requests.
    pub(crate) fn run(&self, requests: u64) {
        let run = self.runs.fetch_add(1, Relaxed);
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let random = Random::new(hash(&[self.seed, run, number]));
                scope.spawn(move || self.visit(random, requests / CLIENTS));
            }
        });
    }

    /// From now on, front ends hear nothing of each other.
    pub(crate) fn cut_off(&self) {
        let (mut state, now) = (self.state(), Instant::now());
        state.is_cut_off = true;
        for (_, due) in state.floors.values_mut().flatten() {
            *due = due.filter(|due| *due <= now);
        }
    }

    /// They do again.
    pub(crate) fn joined(&self) {
        let mut state = self.state();
        state.is_cut_off = false;
        let due = Instant::now() + RETURN_BOUND;
        state.returned = Some(due);
        for (_, missing) in state.floors.values_mut().flatten().filter(|(_, due)| due.is_none()) {
            *missing = Some(due);
        }
    }

    /// How many answers came from the shared tier since this was asked last.
    pub(crate) fn shared(&self) -> u64 {
        self.shared.swap(0, Relaxed)
    }

    /// How long answers took since this was asked last: at 50 and 99 of 100, and at most.
    pub(crate) fn times(&self) -> [Duration; 3] {
        let mut times = std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort_unstable();
        [50, 99, 100]
            .map(|percent| times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default())
    }

    /// What was wrong so far.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        self.state().mistakes.clone()
    }

    fn visit(&self, mut random: Random, requests: u64) {
        let clients = self.fleet.front_ends.iter().map(|front_end| Client::of(front_end.address()));
        let mut clients: Vec<_> = clients.collect();
        for _ in 0..requests {
            if random.per_mille(12) {
                self.purge(&mut random);
            }
            let target = &self.targets[popular(&mut random, self.targets.len())];
            let client = random.below(clients.len() as u64) as usize;
            if let Err(mistake) = self.ask(&mut clients[client], target, &mut random) {
                self.mistake(format!("front end {client}: {mistake}"));
            }
        }
    }

    fn mistake(&self, mistake: String) {
        let mut state = self.state();
        if state.mistakes.len() < MISTAKES_MAX {
            state.mistakes.push(mistake);
        }
    }

    fn ask(&self, client: &mut Client, target: &str, random: &mut Random) -> Result<(), String> {
        let floor = self.floor(target);
        let language = random.of(&LANGUAGES);
        let shown = if page::varies(target) { language } else { "" };
        let mut fields = in_language(language);
        let (method, first, wanted) = match random.below(25) {
            0 => ("HEAD", 0, 200),
            1 => {
                fields.push_str("Range: bytes=10-89\r\n");
                ("GET", 10, 206)
            }
            2 => {
                fields.push_str(&format!("If-None-Match: \"{}{shown}\"\r\n", self.fleet.origin.version(target)));
                ("GET", 0, 304)
            }
            _ => ("GET", 0, 200),
        };
        let asked = Instant::now();
        let answer = client.ask(method, target, &fields)?;
        self.times.lock().unwrap_or_else(PoisonError::into_inner).push(asked.elapsed());
        if answer.is_shared() {
            self.shared.fetch_add(1, Relaxed);
        }
        let told =
            |what: &str| format!("{method} {target} {language}: {what}: {} {:?}", answer.status, answer.fields.0);
        // A condition that does not hold any more gets the page.
        if answer.status != wanted && !(wanted == 304 && answer.status == 200) {
            return Err(told("status"));
        }
        let version = tagged_version(&answer, shown).ok_or_else(|| told("no tag"))?;
        let newest = self.fleet.origin.version(target);
        if version < floor || version > newest {
            return Err(told(&format!("version {version} where {floor} to {newest} may be")));
        }
        match answer.status {
            200 if method == "GET" => {
                let of = page::version_of(&answer.body, target, language)?;
                if of == version { Ok(()) } else { Err(told(&format!("the body of version {of}"))) }
            }
            206 if answer.body != page::body(target, shown, version)[first..first + 80] => Err(told("another part")),
            _ => Ok(()),
        }
    }

    /// The earliest version that may be seen.
    fn floor(&self, target: &str) -> u64 {
        let now = Instant::now();
        let state = self.state();
        let floors = state.floors.get(target).into_iter().flatten();
        let due = floors.filter(|(_, due)| due.is_some_and(|due| due <= now)).map(|(version, _)| *version);
        due.max().unwrap_or(1)
    }

    fn purge(&self, random: &mut Random) {
        let chosen = &self.targets[popular(random, self.targets.len())];
        let group = chosen.split_once("?group=").map_or("", |(_, group)| group);
        let (directory, _) = chosen.rsplit_once('/').unwrap_or_default();
        let tag = format!("group-{group}");
        let path = format!("{directory}/");
        let front_end = &self.fleet.front_ends[random.below(self.fleet.front_ends.len() as u64) as usize];
        let is_soft = random.percent(30);
        let kind = random.below(50);
        let covered = |target: &&String| match kind {
            0..25 | 35..45 => *target == chosen,
            25..30 => target.starts_with(&path),
            30..35 => target.ends_with(&format!("?group={group}")),
            _ => true,
        };
        let covered: Vec<_> = self.targets.iter().filter(covered).collect();
        let mut versions = Vec::new();
        for target in covered {
            let version = match kind {
                35..45 => self.fleet.origin.version(target) + 1,
                _ => self.fleet.origin.change(target),
            };
            versions.push((target.clone(), version));
        }
        match kind {
            0..25 => front_end.purge(Scope::Key(chosen), is_soft),
            25..30 => front_end.purge(Scope::Prefix(&path), is_soft),
            30..35 => front_end.purge(Scope::Tag(&tag), is_soft),
            35..45 => {
                let answer = front_end.ask("POST", chosen, "Content-Length: 0\r\n");
                if answer.status != 200 {
                    self.mistake(format!("POST {chosen}: {}", answer.status));
                }
            }
            45..49 => front_end.purge(Scope::Site, is_soft),
            _ => front_end.purge(Scope::All, is_soft),
        }
        let mut state = self.state();
        let due = Some(Instant::now() + PURGE_BOUND).max(state.returned).filter(|_| !state.is_cut_off);
        for (target, version) in versions {
            state.floors.entry(target).or_default().push((version, due));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of so many, the first ones most of the time.
fn popular(random: &mut Random, count: usize) -> usize {
    let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
    ((count as f64).powf(share) as usize).min(count) - 1
}

/// The version that the origin's tag names.
fn tagged_version(answer: &Answer, language: &str) -> Option<u64> {
    answer.fields.only("etag")?.strip_prefix('"')?.strip_suffix('"')?.strip_suffix(language)?.parse().ok()
}
