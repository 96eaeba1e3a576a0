//! An origin's response: its head, then its body. Each kind of origin has its own type of body.

use http::StatusCode;
use kasoku_wire::ResponseHead;

/// A final response, or 101.
pub struct Response<B> {
    /// The head as it was received.
    pub head: ResponseHead,
    /// The body, still to be read.
    pub body: B,
}

impl<B> Response<B> {
    /// Whether the origin has switched protocols.
    pub fn is_switched(&self) -> bool {
        self.head.status == StatusCode::SWITCHING_PROTOCOLS
    }

    /// The same response with its body converted by `of`.
    pub fn with_body<C>(self, of: impl FnOnce(B) -> C) -> Response<C> {
        Response { head: self.head, body: of(self.body) }
    }
}
