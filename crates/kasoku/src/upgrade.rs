//! Replaces this process by a new one without an interruption for clients.
//!
//! On SIGUSR2, this process starts the program's file, as it is by now, with the same arguments, and passes its listening sockets on.
//! For a moment both processes accept connections from the same queues. When the new process serves, it says so; the old one accepts
//! no more connections, finishes its requests and exits. If the new process ends before that (a wrong configuration, a program that
//! does not run), the old one goes on unchanged.
//!
//! What the old process removes from its cache meanwhile, the new one removes as well ([`removals`]).
//!
//! Three environment variables describe what the new process inherits: [`SOCKETS`] has lines of `number address`, with the address as
//! the configuration has it, and [`READY`] is the number of a socket to which the new process writes one byte once it serves.
//! [`REMOVALS`] is that of the socket on which it is told what the old one removes.

pub(crate) mod removals;

use kasoku_engine::listening::Inherited;
use kasoku_options::ListenAddress;
use kasoku_sys::listen::{self, ListeningSocket};
use std::env;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

/// The environment variable with the listening sockets.
const SOCKETS: &str = "KASOKU_HANDOVER_SOCKETS";

/// The environment variable with the socket on which the new process says that it serves.
const READY: &str = "KASOKU_HANDOVER_READY";

/// The environment variable with the socket on which the new process is told of removals.
const REMOVALS: &str = "KASOKU_HANDOVER_REMOVALS";

/// The name of the admin socket at that address in [`SOCKETS`]. No address of a client socket begins so.
pub(crate) fn admin(address: &ListenAddress) -> String {
    format!("admin {address}")
}

/// How long the new process may take until it serves.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a new process that has closed its end of [`READY`] may take to end, and how often its state is read.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const END_INTERVAL: Duration = Duration::from_millis(20);

/// What a process inherits from the one that it replaces.
#[derive(Default)]
pub(crate) struct Predecessor {
    pub(crate) sockets: Inherited,
    ready: Option<std::os::unix::net::UnixStream>,
    pub(crate) removals: Option<std::os::unix::net::UnixStream>,
}

impl Predecessor {
    /// Takes over what was inherited, if anything. Must be called before anything is opened.
    pub(crate) fn adopt() -> io::Result<Self> {
        let mut predecessor = Self::default();
        for line in env::var(SOCKETS).unwrap_or_default().lines() {
            let invalid = || io::Error::new(io::ErrorKind::InvalidData, format!("{SOCKETS} has the line {line:?}"));
            let (number, address) = line.split_once(' ').ok_or_else(invalid)?;
            let socket = listen::adopt(number.parse().map_err(|_| invalid())?)?;
            predecessor.sockets.0.entry(address.to_owned()).or_default().push(socket);
        }
        let adopted = |name| {
            let number = env::var(name).ok().and_then(|number| number.parse().ok());
            number.map(listen::adopt_stream).transpose()
        };
        predecessor.ready = adopted(READY)?;
        predecessor.removals = adopted(REMOVALS)?;
        Ok(predecessor)
    }

    /// Tells the predecessor that this process serves. Returns whether there is a predecessor.
    pub(crate) fn notify_ready(self) -> bool {
        let Some(mut ready) = self.ready else { return false };
        // The predecessor may be gone, and then need not be told.
        let _ = ready.write_all(b"\n");
        true
    }
}

/// A new process that does not serve yet.
pub(crate) struct Successor {
    child: Child,
    ready: UnixStream,
    has_served: bool,
}

impl Successor {
    /// Starts the new process. Dropping this value before the process serves ends it. Must be called in the context of a tokio
    /// runtime. Returns it with the socket on which it is told of removals.
    pub(crate) fn start<'s>(
        sockets: impl Iterator<Item = (String, &'s ListeningSocket)>,
    ) -> io::Result<(Self, std::os::unix::net::UnixStream)> {
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
        let (removals, removed) = std::os::unix::net::UnixStream::pair()?;
        listen::leave_open(&removed)?;
        let number = |stream: &std::os::unix::net::UnixStream| AsRawFd::as_raw_fd(stream).to_string();
        let child = Command::new(program()?)
            .args(env::args_os().skip(1))
            .env(SOCKETS, lines)
            .env(READY, number(&theirs))
            .env(REMOVALS, number(&removed))
            .spawn()?;
        Ok((Self { child, ready: UnixStream::from_std(ours)?, has_served: false }, removals))
    }

    /// The number of the new process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the new process serves, and returns its number.
    ///
    /// # Errors
    /// The new process has ended instead, or takes too long.
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

    /// Waits for the new process to end, for [`END_TIMEOUT`] at most, and says how it has ended.
    async fn status(&mut self) -> String {
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if begun.elapsed() < END_TIMEOUT => tokio::time::sleep(END_INTERVAL).await,
                Ok(None) => return "it no longer answers, but still runs".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }
}

/// A new process is of no use before it serves.
impl Drop for Successor {
    fn drop(&mut self) {
        if !self.has_served {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The path of this program's file, which may have been replaced by a newer one.
fn program() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.unwrap_or(path))
}
