//! Writes a diagnosis as text: first patterns whose pages differ by visitor, then what took the application longest, and last, in few
//! lines, what no configuration can help.

use crate::explain::{difference_lines, duration, number, printable, text};
use serde_json::Value;

/// The column in which the values begin.
const COLUMN: usize = 10;

/// Writes the whole diagnosis.
pub(crate) fn render(said: &Value) -> String {
    let mut lines = Vec::new();
    let seconds = number(said, "/seconds");
    let list = |pointer: &str| said.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let (blocked, findings) = (list("/blocked"), list("/findings"));
    let (helpless, findings): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|one| text(one, "/verdict/kind") == "nothing");
    lines.push(format!("Requests that were not served from memory in the last {}", duration(seconds)));
    if blocked.is_empty() && findings.is_empty() && helpless.is_empty() {
        lines.push(String::new());
        lines.push("none".to_owned());
    }
    for one in &blocked {
        lines.push(String::new());
        let what = if text(one, "/guard/state") == "shared" {
            "are shared, since guard is \"warn\""
        } else {
            "are not shared"
        };
        lines.push(format!("{}: pages differ by visitor, and {what}", text(one, "/guard/pattern")));
        row(&mut lines, "cost", &cost(one));
        let state = one.pointer("/guard").cloned().unwrap_or_default();
        let again = duration(number(&state, "/again_in_seconds"));
        row(
            &mut lines,
            "found",
            &format!("{} ago, compared again in {again}", duration(number(&state, "/seconds_ago"))),
        );
        difference_lines(&state).iter().for_each(|line| row(&mut lines, "", line));
        row(&mut lines, "try", OF_VISITORS);
    }
    for one in &findings {
        lines.push(String::new());
        lines.push(format!("{}: {}", text(one, "/pattern"), text(one, "/reason/id")));
        row(&mut lines, "why", &text(one, "/reason/text"));
        row(&mut lines, "cost", &format!("{}, {} URLs", cost(one), number(one, "/urls")));
        row(&mut lines, "example", &text(one, "/example"));
        verdict(&mut lines, one.pointer("/verdict").unwrap_or(&Value::Null));
    }
    without_help(&mut lines, &helpless);
    lines.push(String::new());
    lines.join("\n")
}

/// What the operator can do about pages that depend on who asks.
const OF_VISITORS: &str = "ask kasoku explain --live for one of the pages: it tries whether a page for each language or device helps. Else remove this from the page, list it in guard-noise if it is a clock, a counter or the id of a request (docs/guard.md#noise), or list the page in pass-urls";

/// What the operator can do about pages that differ in a trial, by the places where they differ: `guard-noise` can't cover a form.
fn ways_out(state: &Value) -> &'static str {
    let differences = state.pointer("/differences").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_in = |places: &[&str]| differences.iter().any(|one| places.contains(&text(one, "/place").as_str()));
    match () {
        () if is_in(&["form", "meta"]) => {
            "let a script of the page fetch this, or list the page in pass-urls (docs/guard.md#tokens-in-forms)"
        }
        () if is_in(&["head"]) => "let the application send the same to all visitors, or list the page in pass-urls",
        () => OF_VISITORS,
    }
}

/// Lists what no configuration can help, grouped by reason and in a line each: most sites have many of these.
fn without_help(lines: &mut Vec<String>, findings: &[Value]) {
    let mut by_reason: Vec<(String, Vec<&Value>)> = Vec::new();
    for one in findings {
        let why = text(one, "/verdict/why");
        match by_reason.iter_mut().find(|(known, _)| *known == why) {
            Some((_, those)) => those.push(one),
            None => by_reason.push((why, vec![one])),
        }
    }
    for (why, those) in by_reason {
        lines.push(String::new());
        lines.push(format!("Nothing to add: {why}"));
        for one in those {
            lines.push(format!("  {}: {} ({})", text(one, "/pattern"), cost(one), text(one, "/reason/id")));
        }
    }
}

fn verdict(lines: &mut Vec<String>, said: &Value) {
    let changes = said.pointer("/changes").and_then(Value::as_array).cloned().unwrap_or_default();
    match text(said, "/kind").as_str() {
        "proposal" => {
            let toml = said.pointer("/toml").and_then(Value::as_str).unwrap_or_default();
            for (count, line) in toml.lines().enumerate() {
                row(lines, if count == 0 { "add" } else { "" }, &printable(line));
            }
            let saved = |pointer: &str| said.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
            let (requests, seconds) = (saved("/saved_requests_per_hour"), saved("/saved_origin_seconds_per_hour"));
            row(lines, "gain", &format!("{requests:.0} requests and {seconds:.1} s of the application per hour"));
            for change in &changes {
                row(lines, "risk", &text(change, "/text"));
                let dangers = change.pointer("/dangers").and_then(Value::as_array).cloned().unwrap_or_default();
                dangers
                    .iter()
                    .filter_map(Value::as_str)
                    .for_each(|danger| row(lines, "", &format!("! {}", printable(danger))));
            }
            row(lines, "", &text(said, "/order"));
        }
        "differs" => {
            row(lines, "but", "a trial showed that the page differs by visitor:");
            difference_lines(said).iter().for_each(|line| row(lines, "", line));
            row(lines, "try", ways_out(said));
        }
        "refused" => row(
            lines,
            "but",
            &format!("a trial showed that the page still could not be stored: {}", text(said, "/reason/text")),
        ),
        _ => row(lines, "try", "not known: the application did not answer in time, or other examples were tried first"),
    }
}

fn cost(said: &Value) -> String {
    let seconds = said.pointer("/origin_seconds").and_then(Value::as_f64).unwrap_or_default();
    format!("{} requests, {seconds:.1} s of the application", number(said, "/requests"))
}

fn row(lines: &mut Vec<String>, name: &str, value: &str) {
    lines.push(format!("  {name:<COLUMN$}{value}").trim_end().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocked_patterns_come_first_and_lines_can_be_pasted() {
        let difference = json!({ "place": "form", "anonymous": "a\u{1b}[2J", "visitors": "b" });
        let said = json!({
            "seconds": 90,
            "blocked": [{
                "guard": { "pattern": "a.org/p", "state": "blocked", "seconds_ago": 5, "again_in_seconds": 600, "differences": [difference] },
                "requests": 7, "origin_seconds": 1.25,
            }],
            "findings": [{
                "pattern": "a.org/s?q", "reason": { "id": "no-store", "text": "It says so." }, "requests": 20, "urls": 2, "origin_seconds": 4.0,
                "example": "http://a.org/s?q=***",
                "verdict": {
                    "kind": "proposal", "toml": "[[site.rule]]\npath = \"/s\"\nttl = \"1m\"\n",
                    "changes": [{ "text": "if it is the same", "dangers": ["it is shown"] }], "order": "it has to stand before *.php",
                    "saved_requests_per_hour": 700.4, "saved_origin_seconds_per_hour": 140.0,
                },
            }],
        });
        let text = render(&said);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
        assert!(at("a.org/p: pages differ") < at("a.org/s?q: no-store"));
        assert!(at("explain --live") < at("a.org/s?q: no-store"));
        for part in [
            "  add       [[site.rule]]\n",
            "            path = \"/s\"\n",
            "700 requests and 140.0 s",
            "! it is shown\n            it has to stand before *.php\n",
            "form   visitor    b",
        ] {
            at(part);
        }
        assert!(render(&json!({ "seconds": 5 })).ends_with("none\n"));
    }

    #[test]
    fn what_no_configuration_helps_comes_last_in_a_line_each() {
        let finding = |pattern: &str, verdict: Value| {
            json!({ "pattern": pattern, "reason": { "id": "pass-url", "text": "It passes." }, "requests": 3, "urls": 1,
                "origin_seconds": 0.5, "example": "http://a.org/", "verdict": verdict })
        };
        let helpless = |why: &str| json!({ "kind": "nothing", "why": why });
        let said = json!({ "seconds": 90, "findings": [
            finding("a.org/login", helpless("people log in")),
            finding("a.org/feed", helpless("it is stored")),
            finding("a.org/signin", helpless("people log in")),
            finding("a.org/late", Value::Null),
        ] });
        let expected = "Nothing to add: people log in\n  a.org/login: 3 requests, 0.5 s of the application (pass-url)\n  \
                        a.org/signin: 3 requests, 0.5 s of the application (pass-url)\n\n\
                        Nothing to add: it is stored\n  a.org/feed: 3 requests, 0.5 s of the application (pass-url)\n";
        let text = render(&said);
        assert!(text.ends_with(expected), "{text}");
        assert!(text.contains("a.org/late: pass-url\n"), "{text}");
    }
}
