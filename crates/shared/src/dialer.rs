//! Connects to a server, by TLS where that is wanted, and notices when its name has moved: a connection that is kept and busy would lead
//! to the old address for ever.

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::tls::TlsToHost;
use std::fmt;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::client::TlsStream;

/// Addresses of one name that are tried, at most.
const ADDRESSES_MAX: usize = 8;

/// How often the name of a connected server is resolved anew. getaddrinfo(3) does not tell for how long an answer holds.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);

/// Finds the addresses of a host. It may block.
type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

#[derive(Clone)]
struct Resolver(Arc<Lookup>);

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

impl Resolver {
    fn of_system() -> Self {
        Self(Arc::new(|host, port| Ok((host, port).to_socket_addrs()?.collect())))
    }

    async fn addresses(self, host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
        spawn_blocking(move || (self.0)(&host, port)).await.map_err(io::Error::other)?
    }
}

/// An open connection.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// The address at the other end.
    fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            Self::Tls(stream) => stream.get_ref().0.peer_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}

/// Connects to one server again and again.
#[derive(Debug)]
pub(crate) struct Dialer {
    endpoint: Endpoint,
    tls: Option<TlsToHost>,
    resolver: Resolver,
    /// A look-up of the host's name that took longer than its request could wait. A thread of the system's resolver does it, which
    /// nothing can end, so the next request waits for the same one.
    lookup: Option<JoinHandle<io::Result<Vec<SocketAddr>>>>,
}

impl Dialer {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, tls: None, resolver: Resolver::of_system(), lookup: None }
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

    /// Completes when the server's name no longer has the address of this connection: then a new one is due. Never, where an address or
    /// a socket is configured, and while the name can't be resolved.
    pub(crate) fn moved(&self, stream: &Stream) -> impl Future<Output = ()> + Send + use<> {
        let named = match &self.endpoint {
            Endpoint::Tcp { host, port } if host.parse::<IpAddr>().is_err() => Some((host.clone(), *port)),
            Endpoint::Tcp { .. } | Endpoint::Unix(_) => None,
        };
        let (watched, resolver) = (named.zip(stream.address()), self.resolver.clone());
        async move {
            let Some(((host, port), address)) = watched else { return pending().await };
            loop {
                sleep(RESOLVE_INTERVAL).await;
                let found = resolver.clone().addresses(host.clone(), port).await.unwrap_or_default();
                if !found.is_empty() && !found.contains(&address) {
                    tracing::info!(server = host, %address, "the server's name has moved: a new connection is made");
                    return;
                }
            }
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
                let addresses = look_up(&mut self.lookup, &self.resolver, host, port).await?;
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
    resolver: &Resolver,
    host: String,
    port: u16,
) -> io::Result<Vec<SocketAddr>> {
    let lookup = running.get_or_insert_with(|| {
        let found = resolver.clone().addresses(host, port);
        tokio::spawn(async move { Ok(found.await?.into_iter().take(ADDRESSES_MAX).collect()) })
    });
    let found = lookup.await;
    *running = None;
    found.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::net::TcpListener;

    /// A dialer of a name, and what the name's addresses are.
    fn named(port: u16) -> (Dialer, Arc<Mutex<Vec<SocketAddr>>>) {
        let addresses: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
        let told = addresses.clone();
        let resolver = Resolver(Arc::new(move |_, _| Ok(told.lock().unwrap().clone())));
        let endpoint = Endpoint::Tcp { host: "cache.example".to_owned(), port };
        (Dialer { resolver, ..Dialer::new(endpoint) }, addresses)
    }

    async fn dial(dialer: &mut Dialer) -> Stream {
        dialer.dial(Instant::now() + Duration::from_secs(10)).await.unwrap()
    }

    #[tokio::test]
    async fn a_connection_whose_name_moves_is_to_be_made_anew() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let old = listener.local_addr().unwrap();
        let new = SocketAddr::from(([127, 0, 0, 2], old.port()));
        let (mut dialer, addresses) = named(old.port());
        *addresses.lock().unwrap() = vec![old];
        let stream = dial(&mut dialer).await;
        tokio::time::pause();
        let mut moved = std::pin::pin!(dialer.moved(&stream));
        let hour = Duration::from_secs(3600);
        assert!(tokio::time::timeout(hour, &mut moved).await.is_err(), "it stays");
        *addresses.lock().unwrap() = Vec::new();
        assert!(tokio::time::timeout(hour, &mut moved).await.is_err(), "a name that is not found says nothing");
        *addresses.lock().unwrap() = vec![new, old];
        assert!(tokio::time::timeout(hour, &mut moved).await.is_err(), "it has one more address");
        *addresses.lock().unwrap() = vec![new];
        moved.await;
    }

    #[tokio::test]
    async fn an_address_that_is_configured_does_not_move() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut dialer = Dialer::new(Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: address.port() });
        let stream = dial(&mut dialer).await;
        tokio::time::pause();
        assert!(tokio::time::timeout(Duration::from_secs(3600), dialer.moved(&stream)).await.is_err());
    }
}
