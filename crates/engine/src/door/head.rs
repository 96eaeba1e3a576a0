//! Writes the heads of answers.
//!
//! Whatever an answer is made of, its head is written here: status, the message's own fields, then ours (Age, Via, Cache-Status).
//! The fields that frame a message are never copied from the received message: a door writes its own.

use crate::request::notes::Notes;
use crate::request::request_id::{self, RequestId, RequestIdDigits};
use crate::request::respond::{nginx_word, replaced_fields};
use http::{StatusCode, Version};
use kasoku_cache::represent::{HeadSink, date_unless_in, fields_where, via};
use kasoku_options::HitHeaders;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::our_name::NAME;
use kasoku_semantics::time::Now;
use kasoku_wire::http1::encode_status_line;
use kasoku_wire::{Fields, ResponseHead};
use std::fmt::Display;
use std::io::Write;

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// No body, and no field that says so: 204, 304.
    Nothing,
    /// A body of that many bytes. For HEAD: the body that would have followed.
    Length(u64),
    /// A body of unknown length.
    Unknown,
    /// The head itself says already what follows.
    InHead,
    /// Another head: this one is interim (1xx).
    Head,
    /// Another protocol (101).
    Protocol,
}

impl Follows {
    /// What follows where the length of the body may be known.
    pub(crate) fn of(length: Option<u64>) -> Self {
        length.map_or(Self::Unknown, Self::Length)
    }
}

/// The head of an answer, while it is written.
pub struct HeadWriter(Form);

/// The forms in which doors take heads.
enum Form {
    /// Status line and fields as HTTP/1.1 has them. The bytes that are the same for all clients can be made once, and copied.
    Bytes(Vec<u8>),
    /// Status and fields, for a door that writes them itself.
    Message(Box<ResponseHead>),
}

impl HeadWriter {
    /// An empty head for a door that takes bytes as HTTP/1.1 has them; `buffer` is empty.
    pub(crate) fn bytes(buffer: Vec<u8>) -> Self {
        Self(Form::Bytes(buffer))
    }

    /// An empty head for a door that writes heads itself.
    pub fn message() -> Self {
        Self(Form::Message(Box::new(ResponseHead::new(StatusCode::OK))))
    }

    /// Takes the head, for a door that writes heads itself; `None`: it was taken before.
    pub fn take_message(&mut self) -> Option<ResponseHead> {
        match std::mem::replace(&mut self.0, Form::Bytes(Vec::new())) {
            Form::Message(head) => Some(*head),
            Form::Bytes(_) => None,
        }
    }

    /// The head's bytes, for a door that takes bytes. The door removes the bytes that it has sent.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut Vec<u8>> {
        match &mut self.0 {
            Form::Bytes(bytes) => Some(bytes),
            Form::Message(_) => None,
        }
    }

    /// The head's length in bytes; 0 in a form that has no bytes.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Form::Bytes(bytes) => bytes.len(),
            Form::Message(_) => 0,
        }
    }

    /// Whether the head was sent.
    pub fn is_gone(&self) -> bool {
        matches!(&self.0, Form::Bytes(bytes) if bytes.is_empty())
    }

    /// Writes status and reason phrase into an empty head.
    pub(crate) fn with(mut self, status: StatusCode, reason: &[u8]) -> Self {
        self.status(status, reason);
        self
    }

    /// The same with the usual reason phrase.
    pub(crate) fn of(self, status: StatusCode) -> Self {
        self.with(status, status.canonical_reason().unwrap_or_default().as_bytes())
    }

    /// Writes into an empty head what `write` writes, where that is the same for all clients. `prepared` returns the bytes that
    /// were made for an earlier client, or makes and keeps them now.
    pub(crate) fn prepared<'p>(
        mut self,
        prepared: impl FnOnce(&dyn Fn() -> Box<[u8]>) -> Option<&'p [u8]>,
        write: impl Fn(&mut HeadWriter),
    ) -> Self {
        let Form::Bytes(bytes) = &mut self.0 else {
            write(&mut self);
            return self;
        };
        let make = || {
            let mut head = Self::bytes(Vec::with_capacity(BYTES_USUAL));
            write(&mut head);
            head.into_bytes()
        };
        match prepared(&make) {
            Some(prepared) => bytes.extend_from_slice(prepared),
            // The kept bytes were made under other settings, before a reload.
            None => bytes.extend_from_slice(&make()),
        }
        self
    }

    pub(crate) fn into_bytes(self) -> Box<[u8]> {
        match self.0 {
            Form::Bytes(bytes) => bytes.into(),
            Form::Message(_) => Box::default(),
        }
    }

    /// Writes all fields except those of these names, and those that we write ourselves by `settings`.
    pub(crate) fn fields_without(&mut self, fields: &Fields, without: &[&str], settings: HitHeaders) {
        let goes = |name: &[u8]| !without.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        fields_where(fields, &replaced_fields(settings), goes, self);
    }

    /// Writes one field.
    pub(crate) fn field(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        HeadSink::field(self, name.as_ref(), value.as_ref());
    }

    /// Writes Date, where the message has none.
    pub(crate) fn date_unless_in(&mut self, fields: &Fields, now: Now) {
        date_unless_in(fields, now, self);
    }

    /// Writes Via, with the version in which the message came.
    pub(crate) fn via(&mut self, version: Version) {
        via(version, self);
    }

    /// Writes the fields that say what the cache did.
    pub(crate) fn cache_status(&mut self, status: &CacheStatus, notes: Option<&Notes>, settings: HitHeaders) {
        let write_notes = |value: &mut Vec<u8>| {
            if let Some(notes) = notes {
                notes.write(value);
            }
        };
        if settings.cache_status {
            self.appended("Cache-Status", |value| {
                status.write(NAME, value);
                write_notes(value);
            });
        }
        if settings.x_cache_hit {
            self.appended("X-Cache-Hit", |value| {
                value.push(if status.hit { b'1' } else { b'0' });
                write_notes(value);
            });
        }
        if settings.x_cache_status {
            self.field("X-Cache-Status", nginx_word(status));
        }
    }

    /// Writes a field whose value `append` appends to the bytes that it is given.
    fn appended(&mut self, name: &str, append: impl FnOnce(&mut Vec<u8>)) {
        match &mut self.0 {
            Form::Bytes(bytes) => {
                bytes.extend_from_slice(name.as_bytes());
                bytes.extend_from_slice(b": ");
                append(bytes);
                bytes.extend_from_slice(b"\r\n");
            }
            Form::Message(head) => {
                let mut value = Vec::new();
                append(&mut value);
                head.fields.push(name, value);
            }
        }
    }

    /// Writes the request's id.
    pub(crate) fn request_id(&mut self, id: RequestId<'_>) {
        self.field(request_id::FIELD, id.text(&mut RequestIdDigits::default()));
    }
}

impl HeadSink for HeadWriter {
    fn status(&mut self, status: StatusCode, reason: &[u8]) {
        match &mut self.0 {
            Form::Bytes(bytes) => encode_status_line(status, reason, bytes),
            Form::Message(head) => head.status = status,
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        match &mut self.0 {
            Form::Bytes(bytes) => {
                bytes.extend_from_slice(name);
                bytes.extend_from_slice(b": ");
                bytes.extend_from_slice(value);
                bytes.extend_from_slice(b"\r\n");
            }
            Form::Message(head) => head.fields.push(name, value),
        }
    }

    fn number(&mut self, name: &str, value: u64) {
        self.field(name, itoa::Buffer::new().format(value));
    }

    fn written(&mut self, name: &str, value: &dyn Display) {
        match &mut self.0 {
            // Writing to a Vec cannot fail.
            Form::Bytes(bytes) => drop(write!(bytes, "{name}: {value}\r\n")),
            Form::Message(head) => head.fields.push(name, value.to_string()),
        }
    }
}

/// The initial capacity for a head that is prepared, in bytes.
const BYTES_USUAL: usize = 512;

/// The body's length in bytes, by the head's Content-Length.
pub(crate) fn content_length(head: &ResponseHead) -> Option<u64> {
    std::str::from_utf8(head.fields.only("content-length")?).ok()?.parse().ok()
}
