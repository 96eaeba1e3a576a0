//! What became of objects since a checkpoint, by the log and the journal.

use super::index::Removal;
use super::journal::{JournalContent, Removed};
use super::log::LogContent;
use super::place::Place;
use std::collections::HashMap;

/// The keys are keyed hashes already.
type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Keys of which everything was removed, with the number of the last such removal.
    removed: Map<u64, u64>,
    /// Variants that were stored (with their place) or removed, with the number of the last time.
    variants: Map<(u64, u32), (u64, Option<Place>)>,
}

impl Changes {
    pub(super) fn new(log: LogContent, journal: JournalContent) -> Self {
        let mut changes = Self::default();
        changes.variants.reserve(log.stored.len());
        for (sequence, place) in log.stored {
            changes.note(sequence, (place.hash, place.variant), Some(place));
        }
        for (sequence, removed) in journal.removed {
            match removed {
                Removed::Objects { hash, removal: Removal::Key } => {
                    let last = changes.removed.entry(hash).or_default();
                    *last = sequence.max(*last);
                }
                Removed::Objects { hash, removal: Removal::Variant(variant) } => {
                    changes.note(sequence, (hash, variant as u32), None);
                }
                Removed::Mark(_) => {}
            }
        }
        changes
    }

    /// What comes later counts. An object that was moved has the number that it had.
    fn note(&mut self, sequence: u64, variant: (u64, u32), place: Option<Place>) {
        let last = self.variants.entry(variant).or_insert((sequence, place));
        if sequence >= last.0 {
            *last = (sequence, place);
        }
    }

    /// The places of objects that were stored since the checkpoint, and not removed after that.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Place> {
        self.variants.values().filter_map(|(sequence, place)| {
            let place = place.as_ref()?;
            self.removed.get(&place.hash).is_none_or(|removed| removed < sequence).then_some(place)
        })
    }

    /// Whether the object at a place that is as old as the checkpoint was removed or replaced since then.
    pub(super) fn is_outdated(&self, place: &Place) -> bool {
        self.removed.contains_key(&place.hash) || self.variants.contains_key(&(place.hash, place.variant))
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Location;
    use super::*;

    fn place(hash: u64, variant: u64, segment: u32) -> Place {
        Place::new((hash, variant), Location { segment, offset: 64 }, (64, 64), 0).unwrap()
    }

    fn removed(hash: u64, removal: Removal) -> Removed {
        Removed::Objects { hash, removal }
    }

    #[test]
    fn what_has_the_largest_number_counts_whatever_the_order() {
        let log = LogContent {
            stored: vec![
                (9, place(1, 1, 1)),
                (2, place(1, 2, 1)),
                (4, place(2, 1, 1)),
                // Moved.
                (4, place(2, 1, 2)),
                (5, place(3, 1, 1)),
                (7, place(4, 1, 1)),
            ],
            ..LogContent::default()
        };
        let journal = JournalContent {
            removed: vec![
                (8, removed(1, Removal::Key)),
                (3, removed(1, Removal::Key)),
                (6, removed(3, Removal::Variant(1))),
                (1, removed(4, Removal::Variant(1))),
                (1, removed(5, Removal::Key)),
            ],
            ..JournalContent::default()
        };
        let changes = Changes::new(log, journal);
        let mut stored: Vec<_> = changes.stored().map(|place| (place.hash, place.variant, place.segment)).collect();
        stored.sort_unstable();
        assert_eq!(stored, [(1, 1, 1), (2, 1, 2), (4, 1, 1)]);
        for (hash, variant, is_outdated) in
            [(1, 3, true), (2, 1, true), (2, 2, false), (3, 1, true), (3, 2, false), (5, 9, true), (6, 1, false)]
        {
            assert_eq!(changes.is_outdated(&place(hash, variant, 1)), is_outdated, "{hash} {variant}");
        }
    }
}
