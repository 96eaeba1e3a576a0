//! Real memcached servers as processes of a test.

use kasoku_shared::memcached::{MemcachedOptions, ServerAddress};
use kasoku_shared::placement::Distribution;
use kasoku_shared::{Backend, Client, Endpoint};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a test waits for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running memcached. Killed on drop, also while it is stopped.
pub(crate) struct Memcached {
    child: Child,
    endpoint: Endpoint,
    _folder: Option<TempDir>,
}

impl Memcached {
    /// A server on a Unix socket.
    pub(crate) fn unix() -> Self {
        let folder = TempDir::new().unwrap();
        let endpoint = Endpoint::Unix(folder.path().join("memcached.sock"));
        let child = spawn(&endpoint).expect("memcached starts on a socket");
        Self { child, endpoint, _folder: Some(folder) }
    }

    /// A server on a free port of 127.0.0.1.
    pub(crate) fn tcp() -> Self {
        // Another program may take the port before memcached does.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if let Some(server) = Self::at("127.0.0.1", port) {
                return server;
            }
        }
        panic!("memcached got no port");
    }

    /// A server on this port; none if another program has it.
    pub(crate) fn at(host: &str, port: u16) -> Option<Self> {
        let endpoint = Endpoint::Tcp { host: host.into(), port };
        let child = spawn(&endpoint)?;
        Some(Self { child, endpoint, _folder: None })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// Kills it, with all that it has.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Starts it again at the same place, after [`Self::kill`].
    pub(crate) fn start_again(&mut self) {
        self.child = spawn(&self.endpoint).expect("nobody else took the place");
    }

    /// Stops it (SIGSTOP), so that it answers nothing.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        // A thread that runs on another core goes on for a moment.
        while !self.is_stopped() {
            std::thread::yield_now();
        }
    }

    /// Whether it answers on a connection of its own.
    pub(crate) fn is_answering(&self) -> bool {
        answers(&self.endpoint, self.child.id())
    }

    fn is_stopped(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        threads.flatten().all(|thread| {
            let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            status.contains("State:\tT")
        })
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a memcached and waits until it answers. None if it ended, since another program has its place.
fn spawn(endpoint: &Endpoint) -> Option<Child> {
    let mut command = Command::new("memcached");
    match endpoint {
        Endpoint::Tcp { host, port } => command.args(["-l", host, "-p", &port.to_string()]),
        Endpoint::Unix(path) => {
            // A killed server leaves its socket.
            let _ = std::fs::remove_file(path);
            command.arg("-s").arg(path)
        }
    };
    command.args(["-U", "0", "-t", "1", "-m", "64", "-c", "200"]);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.args(["-u", "root"]);
    }
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("memcached is installed (scripts/install-test-deps --only cargo)");
    let begun = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if answers(endpoint, child.id()) {
            return Some(child);
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("memcached does not answer on {endpoint}");
        }
        std::thread::yield_now();
    }
}

/// Whether the memcached of this process answers.
fn answers(endpoint: &Endpoint, process: u32) -> bool {
    let said = match endpoint {
        Endpoint::Tcp { host, port } => TcpStream::connect((host.as_str(), *port)).map(|socket| statistics(&socket)),
        Endpoint::Unix(path) => UnixStream::connect(path).map(|socket| statistics(&socket)),
    };
    said.is_ok_and(|said| said.contains(&format!("STAT pid {process}\r\n")))
}

fn statistics<S>(mut socket: &S) -> String
where
    for<'s> &'s S: Read + Write,
{
    let mut said = String::new();
    if socket.write_all(b"stats\r\nquit\r\n").is_ok() {
        let _ = socket.read_to_string(&mut said);
    }
    said
}

/// Options for these servers, with a timeout that none of them needs.
pub(crate) fn options(endpoints: impl IntoIterator<Item = Endpoint>) -> MemcachedOptions {
    let servers = endpoints.into_iter().map(|endpoint| ServerAddress { endpoint, weight: 1 }).collect();
    MemcachedOptions {
        servers,
        distribution: Distribution::KetamaWeighted,
        operation_timeout: PATIENCE,
        item_bytes_max: 8 << 20,
        connections_max: 1,
    }
}

/// A client of this one server.
pub(crate) fn client(endpoint: Endpoint) -> Client {
    servers(options([endpoint])).client()
}

/// A client of this one server, with this timeout.
pub(crate) fn client_with_timeout(endpoint: Endpoint, operation_timeout: Duration) -> Client {
    servers(MemcachedOptions { operation_timeout, ..options([endpoint]) }).client()
}

/// These servers, all usable at first.
pub(crate) fn servers(options: MemcachedOptions) -> Backend {
    let backend = Backend::memcached(options).unwrap();
    for server in backend.servers().all() {
        server.health.synced(backend.servers().now_ms());
    }
    backend
}
