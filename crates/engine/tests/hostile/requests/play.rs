//! Plays rows of requests against an engine, and compares the results with the outcomes.

use super::{CANARY, Outcome, Row};
use crate::message::{self, Message, Read as Reading};
use crate::origin::{Connection, NEXT, Origin, answer_body};
use kasoku_engine::Engine;
use kasoku_testkit::{Setup, WAIT_MAX};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// Plays all rows of a topic. Fails with all rows whose result differs.
#[track_caller]
pub(crate) fn play(topic: &str, rows: Vec<Row>) {
    play_before(CANARY, topic, rows);
}

/// The same without a request behind the rows.
#[track_caller]
pub(crate) fn play_alone(topic: &str, rows: Vec<Row>) {
    play_before(b"", topic, rows);
}

#[track_caller]
fn play_before(behind: &[u8], topic: &str, rows: Vec<Row>) {
    let origin = Origin::start();
    let engine = Setup::safe().route(|route| route.origins.push(origin.address().into()));
    let engine = engine.site(&[], |_| {}).run_without_origin();
    let (mut faults, mut records, count) = (Vec::new(), Vec::new(), rows.len());
    for (number, row) in rows.into_iter().enumerate() {
        match exchange(&engine, &origin, &row, behind) {
            Ok(connections) => records.extend(connections.iter().map(|connection| record(topic, number, connection))),
            Err(fault) => {
                let sent = row.bytes.escape_ascii().to_string();
                let sent = sent.get(..600).unwrap_or(&sent);
                faults
                    .push(format!("row {number}, RFC {}, {:?}: {fault}\n    sent {sent}\n", row.section, row.outcome));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {count} rows:\n{}", faults.len(), faults.join("\n"));
    if let Some(file) = std::env::var_os("KASOKU_HOSTILE_RECORD") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        file.write_all(records.concat().as_bytes()).unwrap();
    }
}

/// What an origin got, as a line of JSON for the other parsers.
fn record(topic: &str, number: usize, connection: &Connection) -> String {
    let requests = connection.requests.iter();
    let requests: Vec<_> = requests.map(|request| json!([request.line, hex(&request.body)])).collect();
    let row = format!("{topic} {number}");
    format!("{}\n", json!({ "row": row, "requests": requests, "bytes": hex(&connection.bytes) }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends a row, and compares the answers and what the origin got with the outcome. Returns the origin's connections.
fn exchange(engine: &Engine, origin: &Origin, row: &Row, behind: &[u8]) -> Result<Vec<Connection>, String> {
    let came = send(engine, &[&row.bytes, behind].concat())?;
    let expected = Expected::of(&row.outcome);
    let got = responses(&came, &expected.asked)?;
    if !expected.reads_on && !expected.asked.is_empty() {
        // The accepted request has ended its connection, so the request behind it is sent on another one.
        send(engine, CANARY)?;
    }
    let connections = origin.take();

    let mut wanted: Vec<Message> = expected.asked.iter().map(answer).collect();
    if let Some(status) = expected.own {
        wanted.push(own(status));
    }
    if expected.reads_on {
        wanted.push(answer(&(NEXT.to_owned(), Vec::new())));
    }
    let outline = |message: &Message| {
        (message.line.clone(), if message.line == "200" { &message.body[..] } else { b"" }.to_vec())
    };
    let (got_outline, wanted_outline): (Vec<_>, Vec<_>) =
        (got.iter().map(outline).collect(), wanted.iter().map(outline).collect());
    if got_outline != wanted_outline {
        return Err(format!("the client got {got:?}, not {wanted:?}"));
    }
    if !expected.reads_on && got.last().is_some_and(|last| last.field("connection") != Some("close")) {
        return Err(format!("the last answer does not say that the connection ends: {got:?}"));
    }
    at_the_origin(&connections, &expected, &row.outcome)?;
    Ok(connections.into_iter().filter(|connection| !connection.requests.is_empty()).collect())
}

/// An outcome in terms of what can be observed.
struct Expected {
    /// The requests that the origin gets, without the one behind the row.
    asked: Vec<(String, Vec<u8>)>,
    /// The status of Kasoku's own answer, which comes last.
    own: Option<u16>,
    /// Whether the request behind the row is read.
    reads_on: bool,
}

impl Expected {
    fn of(outcome: &Outcome) -> Self {
        let one = |line: &str, body: &[u8]| vec![(line.to_owned(), body.to_vec())];
        let (asked, own, reads_on) = match outcome {
            Outcome::Refused(status) | Outcome::Broken(status) | Outcome::Cut(status) => {
                (Vec::new(), Some(*status), false)
            }
            Outcome::Silent => (Vec::new(), None, false),
            Outcome::Answered(status) => (Vec::new(), Some(*status), true),
            Outcome::Gets(line, body) | Outcome::GetsWith(line, body, _) => (one(line, body), None, true),
            Outcome::GetsLast(line, body) => (one(line, body), None, false),
            Outcome::GetsAll(all) => (all.clone(), None, true),
        };
        Self { asked, own, reads_on }
    }
}

fn at_the_origin(connections: &[Connection], expected: &Expected, outcome: &Outcome) -> Result<(), String> {
    if let Some(fault) = connections.iter().find_map(|connection| connection.fault.as_ref()) {
        return Err(format!("the origin got what has more than one reading: {fault} in {connections:?}"));
    }
    let got_something = connections.iter().any(|connection| !connection.bytes.is_empty());
    let is_as_expected = match outcome {
        Outcome::Refused(_) | Outcome::Silent => !got_something,
        Outcome::Cut(_) => got_something,
        _ => true,
    };
    if !is_as_expected {
        return Err(format!("the origin got {connections:?}"));
    }
    let requests: Vec<&Message> = connections.iter().flat_map(|connection| &connection.requests).collect();
    let got: Vec<_> = requests.iter().map(|request| (request.line.clone(), request.body.clone())).collect();
    let mut wanted = expected.asked.clone();
    if expected.reads_on || !expected.asked.is_empty() {
        wanted.push((NEXT.to_owned(), Vec::new()));
    }
    if got != wanted {
        return Err(format!("the origin got {got:?}, not {wanted:?}"));
    }
    let Outcome::GetsWith(_, _, fields) = outcome else { return Ok(()) };
    let lines = || requests[0].fields.iter().chain(&requests[0].trailers);
    for field in *fields {
        let is_kept = match field.strip_prefix('!') {
            None => lines().any(|line| line == field),
            Some(name) => lines().all(|line| line.split(':').next() != Some(name)),
        };
        if !is_kept {
            return Err(format!("{field} is not true of {requests:?}"));
        }
    }
    Ok(())
}

/// Sends bytes, ends the client's side and returns all that comes back.
fn send(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut stream = TcpStream::connect(engine.addresses()[0]).unwrap();
    stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
    // Kasoku may refuse a request and close before the client has written all of it: the client must still read the answer.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut came = Vec::new();
    match stream.read_to_end(&mut came) {
        Ok(_) => Ok(came),
        Err(error) => Err(format!("no end behind {:?}: {error}", came.escape_ascii().to_string())),
    }
}

/// All final responses: first those to the requests `asked`, then those to requests other than HEAD.
fn responses(mut came: &[u8], asked: &[(String, Vec<u8>)]) -> Result<Vec<Message>, String> {
    let mut responses: Vec<Message> = Vec::new();
    while !came.is_empty() {
        let method = asked.get(responses.len()).and_then(|(line, _)| line.split(' ').next()).unwrap_or_default();
        match message::response(came, method, true)? {
            Reading::Whole(response, length) => {
                came = &came[length..];
                if !response.line.starts_with('1') {
                    responses.push(response);
                }
            }
            Reading::Part => return Err(format!("a response was cut: {}", came.escape_ascii())),
        }
    }
    Ok(responses)
}

/// The origin's answer.
fn answer((line, body): &(String, Vec<u8>)) -> Message {
    let body = if line.starts_with("HEAD ") { Vec::new() } else { answer_body(line, body) };
    Message { line: "200".to_owned(), fields: Vec::new(), body, trailers: Vec::new() }
}

fn own(status: u16) -> Message {
    Message { line: status.to_string(), fields: Vec::new(), body: Vec::new(), trailers: Vec::new() }
}
