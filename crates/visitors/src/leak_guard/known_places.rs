//! What is known of the places of a URL pattern: which hold a value that is the same for all, and which a token.
//!
//! A page is stored if each of its places is known to hold no token. A place that no comparison has seen is compared first. A value that a
//! request sends back, by its name, may be the same for all and yet hold for a minute only. So such a page is shared once its value
//! has been the same for longer than that.

use kasoku_semantics::difference::{Difference, FoundPlace, Place};
use std::collections::{HashMap, HashSet};

/// The most places that are known of one pattern. Pages with further ones are compared each time.
const PLACES_MAX: usize = 256;

/// How long a value that a request sends back has to be the same before its page is shared, in milliseconds.
const HELD_MS: u64 = 70_000;

/// How long a page is waited for that shows such a value again, before another page takes its part, in milliseconds.
const FORGOTTEN_MS: u64 = 300_000;

/// How many pages of a pattern are compared at most because they have elements of other kinds, and how many kinds are known.
const COMPARED_MAX: u32 = 4;
const KINDS_MAX: usize = 1024;

/// On how many pages a value that a request sends back is compared if it differs from page to page.
const PAGES_MIN: u8 = 3;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct KnownPlaces {
    places: HashMap<u64, KnownPlace>,
    /// The kinds of elements of the pages that were compared.
    kinds: HashSet<u64>,
    /// How many pages were compared in full.
    compared: u32,
    /// The last difference in a place that holds a token.
    pub(crate) token: Option<Difference>,
}

#[derive(Clone, Copy)]
enum KnownPlace {
    /// The looks at a page found one value.
    Constant(Constant),
    /// Its value changes, or belongs to a visitor.
    Token,
}

#[derive(Clone, Copy)]
struct Constant {
    value: u64,
    /// The page that showed the value.
    page: u64,
    since_ms: u64,
    /// The value has been the same for long enough.
    is_confirmed: bool,
    /// On how many pages the value was the same for all.
    pages: u8,
}

/// What the places of a page say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageReview {
    /// The page has no token.
    Fine,
    /// The page has a token.
    Token,
    /// A value that a request sends back may hold for a minute only.
    Unconfirmed,
    /// These places have not been compared.
    Unknown(Vec<u64>),
    /// The page has to be compared itself: it is the second one of its pattern, or has elements of kinds that no compared page had.
    Uncompared,
}

impl KnownPlaces {
    /// Reviews a page by its places.
    pub(crate) fn review(&mut self, places: &[Place], page: u64, now_ms: u64) -> PageReview {
        let (mut unknown, mut is_unconfirmed) = (Vec::new(), false);
        for place in places {
            match self.places.get_mut(&place.key) {
                None => unknown.push(place.key),
                Some(KnownPlace::Token) => return PageReview::Token,
                Some(KnownPlace::Constant(_)) if !place.is_sent_back => {}
                Some(known @ KnownPlace::Constant(_)) => match known.see(place.value, page, now_ms) {
                    PageReview::Token => return PageReview::Token,
                    PageReview::Unconfirmed => is_unconfirmed = true,
                    PageReview::Unknown(_) => unknown.push(place.key),
                    PageReview::Fine | PageReview::Uncompared => {}
                },
            }
        }
        match unknown {
            unknown if !unknown.is_empty() => PageReview::Unknown(unknown),
            _ if is_unconfirmed => PageReview::Unconfirmed,
            _ => PageReview::Fine,
        }
    }

    /// Whether a page has elements of kinds that no compared page had.
    pub(crate) fn has_other_kinds(&self, kinds: &[u64]) -> bool {
        self.compared < COMPARED_MAX && kinds.iter().any(|kind| !self.kinds.contains(kind))
    }

    /// Takes in the kinds of elements of a page that was compared in full.
    pub(crate) fn has_compared(&mut self, kinds: &[u64]) {
        self.compared = self.compared.saturating_add(1);
        let room = KINDS_MAX.saturating_sub(self.kinds.len());
        self.kinds.extend(kinds.iter().take(room));
    }

    /// Takes in what a comparison of a page has found.
    pub(crate) fn learn(&mut self, found: &[FoundPlace], page: u64, now_ms: u64) {
        for one in found {
            if let Some(difference) = &one.difference {
                self.token = Some(difference.clone());
            }
            let has_room = self.places.len() < PLACES_MAX;
            match (self.places.get_mut(&one.key), one.value) {
                (Some(KnownPlace::Constant(known)), Some(value)) => {
                    if value != known.value {
                        known.pages = known.pages.saturating_add(1);
                    }
                }
                (Some(KnownPlace::Token), Some(_)) => {}
                (Some(known), None) => *known = KnownPlace::Token,
                (None, value) if has_room => {
                    let constant = |value| Constant { value, page, since_ms: now_ms, is_confirmed: false, pages: 1 };
                    let known = value.map_or(KnownPlace::Token, |value| KnownPlace::Constant(constant(value)));
                    self.places.insert(one.key, known);
                }
                (None, _) => {}
            }
        }
    }
}

impl KnownPlace {
    /// What a value that a request sends back says of its page.
    fn see(&mut self, value: u64, page: u64, now_ms: u64) -> PageReview {
        let Self::Constant(known) = self else { return PageReview::Token };
        let (is_same, age_ms) = (value == known.value, now_ms.saturating_sub(known.since_ms));
        if known.is_confirmed {
            return if is_same || known.pages >= PAGES_MIN {
                PageReview::Fine
            } else {
                PageReview::Unknown(Vec::new())
            };
        }
        if is_same && age_ms >= HELD_MS {
            known.is_confirmed = true;
            return PageReview::Fine;
        }
        if !is_same && page == known.page {
            *self = Self::Token;
            return PageReview::Token;
        }
        if !is_same && age_ms >= FORGOTTEN_MS {
            *known = Constant { value, page, since_ms: now_ms, ..*known };
        }
        PageReview::Unconfirmed
    }
}
