//! A scripted origin: a listener on a free port, one thread for each connection, and a record of all that came.

use crate::message::{Framing, Head};
use crate::script::{Act, Exchange};
use crate::socket::{Content, Socket, Stopped, Stream};
use crate::{Gate, WAIT_MAX};
use kasoku_options::{OriginAddress, OriginEndpoint};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// See the [module](self). Dropping it checks that the script was played to its end.
pub struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The number of the connection, counted from 0.
    pub connection: usize,
    /// Request line and fields.
    pub head: Head,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub is_whole: bool,
    /// The trailer fields behind a chunked body.
    pub trailers: Vec<(String, String)>,
    is_settled: bool,
}

impl Received {
    /// See [`Head::field`].
    pub fn field(&self, name: &str) -> Option<String> {
        self.head.field(name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    script: Vec<Option<Exchange>>,
    received: Vec<Received>,
    connections: usize,
    running: usize,
    held_up: usize,
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

    fn fault(&self, text: String) {
        self.change(|state| state.faults.push(text));
    }
}

impl Origin {
    /// Listens on a free port of the loopback address, and plays that script.
    pub fn start(script: impl IntoIterator<Item = Exchange>) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    /// Listens at an address at which nothing has listened so far: an origin that comes back.
    pub fn start_at(origin: &kasoku_options::OriginOptions, script: impl IntoIterator<Item = Exchange>) -> Self {
        let OriginAddress::Http(OriginEndpoint::Tcp { host, port }) = &origin.address else {
            panic!("not an address of TCP")
        };
        Self::listen(TcpListener::bind((host.as_str(), *port)).unwrap(), script)
    }

    fn listen(listener: TcpListener, script: impl IntoIterator<Item = Exchange>) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        shared.state().script = script.into_iter().map(Some).collect();
        let accepting = shared.clone();
        // The thread ends with the process: it holds nothing but the listener.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = accepting.clone();
                let number = shared.change(|state| {
                    state.connections += 1;
                    state.connections - 1
                });
                std::thread::spawn(move || play(&shared, Socket::new(Stream::Tcp(stream)), number));
            }
        });
        Self { address, shared }
    }

    /// The address at which it listens, as one of a route's origins.
    pub fn address(&self) -> kasoku_options::OriginOptions {
        OriginAddress::http(self.address.ip().to_string(), self.address.port()).into()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Adds to the script.
    pub fn then(&self, exchange: Exchange) {
        self.shared.change(|state| state.script.push(Some(exchange)));
    }

    /// How many requests have come so far.
    pub fn count(&self) -> usize {
        self.shared.state().received.len()
    }

    /// How many connections have been opened so far.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// Waits until that many requests' heads have come.
    pub fn arrived(&self, count: usize) {
        self.until(&format!("{count} requests"), |state| state.received.len() >= count);
    }

    /// Waits until that many requests have come and all their acts are done.
    pub fn done(&self, count: usize) {
        self.until(&format!("the acts of {count} requests"), |state| {
            state.received.len() >= count && state.running == 0
        });
    }

    /// Waits until an act of [`Exchange::sends_held_up`] has been held up.
    pub fn is_held_up(&self) {
        self.until("a held up act", |state| state.held_up > 0);
    }

    /// Whether that many requests have come and all their acts are done by now.
    pub fn is_done(&self, count: usize) -> bool {
        let state = self.shared.state();
        state.received.len() >= count && state.running == 0
    }

    /// The request of that number, counted from 0 in the order of arrival; waits for it, and for the end of its body.
    pub fn request(&self, number: usize) -> Received {
        self.until(&format!("request {number}"), |state| state.received.get(number).is_some_and(|r| r.is_settled));
        self.shared.state().received[number].clone()
    }

    /// The requests so far, whether their bodies have ended or not.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.state().received.clone()
    }

    /// The only request that has come.
    pub fn only_request(&self) -> Received {
        let request = self.request(0);
        assert_eq!(self.count(), 1, "requests");
        request
    }

    fn until(&self, what: &str, is_met: impl Fn(&State) -> bool) {
        let state = self.shared.state();
        let waiting = |state: &mut State| state.faults.is_empty() && !is_met(state);
        let (state, _) = self.shared.changed.wait_timeout_while(state, WAIT_MAX, waiting).unwrap();
        let (faults, met, came) = (state.faults.clone(), is_met(&state), state.received.len());
        drop(state);
        assert!(faults.is_empty(), "the origin's script: {faults:#?}");
        assert!(met, "waited in vain for {what}; {came} came");
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let faults = &self.shared.state().faults;
            if !faults.is_empty() {
                eprintln!("the origin's script: {faults:#?}");
            }
            return;
        }
        let state = self.shared.state();
        let unused: Vec<_> = state.script.iter().flatten().map(|e| format!("{} {}", e.method, e.target)).collect();
        let faults = state.faults.clone();
        drop(state);
        assert!(faults.is_empty(), "the origin's script: {faults:#?}");
        assert!(unused.is_empty(), "the origin was never asked for {unused:?}");
    }
}

/// Serves one connection until it ends.
fn play(shared: &Shared, mut socket: Socket, connection: usize) {
    while let Ok(head) = socket.head() {
        let Some((number, exchange)) = take(shared, &head, connection) else {
            shared.fault(format!("nobody expected {:?} now", head));
            let _ = socket.write(&crate::reply("500 Unexpected", &["Connection: close"], "not in the script"));
            return;
        };
        let framing = head.framing();
        let goes_on = acts(shared, &mut socket, number, framing, exchange);
        settle(shared, number, |_| {});
        shared.change(|state| state.running -= 1);
        if !goes_on {
            return;
        }
    }
}

fn take(shared: &Shared, head: &Head, connection: usize) -> Option<(usize, Exchange)> {
    shared.change(|state| {
        let fits =
            |e: &Option<Exchange>| e.as_ref().is_some_and(|e| e.method == head.word(0) && e.target == head.word(1));
        let exchange = state.script.iter_mut().find(|e| fits(e))?.take()?;
        let has_body = head.framing() != Framing::Nothing;
        state.received.push(Received {
            connection,
            head: head.clone(),
            body: Vec::new(),
            is_whole: !has_body,
            trailers: Vec::new(),
            is_settled: !has_body,
        });
        state.running += 1;
        Some((state.received.len() - 1, exchange))
    })
}

fn settle(shared: &Shared, number: usize, record: impl FnOnce(&mut Received)) {
    shared.change(|state| {
        if let Some(received) = state.received.get_mut(number) {
            record(received);
            received.is_settled = true;
        }
    });
}

/// Carries out the acts of an exchange; `false`: the connection is over.
fn acts(shared: &Shared, socket: &mut Socket, number: usize, framing: Framing, exchange: Exchange) -> bool {
    let name = format!("{} {}", exchange.method, exchange.target);
    for act in exchange.acts {
        match act {
            Act::ReadBody => {
                let Content { body, trailers, stopped } = socket.content(framing);
                settle(shared, number, |received| {
                    (received.body, received.trailers, received.is_whole) = (body, trailers, stopped.is_none());
                });
                if stopped.is_some() {
                    return false;
                }
            }
            // A failed write means that the peer has closed. The test decides whether the peer may do that.
            Act::Send(bytes) => {
                if socket.write(&bytes).is_err() {
                    return false;
                }
            }
            Act::SendHeldUp(bytes) => match socket.write_until_held_up(&bytes) {
                Ok(sent) if sent == bytes.len() => shared.fault(format!("{name}: all was taken at once")),
                Ok(sent) => {
                    shared.change(|state| state.held_up += 1);
                    if socket.write(&bytes[sent..]).is_err() {
                        return false;
                    }
                }
                Err(_) => return false,
            },
            Act::Wait(gate) => wait(shared, &gate, &name),
            Act::Read(expected) => {
                let (bytes, _) = socket.exactly(expected.len());
                if bytes != expected {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    shared.fault(format!("{name}: expected {:?}, read {:?}", text(&expected), text(&bytes)));
                }
            }
            Act::NothingToRead => {
                if socket.has_something() {
                    shared.fault(format!("{name}: something came that should have been held back"));
                }
            }
            Act::AwaitEnd => {
                let (bytes, stopped) = socket.rest();
                if stopped == Stopped::Hangs || !bytes.is_empty() {
                    shared.fault(format!("{name}: the connection did not end: {stopped:?}, {bytes:?}"));
                }
                return false;
            }
            Act::ShutdownWrite => drop(socket.shutdown_write()),
            Act::Close => return false,
            Act::Reset => {
                socket.reset_on_close();
                return false;
            }
        }
    }
    true
}

fn wait(shared: &Shared, gate: &Gate, name: &str) {
    if !gate.wait() {
        shared.fault(format!("{name}: nobody opened the gate"));
    }
}
