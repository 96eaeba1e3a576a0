//! Requests, topic by topic, and what becomes of each: see [`Outcome`].
//!
//! A row is sent with [`CANARY`] right behind it, in one piece; then the client ends its side. What comes back and what the
//! origin gets must be what the outcome says, to the last byte.

mod absolute_form;
mod chunks;
mod connection_fields;
mod content_length;
mod field_lines;
mod generated;
mod line_endings;
mod over_long;
mod play;
mod request_line;
mod sequences;
mod transfer_encoding;

use play::play;

/// What follows each row on its connection.
pub(crate) const CANARY: &[u8] = b"GET /next HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n";

/// What becomes of a row.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// This status and the end of the connection. No origin hears of it, and what follows is not read.
    Refused(u16),
    /// The head is sound, the body is not: this status and the end of the connection. The origin never gets a whole request.
    Broken(u16),
    /// The same when the origin has got the beginning already.
    Cut(u16),
    /// The end of the connection without a word: the request did not come to its end.
    Silent,
    /// The origin gets this, and what follows is the next request.
    Gets(&'static str, &'static [u8]),
    /// The same; among its fields are these, and none that is named behind a `!`.
    GetsWith(&'static str, &'static [u8], &'static [&'static str]),
    /// The origin gets this, and the connection ends: what follows is not read.
    GetsLast(&'static str, &'static [u8]),
    /// The origin gets all of these, and what follows is the next request.
    GetsAll(Vec<(String, Vec<u8>)>),
    /// An answer of our own with this status, and what follows is the next request.
    Answered(u16),
}

/// One row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The section that decides: the number of the RFC, then the section's.
    pub section: &'static str,
    /// What is sent.
    pub bytes: Vec<u8>,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// A table as it is written: the section, bytes that the topic puts into a request, and the outcome.
pub(crate) type Table<'t> = &'t [(&'static str, &'static [u8], Outcome)];

/// The rows of a table; `request` makes a request of the bytes.
pub(crate) fn rows<'t>(table: Table<'t>, request: impl Fn(&[u8]) -> Vec<u8> + 't) -> impl Iterator<Item = Row> + 't {
    table.iter().map(move |(section, bytes, outcome)| Row { section, bytes: request(bytes), outcome: outcome.clone() })
}

/// A topic's rows.
type Topic = fn() -> Vec<Row>;

const TOPICS: [Topic; 10] = [
    transfer_encoding::topic,
    content_length::topic,
    chunks::topic,
    line_endings::topic,
    request_line::topic,
    absolute_form::topic,
    field_lines::topic,
    connection_fields::topic,
    over_long::topic,
    sequences::topic,
];

#[test]
fn there_are_at_least_two_hundred_different_requests() {
    let mut all: Vec<Vec<u8>> = TOPICS.iter().flat_map(|topic| topic()).map(|row| row.bytes).collect();
    let written = all.len();
    all.sort();
    all.dedup();
    assert_eq!(written, all.len(), "some are there twice");
    assert!(written >= 200, "{written}");
}

#[test]
fn transfer_encoding_is_chunked_or_the_request_is_refused() {
    play("transfer-encoding", transfer_encoding::topic());
}

#[test]
fn content_length_is_one_number_or_the_request_is_refused() {
    play("content-length", content_length::topic());
}

#[test]
fn chunks_end_where_the_grammar_says_or_the_body_is_broken() {
    play("chunks", chunks::topic());
}

#[test]
fn a_body_that_breaks_when_the_origin_has_its_beginning_never_ends_there() {
    play("chunks, broken later", chunks::broken_later());
}

#[test]
fn lines_end_in_crlf_or_the_request_is_refused() {
    play("line-endings", line_endings::topic());
}

#[test]
fn a_request_line_has_three_words_or_is_refused() {
    play("request-line", request_line::topic());
}

#[test]
fn the_authority_is_the_targets_or_the_one_host() {
    play("absolute-form", absolute_form::topic());
}

#[test]
fn names_are_tokens_and_values_are_text() {
    play("field-lines", field_lines::topic());
}

#[test]
fn what_connection_upgrade_and_expect_say_never_changes_the_framing() {
    play("connection-fields", connection_fields::topic());
}

#[test]
fn what_is_too_long_is_refused_and_what_just_fits_is_not() {
    play("over-long", over_long::topic());
}

#[test]
fn one_request_after_the_other_is_read_where_the_last_one_ended() {
    play("sequences", sequences::topic());
}

#[test]
fn all_that_may_be_varied_may_be_varied_at_once() {
    play("generated", generated::topic());
}
