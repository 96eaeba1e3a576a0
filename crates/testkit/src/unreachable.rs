//! Addresses of origins that cannot be reached.

use kasoku_options::{OriginAddress, OriginEndpoint, OriginOptions};
use socket2::{Domain, Socket, Type};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};

/// Connections that fill an accept queue of length 0, with room to spare.
const QUEUED_CONNECTIONS: usize = 4;

/// An address at which nothing listens, so that a connection is refused. Its port stays bound for as long as the process runs;
/// otherwise a socket that asks for any port could get it, the engine's among them. A listener that asks for this very port gets it.
pub fn dead_address() -> OriginOptions {
    let taken = bound();
    let dead = address(taken.local_addr().unwrap().as_socket().unwrap());
    std::mem::forget(taken);
    dead
}

/// An origin at a [`dead_address`] that goes away: it answers one request, stops listening, and closes the kept connection when the
/// next request comes.
pub fn leaving_at(dead: &OriginOptions, answer: Vec<u8>) {
    let OriginAddress::Http(OriginEndpoint::Tcp { host, port }) = &dead.address else {
        panic!("not an address of TCP")
    };
    let listener = TcpListener::bind((host.as_str(), *port)).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut read_head = || while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {};
        read_head();
        stream.write_all(&answer).unwrap();
        read_head();
    });
}

/// A listener that accepts no connection and whose queue is full: the kernel drops further attempts to connect.
pub struct FullListener {
    listener: Socket,
    _queued: Vec<Socket>,
}

impl FullListener {
    /// Listens on a free port of the loopback address.
    pub fn start() -> Self {
        let listener = bound();
        listener.listen(0).unwrap();
        let queue = || {
            let socket = tcp();
            socket.set_nonblocking(true).unwrap();
            // The connection is being made; no test waits for its outcome.
            let _ = socket.connect(&listener.local_addr().unwrap());
            socket
        };
        let queued = (0..QUEUED_CONNECTIONS).map(|_| queue()).collect();
        Self { listener, _queued: queued }
    }

    /// The address at which it listens.
    pub fn address(&self) -> OriginOptions {
        address(self.listener.local_addr().unwrap().as_socket().unwrap())
    }
}

fn tcp() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
}

/// A socket that has a free port of the loopback address.
fn bound() -> Socket {
    let socket = tcp();
    // This socket does not listen, so another socket may bind the same port.
    socket.set_reuse_address(true).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket
}

fn address(address: SocketAddr) -> OriginOptions {
    OriginAddress::http(address.ip().to_string(), address.port()).into()
}
