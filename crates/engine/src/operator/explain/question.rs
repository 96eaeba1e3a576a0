//! Makes a request of a typed question: writes it as a client would write it to a proxy, and reads it with the parser for
//! clients.

use crate::operator::explain::RoutedQuestion;
use crate::request::message::Request;
use crate::request::route::route_url;
use crate::sites::ActiveSite;
use http::Method;
use kasoku_cache::Cache;
use kasoku_options::ClientLimits;
use kasoku_wire::RequestHead;
use kasoku_wire::http1::{parse_request, request_body_length};
use std::fmt;

/// A question for an explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// `http://example.org/page?id=1`; a URL without a scheme is one of http.
    pub url: String,
    /// The method.
    pub method: String,
    /// Field lines of the request, such as `Cookie: a=b`.
    pub fields: Vec<String>,
    /// Whether the origin is asked.
    pub is_live: bool,
    /// Whether a live question tries lines of the configuration before it proposes them, for which it asks the origin some more
    /// times.
    pub is_tried: bool,
}

/// Why there is no explanation, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QuestionError(pub String);

impl Question {
    /// A GET without further fields.
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), method: "GET".to_owned(), ..Self::default() }
    }

    /// Reads the question as a request, and routes it.
    pub(super) fn read(
        &self,
        sites: &[ActiveSite],
        cache: &Cache,
        limits: &ClientLimits,
    ) -> Result<RoutedQuestion, QuestionError> {
        let head = self.head(limits)?;
        let body = request_body_length(&head).map_err(said)?;
        let routed = route_url(sites, cache, &head).map_err(|fault| {
            QuestionError(format!("{} ({})", fault.text().trim_end_matches('.'), fault.status().as_u16()))
        })?;
        let target = head.target.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..)));
        let target = target.unwrap_or("/").to_owned();
        let request = Request { body, head };
        Ok(RoutedQuestion { request, routed, target })
    }

    fn head(&self, limits: &ClientLimits) -> Result<RequestHead, QuestionError> {
        if self.method.parse::<Method>().is_err() {
            return Err(QuestionError("a method is one word, like GET".to_owned()));
        }
        if matches!(self.method.as_str(), "PURGE" | "CONNECT" | "TRACE") {
            return Err(QuestionError(format!("{} is never answered from the cache", self.method)));
        }
        let url = as_sent(&self.url);
        let mut text = format!("{} {url} HTTP/1.1\r\n", self.method);
        let is_host = |line: &String| line.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("host"));
        if !self.fields.iter().any(is_host) {
            let host = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next()).unwrap_or_default();
            text.push_str(&format!("Host: {host}\r\n"));
        }
        for line in &self.fields {
            if line.contains(['\r', '\n']) || !line.contains(':') {
                return Err(QuestionError("a field of the request is one line, like `Cookie: a=b`".to_owned()));
            }
            text.push_str(line);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        match parse_request(text.as_bytes(), &limits.head) {
            Ok(Some((head, length))) if length == text.len() => Ok(head),
            Ok(_) => Err(QuestionError(format!("not an http or https URL: {url}"))),
            Err(error) => Err(said(error)),
        }
    }
}

fn said(error: impl fmt::Display) -> QuestionError {
    QuestionError(format!("no client could send this: {error}"))
}

/// A URL as a browser sends it when a user types it: with a scheme, encoded, and without a fragment.
pub(super) fn as_sent(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let mut sent = if url.contains("://") { String::new() } else { "http://".to_owned() };
    for byte in url.bytes() {
        match byte {
            0x21..=0x7e => sent.push(char::from(byte)),
            byte => sent.push_str(&format!("%{byte:02X}")),
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Option<String> {
        Question::get(url).head(&ClientLimits::default()).ok().map(|head| head.target)
    }

    #[test]
    fn a_url_is_sent_as_a_browser_does() {
        for (typed, sent) in
            [("a.org/x?b=1#top", "http://a.org/x?b=1"), ("https://a.org/caf\u{e9} 1", "https://a.org/caf%C3%A9%201")]
        {
            assert_eq!(target(typed).as_deref(), Some(sent), "{typed}");
        }
        for url in ["", "/x"] {
            assert!(Question::get(url).read(&[], &cache(), &ClientLimits::default()).is_err(), "{url}");
        }
    }

    fn cache() -> Cache {
        Cache::new(kasoku_cache::CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 })
    }

    #[test]
    fn a_field_can_not_begin_another_request() {
        for line in ["A: b\r\n\r\nGET / HTTP/1.1", "no colon", "A b: c", ": x"] {
            let question = Question { fields: vec![line.to_owned()], ..Question::get("http://a.org/") };
            assert!(question.head(&ClientLimits::default()).is_err(), "{line:?}");
        }
        let method = Question { method: "GET /x HTTP/1.1\r\nA:".to_owned(), ..Question::get("http://a.org/") };
        assert!(method.head(&ClientLimits::default()).is_err());
    }
}
