//! Writes and reads the lines with which the content of an item begins: `Name: value`, up to an empty line.
//!
//! The parser of HTTP/1 fields reads them, so they are as strict as a head. A line is known by its name, whatever the case of its letters.

use kasoku_shared::purge_log::Generation;
use kasoku_wire::Fields;
use kasoku_wire::field::list;
use kasoku_wire::http1::{HeadError, HeadLimits, ResponseError, parse_field_lines};
use std::fmt::Display;
use std::io::Write;

/// The lines before the head: a key of 16 KiB and the hexadecimal digits of a variant of up to 64 KiB have room.
pub(crate) const LINES: HeadLimits = HeadLimits { head_bytes_max: 192 * 1024, target_bytes_max: 0, fields_max: 256 };
/// The most fields by which a response varies: those of its Vary, and those that the policy has in the key.
pub(crate) const NOMINATED_MAX: usize = 128;
/// The value of a line that says by its presence that something is so.
const YES: &str = "yes";

/// Why a content is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("its lines are malformed: {0}")]
    Lines(HeadError),
    #[error("the line `{0}` is missing")]
    Missing(&'static str),
    #[error("the line `{0}` occurs twice")]
    Twice(&'static str),
    #[error("the line `{0}` can't be read, or exceeds a limit")]
    Value(&'static str),
    #[error("it ends before its body begins")]
    Cut,
    #[error("its head is malformed: {0}")]
    Head(ResponseError),
    #[error("its head has no valid Date")]
    Date,
    #[error("the length of what follows is not the stated one")]
    Length,
    #[error("it was received in the future")]
    Future,
}

/// The lines before the head, while they are written.
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// The lines that each content has; `None`: no line can hold the key.
    pub(crate) fn of(kind: &str, uri: &str, generation: Generation) -> Option<Self> {
        let mut lines = Self(Vec::with_capacity(1024));
        lines.push("Kind", kind);
        lines.push("Key", uri);
        lines.push("Generation", generation);
        is_uri(uri.as_bytes()).then_some(lines)
    }

    /// `value` must have no line end: the caller writes numbers and words.
    pub(crate) fn push(&mut self, name: &str, value: impl Display) {
        // Writing to a Vec cannot fail.
        let _ = write!(self.0, "{name}: {value}\r\n");
    }

    /// A line that says by its presence that something is so.
    pub(crate) fn push_flag(&mut self, name: &str, is_so: bool) {
        if is_so {
            self.push(name, YES);
        }
    }

    /// `None`: these are no names by which responses vary.
    pub(crate) fn push_names(&mut self, names: &[String]) -> Option<()> {
        self.push("Vary-On", names.join(","));
        is_nominated(names).then_some(())
    }

    /// A line whose value is a field.
    pub(crate) fn push_field(&mut self, line: &str, name: &[u8], value: &[u8]) {
        for piece in [line.as_bytes(), b": ", name, b": ", value, b"\r\n"] {
            self.0.extend_from_slice(piece);
        }
    }

    /// The lines with the empty line behind them, if they are read as they were written.
    pub(crate) fn end(mut self) -> Option<Vec<u8>> {
        self.0.extend_from_slice(b"\r\n");
        let (lines, used) = parse_field_lines(&self.0, &LINES).ok()??;
        (used == self.0.len() && self.0.strip_suffix(b"\r\n") == Some(lines.block())).then_some(self.0)
    }
}

/// The lines before the head, as they were read.
pub(crate) struct ReadLines(Fields);

impl ReadLines {
    /// The lines at the front of a content, and their length in bytes.
    pub(crate) fn read(content: &[u8]) -> Result<(Self, usize), Refused> {
        let (lines, used) = parse_field_lines(content, &LINES).map_err(Refused::Lines)?.ok_or(Refused::Cut)?;
        Ok((Self(lines), used))
    }

    /// The values of all lines of that name.
    pub(crate) fn all<'l>(&'l self, name: &'static str) -> impl Iterator<Item = &'l [u8]> {
        self.0.all(name)
    }

    pub(crate) fn key(&self) -> Result<String, Refused> {
        let uri = Some(self.necessary("Key")?).filter(|uri| is_uri(uri)).ok_or(Refused::Value("Key"))?;
        String::from_utf8(uri.to_vec()).map_err(|_| Refused::Value("Key"))
    }

    pub(crate) fn generation(&self) -> Result<Generation, Refused> {
        let text = std::str::from_utf8(self.necessary("Generation")?).ok();
        text.and_then(Generation::read).ok_or(Refused::Value("Generation"))
    }

    pub(crate) fn names(&self) -> Result<Option<Vec<String>>, Refused> {
        let Some(value) = self.optional("Vary-On")? else { return Ok(None) };
        let names = value.split(|byte| *byte == b',').take(NOMINATED_MAX + 1);
        let names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if is_nominated(&names) { Ok(Some(names)) } else { Err(Refused::Value("Vary-On")) }
    }

    /// A decimal number up to `max`.
    pub(crate) fn number(&self, name: &'static str, max: u64) -> Result<u64, Refused> {
        let digits = self.necessary(name)?;
        let number = digits.iter().try_fold(0u64, |so_far, digit| {
            let digit = Some(digit).filter(|digit| digit.is_ascii_digit())?;
            so_far.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        });
        number.filter(|number| !digits.is_empty() && *number <= max).ok_or(Refused::Value(name))
    }

    pub(crate) fn hash(&self, name: &'static str) -> Result<u64, Refused> {
        hash_of_hex(self.necessary(name)?).ok_or(Refused::Value(name))
    }

    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Refused> {
        match self.optional(name)? {
            None => Ok(false),
            Some(value) if value == YES.as_bytes() => Ok(true),
            Some(_) => Err(Refused::Value(name)),
        }
    }

    /// The value of the only line of that name.
    pub(crate) fn necessary(&self, name: &'static str) -> Result<&[u8], Refused> {
        self.optional(name)?.ok_or(Refused::Missing(name))
    }

    /// The value of the only line of that name, if there is one.
    pub(crate) fn optional(&self, name: &'static str) -> Result<Option<&[u8]>, Refused> {
        let mut all = self.0.all(name);
        let first = all.next();
        if all.next().is_some() { Err(Refused::Twice(name)) } else { Ok(first) }
    }
}

/// Whether a line can hold the URI: printable ASCII without blanks.
fn is_uri(uri: &[u8]) -> bool {
    !uri.is_empty() && uri.iter().all(u8::is_ascii_graphic)
}

/// Whether these are names as a stored response has them.
fn is_nominated(names: &[String]) -> bool {
    let is_name = |name: &String| {
        list::is_token(name.as_bytes()) && name != "*" && !name.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    (1..=NOMINATED_MAX).contains(&names.len())
        && names.iter().all(is_name)
        && names.is_sorted_by(|one, next| one < next)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

pub(crate) fn bytes_of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks_exact(2);
    if digits.is_empty() || !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| pair.iter().try_fold(0, |sum, digit| Some(sum << 4 | hex_digit(*digit)?))).collect()
}

/// A hash of 64 bits, in 16 digits.
pub(crate) fn hash_of_hex(digits: &[u8]) -> Option<u64> {
    let bytes = bytes_of_hex(digits)?;
    <[u8; 8]>::try_from(bytes).ok().map(u64::from_be_bytes)
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
