//! An origin that records each byte that it receives, and answers each request with that request.
//!
//! The answer is the request line and the body, so a client sees which request it answers. The answer to [`NEXT`] ends the
//! connection: a connection has the bytes of one row and of the request behind it.

use crate::message::{self, Message, Read as Reading};
use kasoku_options::OriginAddress;
use kasoku_testkit::WAIT_MAX;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// The request behind each row.
pub(crate) const NEXT: &str = "GET /next";

/// The origin connects to itself and sends these bytes: then all earlier connections have been accepted.
const PROBE: &[u8] = b"probe";

/// See the [module](self).
pub(crate) struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// The traffic of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    /// All received bytes.
    pub bytes: Vec<u8>,
    /// The requests that are complete.
    pub requests: Vec<Message>,
    /// Why bytes could not be read, or which bytes came behind the last request.
    pub fault: Option<String>,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    connections: Mutex<Vec<Connection>>,
    changed: Condvar,
}

impl Shared {
    fn change(&self, number: usize, change: impl FnOnce(&mut Connection)) {
        change(&mut self.connections.lock().unwrap()[number]);
        self.changed.notify_all();
    }
}

impl Origin {
    /// Listens on a free port of the loopback address.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = shared.clone();
        // The thread ends with the process: it holds only the listener.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = accepting.clone();
                let number = {
                    let mut connections = shared.connections.lock().unwrap();
                    connections.push(Connection::default());
                    connections.len() - 1
                };
                std::thread::spawn(move || record(&shared, number, stream));
            }
        });
        Self { address, shared }
    }

    /// The address at which it listens.
    pub(crate) fn address(&self) -> OriginAddress {
        OriginAddress::http(self.address.ip().to_string(), self.address.port())
    }

    /// Waits until all connections have ended. Returns those since the last call.
    pub(crate) fn take(&self) -> Vec<Connection> {
        // The kernel accepts connections in their order: once the probe has ended, no earlier one is on its way.
        let mut probe = TcpStream::connect(self.address).unwrap();
        probe.write_all(PROBE).unwrap();
        drop(probe);
        let connections = self.shared.connections.lock().unwrap();
        let is_waiting = |all: &mut Vec<Connection>| {
            all.iter().any(|connection| !connection.is_over) || all.iter().all(|connection| connection.bytes != PROBE)
        };
        let (mut connections, waited) =
            self.shared.changed.wait_timeout_while(connections, WAIT_MAX, is_waiting).unwrap();
        assert!(!waited.timed_out(), "a connection to the origin stays open: {connections:?}");
        std::mem::take(&mut *connections).into_iter().filter(|connection| connection.bytes != PROBE).collect()
    }
}

fn record(shared: &Shared, number: usize, mut stream: TcpStream) {
    stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
    let (mut ahead, mut piece, mut said_continue, mut is_last) = (Vec::new(), [0; 64 << 10], false, false);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        ahead.extend_from_slice(&piece[..read]);
        shared.change(number, |connection| connection.bytes.extend_from_slice(&piece[..read]));
        loop {
            match message::request(&ahead) {
                Ok(Reading::Whole(request, length)) if !is_last => {
                    ahead.drain(..length);
                    is_last = request.line == NEXT;
                    let _ = stream.write_all(&answer(&request, is_last));
                    shared.change(number, |connection| connection.requests.push(request));
                    said_continue = false;
                }
                Ok(Reading::Part) => break,
                Ok(read) => {
                    shared.change(number, |connection| connection.fault = Some(format!("behind the last: {read:?}")));
                    break;
                }
                Err(fault) => {
                    shared.change(number, |connection| connection.fault = Some(fault));
                    break;
                }
            }
        }
        if !said_continue && is_expectant(&ahead) {
            said_continue = true;
            let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }
    shared.change(number, |connection| connection.is_over = true);
}

/// Whether the client waits for a 100 before it sends the body.
fn is_expectant(ahead: &[u8]) -> bool {
    let text = String::from_utf8_lossy(ahead).to_ascii_lowercase();
    text.split_once("\r\n\r\n").is_some_and(|(head, _)| head.contains("\r\nexpect: 100-continue"))
}

/// The body of the answer to a request.
pub(crate) fn answer_body(line: &str, body: &[u8]) -> Vec<u8> {
    [line.as_bytes(), b"\n", body].concat()
}

fn answer(request: &Message, is_last: bool) -> Vec<u8> {
    let body = answer_body(&request.line, &request.body);
    let close = if is_last { "Connection: close\r\n" } else { "" };
    let length = body.len();
    let mut answer = format!("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n{close}Content-Length: {length}\r\n\r\n");
    if request.line.starts_with("HEAD ") {
        return answer.into_bytes();
    }
    // The body need not be UTF-8.
    let mut answer = std::mem::take(&mut answer).into_bytes();
    answer.extend(body);
    answer
}
