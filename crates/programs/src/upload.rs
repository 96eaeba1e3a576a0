//! The request's body on its way to a program.
//!
//! A program has to be told how long it is (RFC 3875 section 4.1.2; php-fpm takes a request without CONTENT_LENGTH for one
//! without a body). So who asks a program brings a body whose length is known; what a client sends in chunks has been taken in
//! before. Of others, CGI programs get what comes, to its end, and application servers nothing: 411.

use http::StatusCode;
use kasoku_origin::upload::expects_continue;
use kasoku_origin::{Interim, Upload};
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{RequestHead, ResponseHead};

/// How a body is framed, if there is one.
pub(crate) fn length_of<U: Upload>(upload: &Option<U>) -> BodyLength {
    upload.as_ref().map_or(BodyLength::None, Upload::length)
}

/// CONTENT_LENGTH of such a body, where there is one and its length is known.
pub(crate) fn content_length(length: BodyLength) -> Option<u64> {
    if let BodyLength::Length(bytes) = length { Some(bytes) } else { None }
}

/// Tells a client that waits for it to send its body, on behalf of a program, which has no way to say that it wants it.
//= RFC 9110 section 10.1.1
//# A proxy MUST, upon receiving an HTTP/1.1 (or later) request that has a valid method, target URI, and complete header section that contains a 100-continue expectation and indicates a request message body will follow, either
//# send an immediate final status code
//# or
pub async fn invite(head: &RequestHead, interim: &mut impl Interim) {
    if expects_continue(head) {
        interim.interim(ResponseHead::new(StatusCode::CONTINUE)).await;
    }
}
