//! What was read of the pieces of a page, by their bytes. A page repeats its tags, and looks at one page are alike except in a few
//! pieces: each is read once.
//!
//! Positions are kept from the beginning of the piece. A piece whose reading depends on more than its bytes, such as on the time of the
//! answer, is not kept.

use super::PagePart;
use super::hashing::hash;
use super::page_parts::{PieceParts, Place, Unit};
use super::regions::{Piece, PieceKind};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::ops::Range;

/// The most pieces that are kept, and the most units and values of them all.
const PIECES_MAX: usize = 1 << 15;
const PARTS_MAX: usize = 1 << 17;

/// What was read of the pieces of the answers of one comparison.
#[derive(Default)]
pub struct KnownPieces {
    numbers: HashMap<u64, usize, RandomState>,
    known: Vec<KnownPiece>,
    all: PieceParts,
    /// The number of the piece that was read last. What came behind it before comes again, mostly.
    last: usize,
}

struct KnownPiece {
    key: u64,
    units: Range<usize>,
    values: Range<usize>,
    places: Range<usize>,
    ids: Range<usize>,
    /// The number of the piece that was read behind it the last time.
    next: usize,
}

/// Where a piece begins: in the text with the head before it, in the text, and in what was read before it.
#[derive(Clone, Copy)]
pub(super) struct PieceStart {
    pub(super) unit_at: usize,
    pub(super) place_at: usize,
    pub(super) units: usize,
    pub(super) values: usize,
    pub(super) places: usize,
    pub(super) ids: usize,
}

impl KnownPieces {
    /// The key of a piece; `None`: what a form sends as text belongs to the tag before it.
    pub(super) fn key(text: &[u8], piece: Piece) -> Option<u64> {
        let is_field = piece.kind == PieceKind::FieldText
            || piece.part == PagePart::Form
                && text.get(1..9).is_some_and(|name| name.eq_ignore_ascii_case(b"textarea"));
        let kind = [piece.part as u64, piece.kind as u64, piece.form.map_or(0, |form| form as u64 + 1)];
        (!is_field).then(|| kind.into_iter().fold(hash(text), |key, one| key.rotate_left(8) ^ one))
    }

    /// Adds what is known of a piece to `read`; `false`: nothing is.
    pub(super) fn copy(&mut self, key: u64, read: &mut PieceParts, start: PieceStart) -> bool {
        let Some(number) = self.find(key) else { return false };
        let Some(piece) = self.known.get(number) else { return false };
        let all = &self.all;
        read.units.extend(all.units.get(piece.units.clone()).unwrap_or_default().iter().map(|unit| Unit {
            at: start.unit_at + unit.at,
            values_end: start.values + unit.values_end,
            ..*unit
        }));
        read.values.extend_from_slice(all.values.get(piece.values.clone()).unwrap_or_default());
        if !piece.places.is_empty() {
            let places = all.places.get(piece.places.clone()).unwrap_or_default().iter();
            read.places.extend(places.map(|place| Place { at: start.place_at + place.at, ..*place }));
        }
        read.ids.extend_from_slice(all.ids.get(piece.ids.clone()).unwrap_or_default());
        self.is_last(number);
        true
    }

    fn find(&self, key: u64) -> Option<usize> {
        let next = self.known.get(self.last).map(|last| last.next);
        let is_it = |number: &usize| self.known.get(*number).is_some_and(|piece| piece.key == key);
        next.filter(is_it).or_else(|| self.numbers.get(&key).copied())
    }

    fn is_last(&mut self, number: usize) {
        if let Some(before) = self.known.get_mut(self.last) {
            before.next = number;
        }
        self.last = number;
    }

    /// Keeps what has been added to `read` since `start`.
    pub(super) fn keep(&mut self, key: u64, read: &PieceParts, start: PieceStart) {
        let all = &mut self.all;
        let parts =
            all.units.len() + all.values.len() + (read.units.len() - start.units) + (read.values.len() - start.values);
        if self.known.len() >= PIECES_MAX || parts > PARTS_MAX {
            return;
        }
        let (units, values, places, ids) = (all.units.len(), all.values.len(), all.places.len(), all.ids.len());
        all.units.extend(read.units.get(start.units..).unwrap_or_default().iter().map(|unit| Unit {
            at: unit.at.saturating_sub(start.unit_at),
            values_end: unit.values_end.saturating_sub(start.values),
            ..*unit
        }));
        all.values.extend_from_slice(read.values.get(start.values..).unwrap_or_default());
        let added = read.places.get(start.places..).unwrap_or_default().iter();
        all.places.extend(added.map(|place| Place { at: place.at.saturating_sub(start.place_at), ..*place }));
        all.ids.extend_from_slice(read.ids.get(start.ids..).unwrap_or_default());
        let number = self.known.len();
        self.known.push(KnownPiece {
            key,
            units: units..all.units.len(),
            values: values..all.values.len(),
            places: places..all.places.len(),
            ids: ids..all.ids.len(),
            next: number,
        });
        self.numbers.insert(key, number);
        self.is_last(number);
    }
}
