//! Real Redis servers as processes of a test, alone, with replicas or as a cluster, and a client of our own that reads and writes what is in
//! them.

use super::process::{LOOK_INTERVAL, Process};
use crate::{Folder, WAIT_MAX};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The masters of a cluster; each has one replica.
const MASTERS: usize = 3;

/// The name of the socket in a server's folder.
const SOCKET: &str = "redis.sock";

/// A running redis-server, which keeps nothing on disk.
pub struct Redis {
    process: Process,
    port: u16,
    options: Vec<String>,
    /// The file that a node of a cluster needs, and the Unix socket on which we ask.
    folder: Folder,
}

/// What it answers.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Text(String),
    Error(String),
    Number(i64),
    Value(Option<Vec<u8>>),
    List(Vec<Self>),
}

impl Redis {
    /// A server on a free port of 127.0.0.1. With a certificate among the options, that port is for TLS alone.
    pub fn start(options: Vec<String>) -> Self {
        Self::with(options)
    }

    /// A replica of that server, which has what it has.
    pub fn replica_of(primary: &Self) -> Self {
        let replica = Self::with(replica_options(primary));
        replica.until("it has what the primary has", |it| it.info().contains("master_link_status:up"));
        replica
    }

    /// Three masters with a replica each, as one cluster.
    pub fn cluster() -> Vec<Self> {
        let nodes: Vec<_> = (0..2 * MASTERS).map(|_| Self::node()).collect();
        let mut create = Command::new("redis-cli");
        create.args(["--cluster", "create"]).args(nodes.iter().map(|node| node.address().to_string()));
        let created =
            create.args(["--cluster-replicas", "1", "--cluster-yes"]).output().expect("redis-cli is installed");
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        for node in &nodes {
            node.until("the cluster is complete", |it| {
                it.asked_for_text(&["CLUSTER", "INFO"]).contains("cluster_state:ok") && it.has_its_part()
            });
        }
        nodes
    }

    fn node() -> Self {
        let options = ["--cluster-enabled yes", "--cluster-node-timeout 1000", "--cluster-replica-validity-factor 0"];
        Self::with(options.map(str::to_owned).to_vec())
    }

    fn with(options: Vec<String>) -> Self {
        // The bus of a cluster's node listens at this port and 10,000.
        let is_low = |port: u16| port < 50_000;
        for _ in 0..200 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if !is_low(port) {
                continue;
            }
            let folder = Folder::new();
            if let Some(child) = spawn(port, &options, folder.path()) {
                return Self { process: Process::of(child), port, options, folder };
            }
        }
        panic!("redis-server got no port");
    }

    /// Its address, which is for TLS where it was started with a certificate.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Kills it with all that it has, and starts it again at the same place, as it was started.
    pub fn restart_empty(&self) {
        let start = || spawn(self.port, &self.options, self.folder.path()).expect("nobody else took the port");
        self.process.replace(start);
    }

    /// A node of a cluster that was killed starts again as the replica of the one that has its part now.
    pub fn join_again(&self) {
        self.restart_empty();
        self.until("it is a replica that has what its primary has", Self::has_its_part);
    }

    /// Starts again as a replica of that server, whatever it was before.
    pub fn restart_as_replica_of(&self, primary: &Self) {
        let options = replica_options(primary);
        let start = || spawn(self.port, &options, self.folder.path()).expect("nobody else took the port");
        self.process.replace(start);
        self.until("it has what the primary has", |it| it.info().contains("master_link_status:up"));
    }

    /// It becomes the replica of another one, and has what that has.
    pub fn follow(&self, primary: &Self) {
        let port = primary.port.to_string();
        assert_eq!(self.ask(&[b"REPLICAOF", b"127.0.0.1", port.as_bytes()]), Reply::Text("OK".to_owned()));
        self.until("it has what the primary has", |it| it.info().contains("master_link_status:up"));
    }

    /// A replica becomes a primary.
    pub fn promote(&self) {
        assert_eq!(self.ask(&[b"REPLICAOF", b"NO", b"ONE"]), Reply::Text("OK".to_owned()));
    }

    /// Whether it is a primary: of all keys, or of a cluster's slots.
    pub fn is_primary(&self) -> bool {
        self.info().contains("role:master")
    }

    /// An item.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        match self.ask(&[b"GET", name.as_bytes()]) {
            Reply::Value(value) => value,
            // Another node of the cluster has such names.
            Reply::Error(error) if error.starts_with("MOVED") => None,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Whether it has that item; not if it was killed.
    pub fn has(&self, name: &str) -> bool {
        asked(self.folder.path(), &[b"EXISTS", name.as_bytes()]).is_ok_and(|reply| reply == Reply::Number(1))
    }

    /// Stores an item.
    pub fn set(&self, name: &str, value: &[u8]) {
        assert_eq!(self.ask(&[b"SET", name.as_bytes(), value, b"EX", b"600"]), Reply::Text("OK".to_owned()), "{name}");
    }

    /// Removes an item.
    pub fn delete(&self, name: &str) {
        self.ask(&[b"DEL", name.as_bytes()]);
    }

    /// Lets an item stay until it is deleted, whatever its time of expiry.
    pub fn persist(&self, name: &str) {
        self.ask(&[b"PERSIST", name.as_bytes()]);
    }

    /// The names of all items.
    pub fn names(&self) -> Vec<String> {
        let Reply::List(names) = self.ask(&[b"KEYS", b"*"]) else { panic!("no list of names") };
        let name = |reply| match reply {
            Reply::Value(Some(name)) => String::from_utf8(name).unwrap(),
            other => panic!("{other:?}"),
        };
        names.into_iter().map(name).collect()
    }

    fn info(&self) -> String {
        self.asked_for_text(&["INFO", "replication"])
    }

    fn has_its_part(&self) -> bool {
        let info = self.info();
        info.contains("master_link_status:up") || info.contains("role:master") && info.contains("connected_slaves:1")
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < WAIT_MAX, "{what}: not so after {WAIT_MAX:?}");
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    fn asked_for_text(&self, words: &[&str]) -> String {
        let words: Vec<_> = words.iter().map(|word| word.as_bytes()).collect();
        match self.ask(&words) {
            Reply::Value(Some(text)) => String::from_utf8(text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn ask(&self, words: &[&[u8]]) -> Reply {
        asked(self.folder.path(), words).expect("redis-server answers")
    }
}

fn replica_options(primary: &Redis) -> Vec<String> {
    let tls = primary.options.iter().filter(|option| option.starts_with("--tls-")).cloned();
    let replicaof = format!("--replicaof 127.0.0.1 {}", primary.port);
    [replicaof, "--repl-diskless-load swapdb".to_owned()].into_iter().chain(tls).collect()
}

/// One question on a connection of its own.
fn asked(folder: &Path, words: &[&[u8]]) -> std::io::Result<Reply> {
    let mut stream = UnixStream::connect(folder.join(SOCKET))?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    stream.write_all(&request)?;
    reply(&mut BufReader::new(stream))
}

fn reply(reader: &mut BufReader<UnixStream>) -> std::io::Result<Reply> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.trim_end();
    let Some((kind, rest)) = line.split_at_checked(1) else { return Err(std::io::ErrorKind::UnexpectedEof.into()) };
    let number = || rest.parse::<i64>().unwrap();
    Ok(match kind {
        "+" => Reply::Text(rest.to_owned()),
        "-" => Reply::Error(rest.to_owned()),
        ":" => Reply::Number(number()),
        "$" if number() < 0 => Reply::Value(None),
        "$" => {
            let mut value = vec![0; usize::try_from(number()).unwrap() + 2];
            reader.read_exact(&mut value)?;
            value.truncate(value.len() - 2);
            Reply::Value(Some(value))
        }
        "*" => Reply::List((0..number()).map(|_| reply(reader)).collect::<Result<_, _>>()?),
        _ => panic!("{line}"),
    })
}

/// Starts a redis-server and waits until it answers. None if it ended, since another program has its port.
fn spawn(port: u16, options: &[String], folder: &Path) -> Option<Child> {
    let port = port.to_string();
    let mut command = Command::new("redis-server");
    match options.iter().any(|option| option.starts_with("--tls-cert-file")) {
        true => command.args(["--port", "0", "--tls-port", &port]),
        false => command.args(["--port", &port]),
    };
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]).arg("--unixsocket");
    command.arg(folder.join(SOCKET)).args(["--repl-diskless-sync-delay", "0", "--dir"]).arg(folder);
    for option in options {
        command.args(option.split(' '));
    }
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("redis-server is installed (scripts/install-test-deps --only cargo)");
    let process = format!("process_id:{}\r\n", child.id());
    let begun = Instant::now();
    while begun.elapsed() < WAIT_MAX {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        match asked(folder, &[b"INFO", b"server"]) {
            Ok(Reply::Value(Some(info))) if String::from_utf8_lossy(&info).contains(&process) => return Some(child),
            _ => std::thread::sleep(LOOK_INTERVAL),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("redis-server does not answer");
}
