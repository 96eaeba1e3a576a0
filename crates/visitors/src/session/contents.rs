//! Tracks content of anonymous sessions that pages show (a cart, the password of one post): which pages show it, and until when.
//!
//! A pattern of the configuration names the pages (`session.stateful-urls`); the table keeps a hash of the pattern. Content without
//! a pattern is shown by all pages. If a session has more kinds of content than there is room for, all pages are taken to show all
//! of it. That only costs hits.

use kasoku_options::{StatefulUrl, UrlPattern};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Kinds of content in one session.
const KINDS_MAX: usize = 3;

/// The pages that show a kind of content, hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownBy(u64);

impl ShownBy {
    /// All pages.
    pub const ALL: Self = Self(0);

    /// The pages that show what a request to `url` leaves in a session.
    pub fn of(url: &StatefulUrl) -> Self {
        let Some(pages) = &url.shown_by else { return Self::ALL };
        // The hash has no seed, so it is the same for each worker and rule.
        let mut hasher = DefaultHasher::new();
        pages.hash(&mut hasher);
        Self(hasher.finish().max(1))
    }
}

/// The content of one session.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionContents([StateEntry; KINDS_MAX]);

#[derive(Clone, Copy, Debug, Default)]
struct StateEntry {
    shown_by: ShownBy,
    /// Until when the content is there, in milliseconds. At or before now: the entry is free.
    until_ms: u64,
}

impl SessionContents {
    /// Adds content that stays until `until_ms` at least.
    pub fn add(&mut self, shown_by: ShownBy, until_ms: u64, now_ms: u64) {
        let is_of = |state: &StateEntry| state.until_ms > now_ms && state.shown_by == shown_by;
        let Self(states) = self;
        let place = states.iter().position(is_of).or_else(|| states.iter().position(|state| state.until_ms <= now_ms));
        match place.and_then(|place| states.get_mut(place)) {
            Some(state) if state.until_ms > now_ms => state.until_ms = state.until_ms.max(until_ms),
            Some(state) => *state = StateEntry { shown_by, until_ms },
            None => {
                let latest = states.iter().map(|state| state.until_ms).fold(until_ms, u64::max);
                *states = [
                    StateEntry { shown_by: ShownBy::ALL, until_ms: latest },
                    StateEntry::default(),
                    StateEntry::default(),
                ];
            }
        }
    }

    /// Adds the content of `other`.
    pub fn join(&mut self, other: &Self, now_ms: u64) {
        let Self(others) = other;
        for state in others.iter().filter(|state| state.until_ms > now_ms) {
            self.add(state.shown_by, state.until_ms, now_ms);
        }
    }

    /// Whether some of the content is shown by all pages, or by pages that `shows` accepts.
    pub fn is_shown(&self, now_ms: u64, mut shows: impl FnMut(ShownBy) -> bool) -> bool {
        let Self(states) = self;
        let is_there = |state: &&StateEntry| state.until_ms > now_ms;
        states.iter().filter(is_there).any(|state| state.shown_by == ShownBy::ALL || shows(state.shown_by))
    }
}

/// Whether a page shows content of that kind. `fits` says whether the page's URL fits a pattern. If the rules no longer have that
/// kind, the page is taken to show it.
pub fn is_shown_by(rules: &[StatefulUrl], kind: ShownBy, mut fits: impl FnMut(&UrlPattern) -> bool) -> bool {
    let mut of_kind = rules.iter().filter(|url| ShownBy::of(url) == kind).filter_map(|url| url.shown_by.as_ref());
    of_kind.next().is_none_or(&mut fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(shown_by: Option<&str>) -> StatefulUrl {
        StatefulUrl { url: UrlPattern::parse("/x").unwrap(), shown_by: shown_by.and_then(UrlPattern::parse) }
    }

    #[test]
    fn what_is_in_a_session_is_shown_by_its_pages_for_its_time() {
        let rules = [url(Some("/shop/*")), url(None), url(Some("/board/*"))];
        let [shop, all, board] = [&rules[0], &rules[1], &rules[2]].map(ShownBy::of);
        let shown = |states: &SessionContents, path: &str, now_ms| {
            let fits = |pattern: &UrlPattern| pattern.to_string().trim_end_matches('*') == path;
            states.is_shown(now_ms, |kind| is_shown_by(&rules, kind, fits))
        };
        let mut states = SessionContents::default();
        states.add(shop, 10, 0);
        assert!(shown(&states, "/shop/", 9) && !shown(&states, "/shop/", 10) && !shown(&states, "/board/", 9));
        states.add(shop, 5, 0);
        assert!(shown(&states, "/shop/", 9), "the later end counts");
        states.add(board, 20, 0);
        assert!(shown(&states, "/board/", 19) && !shown(&states, "/", 9));
        states.add(all, 15, 0);
        assert!(shown(&states, "/", 14) && !shown(&states, "/", 15) && shown(&states, "/board/", 15));
    }

    #[test]
    fn of_too_many_kinds_all_pages_show_all() {
        let mut states = SessionContents::default();
        let kinds = ["/a*", "/b*", "/c*", "/d*"].map(|pattern| ShownBy::of(&url(Some(pattern))));
        for (number, kind) in kinds.into_iter().enumerate() {
            states.add(kind, 10 + number as u64, 0);
        }
        assert!(states.is_shown(12, |_| false) && !states.is_shown(13, |_| true));
    }

    #[test]
    fn what_no_rule_knows_by_now_is_shown_by_all() {
        let kind = ShownBy::of(&url(Some("/old/*")));
        assert!(is_shown_by(&[url(Some("/shop/*"))], kind, |_| false));
    }
}
