//! The operator's side of the program, over HTTP: health, metrics, purges, explanations and reloads.
//!
//! | path | answer |
//! |---|---|
//! | `/healthz` | `200 ok` for as long as the program runs |
//! | `/metrics` | every counter and gauge in Prometheus' text format, with labels for origin, site, result, class and reason |
//! | `/stats` | the same numbers as JSON, with version, uptime, workers and hit ratio |
//! | `/top` | rates of the last seconds, memory, origins, and the URLs that are no hits or take longest |
//! | `/purge` | `POST`: drops a URL, a prefix, a site, a tag, or everything; or makes it stale |
//! | `/explain` | `POST`: what would happen to a request, and why |
//! | `/doctor` | `POST`: what keeps requests from being served from memory |
//! | `/reload` | `POST`: has the program read its configuration again |
//!
//! [`Admin::serve`] runs a thread of its own, so that an operator gets answers even when every worker is busy, and no worker waits
//! for an operator. The thread answers on several [`AdminSocket`]s: the address of the configuration's `admin`, and the control
//! socket, through which the commands ask without a token. An [`AdminHandle`] holds all that the thread may ask the engine for.
//! [`AdminToken`] and the permissions of the socket decide who may ask.
//!
//! | file | job |
//! |---|---|
//! | `listener` | accepts connections; has every bound of this crate |
//! | `guard` | access control: keeps out web pages in the operator's browser |
//! | [`token`] | the token that most requests need on a loopback address |
//! | `answer` | request to response: method, path |
//! | `history` | samples of the last minute, from which rates are made |
//! | `top` | what happens at present, as JSON |
//! | `purge` | parses a purge's query, and carries it out |
//! | [`reload`] | asks the program to read its configuration again |
//! | `explain` | parses an explanation's query, and writes the explanation as JSON |
//! | `doctor` | the same of a diagnosis |
//! | `snapshot` | the numbers at one moment, and the tables of gauges and of an origin's numbers |
//! | `process` | what the process uses of the machine |
//! | `prometheus`, `json` | a snapshot as text |
//!
//! It deliberately speaks no TLS, so it may listen only on loopback and on Unix sockets (the configuration refuses other addresses).
//! It reads no request body.

mod answer;
mod doctor;
mod explain;
mod guard;
mod history;
mod json;
mod listener;
mod peers;
mod process;
mod prometheus;
mod purge;
pub mod reload;
mod shared_servers;
mod snapshot;
#[cfg(test)]
mod tests;
pub mod token;
mod top;

use history::History;
use kasoku_options::ListenAddress;
use kasoku_sys::listen::{self, ListeningSocket};
use listener::{AdminLimits, AdminListener};
use reload::Reloads;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
pub use token::AdminToken;
use tokio::sync::{Semaphore, watch};

/// What the admin listener may ask the engine for. Cheap to clone.
#[derive(Clone)]
pub struct AdminHandle {
    engine: kasoku_engine::EngineHandle,
    token: Option<AdminToken>,
    reloads: Option<Reloads>,
    /// Whether the permissions of the socket decide who may ask, so that no token is needed.
    is_guarded_by_permissions: bool,
    started: Instant,
    history: Arc<History>,
    /// Permits for explanations, which may wait for an origin.
    questions: Arc<Semaphore>,
    /// The permit for the one diagnosis at a time.
    diagnoses: Arc<Semaphore>,
}

impl AdminHandle {
    /// A handle to an engine that has just started: uptime counts from here. Without a token, TCP clients are refused what needs one.
    pub fn new(engine: kasoku_engine::EngineHandle, token: Option<AdminToken>) -> Self {
        let started = Instant::now();
        let history = Arc::new(History::new(started));
        let questions = Arc::new(Semaphore::new(explain::QUESTIONS_MAX));
        let diagnoses = Arc::new(Semaphore::new(1));
        let reloads = None;
        Self { engine, token, reloads, is_guarded_by_permissions: false, started, history, questions, diagnoses }
    }
}

impl AdminHandle {
    /// Lets the handle ask for reloads as well.
    pub fn with_reloads(self, reloads: Reloads) -> Self {
        Self { reloads: Some(reloads), ..self }
    }
}

/// A socket on which the operator is answered, and who may ask on it.
#[derive(Debug)]
pub struct AdminSocket {
    socket: ListeningSocket,
    /// The name of the socket in error messages.
    name: String,
    /// Whether only root and this process's own user are answered, even if other users can connect.
    is_for_own_user: bool,
}

impl AdminSocket {
    /// The configuration's `admin`. On a Unix socket, every user who can connect may ask; a loopback address needs the token.
    pub fn admin(socket: ListeningSocket, address: &ListenAddress) -> Self {
        Self { socket, name: address.to_string(), is_for_own_user: false }
    }

    /// A control socket: root and this process's own user may ask, without a token.
    pub fn control(socket: ListeningSocket, path: &Path) -> Self {
        Self { socket, name: path.display().to_string(), is_for_own_user: true }
    }
}

/// A running listener. Dropping it ends its connections at once and waits for its thread.
#[derive(Debug)]
pub struct Admin {
    address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    /// Listens on `address` and answers from `handle`.
    ///
    /// # Errors
    /// The address can't be listened on (above all: another program does already), is a descriptor, or the thread can't be started.
    pub fn start(address: &ListenAddress, handle: AdminHandle) -> Result<Self, AdminStartError> {
        Self::serve(vec![AdminSocket::admin(open(address)?, address)], handle)
    }

    /// Answers on sockets that are open already.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn serve(doors: Vec<AdminSocket>, handle: AdminHandle) -> Result<Self, AdminStartError> {
        Self::serve_within(AdminLimits::default(), doors, handle)
    }

    fn serve_within(
        limits: AdminLimits,
        doors: Vec<AdminSocket>,
        handle: AdminHandle,
    ) -> Result<Self, AdminStartError> {
        let names = doors.iter().map(|door| door.name.as_str()).collect::<Vec<_>>().join(", ");
        let failed = |error| AdminStartError { address: names.clone(), error };
        let local_address = doors.iter().find_map(|door| door.socket.local_address());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let mut answering = Vec::new();
        for door in doors {
            let mut handle = handle.clone();
            handle.is_guarded_by_permissions = matches!(door.socket, ListeningSocket::Unix(_));
            let _registers_with = runtime.enter();
            let acceptor = AdminListener::new(door.socket, door.is_for_own_user).map_err(failed)?;
            answering.push(listener::run(acceptor, limits, handle));
        }
        let (stop, mut stopping) = watch::channel(false);
        let run = move || {
            runtime.block_on(async {
                tokio::spawn(history::keep(handle));
                for answers in answering {
                    tokio::spawn(answers);
                }
                // An error means that the sender is gone, so that no stop can come any more: then the thread ends as well, and the
                // tasks with it.
                let _ = stopping.wait_for(|stop| *stop).await;
            });
        };
        let thread = std::thread::Builder::new().name("admin".to_owned()).spawn(run).map_err(failed)?;
        Ok(Self { address: local_address, stop, thread: Some(thread) })
    }

    /// The TCP address that is served; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        // The receiver is gone only when the thread has ended already.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Opens the socket of the admin listener. A Unix socket is for its owner and its group.
///
/// # Errors
/// As [`Admin::start`].
pub fn open(address: &ListenAddress) -> Result<ListeningSocket, AdminStartError> {
    let socket = match address {
        ListenAddress::Tcp(address) => listen::tcp(*address, 1)
            .and_then(|sockets| sockets.into_iter().next().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())),
        ListenAddress::Unix(path) => listen::unix_for_group(path),
        ListenAddress::Descriptor(_) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "who can reach a socket that was handed over is unknown"))
        }
    };
    socket.map_err(|error| AdminStartError { address: address.to_string(), error })
}

/// Why the admin listener did not start.
#[derive(Debug)]
pub struct AdminStartError {
    /// The address that it was to listen on.
    pub address: String,
    /// The cause.
    pub error: io::Error,
}

impl fmt::Display for AdminStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the admin listener can't use {}: ", self.address)?;
        match self.error.kind() {
            io::ErrorKind::AddrInUse => f.write_str("another process listens there already"),
            _ => write!(f, "{}", self.error),
        }
    }
}

impl std::error::Error for AdminStartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
