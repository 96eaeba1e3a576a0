//! Lets the peers read and write the log that this front end hosts, over HTTP/1.1.
//!
//! | request | answer |
//! |---|---|
//! | `GET /NAME` | 200 with the value, 404 |
//! | `PUT /NAME?expires=SECONDS` | 204; with `If-None-Match: *` 412 if there is such an item |
//! | `POST /NAME` adds 1 | 200 with the sum, 404 |
//!
//! Without the password: 401 or 403, and the end of the connection. What can't be done: 400, 404, 405, 413.
//!
//! Whoever can reach the port can connect. So a connection that has not shown the password may be cut at any time in favour of another one, and
//! each connection is cut that has no request of a peer for [`IDLE_MAX`]: peers ask several times a second.

use super::Peers;
use super::hosted::{Refusal, Store, VALUE_BYTES_MAX};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, HeaderValue, IF_NONE_MATCH, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// The name of the parameter.
pub(super) const EXPIRES: &str = "expires";

/// Bytes of a request's head, and of what is read ahead; and its fields. hyper takes no less than 8 KiB.
const HEAD_BYTES_MAX: usize = 8 << 10;
const FIELDS_MAX: usize = 32;

/// The most connections that have not shown the password, and of those that have.
const STRANGERS_MAX: usize = 64;
const CONNECTIONS_MAX: usize = 512;

/// For how long a connection may be without a request of a peer.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// How long accepting pauses when the process or the machine has no descriptors left.
const PAUSE_ON_ERROR: Duration = Duration::from_millis(100);

/// Accepts connections for ever. Dropping the future ends accepting, and all connections.
pub async fn listen(peers: Arc<Peers>, listener: TcpListener) {
    let guests = Arc::new(Guests::default());
    let mut serving = tokio::task::JoinSet::new();
    loop {
        let accepted = tokio::select! {
            // First those that have ended: they must not take the place of new ones.
            biased;
            Some(_) = serving.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                if guests.are_many() {
                    // The latest connections have had no time to send their requests yet.
                    tokio::task::yield_now().await;
                }
                let (peers, (guest, is_cut)) = (peers.clone(), Guests::admit(&guests));
                if serving.len() < CONNECTIONS_MAX {
                    serving.spawn(serve(stream, peers, guest, is_cut));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "accept on the listener for peers");
                tokio::time::sleep(PAUSE_ON_ERROR).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, peers: Arc<Peers>, guest: Guest, is_cut: oneshot::Receiver<()>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (peers, guest) = (&peers, &guest);
        async move { Ok::<_, Infallible>(answer(request, peers, guest).await) }
    });
    let mut http = http1::Builder::new();
    // The time without a request covers slow heads, slow bodies, and clients that do not read their answers.
    http.max_buf_size(HEAD_BYTES_MAX).max_headers(FIELDS_MAX).header_read_timeout(None);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            tracing::debug!(%error, "connection of a peer");
        },
        () = cut(is_cut) => tracing::debug!("connection of a peer: cut, since it was silent and others came"),
        () = guest.idle() => tracing::debug!("connection of a peer: cut, since it was silent for too long"),
    }
}

/// Completes when the connection is to be cut; never, if it has shown the password.
async fn cut(is_cut: oneshot::Receiver<()>) {
    if is_cut.await.is_err() {
        pending::<()>().await;
    }
}

/// The connections that have not shown the password yet, in the order in which they came.
#[derive(Debug, Default)]
struct Guests {
    strangers: Mutex<BTreeMap<u64, oneshot::Sender<()>>>,
    next: AtomicU64,
}

/// A connection's place among them. Dropping it frees the place.
#[derive(Debug)]
struct Guest {
    all: Arc<Guests>,
    number: u64,
    /// How many requests have shown the password.
    requests: AtomicU64,
}

impl Guests {
    /// Takes a connection. The oldest one that has not shown the password is cut where there are too many. The receiver is told when this one
    /// is to be cut.
    fn admit(all: &Arc<Self>) -> (Guest, oneshot::Receiver<()>) {
        let (cut, is_cut) = oneshot::channel();
        let number = all.next.fetch_add(1, Ordering::Relaxed);
        let mut strangers = all.strangers();
        if strangers.len() >= STRANGERS_MAX
            && let Some((_, oldest)) = strangers.pop_first()
        {
            // It may just have ended.
            let _ = oldest.send(());
        }
        strangers.insert(number, cut);
        (Guest { all: all.clone(), number, requests: AtomicU64::new(0) }, is_cut)
    }

    /// Whether the next connection takes the place of another one.
    fn are_many(&self) -> bool {
        self.strangers().len() >= STRANGERS_MAX
    }

    fn strangers(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<()>>> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// A request has shown the password.
    fn is_known(&self) {
        if self.requests.fetch_add(1, Ordering::Relaxed) == 0 {
            self.all.strangers().remove(&self.number);
        }
    }

    /// Completes when there was no such request for [`IDLE_MAX`].
    async fn idle(&self) {
        let mut requests = 0;
        loop {
            tokio::time::sleep(IDLE_MAX).await;
            let now = self.requests.load(Ordering::Relaxed);
            if now == requests {
                return;
            }
            requests = now;
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.all.strangers().remove(&self.number);
    }
}

async fn answer(request: Request<Incoming>, peers: &Peers, guest: &Guest) -> Response<Full<Bytes>> {
    if let Some(refused) = refusal(&request, peers) {
        peers.refused.add(1);
        return refused;
    }
    guest.is_known();
    carry_out(request, peers).await.unwrap_or_else(|refusal| {
        let status = match refusal {
            Refusal::Name => StatusCode::BAD_REQUEST,
            Refusal::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Value => StatusCode::UNPROCESSABLE_ENTITY,
        };
        last(text(status, refusal.to_string()))
    })
}

/// The answer to whoever does not show the password. It is the last one on its connection, so that nobody can try many.
fn refusal(request: &Request<Incoming>, peers: &Peers) -> Option<Response<Full<Bytes>>> {
    let Some(shown) = request.headers().get(AUTHORIZATION) else {
        let mut answer = text(StatusCode::UNAUTHORIZED, "this listener is for peers: they show their token".to_owned());
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return Some(last(answer));
    };
    let is_right = peers.password.is_shown_by(shown);
    (!is_right).then(|| last(text(StatusCode::FORBIDDEN, "the token is another one here".to_owned())))
}

async fn carry_out(request: Request<Incoming>, peers: &Peers) -> Result<Response<Full<Bytes>>, Refusal> {
    let (head, body) = request.into_parts();
    let log = peers.hosted();
    let name = head.uri.path().trim_start_matches('/');
    Ok(match head.method {
        Method::GET => found(log.get(name)?),
        Method::POST => found(log.increment(name)?.map(|sum| sum.to_string().into())),
        Method::PUT => {
            let body = Limited::new(body, VALUE_BYTES_MAX).collect().await;
            let value = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => Refusal::TooLong,
                None => Refusal::Value,
            })?;
            let how = if head.headers.contains_key(IF_NONE_MATCH) { Store::Add } else { Store::Set };
            // Its buffer may be far larger than it is.
            let value = Bytes::copy_from_slice(&value.to_bytes());
            let is_stored = log.store(name, value, parameter(head.uri.query(), EXPIRES), how)?;
            empty(if is_stored { StatusCode::NO_CONTENT } else { StatusCode::PRECONDITION_FAILED })
        }
        _ => last(text(StatusCode::METHOD_NOT_ALLOWED, "there are GET, PUT and POST".to_owned())),
    })
}

/// The value of a parameter, if it is a number.
fn parameter(query: Option<&str>, name: &str) -> Option<u32> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name)?.1.parse().ok()
}

fn found(value: Option<Bytes>) -> Response<Full<Bytes>> {
    value.map_or_else(|| empty(StatusCode::NOT_FOUND), |value| Response::new(Full::new(value)))
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(format!("{text}\n").into()));
    *answer.status_mut() = status;
    answer
}

/// The connection ends with this answer. What is left of the request's body is not read.
fn last(mut answer: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}
