//! A report for programs: editors, and checks before a roll-out.
//!
//! ```json
//! {
//!   "file": "kasoku.toml",
//!   "ok": false,
//!   "errors": 1,
//!   "warnings": 0,
//!   "issues": [
//!     {
//!       "severity": "error",
//!       "message": "unknown key `listn`: did you mean `listen`?",
//!       "help": null,
//!       "place": { "source": "file", "line": 1, "column": 1, "end_line": 1, "end_column": 6 },
//!       "related": null
//!     }
//!   ]
//! }
//! ```
//!
//! Lines and columns begin at 1 and count characters; the end is the place behind the last one. `place` is null where something is
//! missing altogether. The report contains no line of the file, and messages show no credentials.

use super::ConfigReport;
use super::lines::TextLines;
use crate::issue::{Issue, SettingsSource, Severity, SourceLocation};
use serde_json::json;

/// The most issues that are listed; `errors` and `warnings` count all.
const ISSUES_TOLD_MAX: usize = 1000;

impl ConfigReport {
    /// The report as a JSON object for programs.
    pub fn to_json(&self) -> String {
        let errors = self.issues.iter().filter(|issue| issue.is_error()).count();
        let (file, flags) = (TextLines::of(&self.file), TextLines::of(&self.flags));
        let place = |place: &SourceLocation| {
            let (source, lines) = match place.source {
                SettingsSource::File => ("file", &file),
                SettingsSource::Flags => ("command line", &flags),
            };
            let ((line, column), (end_line, end_column)) =
                (lines.position(place.span.start), lines.position(place.span.end));
            json!({ "source": source, "line": line, "column": column, "end_line": end_line, "end_column": end_column })
        };
        let issue = |issue: &Issue| {
            json!({
                "severity": match issue.severity { Severity::Error => "error", Severity::Warning => "warning" },
                "message": issue.message,
                "help": issue.help,
                "place": issue.place.as_ref().map(place),
                "related": issue.related.as_deref().map(|(at, label)| json!({ "place": place(at), "label": label })),
            })
        };
        let report = json!({
            "file": self.file_name,
            "ok": errors == 0,
            "errors": errors,
            "warnings": self.issues.len() - errors,
            "issues": self.issues.iter().take(ISSUES_TOLD_MAX).map(issue).collect::<Vec<_>>(),
        });
        format!("{report:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use crate::check_text;
    use crate::report::ConfigReport;
    use serde_json::Value;

    fn told(text: &str) -> Value {
        let (_, issues) = check_text(text);
        let report =
            ConfigReport { issues, file_name: "a.toml".to_owned(), file: text.to_owned(), flags: String::new() };
        serde_json::from_str(&report.to_json()).unwrap()
    }

    #[test]
    fn places_are_lines_and_columns_in_characters() {
        let said = told("# é\nlistn = 1\n[[site]]\norigin = \"http://a\" # é\npage-text = [\"é\", 1]\n");
        assert_eq!((&said["ok"], &said["errors"], &said["warnings"]), (&false.into(), &2.into(), &0.into()), "{said}");
        let place = &said["issues"][0]["place"];
        assert_eq!(
            (&place["line"], &place["column"], &place["end_column"]),
            (&2.into(), &1.into(), &6.into()),
            "{said}"
        );
        let place = &said["issues"][1]["place"];
        assert_eq!(
            (&place["line"], &place["column"], &place["source"]),
            (&5.into(), &19.into(), &"file".into()),
            "{said}"
        );
    }

    #[test]
    fn what_is_missing_altogether_has_no_place() {
        let said = told("");
        assert_eq!(said["issues"][0]["place"], Value::Null, "{said}");
        assert!(said["issues"][0]["help"].as_str().unwrap().contains("[[site]]"), "{said}");
    }

    #[test]
    fn a_second_place_comes_with_what_it_is_and_a_warning_leaves_it_ok() {
        let said = told("[[site]]\norigin = \"http://a\"\n[[site]]\norigin = \"http://b\"\n");
        assert_eq!((&said["ok"], &said["warnings"]), (&true.into(), &1.into()), "{said}");
        assert_eq!(said["issues"][0]["related"]["place"]["line"], 1, "{said}");
        assert_eq!(said["issues"][0]["related"]["label"], "this site serves every host", "{said}");
    }

    #[test]
    fn a_password_is_not_told() {
        let said = told("[[site]]\norigin = \"http://tom:hunter2@app\"\n").to_string();
        assert!(said.contains("do not belong here") && !said.contains("hunter2"), "{said}");
    }
}
