//! A new process takes this one's place, and no client notices.
//!
//! SIGUSR2: this process starts the program's file once more, as it is now, with the same arguments, and leaves it the
//! listening sockets. Both listen on the same queues for a moment. When the new one serves, it says so, and the old one
//! takes no more connections, ends its requests and exits. When the new one ends before that (a configuration that is
//! wrong, a program that does not run), the old one goes on as if nothing had been.
//!
//! What is handed over stands in two variables of the environment: [`SOCKETS`], lines of `number address` in which the
//! address is the one that was written, and [`READY`], the number of a socket on which one byte says that it serves.

use kasoku_engine::listening::Inherited;
use kasoku_options::ListenAddress;
use kasoku_sys::listen::{self, ListeningSocket};
use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

/// The listening sockets.
const SOCKETS: &str = "KASOKU_HANDOVER_SOCKETS";

/// Where to say that it serves.
const READY: &str = "KASOKU_HANDOVER_READY";

/// What the operator's socket at that address is called; addresses of clients' sockets are never called so.
pub(crate) fn admin(address: &ListenAddress) -> String {
    format!("admin {address}")
}

/// How long the new process may take until it serves.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long it may take to end once it can't say any more that it serves, and how often it is looked at.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const END_INTERVAL: Duration = Duration::from_millis(20);

/// What a process has got from the one whose place it takes.
#[derive(Default)]
pub(crate) struct Predecessor {
    pub(crate) sockets: Inherited,
    ready: Option<std::os::unix::net::UnixStream>,
}

impl Predecessor {
    /// Takes over what there is. To be called before anything is opened.
    pub(crate) fn adopt() -> io::Result<Self> {
        let mut predecessor = Self::default();
        for line in env::var(SOCKETS).unwrap_or_default().lines() {
            let invalid = || io::Error::new(io::ErrorKind::InvalidData, format!("{SOCKETS} has the line {line:?}"));
            let (number, address) = line.split_once(' ').ok_or_else(invalid)?;
            let socket = listen::adopt(number.parse().map_err(|_| invalid())?)?;
            predecessor.sockets.0.entry(address.to_owned()).or_default().push(socket);
        }
        if let Some(number) = env::var(READY).ok().and_then(|number| number.parse().ok()) {
            predecessor.ready = Some(listen::adopt_stream(number)?);
        }
        Ok(predecessor)
    }

    /// Says that this process serves; whether there was anybody to relieve.
    pub(crate) fn relieve(self) -> bool {
        let Some(mut ready) = self.ready else { return false };
        // A predecessor that is gone need not be told.
        let _ = ready.write_all(b"\n");
        true
    }
}

/// A new process on its way.
pub(crate) struct Successor {
    child: Child,
    ready: UnixStream,
    has_served: bool,
}

impl Successor {
    /// Starts it; it is ended again when this is dropped before it serves. To be called inside the runtime's context.
    pub(crate) fn start<'s>(sockets: impl Iterator<Item = (String, &'s ListeningSocket)>) -> io::Result<Self> {
        let mut lines = String::new();
        // Duplicates, which are closed here once the new process has them.
        let mut duplicates = Vec::new();
        for (address, socket) in sockets {
            let duplicate = socket.duplicate()?;
            listen::leave_open(&duplicate)?;
            lines.push_str(&format!("{} {address}\n", duplicate.number()));
            duplicates.push(duplicate);
        }
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        listen::leave_open(&theirs)?;
        ours.set_nonblocking(true)?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&theirs);
        let child = Command::new(program()?)
            .args(env::args_os().skip(1))
            .env(SOCKETS, lines)
            .env(READY, number.to_string())
            .spawn()?;
        Ok(Self { child, ready: UnixStream::from_std(ours)?, has_served: false })
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it serves.
    ///
    /// # Errors
    /// It has ended instead, or takes too long.
    pub(crate) async fn serves(mut self) -> Result<u32, String> {
        let mut byte = [0];
        match tokio::time::timeout(READY_TIMEOUT, self.ready.read(&mut byte)).await {
            Ok(Ok(1)) => {
                self.has_served = true;
                Ok(self.id())
            }
            Ok(_) => Err(format!("it ended before it served: {}", self.status().await)),
            Err(_) => Err(format!("it did not serve within {} s", READY_TIMEOUT.as_secs())),
        }
    }

    /// How it has ended, as soon as it has. One that only holds its tongue is not waited for.
    async fn status(&mut self) -> String {
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if begun.elapsed() < END_TIMEOUT => tokio::time::sleep(END_INTERVAL).await,
                Ok(None) => return "it says nothing more, but runs".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }
}

/// Of no use before it serves.
impl Drop for Successor {
    fn drop(&mut self) {
        if !self.has_served {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The file that this program was started from, as it is now: another one where it was replaced.
fn program() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.unwrap_or(path))
}
