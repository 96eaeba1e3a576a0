//! Connects to a server, by TLS where that is wanted.

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::tls::TlsToHost;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::client::TlsStream;

/// Addresses of one name that are tried, at most.
const ADDRESSES_MAX: usize = 8;

/// An open connection.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Connects to one server again and again.
#[derive(Debug)]
pub(crate) struct Dialer {
    endpoint: Endpoint,
    tls: Option<TlsToHost>,
    /// A look-up of the host's name that took longer than its request could wait. A thread of the system's resolver does it, which
    /// nothing can end, so the next request waits for the same one.
    lookup: Option<JoinHandle<io::Result<Vec<SocketAddr>>>>,
}

impl Dialer {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, tls: None, lookup: None }
    }

    /// Connects by TLS, if that is given. Not on a Unix socket, which is on this machine.
    pub(crate) fn with_tls(self, tls: Option<TlsToHost>) -> Self {
        Self { tls, ..self }
    }

    /// A new connection, before this time.
    pub(crate) async fn dial(&mut self, deadline: Instant) -> Result<Stream, Failure> {
        match timeout_at(deadline, self.connect()).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(Failure::Connect(Arc::new(error))),
            Err(_) => Err(Failure::Timeout),
        }
    }

    async fn connect(&mut self) -> io::Result<Stream> {
        let (host, port) = match &self.endpoint {
            Endpoint::Unix(path) => return UnixStream::connect(path).await.map(Stream::Unix),
            Endpoint::Tcp { host, port } => (host, *port),
        };
        let stream = match host.parse::<IpAddr>() {
            Ok(address) => TcpStream::connect((address, port)).await?,
            Err(_) => {
                let host = host.clone();
                let addresses = look_up(&mut self.lookup, host, port).await?;
                TcpStream::connect(&addresses[..]).await?
            }
        };
        stream.set_nodelay(true)?;
        match &self.tls {
            Some(tls) => Ok(Stream::Tls(Box::new(tls.connect(stream).await?))),
            None => Ok(Stream::Tcp(stream)),
        }
    }
}

/// The addresses of a host.
async fn look_up(
    running: &mut Option<JoinHandle<io::Result<Vec<SocketAddr>>>>,
    host: String,
    port: u16,
) -> io::Result<Vec<SocketAddr>> {
    let lookup = running.get_or_insert_with(|| {
        tokio::spawn(async move { Ok(lookup_host((host, port)).await?.take(ADDRESSES_MAX).collect()) })
    });
    let found = lookup.await;
    *running = None;
    found.map_err(io::Error::other)?
}
