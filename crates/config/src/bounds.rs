//! Checks a value against the bounds of its row, for the file and for flags alike.

use crate::issue::{Issue, Located, quoted};
use crate::suggest;
use crate::table::{Setting, SettingKind};
use crate::value::{parse_duration, parse_size, show_duration, show_size};
use std::num::NonZeroUsize;
use std::time::Duration;

/// A whole number.
pub(crate) fn integer(row: &Setting, text: &Located<String>) -> Result<Located<u64>, Issue> {
    let number = text.value.parse::<u64>().ok();
    match (number, row.kind) {
        (Some(number), SettingKind::Integer { min, max } | SettingKind::IntegerOrAuto { min, max })
            if (min..=max).contains(&number) =>
        {
            Ok(Located { value: number, place: text.place.clone() })
        }
        _ => Err(outside(row, text)),
    }
}

/// A whole number, or `auto`: the number of cores that the process may use.
pub(crate) fn integer_or_cores(row: &Setting, text: &Located<String>) -> Result<Located<u64>, Issue> {
    if text.value == "auto" {
        return Ok(Located { value: cores(), place: text.place.clone() });
    }
    integer(row, text)
}

/// The number of cores that the process may use; 1 when that can't be known.
pub(crate) fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64
}

/// Bytes.
pub(crate) fn size(row: &Setting, text: &Located<String>) -> Result<Located<u64>, Issue> {
    let bytes = parse_size(&text.value).map_err(|fault| fault.at(&text.place))?;
    match row.kind {
        SettingKind::Size { min, max } if !(min..=max).contains(&bytes) => Err(outside(row, text)),
        _ => Ok(Located { value: bytes, place: text.place.clone() }),
    }
}

/// A duration.
pub(crate) fn duration(row: &Setting, text: &Located<String>) -> Result<Located<Duration>, Issue> {
    let duration = parse_duration(&text.value).map_err(|fault| fault.at(&text.place))?;
    let within = match row.kind {
        SettingKind::Duration { min, max } => (min..=max).contains(&duration),
        SettingKind::Seconds { max } | SettingKind::Statuses { max } => duration <= max && duration.subsec_nanos() == 0,
        _ => true,
    };
    if within { Ok(Located { value: duration, place: text.place.clone() }) } else { Err(outside(row, text)) }
}

/// The index of a word among those that the row allows.
pub(crate) fn one_of(row: &Setting, text: &Located<String>) -> Result<usize, Issue> {
    let allowed: &[&str] = if let SettingKind::OneOf(words) = row.kind { words } else { &[] };
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
pub(crate) fn words(kind: SettingKind) -> String {
    match kind {
        SettingKind::Text(what) => format!("a text ({what})"),
        SettingKind::Texts(what) => format!("a list of texts ({what})"),
        SettingKind::Map(key, what) => format!("a table of texts ({what}) by {key}"),
        SettingKind::TextsOrTables(what) => format!("a list of texts ({what}) or tables"),
        SettingKind::OneOf(_) => "a text".to_owned(),
        SettingKind::Flag => "true or false".to_owned(),
        SettingKind::FlagOr(word) => format!("true, false or \"{word}\""),
        SettingKind::Integer { .. } => "a whole number".to_owned(),
        SettingKind::IntegerOrAuto { .. } => "a whole number or \"auto\"".to_owned(),
        SettingKind::Size { .. } => "a size".to_owned(),
        SettingKind::Duration { .. } | SettingKind::Seconds { .. } => "a duration".to_owned(),
        SettingKind::Statuses { .. } => "a table of statuses with durations".to_owned(),
    }
}

/// The values that a setting takes, in words; none when there is nothing to say about them.
pub(crate) fn range(kind: SettingKind) -> Option<String> {
    match kind {
        SettingKind::Integer { min, max } | SettingKind::IntegerOrAuto { min, max } if max > u64::from(u32::MAX) => {
            Some(format!("{min} or more"))
        }
        SettingKind::Integer { min, max } | SettingKind::IntegerOrAuto { min, max } => Some(format!("{min} to {max}")),
        SettingKind::Size { min, max } => Some(format!("{} to {}", show_size(min), show_size(max))),
        SettingKind::Duration { min, max } => Some(format!("{} to {}", show_duration(min), show_duration(max))),
        SettingKind::Seconds { max } | SettingKind::Statuses { max } => {
            Some(format!("0s to {}, in whole seconds", show_duration(max)))
        }
        SettingKind::Text(_)
        | SettingKind::Texts(_)
        | SettingKind::TextsOrTables(_)
        | SettingKind::Map(..)
        | SettingKind::OneOf(_)
        | SettingKind::Flag
        | SettingKind::FlagOr(_) => None,
    }
}

fn outside(row: &Setting, text: &Located<String>) -> Issue {
    let range = range(row.kind).unwrap_or_default();
    let message =
        format!("{} can't be {}: it must be {}, {range}", quoted(row.name()), quoted(&text.value), words(row.kind));
    let or_auto = if matches!(row.kind, SettingKind::IntegerOrAuto { .. }) { " or \"auto\"" } else { "" };
    Issue::error(message).at(&text.place).help(format!("like {}{or_auto}", row.example))
}
