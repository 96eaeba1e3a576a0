//! A TCP proxy that does to connections what a network or a server does when it fails. A test switches it at any time.
//!
//! Each connection has two threads, one for each direction. A thread reads, does what the present [`Fault`] says to the bytes that it has read,
//! and writes them. [`FaultProxy::set`] wakes threads that wait, so a fault ends at once. Faults of the content are done to what the server
//! sends; slow ones to both directions, since a request that comes late is as slow as an answer.
//!
//! Everything has a bound: the connections at a time, each write, and each wait for the upstream. A proxy that is dropped closes its
//! connections and waits for its threads.

mod pump;

use pump::{Direction, pump};
use socket2::{Domain, SockRef, Socket, Type};
use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most connections at a time; more are closed at once.
const CONNECTIONS_MAX: usize = 512;

/// The longest wait for a connection to the upstream, and for a peer that takes no bytes.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It forwards everything at once.
    None,
    /// Each piece comes this much later.
    Latency(Duration),
    /// At most this many bytes pass in a second, in each direction of each connection.
    Bandwidth(usize),
    /// The end of a connection is passed on this much later.
    SlowClose(Duration),
    /// Connections are accepted, and nothing passes.
    Timeout,
    /// Connections are reset (RST): the open ones at once, new ones when they come.
    Reset,
    /// At most this many bytes are written at a time, with a pause behind them.
    Slices(usize),
    /// A connection is closed after this many bytes of the server.
    Cut(usize),
    /// About one of this many bytes of the server has a flipped bit.
    Damage(u64),
    /// Connections are refused, and the open ones are closed.
    Down,
}

/// See the [module](self).
pub struct FaultProxy {
    address: SocketAddr,
    /// Keeps the port while nothing listens.
    _port: Socket,
    shared: Arc<Shared>,
    listening: Mutex<Option<(Arc<TcpListener>, JoinHandle<()>)>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    fault: Fault,
    /// The number of changes of `fault`.
    changes: u64,
    upstream: SocketAddr,
    is_ended: bool,
    accepted: u64,
    connections: HashMap<u64, Arc<Connection>>,
    threads: Vec<JoinHandle<()>>,
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    /// The client's end is to be reset, so no ordinary end may be sent to it.
    is_reset: AtomicBool,
}

impl FaultProxy {
    /// A proxy on a free port of 127.0.0.1, which forwards everything to `upstream`.
    pub fn start(upstream: SocketAddr) -> Self {
        let port = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        // This socket does not listen, so a listener may have the same port.
        port.set_reuse_address(true).unwrap();
        port.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = port.local_addr().unwrap().as_socket().unwrap();
        let state = State {
            fault: Fault::None,
            changes: 0,
            upstream,
            is_ended: false,
            accepted: 0,
            connections: HashMap::new(),
            threads: Vec::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let proxy = Self { address, _port: port, shared, listening: Mutex::new(None) };
        proxy.listen();
        proxy
    }

    /// Where it listens. This stays the same for as long as it lives.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has accepted so far.
    pub fn accepted(&self) -> u64 {
        self.shared.state().accepted
    }

    /// From now on it does this.
    pub fn set(&self, fault: Fault) {
        if fault == Fault::Down {
            self.listen_no_more();
        }
        let mut state = self.shared.state();
        state.fault = fault;
        state.changes += 1;
        match fault {
            Fault::Reset => state.reset_all(),
            Fault::Down => state.close_all(),
            _ => {}
        }
        drop(state);
        self.shared.changed.notify_all();
        if fault != Fault::Down {
            self.listen();
        }
    }

    /// From now on it forwards to another server. Open connections are closed.
    pub fn swap(&self, upstream: SocketAddr) {
        let mut state = self.shared.state();
        state.upstream = upstream;
        state.close_all();
    }

    fn listen(&self) {
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        if listening.is_none() {
            let listener = Arc::new(TcpListener::bind(self.address).unwrap());
            let (shared, accepting) = (self.shared.clone(), listener.clone());
            let thread = std::thread::spawn(move || accept(&shared, &accepting));
            *listening = Some((listener, thread));
        }
    }

    fn listen_no_more(&self) {
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((listener, thread)) = listening {
            // On Linux this ends a waiting accept(2).
            let _ = SockRef::from(&*listener).shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.listen_no_more();
        let threads = {
            let mut state = self.shared.state();
            state.is_ended = true;
            state.close_all();
            std::mem::take(&mut state.threads)
        };
        self.shared.changed.notify_all();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the fault changes, or until the time is over. Returns whether the proxy goes on.
    fn wait(&self, changes: u64, time: Option<Duration>) -> bool {
        let begun = Instant::now();
        let mut state = self.state();
        while !state.is_ended && state.changes == changes {
            state = match time.map(|time| time.saturating_sub(begun.elapsed())) {
                Some(Duration::ZERO) => break,
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        !state.is_ended
    }
}

impl State {
    fn close_all(&mut self) {
        for connection in self.connections.drain().map(|(_, connection)| connection) {
            connection.close();
        }
    }

    fn reset_all(&mut self) {
        for connection in self.connections.drain().map(|(_, connection)| connection) {
            connection.reset();
        }
    }
}

impl Connection {
    fn close(&self) {
        self.end(&self.client, Shutdown::Both);
        self.end(&self.server, Shutdown::Both);
    }

    fn end(&self, stream: &TcpStream, how: Shutdown) {
        if !self.is_reset.load(Ordering::SeqCst) {
            let _ = stream.shutdown(how);
        }
    }

    /// Has the client's end reset when both threads have let go of it. To shut down reading wakes them and sends nothing.
    fn reset(&self) {
        self.is_reset.store(true, Ordering::SeqCst);
        let _ = SockRef::from(&self.client).set_linger(Some(Duration::ZERO));
        let _ = self.client.shutdown(Shutdown::Read);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    while let Ok((client, _)) = listener.accept() {
        let (upstream, has_room, is_reset) = {
            let mut state = shared.state();
            if state.is_ended {
                return;
            }
            state.accepted += 1;
            state.threads.retain(|thread| !thread.is_finished());
            (state.upstream, state.connections.len() < CONNECTIONS_MAX, state.fault == Fault::Reset)
        };
        if is_reset {
            let _ = SockRef::from(&client).set_linger(Some(Duration::ZERO));
            continue;
        }
        // A client whose server can't be reached sees the end of its connection.
        if has_room && let Ok(server) = TcpStream::connect_timeout(&upstream, IO_TIMEOUT) {
            forward(shared, Connection { client, server, is_reset: AtomicBool::new(false) }, upstream);
        }
    }
}

fn forward(shared: &Arc<Shared>, connection: Connection, upstream: SocketAddr) {
    for stream in [&connection.client, &connection.server] {
        let _ = stream.set_nodelay(true);
        let _ = stream.set_write_timeout(Some(IO_TIMEOUT));
    }
    let connection = Arc::new(connection);
    let mut state = shared.state();
    // What was switched while the upstream was connected holds for this connection as well.
    if state.is_ended || state.upstream != upstream || matches!(state.fault, Fault::Down | Fault::Reset) {
        return;
    }
    let number = state.accepted;
    state.connections.insert(number, connection.clone());
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (shared, connection) = (shared.clone(), connection.clone());
        state.threads.push(std::thread::spawn(move || {
            pump(&shared, &connection, direction, number);
            shared.state().connections.remove(&number);
        }));
    }
}
