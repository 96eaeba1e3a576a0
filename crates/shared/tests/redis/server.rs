//! Real Redis servers as processes of a test.

use kasoku_shared::redis::RedisOptions;
use kasoku_shared::{Backend, Client};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a test waits for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The name of the identity of the log of purges.
pub(crate) const LOG: &[u8] = b"{kasoku}:log";

/// A running redis-server, with what it saves in a folder of its own. Killed on drop, also while it is stopped.
pub(crate) struct Redis {
    child: Child,
    port: u16,
    folder: TempDir,
    options: Vec<String>,
}

impl Redis {
    /// A server with these options, on a free port and a Unix socket. With a certificate, the port is one for TLS alone.
    pub(crate) fn with<O: AsRef<str>>(options: &[O]) -> Self {
        // Another program may take the port before the server does. Nodes of a cluster need the port that is 10,000 higher as well.
        for _ in 0..50 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let is_free = port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok();
            if !is_free {
                continue;
            }
            let folder = TempDir::new().unwrap();
            let options: Vec<_> = options.iter().map(|it| it.as_ref().to_owned()).collect();
            let child = spawn(port, &folder, &options);
            let mut server = Self { child, port, folder, options };
            if server.is_up() {
                return server;
            }
        }
        panic!("redis-server got no port");
    }

    pub(crate) fn new() -> Self {
        Self::with::<&str>(&[])
    }

    pub(crate) fn replica_of(primary: &Self) -> Self {
        let port = format!("127.0.0.1 {}", primary.port);
        let mut options = ["--replicaof", &port, "--repl-diskless-sync-delay", "0"].map(str::to_owned).to_vec();
        if is_tls(&primary.options) {
            options.extend(primary.options.iter().cloned());
            options.extend(["--tls-replication", "yes"].map(str::to_owned));
        }
        let replica = Self::with(&options);
        replica.awaits_info("master_link_status:up");
        replica
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if is_tls(&self.options) { "rediss" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Asks the server something, on a connection of its own. Returns the raw reply.
    pub(crate) fn ask(&self, command: &str) -> String {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        (&stream).write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut reader = BufReader::new(&stream);
        let mut reply = String::new();
        reader.read_line(&mut reply).unwrap();
        if let Some(length) = reply.strip_prefix('$').and_then(|length| length.trim_end().parse::<usize>().ok()) {
            let mut value = vec![0; length];
            reader.read_exact(&mut value).unwrap();
            return String::from_utf8(value).unwrap();
        }
        reply.trim_end().to_owned()
    }

    /// Waits until `INFO replication` has this line.
    pub(crate) fn awaits_info(&self, line: &str) {
        let begun = Instant::now();
        while !self.ask("INFO replication").lines().any(|it| it.starts_with(line)) {
            assert!(begun.elapsed() < PATIENCE, "{line}: {}", self.ask("INFO replication"));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this replica has all that its primary has.
    pub(crate) fn catches_up_with(&self, primary: &Self) {
        let offset = |server: &Self, name: &str| {
            let info = server.ask("INFO replication");
            info.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok()).unwrap()
        };
        let wanted = offset(primary, "master_repl_offset:");
        let begun = Instant::now();
        while offset(self, "slave_repl_offset:") < wanted {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Makes a replica the primary.
    pub(crate) fn is_promoted(&self) {
        assert_eq!(self.ask("REPLICAOF NO ONE"), "+OK");
    }

    /// Kills it (SIGKILL). What it has saved stays.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Starts it again at the same place, after [`Self::kill`].
    pub(crate) fn start_again(&mut self) {
        self.child = spawn(self.port, &self.folder, &self.options);
        assert!(self.is_up(), "nobody else took the port");
    }

    /// Stops it (SIGSTOP), so that it answers nothing.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let status = format!("/proc/{}/stat", self.child.id());
        while !std::fs::read_to_string(&status).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it answers; false if it has ended.
    fn is_up(&mut self) -> bool {
        let begun = Instant::now();
        loop {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            let said = UnixStream::connect(self.socket()).and_then(|mut stream| {
                stream.write_all(b"PING\r\n")?;
                let mut said = [0; 1];
                stream.read_exact(&mut said)?;
                Ok(())
            });
            if said.is_ok() {
                return true;
            }
            assert!(begun.elapsed() < PATIENCE, "redis-server does not answer");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_tls(options: &[String]) -> bool {
    options.iter().any(|option| option == "--tls-cert-file")
}

fn spawn(port: u16, folder: &TempDir, options: &[String]) -> Child {
    let mut command = Command::new("redis-server");
    let port = port.to_string();
    match is_tls(options) {
        true => command.args(["--port", "0", "--tls-port", &port]),
        false => command.args(["--port", &port]),
    };
    command.args(["--bind", "127.0.0.1", "--save", "", "--enable-debug-command", "yes"]);
    command.arg("--dir").arg(folder.path()).arg("--unixsocket").arg(folder.path().join("redis.sock"));
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("redis-server is installed (scripts/install-test-deps --only cargo)")
}

/// Options for the server at these addresses, with a timeout that it does not need.
pub(crate) fn options(urls: impl IntoIterator<Item = String>) -> RedisOptions {
    RedisOptions {
        urls: urls.into_iter().collect(),
        username: None,
        password: None,
        tls: None,
        operation_timeout: PATIENCE,
        item_bytes_max: 8 << 20,
    }
}

/// A client that has found the primary.
pub(crate) async fn client(options: &RedisOptions) -> Client {
    let client = found(options).await;
    client.history(0, LOG).await.unwrap().unwrap();
    client
}

/// A client whose server is usable, and which has tried to find the primary.
pub(crate) async fn found(options: &RedisOptions) -> Client {
    let client = Backend::redis(options).unwrap().client();
    let servers = client.servers();
    servers.all()[0].health.synced(servers.now_ms());
    let _ = client.history(0, LOG).await;
    client
}
