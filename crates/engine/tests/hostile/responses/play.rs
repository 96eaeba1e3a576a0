//! Plays rows of responses against an engine, and compares the results with the outcomes.

use super::{End, Outcome, Row};
use crate::message::{self, Message, Read as Reading};
use kasoku_engine::Engine;
use kasoku_options::OriginAddress;
use kasoku_testkit::{Setup, WAIT_MAX};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Plays all rows. Fails with all rows whose result differs.
#[track_caller]
pub(super) fn play(rows: Vec<Row>) {
    let origin = Origin::start();
    let engine = Setup::safe().route(|route| route.origins.push(origin.address().into()));
    let engine = engine.site(&[], |_| {}).run_without_origin();
    let (mut faults, count) = (Vec::new(), rows.len());
    for (number, row) in rows.iter().enumerate() {
        if let Err(fault) = exchange(&engine, &origin, number, row) {
            let sent = row.bytes.escape_ascii().to_string();
            let sent = sent.get(..600).unwrap_or(&sent);
            faults.push(format!("row {number}, RFC {}, {:?}: {fault}\n    sent {sent}\n", row.section, row.outcome));
        }
    }
    assert!(faults.is_empty(), "{} of {count} rows:\n{}", faults.len(), faults.join("\n"));
}

/// Sends the request that the row answers, and then the next request.
fn exchange(engine: &Engine, origin: &Origin, number: usize, row: &Row) -> Result<(), String> {
    origin.plays(row);
    let ask = |line: &str, close: &str| format!("{line} HTTP/1.1\r\nHost: example.org\r\n{close}\r\n");
    let row_line = format!("{} /row/{number}", row.method);
    let next = ask("GET /next", "Connection: close\r\n");
    let came = send(engine, &[ask(&row_line, ""), next.clone()].concat());
    if contains(&came, b"EVIL") {
        return Err(format!("the client saw {}", came.escape_ascii()));
    }
    let first = message::response(skip_interim(&came)?, row.method, true)?;
    let behind = match (&first, row.outcome) {
        (Reading::Whole(got, length), Outcome::Kept(status, body) | Outcome::Left(status, body)) => {
            let is_expected = got.line == status.to_string() && got.body == body;
            if is_expected {
                skip_interim(&came)?[*length..].to_vec()
            } else {
                return Err(format!("the client got {got:?}"));
            }
        }
        (Reading::Whole(got, length), Outcome::BadGateway | Outcome::NeverWhole) if got.line == "502" => {
            skip_interim(&came)?[*length..].to_vec()
        }
        // A client whose response was cut asks again on another connection.
        (Reading::Part, Outcome::NeverWhole) => send(engine, &next),
        (read, _) => return Err(format!("the client got {read:?} in {}", came.escape_ascii())),
    };
    let Reading::Whole(Message { body, .. }, _) = message::response(&behind, "GET", true)? else {
        return Err(format!("the next answer was cut: {}", behind.escape_ascii()));
    };
    if body != NEXT {
        return Err(format!("the next answer was {}", behind.escape_ascii()));
    }
    let connections = origin.took();
    let is_kept = matches!(connections[..], [(first, _), (second, _)] if first == second);
    if is_kept != matches!(row.outcome, Outcome::Kept(..)) || connections.len() != 2 {
        return Err(format!("the origin was asked {connections:?}"));
    }
    Ok(())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// The bytes behind the interim responses.
fn skip_interim(mut came: &[u8]) -> Result<&[u8], String> {
    while came.starts_with(b"HTTP/1.1 1") {
        match message::response(came, "GET", true)? {
            Reading::Whole(_, length) => came = &came[length..],
            Reading::Part => break,
        }
    }
    Ok(came)
}

/// Sends requests, ends the client's side and returns all that comes back until the end, clean or not.
fn send(engine: &Engine, requests: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(engine.addresses()[0]).unwrap();
    stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
    stream.write_all(requests.as_bytes()).unwrap();
    // If the response was cut, the socket may be disconnected already.
    let ended = stream.shutdown(Shutdown::Write);
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::NotConnected));
    let mut came = Vec::new();
    let ended = stream.read_to_end(&mut came);
    let is_over = ended.is_ok() || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset);
    assert!(is_over, "no end behind {}", came.escape_ascii());
    came
}

/// The body of the answer to the request behind a row.
const NEXT: &[u8] = b"the next one";

/// An origin that plays one row at a time.
struct Origin {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    bytes: Vec<u8>,
    closes: bool,
    /// The number of the connection, and the request line.
    asked: Vec<(usize, String)>,
}

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let serving = shared.clone();
        // The thread ends with the process: it holds only the listener.
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let shared = serving.clone();
                std::thread::spawn(move || serve(&shared, number, stream));
            }
        });
        Self { address, shared }
    }

    fn address(&self) -> OriginAddress {
        OriginAddress::http(self.address.ip().to_string(), self.address.port())
    }

    fn plays(&self, row: &Row) {
        let mut shared = self.shared.lock().unwrap();
        *shared = Shared { bytes: row.bytes.clone(), closes: row.end == End::Closes, asked: Vec::new() };
    }

    fn took(&self) -> Vec<(usize, String)> {
        self.shared.lock().unwrap().asked.clone()
    }
}

fn serve(shared: &Mutex<Shared>, number: usize, mut stream: TcpStream) {
    stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
    let (mut ahead, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        ahead.extend_from_slice(&piece[..read]);
        let Ok(Reading::Whole(request, length)) = message::request(&ahead) else { continue };
        ahead.drain(..length);
        let (answer, closes) = {
            let mut shared = shared.lock().unwrap();
            shared.asked.push((number, request.line.clone()));
            if request.line == "GET /next" {
                let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", NEXT.len());
                ([head.as_bytes(), NEXT].concat(), true)
            } else {
                (shared.bytes.clone(), shared.closes)
            }
        };
        let _ = stream.write_all(&answer);
        if closes {
            // The peer must read all of it: this closes only the sending side, since a reset could discard sent bytes.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
}
