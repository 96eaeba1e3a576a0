//! Accepts the admin listener's connections. Every bound of this crate is here, in [`AdminLimits`].
//!
//! A connection carries one request and has one deadline, which cuts off clients that send their head slowly, stay idle or do not
//! read their answer. When all places are taken, a new connection gets the place of the oldest connection that has not sent a whole
//! request yet, so that idle connections can't block `/healthz`. If all connections are being answered, the new one waits until one
//! of them ends, which takes no longer than that deadline.

use crate::{AdminHandle, answer};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kasoku_sys::listen::ListeningSocket;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How long accepting pauses when the process or the machine has no descriptors left.
const PAUSE_ON_ERROR: Duration = Duration::from_millis(100);

/// The bounds of the admin listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdminLimits {
    /// Bytes of a request head, and of what is read ahead. hyper takes no less than 8 KiB.
    pub(crate) head_bytes_max: usize,
    /// Header fields of a request.
    pub(crate) fields_max: usize,
    /// Connections that are open at once.
    pub(crate) connections_max: usize,
    /// From accept to the end of the answer.
    pub(crate) connection_timeout: Duration,
}

impl Default for AdminLimits {
    fn default() -> Self {
        Self {
            head_bytes_max: 8 << 10,
            fields_max: 64,
            connections_max: 64,
            connection_timeout: Duration::from_secs(10),
        }
    }
}

/// A listening socket in the event loop of the admin thread.
pub(crate) enum AdminListener {
    Tcp(TcpListener),
    Unix(UnixListener),
    /// Only this user and root are answered.
    UnixOf(UnixListener, u32),
}

impl AdminListener {
    /// Must be called in the context of the runtime.
    pub(crate) fn new(socket: ListeningSocket, is_for_own_user: bool) -> io::Result<Self> {
        match socket {
            ListeningSocket::Tcp(socket) => TcpListener::from_std(socket).map(Self::Tcp),
            ListeningSocket::Unix(socket) if is_for_own_user => {
                let own = kasoku_sys::process::own_user();
                UnixListener::from_std(socket).map(|listener| Self::UnixOf(listener, own))
            }
            ListeningSocket::Unix(socket) => UnixListener::from_std(socket).map(Self::Unix),
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn AdminStream>> {
        Ok(match self {
            Self::Tcp(listener) => Box::new(listener.accept().await?.0),
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
            Self::UnixOf(listener, own) => loop {
                let stream = listener.accept().await?.0;
                match stream.peer_cred() {
                    Ok(peer) if may_control(peer.uid(), *own) => break Box::new(stream),
                    // The mode of the socket's file keeps other users out already, unless it was changed or a descriptor was passed
                    // on.
                    Ok(peer) => {
                        tracing::warn!(user = peer.uid(), "a user who may not use the control socket was turned away")
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the peer of a connection to the control socket can't be identified")
                    }
                }
            },
        })
    }
}

/// Whether this user (SO_PEERCRED) may use the control socket of a process of user `own`.
fn may_control(user: u32, own: u32) -> bool {
    const ROOT: u32 = 0;
    user == ROOT || user == own
}

/// A connected socket of either kind.
trait AdminStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> AdminStream for S {}

/// The connections that have not sent a whole request yet, in the order in which they came. There are no more than places.
#[derive(Default)]
struct PendingConnections {
    next: u64,
    cut: BTreeMap<u64, oneshot::Sender<()>>,
}

/// A connection's entry in this list. Dropping it removes the entry.
struct PendingConnection {
    all: Arc<Mutex<PendingConnections>>,
    number: u64,
}

fn lock(all: &Mutex<PendingConnections>) -> MutexGuard<'_, PendingConnections> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PendingConnection {
    /// Makes an entry. The receiver gets a message when another connection needs the place.
    fn new(all: &Arc<Mutex<PendingConnections>>) -> (Self, oneshot::Receiver<()>) {
        let (cut, is_cut) = oneshot::channel();
        let number = {
            let mut silent = lock(all);
            let number = silent.next;
            silent.next += 1;
            silent.cut.insert(number, cut);
            number
        };
        (Self { all: all.clone(), number }, is_cut)
    }

    /// Removes the entry: the connection has sent a request, and is no longer cut.
    fn request_received(&self) {
        lock(&self.all).cut.remove(&self.number);
    }
}

impl Drop for PendingConnection {
    fn drop(&mut self) {
        self.request_received();
    }
}

/// Accepts connections for ever.
pub(crate) async fn run(acceptor: AdminListener, limits: AdminLimits, handle: AdminHandle) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let silent = Arc::new(Mutex::new(PendingConnections::default()));
    loop {
        match acceptor.accept().await {
            Ok(stream) => {
                // The semaphore is never closed.
                let Ok(place) = place(&places, &silent).await else { return };
                let (handle, (own, is_cut)) = (handle.clone(), PendingConnection::new(&silent));
                tokio::spawn(async move {
                    tokio::select! {
                        () = serve(stream, limits, &handle, &own) => {}
                        () = cut(is_cut) => tracing::debug!("admin connection: cut, since it was silent and others came"),
                    }
                    drop((own, place));
                });
            }
            Err(error) => {
                tracing::warn!(%error, "accept on the admin listener");
                tokio::time::sleep(PAUSE_ON_ERROR).await;
            }
        }
    }
}

/// A free place, or the place of the connection that has been pending for the longest time.
async fn place(
    places: &Arc<Semaphore>,
    silent: &Mutex<PendingConnections>,
) -> Result<OwnedSemaphorePermit, tokio::sync::AcquireError> {
    if let Ok(place) = places.clone().try_acquire_owned() {
        return Ok(place);
    }
    // The latest connections have had no time to send their requests yet.
    tokio::task::yield_now().await;
    if let Some((_, cut)) = lock(silent).cut.pop_first() {
        // If this connection has just ended, its place is free as well.
        let _ = cut.send(());
    }
    places.clone().acquire_owned().await
}

/// Completes when the connection is to be cut; never, if it has sent its request.
async fn cut(is_cut: oneshot::Receiver<()>) {
    if is_cut.await.is_err() {
        pending::<()>().await;
    }
}

async fn serve(stream: Box<dyn AdminStream>, limits: AdminLimits, handle: &AdminHandle, own: &PendingConnection) {
    let service = service_fn(|request| {
        own.request_received();
        let answer = answer::answer(&request, handle);
        async move { Ok::<_, Infallible>(answer.wait(handle).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(limits.head_bytes_max)
        .max_headers(limits.fields_max)
        // Without a timer hyper has no deadline of its own; `connection_timeout` covers the head and everything after it.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(limits.connection_timeout, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "admin connection"),
        Err(_) => tracing::debug!("admin connection: too slow"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_program_s_own_user_may_use_the_control_socket() {
        assert!(may_control(0, 33) && may_control(33, 33));
        assert!(!may_control(34, 33) && !may_control(65_534, 0));
    }
}
