//! Hostile requests, topic by topic, each with its [`Outcome`].
//!
//! The client sends a row with [`CANARY`] right behind it, in one piece, and then ends its side. The answers and what the origin
//! gets must be as the outcome says, to the last byte.

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

/// The request behind each row, on the same connection.
pub(crate) const CANARY: &[u8] = b"GET /next HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n";

/// The expected result of a row.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// Kasoku answers with this status and ends the connection. No origin gets the request, and the bytes behind it are not read.
    Refused(u16),
    /// The head is valid, the body is not: Kasoku answers with this status and ends the connection. The origin never gets a whole
    /// request.
    Broken(u16),
    /// As [`Outcome::Broken`], but the origin has already got the beginning.
    Cut(u16),
    /// Kasoku ends the connection without an answer, since the request is incomplete.
    Silent,
    /// The origin gets this request line and body, and the bytes that follow are the next request.
    Gets(&'static str, &'static [u8]),
    /// The same; its fields include these, and none of those named behind a `!`.
    GetsWith(&'static str, &'static [u8], &'static [&'static str]),
    /// The origin gets this request line and body, and Kasoku ends the connection without reading on.
    GetsLast(&'static str, &'static [u8]),
    /// The origin gets all of these requests, and the bytes that follow are the next request.
    GetsAll(Vec<(String, Vec<u8>)>),
    /// Kasoku answers itself with this status, and the bytes that follow are the next request.
    Answered(u16),
}

/// One row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The section of the RFC that decides: the number of the RFC, then of the section.
    pub section: &'static str,
    /// The bytes that the client sends.
    pub bytes: Vec<u8>,
    /// The expected result.
    pub outcome: Outcome,
}

/// A table as it is written: the section, the bytes that the topic puts into a request, and the outcome.
pub(crate) type Table<'t> = &'t [(&'static str, &'static [u8], Outcome)];

/// The rows of a table. `request` makes a request of the bytes.
pub(crate) fn rows<'t>(table: Table<'t>, request: impl Fn(&[u8]) -> Vec<u8> + 't) -> impl Iterator<Item = Row> + 't {
    table.iter().map(move |(section, bytes, outcome)| Row { section, bytes: request(bytes), outcome: outcome.clone() })
}

/// The function that returns the rows of a topic.
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
