//! Response heads as bytes.
//!
//! Whatever the answer is made of, its head is written here: status line, the message's own fields, then ours (Age,
//! framing, Via, Cache-Status, Connection). The fields that frame a message are never copied from what was received.

use crate::request::message::Request;
use crate::request::notes::Notes;
use crate::request::request_id::{self, Digits, RequestId};
use crate::request::respond::{NAME, replaced_fields, write_hit_headers};
use http::{StatusCode, Version};
use kasoku_options::HitHeaders;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::coding::{Coding, goes_with_coded, lacks_vary, write_tag};
use kasoku_semantics::time::Now;
use kasoku_wire::field::date;
use kasoku_wire::http1::encode_status_line;
use kasoku_wire::{Fields, ResponseHead};
use std::fmt::Display;
use std::io::Write;

/// How the body that follows is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// No body, and nothing that says so: 1xx, 204, 304.
    None,
    /// That many bytes. For HEAD: that many would have followed.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Until the connection is closed: for HTTP/1.0, where the length is unknown.
    UntilClose,
    /// The head says it already.
    InHead,
}

impl Framing {
    /// For a body whose length may be known.
    pub(crate) fn of(length: Option<u64>, version: Version) -> Self {
        match length {
            Some(length) => Self::Length(length),
            //= RFC 9112 section 6.1
            //# A server MUST NOT send a response containing Transfer-Encoding unless the corresponding request indicates HTTP/1.1 (or later minor revisions).
            None if version == Version::HTTP_11 => Self::Chunked,
            None => Self::UntilClose,
        }
    }
}

/// A head in the making.
pub(crate) struct Head(Vec<u8>);

impl Head {
    /// One that has been written before.
    pub(crate) fn prepared(mut buffer: Vec<u8>, bytes: &[u8]) -> Self {
        buffer.extend_from_slice(bytes);
        Self(buffer)
    }

    /// What has been written so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The status line, into an empty buffer.
    pub(crate) fn new(mut buffer: Vec<u8>, status: StatusCode, reason: &[u8]) -> Self {
        encode_status_line(status, reason, &mut buffer);
        Self(buffer)
    }

    /// The status line with the usual reason phrase.
    pub(crate) fn of(buffer: Vec<u8>, status: StatusCode) -> Self {
        Self::new(buffer, status, status.canonical_reason().unwrap_or_default().as_bytes())
    }

    /// Every field but those of these names, and those that we write ourselves by setting.
    pub(crate) fn fields_without(&mut self, fields: &Fields, without: &[&str], settings: HitHeaders) {
        self.fields_where(fields, settings, |name| {
            !without.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
        });
    }

    /// Every field of whose name `goes` says so, but those that we write ourselves by setting.
    pub(crate) fn fields_where(&mut self, fields: &Fields, settings: HitHeaders, goes: impl Fn(&[u8]) -> bool) {
        let ours = replaced_fields(settings);
        let is_ours = |name: &[u8]| ours.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        for (name, value) in fields.iter().filter(|(name, _)| goes(name) && !is_ours(name)) {
            self.field(name, value);
        }
    }

    /// The fields of a stored response that go out with a coded body, with that body's own entity tag.
    pub(crate) fn fields_of_coded(
        &mut self,
        fields: &Fields,
        settings: HitHeaders,
        coding: Coding,
        goes: impl Fn(&[u8]) -> bool,
    ) {
        self.fields_where(fields, settings, |name| goes(name) && goes_with_coded(name));
        for tag in fields.all("etag") {
            self.0.extend_from_slice(b"ETag: ");
            write_tag(tag, coding, &mut self.0);
            self.0.extend_from_slice(b"\r\n");
        }
    }

    /// Completes what a response says that it varies by, where codings may be made of it. A line of its own, so that what the
    /// origin has sent stays as it is.
    //= RFC 9110 section 12.5.5
    //# An origin server SHOULD generate a Vary header field on a cacheable response when it wishes that response to be
    //# selectively reused for subsequent requests.
    pub(crate) fn vary_by_coding(&mut self, fields: &Fields) {
        if lacks_vary(fields) {
            self.field("Vary", "Accept-Encoding");
        }
    }

    /// One field.
    pub(crate) fn field(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.0.extend_from_slice(name.as_ref());
        self.0.extend_from_slice(b": ");
        self.0.extend_from_slice(value.as_ref());
        self.0.extend_from_slice(b"\r\n");
    }

    /// One field with a number.
    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.field(name, itoa::Buffer::new().format(value));
    }

    /// One field with a value that is written out.
    pub(crate) fn written(&mut self, name: &str, value: impl Display) {
        // Writing to a Vec cannot fail.
        let _ = write!(self.0, "{name}: {value}\r\n");
    }

    /// Date, where the message has none.
    //= RFC 9110 section 6.6.1
    //# A recipient with a clock that receives a response message without a Date header field MUST record the time it was received and append a corresponding Date header field to the message's header section if it is cached or forwarded downstream.
    pub(crate) fn date_unless_in(&mut self, fields: &Fields, now: Now) {
        if !fields.contains("date") {
            self.written("Date", date::written(now.unix_seconds()));
        }
    }

    /// Via, with the version that the message came in.
    pub(crate) fn via(&mut self, version: Version) {
        let version = if version == Version::HTTP_10 { "1.0" } else { "1.1" };
        for part in ["Via: ", version, " ", NAME, "\r\n"] {
            self.0.extend_from_slice(part.as_bytes());
        }
    }

    /// What tells about the cache.
    pub(crate) fn cache_status(&mut self, status: &CacheStatus, notes: Option<&Notes>, settings: HitHeaders) {
        write_hit_headers(status, notes, settings, &mut self.0);
    }

    /// The request's id.
    pub(crate) fn request_id(&mut self, id: RequestId<'_>) {
        self.field(request_id::FIELD, id.text(&mut Digits::default()));
    }

    /// The fields that frame the message and say what becomes of the connection, and the empty line. Returns the bytes,
    /// and whether the connection goes on.
    pub(crate) fn finish(mut self, framing: Framing, request: &Request, may_go_on: bool) -> (Vec<u8>, bool) {
        match framing {
            //= RFC 9112 section 6.1
            //# A server MUST NOT send a Transfer-Encoding header field in any response with a status code of 1xx
            //# (Informational) or 204 (No Content).
            Framing::None | Framing::UntilClose | Framing::InHead => {}
            //= RFC 9112 section 6.2
            //# A sender MUST NOT send a Content-Length header field in any message that contains a Transfer-Encoding header
            //# field.
            Framing::Length(length) => self.number("Content-Length", length),
            Framing::Chunked => self.field("Transfer-Encoding", "chunked"),
        }
        let keeps_alive = request.keeps_alive && may_go_on && framing != Framing::UntilClose;
        match (keeps_alive, request.head.version) {
            //= RFC 9112 section 9.6
            //# A server that receives a "close" connection option MUST initiate closure of the connection
            (false, _) => self.field("Connection", "close"),
            (true, Version::HTTP_10) => self.field("Connection", "keep-alive"),
            (true, _) => {}
        }
        (self.end(), keeps_alive)
    }

    /// The empty line, and the bytes.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"\r\n");
        self.0
    }
}
/// The length that a head promises.
pub(crate) fn content_length(head: &ResponseHead) -> Option<u64> {
    std::str::from_utf8(head.fields.only("content-length")?).ok()?.parse().ok()
}
