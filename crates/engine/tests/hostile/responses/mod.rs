//! Hostile responses of origins, topic by topic, each with its [`Outcome`].
//!
//! A row is the answer to one request. The next request must get its own answer, whatever the origin sent before. Bytes that
//! belong to no response contain the word `EVIL`, which no client may ever see.

mod bodies;
mod heads;
mod play;
mod status_lines;

use play::play;

/// The expected result of a row. In all of them, the client's next request gets its own answer from the origin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// The client gets this status and body, and the origin gets the next request on the same connection.
    Kept(u16, &'static [u8]),
    /// The client gets this status and body, and the connection to the origin is not used again.
    Left(u16, &'static [u8]),
    /// The client gets Kasoku's 502, and the connection to the origin is not used again.
    BadGateway,
    /// As [`Outcome::BadGateway`] if the client has got no byte yet, else the client sees that the response was cut.
    NeverWhole,
}

/// What the origin does after it has sent its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The origin waits for the next request.
    Waits,
    /// The origin closes the connection.
    Closes,
}

/// One row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The section of the RFC that decides: the number of the RFC, then of the section.
    pub(crate) section: &'static str,
    /// The request's method.
    pub(crate) method: &'static str,
    /// The bytes that the origin sends.
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
    pub(crate) outcome: Outcome,
}

/// A table as it is written: the section, the bytes that the topic puts into a response, and the outcome.
type Table<'t> = &'t [(&'static str, &'static [u8], Outcome)];

/// The rows of a table of answers to GET. `response` makes a response of the bytes.
fn rows<'t>(table: Table<'t>, end: End, response: impl Fn(&[u8]) -> Vec<u8> + 't) -> impl Iterator<Item = Row> + 't {
    table.iter().map(move |(section, bytes, outcome)| Row {
        section,
        method: "GET",
        bytes: response(bytes),
        end,
        outcome: *outcome,
    })
}

#[test]
fn there_are_at_least_eighty_different_responses() {
    let topics = [status_lines::topic(), heads::topic(), bodies::topic()];
    let mut all: Vec<_> =
        topics.into_iter().flatten().map(|row| (row.method, row.bytes, row.end == End::Closes)).collect();
    let written = all.len();
    all.sort();
    all.dedup();
    assert_eq!(written, all.len(), "some are there twice");
    assert!(written >= 80, "{written}");
}

#[test]
fn a_status_line_is_one_or_the_client_gets_502() {
    play(status_lines::topic());
}

#[test]
fn a_head_frames_its_body_in_one_way_or_the_client_gets_502() {
    play(heads::topic());
}

#[test]
fn a_body_ends_where_it_says_or_the_client_never_gets_it_whole() {
    play(bodies::topic());
}
