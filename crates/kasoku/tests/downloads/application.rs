//! Simulates an application behind FastCGI as php-fpm runs one: a few processes (here threads), each with one request at a time.
//!
//! A process is done with a request only when Kasoku has closed the connection, and then takes the next one. So a front that keeps the
//! connection during a slow download occupies one of a few processes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The protocol's numbers (FastCGI 1.0 section 8), and the length of a record's head in bytes.
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const HEAD_BYTES: usize = 8;

/// The body of `/page`, which may be stored.
pub(crate) const PAGE: &str = "a page for everybody";

/// The application; its threads end with the process.
pub(crate) struct Application {
    pub(crate) address: SocketAddr,
    downloads: Arc<AtomicUsize>,
}

impl Application {
    /// Starts an application with that many processes, which names `large.bin` and `small.txt` of that directory.
    pub(crate) fn start(processes: usize, directory: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let downloads = Arc::new(AtomicUsize::new(0));
        for _ in 0..processes {
            let (listener, directory) = (listener.try_clone().unwrap(), directory.to_owned());
            let downloads = downloads.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if serve(stream, &directory).is_some_and(|path| path.starts_with("/download/")) {
                        downloads.fetch_add(1, Relaxed);
                    }
                }
            });
        }
        Self { address, downloads }
    }

    /// The number of downloads that the application is done with.
    pub(crate) fn downloads(&self) -> usize {
        self.downloads.load(Relaxed)
    }
}

/// Answers one request and waits until its connection is closed; the request's path.
fn serve(mut stream: TcpStream, directory: &Path) -> Option<String> {
    let mut params = Vec::new();
    loop {
        let mut head = [0; HEAD_BYTES];
        stream.read_exact(&mut head).ok()?;
        let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
        let mut content = vec![0; length + usize::from(head[6])];
        stream.read_exact(&mut content).ok()?;
        match (head[1], length) {
            (PARAMS, _) => params.extend_from_slice(&content[..length]),
            (STDIN, 0) => break,
            _ => {}
        }
    }
    let path = path_of(&params);
    let output = answer(&path, directory);
    let answer = [record(STDOUT, output.as_bytes()), record(STDOUT, b""), record(END_REQUEST, &[0; 8])].concat();
    stream.write_all(&answer).ok()?;
    // Waits until Kasoku closes the connection.
    let _ = stream.read_to_end(&mut Vec::new());
    Some(path)
}

/// The output of a script for that path.
fn answer(path: &str, directory: &Path) -> String {
    let named = |name: &str| {
        let file = directory.join(name);
        format!("Content-Type: application/octet-stream\r\nX-Sendfile: {}\r\n\r\n", file.display())
    };
    let text = |fields: &str, body: &str| {
        format!("Content-Type: text/plain\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len())
    };
    match path {
        "/page" => text("Cache-Control: max-age=3600\r\n", PAGE),
        path if path.starts_with("/download/") => named("large.bin"),
        path if path.starts_with("/small/") => named("small.txt"),
        path => text("Cache-Control: private\r\n", &format!("made for {path}")),
    }
}

/// A record of request 1.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0], content].concat()
}

/// The value of REQUEST_URI. It must be shorter than 128 bytes, so that the byte before the name is its length.
fn path_of(params: &[u8]) -> String {
    const NAME: &[u8] = b"REQUEST_URI";
    let at = params.windows(NAME.len()).position(|window| window == NAME).unwrap();
    let (begin, length) = (at + NAME.len(), usize::from(params[at - 1]));
    String::from_utf8(params[begin..begin + length].to_vec()).unwrap()
}
