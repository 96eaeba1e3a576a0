//! Writes an explanation as text: the way of the request from top to bottom, each line of the configuration and of the messages that
//! matters, with its meaning, and at the end what would help.
//!
//! The running program makes the sentences; this module only arranges them. The running program masks and escapes what visitors and
//! applications have sent; this module drops control characters once more, since the text goes to a terminal.

use serde_json::Value;
use std::fmt::Write;

/// The column in which the values begin.
const COLUMN: usize = 10;

/// Clocks may differ by so much, in seconds.
const CLOCK_DIFFERENCE_SECONDS: u64 = 5;

/// How many tags are shown.
const TAGS_SHOWN_MAX: usize = 8;

/// Writes an explanation.
pub(super) fn render(said: &Value, colour: bool) -> String {
    let mut page = ExplainPage { text: String::new(), colour };
    let method = text(said, "/method");
    page.line(&format!("{method} {}", page.bold(&text(said, "/url"))));
    page.line("");
    page.row("site", &format!("{}; profile {}", named(said, "/site"), named(said, "/profile")));
    match said.pointer("/rule/name") {
        Some(_) => page.row("rule", &named(said, "/rule")),
        None => page.row("rule", "none: the site's own settings apply"),
    }
    page.row("key", &text(said, "/key"));
    page.row_unless_empty("short for", &text(said, "/stands_for"));
    page.row_unless_empty("tags", &tags(said));
    match said.pointer("/changes").and_then(Value::as_array) {
        None => {}
        Some(tags) if tags.is_empty() => page.row("changes", "the tags that its form and the answer name"),
        Some(_) => page.row("changes", &texts(said, "/changes")),
    }
    page.guard(said.pointer("/guard"));
    match text(said, "/stored/entry/tier").as_str() {
        "disk" => page.row("disk", &stored(said)),
        "shared" => page.row("memory", "nothing"),
        _ => page.row("memory", &stored(said)),
    }
    page.shared(said);
    page.points(said);
    page.line("");
    page.verdict(said);
    page.row("header", &format!("Cache-Status: {}", text(said, "/cache_status")));
    page.advice(said);
    page.warning(said.pointer("/shared_with_sessions"));
    page.text
}

struct ExplainPage {
    text: String,
    colour: bool,
}

impl ExplainPage {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn row(&mut self, name: &str, value: &str) {
        let line = format!("{name:<COLUMN$}{value}");
        self.line(&line);
    }

    fn row_unless_empty(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.row(name, value);
        }
    }

    /// Writes each line of the configuration, the request and the response that matters, with all points about it.
    fn points(&mut self, said: &Value) {
        let none = Vec::new();
        let points = said.pointer("/points").and_then(Value::as_array).unwrap_or(&none);
        for part in ["configuration", "request", "response"] {
            let points: Vec<&Value> = points.iter().filter(|point| text(point, "/part") == part).collect();
            if points.is_empty() {
                continue;
            }
            self.line("");
            let title = if part == "response" { response_title(said) } else { part.to_owned() };
            self.line(&title);
            let mut told: Vec<String> = Vec::new();
            for line in points.iter().map(|point| text(point, "/line")) {
                if told.contains(&line) {
                    continue;
                }
                match line.as_str() {
                    "" if part == "configuration" => {}
                    "" => self.line("  (no line)"),
                    line => self.line(&format!("  {line}")),
                }
                points.iter().filter(|point| text(point, "/line") == line).for_each(|point| self.point(point));
                told.push(line);
            }
        }
    }

    fn point(&mut self, point: &Value) {
        let (mark, code) = match text(point, "/side").as_str() {
            "for" => ("+", "32"),
            "against" => ("-", "31"),
            _ => ("o", "2"),
        };
        let source = self.styled("2", &format!("[{}]", text(point, "/source")));
        let line = format!("    {} {} {source}", self.styled(code, mark), text(point, "/text"));
        self.line(&line);
    }

    /// Writes what the leak guard knows of the request's URL pattern.
    fn guard(&mut self, said: Option<&Value>) {
        let Some(said) = said.filter(|said| !said.is_null()) else { return };
        let pattern = text(said, "/pattern");
        let ago = duration(number(said, "/seconds_ago"));
        match text(said, "/state").as_str() {
            "verified" => {
                self.row("guard", &format!("the same for all visitors, compared {ago} ago: {pattern}"));
                if said.pointer("/account_is_logged_out").and_then(Value::as_bool) == Some(true) {
                    self.row("", "The account of guard-cookie was not logged in any more.");
                }
                if let Some(token) = said.get("token").filter(|token| token.is_object()) {
                    self.row("", "Pages with this token pass; the anonymous page and the visitor's:");
                    for pointer in ["/anonymous", "/visitors"] {
                        self.row_unless_empty("", &text(token, pointer));
                    }
                }
            }
            state @ ("blocked" | "shared") => {
                let again = duration(number(said, "/again_in_seconds"));
                let all_the_same =
                    if state == "shared" { " and shared all the same, since guard is \"warn\"" } else { "" };
                self.row(
                    "guard",
                    &format!("differs by visitor{all_the_same}, found {ago} ago, compared again in {again}: {pattern}"),
                );
                difference_lines(said).iter().for_each(|line| self.row("", line));
            }
            _ => self.row("guard", &format!("not compared yet: {pattern}")),
        }
    }

    /// Writes where the shared tier has the response or would have it, and what it has.
    fn shared(&mut self, said: &Value) {
        if !said.pointer("/shared").is_some_and(Value::is_object) {
            return;
        }
        self.row("shared", &format!("{} at {}", text(said, "/shared/name"), text(said, "/shared/server")));
        self.row_unless_empty("", &text(said, "/shared/refusal/text"));
        if text(said, "/stored/entry/tier") == "shared" {
            self.row("", &stored(said));
        }
    }

    fn verdict(&mut self, said: &Value) {
        let why = text(said, "/reason/text");
        let word = match text(said, "/outcome").as_str() {
            "hit" => "hit: ",
            "ask" => "miss: ",
            "pass" => "pass: ",
            "refused" => "refused: ",
            _ => "error: ",
        };
        let verdict = format!("{} {}", self.bold(word.trim_end()), why);
        self.row("verdict", &verdict);
        let is_hit = text(said, "/outcome") == "hit";
        let Some(answer) = said.pointer("/answer").filter(|answer| !answer.is_null()) else {
            if text(said, "/advice/kind") == "ask-live" {
                self.row("", "Only the application's answer tells whether it can be stored.");
            }
            return;
        };
        let now = if is_hit { "The application's present answer" } else { "The answer" };
        let why = text(answer, "/reason/text");
        let line = match (answer.pointer("/would_be_stored").and_then(Value::as_bool), number(answer, "/lifetime")) {
            (None, _) => format!("The application gave no answer: {why}"),
            (Some(false), _) => format!("{now} would not be stored: {why}"),
            (Some(true), 0) => format!("{now} would be stored, and validated before each use."),
            (Some(true), seconds) => format!("{now} would be stored, and be a hit for {}.", duration(seconds)),
        };
        self.row("", &line);
        let stated_age = number(answer, "/stated_age");
        if stated_age > CLOCK_DIFFERENCE_SECONDS {
            let old = duration(stated_age);
            self.row(
                "",
                &format!("It says that it is {old} old: the origin's clock is behind, or a cache answered for it."),
            );
        }
    }

    fn advice(&mut self, said: &Value) {
        match text(said, "/advice/kind").as_str() {
            "changes" => {
                self.changes("try", said, "/advice/changes");
                self.changes("or", said, "/advice/instead");
            }
            "nothing" => self.row("try", &format!("nothing: {}", text(said, "/advice/why"))),
            "needless" if text(said, "/outcome") == "ask" && said.pointer("/answer").is_none_or(Value::is_null) => {
                self.row(
                    "try",
                    "nothing has to change: the next request fetches the page again, and it is stored as before",
                );
            }
            "ask-live" => self.row("try", "this command with --live, which asks the application"),
            _ => {}
        }
    }

    /// Warns that visitors with a session get the page that all others get.
    fn warning(&mut self, said: Option<&Value>) {
        let Some(said) = said.filter(|said| !said.is_null()) else { return };
        let cookie = text(said, "/cookie");
        let warning = format!(
            "All visitors get this page, also those with the session cookie {cookie}: the application says that it may be shared."
        );
        let warning = self.styled("31", &warning);
        self.row("warning", &warning);
        self.row("", &text(said, "/line"));
        self.listed(["if wrong", "or"], said, "/changes");
    }

    /// Lists changes that have to be made together, each with its dangers.
    fn changes(&mut self, first: &str, said: &Value, pointer: &str) {
        self.listed([first, "and"], said, pointer);
    }

    fn listed(&mut self, [first, next]: [&str; 2], said: &Value, pointer: &str) {
        let none = Vec::new();
        let all = said.pointer(pointer).and_then(Value::as_array).unwrap_or(&none);
        for (number, change) in all.iter().enumerate() {
            let (name, value) = (text(change, "/name"), text(change, "/value"));
            let (line, whose) = match text(change, "/change").as_str() {
                "send" => (format!("{name}: {value}"), "sent by the application"),
                "omit" => (format!("no {name}"), "left out by the application"),
                _ => (format!("{name} = {value}"), "in the configuration"),
            };
            let title = if number == 0 { first } else { next };
            let line = self.styled("1;32", &line);
            self.row(title, &line);
            self.row("", &format!("{whose}; {}", text(change, "/text")));
            let dangers = change.pointer("/dangers").and_then(Value::as_array).unwrap_or(&none);
            for danger in dangers.iter().filter_map(Value::as_str) {
                self.row("", &format!("{} {}", self.styled("31", "!"), printable(danger)));
            }
        }
    }

    fn bold(&self, text: &str) -> String {
        self.styled("1", text)
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The heading above the lines of the response: which response it is.
fn response_title(said: &Value) -> String {
    match said.pointer("/answer/status").and_then(Value::as_u64) {
        Some(status) => format!("response, fetched just now: {status}"),
        None => match said.pointer("/stored/entry/status").and_then(Value::as_u64) {
            Some(status) => format!("response, as stored: {status}"),
            None => "response, of another stored variant".to_owned(),
        },
    }
}

/// How long a stored response is fresh, or has been stale.
fn left(lifetime: u64, age: u64) -> String {
    match lifetime.checked_sub(age) {
        Some(left @ 1..) => format!("fresh for {}", duration(left)),
        _ => format!("stale for {}", duration(age.saturating_sub(lifetime))),
    }
}

/// What is stored for the key.
fn stored(said: &Value) -> String {
    let variants = number(said, "/stored/variants");
    let mut line = match said.pointer("/stored/entry").filter(|entry| !entry.is_null()) {
        Some(entry) => format!(
            "{} bytes{}, {} old, {}",
            number(entry, "/body_bytes"),
            codings(entry),
            duration(number(entry, "/age")),
            left(number(entry, "/lifetime"), number(entry, "/age")),
        ),
        None if variants > 0 => "no variant for this request".to_owned(),
        None => "nothing".to_owned(),
    };
    let none = Vec::new();
    let names = said.pointer("/stored/varies_by").and_then(Value::as_array).unwrap_or(&none);
    if variants > 0 && !names.is_empty() {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        let plural = if variants == 1 { "variant" } else { "variants" };
        let _ = write!(line, "; {variants} {plural} by {}", names.join(", "));
    }
    if let Some(refusal) = said.pointer("/stored/last_refusal").filter(|refusal| !refusal.is_null()) {
        let (status, reason) = (number(refusal, "/status"), text(refusal, "/reason/id"));
        let ago = duration(number(refusal, "/seconds_ago"));
        let _ = write!(line, "; an answer {ago} ago ({status}) was not stored: {reason}");
    }
    if said.pointer("/stored/is_hit_for_miss") == Some(&Value::Bool(true)) {
        line.push_str("; for a few seconds, requests do not wait for one another");
    }
    if said.pointer("/stored/is_being_filled") == Some(&Value::Bool(true)) {
        line.push_str("; it is being fetched right now");
    }
    printable(&line)
}

/// The codings that are stored of a response, each with its length in bytes.
fn codings(entry: &Value) -> String {
    let made = entry.pointer("/codings").and_then(Value::as_object);
    let made: Vec<String> = made.into_iter().flatten().map(|(name, bytes)| format!("{name} {bytes}")).collect();
    if made.is_empty() { String::new() } else { format!(" ({})", made.join(", ")) }
}

/// A name, and the place in the configuration where it stands.
fn named(said: &Value, pointer: &str) -> String {
    let name = text(said, &format!("{pointer}/name"));
    match said.pointer(&format!("{pointer}/place")).and_then(Value::as_str) {
        Some(place) => format!("{name} ({})", printable(place)),
        None if pointer == "/profile" => format!("{name} (default)"),
        None => name,
    }
}

pub(crate) fn text(said: &Value, pointer: &str) -> String {
    printable(said.pointer(pointer).and_then(Value::as_str).unwrap_or_default())
}

/// A list of texts in one line; `*` stands for all that has tags.
fn texts(said: &Value, pointer: &str) -> String {
    let all = said.pointer(pointer).and_then(Value::as_array);
    let texts: Vec<String> = all.into_iter().flatten().filter_map(Value::as_str).map(printable).collect();
    if texts == ["*"] { "all pages with tags".to_owned() } else { texts.join(" ") }
}

/// The tags by which the page can be purged. An application's policy may add dozens that all of its pages share, so only the first
/// are shown.
fn tags(said: &Value) -> String {
    let none = Vec::new();
    let all = said.pointer("/tags").and_then(Value::as_array).unwrap_or(&none);
    let shown: Vec<String> = all.iter().take(TAGS_SHOWN_MAX).filter_map(Value::as_str).map(printable).collect();
    match all.len().saturating_sub(TAGS_SHOWN_MAX) {
        0 => shown.join(" "),
        more => format!("{} and {more} more (--json shows all)", shown.join(" ")),
    }
}

/// The places where the pages of a pattern differ: a line for the anonymous page, and a line for the page of the visitor or account.
pub(crate) fn difference_lines(said: &Value) -> Vec<String> {
    let whose =
        if said.pointer("/is_of_account").and_then(Value::as_bool) == Some(true) { "account" } else { "visitor" };
    let all = said.pointer("/differences").and_then(Value::as_array);
    let lines = |one: &Value| {
        let place = text(one, "/place");
        let line = |who: &str, pointer: &str| format!("{place:<7}{who:<11}{}", text(one, pointer));
        [line("anonymous", "/anonymous"), line(whose, "/visitors")]
    };
    all.into_iter().flatten().flat_map(lines).collect()
}

pub(crate) fn number(said: &Value, pointer: &str) -> u64 {
    said.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// Seconds as people say them: `90 s`, `5 min`, `2 h`, `3 days`; exact below two minutes.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Drops control characters, which a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said() -> Value {
        json!({
            "method": "GET",
            "url": "http://a.org/\u{1b}[2J",
            "site": { "name": "a.org", "place": "kasoku.toml:3" },
            "profile": { "name": "safe", "place": null },
            "outcome": "ask",
            "points": [{ "part": "response", "line": "Vary: *", "side": "against", "text": "It never fits.", "source": "RFC 1" }],
        })
    }

    #[test]
    fn colours_come_only_when_asked_for_and_orders_to_the_terminal_never() {
        assert!(!render(&said(), false).contains('\u{1b}'), "{}", render(&said(), false));
        assert!(render(&said(), true).contains("\u{1b}[31m-\u{1b}[0m It never fits."));
        assert!(!render(&said(), true).contains("\u{1b}[2J"));
    }

    #[test]
    fn what_is_not_understood_leaves_a_gap_and_no_panic() {
        for said in
            [json!(null), json!([]), json!({ "points": 1, "answer": {}, "stored": { "entry": {}, "variants": -1 } })]
        {
            assert!(render(&said, false).contains("verdict"));
        }
    }

    #[test]
    fn the_shared_tier_has_a_place_and_what_it_has() {
        let mut said = said();
        assert!(!render(&said, false).contains("shared"));
        said["shared"] = json!({ "name": "kasoku:ab", "server": "10.0.0.1:11211", "refusal": null });
        assert!(render(&said, false).contains("memory    nothing\nshared    kasoku:ab at 10.0.0.1:11211\n\n"));
        said["shared"]["refusal"] = json!({ "text": "It is damaged.", "source": "Kasoku" });
        assert!(render(&said, false).contains(" at 10.0.0.1:11211\n          It is damaged.\n"));
        said["shared"]["refusal"] = json!(null);
        said["stored"] = json!({ "entry": { "tier": "shared", "body_bytes": 12, "age": 3, "lifetime": 600 } });
        let shown = render(&said, false);
        assert!(shown.contains("memory    nothing\nshared    kasoku:ab at"), "{shown}");
        assert!(shown.contains(":11211\n          12 bytes, 3 s old, fresh for 9 min\n"), "{shown}");
    }

    #[test]
    fn of_many_tags_the_first_are_shown() {
        let with = |number: u32| {
            let tags: Vec<String> = (1..=number).map(|one| format!("t{one}")).collect();
            let mut said = said();
            said["tags"] = json!(tags);
            render(&said, false)
        };
        assert!(with(8).contains("tags      t1 t2 t3 t4 t5 t6 t7 t8\n"), "{}", with(8));
        assert!(with(40).contains(" t8 and 32 more (--json shows all)\n"), "{}", with(40));
    }

    #[test]
    fn durations_are_short() {
        let shown = [0, 60, 119, 120, 7_199, 7_200, 172_800].map(duration);
        assert_eq!(shown, ["0 s", "60 s", "119 s", "2 min", "119 min", "2 h", "2 days"]);
    }
}
