//! An origin's response out of its head: how long its body is, and whether its connection may carry another exchange.

use super::body::ResponseBody;
use super::connection::OriginConnection;
use super::pool::ConnectionPool;
use super::upload_task::UploadTask;
use crate::error::Error;
use crate::response::Response;
use crate::{Endpoint, Limits};
use http::{Method, StatusCode, Version};
use kasoku_wire::http1::{BodyDecoder, BodyLength, keeps_alive, response_body_length};
use kasoku_wire::{RequestHead, ResponseHead};
use std::rc::Rc;

/// The response of that head, whose body is still to be read.
pub(super) fn response(
    pool: Rc<ConnectionPool>,
    connection: OriginConnection,
    endpoint: Endpoint,
    request: &RequestHead,
    head: ResponseHead,
    upload: UploadTask,
    limits: Limits,
) -> Result<Response<Box<ResponseBody>>, Error> {
    let length = response_body_length(&head, &request.method).map_err(Error::MalformedHead)?;
    let is_kept_alive = keeps_alive(head.version, &head.fields)
        && head.version == Version::HTTP_11
        && !matches!(length, BodyLength::UntilClose)
        && !announces_impossible_body(&head)
        && !may_leave_its_body(request);
    let decoder = BodyDecoder::new(length, &limits.body);
    let connection = Some(connection);
    let body = ResponseBody { pool, endpoint, limits, connection, decoder, length, upload, is_kept_alive };
    Ok(Response { head, body: Box::new(body) })
}

/// Whether a 204 says that content follows. It has none; an origin that sends some nevertheless would send it when the
/// connection has been given to another request already. (A 304 may tell the length of what it stands for.)
//= RFC 9110 section 8.6
//# A server MUST NOT send a Content-Length header field in any response with a status code of 1xx (Informational) or 204
//# (No Content).
fn announces_impossible_body(head: &ResponseHead) -> bool {
    let fields = &head.fields;
    head.status == StatusCode::NO_CONTENT
        && (fields.contains("transfer-encoding") || fields.all("content-length").any(|length| length != b"0"))
}

/// Whether a request has a body that its origin may take for the next request: many servers ignore content where its method defines no
/// meaning for it (RFC 9110 section 9.3.1). Another client's request on that connection would get the answer to those bytes.
fn may_leave_its_body(request: &RequestHead) -> bool {
    let fields = &request.fields;
    let has_body = fields.contains("transfer-encoding") || fields.all("content-length").any(|length| length != b"0");
    let has_no_meaning = [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE, Method::TRACE];
    has_body && has_no_meaning.contains(&request.method)
}
