//! Shows issues to people: place, source line, carets, and help.
//!
//! annotate-snippets draws the issues, from texts that are masked first, so that no quoted line can carry a credential into a log
//! (see [`crate::secrets`]). The length of a report is bounded.

mod json;
mod lines;

use crate::issue::{Issue, SettingsSource, Severity, SourceLocation};
use crate::secrets;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;

/// The most issues that are shown one by one.
const ISSUES_SHOWN_MAX: usize = 50;

/// A text as it may be quoted: without credentials, and without characters that a terminal obeys or that reverse the order of the
/// text behind them. (annotate-snippets replaces the control characters of ASCII.) It is as long in bytes as before, so that places
/// stay valid.
fn shown(text: &str) -> String {
    let harmless = |c: char| match c {
        '\u{80}'..='\u{9f}' => '\u{b7}',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other => other,
    };
    secrets::mask(text).chars().map(harmless).collect()
}

/// Issues and the texts that they point into.
#[derive(Clone, Debug, Default)]
pub struct ConfigReport {
    /// Errors and warnings in the order of their places.
    pub issues: Vec<Issue>,
    /// The file's name in the report.
    pub(crate) file_name: String,
    /// The file's text.
    pub(crate) file: String,
    /// The flags as one line.
    pub(crate) flags: String,
}

impl ConfigReport {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// The report as text for people, with a count at the end; empty when there is nothing to say. `colour`: with
    /// escape sequences for a terminal.
    pub fn render(&self, colour: bool) -> String {
        if self.is_empty() {
            return String::new();
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let shown = MaskedTexts { file_name: &self.file_name, file: shown(&self.file), flags: shown(&self.flags) };
        let mut text = String::new();
        for issue in self.issues.iter().take(ISSUES_SHOWN_MAX) {
            text.push_str(&renderer.render(&[shown.group(issue)]));
            text.push_str("\n\n");
        }
        if let Some(more @ 1..) = self.issues.len().checked_sub(ISSUES_SHOWN_MAX) {
            text.push_str(&format!("and {more} more\n\n"));
        }
        text.push_str(&self.count());
        text
    }

    fn count(&self) -> String {
        let errors = self.issues.iter().filter(|issue| issue.is_error()).count();
        let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        match (errors, self.issues.len() - errors) {
            (errors, 0) => format!("{}\n", plural(errors, "error")),
            (0, warnings) => format!("{}\n", plural(warnings, "warning")),
            (errors, warnings) => format!("{}, {}\n", plural(errors, "error"), plural(warnings, "warning")),
        }
    }
}

impl fmt::Display for ConfigReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for ConfigReport {}

/// The report on one text, which it calls `name`. See [`ConfigReport::render`].
pub fn render(name: &str, text: &str, issues: &[Issue], colour: bool) -> String {
    let report = ConfigReport {
        issues: issues.to_vec(),
        file_name: name.to_owned(),
        file: text.to_owned(),
        flags: String::new(),
    };
    report.render(colour)
}

/// The masked texts.
struct MaskedTexts<'r> {
    file_name: &'r str,
    file: String,
    flags: String,
}

impl MaskedTexts<'_> {
    fn group<'s>(&'s self, issue: &'s Issue) -> Group<'s> {
        let level = match issue.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(&issue.message));
        let related = issue.related.as_deref().map(|(place, label)| (place, label.as_str()));
        match (&issue.place, related) {
            (Some(place), Some((other, label))) if other.source == place.source => {
                let other = AnnotationKind::Context.span(self.span(other)).label(label);
                group = group.element(self.snippet(place).annotation(self.primary(place)).annotation(other));
            }
            (Some(place), related) => {
                group = group.element(self.snippet(place).annotation(self.primary(place)));
                if let Some((other, label)) = related {
                    group = group.element(
                        self.snippet(other).annotation(AnnotationKind::Context.span(self.span(other)).label(label)),
                    );
                }
            }
            (None, _) => {}
        }
        match &issue.help {
            Some(help) => group.element(Level::HELP.message(help)),
            None => group,
        }
    }

    fn snippet<'s, T: Clone>(&'s self, place: &SourceLocation) -> Snippet<'s, T> {
        let (name, text) = self.text(place.source);
        Snippet::source(text).path(name)
    }

    fn primary<'s>(&self, place: &SourceLocation) -> annotate_snippets::Annotation<'s> {
        AnnotationKind::Primary.span(self.span(place))
    }

    /// The span, cut to the text and to its first line: a table's span would underline all of it.
    fn span(&self, place: &SourceLocation) -> std::ops::Range<usize> {
        let (_, text) = self.text(place.source);
        let start = place.span.start.min(text.len());
        let end = place.span.end.clamp(start, text.len());
        let first_line = text.get(start..end).and_then(|cut| cut.lines().next()).map_or(0, str::len);
        start..start + first_line
    }

    fn text(&self, source: SettingsSource) -> (&str, &str) {
        match source {
            SettingsSource::File => (self.file_name, &self.file),
            SettingsSource::Flags => ("command line", &self.flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_not_quoted_and_places_stay_true() {
        for text in ["a = \"1\u{96}B\u{202e}c\"\n", "b\u{9b}31m", "plain \u{e9}"] {
            let quoted = shown(text);
            assert_eq!(quoted.len(), text.len(), "{text:?}");
            assert!(!quoted.chars().any(|c| matches!(c, '\u{80}'..='\u{9f}' | '\u{202e}')), "{quoted:?}");
        }
        assert_eq!(shown("plain \u{e9}"), "plain \u{e9}");
    }
}
