//! A table of URL patterns with two bounds: one for all patterns, one for the patterns of a rule.
//!
//! Clients choose URLs, and each set of parameters is a pattern, so a client can fill the table. A full rule takes no room from
//! other rules. After an hour without a request, a verified pattern makes room, and so does a blocked one that should have been
//! compared again long ago.
//!
//! A pattern that has no room is stored under the key of its rule, together with all others of that rule that have none.

use crate::leak_guard::known_places::KnownPlaces;
use crate::leak_guard::pattern_verdict::{Blocked, Verified};
use crate::leak_guard::second_page::SecondPage;
use crate::leak_guard::{PatternVerdict, Pending};
use crate::pattern::Pattern;
use crate::soft_errors::GoodPages;
use std::collections::HashMap;
use std::sync::Arc;

/// Patterns in the table, besides one for each rule that stands for those without room.
pub(crate) const PATTERNS_MAX: usize = 4096;

/// Patterns of one rule in the table.
pub(crate) const PATTERNS_OF_RULE_MAX: usize = 1024;

/// A pattern that no miss has used for so long makes room for others, in milliseconds.
pub(crate) const IDLE_MS: u64 = 60 * 60_000;

/// The shortest time between two sweeps, in milliseconds.
const SWEEP_MS: u64 = 60_000;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct GuardedPatterns {
    patterns: HashMap<String, GuardEntry>,
    /// The number of patterns of each rule, by the rule's key.
    of_rules: HashMap<String, usize>,
    swept_ms: u64,
}

/// What is known of one pattern.
pub(crate) struct GuardEntry {
    /// The pattern's name for people.
    pub(crate) shown: String,
    pub(crate) state: PatternState,
    /// What is known of the places of its pages.
    pub(crate) places: KnownPlaces,
    good_pages: GoodPages,
    second_page: SecondPage,
    used_ms: u64,
}

#[derive(Clone)]
pub(crate) enum PatternState {
    /// Its first page is being compared. With the state before.
    Checking(Arc<Pending>, Option<Box<PatternState>>),
    Unneeded,
    Verified(Verified),
    Postponed(Postponed),
    Blocked(Arc<Blocked>),
}

/// A pattern whose comparison is to be repeated.
#[derive(Clone)]
pub(crate) struct Postponed {
    pub(crate) until_ms: u64,
    /// How long it is postponed, in milliseconds.
    pub(crate) period_ms: u64,
    /// What seemed to depend on who asks.
    pub(crate) suspects: Vec<u64>,
    /// The block before.
    pub(crate) blocked: Option<Arc<Blocked>>,
}

impl PatternState {
    /// The block that the last comparison set, even while the pattern is compared again.
    pub(crate) fn blocked(&self) -> Option<&Arc<Blocked>> {
        match self {
            Self::Blocked(blocked) => Some(blocked),
            Self::Postponed(postponed) => postponed.blocked.as_ref(),
            Self::Checking(_, before) => before.as_ref()?.blocked(),
            Self::Unneeded | Self::Verified(_) => None,
        }
    }
}

impl GuardEntry {
    /// Whether the pattern makes room for others.
    fn is_over(&self, now_ms: u64) -> bool {
        let is_idle = now_ms >= self.used_ms.saturating_add(IDLE_MS);
        is_idle
            && match &self.state {
                PatternState::Checking(..) => false,
                PatternState::Unneeded | PatternState::Verified(_) | PatternState::Postponed(_) => true,
                PatternState::Blocked(blocked) => now_ms >= blocked.until_ms.saturating_add(blocked.period_ms),
            }
    }
}

impl GuardedPatterns {
    pub(crate) fn verdict(&mut self, pattern: &Pattern, now_ms: u64) -> PatternVerdict {
        // All patterns of a rule that have no room share one verdict.
        let key = if self.has_place(pattern, now_ms) { pattern.key() } else { pattern.key_of_rule() };
        let Some(known) = self.patterns.get_mut(key) else { return PatternVerdict::Unknown };
        known.used_ms = now_ms;
        match &known.state {
            PatternState::Checking(pending, _) => PatternVerdict::Pending(pending.clone()),
            PatternState::Postponed(postponed) if now_ms < postponed.until_ms => PatternVerdict::Postponed,
            PatternState::Postponed(_) => PatternVerdict::Unknown,
            PatternState::Unneeded => PatternVerdict::Unneeded,
            PatternState::Verified(verified) => PatternVerdict::Verified(*verified),
            PatternState::Blocked(blocked) if now_ms < blocked.until_ms => PatternVerdict::Blocked(blocked.clone()),
            PatternState::Blocked(_) => PatternVerdict::Unknown,
        }
    }

    /// Whether a pattern is in the table, or has room there.
    pub(crate) fn has_place(&mut self, pattern: &Pattern, now_ms: u64) -> bool {
        if self.patterns.contains_key(pattern.key()) || !self.is_full(pattern) {
            return true;
        }
        if now_ms < self.swept_ms.saturating_add(SWEEP_MS) {
            return false;
        }
        self.swept_ms = now_ms;
        self.retain(|_, known| !known.is_over(now_ms));
        !self.is_full(pattern)
    }

    /// Whether the table has no room for one more pattern of the same rule.
    fn is_full(&self, pattern: &Pattern) -> bool {
        let of_rule = self.of_rules.get(pattern.key_of_rule()).copied().unwrap_or(0);
        self.patterns.len() >= PATTERNS_MAX || of_rule >= PATTERNS_OF_RULE_MAX
    }

    pub(crate) fn state(&self, key: &str) -> Option<&PatternState> {
        self.patterns.get(key).map(|known| &known.state)
    }

    pub(crate) fn places(&mut self, key: &str) -> Option<&mut KnownPlaces> {
        self.patterns.get_mut(key).map(|known| &mut known.places)
    }

    pub(crate) fn good_pages(&mut self, key: &str) -> Option<&mut GoodPages> {
        self.patterns.get_mut(key).map(|known| &mut known.good_pages)
    }

    pub(crate) fn second_page(&mut self, key: &str) -> Option<&mut SecondPage> {
        self.patterns.get_mut(key).map(|known| &mut known.second_page)
    }

    pub(crate) fn set(&mut self, key: &str, pattern: &Pattern, state: PatternState, now_ms: u64) {
        let is_own = key == pattern.key();
        let shown = if is_own { pattern.shown.clone() } else { format!("{} and others", pattern.shown) };
        if let Some(known) = self.patterns.get_mut(key) {
            (known.state, known.used_ms) = (state, now_ms);
            return;
        }
        let entry = GuardEntry {
            shown,
            state,
            places: KnownPlaces::default(),
            good_pages: GoodPages::default(),
            second_page: SecondPage::default(),
            used_ms: now_ms,
        };
        self.patterns.insert(key.to_owned(), entry);
        if is_own {
            *self.of_rules.entry(pattern.key_of_rule().to_owned()).or_default() += 1;
        }
    }

    /// Keeps the patterns that `keeps` accepts, by key and entry.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&str, &GuardEntry) -> bool) {
        let Self { patterns, of_rules, .. } = self;
        patterns.retain(|key, known| {
            let is_kept = keeps(key, known);
            if !is_kept {
                uncount(of_rules, key);
            }
            is_kept
        });
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &GuardEntry> {
        self.patterns.values()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }
}

/// Notes that the pattern with that key is gone.
fn uncount(of_rules: &mut HashMap<String, usize>, key: &str) {
    let rule = Pattern::rule_of(key);
    let Some(count) = of_rules.get_mut(rule).filter(|_| rule != key) else { return };
    *count = count.saturating_sub(1);
    if *count == 0 {
        of_rules.remove(rule);
    }
}
