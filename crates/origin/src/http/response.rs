//! Makes an origin's response of its head: how long the body is, and whether the connection may carry another exchange.

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

/// The response with this head, whose body is still to be read.
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

/// Whether a 204 announces content. It has none. If the origin sends some nevertheless, the bytes may arrive after the connection has
/// been given to another request. (A 304 may state the length of the response for which it stands.)
//= RFC 9110 section 8.6
//# A server MUST NOT send a Content-Length header field in any response with a status code of 1xx (Informational) or 204
//# (No Content).
fn announces_impossible_body(head: &ResponseHead) -> bool {
    let fields = &head.fields;
    head.status == StatusCode::NO_CONTENT
        && (fields.contains("transfer-encoding") || fields.all("content-length").any(|length| length != b"0"))
}

/// Whether an origin may take the body of this request for the next request: many servers ignore content where the method defines no
/// meaning for it (RFC 9110 section 9.3.1). The next client's request on that connection would get the answer to those bytes.
fn may_leave_its_body(request: &RequestHead) -> bool {
    let fields = &request.fields;
    let has_body = fields.contains("transfer-encoding") || fields.all("content-length").any(|length| length != b"0");
    let has_no_meaning = [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE, Method::TRACE];
    has_body && has_no_meaning.contains(&request.method)
}
