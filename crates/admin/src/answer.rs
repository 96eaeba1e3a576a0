//! A request to a response: who asks, how, for what.

use crate::snapshot::Snapshot;
use crate::{Handle, guard, json, prometheus};
use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Answers one request; its body is not looked at. hyper leaves the body out of the answer to HEAD.
pub(crate) fn answer<B>(request: &Request<B>, handle: &Handle) -> Response<Full<Bytes>> {
    if let Some(why) = guard::refusal(request.uri(), request.headers()) {
        return response(StatusCode::FORBIDDEN, TEXT, format!("{why}\n"));
    }
    let snapshot = || Snapshot::of(handle);
    let found = match request.uri().path() {
        "/healthz" => response(StatusCode::OK, TEXT, "ok\n".to_owned()),
        "/metrics" => response(StatusCode::OK, prometheus::CONTENT_TYPE, prometheus::text(&snapshot())),
        "/stats" => response(StatusCode::OK, JSON, json::text(&snapshot())),
        _ => return response(StatusCode::NOT_FOUND, TEXT, "There are /healthz, /metrics and /stats.\n".to_owned()),
    };
    if matches!(*request.method(), Method::GET | Method::HEAD) { found } else { method_refused() }
}

fn method_refused() -> Response<Full<Bytes>> {
    let mut response = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "Only GET and HEAD.\n".to_owned());
    //= RFC 9110 section 15.5.6
    //# The origin server MUST generate an Allow header field in a 405 response containing a list of the target resource's currently supported methods.
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn response(status: StatusCode, content_type: HeaderValue, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, content_type);
    // Numbers of this moment; and no browser is to take them for a page or a script.
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
