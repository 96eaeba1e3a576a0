//! The one table of all settings.
//!
//! A row says how a setting is called, where it may stand, what it takes, its default and bounds, its flag, and what
//! it is for. Reading a file checks types and bounds against the row, the flags take their help from it, and
//! docs/configuration.md is this table printed. Tests compare it with what the code does: each default with what an
//! empty file resolves to, each example with what it changes.
//!
//! The rows do not say how values become options: that is `raw` and `resolve`.

mod cache;
mod changes;
mod compress;
mod cookies;
mod counters;
mod expiry;
mod gateway;
mod guard;
mod limits;
mod origins;
mod peers;
mod programs;
mod sendfile;
mod server;
mod shared;
mod site;
mod visitors;

use std::time::Duration;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Its key below each of `scopes`: `limits.head-bytes-max`.
    pub(crate) path: &'static str,
    /// Where it may stand; the innermost that is written wins.
    pub(crate) scopes: &'static [SettingScope],
    /// What it takes.
    pub(crate) kind: SettingKind,
    /// What holds when it is not written.
    pub(crate) default: Default,
    /// Whether the default differs in some profile, or beside some other settings; `details` says which.
    pub(crate) default_varies: bool,
    /// The flag of `kasoku serve` that wins over the file.
    pub(crate) flag: Option<&'static str>,
    /// One or two sentences.
    pub(crate) summary: &'static str,
    /// Further details; may be empty.
    pub(crate) details: &'static str,
    /// A value that differs from the default, as TOML.
    pub(crate) example: &'static str,
    /// Whether a reload leaves it as it is.
    pub(crate) is_read_at_start: bool,
}

/// Where a key may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingScope {
    /// The top of the file.
    Top,
    /// A `[[site]]`.
    Site,
    /// A `[[site.rule]]`.
    Rule,
    /// One of `listen`, written as a table.
    Listen,
    /// One of `origin`, written as a table.
    Origin,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SettingKind {
    /// A text; the words name what it is.
    Text(&'static str),
    /// A list of texts, or one text alone.
    Texts(&'static str),
    /// `listen` and `origin`: texts and tables; the words name what a text is.
    TextsOrTables(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or this word.
    FlagOr(&'static str),
    /// A whole number.
    Integer { min: u64, max: u64 },
    /// A whole number, or `"auto"`.
    IntegerOrAuto { min: u64, max: u64 },
    /// Bytes: a number or a text with a unit.
    Size { min: u64, max: u64 },
    /// A text with a unit.
    Duration { min: Duration, max: Duration },
    /// The same without fractions of a second.
    Seconds { max: Duration },
    /// A table of texts; the words name its keys and its values.
    Map(&'static str, &'static str),
    /// A table of durations, by status.
    Statuses { max: Duration },
}

/// What holds when a setting is not written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Default {
    /// This value, as TOML.
    Value(&'static str),
    /// What these words say; it can't be written as a value.
    Unset(&'static str),
    /// It must be written.
    Required,
}

/// Settings that stand together in the reference page.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) intro: &'static str,
    pub(crate) settings: &'static [Setting],
}

/// All settings, in the order of the reference page.
pub(crate) static SECTIONS: [&Section; 27] = [
    &server::SERVER,
    &server::MEMORY,
    &server::DISK,
    &shared::SHARED,
    &peers::PEERS,
    &server::ACCESS_LOG,
    &server::LOG,
    &server::TRACES,
    &site::SITE,
    &site::RULE,
    &origins::SEVERAL,
    &origins::HEALTH,
    &gateway::GATEWAY,
    &programs::PROGRAMS,
    &sendfile::SENDFILE,
    &cache::CACHE,
    &expiry::EXPIRY,
    &cookies::COOKIES,
    &visitors::VISITORS,
    &changes::CHANGES,
    &counters::COUNTERS,
    &guard::GUARD,
    &cache::QUERY,
    &compress::COMPRESS,
    &limits::CLIENTS,
    &limits::REQUEST_BUFFER,
    &limits::ORIGINS,
];

/// All settings.
pub(crate) fn settings() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// The setting whose key this is in that scope.
pub(crate) fn find(scope: SettingScope, path: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.path == path && setting.scopes.contains(&scope))
}

/// The setting that this flag sets.
pub(crate) fn by_flag(flag: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.flag == Some(flag))
}

/// The help text of a flag.
pub(crate) fn flag_help(flag: &str) -> &'static str {
    by_flag(flag).map_or("", |setting| setting.summary)
}

impl Setting {
    /// Its keys, written out in full from the top of the file: `site.rule.cache.negative-ttl`.
    pub(crate) fn keys(&self) -> impl Iterator<Item = String> {
        self.scopes.iter().map(|scope| format!("{}{}", scope.prefix(), self.path))
    }

    /// Whether a file must have it.
    pub(crate) const fn is_required(&self) -> bool {
        matches!(self.default, Default::Required)
    }

    /// The key alone: `head-bytes-max`.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

impl SettingScope {
    /// The text before a path in this scope.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Site => "site.",
            Self::Rule => "site.rule.",
            Self::Listen => "listen.",
            Self::Origin => "site.origin.",
        }
    }

    /// The scope's name in a sentence.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Top => "the file",
            Self::Site => "the site",
            Self::Rule => "the rule",
            Self::Listen => "the listener",
            Self::Origin => "the origin",
        }
    }
}

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const DAY: u64 = 86_400;
const YEAR: Duration = Duration::from_secs(365 * DAY);

/// A row to start from.
const ROW: Setting = Setting {
    path: "",
    scopes: &[SettingScope::Top],
    kind: SettingKind::Flag,
    default: Default::Value("false"),
    default_varies: false,
    flag: None,
    summary: "",
    details: "",
    example: "true",
    is_read_at_start: false,
};
/// A row that may stand at the top, in a site and in a rule.
const EVERYWHERE: Setting = Setting { scopes: &[SettingScope::Top, SettingScope::Site, SettingScope::Rule], ..ROW };

/// A deadline of at most a day.
const fn deadline(min_ms: u64) -> SettingKind {
    SettingKind::Duration { min: Duration::from_millis(min_ms), max: Duration::from_secs(DAY) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_key_and_no_flag_stands_twice() {
        let (mut keys, mut flags) = (HashSet::new(), HashSet::new());
        for setting in settings() {
            assert!(setting.keys().all(|key| keys.insert(key)), "{} stands twice", setting.path);
            assert!(setting.flag.is_none_or(|flag| flags.insert(flag)), "{:?} stands twice", setting.flag);
        }
    }

    #[test]
    fn each_row_is_complete_and_in_the_units_style() {
        for setting in settings() {
            assert!(setting.summary.ends_with('.'), "the summary of {} is no sentence", setting.path);
            assert!(setting.details.is_empty() || setting.details.ends_with('.'), "the details of {}", setting.path);
            let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
            assert!(setting.path.chars().all(kebab), "{} is not in kebab case", setting.path);
        }
    }
}
