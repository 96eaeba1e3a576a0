//! The operator's listener: is it alive, what has it counted?
//!
//! | path | answer |
//! |---|---|
//! | `/healthz` | `200 ok` for as long as the program runs |
//! | `/metrics` | every counter and gauge in Prometheus' text format |
//! | `/stats` | the same numbers as JSON, with version, uptime, workers and hit ratio |
//!
//! [`Admin::start`] opens the socket and runs a thread of its own, so that an operator sees something even when every
//! worker is busy, and no worker ever waits for an operator. What it may ask the engine for is one [`Handle`].
//!
//! | file | job |
//! |---|---|
//! | `listener` | takes connections; every bound of this crate |
//! | `guard` | who may ask at all: keeps out web pages in the operator's browser |
//! | `answer` | request to response: method, path |
//! | `snapshot` | the numbers at one moment, and the table of gauges |
//! | `prometheus`, `json` | a snapshot as text |
//!
//! What it deliberately does not do: it has no password, so it is to listen on loopback or on a Unix socket only (the
//! configuration refuses others); it speaks no TLS; it reads no request body; it changes nothing.

mod answer;
mod guard;
mod json;
mod listener;
mod prometheus;
mod snapshot;
#[cfg(test)]
mod tests;

use kasoku_cache::Cache;
use kasoku_engine::options::ListenAddress;
use kasoku_metrics::Metrics;
use kasoku_sys::listen::{self, ListeningSocket};
use listener::{Acceptor, Limits};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::watch;

/// What the operator's listener may ask the engine for. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    cache: Cache,
    metrics: Metrics,
    workers: usize,
    started: Instant,
}

impl Handle {
    /// Of an engine that runs that many workers and has just started: uptime counts from here.
    pub fn new(cache: Cache, metrics: Metrics, workers: usize) -> Self {
        Self { cache, metrics, workers, started: Instant::now() }
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
    /// The address can't be listened on (above all: somebody does already), is a descriptor, or there can be no thread.
    pub fn start(address: &ListenAddress, handle: Handle) -> Result<Self, StartError> {
        Self::start_within(Limits::default(), address, handle)
    }

    fn start_within(limits: Limits, address: &ListenAddress, handle: Handle) -> Result<Self, StartError> {
        let failed = |error| StartError { address: address.to_string(), error };
        let socket = open(address).map_err(failed)?;
        let local_address = socket.local_address();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let acceptor = {
            let _registers_with = runtime.enter();
            Acceptor::new(socket).map_err(failed)?
        };
        let (stop, mut stopping) = watch::channel(false);
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = listener::run(acceptor, limits, handle) => {}
                    // An error means that nobody is left who could stop us, which is the same.
                    _ = stopping.wait_for(|stop| *stop) => {}
                }
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

fn open(address: &ListenAddress) -> io::Result<ListeningSocket> {
    match address {
        ListenAddress::Tcp(address) => {
            listen::tcp(*address, 1)?.into_iter().next().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
        }
        ListenAddress::Unix(path) => listen::unix(path),
        ListenAddress::Descriptor(_) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "who can reach a socket that was handed over is unknown"))
        }
    }
}

/// Why the operator's listener did not start.
#[derive(Debug)]
pub struct StartError {
    /// Where it was to listen.
    pub address: String,
    /// Why it does not.
    pub error: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the admin listener can't use {}: ", self.address)?;
        match self.error.kind() {
            io::ErrorKind::AddrInUse => f.write_str("somebody listens there already"),
            _ => write!(f, "{}", self.error),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
