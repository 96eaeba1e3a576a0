//! A report for a log: a line for each issue.

use super::{ConfigReport, ISSUES_SHOWN_MAX};
use crate::issue::{SettingsSource, Severity};

impl ConfigReport {
    /// Each issue as one line, with its place before it and the help behind it: `kasoku.toml:4:3: unknown key ...`.
    pub fn to_lines(&self) -> Vec<(Severity, String)> {
        let (file, flags) = (TextLines::of(&self.file), TextLines::of(&self.flags));
        let issues = self.issues.iter().take(ISSUES_SHOWN_MAX).map(|issue| {
            let (name, lines) = match issue.place.as_ref().map(|place| place.source) {
                Some(SettingsSource::Flags) => ("command line", &flags),
                _ => (self.file_name.as_str(), &file),
            };
            let at = issue.place.as_ref().map(|place| lines.position(place.span.start));
            let at = at.map_or(String::new(), |(line, column)| format!("{name}:{line}:{column}: "));
            let help = issue.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
            (issue.severity, format!("{at}{}{help}", issue.message))
        });
        let mut all: Vec<_> = issues.collect();
        if let Some(more @ 1..) = self.issues.len().checked_sub(ISSUES_SHOWN_MAX) {
            all.push((Severity::Warning, format!("and {more} more")));
        }
        all
    }
}

/// A text, and where its lines begin.
pub(super) struct TextLines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> TextLines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, starts: [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect() }
    }

    /// The line and the column, in characters, of a byte; both from 1.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        (line, self.text.get(start..at).map_or(0, |before| before.chars().count()) + 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::check_text;
    use crate::issue::Severity;
    use crate::report::ConfigReport;

    #[test]
    fn each_issue_is_one_line_with_its_place_and_the_way_out() {
        let file = "trusted-proxies = [\"::/0\"]\nlistn = 1\n".to_owned();
        let (_, issues) = check_text(&file);
        let lines = ConfigReport { issues, file_name: "a.toml".to_owned(), file, flags: String::new() }.to_lines();
        let [(first, proxies), (second, key), (last, site)] = lines.as_slice() else { panic!("{lines:#?}") };
        assert_eq!((*first, *second, *last), (Severity::Warning, Severity::Error, Severity::Error));
        assert!(
            proxies.starts_with("a.toml:1:20: every client is trusted") && proxies.ends_with("\"10.0.0.0/8\")"),
            "{proxies}"
        );
        assert_eq!(key, "a.toml:2:1: unknown key `listn`: did you mean `listen`?");
        assert!(site.starts_with("there is no site to serve (write "), "{site}");
    }
}
