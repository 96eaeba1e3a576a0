//! Checks a value against the bounds of its row, for the file and for flags alike.

use crate::issue::{At, Issue, quoted};
use crate::suggest;
use crate::table::{Kind, Setting};
use crate::value::{parse_duration, parse_size, show_duration, show_size};
use std::num::NonZeroUsize;
use std::time::Duration;

/// A whole number.
pub(crate) fn integer(row: &Setting, text: &At<String>) -> Result<At<u64>, Issue> {
    let number = text.value.parse::<u64>().ok();
    match (number, row.kind) {
        (Some(number), Kind::Integer { min, max } | Kind::IntegerOrAuto { min, max })
            if (min..=max).contains(&number) =>
        {
            Ok(At { value: number, place: text.place.clone() })
        }
        _ => Err(outside(row, text)),
    }
}

/// A whole number, or `auto`: the number of cores that the process may use.
pub(crate) fn integer_or_cores(row: &Setting, text: &At<String>) -> Result<At<u64>, Issue> {
    if text.value == "auto" {
        return Ok(At { value: cores(), place: text.place.clone() });
    }
    integer(row, text)
}

/// The number of cores that the process may use; 1 when that can't be known.
pub(crate) fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64
}

/// Bytes.
pub(crate) fn size(row: &Setting, text: &At<String>) -> Result<At<u64>, Issue> {
    let bytes = parse_size(&text.value).map_err(|fault| fault.at(&text.place))?;
    match row.kind {
        Kind::Size { min, max } if !(min..=max).contains(&bytes) => Err(outside(row, text)),
        _ => Ok(At { value: bytes, place: text.place.clone() }),
    }
}

/// A duration.
pub(crate) fn duration(row: &Setting, text: &At<String>) -> Result<At<Duration>, Issue> {
    let duration = parse_duration(&text.value).map_err(|fault| fault.at(&text.place))?;
    let within = match row.kind {
        Kind::Duration { min, max } => (min..=max).contains(&duration),
        Kind::Seconds { max } | Kind::Statuses { max } => duration <= max && duration.subsec_nanos() == 0,
        _ => true,
    };
    if within { Ok(At { value: duration, place: text.place.clone() }) } else { Err(outside(row, text)) }
}

/// The index of a word among those that the row allows.
pub(crate) fn one_of(row: &Setting, text: &At<String>) -> Result<usize, Issue> {
    let allowed: &[&str] = if let Kind::OneOf(words) = row.kind { words } else { &[] };
    allowed.iter().position(|word| *word == text.value).ok_or_else(|| {
        let words: Vec<_> = allowed.iter().map(|word| format!("\"{word}\"")).collect();
        let mut message = format!("{} can't be {}", quoted(row.name()), quoted(&text.value));
        if let Some(meant) = suggest::meant(&text.value, allowed) {
            message.push_str(&format!(": did you mean {}?", quoted(meant)));
        }
        Issue::error(message).at(&text.place).help(format!("write {}", words.join(" or ")))
    })
}

/// What a setting takes, in words that follow "must be".
pub(crate) fn words(kind: Kind) -> String {
    match kind {
        Kind::Text(what) => format!("a text ({what})"),
        Kind::Texts(what) => format!("a list of texts ({what})"),
        Kind::Map(key, what) => format!("a table of texts ({what}) by {key}"),
        Kind::TextsOrTables(what) => format!("a list of texts ({what}) or tables"),
        Kind::OneOf(_) => "a text".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Integer { .. } => "a whole number".to_owned(),
        Kind::IntegerOrAuto { .. } => "a whole number or \"auto\"".to_owned(),
        Kind::Size { .. } => "a size".to_owned(),
        Kind::Duration { .. } | Kind::Seconds { .. } => "a duration".to_owned(),
        Kind::Statuses { .. } => "a table of statuses with durations".to_owned(),
    }
}

/// The values that a setting takes, in words; none when there is nothing to say about them.
pub(crate) fn range(kind: Kind) -> Option<String> {
    match kind {
        Kind::Integer { min, max } | Kind::IntegerOrAuto { min, max } if max > u64::from(u32::MAX) => {
            Some(format!("{min} or more"))
        }
        Kind::Integer { min, max } | Kind::IntegerOrAuto { min, max } => Some(format!("{min} to {max}")),
        Kind::Size { min, max } => Some(format!("{} to {}", show_size(min), show_size(max))),
        Kind::Duration { min, max } => Some(format!("{} to {}", show_duration(min), show_duration(max))),
        Kind::Seconds { max } | Kind::Statuses { max } => {
            Some(format!("0s to {}, in whole seconds", show_duration(max)))
        }
        Kind::Text(_) | Kind::Texts(_) | Kind::TextsOrTables(_) | Kind::Map(..) | Kind::OneOf(_) | Kind::Flag => None,
    }
}

fn outside(row: &Setting, text: &At<String>) -> Issue {
    let range = range(row.kind).unwrap_or_default();
    let message =
        format!("{} can't be {}: it must be {}, {range}", quoted(row.name()), quoted(&text.value), words(row.kind));
    let or_auto = if matches!(row.kind, Kind::IntegerOrAuto { .. }) { " or \"auto\"" } else { "" };
    Issue::error(message).at(&text.place).help(format!("like {}{or_auto}", row.example))
}
