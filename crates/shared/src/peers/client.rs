//! Reads and writes the log of a peer, over HTTP/1.1 on one connection that is kept.
//!
//! Requests wait for each other. If one fails, those that wait fail as well: they would wait for the same peer. The next one connects anew.
//!
//! A request is sent once. Whether a peer has counted a purge is not known if its answer is lost, and asking again would count twice.

use super::Peers;
use super::hosted::VALUE_BYTES_MAX;
use super::listener::EXPIRES;
use super::peer::Peer;
use crate::dialer::{Dialer, Stream};
use crate::endpoint::Endpoint;
use crate::names::Name;
use crate::purge_log::LogServer;
use crate::{Failure, History};
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, IF_NONE_MATCH};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// How long an operation may take, with the connection that it may need.
const OPERATION_TIMEOUT: Duration = Duration::from_millis(500);

/// Bytes of a response's head, and of what is read ahead; and its fields.
const HEAD_BYTES_MAX: usize = 16 << 10;
const FIELDS_MAX: usize = 32;

/// The most of an answer that is shown to an operator.
const SHOWN_BYTES_MAX: usize = 200;

/// The connection to one peer. See the [module](self).
#[derive(Debug)]
pub(super) struct Client {
    peers: Arc<Peers>,
    number: usize,
    line: Mutex<Line>,
    /// How many operations have failed.
    failures: AtomicU64,
}

/// What an operation needs for itself alone.
#[derive(Debug)]
struct Line {
    dialer: Dialer,
    /// Nothing while it is in use: a request that is given up leaves no connection behind.
    connection: Option<Connection>,
    last_failure: Option<Failure>,
}

#[derive(Debug)]
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<()>,
    /// Ends when the peer's name has moved.
    moved: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
        self.moved.abort();
    }
}

/// A response.
struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl Client {
    /// `number` counts the peers from 0.
    pub(super) fn new(peers: Arc<Peers>, number: usize, endpoint: Endpoint) -> Self {
        let line = Line { dialer: Dialer::new(endpoint), connection: None, last_failure: None };
        Self { peers, number, line: Mutex::new(line), failures: AtomicU64::new(0) }
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "`Peers::connections` makes one for each peer, and their number never changes"
    )]
    pub(super) fn peer(&self) -> &Peer {
        &self.peers.peers[self.number]
    }

    async fn ask(&self, method: Method, target: String, value: Bytes, is_add: bool) -> Result<Answer, Failure> {
        let failures = self.failures.load(Ordering::Relaxed);
        let mut line = self.line.lock().await;
        let Line { dialer, connection, last_failure } = &mut *line;
        if self.failures.load(Ordering::Relaxed) != failures
            && let Some(failure) = last_failure
        {
            return Err(failure.clone());
        }
        let request = self.request(method, &target, value, is_add)?;
        let (counters, begun) = (&self.peer().counters, Instant::now());
        let deadline = begun + OPERATION_TIMEOUT;
        let asked = timeout_at(deadline, exchange((dialer, deadline), connection.take(), request)).await;
        let answered = asked.unwrap_or(Err(Failure::Timeout)).and_then(|(kept, answer)| {
            *connection = Some(kept);
            answer.if_understood()
        });
        match &answered {
            Ok(_) => {
                counters.latency.record(begun.elapsed());
                self.peer().health.succeeded();
            }
            Err(failure) => {
                let count = if matches!(failure, Failure::Timeout) { &counters.timeouts } else { &counters.errors };
                count.add(1);
                *last_failure = Some(failure.clone());
                self.failures.fetch_add(1, Ordering::Relaxed);
                self.peer().health.failed(self.peers.now_ms());
            }
        }
        answered
    }

    fn request(
        &self,
        method: Method,
        target: &str,
        value: Bytes,
        is_add: bool,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, self.peer().endpoint.to_string())
            .header(AUTHORIZATION, self.peers.password.authorization());
        if is_add {
            request = request.header(IF_NONE_MATCH, "*");
        }
        request.body(Full::new(value)).map_err(|error| Failure::Refused(error.to_string()))
    }
}

impl Answer {
    /// An answer that the log's own requests may have. Any other is not from a peer with the same token.
    fn if_understood(self) -> Result<Self, Failure> {
        match self.status {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND | StatusCode::PRECONDITION_FAILED => {
                Ok(self)
            }
            status => {
                let shown = self.body.get(..SHOWN_BYTES_MAX).unwrap_or(&self.body);
                let said = String::from_utf8_lossy(shown).trim().escape_debug().to_string();
                Err(Failure::Refused(format!("{status}: {said}")))
            }
        }
    }
}

async fn exchange(
    (dialer, deadline): (&mut Dialer, Instant),
    kept: Option<Connection>,
    request: Request<Full<Bytes>>,
) -> Result<(Connection, Answer), Failure> {
    // A peer that began anew has closed it.
    let kept = match kept {
        Some(mut kept) if !kept.moved.is_finished() => kept.sender.ready().await.is_ok().then_some(kept),
        Some(_) | None => None,
    };
    let mut connection = match kept {
        Some(kept) => kept,
        None => {
            let stream = dialer.dial(deadline).await?;
            let moved = dialer.moved(&stream);
            connect(stream, moved).await?
        }
    };
    let response = connection.sender.send_request(request).await.map_err(|error| broken(&error))?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, VALUE_BYTES_MAX).collect().await;
    let body = body.map_err(|_| Failure::Refused("its answer is too long, or was cut".to_owned()))?.to_bytes();
    Ok((connection, Answer { status: head.status, body }))
}

async fn connect(stream: Stream, moved: impl Future<Output = ()> + Send + 'static) -> Result<Connection, Failure> {
    match stream {
        Stream::Tcp(stream) => converse(stream, moved).await,
        Stream::Unix(stream) => converse(stream, moved).await,
        Stream::Tls(stream) => converse(stream, moved).await,
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    moved: impl Future<Output = ()> + Send + 'static,
) -> Result<Connection, Failure> {
    let mut http = http1::Builder::new();
    http.max_buf_size(HEAD_BYTES_MAX).max_headers(FIELDS_MAX);
    let (sender, connection) = http.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
    // How it ends is told to the request that waits on it.
    let task = tokio::spawn(async { drop(connection.await) });
    let mut connection = Connection { sender, task, moved: tokio::spawn(moved) };
    connection.sender.ready().await.map_err(|error| broken(&error))?;
    Ok(connection)
}

fn broken(error: &hyper::Error) -> Failure {
    if error.is_parse() || error.is_user() {
        return Failure::Refused(format!("it does not speak HTTP: {error}"));
    }
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source
        .map_or(Failure::Closed, |source| Failure::Broken(Arc::new(io::Error::new(source.kind(), source.to_string()))))
}

impl LogServer for Client {
    async fn history(&self, _log: &Name) -> Result<Option<History>, Failure> {
        // It is in the memory of a process, and ends with it.
        Ok(None)
    }

    async fn get(&self, name: &Name, _touched: Option<u32>) -> Result<Option<Bytes>, Failure> {
        let answer = self.ask(Method::GET, target(name, None), Bytes::new(), false).await?;
        Ok((answer.status == StatusCode::OK).then_some(answer.body))
    }

    async fn add(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<bool, Failure> {
        let answer = self.ask(Method::PUT, target(name, seconds), value, true).await?;
        Ok(answer.status == StatusCode::NO_CONTENT)
    }

    async fn set(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<(), Failure> {
        let answer = self.ask(Method::PUT, target(name, seconds), value, false).await?;
        if answer.status == StatusCode::NO_CONTENT { Ok(()) } else { Err(Failure::Refused(answer.status.to_string())) }
    }

    async fn increment(&self, name: &Name) -> Result<Option<u64>, Failure> {
        let answer = self.ask(Method::POST, target(name, None), Bytes::new(), false).await?;
        if answer.status != StatusCode::OK {
            return Ok(None);
        }
        let sum = std::str::from_utf8(&answer.body).ok().and_then(|digits| digits.parse().ok());
        sum.map(Some).ok_or(Failure::NotANumber)
    }
}

fn target(name: &Name, expires: Option<u32>) -> String {
    match expires {
        Some(seconds) => format!("/{name}?{EXPIRES}={seconds}"),
        None => format!("/{name}"),
    }
}
