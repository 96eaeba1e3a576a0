//! The leak guard's table of URL patterns and their verdicts: shared by all workers, bounded, in memory only.
//!
//! | state | the pages of the pattern |
//! |---|---|
//! | unknown | the guard compares the next one before it is shared |
//! | unneeded | have a lifetime of the application's own, so they are not compared |
//! | pending | are not shared yet: a request waits a while for the verdict |
//! | postponed | are not shared: the comparison had no result, or found what may have been chance; the guard repeats it after ten seconds, then after twice as long each time |
//! | verified | are shared, if they have no token |
//! | blocked | are not shared; compared again after ten minutes, then twice as long each time, at most a day |
//!
//! A state holds for a pattern under its rules: if the rules of its route change, it is another pattern (`guarded_as` of the
//! route). All patterns, and those of each rule, are bounded (`guarded_patterns`). A pattern
//! that has no room has no state of its own: the guard compares each of its pages, and one that differs blocks all patterns of its
//! rule that have no room.

use crate::leak_guard::guarded_patterns::{GuardEntry, GuardedPatterns, PatternState, Postponed};
use crate::leak_guard::pattern_verdict::{Blocked, Verified};
use crate::leak_guard::second_page::{SecondPage, SecondStep};
use crate::leak_guard::{ComparisonResult, DifferenceReport, Finding, PageReview, PatternVerdict, Pending, Read};
use crate::pattern::Pattern;
use crate::soft_errors::{GoodPages, Replaced, Shape, Taken};
use kasoku_semantics::difference::{Difference, FoundPlace};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Comparisons that a process runs at the same time, before pages are shared. Each has up to four pages in memory.
pub const CHECKS_MAX: usize = 16;

/// How long a pattern is blocked at first, and at most, in milliseconds.
const BLOCKED_FIRST_MS: u64 = 10 * 60_000;
const BLOCKED_MAX_MS: u64 = 24 * 60 * 60_000;

/// How long a comparison without a result is postponed at first, and at most, in milliseconds.
const POSTPONED_FIRST_MS: u64 = 10_000;
const POSTPONED_MAX_MS: u64 = 10 * 60_000;

/// The shortest time between two samples in a process, in milliseconds.
const SAMPLE_MS: u64 = 1_000;
/// The shortest time after a sample, as a multiple of its own: with a slow program, samples take at most a hundredth of the time.
const SAMPLE_PAUSE: u64 = 100;

/// See the [module](self).
pub struct Guard {
    table: Mutex<GuardTable>,
    /// How many made-up visitors there were.
    visitors: AtomicU64,
    /// Makes the visitors differ in each process.
    seed: RandomState,
    /// No sample begins before.
    sample_due_ms: AtomicU64,
    is_sampling: AtomicBool,
}

#[derive(Default)]
struct GuardTable {
    known: GuardedPatterns,
    /// Comparisons that have not ended yet.
    checks: usize,
}

/// What the caller does with a page of a pattern.
pub enum GuardStep {
    /// The caller compares the page.
    Check(ComparisonTicket),
    /// The verdict decides.
    Known(PatternVerdict),
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            visitors: AtomicU64::new(0),
            seed: RandomState::new(),
            sample_due_ms: AtomicU64::new(0),
            is_sampling: AtomicBool::new(false),
        }
    }
}

impl Guard {
    /// What is known of a pattern.
    pub fn verdict(&self, pattern: &Pattern, now_ms: u64) -> PatternVerdict {
        self.table().known.verdict(pattern, now_ms)
    }

    /// Begins to compare the first page of a pattern, unless the verdict is known, the pattern is being compared, or too many others are.
    pub fn begin(self: &Arc<Self>, pattern: &Pattern, now_ms: u64) -> GuardStep {
        let mut table = self.table();
        match table.known.verdict(pattern, now_ms) {
            PatternVerdict::Unknown | PatternVerdict::Unneeded => {}
            known => return GuardStep::Known(known),
        }
        if table.checks >= CHECKS_MAX {
            return GuardStep::Known(PatternVerdict::Postponed);
        }
        table.checks += 1;
        let (has_place, pending) = (table.known.has_place(pattern, now_ms), Arc::<Pending>::default());
        let before = table.known.state(pattern.key()).cloned();
        let suspects = match &before {
            Some(PatternState::Postponed(postponed)) => postponed.suspects.clone(),
            _ => Vec::new(),
        };
        if has_place {
            let state = PatternState::Checking(pending.clone(), before.map(Box::new));
            table.known.set(pattern.key(), pattern, state, now_ms);
        }
        let ticket = ComparisonTicket {
            guard: self.clone(),
            pattern: pattern.clone(),
            pending: Some(pending),
            page: None,
            suspects,
            has_place,
            is_done: false,
        };
        GuardStep::Check(ticket)
    }

    /// Begins to compare the second page of a verified pattern; `None`: this page is not it.
    pub fn begin_second(self: &Arc<Self>, pattern: &Pattern, page: &str, now_ms: u64) -> Option<GuardStep> {
        let (mut table, page) = (self.table(), page_hash(page));
        match table.known.second_page(pattern.key())?.step(page, now_ms) {
            SecondStep::Known => return None,
            SecondStep::Pending(pending) => return Some(GuardStep::Known(PatternVerdict::Pending(pending))),
            SecondStep::Compare if table.checks < CHECKS_MAX => {}
            SecondStep::Compare | SecondStep::Postponed => return Some(GuardStep::Known(PatternVerdict::Postponed)),
        }
        table.checks += 1;
        let pending = Arc::<Pending>::default();
        table.known.second_page(pattern.key()).into_iter().for_each(|second| second.begins(page, pending.clone()));
        drop(table);
        Some(GuardStep::Check(self.page_ticket(pattern, page, Some(pending))))
    }

    /// What requests for a page of a verified pattern wait for, if the page is being compared as its second one.
    pub fn pending_second(&self, pattern: &Pattern, page: &str) -> Option<Arc<Pending>> {
        self.table().known.second_page(pattern.key())?.pending(page_hash(page))
    }

    /// Begins to compare a page whose pattern is verified, or places of it; `None`: too many pages are being compared.
    pub fn begin_page(self: &Arc<Self>, pattern: &Pattern, page: &str) -> Option<ComparisonTicket> {
        let mut table = self.table();
        if table.checks >= CHECKS_MAX {
            return None;
        }
        table.checks += 1;
        Some(self.page_ticket(pattern, page_hash(page), None))
    }

    fn page_ticket(self: &Arc<Self>, pattern: &Pattern, page: u64, pending: Option<Arc<Pending>>) -> ComparisonTicket {
        ComparisonTicket {
            guard: self.clone(),
            pattern: pattern.clone(),
            pending,
            page: Some(page),
            suspects: Vec::new(),
            has_place: false,
            is_done: false,
        }
    }

    /// Reviews a page of a verified pattern by its places and the kinds of its elements. `page`: the page's URL.
    pub fn review(&self, pattern: &Pattern, (places, kinds): &Read, page: &str, now_ms: u64) -> PageReview {
        let (mut table, page) = (self.table(), page_hash(page));
        let is_second = match table.known.second_page(pattern.key()) {
            Some(second) => !matches!(second.step(page, now_ms), SecondStep::Known),
            None => return PageReview::Uncompared,
        };
        let Some(known) = table.known.places(pattern.key()) else { return PageReview::Uncompared };
        match known.review(places, page, now_ms) {
            PageReview::Fine | PageReview::Unknown(_) if is_second || known.has_other_kinds(kinds) => {
                PageReview::Uncompared
            }
            review => review,
        }
    }

    /// Takes in that a page was compared in full, and the kinds of its elements.
    pub fn has_compared(&self, pattern: &Pattern, page: &str, kinds: &[u64]) {
        let table = &mut self.table().known;
        if let Some(known) = table.places(pattern.key()) {
            known.has_compared(kinds);
        }
        if let Some(second) = table.second_page(pattern.key()) {
            second.is_compared(page_hash(page));
        }
    }

    /// Takes in what a comparison has found of the places of a page, and reviews the page.
    pub fn learn(&self, pattern: &Pattern, found: &[FoundPlace], page: &str, now_ms: u64) -> PageReview {
        let mut table = self.table();
        if let Some(known) = table.known.places(pattern.key()) {
            known.learn(found, page_hash(page), now_ms);
        }
        drop(table);
        match found {
            found if found.iter().any(|one| one.difference.is_some()) => PageReview::Token,
            found if found.iter().any(|one| one.is_sent_back) => PageReview::Unconfirmed,
            _ => PageReview::Fine,
        }
    }

    /// Takes an answer for a page of the pattern, or for an error. `page`: the page's URL; `replaced`: the stored response that the answer
    /// may replace.
    pub fn take(
        &self,
        pattern: &Pattern,
        page: &str,
        shape: &Shape<'_>,
        replaced: Option<&Replaced>,
        now_ms: u64,
    ) -> Taken {
        let mut table = self.table();
        match table.known.good_pages(pattern.key()) {
            Some(known) => known.take(page_hash(page), shape, replaced, now_ms),
            None => GoodPages::default().take(page_hash(page), shape, replaced, now_ms),
        }
    }

    /// The last difference in a place of the pattern that holds a token.
    pub(crate) fn token(&self, pattern: &Pattern) -> Option<Difference> {
        self.table().known.places(pattern.key())?.token.clone()
    }

    /// Pages of a pattern have been found to differ. `is_shared`: they are shared all the same. Returns the tag of the responses that the
    /// caller must drop otherwise.
    pub fn blocks<'p>(&self, pattern: &'p Pattern, report: DifferenceReport, is_shared: bool, now_ms: u64) -> &'p str {
        let known = &mut self.table().known;
        let key = if known.has_place(pattern, now_ms) { pattern.key() } else { pattern.key_of_rule() };
        let before = known.state(key).and_then(PatternState::blocked);
        let twice = |before: &Arc<Blocked>| before.period_ms.saturating_mul(2).min(BLOCKED_MAX_MS);
        let period_ms = before.map_or(BLOCKED_FIRST_MS, twice);
        let since_ms = before.map_or(now_ms, |before| before.since_ms);
        let until_ms = now_ms.saturating_add(period_ms);
        // Two of its pages will be compared before others are shared.
        if !is_shared && let Some(second) = known.second_page(key) {
            *second = SecondPage::default();
        }
        let blocked = Arc::new(Blocked { since_ms, until_ms, period_ms, is_shared, report });
        known.set(key, pattern, PatternState::Blocked(blocked), now_ms);
        key
    }

    /// All blocked patterns, each with its name for people.
    pub fn blocked(&self, now_ms: u64) -> Vec<(String, Arc<Blocked>)> {
        let table = self.table();
        let mut all: Vec<(String, Arc<Blocked>)> = table
            .known
            .all()
            .filter_map(|known| {
                let blocked = known.state.blocked().filter(|blocked| now_ms < blocked.until_ms)?;
                Some((known.shown.clone(), blocked.clone()))
            })
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Forgets the blocked patterns that `is_meant` accepts by name, so that their next page is compared at once. A name begins
    /// with its host.
    pub fn look_again(&self, is_meant: impl Fn(&str) -> bool) {
        let may_go = |state: &PatternState| !matches!(state, PatternState::Checking(..) | PatternState::Verified(_));
        let is_over = |known: &GuardEntry| may_go(&known.state) && is_meant(&known.shown);
        self.table().known.retain(|_, known| !is_over(known));
    }

    /// Forgets verdicts under rules that hold no more; `marks` are those of the current routes.
    pub fn keep_only(&self, marks: &[Arc<str>]) {
        let is_kept = |key: &str| key.split(' ').nth(1).is_some_and(|mark| marks.iter().any(|one| **one == *mark));
        self.table().known.retain(|key, _| is_kept(key));
    }

    /// Makes the visitor of a pattern the same each time.
    pub fn visitor_seed(&self, pattern: &Pattern) -> u64 {
        self.seed.hash_one(pattern.key())
    }

    /// A number for the next made-up visitor, which no client can predict.
    pub fn next_visitor(&self) -> u64 {
        self.seed.hash_one(self.visitors.fetch_add(1, Ordering::Relaxed))
    }

    /// Permission to sample, if the last sample has ended and was long enough ago.
    pub fn may_sample(self: &Arc<Self>, now_ms: u64) -> Option<Sampling> {
        let is_due = now_ms >= self.sample_due_ms.load(Ordering::Relaxed);
        let is_free = is_due && !self.is_sampling.swap(true, Ordering::AcqRel);
        is_free.then(|| {
            self.sample_due_ms.store(now_ms.saturating_add(SAMPLE_MS), Ordering::Relaxed);
            Sampling { guard: self.clone(), begun_ms: now_ms }
        })
    }

    fn table(&self) -> MutexGuard<'_, GuardTable> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a table that can be read.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of a page in what is known of places.
fn page_hash(page: &str) -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(page)
}

/// The duty to compare a page. If dropped, the comparison had no result, and is postponed.
pub struct ComparisonTicket {
    guard: Arc<Guard>,
    pattern: Pattern,
    /// The requests that wait, where the page is the first or the second of its pattern.
    pending: Option<Arc<Pending>>,
    /// The page, where its pattern is verified already.
    page: Option<u64>,
    suspects: Vec<u64>,
    has_place: bool,
    is_done: bool,
}

impl ComparisonTicket {
    /// The pattern.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Makes the visitor of a pattern the same each time.
    pub fn visitor_seed(&self) -> u64 {
        self.guard.visitor_seed(&self.pattern)
    }

    /// The page has come, after so many milliseconds: requests that wait do not wait longer than that.
    pub fn page_took(&self, ms: u64) {
        self.pending.iter().for_each(|pending| pending.took(ms));
    }

    /// What the requests wait for that come meanwhile; `None`: they wait for the page.
    pub fn pending(&self) -> Option<Arc<Pending>> {
        self.pending.clone()
    }

    /// What a comparison says of the page, with the comparisons before.
    pub fn finding(&self, found: &ComparisonResult) -> Finding {
        found.finding(&self.suspects)
    }

    /// Whether the page's pattern is verified already.
    pub fn is_of_page(&self) -> bool {
        self.page.is_some()
    }

    /// The page is the same for all visitors.
    pub fn verified(mut self, account_is_logged_out: bool, now_ms: u64) {
        self.is_done = true;
        if self.has_place {
            let state = PatternState::Verified(Verified { since_ms: now_ms, account_is_logged_out });
            self.guard.table().known.set(self.pattern.key(), &self.pattern, state, now_ms);
        }
    }

    /// The application itself gave the page a lifetime. A second page need not be compared then: each miss would cost two requests.
    pub fn has_own_lifetime(self, now_ms: u64) {
        if let Some((page, second)) = self.page.zip(self.guard.table().known.second_page(self.pattern.key())) {
            second.is_compared(page);
        }
        self.unneeded(now_ms);
    }

    /// The page is not shared, or no client's request decides about it.
    pub fn unneeded(mut self, now_ms: u64) {
        self.is_done = true;
        if self.has_place {
            self.guard.table().known.set(self.pattern.key(), &self.pattern, PatternState::Unneeded, now_ms);
        }
    }

    /// Something seems to depend on who asks: a second comparison decides.
    pub fn suspects(mut self, things: Vec<u64>, now_ms: u64) {
        self.is_done = true;
        self.postpone(things, Some(now_ms));
    }

    /// The comparison had no result.
    pub fn failed(mut self, now_ms: u64) {
        self.is_done = true;
        let suspects = std::mem::take(&mut self.suspects);
        self.postpone(suspects, Some(now_ms));
    }

    /// Postpones the comparison, unless the pattern was forgotten meanwhile. `now_ms`: `None` if the comparison was cut off, by a worker
    /// that ends; then the next page is compared.
    fn postpone(&self, suspects: Vec<u64>, now_ms: Option<u64>) {
        let mut table = self.guard.table();
        if let Some((page, second)) = self.page.zip(table.known.second_page(self.pattern.key())) {
            second.ends(page, now_ms);
        }
        let before = match table.known.state(self.pattern.key()) {
            Some(PatternState::Checking(_, before)) if self.has_place => before.clone(),
            _ => return,
        };
        let period_ms = match before.as_deref() {
            Some(PatternState::Postponed(before)) => before.period_ms.saturating_mul(2).min(POSTPONED_MAX_MS),
            _ => POSTPONED_FIRST_MS,
        };
        let blocked = before.as_ref().and_then(|state| state.blocked()).cloned();
        let until_ms = now_ms.map_or(0, |now_ms| now_ms.saturating_add(period_ms));
        let state = PatternState::Postponed(Postponed { until_ms, period_ms, suspects, blocked });
        table.known.set(self.pattern.key(), &self.pattern, state, now_ms.unwrap_or(0));
    }

    /// The page differs by visitor. `is_shared`: it is shared all the same. Returns the tag of the responses that the caller must drop
    /// otherwise.
    pub fn blocked(mut self, report: DifferenceReport, is_shared: bool, now_ms: u64) -> String {
        self.is_done = true;
        self.guard.blocks(&self.pattern, report, is_shared, now_ms).to_owned()
    }
}

impl Drop for ComparisonTicket {
    fn drop(&mut self) {
        if !self.is_done {
            self.postpone(Vec::new(), None);
        }
        let mut table = self.guard.table();
        table.checks = table.checks.saturating_sub(1);
        if let Some((page, second)) = self.page.zip(table.known.second_page(self.pattern.key())) {
            second.ends(page, None);
        }
        drop(table);
        self.pending.iter().for_each(|pending| pending.ends());
    }
}

/// The permission for one sample at a time.
pub struct Sampling {
    guard: Arc<Guard>,
    begun_ms: u64,
}

impl Sampling {
    /// The sample has ended. The longer it took, the later is the next one.
    pub fn ended(self, now_ms: u64) {
        let pause_ms = now_ms.saturating_sub(self.begun_ms).saturating_mul(SAMPLE_PAUSE);
        self.guard.sample_due_ms.store(now_ms.saturating_add(pause_ms.max(SAMPLE_MS)), Ordering::Relaxed);
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.guard.is_sampling.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leak_guard::guarded_patterns::{IDLE_MS, PATTERNS_MAX, PATTERNS_OF_RULE_MAX};
    use kasoku_semantics::difference::DifferencePlace;

    #[test]
    fn samples_of_a_slow_program_take_a_hundredth_of_the_time() {
        let guard = Arc::new(Guard::default());
        let sample = guard.may_sample(5_000).unwrap();
        assert!(guard.may_sample(60_000).is_none(), "one at a time");
        sample.ended(7_000);
        assert!(guard.may_sample(206_999).is_none());
        guard.may_sample(207_000).unwrap().ended(207_000);
        assert!(guard.may_sample(207_999).is_none());
        assert!(guard.may_sample(208_000).is_some());
    }

    fn pattern(shown: &str) -> Pattern {
        of_rule("0a", shown)
    }

    fn of_rule(mark: &str, shown: &str) -> Pattern {
        let tags = [format!("guarded {mark} {shown}"), format!("guarded {mark}")];
        Pattern { shown: shown.to_owned(), tags }
    }

    fn guard() -> Arc<Guard> {
        Arc::new(Guard::default())
    }

    fn ticket(guard: &Arc<Guard>, pattern: &Pattern, now_ms: u64) -> ComparisonTicket {
        match guard.begin(pattern, now_ms) {
            GuardStep::Check(ticket) => ticket,
            GuardStep::Known(known) => panic!("{known:?}"),
        }
    }

    fn word(guard: &Arc<Guard>, pattern: &Pattern, now_ms: u64) -> &'static str {
        match guard.verdict(pattern, now_ms) {
            PatternVerdict::Unknown => "unknown",
            PatternVerdict::Unneeded => "unneeded",
            PatternVerdict::Pending(_) => "pending",
            PatternVerdict::Postponed => "postponed",
            PatternVerdict::Verified(_) => "verified",
            PatternVerdict::Blocked(_) => "blocked",
        }
    }

    fn is_blocked(guard: &Arc<Guard>, pattern: &Pattern, now_ms: u64) -> bool {
        matches!(guard.verdict(pattern, now_ms), PatternVerdict::Blocked(_))
    }

    #[test]
    fn one_looks_and_all_know_what_is_found() {
        let (guard, page) = (guard(), pattern("/a"));
        assert_eq!(word(&guard, &page, 0), "unknown");
        let own = ticket(&guard, &page, 0);
        assert!(matches!(guard.begin(&page, 0), GuardStep::Known(PatternVerdict::Pending(_))));
        assert_eq!(word(&guard, &pattern("/b"), 0), "unknown");
        own.failed(0);
        assert_eq!(word(&guard, &page, POSTPONED_FIRST_MS - 1), "postponed");
        assert_eq!(word(&guard, &page, POSTPONED_FIRST_MS), "unknown");
        let now_ms = POSTPONED_FIRST_MS;
        ticket(&guard, &page, now_ms).failed(now_ms);
        assert_eq!(word(&guard, &page, now_ms + 2 * POSTPONED_FIRST_MS - 1), "postponed", "longer each time");
        ticket(&guard, &page, now_ms + 2 * POSTPONED_FIRST_MS).verified(false, 6);
        assert!(matches!(guard.begin(&page, 7), GuardStep::Known(PatternVerdict::Verified(_))));
    }

    #[test]
    fn what_is_found_once_may_be_chance_and_what_is_found_again_is_not() {
        let found = |things: &[u64]| ComparisonResult { things: things.to_vec(), ..ComparisonResult::default() };
        let (guard, page) = (guard(), pattern("/a"));
        let first = ticket(&guard, &page, 0);
        assert_ne!(first.finding(&found(&[1, 2])), Finding::OfVisitors);
        first.suspects(vec![1, 2], 0);
        let second = ticket(&guard, &page, POSTPONED_FIRST_MS);
        assert_eq!(second.finding(&found(&[2])), Finding::OfVisitors);
        assert_eq!(second.finding(&found(&[3])), Finding::Nothing);
    }

    #[test]
    fn an_order_is_found_three_times_before_it_counts() {
        let differences =
            vec![Difference { place: DifferencePlace::Head, anonymous: String::new(), visitors: String::new() }];
        let report = DifferenceReport { is_of_account: false, differences };
        let found = |has_order| ComparisonResult { report: report.clone(), has_order, ..ComparisonResult::default() };
        let (guard, page, mut now_ms) = (guard(), pattern("/a"), 0);
        for period_ms in [POSTPONED_FIRST_MS, 2 * POSTPONED_FIRST_MS] {
            let own = ticket(&guard, &page, now_ms);
            let Finding::Open(suspects) = own.finding(&found(true)) else { panic!("not open") };
            own.suspects(suspects, now_ms);
            now_ms += period_ms;
        }
        let last = ticket(&guard, &page, now_ms);
        assert_eq!(last.finding(&found(true)), Finding::OfVisitors);
        assert_eq!(last.finding(&found(false)), Finding::Nothing, "it was chance");
    }

    #[test]
    fn a_page_with_a_lifetime_of_its_own_says_nothing_of_others() {
        let (guard, page) = (guard(), pattern("/a"));
        ticket(&guard, &page, 0).unneeded(0);
        assert_eq!(word(&guard, &page, 1), "unneeded");
        ticket(&guard, &page, 1).verified(false, 1);
        assert_eq!(word(&guard, &page, 2), "verified");
    }

    #[test]
    fn no_more_pages_are_compared_at_a_time_than_there_is_a_bound_for() {
        let guard = guard();
        let numbered = |number: usize| pattern(&format!("/{number}"));
        let mut duties: Vec<ComparisonTicket> =
            (0..CHECKS_MAX).map(|number| ticket(&guard, &numbered(number), 0)).collect();
        let other = numbered(CHECKS_MAX);
        let is_pending = || matches!(guard.begin(&other, 0), GuardStep::Known(PatternVerdict::Postponed));
        assert!(is_pending() && is_pending());
        for way in 0..3 {
            let done = duties.pop().unwrap();
            match way {
                0 => done.verified(false, 0),
                1 => drop(done.blocked(DifferenceReport::default(), false, 0)),
                _ => drop(done),
            }
            duties.push(ticket(&guard, &numbered(100 + way), 0));
            assert!(is_pending(), "each place is given back once");
        }
        drop(duties);
        ticket(&guard, &other, 0).verified(false, 0);
    }

    #[test]
    fn what_differs_is_looked_at_again_later_and_later() {
        let (guard, page) = (guard(), pattern("/a"));
        let mut now_ms = 1000;
        let mut periods = Vec::new();
        for _ in 0..10 {
            assert_eq!(ticket(&guard, &page, now_ms).blocked(DifferenceReport::default(), false, now_ms), page.key());
            let PatternVerdict::Blocked(blocked) = guard.verdict(&page, now_ms) else { panic!("not blocked") };
            assert_eq!(blocked.since_ms, 1000);
            periods.push((blocked.until_ms - now_ms) / 60_000);
            now_ms = blocked.until_ms;
            // Without a result, the block lasts as long as before.
            ticket(&guard, &page, now_ms).failed(now_ms);
            now_ms += POSTPONED_FIRST_MS;
        }
        assert_eq!(periods, [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440]);
        ticket(&guard, &page, now_ms).verified(false, now_ms);
        assert_eq!(guard.blocks(&page, DifferenceReport::default(), false, now_ms), page.key());
        assert!(is_blocked(&guard, &page, now_ms) && !is_blocked(&guard, &page, now_ms + BLOCKED_FIRST_MS));
        assert_eq!(guard.blocked(now_ms).len(), 1);
        assert_eq!(guard.blocked(now_ms + BLOCKED_FIRST_MS).len(), 0);
    }

    #[test]
    fn what_does_not_fit_is_looked_at_each_time_and_blocks_all_that_does_not_fit() {
        let (guard, known) = (guard(), pattern("/0"));
        (0..PATTERNS_OF_RULE_MAX)
            .for_each(|number| ticket(&guard, &pattern(&format!("/{number}")), 0).verified(false, 0));
        let (one, other) = (pattern("/x"), pattern("/y"));
        for _ in 0..2 {
            ticket(&guard, &one, 1).verified(false, 1);
        }
        let both = [ticket(&guard, &one, 1), ticket(&guard, &one, 1)];
        assert_eq!(both.map(|ticket| ticket.blocked(DifferenceReport::default(), false, 1))[0], one.key_of_rule());
        assert!(is_blocked(&guard, &one, 2) && is_blocked(&guard, &other, 2) && !is_blocked(&guard, &known, 2));
        assert!(guard.blocked(2)[0].0.starts_with("/x and others"));
        // A pattern that no client has asked for makes room.
        let later_ms = IDLE_MS + 1;
        assert!(matches!(guard.verdict(&known, later_ms - 1), PatternVerdict::Verified(_)));
        ticket(&guard, &other, later_ms).verified(false, later_ms);
        assert!(matches!(guard.verdict(&other, later_ms), PatternVerdict::Verified(_)));
        assert!(matches!(guard.verdict(&known, later_ms), PatternVerdict::Verified(_)), "it was asked for");
        assert!(guard.table().known.len() < 5);
    }

    #[test]
    fn a_table_full_of_blocked_patterns_has_room_again_when_they_are_asked_for_no_more() {
        let (guard, asked) = (guard(), pattern("/0"));
        let fill = |number: usize| {
            drop(ticket(&guard, &pattern(&format!("/{number}")), 0).blocked(DifferenceReport::default(), false, 0))
        };
        (0..PATTERNS_OF_RULE_MAX).for_each(fill);
        let (one, other) = (pattern("/x"), pattern("/y"));
        ticket(&guard, &one, 1).blocked(DifferenceReport::default(), false, 1);
        assert!(is_blocked(&guard, &other, 2), "it has no place");
        // The other stays in the table: it is blocked for longer.
        drop(ticket(&guard, &asked, BLOCKED_FIRST_MS).blocked(DifferenceReport::default(), false, BLOCKED_FIRST_MS));
        let later_ms = 2 * IDLE_MS;
        assert!(!is_blocked(&guard, &asked, later_ms - 1));
        ticket(&guard, &other, later_ms).verified(false, later_ms);
        assert!(matches!(guard.verdict(&other, later_ms), PatternVerdict::Verified(_)));
        assert_eq!(guard.table().known.len(), 2, "the one that was asked for a moment ago, and this one");
    }

    #[test]
    fn a_rule_that_is_full_takes_no_place_from_others() {
        let guard = guard();
        let page = |mark: &str, number: usize| of_rule(mark, &format!("/{number}"));
        (0..2 * PATTERNS_OF_RULE_MAX).for_each(|number| ticket(&guard, &page("0a", number), 0).verified(false, 0));
        ticket(&guard, &page("0a", PATTERNS_OF_RULE_MAX), 0).blocked(DifferenceReport::default(), false, 0);
        assert!(is_blocked(&guard, &page("0a", PATTERNS_OF_RULE_MAX + 1), 0));
        let other = page("0b", 0);
        ticket(&guard, &other, 0).verified(false, 0);
        assert!(matches!(guard.verdict(&other, 0), PatternVerdict::Verified(_)));
        // Patterns of rules that hold no more make room.
        guard.keep_only(&["0b".into()]);
        (0..PATTERNS_OF_RULE_MAX).for_each(|number| drop(ticket(&guard, &page("0a", number), 0)));
        (0..PATTERNS_OF_RULE_MAX).for_each(|number| ticket(&guard, &page("0a", number), 0).verified(false, 0));
        assert!(matches!(guard.verdict(&page("0a", PATTERNS_OF_RULE_MAX - 1), 0), PatternVerdict::Verified(_)));
        // All rules together have a bound, too.
        for mark in ["0c", "0d", "0e", "0f"] {
            (0..PATTERNS_OF_RULE_MAX).for_each(|number| ticket(&guard, &page(mark, number), 0).verified(false, 0));
        }
        assert_eq!(guard.table().known.len(), PATTERNS_MAX);
    }

    #[test]
    fn who_says_so_has_them_looked_at_again() {
        let (guard, page) = (guard(), pattern("a.org/a"));
        let verified = pattern("a.org/b");
        ticket(&guard, &page, 0).blocked(DifferenceReport::default(), false, 0);
        ticket(&guard, &verified, 0).verified(false, 0);
        guard.look_again(|shown| shown.starts_with("b.org/"));
        assert!(is_blocked(&guard, &page, 1));
        guard.look_again(|shown| shown.starts_with("a.org/"));
        assert_eq!(word(&guard, &page, 1), "unknown");
        assert!(matches!(guard.verdict(&verified, 1), PatternVerdict::Verified(_)));
        let again = ticket(&guard, &page, 1);
        guard.look_again(|_| true);
        assert_eq!(word(&guard, &page, 1), "pending", "another request compares already");
        again.blocked(DifferenceReport::default(), false, 1);
        assert!(is_blocked(&guard, &page, 2) && !is_blocked(&guard, &page, 1 + BLOCKED_FIRST_MS), "as the first time");
    }

    #[test]
    fn other_rules_forget() {
        let (guard, page) = (guard(), pattern("/a"));
        ticket(&guard, &page, 0).verified(false, 0);
        guard.keep_only(&["0a".into(), "0b".into()]);
        assert_ne!(word(&guard, &page, 0), "unknown");
        guard.keep_only(&["0b".into()]);
        assert_eq!(word(&guard, &page, 0), "unknown");
        let late = ticket(&guard, &page, 0);
        guard.keep_only(&[]);
        drop(late);
        assert_eq!(word(&guard, &page, 0), "unknown");
    }

    #[test]
    fn samples_are_a_second_apart_and_one_at_a_time() {
        let guard = guard();
        let first = guard.may_sample(0).expect("the first");
        assert!(guard.may_sample(5000).is_none(), "one at a time");
        drop(first);
        assert!(guard.may_sample(500).is_none());
        assert!(guard.may_sample(1001).is_some());
        assert_ne!(guard.next_visitor(), guard.next_visitor());
    }
}
