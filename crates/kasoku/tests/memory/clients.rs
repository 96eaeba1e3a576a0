//! The clients of the memory tests: fast ones, and slow readers.
//!
//! A client compares each byte of an answer when it arrives and keeps none.

use crate::objects::Object;
use crate::support::PATIENCE;
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The segment and the receive buffer of a slow reader, in bytes. Over loopback the kernel would take megabytes from a sender whose peer
/// does not read. With these values it takes some ten kilobytes, and the program must hold the rest.
const SLOW_SEGMENT_BYTES: u32 = 536;
const SLOW_BUFFER_BYTES: usize = 4096;

/// The most that a trickling reader reads at a time, in bytes.
const SIP_BYTES: usize = 1024;

/// The part of an answer that has arrived.
#[derive(Debug)]
struct Answer {
    object: Object,
    /// The head as far as it has arrived; empty once it is complete.
    head: Vec<u8>,
    has_head: bool,
    body_bytes: usize,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The whole body arrived.
    Whole,
    /// The connection ended before `Content-Length` bytes had arrived; all bytes before that were right.
    Cut,
}

impl Answer {
    fn new(object: Object) -> Self {
        Self { object, head: Vec::new(), has_head: false, body_bytes: 0 }
    }

    /// Checks the bytes that have arrived; returns whether the answer is complete.
    fn take(&mut self, bytes: &[u8]) -> bool {
        if self.has_head {
            let expected = &self.object.bytes()[self.body_bytes..];
            assert!(expected.starts_with(bytes), "wrong bytes of {:?} behind {}", self.object, self.body_bytes);
            self.body_bytes += bytes.len();
            return self.body_bytes == self.object.size;
        }
        self.head.extend_from_slice(bytes);
        let Some(end) = self.head.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
        let whole = std::mem::take(&mut self.head);
        let head = String::from_utf8_lossy(&whole[..end + 2]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{:?}: {head}", self.object);
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", self.object.size)), "{:?}: {head}", self.object);
        self.has_head = true;
        self.take(&whole[end + 4..])
    }
}

/// A client that reads at once.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::with_buffer(address, 256 << 10)
    }

    /// A client with a small buffer, so that there can be thousands.
    pub(crate) fn small(address: SocketAddr) -> Self {
        Self::with_buffer(address, 8 << 10)
    }

    fn with_buffer(address: SocketAddr, bytes: usize) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: vec![0; bytes] }
    }

    /// Requests an object and reads all of it.
    pub(crate) fn get(&mut self, object: Object) {
        self.stream.write_all(request(object).as_bytes()).unwrap();
        let mut answer = Answer::new(object);
        loop {
            let read = self.stream.read(&mut self.buffer).unwrap();
            assert_ne!(read, 0, "cut: {answer:?}");
            if answer.take(&self.buffer[..read]) {
                return;
            }
        }
    }
}

impl Client {
    /// Sends the beginning of a head. An error is ignored, because the program may refuse to read it.
    pub(crate) fn begin_head(&mut self, bytes: usize) {
        let begun = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ";
        let _ = self.stream.write_all(format!("{begun}{:x>1$}", "", bytes - begun.len()).as_bytes());
    }
}

/// A client that has requested an object and reads little of it, or nothing.
pub(crate) struct SlowReader {
    stream: TcpStream,
    answer: Answer,
    ending: Option<Ending>,
    trickles: bool,
}

impl SlowReader {
    /// Requests an object and waits until the answer begins. With `trickles`, the client then reads a little now and then, else nothing.
    pub(crate) fn ask(address: SocketAddr, object: Object, trickles: bool) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(SLOW_BUFFER_BYTES).unwrap();
        socket.set_tcp_mss(SLOW_SEGMENT_BYTES).unwrap();
        socket.connect(&address.into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request(object).as_bytes()).unwrap();
        // If the connection ends instead, a later read notices that.
        let begun = stream.peek(&mut [0; 1]);
        assert!(!begun.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "no answer begins: {object:?}");
        stream.set_nonblocking(true).unwrap();
        Self { stream, answer: Answer::new(object), ending: None, trickles }
    }

    /// The object that the client still waits for; `None` once the client has seen the end of the answer, or a cut.
    pub(crate) fn waits_for(&self) -> Option<Object> {
        self.ending.is_none().then_some(self.answer.object)
    }

    /// Reads at most [`SIP_BYTES`], if the client trickles and bytes have arrived.
    pub(crate) fn sip(&mut self) {
        if self.trickles && self.ending.is_none() {
            self.read(&mut [0; SIP_BYTES]);
        }
    }

    /// Reads the rest as fast as it comes. Returns how the answer ended, and how many bytes of the body arrived.
    pub(crate) fn finish(mut self) -> (Ending, usize) {
        let _ = socket2::SockRef::from(&self.stream).set_recv_buffer_size(1 << 20);
        self.stream.set_nonblocking(false).unwrap();
        let mut buffer = vec![0; 64 << 10];
        loop {
            if let Some(ending) = self.ending {
                return (ending, self.answer.body_bytes);
            }
            assert!(self.read(&mut buffer), "it hangs: {:?}", self.answer);
        }
    }

    /// Reads once; `false` if no bytes arrived in time.
    fn read(&mut self, buffer: &mut [u8]) -> bool {
        match self.stream.read(buffer) {
            Ok(0) => self.ending = Some(Ending::Cut),
            Ok(read) => self.ending = self.answer.take(&buffer[..read]).then_some(Ending::Whole),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return false,
            Err(_) => self.ending = Some(Ending::Cut),
        }
        true
    }
}

fn request(object: Object) -> String {
    format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", object.path())
}
