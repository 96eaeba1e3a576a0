//! Byte ranges as clients ask for them (RFC 9110 section 14.1), and the bytes that they select.

use crate::random::Random;
use std::fmt;

/// One range of a Range field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spec {
    /// `4-9`
    FromTo(u64, u64),
    /// `4-`
    From(u64),
    /// `-9`
    Last(u64),
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromTo(first, last) => write!(f, "{first}-{last}"),
            Self::From(first) => write!(f, "{first}-"),
            Self::Last(count) => write!(f, "-{count}"),
        }
    }
}

impl Spec {
    /// Reads a Range field.
    pub fn parse(value: &str) -> Option<Vec<Self>> {
        let one = |text: &str| {
            Some(match text.trim().split_once('-')? {
                ("", count) => Self::Last(count.parse().ok()?),
                (first, "") => Self::From(first.parse().ok()?),
                (first, last) => Self::FromTo(first.parse().ok()?, last.parse().ok()?),
            })
        };
        value.strip_prefix("bytes=")?.split(',').map(one).collect()
    }

    /// A random range of a body of about that length; now and then beyond its end.
    pub fn any(random: &mut Random, length: u64) -> Self {
        let first = random.below(length + 1 + length / 16);
        match random.below(4) {
            0 => Self::From(first),
            1 => Self::Last(1 + random.below(length.max(1))),
            _ => Self::FromTo(first, first + random.below(length / 4 + 2)),
        }
    }
}

/// The first and the last byte that the range selects in a body of that length; `None`: it selects nothing.
pub fn resolve(spec: Spec, length: u64) -> Option<(u64, u64)> {
    let end = length.checked_sub(1)?;
    let (first, last) = match spec {
        Spec::FromTo(first, last) => (first, last.min(end)),
        Spec::From(first) => (first, end),
        Spec::Last(0) => return None,
        Spec::Last(count) => (length.saturating_sub(count), end),
    };
    (first <= last).then_some((first, last))
}

/// The same bytes as sorted ranges, of which no two touch.
pub fn union(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match out.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => out.push((first, last)),
        }
    }
    out
}
