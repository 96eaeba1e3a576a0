//! The length of a request's body for a program, and 100 (Continue) on the program's behalf.
//!
//! A program must be told the length (RFC 3875 section 4.1.2; php-fpm treats a request without CONTENT_LENGTH as one without a
//! body). So the caller first buffers a body that a client sends in chunks, and passes one of known length. If the length is
//! unknown all the same, a CGI program gets the body to its end, and a request to an application server is answered with 411.

use http::StatusCode;
use kasoku_origin::upload::expects_continue;
use kasoku_origin::{Interim, Upload};
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{RequestHead, ResponseHead};

/// How a body is framed, if there is one.
pub(crate) fn length_of<U: Upload>(upload: &Option<U>) -> BodyLength {
    upload.as_ref().map_or(BodyLength::None, Upload::length)
}

/// CONTENT_LENGTH for such a body; `None` without a body, or if its length is unknown.
pub(crate) fn content_length(length: BodyLength) -> Option<u64> {
    if let BodyLength::Length(bytes) = length { Some(bytes) } else { None }
}

/// Sends 100 (Continue) to a client that waits for it before it sends the body: a program has no way to ask for the body.
//= RFC 9110 section 10.1.1
//# A proxy MUST, upon receiving an HTTP/1.1 (or later) request that has a valid method, target URI, and complete header section that contains a 100-continue expectation and indicates a request message body will follow, either
//# send an immediate final status code
//# or
pub async fn invite(head: &RequestHead, interim: &mut impl Interim) {
    if expects_continue(head) {
        interim.interim(ResponseHead::new(StatusCode::CONTINUE)).await;
    }
}
