//! What the name of a value says of it: that it is a token, that it is one which a request sends back, or that it changes with time.
//!
//! A name is read word by word: `X-CSRF-Token`, `wgRequestId` and `_wpnonce` are several words each.

/// Parts of words that name a token, wherever in the word they stand.
const TOKEN_PARTS: [&str; 9] =
    ["token", "csrf", "xsrf", "nonce", "secret", "session", "signature", "passw", "credential"];

/// Whole words that name a token.
const TOKEN_WORDS: [&str; 22] = [
    "auth",
    "authenticity",
    "authentication",
    "authorization",
    "cookie",
    "cookies",
    "hash",
    "hmac",
    "jwt",
    "key",
    "keys",
    "apikey",
    "otp",
    "pass",
    "pwd",
    "sess",
    "sessid",
    "sid",
    "sig",
    "ticket",
    "uid",
    "login",
];

/// Parts of words, and whole words, that name a token which a later request sends back. A value of such a name that does not change may be one
/// that holds for a minute.
const SENT_BACK_PARTS: [&str; 5] = ["token", "csrf", "xsrf", "nonce", "signature"];
const SENT_BACK_WORDS: [&str; 15] = [
    "authenticity",
    "auth",
    "sess",
    "sessid",
    "sid",
    "sig",
    "ticket",
    "hmac",
    "formkey",
    "cart",
    "basket",
    "guest",
    "visitor",
    "customer",
    "visitorid",
];

/// Words of names whose values change with time or with the machine that answers: clocks, versions, durations, counters, and the ids
/// by which a request is found in logs, and by which a script finds an element.
const TIME_WORDS: [&str; 56] = [
    "ms",
    "selector",
    "dom",
    "domid",
    "v",
    "ver",
    "version",
    "t",
    "ts",
    "time",
    "timestamp",
    "date",
    "now",
    "cb",
    "nocache",
    "cachebuster",
    "dc",
    "request",
    "requestid",
    "req",
    "reqid",
    "trace",
    "traceid",
    "traceparent",
    "span",
    "spanid",
    "correlation",
    "correlationid",
    "instance",
    "host",
    "hostname",
    "server",
    "backend",
    "node",
    "pid",
    "process",
    "worker",
    "build",
    "elapsed",
    "took",
    "duration",
    "queries",
    "memory",
    "load",
    "count",
    "counter",
    "views",
    "hits",
    "online",
    "generated",
    "rendered",
    "updated",
    "uptime",
    "random",
    "rand",
    "ray",
];

/// Names, whole, of values that programs make anew for each page although nobody checks them: Akismet's time of a form, by itself
/// (class.akismet.php) and in Contact Form 7; when WPForms has made a token, which its script compares with the clock to fetch another one;
/// and the id of a form in Drupal, which Drupal's own page cache shares (FormBuilder.php).
const HARMLESS_NAMES: [&str; 4] = ["ak_js", "_wpcf7_ak_js", "data-token-time", "form_build_id"];

/// The longest word that is read, in bytes.
const WORD_BYTES_MAX: usize = 48;

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameMeaning {
    /// Nothing.
    Plain,
    /// It changes with time.
    Time,
    /// It is a token.
    Token,
    /// It is a token that a later request sends back.
    SentBack,
}

/// Whether a word of a text names a token: `X-CSRF-Token`.
pub fn names_token(text: &str) -> bool {
    token_word(text).is_some()
}

/// The first word of a text that names a token.
pub(super) fn token_word(text: &str) -> Option<String> {
    let mut found = None;
    words(text.as_bytes(), |word| {
        if found.is_none() && is_token(word) {
            found = Some(word.to_owned());
        }
    });
    found
}

/// What a name says of its value. A word for a token outweighs one for time.
pub(super) fn meaning(name: &[u8]) -> NameMeaning {
    if is_harmless(name) || name == b"_" {
        return NameMeaning::Time;
    }
    let mut found = NameMeaning::Plain;
    words(name, |word| {
        let is_sent_back = SENT_BACK_PARTS.iter().any(|part| word.contains(part)) || SENT_BACK_WORDS.contains(&word);
        let one = if is_sent_back || names_session(word) {
            NameMeaning::SentBack
        } else if is_token(word) {
            NameMeaning::Token
        } else if TIME_WORDS.contains(&word) {
            NameMeaning::Time
        } else {
            NameMeaning::Plain
        };
        found = found.max(one);
    });
    found
}

/// Where the case does not change, words run together: `PHPSESSID`.
fn names_session(word: &str) -> bool {
    word.ends_with("sessid") || word.ends_with("sessionid")
}

/// Whether a program makes values of that name anew for each page although nobody checks them.
pub(super) fn is_harmless(name: &[u8]) -> bool {
    HARMLESS_NAMES.iter().any(|one| one.as_bytes() == name)
}

fn is_token(word: &str) -> bool {
    let is_compound = names_session(word) || word.ends_with("apikey") || word.ends_with("accesskey");
    is_compound || TOKEN_PARTS.iter().any(|part| word.contains(part)) || TOKEN_WORDS.contains(&word)
}

/// Calls `each` with each word of a name in lower case. `wgRequestId` is three words.
fn words(name: &[u8], mut each: impl FnMut(&str)) {
    let (mut word, mut length, mut was_small) = ([0_u8; WORD_BYTES_MAX], 0, false);
    let mut end = |word: &[u8]| {
        if let Ok(word) = std::str::from_utf8(word)
            && !word.is_empty()
        {
            each(word);
        }
    };
    for byte in name {
        let is_letter = byte.is_ascii_alphanumeric() || !byte.is_ascii();
        if !is_letter || (was_small && byte.is_ascii_uppercase()) {
            end(word.get(..length).unwrap_or_default());
            length = 0;
        }
        if is_letter && let Some(place) = word.get_mut(length) {
            *place = byte.to_ascii_lowercase();
            length += 1;
        }
        was_small = byte.is_ascii_lowercase();
    }
    end(word.get(..length).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_their_values_are() {
        for (names, expected) in [
            (
                &[
                    "csrf_token",
                    "X-CSRF-Token",
                    "authenticity_token",
                    "_wpnonce",
                    "restNonce",
                    "PHPSESSID",
                    "form_token",
                ][..],
                NameMeaning::SentBack,
            ),
            (&["apiKey", "hash", "uid", "login_user"], NameMeaning::Token),
            (
                &[
                    "v",
                    "ver",
                    "_",
                    "t",
                    "wgRequestId",
                    "traceId",
                    "took",
                    "ak_js",
                    "_wpcf7_ak_js",
                    "data-token-time",
                    "page-views",
                ],
                NameMeaning::Time,
            ),
            (&["author", "design", "monkeys", "id", "title", ""], NameMeaning::Plain),
        ] {
            for name in names {
                assert_eq!(meaning(name.as_bytes()), expected, "{name}");
            }
        }
    }
}
