//! Makes lines safe to show: masks secrets, escapes what a terminal would obey, and cuts long lines.

use kasoku_options::SettingLocations;
use kasoku_semantics::evidence::{Evidence, EvidenceLine, Side};
use kasoku_semantics::ground::Because;
use std::sync::Arc;

/// The longest line that is shown, in characters.
const LINE_CHARS_MAX: usize = 300;

/// What replaces a secret.
const MASK: &str = "***";

/// A name in the configuration, and where it is written: `kasoku.toml:12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigName {
    /// Its name.
    pub name: String,
    /// Where it is written; `None`: no file has it.
    pub place: Option<String>,
}

impl ConfigName {
    pub(super) fn new(name: &str, place: Option<&Arc<str>>) -> Self {
        Self { name: printable(name), place: place.map(|place| place.to_string()) }
    }
}

/// One line of a message or of the configuration that has a say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// `request`, `response` or `configuration`.
    pub part: &'static str,
    /// The line, masked; empty where the absence of a line matters.
    pub line: String,
    /// Whether it helps or is in the way.
    pub side: Side,
    /// What it means.
    pub text: &'static str,
    /// The section of an RFC, or the setting with its place.
    pub source: String,
    /// The id of the [`Reason`](kasoku_semantics::reason::Reason), where the text is that of one.
    pub reason: Option<&'static str>,
}

impl Point {
    pub(super) fn new(evidence: &Evidence<'_>, places: &SettingLocations) -> Self {
        let (part, line) = match evidence.line {
            EvidenceLine::Method(method) => ("request", method.to_string()),
            EvidenceLine::Status(status) => ("response", format!("status {status}")),
            EvidenceLine::Request(name, value) => ("request", field(name, value)),
            EvidenceLine::Response(name, value) => ("response", field(name, value)),
            EvidenceLine::Absent => ("response", String::new()),
        };
        Self::of(part, line, evidence.side, evidence.because, places)
    }

    pub(super) fn of(
        part: &'static str,
        line: String,
        side: Side,
        because: Because,
        places: &SettingLocations,
    ) -> Self {
        let reason = match because {
            Because::Reason(reason) => Some(reason.id()),
            Because::Ground(_) => None,
        };
        Self { part, line, side, text: because.text(), source: source(because, places), reason }
    }
}

/// The RFC's section; where the configuration has a say, the setting and its place.
fn source(because: Because, places: &SettingLocations) -> String {
    let setting = because.setting().map(|key| match places.settings.get(key) {
        Some(place) => format!("{key} ({place})"),
        // These two have no default: a rule has them or lacks them.
        None if matches!(key, "pass" | "path") => key.to_owned(),
        None => format!("{key} (default)"),
    });
    match (because.source().starts_with("RFC "), setting) {
        (true, Some(setting)) => format!("{}; {setting}", because.source()),
        (true, None) => because.source().to_owned(),
        (false, Some(setting)) => setting,
        (false, None) => because.source().trim_start_matches("Kasoku: ").to_owned(),
    }
}

/// A field as a line.
pub(super) fn field(name: &[u8], value: &[u8]) -> String {
    let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    let shown = match name.to_ascii_lowercase().as_str() {
        "cookie" => value.split(';').map(masked_pair).collect::<Vec<_>>().join("; "),
        "set-cookie" | "set-cookie2" => match value.split_once(';') {
            Some((pair, attributes)) => format!("{};{attributes}", masked_pair(pair)),
            None => masked_pair(&value),
        },
        "authorization" | "proxy-authorization" => match value.split_once(' ') {
            Some((scheme, _)) => format!("{scheme} {MASK}"),
            None => MASK.to_owned(),
        },
        name if is_secret(name) => MASK.to_owned(),
        _ => value.into_owned(),
    };
    printable(&format!("{name}: {shown}"))
}

/// Path and query, with the values of parameters masked.
pub(crate) fn target(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return printable(target) };
    let pairs = query.split('&').map(|pair| if pair.contains('=') { masked_pair(pair) } else { pair.to_owned() });
    printable(&format!("{path}?{}", pairs.collect::<Vec<_>>().join("&")))
}

/// Whether applications identify clients by a field with such a name.
fn is_secret(name: &str) -> bool {
    ["auth", "token", "secret", "session", "api-key", "apikey", "cookie"].iter().any(|word| name.contains(word))
}

/// `name=***`.
fn masked_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) => format!("{}={MASK}", name.trim()),
        None => MASK.to_owned(),
    }
}

/// A text that a terminal does not obey: control characters, and marks that change the direction of writing, are escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == LINE_CHARS_MAX {
            shown.push('\u{2026}');
            break;
        }
        let turns =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if c.is_control() || turns { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (name, value, shown) in [
            ("Cookie", "a=1; PHPSESSID=hunter2;b", "Cookie: a=***; PHPSESSID=***; ***"),
            ("Set-Cookie", "id=hunter2; Path=/; HttpOnly", "Set-Cookie: id=***; Path=/; HttpOnly"),
            ("set-cookie", "hunter2", "set-cookie: ***"),
            ("Authorization", "Basic hunter2==", "Authorization: Basic ***"),
            ("authorization", "hunter2", "authorization: ***"),
            ("X-Api-Key", "hunter2", "X-Api-Key: ***"),
            ("Accept", "a=1", "Accept: a=1"),
        ] {
            assert_eq!(field(name.as_bytes(), value.as_bytes()), shown);
        }
    }

    #[test]
    fn nothing_reaches_the_terminal_as_an_order() {
        let shown = field(b"Vary", b"a\x1b[2J\x07\xc2\x9b\xe2\x80\xaeb");
        assert_eq!(shown, "Vary: a\\u{1b}[2J\\u{7}\\u{9b}\\u{202e}b");
        assert_eq!(printable(&"x".repeat(5000)).chars().count(), LINE_CHARS_MAX + 1);
    }
}
