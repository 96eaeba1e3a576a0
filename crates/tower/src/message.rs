//! Converts heads between the types of `http`, which the application uses, and those of `kasoku-wire`, which the cache uses.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::request;
use http::{Extensions, Request, StatusCode, Uri, Version, response};
use kasoku_cache::represent::HeadSink;
use kasoku_semantics::our_name::via_member;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// The fields of a message.
pub(crate) fn fields(headers: &HeaderMap) -> Fields {
    let bytes = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let mut fields = Fields::with_capacity(bytes, headers.len());
    push_all(headers, &mut fields);
    fields
}

fn push_all(headers: &HeaderMap, fields: &mut Fields) {
    headers.iter().for_each(|(name, value)| fields.push(name.as_str(), value));
}

/// Writes a request as it was received, without the authority of its URI: `host` in `route` reads that.
pub(crate) fn write_received(parts: &request::Parts, head: &mut RequestHead) {
    head.method = parts.method.clone();
    head.target.clear();
    head.target.push_str(parts.uri.path_and_query().map_or("", |target| target.as_str()));
    head.version = Version::HTTP_11;
    head.fields.clear();
    push_all(&parts.headers, &mut head.fields);
}

/// The head of an answer of the application.
pub(crate) fn response_head(parts: &response::Parts) -> ResponseHead {
    ResponseHead { fields: fields(&parts.headers), ..ResponseHead::new(parts.status) }
}

/// The length of the body, where the head states one.
pub(crate) fn content_length(head: &ResponseHead) -> Option<u64> {
    std::str::from_utf8(head.fields.only("content-length")?).ok()?.parse().ok()
}

/// A request that the cache has made, in the types of `http`. `None`: those types do not allow its target.
pub(crate) fn outgoing<B: Default>(head: &RequestHead, extensions: &Extensions) -> Option<Request<B>> {
    let mut request = Request::new(B::default());
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = Uri::try_from(head.target.as_str()).ok()?;
    *request.headers_mut() = headers(&head.fields);
    *request.extensions_mut() = extensions.clone();
    Some(request)
}

/// Fields as a map. Invalid names and values are left out; a valid message has none.
pub(crate) fn headers(fields: &Fields) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(fields.len());
    fields.iter().for_each(|(name, value)| append(&mut map, name, value));
    map
}

fn append(map: &mut HeaderMap, name: &[u8], value: &[u8]) {
    if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
        map.append(name, value);
    }
}

/// The head of an answer, as the cache writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Whether `headers` has an empty Cache-Status, which the response's own value replaces. Otherwise that value, if any, is appended.
    pub(crate) has_place_for_cache_status: bool,
}

impl Head {
    /// Puts all values into one allocation. A copy of the head increments the reference count of each allocation, and each count is in a cache
    /// line of its own.
    pub(crate) fn pack(&mut self) {
        let bytes = Bytes::from(self.headers.values().map(HeaderValue::as_bytes).collect::<Vec<_>>().concat());
        let mut start = 0;
        for value in self.headers.values_mut() {
            let end = start + value.len();
            if let Ok(packed) = HeaderValue::from_maybe_shared(bytes.slice(start..end)) {
                *value = packed;
            }
            start = end;
        }
    }
}

impl HeadSink for Head {
    fn status(&mut self, status: StatusCode, _: &[u8]) {
        self.status = status;
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        // The application is in this process, and no message was received from another server: so the cache adds no member to Via.
        let is_own_via = name == b"Via" && value == via_member(Version::HTTP_11).as_bytes();
        if !is_own_via {
            append(&mut self.headers, name, value);
        }
    }

    fn number(&mut self, name: &str, value: u64) {
        if let (Ok(name), Some(value)) = (HeaderName::from_bytes(name.as_bytes()), number(value)) {
            self.headers.insert(name, value);
        }
    }
}

/// A number as the value of a field. `HeaderValue::from(u64)` would allocate twice.
pub(crate) fn number(value: u64) -> Option<HeaderValue> {
    HeaderValue::from_str(itoa::Buffer::new().format(value)).ok()
}
