//! Decides what a difference between the looks at a page comes from: from time, or from who asked.
//!
//! Two visitors look twice each, in turn: A, B, A, B. What a difference comes from is in which looks have a thing. A thing of visitor B
//! is in both looks of B and in none of A. A thing that comes and goes with time is in any looks, and where many things come and go, some
//! are in both looks of B by chance: then as many are in other pairs of looks.

/// How a thing differs between the looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// All looks have it.
    Same,
    /// It changes with time.
    Time,
    /// One visitor has it and the other has not.
    Visitor,
    /// Each visitor's first look has it, and the second has not, or the other way round.
    FirstVisit,
}

/// The looks, in their order, as bits of a mask.
pub(super) const A1: u8 = 1;
pub(super) const B1: u8 = 2;
pub(super) const A2: u8 = 4;
pub(super) const B2: u8 = 8;
const ALL: u8 = A1 | B1 | A2 | B2;

/// How much more a pair of looks has of its own than other pairs, if not by chance. Of a list that is drawn at random (3 of 10, 10 of 40),
/// 1 in 10 to 1 in 25 comparisons find more by chance all the same, and so does 1 in 4 of one of two quotations: so what is found counts
/// only if a second comparison finds it again.
const CHANCE: u32 = 3;

/// Things of one place, each with the looks that have it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SplitCounts {
    /// How many things are in exactly these looks, by mask.
    counts: [u32; 16],
    /// How many things each look has.
    sizes: [u32; 4],
}

impl SplitCounts {
    /// Counts a thing that the looks of `mask` have.
    pub(super) fn add(&mut self, mask: u8) {
        if let Some(count) = self.counts.get_mut(usize::from(mask & ALL)) {
            *count = count.saturating_add(1);
        }
        for (look, size) in self.sizes.iter_mut().enumerate() {
            *size = size.saturating_add(u32::from(mask >> look & 1));
        }
    }

    fn count(&self, mask: u8) -> u32 {
        self.counts.get(usize::from(mask)).copied().unwrap_or(0)
    }

    /// What the differences come from.
    pub(super) fn split(&self) -> Split {
        let all: u32 = self.counts.iter().sum();
        if self.count(ALL) == all {
            return Split::Same;
        }
        let pairs = |one: u8| self.count(one).saturating_add(self.count(ALL ^ one));
        let (visitor, first, crossed) = (pairs(A1 | A2), pairs(A1 | B1), pairs(A1 | B2));
        if self.is_whole(A1 | A2) && visitor > CHANCE * first.max(crossed) {
            Split::Visitor
        } else if self.is_whole(A1 | B1) && first > CHANCE * visitor.max(crossed) {
            Split::FirstVisit
        } else {
            Split::Time
        }
    }

    /// Whether the looks of `one` differ from the other two as a whole: both pairs have something of their own, or the pair that has is larger.
    fn is_whole(&self, one: u8) -> bool {
        let other = ALL ^ one;
        let size = |mask: u8, least: bool| {
            let own = self.sizes.iter().enumerate().filter(|(look, _)| mask >> look & 1 == 1).map(|(_, size)| *size);
            if least { own.min() } else { own.max() }.unwrap_or(0)
        };
        match (self.count(one) > 0, self.count(other) > 0) {
            (true, true) => true,
            (true, false) => size(one, true) > size(other, false),
            (false, true) => size(other, true) > size(one, false),
            (false, false) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The split of the things that four looks have.
    fn split(looks: [&[&str]; 4]) -> Split {
        let mut things: Vec<&str> = looks.iter().flat_map(|look| look.iter().copied()).collect();
        things.sort_unstable();
        things.dedup();
        let mut counts = SplitCounts::default();
        for thing in things {
            let mask = looks.iter().enumerate().filter(|(_, look)| look.contains(&thing)).map(|(at, _)| 1 << at).sum();
            counts.add(mask);
        }
        counts.split()
    }

    #[test]
    fn what_both_looks_of_one_visitor_have_and_no_other_is_the_visitors() {
        assert_eq!(split([&["x"], &["x"], &["x"], &["x"]]), Split::Same);
        assert_eq!(split([&["hello"], &["bonjour"], &["hello"], &["bonjour"]]), Split::Visitor);
        assert_eq!(split([&["x"], &["x", "for B"], &["x"], &["x", "for B"]]), Split::Visitor);
        assert_eq!(split([&["x", "for A"], &["x"], &["x", "for A"], &["x"]]), Split::Visitor);
        assert_eq!(split([&["1"], &["2", "for B"], &["3"], &["4", "for B"]]), Split::Visitor, "beside a quotation");
    }

    #[test]
    fn what_comes_and_goes_is_time() {
        assert_eq!(split([&["1"], &["2"], &["3"], &["4"]]), Split::Time);
        assert_eq!(split([&["1"], &["2"], &["3"], &["2"]]), Split::Time, "a quotation that came twice");
        assert_eq!(split([&["old"], &["old"], &["old"], &["new"]]), Split::Time);
        assert_eq!(split([&["old"], &["new"], &["new"], &["new"]]), Split::Time);
        assert_eq!(split([&["1", "2"], &["2", "3"], &["3", "1"], &["2", "4"]]), Split::Time);
    }

    #[test]
    fn what_a_visitor_sees_once_is_of_a_first_visit() {
        assert_eq!(split([&["welcome"], &["welcome"], &[], &[]]), Split::FirstVisit);
        assert_eq!(split([&["3 left"], &["3 left"], &["2 left"], &["2 left"]]), Split::FirstVisit);
    }
}
