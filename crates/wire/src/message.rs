//! Heads of requests and responses, as owned values.

use crate::Fields;
use http::{Method, StatusCode, Version};

/// The head of a request, as it was received or is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The method, case-sensitive.
    pub method: Method,
    /// The request-target exactly as sent: origin-form, absolute-form, authority-form or `*` (RFC 9112 section 3.2).
    /// Printable ASCII only, never empty.
    pub target: String,
    /// `HTTP_10` or `HTTP_11`: the version that the sender speaks.
    pub version: Version,
    /// The header fields.
    pub fields: Fields,
}

/// The head of a response, interim (1xx) or final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// 100 to 999.
    pub status: StatusCode,
    /// The reason phrase as sent; may be empty.
    pub reason: Vec<u8>,
    /// `HTTP_10` or `HTTP_11`: the version that the sender speaks.
    pub version: Version,
    /// The header fields.
    pub fields: Fields,
}

impl RequestHead {
    /// A request in HTTP/1.1 without fields.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), version: Version::HTTP_11, fields: Fields::new() }
    }

    /// Returns the head with one more field: for tests, and for heads that Kasoku writes itself.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push(name, value);
        self
    }
}

impl ResponseHead {
    /// A response in HTTP/1.1 with the status's usual reason phrase and without fields.
    pub fn new(status: StatusCode) -> Self {
        let reason = status.canonical_reason().unwrap_or_default().as_bytes().to_vec();
        Self { status, reason, version: Version::HTTP_11, fields: Fields::new() }
    }

    /// Returns the head with one more field: for tests, and for heads that Kasoku writes itself.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push(name, value);
        self
    }
}
