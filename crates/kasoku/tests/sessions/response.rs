//! Builds an answer of the application, and writes it as bytes.

use crate::page::Claim;
use std::fmt::Write;

/// An answer that the application builds up.
pub(crate) struct Response {
    pub(crate) status: u16,
    fields: String,
    pub(crate) body: String,
    pub(crate) serial: u64,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, fields: String::new(), body: String::new(), serial: 1 }
    }

    pub(crate) fn field(&mut self, name: &str, value: &str) {
        let _ = write!(self.fields, "{name}: {value}\r\n");
    }

    pub(crate) fn says(mut self, control: &str) -> Self {
        self.field("Cache-Control", control);
        self
    }

    pub(crate) fn at(mut self, location: &str) -> Self {
        self.field("Location", location);
        self
    }

    pub(crate) fn of(mut self, media_type: &str) -> Self {
        self.fields = self.fields.replace("Content-Type: text/html", &format!("Content-Type: {media_type}"));
        self
    }

    pub(crate) fn with(mut self, claim: &Claim) -> Self {
        self.field("Content-Type", "text/html");
        (self.body, self.serial) = (claim.body(), claim.serial);
        self
    }

    pub(crate) fn plain(self) -> String {
        self.bytes(false)
    }

    pub(crate) fn bytes(&self, is_head: bool) -> String {
        let length =
            if self.status == 304 { String::new() } else { format!("Content-Length: {}\r\n", self.body.len()) };
        let body = if is_head || self.status == 304 { "" } else { &self.body };
        format!("HTTP/1.1 {} X\r\n{}{length}\r\n{body}", self.status, self.fields)
    }
}
