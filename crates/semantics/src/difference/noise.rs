//! Patterns of noise: text that may differ between two pages that are the same for all visitors, such as a clock, the id of a
//! request, a counter.
//!
//! A pattern is text with placeholders: `generated in {number} seconds`. The page must contain the text byte by byte; a placeholder
//! stands for a value of one kind, at most [`VALUE_BYTES_MAX`] long. Between two texts, a value ends at the first occurrence of the
//! second text. At an end of a pattern, a value takes all bytes of its kind. So a search takes time in proportion to the length of
//! the page, and a pattern that could match in several ways matches less rather than more.
//!
//! Noise is not compared. So a pattern that may match a token is refused ([`NoiseError::Token`]), and so is one that would match
//! anything.

use super::names::token_word;
use super::regions::{PagePart, Region};
use memchr::memmem;
use std::fmt;

/// The most patterns in one list.
pub const NOISE_MAX: usize = 64;

/// The longest pattern, in bytes.
pub const NOISE_BYTES_MAX: usize = 256;

/// The most placeholders in one pattern.
const PLACEHOLDERS_MAX: usize = 8;

/// The longest value that a placeholder stands for, in bytes.
const VALUE_BYTES_MAX: usize = 64;

/// The fewest characters of text in a pattern, without spaces.
const TEXT_CHARS_MIN: usize = 3;

/// The fewest letters that name a value in a script.
const NAME_LETTERS_MIN: usize = 4;

/// How many occurrences of the patterns' texts are tried in one page. After these, the rest of the page is compared as it is.
const TRIES_MAX: usize = 16 << 10;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Noise {
    text: String,
    pieces: Vec<NoisePiece>,
    /// Whether it begins with a name of its value, so that it counts in scripts, and in tags in forms, as well.
    names_its_value: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NoisePiece {
    Text(String),
    Value(NoiseKind),
}

/// The kind of value that a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NoiseKind {
    Digits,
    Hex,
    Number,
    Time,
    Word,
}

/// Why a text is no valid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoiseError {
    /// It is empty or too long.
    #[error("it has 1 to {} bytes", NOISE_BYTES_MAX)]
    Length,
    /// It has a placeholder of an unknown kind.
    #[error("there is no placeholder {{{0}}}")]
    Kind(String),
    /// It has no placeholder.
    #[error("it has no placeholder, but noise differs from page to page")]
    NoPlaceholder,
    /// It has two placeholders side by side.
    #[error("two placeholders stand side by side")]
    Adjacent,
    /// It has too many placeholders.
    #[error("it has more than {} placeholders", PLACEHOLDERS_MAX)]
    TooMany,
    /// It is little more than a placeholder, and fits nearly anything.
    #[error("it is little more than a placeholder, so it also matches tokens")]
    Bare,
    /// It has a word that names a token.
    #[error("\"{0}\" names a token or a session, and a page that differs by those must not be shared")]
    Token(String),
}

impl NoiseKind {
    const ALL: [Self; 5] = [Self::Digits, Self::Hex, Self::Number, Self::Time, Self::Word];

    fn name(self) -> &'static str {
        match self {
            Self::Digits => "digits",
            Self::Hex => "hex",
            Self::Number => "number",
            Self::Time => "time",
            Self::Word => "word",
        }
    }

    /// Whether a text is a value of this kind.
    fn fits(self, text: &[u8]) -> bool {
        !text.is_empty()
            && match self {
                Self::Time => is_time(text),
                Self::Number => text.iter().any(u8::is_ascii_digit) && text.iter().all(|byte| self.has(*byte)),
                _ => text.iter().all(|byte| self.has(*byte)),
            }
    }

    /// Whether a byte may be in a value of this kind. In a time, that also depends on the bytes around it.
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Number => byte.is_ascii_digit() || matches!(byte, b'.' | b','),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || !byte.is_ascii(),
            Self::Time => byte.is_ascii_alphanumeric() || !byte.is_ascii(),
        }
    }

    /// The length of the value with which a text begins; `None`: it begins with none of this kind, or the value is too long.
    fn at_start(self, text: &[u8]) -> Option<usize> {
        let near = text.get(..VALUE_BYTES_MAX + 1).unwrap_or(text);
        let length = match self {
            Self::Time => (1..=near.len()).rev().find(|length| {
                let is_cut = near.get(*length).is_some_and(|next| next.is_ascii_alphanumeric());
                let value = near.get(..*length).unwrap_or_default();
                !is_cut
                    && (value.last().is_some_and(|last| self.has(*last)) || value.ends_with(b".m."))
                    && is_time(value)
            })?,
            _ => near.iter().take_while(|byte| self.has(**byte)).count(),
        };
        (length <= VALUE_BYTES_MAX && near.get(..length).is_some_and(|value| self.fits(value))).then_some(length)
    }

    /// The same for the value with which a text ends.
    fn at_end(self, text: &[u8]) -> Option<usize> {
        let near = text.get(text.len().saturating_sub(VALUE_BYTES_MAX + 1)..).unwrap_or(text);
        let length = match self {
            Self::Time => (1..=near.len()).rev().find(|length| {
                let start = near.len() - length;
                let is_cut = start > 0 && near.get(start - 1).is_some_and(|before| before.is_ascii_alphanumeric());
                let first = near.get(start).is_some_and(|first| self.has(*first));
                !is_cut && first && near.get(start..).is_some_and(is_time)
            })?,
            _ => near.iter().rev().take_while(|byte| self.has(**byte)).count(),
        };
        let is_one = near.get(near.len() - length..).is_some_and(|value| self.fits(value));
        (length <= VALUE_BYTES_MAX && is_one).then_some(length)
    }
}

/// Words in dates and times, in lower case: parts of the day, months, days of the week, zones. The Korean ones follow or precede a
/// number.
const TIME_WORDS: [&str; 44] = [
    "am",
    "pm",
    "a.m.",
    "p.m.",
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "gmt",
    "utc",
];
const TIME_LETTERS: [&[u8]; 2] = [b"t", b"z"];
const KOREAN_TIME_WORDS: [&str; 8] = ["오전", "오후", "년", "월", "일", "시", "분", "초"];

/// Whether a text is a date, a time of the day, or both.
fn is_time(text: &[u8]) -> bool {
    let mut has_digit = false;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        at += match byte {
            b'0'..=b'9' => {
                has_digit = true;
                1
            }
            b':' | b'-' | b'.' | b',' | b'/' | b'+' | b' ' => 1,
            _ => match time_word(rest) {
                Some(length) => length,
                None => return false,
            },
        };
    }
    has_digit
}

/// The length of the date or time word with which a text begins.
fn time_word(text: &[u8]) -> Option<usize> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = text.get(..letters).unwrap_or_default();
    let is_it = |one: &&[u8]| one.eq_ignore_ascii_case(word);
    if TIME_WORDS.iter().map(|one| one.as_bytes()).any(|one| is_it(&one)) || TIME_LETTERS.iter().any(is_it) {
        return Some(letters);
    }
    let with_dots = TIME_WORDS.iter().filter(|one| one.contains('.')).map(|one| one.as_bytes());
    let begins = |one: &&[u8]| text.get(..one.len()).is_some_and(|start| start.eq_ignore_ascii_case(one));
    let mut others = with_dots.chain(KOREAN_TIME_WORDS.iter().map(|one| one.as_bytes()));
    others.find(begins).map(<[u8]>::len)
}

impl Noise {
    /// Reads a pattern. A brace that begins no placeholder is text.
    ///
    /// # Errors
    /// The reason why the text is no valid pattern.
    pub fn parse(text: &str) -> Result<Self, NoiseError> {
        if text.is_empty() || text.len() > NOISE_BYTES_MAX {
            return Err(NoiseError::Length);
        }
        let pieces = pieces(text)?;
        let values = pieces.iter().filter(|piece| matches!(piece, NoisePiece::Value(_))).count();
        if values == 0 {
            return Err(NoiseError::NoPlaceholder);
        }
        if values > PLACEHOLDERS_MAX {
            return Err(NoiseError::TooMany);
        }
        if pieces.windows(2).any(|pair| pair.iter().all(|piece| matches!(piece, NoisePiece::Value(_)))) {
            return Err(NoiseError::Adjacent);
        }
        let texts = || pieces.iter().filter_map(NoisePiece::text);
        if let Some(word) = texts().find_map(token_word) {
            return Err(NoiseError::Token(word));
        }
        if texts().flat_map(str::chars).filter(|letter| !letter.is_whitespace()).count() < TEXT_CHARS_MIN {
            return Err(NoiseError::Bare);
        }
        let name = pieces.first().and_then(NoisePiece::text).unwrap_or_default();
        let names_its_value = name.chars().filter(|letter| letter.is_alphabetic()).count() >= NAME_LETTERS_MIN;
        Ok(Self { text: text.to_owned(), pieces, names_its_value })
    }

    /// Whether the pattern counts in a part of a page.
    fn counts_in(&self, part: PagePart) -> bool {
        match part {
            PagePart::Page => true,
            PagePart::Script | PagePart::FormElement => self.names_its_value,
            PagePart::Form | PagePart::Meta | PagePart::Sealed => false,
        }
    }

    /// Adds the values that the pattern finds in `text`, a part of a page that begins at `start`.
    fn find(&self, text: &[u8], start: usize, tries: &mut usize, found: &mut Vec<NoiseValue>) {
        let (leading, pieces) = match self.pieces.split_first() {
            Some((NoisePiece::Value(kind), rest)) => (Some(*kind), rest),
            _ => (None, &self.pieces[..]),
        };
        let Some((NoisePiece::Text(first), pieces)) = pieces.split_first() else { return };
        let finder = memmem::Finder::new(first);
        let mut from = 0;
        while let Some(offset) = finder.find(text.get(from..).unwrap_or_default()) {
            if *tries == 0 {
                return;
            }
            *tries -= 1;
            let at = from + offset;
            let before = found.len();
            let end = match leading {
                None => values_behind(pieces, text, at + first.len(), start, found),
                Some(kind) => kind.at_end(text.get(..at).unwrap_or_default()).and_then(|length| {
                    found.push(NoiseValue { start: start + at - length, end: start + at, kind });
                    values_behind(pieces, text, at + first.len(), start, found)
                }),
            };
            if end.is_none() {
                found.truncate(before);
            }
            from = end.unwrap_or(at + 1).max(at + 1);
        }
    }
}

/// Adds the values of the rest of a pattern, which must stand in `text` from `at` on. Returns where they end; `None`: the text does
/// not match.
fn values_behind(
    pieces: &[NoisePiece],
    text: &[u8],
    mut at: usize,
    start: usize,
    found: &mut Vec<NoiseValue>,
) -> Option<usize> {
    let mut pieces = pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        let NoisePiece::Value(kind) = piece else { return None };
        let rest = text.get(at..)?;
        let length = match pieces.next() {
            Some(NoisePiece::Text(behind)) => {
                let near = rest.get(..VALUE_BYTES_MAX + behind.len()).unwrap_or(rest);
                // A value has at least one byte.
                let length = memmem::find(near.get(1..)?, behind.as_bytes())? + 1;
                if !kind.fits(near.get(..length)?) {
                    return None;
                }
                found.push(NoiseValue { start: start + at, end: start + at + length, kind: *kind });
                length + behind.len()
            }
            _ => {
                let length = kind.at_start(rest)?;
                found.push(NoiseValue { start: start + at, end: start + at + length, kind: *kind });
                length
            }
        };
        at += length;
    }
    Some(at)
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl NoisePiece {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Value(_) => None,
        }
    }
}

fn pieces(text: &str) -> Result<Vec<NoisePiece>, NoiseError> {
    let (mut pieces, mut literal) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        literal.push_str(before);
        let name = behind.split_once('}').map(|(name, _)| name).unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
            literal.push('{');
            rest = behind;
            continue;
        }
        let kind = NoiseKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| NoiseError::Kind(name.to_owned()))?;
        if !literal.is_empty() {
            pieces.push(NoisePiece::Text(std::mem::take(&mut literal)));
        }
        pieces.push(NoisePiece::Value(kind));
        rest = behind.get(name.len() + 1..).unwrap_or_default();
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(NoisePiece::Text(literal));
    }
    Ok(pieces)
}

/// A value that is noise, by its place in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoiseValue {
    start: usize,
    end: usize,
    kind: NoiseKind,
}

/// A page in which placeholders replace the values that are noise.
pub(super) fn without_noise(body: &[u8], regions: &[Region], noise: &[Noise]) -> Vec<u8> {
    let mut found = Vec::new();
    let (mut tries, mut start) = (TRIES_MAX, 0);
    for region in regions {
        let text = body.get(start..region.end).unwrap_or_default();
        for pattern in noise.iter().filter(|pattern| pattern.counts_in(region.part)) {
            pattern.find(text, start, &mut tries, &mut found);
        }
        start = region.end;
    }
    found.sort_unstable_by_key(|value| (value.start, usize::MAX - value.end));
    let (mut reduced, mut at) = (Vec::with_capacity(body.len()), 0);
    for value in found {
        // The value overlaps with the one before it.
        if value.start < at {
            continue;
        }
        reduced.extend_from_slice(body.get(at..value.start).unwrap_or_default());
        reduced.push(b'{');
        reduced.extend_from_slice(value.kind.name().as_bytes());
        reduced.push(b'}');
        at = value.end;
    }
    reduced.extend_from_slice(body.get(at..).unwrap_or_default());
    reduced
}

#[cfg(test)]
#[path = "noise_tests.rs"]
mod tests;
