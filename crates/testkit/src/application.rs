//! A scripted application server that speaks FastCGI or SCGI. It plays the turns of its script in the order of the requests, and
//! records these. Its parsers of both protocols are its own.
//!
//! A [`Turn`] is what the server does with one request. It begins after the end of the request's body, unless the turn says
//! otherwise. After a FastCGI turn that ends the request, the connection stays open if the request asks for that.

use crate::{Gate, WAIT_MAX};
use kasoku_options::{OriginAddress, OriginEndpoint};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// The types of FastCGI records that are used here.
const BEGIN: u8 = 1;
const END: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

/// See the [module](self). Dropping it checks that the script was played to its end.
pub struct Application {
    port: u16,
    is_fastcgi: bool,
    shared: Arc<Shared>,
}

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The number of the connection, counted from 0.
    pub connection: usize,
    /// The parameters.
    pub params: BTreeMap<String, String>,
    /// Standard input, as far as it was read.
    pub stdin: Vec<u8>,
    /// Whether the connection is to stay open.
    pub is_kept: bool,
}

impl Call {
    /// A parameter; `-` when it isn't there.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("-", String::as_str)
    }
}

/// What the server does with one request.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    leaves_stdin: bool,
    acts: Vec<Act>,
}

#[derive(Clone, Debug)]
enum Act {
    Send(Vec<u8>),
    Wait(Gate),
    ReadStdin,
    Close,
    AwaitEnd,
}

/// One FastCGI record of request 1.
pub fn record(kind: u8, content: &[u8], padding_bytes: u8) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let header = [1, kind, 0, 1, length[0], length[1], padding_bytes, 0];
    [&header[..], content, &vec![b'p'; usize::from(padding_bytes)]].concat()
}

/// A turn that prints `output` and ends.
pub fn prints(output: &str) -> Turn {
    Turn::default().stdout(output).ends()
}

/// A turn that does nothing yet.
pub fn turn() -> Turn {
    Turn::default()
}

impl Turn {
    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    /// Sends any bytes.
    #[must_use]
    pub fn sends(self, bytes: impl AsRef<[u8]>) -> Self {
        self.act(Act::Send(bytes.as_ref().to_vec()))
    }

    /// Prints `text` as one record, with some padding.
    #[must_use]
    pub fn stdout(self, text: &str) -> Self {
        self.sends(record(STDOUT, text.as_bytes(), 3))
    }

    /// Writes `text` to standard error.
    #[must_use]
    pub fn stderr(self, text: &str) -> Self {
        self.sends(record(STDERR, text.as_bytes(), 0))
    }

    /// Ends the request.
    #[must_use]
    pub fn ends(self) -> Self {
        self.ends_with(0)
    }

    /// Ends the request with that protocol status.
    #[must_use]
    pub fn ends_with(self, protocol_status: u8) -> Self {
        self.sends(record(END, &[0, 0, 0, 0, protocol_status, 0, 0, 0], 0))
    }

    /// Waits until the test opens the gate.
    #[must_use]
    pub fn waits(self, gate: &Gate) -> Self {
        self.act(Act::Wait(gate.clone()))
    }

    /// Begins the turn before standard input has come.
    #[must_use]
    pub fn leaves_stdin(mut self) -> Self {
        self.leaves_stdin = true;
        self
    }

    /// Reads standard input now.
    #[must_use]
    pub fn reads_stdin(self) -> Self {
        self.act(Act::ReadStdin)
    }

    /// Closes the connection, even if the request asks to keep it open.
    #[must_use]
    pub fn closes(self) -> Self {
        self.act(Act::Close)
    }

    /// Waits until the peer has closed the connection.
    #[must_use]
    pub fn awaits_end(self) -> Self {
        self.act(Act::AwaitEnd)
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    script: VecDeque<Turn>,
    calls: Vec<Call>,
    done: usize,
    connections: usize,
    closed: usize,
    faults: Vec<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_all();
        result
    }
}

impl Application {
    /// A server that speaks FastCGI, on a free port.
    pub fn fastcgi(script: impl IntoIterator<Item = Turn>) -> Self {
        Self::start(true, script)
    }

    /// A server that speaks SCGI, on a free port. Its turns print with [`Turn::sends`].
    pub fn scgi(script: impl IntoIterator<Item = Turn>) -> Self {
        Self::start(false, script)
    }

    fn start(is_fastcgi: bool, script: impl IntoIterator<Item = Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        shared.state().script = script.into_iter().collect();
        let accepting = shared.clone();
        // The thread ends with the process: it holds nothing but the listener.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = accepting.clone();
                let connection = shared.change(|state| {
                    state.connections += 1;
                    state.connections - 1
                });
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
                    stream.set_write_timeout(Some(WAIT_MAX)).unwrap();
                    Connection { stream, shared: &shared, number: connection, is_fastcgi }.play();
                    shared.change(|state| state.closed += 1);
                });
            }
        });
        Self { port, is_fastcgi, shared }
    }

    /// The address at which it listens, as one of a route's origins.
    pub fn address(&self) -> kasoku_options::OriginOptions {
        let endpoint = OriginEndpoint::Tcp { host: "127.0.0.1".to_owned(), port: self.port };
        let address = if self.is_fastcgi { OriginAddress::FastCgi(endpoint) } else { OriginAddress::Scgi(endpoint) };
        address.into()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many requests have come.
    pub fn count(&self) -> usize {
        self.shared.state().calls.len()
    }

    /// How many connections have been opened.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// The request of that number, counted from 0; waits for it.
    pub fn call(&self, number: usize) -> Call {
        self.until(&format!("request {number}"), |state| state.calls.len() > number);
        self.shared.state().calls[number].clone()
    }

    /// Waits until that many turns have been played.
    pub fn done(&self, count: usize) {
        self.until(&format!("{count} turns"), |state| state.done >= count);
    }

    /// Waits until that many connections have ended.
    pub fn closed(&self, count: usize) {
        self.until(&format!("{count} closed connections"), |state| state.closed >= count);
    }

    fn until(&self, what: &str, is_met: impl Fn(&State) -> bool) {
        let waiting = |state: &mut State| state.faults.is_empty() && !is_met(state);
        let (state, _) = self.shared.changed.wait_timeout_while(self.shared.state(), WAIT_MAX, waiting).unwrap();
        let (faults, met) = (state.faults.clone(), is_met(&state));
        drop(state);
        assert!(faults.is_empty(), "the application's script: {faults:#?}");
        assert!(met, "waited in vain for {what}");
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let state = self.shared.state();
            let (faults, left) = (state.faults.clone(), state.script.len());
            drop(state);
            assert!(faults.is_empty(), "the application's script: {faults:#?}");
            assert_eq!(left, 0, "turns that nobody asked for");
        }
    }
}

/// One connection, served until it ends.
struct Connection<'a> {
    stream: TcpStream,
    shared: &'a Shared,
    number: usize,
    is_fastcgi: bool,
}

impl Connection<'_> {
    fn play(&mut self) {
        loop {
            let read = if self.is_fastcgi { self.fastcgi_request() } else { self.scgi_request() };
            let Some(mut call) = read else { return };
            call.connection = self.number;
            let Some(turn) = self.shared.change(|state| state.script.pop_front()) else {
                return self.fault(format!("nobody expected {call:?}"));
            };
            if !turn.leaves_stdin {
                match self.stdin(&call) {
                    Some(stdin) => call.stdin = stdin,
                    None => return,
                }
            }
            let is_kept = call.is_kept;
            self.shared.change(|state| state.calls.push(call.clone()));
            let goes_on = at_once(turn.acts).into_iter().all(|act| self.act(act, &call));
            self.shared.change(|state| state.done += 1);
            if !goes_on || !is_kept {
                return;
            }
        }
    }

    fn fault(&self, text: String) {
        self.shared.change(|state| state.faults.push(text));
    }

    /// Carries out an act; `false`: the connection is over.
    fn act(&mut self, act: Act, call: &Call) -> bool {
        match act {
            Act::Send(bytes) => self.stream.write_all(&bytes).is_ok(),
            Act::ReadStdin => {
                let stdin = self.stdin(call);
                self.shared.change(|state| {
                    if let (Some(call), Some(stdin)) = (state.calls.last_mut(), &stdin) {
                        call.stdin.clone_from(stdin);
                    }
                });
                stdin.is_some()
            }
            Act::Wait(gate) => {
                if !gate.wait() {
                    self.fault("nobody opened the gate".to_owned());
                }
                true
            }
            Act::Close => false,
            Act::AwaitEnd => {
                let end = std::io::copy(&mut self.stream, &mut std::io::sink());
                let hangs = end.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
                if hangs {
                    self.fault("the connection did not end".to_owned());
                }
                false
            }
        }
    }

    fn read<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    fn read_vec(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    /// The type and content of the next record, which must be of request 1.
    fn record(&mut self) -> Option<(u8, Vec<u8>)> {
        let [version, kind, id_high, id_low, high, low, padding, _] = self.read()?;
        assert_eq!((version, id_high, id_low), (1, 0, 1), "a record of version 1 and request 1");
        let content = self.read_vec(usize::from(u16::from_be_bytes([high, low])))?;
        self.read_vec(usize::from(padding))?;
        Some((kind, content))
    }

    fn fastcgi_request(&mut self) -> Option<Call> {
        let (kind, begin) = self.record()?;
        assert_eq!((kind, begin.len(), begin[0], begin[1]), (BEGIN, 8, 0, 1), "a request for a responder");
        let params = self.stream_of(PARAMS)?;
        Some(Call { params: pairs(&params), is_kept: begin[2] & 1 == 1, ..Call::default() })
    }

    /// The joined contents of a stream's records, until the empty one.
    fn stream_of(&mut self, expected: u8) -> Option<Vec<u8>> {
        let mut stream = Vec::new();
        loop {
            let (kind, content) = self.record()?;
            assert_eq!(kind, expected, "the type of a record");
            if content.is_empty() {
                return Some(stream);
            }
            stream.extend_from_slice(&content);
        }
    }

    fn scgi_request(&mut self) -> Option<Call> {
        let mut length = 0;
        loop {
            match self.read()? {
                [b':'] => break,
                [digit] => length = length * 10 + usize::from(digit - b'0'),
            }
        }
        let headers = self.read_vec(length)?;
        assert_eq!(self.read(), Some([b',']), "the end of the netstring");
        let texts: Vec<&[u8]> = headers.strip_suffix(b"\0").unwrap().split(|byte| *byte == 0).collect();
        assert_eq!(texts[0], b"CONTENT_LENGTH", "what comes first");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let params: BTreeMap<_, _> = texts.chunks(2).map(|pair| (text(pair[0]), text(pair[1]))).collect();
        assert_eq!(params.len() * 2, texts.len(), "no name twice");
        Some(Call { params, ..Call::default() })
    }

    fn stdin(&mut self, call: &Call) -> Option<Vec<u8>> {
        if self.is_fastcgi {
            self.stream_of(STDIN)
        } else {
            self.read_vec(call.param("CONTENT_LENGTH").parse().unwrap())
        }
    }
}

/// Joins what is sent without a wait in between into one write, except for single bytes.
fn at_once(acts: Vec<Act>) -> Vec<Act> {
    let mut joined = Vec::new();
    for act in acts {
        match (joined.last_mut(), act) {
            (Some(Act::Send(before)), Act::Send(bytes)) if bytes.len() > 1 => before.extend_from_slice(&bytes),
            (_, act) => joined.push(act),
        }
    }
    joined
}

/// Parses FastCGI's pairs of names and values.
fn pairs(mut bytes: &[u8]) -> BTreeMap<String, String> {
    fn length(bytes: &mut &[u8]) -> usize {
        let first = bytes[0];
        if first < 128 {
            *bytes = &bytes[1..];
            return usize::from(first);
        }
        let length = u32::from_be_bytes(bytes[..4].try_into().unwrap()) & 0x7fff_ffff;
        *bytes = &bytes[4..];
        length as usize
    }
    let mut pairs = BTreeMap::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes), length(&mut bytes));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let known = pairs.insert(text(&bytes[..name]), text(&bytes[name..name + value]));
        assert_eq!(known, None, "no name twice");
        bytes = &bytes[name + value..];
    }
    pairs
}
