//! Issues of a configuration: what is wrong, where, and how to fix it.
//!
//! A written value travels as `Located`, with its [`SourceLocation`] in the file or on the command line, so that a check long after
//! parsing can still point at it. Checks never stop at the first fault; they push an [`Issue`] and go on.
//!
//! Messages must not show secrets. There is one gate for that: text that a person wrote enters a message only
//! through `quoted`, which masks credentials, escapes control characters and cuts what is too long.

use crate::secrets;
use std::ops::Range;

/// The longest piece of a person's text that a message repeats, in characters.
const QUOTED_CHARS_MAX: usize = 80;

/// The place of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Which text.
    pub source: SettingsSource,
    /// Bytes of that text.
    pub span: Range<usize>,
}

/// The two texts that settings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingsSource {
    /// The configuration file.
    File,
    /// The flags, written as one line.
    Flags,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it stands.
    pub(crate) place: SourceLocation,
}

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration gives no options.
    Error,
    /// The setting works, but hardly as meant.
    Warning,
}

/// One fault: what is wrong, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Whether the program can start with it.
    pub severity: Severity,
    /// One sentence without a full stop: what is wrong.
    pub message: String,
    /// Where; none if something is missing altogether.
    pub place: Option<SourceLocation>,
    /// A second place that explains the first, and what it is.
    pub related: Option<Box<(SourceLocation, String)>>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Issue {
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), place: None, related: None, help: None }
    }

    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    #[must_use]
    pub(crate) fn at(mut self, place: &SourceLocation) -> Self {
        self.place = Some(place.clone());
        self
    }

    #[must_use]
    pub(crate) fn related(mut self, place: &SourceLocation, label: impl Into<String>) -> Self {
        self.related = Some(Box::new((place.clone(), label.into())));
        self
    }

    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether the issue keeps the program from starting.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The error of a value parser, which does not know the place of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueError {
    pub(crate) message: String,
    pub(crate) help: String,
}

impl ValueError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }

    pub(crate) fn at(self, place: &SourceLocation) -> Issue {
        Issue::error(self.message).at(place).help(self.help)
    }
}

/// The text in backquotes, fit for a message: credentials are masked, control characters escaped, and long texts cut.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::from("`");
    for (count, c) in secrets::mask(text).chars().enumerate() {
        if count == QUOTED_CHARS_MAX {
            shown.push('…');
            break;
        }
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.push('`');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_can_not_write_on_the_terminal() {
        assert_eq!(quoted("a\u{1b}[2Jb\n"), "`a\\u{1b}[2Jb\\n`");
    }

    #[test]
    fn a_quoted_text_is_bounded() {
        assert_eq!(quoted(&"x".repeat(5000)).chars().count(), QUOTED_CHARS_MAX + 3);
    }

    #[test]
    fn a_quoted_url_shows_no_password() {
        assert_eq!(quoted("http://tom:hunter2@app"), "`http://***********@app`");
    }
}
