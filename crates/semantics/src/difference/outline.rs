//! Reads a page for comparison: its text as units with the values in them, and its places.
//!
//! A unit is a tag, or a line of text or of a script. Its skeleton is what remains without its values: words with a digit, which clocks,
//! counters and ids are made of, and what stands in a [`Place`]. Two looks at a page that has not changed have the same skeletons in
//! the same order, and only values differ.

use super::hashing::{RunningHash, hash};
use super::known_pieces::{KnownPieces, PieceStart};
use super::lines::line_at;
use super::names::{NameMeaning, meaning};
use super::noise::{Noise, without_noise};
use super::page_parts::{PieceParts, Place, Unit, Value};
use super::places::PlaceFinder;
use super::regions::{Piece, PieceKind, Pieces, read, regions};
use super::{AnswerFacts, DifferencePlace, Markup, PagePart};
use kasoku_wire::ResponseHead;
use memchr::memmem;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// The most units of a page. What is behind them is one more unit.
const UNITS_MAX: usize = 1 << 17;

/// Words behind a number that make it a duration, an amount of memory, or a count of queries: none of these is a visitor's.
const UNITS_OF_TIME: [&str; 22] = [
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "ms",
    "msec",
    "us",
    "ns",
    "µs",
    "sek",
    "초",
    "秒",
    "ミリ秒",
    "b",
    "kb",
    "mb",
    "kib",
    "mib",
    "bytes",
    "queries",
    "query",
];

/// The most letters beside the digits of a number.
const LETTERS_MAX: usize = 1;

/// Stands in a skeleton for a value.
const VALUE: u8 = 1;

/// A page as it is compared.
pub struct Outline<'b> {
    /// The compared lines of the head.
    head: Vec<u8>,
    /// The body, without listed noise.
    text: Cow<'b, [u8]>,
    pub(super) units: Vec<Unit>,
    /// The values of all units, in order.
    values: Vec<Value>,
    /// Places whose values may be tokens.
    pub places: Vec<Place>,
    /// The kinds of elements, by name and class, and of values in scripts and JSON, by name: what templates a page is made of. Without
    /// those of pieces that were known before.
    pub kinds: Vec<u64>,
    /// Where the parts of the page end.
    parts: Vec<(usize, PagePart)>,
}

impl<'b> Outline<'b> {
    /// Reads an answer in full. `known`: the pieces of the answers that it is compared with.
    pub fn of(
        head: &ResponseHead,
        body: impl Into<Cow<'b, [u8]>>,
        facts: &AnswerFacts,
        noise: &[Noise],
        known: &mut KnownPieces,
    ) -> Self {
        Self::read(head, body.into(), facts, noise, known, true)
    }

    /// Reads an answer for its places and kinds alone.
    pub fn places(head: &ResponseHead, body: &'b [u8], facts: &AnswerFacts, noise: &[Noise]) -> (Vec<Place>, Vec<u64>) {
        let Self { places, kinds, .. } =
            Self::read(head, body.into(), facts, noise, &mut KnownPieces::default(), false);
        (places, kinds)
    }

    fn read(
        head: &ResponseHead,
        body: Cow<'b, [u8]>,
        facts: &AnswerFacts,
        noise: &[Noise],
        known: &mut KnownPieces,
        with_units: bool,
    ) -> Self {
        let markup = Markup::of(head);
        let text = match markup {
            Some(markup) if !noise.is_empty() => without_noise(&body, &regions(&body, markup), noise).into(),
            _ => body,
        };
        let head = compared_lines(head);
        let mut reader = OutlineReader {
            text: &head,
            offset: 0,
            with_units,
            parts: Vec::new(),
            finder: PlaceFinder::new(facts),
            known,
        };
        reader.head();
        (reader.text, reader.offset) = (&text, head.len());
        match markup {
            Some(markup) => read(&text, markup, &mut reader),
            // Such as a picture: it is compared as a whole.
            None => {
                let read = &mut reader.finder.read;
                read.units.push(Unit { skeleton: hash(&text), at: head.len(), values_end: read.values.len() });
            }
        }
        let OutlineReader { parts, finder, .. } = reader;
        let (PieceParts { units, values, places, .. }, kinds) = finder.end();
        Self { head, text, units, values, places, kinds, parts }
    }

    /// The line at a place, for people, and the part in which it is.
    pub(super) fn shown(&self, at: usize) -> (DifferencePlace, String) {
        match at.checked_sub(self.head.len()) {
            None => (DifferencePlace::Head, line_at(&self.head, at)),
            Some(at) => (DifferencePlace::Body(self.part_at(at)), line_at(&self.text, at)),
        }
    }

    /// The line of a place's value, for people.
    pub(super) fn shown_place(&self, place: &Place) -> String {
        let text = if place.place == DifferencePlace::Head { &self.head } else { &*self.text };
        line_at(text, place.at)
    }

    /// The values of a unit.
    pub(super) fn values(&self, unit: usize) -> &[Value] {
        let before =
            unit.checked_sub(1).and_then(|before| self.units.get(before)).map_or(0, |before| before.values_end);
        let end = self.units.get(unit).map_or(before, |unit| unit.values_end);
        self.values.get(before..end).unwrap_or_default()
    }

    /// Whether another reading of the same answer has read the same.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.units == other.units && self.values == other.values && self.places == other.places
    }

    /// The part of the page at a place in the text.
    fn part_at(&self, at: usize) -> PagePart {
        let number = self.parts.partition_point(|(end, _)| *end <= at);
        self.parts.get(number).or(self.parts.last()).map_or(PagePart::Page, |(_, part)| *part)
    }

    /// Whether at least half of the units of another look are here as well: the answer is the same page, with differences.
    pub fn is_like(&self, other: &Self) -> bool {
        let own: HashSet<u64> = self.units.iter().map(|unit| unit.skeleton).collect();
        let common = other.units.iter().filter(|unit| own.contains(&unit.skeleton)).count();
        // The status and the type stand in most answers.
        let lines = other.head.split(|byte| *byte == b'\n').count();
        2 * common.saturating_sub(lines) >= other.units.len().saturating_sub(lines)
    }

    /// Whether the unit at a place is the tag of a link or a form, which says where a request goes.
    pub(super) fn is_link_at(&self, at: usize) -> bool {
        let rest = at.checked_sub(self.head.len()).and_then(|at| self.text.get(at..)).unwrap_or_default();
        [&b"<a "[..], b"<form "]
            .iter()
            .any(|tag| rest.get(..tag.len()).is_some_and(|text| text.eq_ignore_ascii_case(tag)))
    }
}

/// Fields of the head that are compared, besides those whose names say that they hold a token.
const COMPARED: [&str; 5] = ["content-type", "content-language", "content-encoding", "content-disposition", "location"];

/// The lines of a head that are compared, the status first.
fn compared_lines(head: &ResponseHead) -> Vec<u8> {
    let is_compared = |name: &[u8]| {
        let is_listed = COMPARED.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        // Set-Cookie has rules of its own, and no other client gets it.
        is_listed || meaning(name) >= NameMeaning::Token && !name.eq_ignore_ascii_case(b"set-cookie")
    };
    let mut lines = format!("HTTP {}", head.status.as_u16()).into_bytes();
    for (name, value) in head.fields.iter().filter(|(name, _)| is_compared(name)) {
        // A page cache may write what the application says in other letters.
        lines.extend([b"\n", &*name.to_ascii_lowercase(), b": ", value].concat());
    }
    lines
}

struct OutlineReader<'b, 'f> {
    text: &'b [u8],
    /// How many bytes of the head stand before the text.
    offset: usize,
    with_units: bool,
    parts: Vec<(usize, PagePart)>,
    finder: PlaceFinder<'f>,
    known: &'f mut KnownPieces,
}

impl Pieces for OutlineReader<'_, '_> {
    fn take(&mut self, piece: Piece) {
        match self.parts.last_mut() {
            Some((end, part)) if *part == piece.part => *end = piece.end,
            _ => self.parts.push((piece.end, piece.part)),
        }
        let text = self.text.get(piece.start..piece.end).unwrap_or_default();
        let Some(key) = KnownPieces::key(text, piece) else { return self.read_piece(piece) };
        let read = &mut self.finder.read;
        let start = PieceStart {
            unit_at: self.offset + piece.start,
            place_at: piece.start,
            units: read.units.len(),
            values: read.values.len(),
            places: read.places.len(),
            ids: read.ids.len(),
        };
        if start.units < UNITS_MAX && self.known.copy(key, read, start) {
            return;
        }
        self.finder.is_by_bytes_alone = true;
        self.read_piece(piece);
        if self.finder.is_by_bytes_alone && start.units < UNITS_MAX {
            self.known.keep(key, &self.finder.read, start);
        }
    }
}

impl OutlineReader<'_, '_> {
    fn read_piece(&mut self, piece: Piece) {
        self.finder.piece(self.text, piece);
        if !self.with_units || self.finder.read.units.len() >= UNITS_MAX {
            return;
        }
        let masked = std::mem::take(&mut self.finder.masked);
        let is_end: fn(u8) -> bool = match piece.kind {
            PieceKind::Tag => |_| false,
            PieceKind::Script => |byte| matches!(byte, b'\n' | b';' | b',' | b'{' | b'}'),
            _ => |byte| byte == b'\n',
        };
        self.units(piece.start..piece.end, is_end, &masked);
        self.finder.masked = masked;
    }

    /// Reads the lines of the head.
    fn head(&mut self) {
        let mut start = 0;
        for line in self.text.split(|byte| *byte == b'\n') {
            let end = start + line.len();
            if let Some(colon) = memmem::find(line, b": ") {
                let (name, value) = (line.get(..colon).unwrap_or_default(), line.get(colon + 2..).unwrap_or_default());
                self.finder.head(name, value, start + colon + 2);
            }
            if self.with_units {
                let masked = std::mem::take(&mut self.finder.masked);
                self.units(start..end, |_| false, &masked);
            }
            start = end + 1;
        }
    }

    /// Divides a piece into units. `masked`: the values of places.
    fn units(&mut self, piece: Range<usize>, is_end: fn(u8) -> bool, masked: &[Range<usize>]) {
        let (mut at, mut start, mut masked) = (piece.start, piece.start, masked.iter().peekable());
        let (mut skeleton, mut has_text, mut was_space) = (RunningHash::begin(), false, false);
        while let Some(byte) = self.text.get(at..piece.end).and_then(<[u8]>::first).copied() {
            while masked.next_if(|range| range.end <= at).is_some() {}
            if let Some(range) = masked.next_if(|range| range.start <= at) {
                skeleton.add(VALUE);
                (has_text, at) = (true, range.end.min(piece.end));
                continue;
            }
            if is_end(byte) {
                self.end_unit(skeleton, has_text, start);
                (skeleton, has_text, was_space) = (RunningHash::begin(), false, false);
                at += 1;
                start = at;
            } else if is_of_word(byte) {
                // A word ends where the value of a place begins.
                let end = masked.peek().map_or(piece.end, |range| range.start.min(piece.end));
                at = self.word(at, end, &mut skeleton);
                (has_text, was_space) = (true, false);
            } else {
                let is_space = byte.is_ascii_whitespace();
                if !is_space || !was_space && has_text {
                    skeleton.add(if is_space { b' ' } else { byte });
                }
                (has_text, was_space) = (has_text || !is_space, is_space);
                at += 1;
            }
        }
        self.end_unit(skeleton, has_text, start);
    }

    fn end_unit(&mut self, skeleton: RunningHash, has_text: bool, at: usize) {
        if has_text {
            let at = self.offset + at;
            let read = &mut self.finder.read;
            read.units.push(Unit { skeleton: skeleton.end(), at, values_end: read.values.len() });
        }
    }

    /// Adds the word that begins at `at` to the skeleton, or to the values if it has a digit. Returns where it ends.
    fn word(&mut self, at: usize, end: usize, skeleton: &mut RunningHash) -> usize {
        let rest = self.text.get(at..end).unwrap_or_default();
        let (mut length, mut has_digit) = (0, false);
        while let Some(byte) = rest.get(length).filter(|byte| is_of_word(**byte)) {
            has_digit |= byte.is_ascii_digit();
            length += 1;
        }
        let word = rest.get(..length).unwrap_or_default();
        if !has_digit {
            skeleton.add_word(word);
            return at + length;
        }
        skeleton.add(VALUE);
        let number = number_length(rest).max(length);
        let value = rest.get(..number).unwrap_or_default();
        if !is_measured(value, rest.get(number..).unwrap_or_default()) {
            // `T21` and `59Z` are parts of a time.
            let digits = value.iter().skip_while(|byte| byte.is_ascii_alphabetic());
            let digits: Vec<u8> = digits.copied().take_while(u8::is_ascii_digit).collect();
            let is_number = digits.len() + LETTERS_MAX >= value.len();
            let text = std::str::from_utf8(&digits).ok().filter(|_| is_number);
            let number = text.and_then(|text| text.parse().ok());
            self.finder.read.values.push(number.map_or_else(|| Value::Word(hash(value)), Value::Number));
        }
        at + number
    }
}

/// The length of the number with which a text begins, with the dots and commas inside it: `1,234.5`.
fn number_length(text: &[u8]) -> usize {
    let is_inside = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_digit);
    let ends =
        |(at, byte): (usize, &u8)| !(byte.is_ascii_digit() || matches!(byte, b'.' | b',') && at > 0 && is_inside(at));
    text.iter().enumerate().position(|(at, byte)| ends((at, byte))).unwrap_or(text.len())
}

/// Whether a number is a duration, an amount of memory or a count of queries, by the unit with it or behind it.
fn is_measured(value: &[u8], behind: &[u8]) -> bool {
    let is_unit = |unit: &[u8]| UNITS_OF_TIME.iter().any(|one| unit.eq_ignore_ascii_case(one.as_bytes()));
    let digits =
        value.iter().position(|byte| !byte.is_ascii_digit() && !matches!(byte, b'.' | b',')).unwrap_or(value.len());
    match value.get(digits..) {
        Some(unit) if !unit.is_empty() => is_unit(unit),
        _ => {
            let behind = behind.strip_prefix(b" ").or_else(|| behind.strip_prefix(b"&nbsp;")).unwrap_or(behind);
            let length = behind.iter().position(|byte| !is_of_word(*byte)).unwrap_or(behind.len());
            behind.get(..length).is_some_and(is_unit)
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    #[allow(clippy::indexing_slicing, reason = "computed by the compiler")]
    static OF_WORD: [bool; 256] = {
        let mut of_word = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            of_word[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' || byte >= 128;
            byte += 1;
        }
        of_word
    };
    OF_WORD.get(usize::from(byte)).copied().unwrap_or_default()
}
