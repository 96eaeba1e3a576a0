//! Writes the head of what a client gets of a stored response: the stored fields, those that describe a part or a coding, and the cache's
//! own (Age, Via).
//!
//! Fields that frame a message are never copied from the received head: each sender writes its own.

use crate::{Body, Entry, Meta};
use http::{StatusCode, Version};
use kasoku_semantics::Validators;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::coding::{Coding, Representation, coded_tag, goes_with_coded, lacks_vary};
use kasoku_semantics::downstream::{announce_lifetime, confinement};
use kasoku_semantics::hop_by_hop::strip_hop_by_hop;
use kasoku_semantics::our_name::via_member;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::precondition::goes_into_not_modified;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::time::Now;
use kasoku_semantics::validators::withhold;
use kasoku_wire::field::content_range::ContentRange;
use kasoku_wire::field::date;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::fmt::Display;

/// Receives a head field by field: HTTP/1.1 writes lines, other callers collect fields.
pub trait HeadSink {
    /// Status and reason phrase. Called once, before any field.
    fn status(&mut self, status: StatusCode, reason: &[u8]);

    /// A field.
    fn field(&mut self, name: &[u8], value: &[u8]);

    /// A field whose value is a number.
    fn number(&mut self, name: &str, value: u64) {
        self.written(name, &value);
    }

    /// A field whose value is formatted by [`Display`].
    fn written(&mut self, name: &str, value: &dyn Display) {
        self.field(name.as_bytes(), value.to_string().as_bytes());
    }
}

impl HeadSink for ResponseHead {
    fn status(&mut self, status: StatusCode, reason: &[u8]) {
        self.status = status;
        self.reason = reason.into();
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        self.fields.push(name, value);
    }
}

/// What the head of a stored response depends on besides the response.
#[derive(Clone, Copy)]
pub struct HeadContext<'a> {
    /// The client's request.
    pub request: &'a RequestHead,
    /// Whether the request has a session: then only the visitor's own browser may keep the page.
    pub has_session: bool,
    /// Names of fields that the caller writes itself. Stored fields of these names are left out.
    pub replaced: &'a [&'a str],
    /// Whether there may be several representations.
    pub varies: bool,
    /// The present time.
    pub now: Now,
}

impl HeadContext<'_> {
    /// The part of the whole response's head that is the same for all clients. [`HeadContext::rest`] completes it.
    pub fn whole(&self, entry: &Entry, to: &mut impl HeadSink) {
        let Entry { meta, body, .. } = entry;
        to.status(meta.head.status, &meta.head.reason);
        self.stored_fields(meta, &["content-length"], to);
        via(meta.head.version, to);
        if meta.head.status != StatusCode::NO_CONTENT {
            to.number("Content-Length", length(body));
        }
    }

    /// The same for the whole response in a coding.
    pub fn coded(&self, meta: &Meta, coding: Coding, coded: &Body, to: &mut impl HeadSink) {
        to.status(meta.head.status, &meta.head.reason);
        self.coded_fields(&meta.head.fields, coding, |name| is_for_all(meta, name), to);
        to.field(b"Content-Encoding", coding.name().as_bytes());
        vary_by_coding(&meta.head.fields, to);
        via(meta.head.version, to);
        to.number("Content-Length", length(coded));
    }

    /// The part of the head that depends on the client: Cache-Control (how long it may keep the response) and Age. It completes the head
    /// of a whole response.
    pub fn rest(&self, meta: &Meta, status: &CacheStatus, to: &mut impl HeadSink) {
        self.cache_control(meta, to);
        self.age(meta, status, to);
    }

    /// The head of a 206 with one part; `complete` is the length of the whole, in bytes.
    pub fn part(&self, meta: &Meta, part: ByteRange, complete: u64, status: &CacheStatus, to: &mut impl HeadSink) {
        self.partial(meta, &["content-length", "content-range"], status, to);
        let ByteRange { first, last } = part;
        to.written("Content-Range", &ContentRange::Part { first, last, complete: Some(complete) });
    }

    /// The head of a 206 with several parts.
    pub fn parts(&self, meta: &Meta, content_type: &str, status: &CacheStatus, to: &mut impl HeadSink) {
        self.partial(meta, &["content-length", "content-range", "content-type"], status, to);
        to.field(b"Content-Type", content_type.as_bytes());
    }

    fn partial(&self, meta: &Meta, without: &[&str], status: &CacheStatus, to: &mut impl HeadSink) {
        start(StatusCode::PARTIAL_CONTENT, to);
        self.stored_fields(meta, without, to);
        via(meta.head.version, to);
        self.rest(meta, status, to);
    }

    /// The head of a 416; `complete` is the length of the whole, in bytes.
    pub fn unsatisfiable(&self, complete: u64, to: &mut impl HeadSink) {
        start(StatusCode::RANGE_NOT_SATISFIABLE, to);
        date_unless_in(&Fields::new(), self.now, to);
        to.written("Content-Range", &ContentRange::Unsatisfied { complete });
    }

    /// The head of a 304: the client has this representation already. `age` is the age of a stored response, in seconds.
    pub fn not_modified(&self, meta: &Meta, representation: Representation, age: Option<u64>, to: &mut impl HeadSink) {
        self.not_modified_fields(&meta.head, representation, |name| is_for_all(meta, name), to);
        self.cache_control(meta, to);
        if let Some(age) = age {
            to.number("Age", age);
        }
    }

    /// The head of a 304 for a response that is not stored.
    pub fn not_modified_origin(&self, response: &ResponseHead, to: &mut impl HeadSink) {
        self.not_modified_fields(response, None, |_| true, to);
    }

    fn not_modified_fields(
        &self,
        of: &ResponseHead,
        representation: Representation,
        goes: impl Fn(&[u8]) -> bool,
        to: &mut impl HeadSink,
    ) {
        start(StatusCode::NOT_MODIFIED, to);
        let has_tag = of.fields.contains("etag");
        let goes = |name: &[u8]| goes(name) && goes_into_not_modified(name, has_tag);
        match representation {
            None => self.fields_where(&of.fields, goes, to),
            Some(coding) => self.coded_fields(&of.fields, coding, goes, to),
        }
        if self.varies {
            vary_by_coding(&of.fields, to);
        }
        date_unless_in(&of.fields, self.now, to);
        via(of.version, to);
    }

    /// The head of a response that a fill brings, or of a part of it; `length` is the length of the whole, where it is known.
    pub fn filling(
        &self,
        meta: &Meta,
        (part, length): (Option<ByteRange>, Option<u64>),
        status: &CacheStatus,
        to: &mut impl HeadSink,
    ) {
        match part {
            Some(_) => start(StatusCode::PARTIAL_CONTENT, to),
            None => to.status(meta.head.status, &meta.head.reason),
        }
        self.fields_where(&meta.head.fields, |name| is_for_all(meta, name) && !is_any(name, &["content-length"]), to);
        self.cache_control(meta, to);
        if self.varies {
            vary_by_coding(&meta.head.fields, to);
        }
        date_unless_in(&meta.head.fields, meta.freshness.response_time, to);
        via(meta.head.version, to);
        if let Some(ByteRange { first, last }) = part {
            to.written("Content-Range", &ContentRange::Part { first, last, complete: length });
        }
        self.age(meta, &CacheStatus { collapsed: false, ..*status }, to);
    }

    /// The stored fields that are the same for all clients, and Vary.
    fn stored_fields(&self, meta: &Meta, without: &[&str], to: &mut impl HeadSink) {
        self.fields_where(&meta.head.fields, |name| is_for_all(meta, name) && !is_any(name, without), to);
        if self.varies {
            vary_by_coding(&meta.head.fields, to);
        }
    }

    /// Cache-Control, where it depends on the client.
    fn cache_control(&self, meta: &Meta, to: &mut impl HeadSink) {
        if is_for_all(meta, CACHE_CONTROL) {
            return;
        }
        match self.confinement(meta) {
            Some(value) => to.field(b"Cache-Control", value.as_bytes()),
            None => meta.head.fields.all("cache-control").for_each(|value| to.field(b"Cache-Control", value)),
        }
    }

    /// The value of Cache-Control with which a visitor with a session gets the response; `None`: with the stored one.
    pub fn confinement(&self, meta: &Meta) -> Option<&'static str> {
        let may_be_confined = self.has_session && !is_for_all(meta, CACHE_CONTROL);
        may_be_confined.then(|| confinement(&self.request.target, &meta.head)).flatten()
    }

    fn age(&self, meta: &Meta, status: &CacheStatus, to: &mut impl HeadSink) {
        if let Some(age) = meta.freshness.age_field(status, self.now) {
            to.number("Age", age);
        }
    }

    /// The fields that go out with a coded body, with the entity tag of that coding.
    fn coded_fields(&self, fields: &Fields, coding: Coding, goes: impl Fn(&[u8]) -> bool, to: &mut impl HeadSink) {
        self.fields_where(fields, |name| goes(name) && goes_with_coded(name), to);
        for tag in fields.all("etag") {
            to.field(b"ETag", &coded_tag(tag, coding));
        }
    }

    fn fields_where(&self, fields: &Fields, goes: impl Fn(&[u8]) -> bool, to: &mut impl HeadSink) {
        fields_where(fields, self.replaced, goes, to);
    }
}

/// Writes each field whose name `goes` accepts, except those that the caller writes itself.
pub fn fields_where(fields: &Fields, replaced: &[&str], goes: impl Fn(&[u8]) -> bool, to: &mut impl HeadSink) {
    for (name, value) in fields.iter().filter(|(name, _)| goes(name) && !is_any(name, replaced)) {
        to.field(name, value);
    }
}

/// Adds Accept-Encoding to Vary, where codings may be made of the response. It is a line of its own, so that the origin's Vary stays as
/// it is.
//= RFC 9110 section 12.5.5
//# An origin server SHOULD generate a Vary header field on a cacheable response when it wishes that response to be
//# selectively reused for subsequent requests.
fn vary_by_coding(fields: &Fields, to: &mut impl HeadSink) {
    if lacks_vary(fields) {
        to.field(b"Vary", b"Accept-Encoding");
    }
}

/// The origin's head as the client that asked gets it: without the fields about the connection, and without Age, which is written anew.
pub fn own_head(head: &ResponseHead) -> ResponseHead {
    let mut head = head.clone();
    strip_hop_by_hop(&mut head.fields);
    head.fields.remove("age");
    head
}

/// The same for a response that others get as well, as `meta`. Where a lifetime is granted, the first client gets what they get: no
/// cookies, since the operator ignores them, and the lifetime as clients are told it.
pub(crate) fn shared_head(request: &RequestHead, head: &ResponseHead, meta: &Meta, policy: &Policy) -> ResponseHead {
    let mut head = own_head(head);
    if policy.grant.is_granting() {
        head.fields.remove("set-cookie");
        head.fields.remove("set-cookie2");
        announce_lifetime(request, &mut head, &meta.freshness, policy);
    }
    if meta.validators() == Validators::OwnTag {
        withhold(request, &mut head, meta.freshness.response_time);
    }
    head
}

/// Writes Date, where the message has none.
//= RFC 9110 section 6.6.1
//# A recipient with a clock that receives a response message without a Date header field MUST record the time it was received and append a corresponding Date header field to the message's header section if it is cached or forwarded downstream.
pub fn date_unless_in(fields: &Fields, now: Now, to: &mut impl HeadSink) {
    if !fields.contains("date") {
        to.written("Date", &date::written(now.unix_seconds()));
    }
}

/// Writes Via, with the version of the message that was received.
pub fn via(version: Version, to: &mut impl HeadSink) {
    to.field(b"Via", via_member(version).as_bytes());
}

/// Whether a stored field is the same for all clients that get the response. Cache-Control is not, where visitors with a session get the
/// response as well.
fn is_for_all(meta: &Meta, name: &[u8]) -> bool {
    meta.validators() == Validators::Any || !name.eq_ignore_ascii_case(CACHE_CONTROL)
}

const CACHE_CONTROL: &[u8] = b"cache-control";

fn start(status: StatusCode, to: &mut impl HeadSink) {
    to.status(status, status.canonical_reason().unwrap_or_default().as_bytes());
}

fn is_any(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

fn length(body: &Body) -> u64 {
    body.complete_length().unwrap_or_default()
}
