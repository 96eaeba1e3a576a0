//! One segment of a short address: literals and placeholders, and what of a path's segment each placeholder takes.
//!
//! A placeholder takes as much as leaves a way for the rest, which is what a greedy group of a regular expression does. To find that without
//! trying all ways, it is first worked out from the end to the beginning where each placeholder may end ([`Segment::ends`]). That takes a
//! step for each byte and placeholder. Segments with one placeholder, which nearly all are, need none of it.

use std::iter;
use std::ops::Range;

/// What a placeholder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Any,
    Digits,
    Alnum,
    Word,
    Id,
}

/// A literal, then placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    /// What stands before the first placeholder, or all of it; without percent-encoding, as all literals here.
    pub(super) prefix: Vec<u8>,
    pub(super) placeholders: Vec<Placeholder>,
}

/// A placeholder, and the literal behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Placeholder {
    pub(super) kind: Kind,
    pub(super) behind: Vec<u8>,
}

impl Kind {
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

impl Segment {
    /// What of `text` each placeholder takes; `None`: the segment does not fit.
    pub(super) fn filled_by(&self, text: &[u8]) -> Option<Vec<Range<usize>>> {
        let start = self.prefix.len();
        let rest = text.strip_prefix(&*self.prefix)?;
        match &*self.placeholders {
            [] => rest.is_empty().then(Vec::new),
            [only] => {
                let taken = rest.strip_suffix(&*only.behind)?.len();
                (taken > 0 && only.kind.run(rest) >= taken).then(|| iter::once(start..start + taken).collect())
            }
            _ => self.longest(text),
        }
    }

    /// [`Segment::filled_by`] for several placeholders.
    fn longest(&self, text: &[u8]) -> Option<Vec<Range<usize>>> {
        let mut start = self.prefix.len();
        let mut ranges = Vec::with_capacity(self.placeholders.len());
        for (placeholder, ends) in self.placeholders.iter().zip(self.ends(text)) {
            let run = placeholder.kind.run(text.get(start..)?);
            let end = (start + 1..=start + run).rev().find(|end| ends.get(*end) == Some(&true))?;
            ranges.push(start..end);
            start = end + placeholder.behind.len();
        }
        Some(ranges)
    }

    /// For each placeholder and each place in `text`, whether the placeholder may end there: its literal follows, and behind that all
    /// that is left of the segment fits.
    fn ends(&self, text: &[u8]) -> Vec<Vec<bool>> {
        // Where what is left of the segment fits. At first nothing is left, which fits the end alone.
        let mut fits: Vec<bool> = (0..=text.len()).map(|at| at == text.len()).collect();
        let mut all = Vec::with_capacity(self.placeholders.len());
        for Placeholder { kind, behind } in self.placeholders.iter().rev() {
            let follows = |at| text.get(at..).is_some_and(|rest| rest.starts_with(behind));
            let ends = |at| follows(at) && fits.get(at + behind.len()) == Some(&true);
            let ends: Vec<bool> = (0..=text.len()).map(ends).collect();
            let mut may_begin = false;
            fits = vec![false; text.len() + 1];
            let next_ends = ends.iter().skip(1);
            for ((byte, next_ends), fits) in text.iter().zip(next_ends).zip(&mut fits).rev() {
                may_begin = kind.takes(*byte) && (may_begin || *next_ends);
                *fits = may_begin;
            }
            all.push(ends);
        }
        all.reverse();
        all
    }
}
