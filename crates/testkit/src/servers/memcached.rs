//! Real memcached servers as processes of a test, and a client of our own that reads and writes what is in them.

use super::process::{LOOK_INTERVAL, Process};
use crate::WAIT_MAX;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A running memcached.
pub struct Memcached {
    process: Process,
    place: Place,
    item_bytes_max: &'static str,
}

enum Place {
    Port(u16),
    Socket(PathBuf),
}

/// A connection to a server.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Memcached {
    /// A server on a free port of 127.0.0.1, with that `-I`.
    pub fn start(item_bytes_max: &'static str) -> Self {
        // Another program may take the port before memcached does.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let place = Place::Port(port);
            if let Some(child) = spawn(&place, item_bytes_max) {
                return Self { process: Process::of(child), place, item_bytes_max };
            }
        }
        panic!("memcached got no port");
    }

    /// A server on a Unix socket.
    pub fn start_at(path: &Path, item_bytes_max: &'static str) -> Self {
        let place = Place::Socket(path.to_owned());
        let child = spawn(&place, item_bytes_max).expect("memcached starts on a socket");
        Self { process: Process::of(child), place, item_bytes_max }
    }

    /// Its address; none if it has a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.place {
            Place::Port(port) => Some(([127, 0, 0, 1], port).into()),
            Place::Socket(_) => None,
        }
    }

    /// Kills it with all that it has, and starts it again at the same place.
    pub fn restart_empty(&self) {
        self.process.replace(|| spawn(&self.place, self.item_bytes_max).expect("nobody else took the place"));
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// An item.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let said = self.ask(format!("mg {name} v\r\n").as_bytes(), None);
        let (line, rest) = said.split_at(said.iter().position(|byte| *byte == b'\n')? + 1);
        let length = std::str::from_utf8(line).ok()?.strip_prefix("VA ")?.trim_end().parse().ok()?;
        Some(rest.get(..length)?.to_vec())
    }

    /// Whether it has that item.
    pub fn has(&self, name: &str) -> bool {
        self.ask(format!("mg {name}\r\n").as_bytes(), None).starts_with(b"HD")
    }

    /// Stores an item.
    pub fn set(&self, name: &str, value: &[u8]) {
        let request = [format!("ms {name} {} T600\r\n", value.len()).as_bytes(), value, b"\r\n"].concat();
        let said = self.ask(&request, None);
        assert!(said.starts_with(b"HD"), "{name}: {}", String::from_utf8_lossy(&said));
    }

    /// Removes an item.
    pub fn delete(&self, name: &str) {
        self.ask(format!("md {name}\r\n").as_bytes(), None);
    }

    /// The names of all items.
    pub fn names(&self) -> Vec<String> {
        let said = self.ask(b"lru_crawler metadump all\r\n", Some("END\r\n"));
        let said = String::from_utf8(said).unwrap();
        assert!(said.ends_with("END\r\n"), "{said}");
        let names = said.lines().filter_map(|line| line.strip_prefix("key=")?.split(' ').next());
        names.map(|name| name.replace("%3A", ":")).collect()
    }

    /// How many items it has been asked for, and had.
    pub fn items_read(&self) -> u64 {
        let said = String::from_utf8(self.ask(b"stats\r\n", Some("END\r\n"))).unwrap();
        let read = said.lines().find_map(|line| line.strip_prefix("STAT get_hits "));
        read.expect("memcached counts hits").parse().unwrap()
    }

    /// What it answers: up to the line `end`, or until it has answered and closed the connection.
    fn ask(&self, request: &[u8], end: Option<&str>) -> Vec<u8> {
        let mut stream = connect(&self.place).expect("memcached listens");
        stream.write_all(request).unwrap();
        let mut said = Vec::new();
        match end {
            None => {
                stream.write_all(b"quit\r\n").unwrap();
                stream.read_to_end(&mut said).unwrap();
            }
            Some(end) => {
                let mut reader = BufReader::new(stream);
                while !said.ends_with(end.as_bytes()) && reader.read_until(b'\n', &mut said).unwrap() > 0 {}
            }
        }
        said
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        self.process.kill();
        if let Place::Socket(path) = &self.place {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Starts a memcached and waits until it answers. None if it ended, since another program has its place.
fn spawn(place: &Place, item_bytes_max: &str) -> Option<Child> {
    let mut command = Command::new("memcached");
    match place {
        Place::Port(port) => command.args(["-l", "127.0.0.1", "-p", &port.to_string()]),
        Place::Socket(path) => {
            // A killed server leaves its socket.
            let _ = std::fs::remove_file(path);
            command.arg("-s").arg(path)
        }
    };
    command.args(["-U", "0", "-t", "1", "-m", "256", "-c", "200", "-I", item_bytes_max]);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.args(["-u", "root"]);
    }
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("memcached is installed (scripts/install-test-deps --only cargo)");
    let begun = Instant::now();
    while begun.elapsed() < WAIT_MAX {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if is_process(place, child.id()) {
            return Some(child);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("memcached does not answer");
}

/// Whether the memcached of this process answers there.
fn is_process(place: &Place, process: u32) -> bool {
    let Ok(mut stream) = connect(place) else { return false };
    let mut said = String::new();
    stream.write_all(b"stats\r\nquit\r\n").is_ok()
        && stream.read_to_string(&mut said).is_ok()
        && said.contains(&format!("STAT pid {process}\r\n"))
}

fn connect(place: &Place) -> std::io::Result<Stream> {
    match place {
        Place::Port(port) => {
            let stream = TcpStream::connect(("127.0.0.1", *port))?;
            stream.set_read_timeout(Some(WAIT_MAX))?;
            Ok(Stream::Tcp(stream))
        }
        Place::Socket(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(WAIT_MAX))?;
            Ok(Stream::Unix(stream))
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
