//! Parses TOML: gives the keys of a file, or what is wrong with its syntax.
//!
//! If a text is not TOML, only the first fault is reported. The parser can go on behind it, but what it finds there mostly follows
//! from the first: one missing quote makes seven errors, none of them in the line to mend.

use crate::issue::{Issue, SettingsSource, SourceLocation};
use crate::raw::Raw;
use toml::de::{DeTable, Error};

/// The file's keys; `None`: it is not TOML, and a damaged document is not worth checking.
pub(crate) fn parse(text: &str, issues: &mut Vec<Issue>) -> Option<Raw> {
    parse_as(text, issues, Raw::read)
}

/// The same for a file with other keys.
pub(crate) fn parse_as<T>(
    text: &str,
    issues: &mut Vec<Issue>,
    read: impl FnOnce(&DeTable<'_>, &mut Vec<Issue>) -> T,
) -> Option<T> {
    let (document, errors) = DeTable::parse_recoverable(text);
    match errors.iter().min_by_key(|error| error.span().map_or(usize::MAX, |span| span.start)) {
        None => Some(read(document.get_ref(), issues)),
        Some(first) => {
            issues.push(syntax_issue(first, text));
            None
        }
    }
}

/// The parser's message; what the parser expected becomes the help.
fn syntax_issue(error: &Error, document: &str) -> Issue {
    let at = error.span().and_then(|span| document.get(span)).unwrap_or_default();
    let (message, expected) = error.message().split_once(", expected ").unwrap_or((error.message(), ""));
    let help = match (message, expected) {
        ("duplicate key", _) if at == "site" => {
            "a `[[site.rule]]` stands below the `[[site]]` that it belongs to".to_owned()
        }
        ("duplicate key", _) => "a key can stand only once in its table: remove one of the two".to_owned(),
        (_, "") => "texts stand in quotes, tables begin with `[name]`, lists of tables with `[[name]]`".to_owned(),
        (_, expected) => format!("expected {expected}"),
    };
    let issue = Issue::error(format!("this is not TOML: {}", message.replace('\n', ", "))).help(help);
    match error.span() {
        Some(span) => issue.at(&SourceLocation { source: SettingsSource::File, span }),
        None => issue,
    }
}
