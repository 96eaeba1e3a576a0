//! Reads the keys of one table, one by one, and reports those that are left.
//!
//! The code that reads a table asks for each key that it knows ([`Keys::text`], [`Keys::size`], …). A missing key gives `None`; one
//! with a value of the wrong type or outside its row's bounds gives `None` and an issue. At the end, every key that was not asked
//! for is reported as unknown, with a suggestion, and every absent key that the table of settings requires as missing.
//!
//! Serde is deliberately not used: it stops at the first fault and knows where a value stands, but not where a key does.

use crate::bounds;
use crate::gone;
use crate::issue::{Issue, Located, SettingsSource, SourceLocation, quoted};
use crate::suggest;
use crate::table::{self, Setting, SettingKind, SettingScope};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// Keys and values of a table of texts, each with its place.
pub(crate) type TextPairs = Vec<(Located<String>, Located<String>)>;

/// The keys of one scope that were written, by their paths in the table of settings (`limits.head-bytes-max`).
pub(crate) type WrittenKeys = BTreeMap<&'static str, SourceLocation>;

/// The most entries of a list: sites, rules, hosts, addresses.
pub(crate) const LIST_LEN_MAX: usize = 10_000;

/// How many keys are suggested for an unknown key that resembles none.
const NEAREST_KEYS: usize = 3;

/// One table that is being read.
pub(crate) struct Keys<'a, 'i> {
    table: &'a DeTable<'i>,
    scope: SettingScope,
    /// The path of this table below its scope, with a dot at the end: `limits.`; empty for the scope's own table.
    group: String,
    asked: Vec<&'static str>,
    issues: &'a mut Vec<Issue>,
}

/// Reads the whole file.
pub(crate) fn read<'i, T>(
    document: &DeTable<'i>,
    issues: &mut Vec<Issue>,
    read: impl FnOnce(&mut Keys<'_, 'i>) -> T,
) -> T {
    Keys { table: document, scope: SettingScope::Top, group: String::new(), asked: Vec::new(), issues }.finish(read)
}

impl<'a, 'i> Keys<'a, 'i> {
    /// Reads the keys of a table within this one; a missing table is read as an empty one.
    pub(crate) fn group<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Keys<'_, 'i>) -> T) -> T {
        let empty = DeTable::new();
        let table = match self.ask(name).map(|value| (value.get_ref(), value.span())) {
            None => &empty,
            Some((DeValue::Table(table), _)) => table,
            Some((_, span)) if let Some(gone) = gone::find(self.scope, &self.group, name) => {
                self.push(gone.issue().at(&place(span)));
                &empty
            }
            Some((other, span)) => {
                let help = format!("write `[{}{name}]` and its keys below", self.shown_prefix());
                self.push(
                    Issue::error(format!("{} must be a table, not {}", quoted(name), kind_of(other)))
                        .at(&place(span))
                        .help(help),
                );
                &empty
            }
        };
        let group = format!("{}{name}.", self.group);
        Keys { table, scope: self.scope, group, asked: Vec::new(), issues: self.issues }.finish(read)
    }

    /// The places of all keys of the scope that the file has, whether they were asked for or not. Only for the scope's own table.
    pub(crate) fn written(&self) -> WrittenKeys {
        debug_assert!(self.group.is_empty(), "{} is no scope of its own", self.shown_prefix());
        let rows = table::settings().filter(|row| row.scopes.contains(&self.scope));
        rows.filter_map(|row| Some((row.path, place(span_of(row, self.table)?)))).collect()
    }

    /// A list of tables, `[[name]]`, each with the place of its header.
    pub(crate) fn tables<T>(
        &mut self,
        name: &'static str,
        scope: SettingScope,
        mut read_one: impl FnMut(&mut Keys<'_, 'i>, SourceLocation) -> T,
    ) -> Vec<T> {
        let Some(value) = self.ask(name) else { return Vec::new() };
        let header = format!("[[{}]]", scope.prefix().trim_end_matches('.'));
        let mut all = Vec::new();
        let is_list = matches!(value.get_ref(), DeValue::Array(_));
        for item in self.items(value) {
            let table = item.get_ref().as_table();
            if table.is_none() || !is_list {
                let message = format!("{} must be a list of tables, not {}", quoted(name), kind_of(item.get_ref()));
                self.push(
                    Issue::error(message).at(&place(item.span())).help(format!("write `{header}`, once for each")),
                );
            }
            // A single table is read as the only one of its list: what is wrong in it is reported as well.
            all.extend(table.map(|table| self.read_scope(table, scope, place(item.span()), &mut read_one)));
        }
        all
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<Located<String>> {
        let value = self.ask(name)?;
        match value.get_ref() {
            DeValue::String(text) => Some(at(text.to_string(), value.span())),
            other => self.wrong_type(name, other, &place(value.span())),
        }
    }

    /// A list of texts; one text alone is a list of one. `None` also if a list has entries, but no text.
    pub(crate) fn texts(&mut self, name: &'static str) -> Option<Located<Vec<Located<String>>>> {
        let value = self.ask(name)?;
        let texts: Vec<_> = self.items(value).filter_map(|item| self.text_of(name, item)).collect();
        (!texts.is_empty() || is_empty_list(value)).then(|| at(texts, value.span()))
    }

    /// A list of texts and tables; one alone is a list of one.
    pub(crate) fn texts_or_tables<T>(
        &mut self,
        name: &'static str,
        scope: SettingScope,
        mut of_text: impl FnMut(Located<String>) -> T,
        mut of_table: impl FnMut(&mut Keys<'_, 'i>, SourceLocation) -> T,
    ) -> Option<Located<Vec<T>>> {
        let value = self.ask(name)?;
        let mut all = Vec::new();
        for item in self.items(value) {
            match item.get_ref() {
                DeValue::Table(table) => {
                    all.push(self.read_scope(table, scope, place(item.span()), &mut of_table));
                }
                _ => all.extend(self.text_of(name, item).map(&mut of_text)),
            }
        }
        (!all.is_empty() || is_empty_list(value)).then(|| at(all, value.span()))
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, name: &'static str) -> Option<Located<bool>> {
        let value = self.ask(name)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(at(*flag, value.span())),
            other => self.wrong_type(name, other, &place(value.span())),
        }
    }

    /// `true`, `false`, or the word of the row, as a text.
    pub(crate) fn flag_or(&mut self, name: &'static str) -> Option<Located<String>> {
        let (value, row) = (self.ask(name)?, self.row(name)?);
        match (value.get_ref(), row.kind) {
            (DeValue::Boolean(flag), _) => Some(at(flag.to_string(), value.span())),
            (DeValue::String(text), SettingKind::FlagOr(word)) if text == word => {
                Some(at(word.to_owned(), value.span()))
            }
            (other, _) => self.wrong_type(name, other, &place(value.span())),
        }
    }

    /// A whole number within its row's bounds.
    pub(crate) fn integer(&mut self, name: &'static str) -> Option<Located<u64>> {
        let value = self.ask(name)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            return self.wrong_type(name, value.get_ref(), &place(value.span()));
        };
        let row = self.row(name)?;
        self.keep(bounds::integer(row, &at(decimal(integer), value.span())))
    }

    /// A number or a text, as it was written: for settings that take both.
    pub(crate) fn number_or_text(&mut self, name: &'static str) -> Option<Located<String>> {
        let value = self.ask(name)?;
        match value.get_ref() {
            DeValue::Integer(integer) => Some(at(decimal(integer), value.span())),
            DeValue::String(text) => Some(at(text.to_string(), value.span())),
            other => self.wrong_type(name, other, &place(value.span())),
        }
    }

    /// Bytes within the row's bounds.
    pub(crate) fn size(&mut self, name: &'static str) -> Option<Located<u64>> {
        let text = self.number_or_text(name)?;
        let row = self.row(name)?;
        self.keep(bounds::size(row, &text))
    }

    /// A duration within the row's bounds.
    pub(crate) fn duration(&mut self, name: &'static str) -> Option<Located<Duration>> {
        let text = self.number_or_text(name)?;
        let row = self.row(name)?;
        self.keep(bounds::duration(row, &text))
    }

    /// A table of durations by key, each within the row's bounds.
    pub(crate) fn durations(&mut self, name: &'static str) -> Option<Vec<(Located<String>, Located<Duration>)>> {
        let value = self.ask(name)?;
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong_type(name, value.get_ref(), &place(value.span()));
        };
        let row = self.row(name)?;
        let mut all = Vec::new();
        for (key, value) in table.iter().take(LIST_LEN_MAX) {
            let text = match value.get_ref() {
                DeValue::Integer(integer) => at(decimal(integer), value.span()),
                DeValue::String(text) => at(text.to_string(), value.span()),
                other => {
                    self.wrong_type::<()>(name, other, &place(value.span()));
                    continue;
                }
            };
            let duration = self.keep(bounds::duration(row, &text));
            all.extend(duration.map(|duration| (at(key.get_ref().to_string(), key.span()), duration)));
        }
        Some(all)
    }

    /// A table of texts by key.
    pub(crate) fn map(&mut self, name: &'static str) -> Option<Located<TextPairs>> {
        let value = self.ask(name)?;
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong_type(name, value.get_ref(), &place(value.span()));
        };
        let mut all = TextPairs::new();
        for (key, value) in table.iter().take(LIST_LEN_MAX) {
            match value.get_ref() {
                DeValue::String(text) => {
                    all.push((at(key.get_ref().to_string(), key.span()), at(text.to_string(), value.span())));
                }
                other => {
                    self.wrong_type::<()>(name, other, &place(value.span()));
                }
            }
        }
        Some(at(all, value.span()))
    }

    /// Reads a table that is a scope of its own: a site, a rule, a listener.
    fn read_scope<T>(
        &mut self,
        table: &DeTable<'i>,
        scope: SettingScope,
        header: SourceLocation,
        read_one: &mut impl FnMut(&mut Keys<'_, 'i>, SourceLocation) -> T,
    ) -> T {
        for row in table::settings()
            .filter(|row| row.is_required() && row.scopes.contains(&scope) && table.get(row.path).is_none())
        {
            let message = format!("{} has no {}", scope.noun(), quoted(row.path));
            self.push(Issue::error(message).at(&header).help(format!("like `{} = {}`", row.path, row.example)));
        }
        let keys = Keys { table, scope, group: String::new(), asked: Vec::new(), issues: self.issues };
        keys.finish(|keys| read_one(keys, header))
    }

    fn finish<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let value = read(&mut self);
        self.complain_about_the_rest();
        value
    }

    fn ask(&mut self, name: &'static str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.asked.push(name);
        self.table.get(name)
    }

    /// The row of a key. A test of the table makes sure that each key that is asked for has one.
    fn row(&self, name: &str) -> Option<&'static Setting> {
        let row = table::find(self.scope, &format!("{}{name}", self.group));
        debug_assert!(
            row.is_some(),
            "the table of settings has no row for {}{}{name}",
            self.scope.prefix(),
            self.group
        );
        row
    }

    fn keep<T>(&mut self, result: Result<T, Issue>) -> Option<T> {
        result.map_err(|issue| self.push(issue)).ok()
    }

    fn push(&mut self, issue: Issue) {
        self.issues.push(issue);
    }

    /// The items of a list; a value that is no list is its only item. A list that is too long is an error.
    fn items(
        &mut self,
        value: &'a Spanned<DeValue<'i>>,
    ) -> impl Iterator<Item = &'a Spanned<DeValue<'i>>> + use<'a, 'i> {
        let items: Vec<_> = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        if let Some(surplus) = items.get(LIST_LEN_MAX) {
            let message = format!("the list is longer than {LIST_LEN_MAX}");
            self.push(
                Issue::error(message).at(&place(surplus.span())).help("this entry is the first that is too many"),
            );
        }
        items.into_iter().take(LIST_LEN_MAX)
    }

    fn text_of(&mut self, name: &'static str, item: &Spanned<DeValue<'i>>) -> Option<Located<String>> {
        match item.get_ref() {
            DeValue::String(text) => Some(at(text.to_string(), item.span())),
            other => self.wrong_type(name, other, &place(item.span())),
        }
    }

    fn wrong_type<T>(&mut self, name: &'static str, found: &DeValue<'_>, place: &SourceLocation) -> Option<T> {
        if self.are_gone(name, found) {
            return None;
        }
        let row = self.row(name)?;
        let message = format!("{} must be {}, not {}", quoted(name), bounds::words(row.kind), kind_of(found));
        self.push(Issue::error(message).at(place).help(format!("like `{name} = {}`", row.example)));
        None
    }

    fn complain_about_the_rest(&mut self) {
        for (key, _) in self.table.iter().filter(|(key, _)| !self.asked.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            if let Some(gone) = gone::find(self.scope, &self.group, name) {
                self.issues.push(gone.issue().at(&place(key.span())));
                continue;
            }
            let message = format!("unknown key {}", quoted(name));
            let issue = match (suggest::where_it_belongs(name), suggest::closest(name, &self.asked)) {
                (Some(place), _) => Issue::error(message).help(place),
                (None, Some(close)) => Issue::error(format!("{message}: did you mean {}?", quoted(close))),
                (None, None) => {
                    let plural = name.strip_suffix('s').and_then(suggest::where_it_belongs);
                    Issue::error(message).help(plural.unwrap_or_else(|| self.nearest_keys(name)))
                }
            };
            self.issues.push(issue.at(&place(key.span())));
        }
    }

    /// Whether the value is a table of keys that are no longer settings. Reports each of them.
    fn are_gone(&mut self, name: &str, found: &DeValue<'_>) -> bool {
        let Some(table) = found.as_table() else { return false };
        let group = format!("{}{name}.", self.group);
        let issues = table.iter().filter_map(|(key, _)| {
            let gone = gone::find(self.scope, &group, key.get_ref())?;
            Some(gone.issue().at(&place(key.span())))
        });
        let told = self.issues.len();
        self.issues.extend(issues);
        self.issues.len() > told
    }

    fn nearest_keys(&self, name: &str) -> String {
        let nearest = suggest::nearest(name, &self.asked, NEAREST_KEYS).into_iter().map(quoted).collect::<Vec<_>>();
        let more = if self.asked.len() > nearest.len() { "; docs/configuration.md has all of them" } else { "" };
        format!("the nearest keys that can stand here are {}{more}", nearest.join(", "))
    }

    fn shown_prefix(&self) -> String {
        format!("{}{}", self.scope.prefix(), self.group)
    }
}

/// Where a setting's value stands in its scope's table.
fn span_of(row: &Setting, scope: &DeTable<'_>) -> Option<Range<usize>> {
    let (groups, name) = row.path.rsplit_once('.').map_or((None, row.path), |(groups, name)| (Some(groups), name));
    let mut groups = groups.into_iter().flat_map(|groups| groups.split('.'));
    let table = groups.try_fold(scope, |table, group| table.get(group)?.get_ref().as_table())?;
    let value = table.get(name)?;
    // A table of durations may have no header, and then no place of its own.
    let statuses = value.get_ref().as_table().filter(|_| matches!(row.kind, SettingKind::Statuses { .. }));
    let first = statuses.and_then(|statuses| statuses.keys().next());
    Some(first.map_or_else(|| value.span(), Spanned::span))
}

fn at<T>(value: T, span: Range<usize>) -> Located<T> {
    Located { value, place: place(span) }
}

fn place(span: Range<usize>) -> SourceLocation {
    SourceLocation { source: SettingsSource::File, span }
}

/// The number in decimal digits, however it was written; as it was written when it is negative or too large.
fn decimal(integer: &DeInteger<'_>) -> String {
    u64::from_str_radix(integer.as_str(), integer.radix())
        .map_or_else(|_| integer.to_string(), |number| number.to_string())
}

fn is_empty_list(value: &Spanned<DeValue<'_>>) -> bool {
    value.get_ref().as_array().is_some_and(|items| items.is_empty())
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
