//! The listening sockets of the program.
//!
//! The engine keeps a duplicate of each socket, to hand it over to the workers and to a process that takes this one's place. A
//! duplicate shares the kernel's queue, so a waiting connection stays there until a worker or process accepts it, and none is
//! lost. To stop listening for good, all duplicates must be dropped.

use crate::server::start_error::StartError;
use kasoku_options::{ListenAddress, Listener};
use kasoku_sys::listen::{self, ListeningSocket};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};

/// Sockets that another process has handed over, by the address at which that process was told to listen.
#[derive(Debug, Default)]
pub struct Inherited(pub HashMap<String, Vec<ListeningSocket>>);

/// The sockets of all listeners.
#[derive(Debug, Default)]
pub struct Listening {
    listeners: Vec<OpenListener>,
    /// Where peers connect. A reload leaves it as it is.
    peers: Option<PeersSocket>,
}

/// The socket on which peers connect.
#[derive(Debug)]
struct PeersSocket {
    address: SocketAddr,
    socket: ListeningSocket,
}

impl PeersSocket {
    /// The name of the socket for a process that takes this one's place. No address of a client socket begins so.
    fn name(address: SocketAddr) -> String {
        format!("peers {address}")
    }
}

/// One listener, open.
#[derive(Debug)]
struct OpenListener {
    listener: Listener,
    sockets: Vec<ListeningSocket>,
}

/// A socket of a worker, and the listener to which it belongs.
pub(crate) struct WorkerSocket {
    pub(crate) listener: Listener,
    pub(crate) socket: ListeningSocket,
}

impl Listening {
    /// Opens the sockets of these listeners; uses a socket that was handed over where there is one.
    ///
    /// # Errors
    /// A listener can't be opened: most often, another process listens there already. Then none is opened.
    pub fn open(listeners: &[Listener], workers: usize, inherited: &mut Inherited) -> Result<Self, StartError> {
        let open = |listener: &Listener| {
            let name = listener.address.to_string();
            let sockets = match inherited.0.remove(&name).filter(|sockets| !sockets.is_empty()) {
                Some(sockets) => sockets,
                None => open(&listener.address, workers).map_err(|error| StartError { what: name, error })?,
            };
            Ok(OpenListener { listener: listener.clone(), sockets })
        };
        let listeners = listeners.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { listeners, peers: None })
    }

    /// Opens the socket for peers as well, or uses the one that was handed over.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn and_for_peers(self, address: Option<SocketAddr>, inherited: &mut Inherited) -> Result<Self, StartError> {
        let Some(address) = address else { return Ok(self) };
        let name = PeersSocket::name(address);
        let socket = match inherited.0.remove(&name).and_then(|mut sockets| sockets.pop()) {
            Some(socket) => Ok(socket),
            None => listen::tcp(address, 1)
                .and_then(|mut sockets| sockets.pop().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())),
        };
        let socket =
            socket.map_err(|error| StartError { what: format!("the listener for peers, {address}"), error })?;
        Ok(Self { peers: Some(PeersSocket { address, socket }), ..self })
    }

    /// A duplicate of the socket for peers.
    pub(crate) fn for_peers(&self) -> io::Result<Option<TcpListener>> {
        match self.peers.as_ref().map(|peers| peers.socket.duplicate()).transpose()? {
            Some(ListeningSocket::Tcp(socket)) => Ok(Some(socket)),
            Some(ListeningSocket::Unix(_)) | None => Ok(None),
        }
    }

    /// The TCP addresses, in the order of the listeners.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|open| open.sockets.first()?.local_address()).collect()
    }

    /// Each socket with the address at which this process was told to listen, for a process that takes its place.
    pub fn sockets(&self) -> impl Iterator<Item = (String, &ListeningSocket)> {
        let peers = self.peers.iter().map(|peers| (PeersSocket::name(peers.address), &peers.socket));
        let of = |open: &OpenListener| open.listener.address.to_string();
        self.listeners
            .iter()
            .flat_map(move |open| open.sockets.iter().map(move |socket| (of(open), socket)))
            .chain(peers)
    }

    /// The sockets of each worker. Each socket belongs to some worker, and each worker has a socket of each listener.
    pub(crate) fn shares(&self, workers: usize) -> io::Result<Vec<Vec<WorkerSocket>>> {
        let mut shares: Vec<Vec<WorkerSocket>> = (0..workers).map(|_| Vec::new()).collect();
        for OpenListener { listener, sockets } in &self.listeners {
            for number in 0..workers.max(sockets.len()) {
                let socket = sockets.get(number % sockets.len().max(1));
                let share = shares.get_mut(number % workers.max(1));
                if let (Some(socket), Some(share)) = (socket, share) {
                    share.push(WorkerSocket { listener: listener.clone(), socket: socket.duplicate()? });
                }
            }
        }
        Ok(shares)
    }

    /// The sockets of other listeners: a socket that is open already stays, a new listener is opened, and a missing one is
    /// closed. When it fails, nothing changes.
    pub(crate) fn changed(&self, listeners: &[Listener], workers: usize) -> Result<Self, StartError> {
        let mut kept = Inherited::default();
        for OpenListener { listener, sockets } in &self.listeners {
            let name = listener.address.to_string();
            let sockets = sockets.iter().map(ListeningSocket::duplicate).collect::<io::Result<_>>();
            kept.0.insert(name.clone(), sockets.map_err(|error| StartError { what: name, error })?);
        }
        let peers = self.peers.as_ref().map(|peers| {
            let socket = peers.socket.duplicate();
            let socket = socket.map_err(|error| StartError { what: PeersSocket::name(peers.address), error })?;
            Ok(PeersSocket { address: peers.address, socket })
        });
        Ok(Self { peers: peers.transpose()?, ..Self::open(listeners, workers, &mut kept)? })
    }

    /// Whether that listener is open.
    pub(crate) fn has(&self, listener: &Listener) -> bool {
        self.listeners.iter().any(|open| open.listener == *listener)
    }
}

fn open(address: &ListenAddress, workers: usize) -> io::Result<Vec<ListeningSocket>> {
    match address {
        ListenAddress::Tcp(address) => listen::tcp(*address, workers),
        ListenAddress::Unix(path) => Ok(vec![listen::unix(path)?]),
        ListenAddress::Descriptor(number) => Ok(vec![listen::inherited(*number)?]),
    }
}
