//! Describes a change that would make the next request a hit. [`advice`](crate::advice) decides which changes are proposed.

use http::StatusCode;

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuggestedChange {
    /// The application should send this field in place of all fields of its name.
    Send(String, String),
    /// The application should not send this field.
    Omit(String),
    /// A setting of Kasoku: its key, and its value in TOML.
    Set(&'static str, String),
}

/// One change, and what must be true for it to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What to change.
    pub change: SuggestedChange,
    /// When the change is right, and what it does: one sentence.
    pub text: &'static str,
    /// What may go wrong, one sentence each, where the change overrules the application.
    pub dangers: Vec<&'static str>,
}

impl Suggestion {
    /// A suggestion that overrules nothing.
    pub fn of(change: SuggestedChange, text: &'static str) -> Self {
        Self { change, text, dangers: Vec::new() }
    }
}

/// A list of texts as TOML.
pub fn listed(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The lifetime that is suggested, in seconds: short enough to be tried, long enough to see a difference.
pub(crate) const SECONDS: u64 = 60;

/// [`SECONDS`] as TOML.
pub(crate) const GRANTED_MINUTE: &str = "\"1m\"";

pub(crate) const GRANTED: &str =
    "if the page is the same for all visitors; Kasoku then requests it anonymously, without the client's cookies";
/// Whether a status is an error that says nothing lasting about the page.
pub(crate) fn is_failure(status: StatusCode) -> bool {
    (status.is_client_error() || status.is_server_error()) && !is_negative(status)
}

/// Whether `cache.negative-ttl` applies to a status.
pub(crate) fn is_negative(status: StatusCode) -> bool {
    matches!(status.as_u16(), 404 | 405 | 410 | 414 | 501)
}
