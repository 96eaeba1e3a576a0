//! Addresses of origins that cannot be reached.

use kasoku_engine::options::{Origin, OriginAddress};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpListener};

/// Connections that fill a queue of length 0, with room to spare.
const KNOCKERS: usize = 4;

/// An address where nobody listens: connecting is refused.
pub fn dead_address() -> Origin {
    address(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

/// A listener that accepts nobody and whose queue is full: the kernel drops whoever knocks.
pub struct Deaf {
    listener: Socket,
    _queued: Vec<Socket>,
}

impl Deaf {
    /// Listens on a free port of the loopback address.
    pub fn start() -> Self {
        let tcp = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = tcp();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let queue = || {
            let socket = tcp();
            socket.set_nonblocking(true).unwrap();
            // It is under way; whether it ever gets in is not awaited.
            let _ = socket.connect(&listener.local_addr().unwrap());
            socket
        };
        let queued = (0..KNOCKERS).map(|_| queue()).collect();
        Self { listener, _queued: queued }
    }

    /// Where it listens.
    pub fn address(&self) -> Origin {
        address(self.listener.local_addr().unwrap().as_socket().unwrap())
    }
}

fn address(address: SocketAddr) -> Origin {
    OriginAddress::http(address.ip().to_string(), address.port()).into()
}
