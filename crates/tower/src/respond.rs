//! Makes the response that a client gets. `kasoku_cache::represent` chooses the whole, a part or a 304, and writes the head.

use crate::body::{CacheBody, Selection};
use crate::message::{Head, content_length, number, response_head};
use crate::route::Asked;
use crate::shared::Shared;
use http::header::{AGE, CACHE_CONTROL, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};
use kasoku_cache::disk::OpenEntry;
use kasoku_cache::represent::{HeadContext, Multipart, Representations, Selected, SelectedFilling};
use kasoku_cache::{Entry, FillReader, Meta};
use kasoku_semantics::Validators;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::our_name::NAME;
use kasoku_semantics::precondition::{Precondition, precondition};
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use std::cell::RefCell;
use std::sync::Arc;

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// The empty value that stands in a kept head until a hit writes its own.
const PLACE: HeaderValue = HeaderValue::from_static("");

thread_local! {
    /// Where members of Cache-Status are written.
    static MEMBER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Answers one request.
pub(crate) struct Responder<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) asked: &'a Asked,
    pub(crate) now: Now,
}

impl Responder<'_> {
    /// A stored response in memory, or what the request's condition or range makes of it.
    pub(crate) fn stored<B>(&self, entry: &Arc<Entry>, status: CacheStatus) -> Response<CacheBody<B>> {
        self.selected(entry, status, |selection| CacheBody::stored(entry, selection))
    }

    /// The same for a response whose body is on disk.
    pub(crate) fn on_disk<B>(&self, open: OpenEntry, status: CacheStatus) -> Response<CacheBody<B>> {
        let entry = open.entry().clone();
        self.selected(&entry, status, |selection| CacheBody::on_disk(self.shared.clone(), open, selection))
    }

    /// The offset in a stored body of the first byte that the client gets, if it gets one.
    pub(crate) fn first_byte(&self, entry: &Entry) -> Option<u64> {
        let request = &self.asked.received;
        let representations = Representations::of_stored(&request.fields, None, entry);
        let selected = representations.select(request, entry, self.now);
        selected.first_byte().filter(|_| request.method != Method::HEAD)
    }

    fn selected<B>(
        &self,
        entry: &Arc<Entry>,
        mut status: CacheStatus,
        body: impl FnOnce(Selection) -> CacheBody<B>,
    ) -> Response<CacheBody<B>> {
        let representations = Representations::of_stored(&self.asked.received.fields, None, entry);
        let (context, meta) = (self.context(&representations), &entry.meta);
        let mut head = Head::default();
        let body = match representations.select(&self.asked.received, entry, self.now) {
            Selected::NotModified(representation) => {
                let age = meta.freshness.age_field(&status, self.now);
                context.not_modified(meta, representation, age, &mut head);
                CacheBody::empty()
            }
            Selected::Whole(..) => {
                head = self.whole_head(&context, entry, &status);
                body(Selection::Whole)
            }
            Selected::Part(range) => {
                let complete = entry.body.complete_length().unwrap_or_default();
                context.part(meta, range, complete, &status, &mut head);
                set_length(&mut head.headers, range.length());
                body(Selection::Part(range))
            }
            Selected::Parts(ranges) => {
                let (complete, content_type) = (entry.body.complete_length(), meta.head.fields.first("content-type"));
                let parts = Multipart::new(complete, &ranges, content_type);
                context.parts(meta, &parts.content_type, &status, &mut head);
                set_length(&mut head.headers, parts.length());
                body(Selection::Parts(parts))
            }
            Selected::Unsatisfiable(complete) => {
                context.unsatisfiable(complete, &mut head);
                status.detail = Some(Reason::RangeUnsatisfiable);
                CacheBody::empty()
            }
            // The look-up has made sure that all bytes are here. If one is missing after all, a part must not go out as the whole.
            Selected::Incomplete => return self.failed(CacheStatus { detail: Some(Reason::PartialMiss), ..status }),
        };
        self.respond(head, body, &status)
    }

    /// A response that is still being filled, or what the request's condition or range makes of it.
    pub(crate) fn filling<B>(
        &self,
        meta: &Meta,
        mut reader: FillReader,
        status: &CacheStatus,
    ) -> Response<CacheBody<B>> {
        let length = content_length(&meta.head);
        let representations = Representations::of_filling(&self.asked.received.fields, None, meta, length);
        let (context, mut head) = (self.context(&representations), Head::default());
        let part = match representations.select_filling(&self.asked.received, meta, length, self.now) {
            SelectedFilling::NotModified(representation) => {
                context.not_modified(meta, representation, None, &mut head);
                return self.respond(head, CacheBody::empty(), status);
            }
            SelectedFilling::Part(range) => Some(range),
            SelectedFilling::Whole => None,
        };
        context.filling(meta, (part, length), status, &mut head);
        let length = part.map(ByteRange::length).or(length).filter(|_| head.status != StatusCode::NO_CONTENT);
        if let Some(length) = length {
            set_length(&mut head.headers, length);
        }
        reader.skip(part.map_or(0, |part| part.first));
        let body = CacheBody::filling(self.shared.clone(), reader, part.map_or(u64::MAX, ByteRange::length), length);
        self.respond(head, body, status)
    }

    /// A response of the application that is for this client alone, although the application got a shared request. That request lacks the
    /// client's conditions, so they are evaluated here.
    pub(crate) fn private<B>(&self, response: Response<B>, status: &CacheStatus) -> Response<CacheBody<B>> {
        let (parts, body) = response.into_parts();
        // Where a lifetime is granted, the client may have a page that was made for one visitor and has the same validators.
        let may_be_confirmed = Validators::of(&self.shared.rules.policy, false) == Validators::Any;
        if may_be_confirmed && matches!(parts.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT) {
            let said = response_head(&parts);
            let known = precondition(&self.asked.received, &said, Validators::Any, self.now, self.now);
            if known == Precondition::NotModified {
                let mut head = Head::default();
                self.context(&Representations::default()).not_modified_origin(&said, &mut head);
                return self.respond(head, CacheBody::empty(), status);
            }
        }
        let mut response = Response::from_parts(parts, CacheBody::own(body));
        self.shared.write_status(status, response.headers_mut());
        response
    }

    /// The application gave no response.
    pub(crate) fn failed<B>(&self, status: CacheStatus) -> Response<CacheBody<B>> {
        self.synthetic(StatusCode::INTERNAL_SERVER_ERROR, &status)
    }

    /// The client wants a stored response only, and there is none.
    //= RFC 9111 section 5.2.1.7
    //# The only-if-cached request directive indicates that the client only wishes to obtain a stored response.  Caches that
    //# honor this request directive SHOULD, upon receiving it, respond with either a stored response consistent with the other
    //# constraints of the request or a 504 (Gateway Timeout) status code.
    pub(crate) fn unavailable<B>(&self, status: &CacheStatus) -> Response<CacheBody<B>> {
        self.synthetic(StatusCode::GATEWAY_TIMEOUT, status)
    }

    fn synthetic<B>(&self, code: StatusCode, status: &CacheStatus) -> Response<CacheBody<B>> {
        let mut head = Head { status: code, ..Head::default() };
        set_length(&mut head.headers, 0);
        self.respond(head, CacheBody::empty(), status)
    }

    fn respond<B>(&self, head: Head, body: CacheBody<B>, status: &CacheStatus) -> Response<CacheBody<B>> {
        let body = if self.asked.received.method == Method::HEAD { CacheBody::empty() } else { body };
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (head.status, head.headers);
        match head.has_place_for_cache_status {
            true => status_value(status, |value| write_in_place(response.headers_mut(), &CACHE_STATUS, value)),
            false => self.shared.write_status(status, response.headers_mut()),
        }
        response
    }

    /// The head of a whole response. The first hit makes the head that visitors without a session get, and the entry keeps it. Each hit copies
    /// that head and writes the values that depend on the time and on the request.
    fn whole_head(&self, context: &HeadContext<'_>, entry: &Entry, status: &CacheStatus) -> Head {
        let meta = &entry.meta;
        let make = || {
            let mut head = Head::default();
            // Later hits copy this head, so it must not contain the `private` of the visitor whose request is the first hit.
            let without_session = HeadContext { has_session: false, ..*context };
            without_session.whole(entry, &mut head);
            without_session.rest(meta, status, &mut head);
            // A copy of a map has no room for more fields, so the head has Age and Cache-Status with empty values.
            head.headers.insert(AGE, PLACE);
            head.has_place_for_cache_status =
                self.shared.rules.writes_cache_status && !head.headers.contains_key(CACHE_STATUS);
            if head.has_place_for_cache_status {
                head.headers.insert(CACHE_STATUS, PLACE);
            }
            head.pack();
            head
        };
        let mut head = match entry.host_value(|| Arc::new(make())).downcast_ref::<Head>() {
            Some(prepared) => prepared.clone(),
            None => make(),
        };
        if let Some(confined) = context.confinement(meta) {
            head.headers.insert(CACHE_CONTROL, HeaderValue::from_static(confined));
        }
        match meta.freshness.age_field(status, self.now).and_then(number) {
            Some(age) => write_in_place(&mut head.headers, &AGE, age),
            None => drop(head.headers.remove(AGE)),
        }
        head
    }

    fn context(&self, representations: &Representations) -> HeadContext<'_> {
        let (request, varies) = (&self.asked.received, representations.varies);
        // The credentials that were kept back may be a session. Where a lifetime is granted, the visitor's browser must not reuse the page
        // after a login.
        let has_session = self.asked.has_withheld;
        HeadContext { request, has_session, replaced: &[], varies, now: self.now }
    }
}

impl Shared {
    /// Appends the cache's member of Cache-Status.
    pub(crate) fn write_status(&self, status: &CacheStatus, headers: &mut HeaderMap) {
        if self.rules.writes_cache_status {
            status_value(status, |value| {
                headers.append(CACHE_STATUS, value);
            });
        }
    }
}

/// The cache's member of Cache-Status.
fn status_value(status: &CacheStatus, write: impl FnOnce(HeaderValue)) {
    MEMBER.with_borrow_mut(|member| {
        member.clear();
        status.write(NAME, member);
        if let Ok(value) = HeaderValue::from_bytes(member) {
            write(value);
        }
    });
}

/// Replaces a value. `HeaderMap::insert` does so as well, but first makes room for one more field where the map is full.
fn write_in_place(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue) {
    if let Some(place) = headers.get_mut(name) {
        *place = value;
    }
}

fn set_length(headers: &mut HeaderMap, length: u64) {
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
}
