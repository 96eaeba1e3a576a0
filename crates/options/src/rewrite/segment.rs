//! Matches one segment of a short address: literals and placeholders, and the part of a path's segment that each placeholder takes.
//!
//! A placeholder takes as much as it can while the rest still fits, as a greedy group of a regular expression does. To avoid trying
//! all ways, [`Segment::find_places`] first works out, from the end to the beginning, where each placeholder may end. That takes
//! one step for each byte and placeholder. Segments with one placeholder, as nearly all are, don't need it.

use super::PLACEHOLDERS_MAX;
use std::ops::Range;

/// The bytes that a placeholder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PlaceholderKind {
    Any,
    Digits,
    Alnum,
    Word,
    Id,
}

/// A literal, then placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    /// The text before the first placeholder, or the whole segment; without percent-encoding, like all literals here.
    pub(super) prefix: Vec<u8>,
    pub(super) placeholders: Vec<Placeholder>,
}

/// A placeholder, and the literal behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Placeholder {
    pub(super) kind: PlaceholderKind,
    pub(super) behind: Vec<u8>,
}

impl PlaceholderKind {
    /// The name of each in a pattern.
    pub(super) const NAMED: [(&'static str, Self); 4] =
        [("digits", Self::Digits), ("alnum", Self::Alnum), ("word", Self::Word), ("id", Self::Id)];

    fn takes(self, byte: u8) -> bool {
        match self {
            Self::Any => true,
            Self::Digits => byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Id => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
        }
    }

    /// How many bytes it could take at the beginning of `text`.
    fn run(self, text: &[u8]) -> usize {
        text.iter().take_while(|byte| self.takes(**byte)).count()
    }
}

/// The placeholders that may end and that may begin at a position in the text of a segment: a bit of [`BITS`] for each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MatchPosition {
    ends: u8,
    begins: u8,
}

/// A bit for each placeholder.
const BITS: [u8; PLACEHOLDERS_MAX] = [1, 2, 4, 8, 16, 32, 64, 128];

impl Segment {
    /// Calls `take` with the part of `text` that each placeholder takes, in their order; `None`: the segment does not fit.
    /// `places`: memory for several placeholders.
    pub(super) fn fill(
        &self,
        text: &[u8],
        places: &mut Vec<MatchPosition>,
        mut take: impl FnMut(Range<usize>),
    ) -> Option<()> {
        let start = self.prefix.len();
        let rest = text.strip_prefix(&*self.prefix)?;
        match &*self.placeholders {
            [] => rest.is_empty().then_some(()),
            [only] => {
                let taken = rest.strip_suffix(&*only.behind)?.len();
                (taken > 0 && only.kind.run(rest) >= taken).then(|| take(start..start + taken))
            }
            _ => self.fill_several(text, places, take),
        }
    }

    /// [`Segment::fill`] for several placeholders.
    fn fill_several(
        &self,
        text: &[u8],
        places: &mut Vec<MatchPosition>,
        mut take: impl FnMut(Range<usize>),
    ) -> Option<()> {
        self.find_places(text, places);
        let mut start = self.prefix.len();
        for (placeholder, bit) in self.placeholders.iter().zip(BITS) {
            let run = placeholder.kind.run(text.get(start..)?);
            let may_end = |end: &usize| places.get(*end).is_some_and(|place| place.ends & bit != 0);
            let end = (start + 1..=start + run).rev().find(may_end)?;
            take(start..end);
            start = end + placeholder.behind.len();
        }
        Some(())
    }

    /// Works out for each placeholder and each position in `text` whether the placeholder may end there: its literal follows, and
    /// then the rest of the segment fits. And whether it may begin there: it takes the bytes between that position and one where it
    /// may end.
    fn find_places(&self, text: &[u8], places: &mut Vec<MatchPosition>) {
        places.clear();
        places.resize(text.len() + 1, MatchPosition::default());
        let mut next = None;
        for (Placeholder { kind, behind }, bit) in self.placeholders.iter().zip(BITS).rev() {
            let (mut may_begin, mut may_end) = (false, false);
            for at in (0..=text.len()).rev() {
                let rest = text.get(at..).unwrap_or_default();
                may_begin = rest.first().is_some_and(|byte| kind.takes(*byte)) && (may_begin || may_end);
                let after = at + behind.len();
                let fits_after = || match next {
                    None => after == text.len(),
                    Some(next) => places.get(after).is_some_and(|place| place.begins & next != 0),
                };
                may_end = rest.starts_with(behind) && fits_after();
                if let Some(place) = places.get_mut(at) {
                    place.ends |= if may_end { bit } else { 0 };
                    place.begins |= if may_begin { bit } else { 0 };
                }
            }
            next = Some(bit);
        }
    }
}
