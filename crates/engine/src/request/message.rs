//! A request as its client has sent it.

use crate::error::Fault;
use http::{Method, Version};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;

/// A request whose head is complete and sound.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: RequestHead,
    pub(crate) body: BodyLength,
}

/// Checks whether a request can be served, through whichever door it came. Returns the length of its body.
pub(crate) fn check(head: &mut RequestHead, body: BodyLength, body_bytes_max: u64) -> Result<BodyLength, Fault> {
    let body = match body {
        BodyLength::Length(length) if length > body_bytes_max => return Err(Fault::BodyTooLarge),
        // An empty body is no body: `Content-Length: 0` on a GET changes nothing.
        BodyLength::Length(0) => BodyLength::None,
        length => length,
    };
    if matches!(head.method, Method::CONNECT | Method::TRACE) {
        return Err(Fault::MethodRefused);
    }
    if head.fields.contains("expect") {
        //= RFC 9110 section 10.1.1
        //# A server that receives a 100-continue expectation in an HTTP/1.0 request MUST ignore that expectation.
        if head.version == Version::HTTP_10 {
            head.fields.remove("expect");
        } else if !is_continue_expected(head) {
            return Err(Fault::Expectation);
        } else if matches!(body, BodyLength::None) {
            // Without a body there is nothing to continue with.
            head.fields.remove("expect");
        }
    }
    Ok(body)
}

/// Whether 100-continue is the only expectation. Other expectations are refused: origins disagree on what they mean, and so on
/// whether a body follows (`Expect: y 100-continue`).
//= RFC 9110 section 10.1.1
//# A server that receives an Expect field value containing a member other than 100-continue MAY respond with a 417
//# (Expectation Failed) status code
fn is_continue_expected(head: &RequestHead) -> bool {
    head.fields.only("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
