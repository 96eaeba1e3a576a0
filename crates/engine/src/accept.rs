//! Takes connections, as many as the worker may have.

use crate::connection::Connection;
use crate::serve::serve;
use crate::worker::Worker;
use kasoku_metrics::Counter;
use kasoku_sys::Stream;
use kasoku_sys::listen::ListeningSocket;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};

/// How long accepting pauses when the process or the machine has no descriptors left.
const PAUSE_ON_ERROR: Duration = Duration::from_millis(100);

/// A listening socket in this worker's event loop.
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    pub(crate) fn new(socket: ListeningSocket) -> io::Result<Self> {
        match socket {
            ListeningSocket::Tcp(socket) => TcpListener::from_std(socket).map(Self::Tcp),
            ListeningSocket::Unix(socket) => UnixListener::from_std(socket).map(Self::Unix),
        }
    }

    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => Stream::tcp(listener.accept().await?.0),
            Self::Unix(listener) => Ok(Stream::unix(listener.accept().await?.0)),
        }
    }
}

/// Accepts until the worker stops.
pub(crate) async fn run(worker: Rc<Worker>, acceptor: Acceptor, proxy_protocol: bool) {
    loop {
        worker.has_room().await;
        match acceptor.accept().await {
            Ok(stream) => {
                worker.cells.count(Counter::Connections);
                tokio::task::spawn_local(connected(worker.clone(), stream, proxy_protocol));
            }
            // A connection that was reset before we took it is its client's affair.
            Err(error) if is_about_one_connection(&error) => {}
            // A lack of descriptors or memory passes.
            Err(error) => {
                tracing::warn!(%error, "accept");
                tokio::time::sleep(PAUSE_ON_ERROR).await;
            }
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, Interrupted, InvalidInput, NotConnected, PermissionDenied,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | InvalidInput | NotConnected | PermissionDenied
    )
}

async fn connected(worker: Rc<Worker>, stream: Stream, proxy_protocol: bool) {
    let _place = worker.enter();
    let limits = worker.limits.clone();
    match Connection::open(stream, proxy_protocol, limits, &worker.options.trusted_proxies).await {
        Ok(connection) => serve(worker, Rc::new(connection)).await,
        Err(error) => tracing::debug!(%error, "no PROXY protocol header"),
    }
}
