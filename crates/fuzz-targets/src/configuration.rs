//! Fuzz target for the configuration. Input: its text. Operators write it, but they may also generate or paste it, and reports
//! about it are shown in logs and on terminals.

use kasoku_config::{Issue, check_text, render};

/// How many issues a report shows one by one.
const ISSUES_SHOWN_MAX: usize = 50;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (options, issues) = check_text(text);
    assert_eq!(options.is_some(), !issues.iter().any(Issue::is_error), "options come out unless there is an error");
    let (_, again) = check_text(text);
    assert_eq!(again, issues, "another look finds other issues");
    for issue in &issues {
        assert!(!issue.message.is_empty() && issue.help.as_ref().is_none_or(|help| !help.is_empty()));
        is_printable(&issue.message);
        issue.help.iter().for_each(|help| is_printable(help));
        let places = issue.place.iter().chain(issue.related.iter().map(|related| &related.0));
        for place in places {
            assert!(place.span.start <= place.span.end);
            assert!(text.get(place.span.clone()).is_some(), "{:?} is no place in the text", place.span);
        }
    }
    let starts = |issue: &Issue| issue.place.as_ref().map_or(usize::MAX, |place| place.span.start);
    assert!(issues.iter().map(starts).is_sorted(), "issues are not in the order of their places");
    let plain = render("kasoku.toml", text, &issues, false);
    assert_eq!(plain.is_empty(), issues.is_empty());
    is_printable(&plain);
    let shown = plain.lines().filter(|line| line.starts_with("error") || line.starts_with("warning")).count();
    assert!(shown >= issues.len().min(ISSUES_SHOWN_MAX), "issues are missing in the report");
    let _ = render("kasoku.toml", text, &issues, true);
}

/// A report must not send control characters to the operator's terminal.
fn is_printable(text: &str) {
    let odd = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(odd, None, "a control character of the text is in the report:\n{text}");
}
