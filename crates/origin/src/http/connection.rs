//! One connection to an HTTP origin, the bytes that have been read ahead from it, and the way to the address at its other end.

use crate::counters::Counters;
use crate::error::Error;
use crate::group::ChosenOrigin;
use crate::limits::READ_BYTES;
use crate::names::{Names, Targets};
use crate::permits::Permit;
use crate::{Endpoint, Limits};
use bytes::BytesMut;
use kasoku_sys::Stream;
use kasoku_wire::ResponseHead;
use kasoku_wire::http1::parse_response;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;

/// An open connection and its permits.
pub struct OriginConnection {
    /// Its socket.
    pub stream: Rc<Stream>,
    /// Bytes that were read from the socket and not yet parsed.
    pub read_ahead: BytesMut,
    /// Its permit among the connections in use; `None` while it is idle.
    pub permit: Option<Permit>,
    /// Its permit among the idle connections of the whole process to this origin, while it is idle and they are counted.
    pub kept: Option<Permit>,
    /// When it was opened.
    opened: Instant,
    /// The exchanges that it has carried.
    exchanges: usize,
    /// The address at its other end, and the names that led there; `None`: it is a Unix socket, or an address was configured.
    named: Option<(SocketAddr, Arc<Names>)>,
}

impl OriginConnection {
    fn new(stream: Stream) -> Self {
        Self {
            stream: Rc::new(stream),
            read_ahead: BytesMut::new(),
            permit: None,
            kept: None,
            opened: Instant::now(),
            exchanges: 0,
            named: None,
        }
    }

    /// Opens a connection within this time, for a check: to an address that this resolves for itself.
    pub async fn open(endpoint: &Endpoint, timeout: Duration) -> Result<Self, Error> {
        let stream = async {
            let opened = match endpoint {
                Endpoint::Tcp { host, port } => connect(host, *port).await,
                Endpoint::Unix(path) => Stream::connect_unix(path),
            };
            opened.map_err(Error::Unreachable)
        };
        with_deadline(timeout, Error::ConnectTimeout, stream).await.map(Self::new)
    }

    /// Opens a connection for a request that already holds its permit.
    pub async fn open_for(
        choice: &ChosenOrigin,
        endpoint: &Endpoint,
        limits: &Limits,
        permit: Permit,
        counters: &Counters,
    ) -> Result<Self, Error> {
        let route = ConnectionRoute::of(choice, endpoint, limits).await;
        Self::open_along(route, choice, endpoint, permit, counters).await
    }

    /// The same, where the addresses are known already.
    pub async fn open_along(
        route: ConnectionRoute,
        choice: &ChosenOrigin,
        endpoint: &Endpoint,
        permit: Permit,
        counters: &Counters,
    ) -> Result<Self, Error> {
        let opened = match endpoint {
            Endpoint::Unix(path) => Stream::connect_unix(path).map(Self::new).map_err(Error::Unreachable)?,
            Endpoint::Tcp { host, port } => route.connect(&choice.origin.names, host, *port).await?,
        };
        let connection = Self { permit: Some(permit), ..opened };
        choice.origin.health.connected();
        counters.connection();
        Ok(connection)
    }

    /// Whether it is one that a request along this route may use.
    pub(super) fn leads_to(&self, next: Option<SocketAddr>) -> bool {
        match (&self.named, next) {
            (Some((address, _)), Some(next)) => *address == next,
            _ => true,
        }
    }

    /// Counts an exchange that has ended.
    pub(super) fn count_exchange(&mut self) {
        self.exchanges = self.exchanges.saturating_add(1);
    }

    /// Whether its address is still one of its name's, and it may carry one more exchange.
    pub(super) fn is_current(&self, limits: &Reuse) -> bool {
        self.exchanges < limits.requests_max
            && self.opened.elapsed() < limits.lifetime
            && self.named.as_ref().is_none_or(|(address, names)| names.has(*address))
    }

    /// Whether a kept connection can carry another exchange: it is open, and the origin has sent nothing unasked.
    //= RFC 9112 section 9.2
    //# If a client receives data on a connection that doesn't have outstanding requests, the client MUST NOT consider that
    //# data to be a valid response
    pub(crate) fn is_quiet(&mut self) -> bool {
        let nothing = self.stream.try_read(&mut self.read_ahead, 1);
        self.read_ahead.is_empty() && nothing.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Reads one head, interim or final.
    pub(crate) async fn read_head(&mut self, limits: &Limits) -> Result<ResponseHead, Error> {
        loop {
            match parse_response(&self.read_ahead, &limits.head).map_err(Error::MalformedHead)? {
                Some((head, length)) => {
                    let _ = self.read_ahead.split_to(length.min(self.read_ahead.len()));
                    return Ok(head);
                }
                None => {
                    if self.stream.read(&mut self.read_ahead, READ_BYTES).await.map_err(Error::Io)? == 0 {
                        let nothing_came = self.read_ahead.is_empty();
                        return Err(if nothing_came { Error::ClosedBeforeResponse } else { Error::ClosedEarly });
                    }
                }
            }
        }
    }
}

/// How long a connection may be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reuse {
    pub(super) lifetime: Duration,
    pub(super) requests_max: usize,
}

impl Reuse {
    pub(super) fn of(limits: &Limits) -> Self {
        Self { lifetime: limits.keepalive_time, requests_max: limits.keepalive_requests_max }
    }
}

/// Where one request finds its origin: the addresses, and until when a connection to one of them has to be open.
pub struct ConnectionRoute {
    targets: io::Result<Targets>,
    dns_ttl: Duration,
    deadline: Instant,
    timeout: Duration,
}

impl ConnectionRoute {
    /// Takes the addresses of the endpoint's name, the next in turn first, and resolves it if they are too old. An endpoint without a name
    /// needs none.
    pub async fn of(choice: &ChosenOrigin, endpoint: &Endpoint, limits: &Limits) -> Self {
        let timeout = choice.connect_timeout(limits);
        let (deadline, dns_ttl) = (Instant::now() + timeout, limits.dns_ttl);
        let targets = match endpoint {
            Endpoint::Tcp { host, port } if address(host, *port).is_none() => {
                targets(&choice.origin.names, host, *port, dns_ttl, timeout).await
            }
            Endpoint::Tcp { .. } | Endpoint::Unix(_) => Ok(Targets::default()),
        };
        Self { targets, dns_ttl, deadline, timeout }
    }

    /// The address whose turn it is; `None`: any connection to the endpoint will do.
    pub(super) fn next(&self) -> Option<SocketAddr> {
        self.targets.as_ref().ok()?.addresses.first().copied()
    }

    /// Connects to the first of the addresses that accepts a connection. If none does, the name may have moved a moment ago: then it is
    /// resolved anew, and what is new is tried.
    async fn connect(self, names: &Arc<Names>, host: &str, port: u16) -> Result<OriginConnection, Error> {
        // If the request has waited with a kept connection that broke, the time begins anew.
        let deadline = self.deadline.max(Instant::now() + self.timeout / 2);
        if let Some(address) = address(host, port) {
            return connect_to(address, deadline.saturating_duration_since(Instant::now())).await;
        }
        let targets = self.targets.map_err(unresolved)?;
        let kept_back = usize::from(targets.are_remembered);
        let failure = match connect_to_one(&targets.addresses, names, deadline, kept_back).await {
            Err(failure) if targets.are_remembered => failure,
            done => return done,
        };
        names.renew();
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(anew) = self::targets(names, host, port, self.dns_ttl, left).await else { return Err(failure) };
        let others: Vec<_> = anew.addresses.into_iter().filter(|one| !targets.addresses.contains(one)).collect();
        match (others.is_empty(), &failure) {
            (false, _) => connect_to_one(&others, names, deadline, 0).await,
            // It has not moved, and gets the rest of the time.
            (true, Error::ConnectTimeout) => connect_to_one(&targets.addresses, names, deadline, 0).await,
            (true, _) => Err(failure),
        }
    }
}

async fn targets(names: &Arc<Names>, host: &str, port: u16, ttl: Duration, timeout: Duration) -> io::Result<Targets> {
    let late = |_| Err(io::ErrorKind::TimedOut.into());
    tokio::time::timeout(timeout, names.targets(host, port, ttl)).await.unwrap_or_else(late)
}

fn unresolved(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::TimedOut { Error::ConnectTimeout } else { Error::Unreachable(error) }
}

/// Connects to the first of these addresses that accepts a connection. Each gets its share of the time; so many shares are kept back.
async fn connect_to_one(
    addresses: &[SocketAddr],
    names: &Arc<Names>,
    deadline: Instant,
    kept_back: usize,
) -> Result<OriginConnection, Error> {
    let mut failure = Error::Unreachable(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    for (number, address) in addresses.iter().enumerate() {
        let shares = u32::try_from(addresses.len() - number + kept_back).unwrap_or(u32::MAX);
        let share = deadline.saturating_duration_since(Instant::now()) / shares;
        let opened = connect_to(*address, share).await;
        names.tried(*address, opened.is_ok());
        match opened {
            Ok(connection) => return Ok(OriginConnection { named: Some((*address, names.clone())), ..connection }),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn connect_to(address: SocketAddr, timeout: Duration) -> Result<OriginConnection, Error> {
    let stream = async { Stream::connect_tcp(address).await.map_err(Error::Unreachable) };
    with_deadline(timeout, Error::ConnectTimeout, stream).await.map(OriginConnection::new)
}

/// The address of a host that is written as an IP address; `None`: it is a name.
fn address(host: &str, port: u16) -> Option<SocketAddr> {
    host.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, port))
}

/// Connects to the first address of the host that accepts a connection.
async fn connect(host: &str, port: u16) -> io::Result<Stream> {
    let mut failure = None;
    for address in lookup_host((host, port)).await? {
        match Stream::connect_tcp(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")))
}

/// The result of `future`, or the error `late` after `duration`.
pub async fn with_deadline<T>(
    duration: Duration,
    late: Error,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(duration, future).await.unwrap_or(Err(late))
}
