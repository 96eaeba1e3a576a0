//! Simulates a client that downloads slowly, with a small receive window and a few KiB now and then.
//!
//! The reader compares each byte when it arrives and keeps none.

use crate::support::PATIENCE;
use socket2::{Domain, SockRef, Socket, Type};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The receive buffer, and the most that a sip reads, in bytes.
const BUFFER_BYTES: usize = 4096;
const SIP_BYTES: usize = 4096;

/// The receive buffer of a reader that reads as fast as it can, in bytes.
const FAST_BUFFER_BYTES: usize = 1 << 20;

/// A download on its way.
pub(crate) struct Reader {
    stream: TcpStream,
    number: usize,
    /// The head as far as it has been read; empty once it is complete.
    head: Vec<u8>,
    has_head: bool,
    /// Bytes of the head and the file that were read.
    read: u64,
    /// Bytes of the file that were read.
    position: u64,
}

impl Reader {
    /// Requests the file.
    pub(crate) fn ask(address: SocketAddr, number: usize) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(BUFFER_BYTES).unwrap();
        socket.connect(&address.into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("GET /download/{number} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        Self { stream, number, head: Vec::new(), has_head: false, read: 0, position: 0 }
    }

    /// Waits until the answer has begun, without reading from it.
    pub(crate) fn begins(&self) {
        let begun = self.stream.peek(&mut [0; 1]);
        assert!(matches!(begun, Ok(1)), "download {}: no answer begins: {begun:?}", self.number);
        self.stream.set_nonblocking(true).unwrap();
    }

    /// Reads at most [`SIP_BYTES`], if any have arrived.
    pub(crate) fn sip(&mut self, file: &File) {
        self.take(&mut [0; SIP_BYTES], file);
    }

    /// Reads the rest as fast as it comes.
    pub(crate) fn finish(mut self, file: &File) {
        let _ = SockRef::from(&self.stream).set_recv_buffer_size(FAST_BUFFER_BYTES);
        self.stream.set_nonblocking(false).unwrap();
        let mut buffer = vec![0; FAST_BUFFER_BYTES];
        while self.position < file.length {
            assert!(self.take(&mut buffer, file), "download {} hangs at {}", self.number, self.position);
        }
    }

    /// The number of bytes of the file that were read.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Reads once; returns whether bytes had arrived.
    fn take(&mut self, buffer: &mut [u8], file: &File) -> bool {
        match self.stream.read(buffer) {
            Ok(0) => panic!("download {} was cut at {}", self.number, self.position),
            Ok(read) => self.compare(&buffer[..read], file),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return false,
            Err(error) => panic!("download {} was cut at {}: {error}", self.number, self.position),
        }
        true
    }

    fn compare(&mut self, bytes: &[u8], file: &File) {
        self.read += bytes.len() as u64;
        if self.has_head {
            return self.compare_file(bytes, file);
        }
        self.head.extend_from_slice(bytes);
        let Some(end) = self.head.windows(4).position(|window| window == b"\r\n\r\n") else { return };
        let whole = std::mem::take(&mut self.head);
        let head = String::from_utf8_lossy(&whole[..end + 2]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", file.length)), "{head}");
        assert!(!head.contains("x-sendfile"), "{head}");
        self.has_head = true;
        self.compare_file(&whole[end + 4..], file);
    }

    fn compare_file(&mut self, bytes: &[u8], file: &File) {
        assert!(file.has_at(self.position, bytes), "download {}: wrong bytes behind {}", self.number, self.position);
        self.position += bytes.len() as u64;
    }
}

/// The content of a file: one block of noise, repeated. The block's length is prime, so places that are a whole number of pages or windows
/// apart differ.
pub(crate) struct File {
    pub(crate) length: u64,
    block: Vec<u8>,
}

impl File {
    const BLOCK_BYTES: usize = 1_048_573;

    pub(crate) fn new(length: u64) -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut byte = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 56) as u8
        };
        Self { length, block: (0..Self::BLOCK_BYTES).map(|_| byte()).collect() }
    }

    pub(crate) fn write_to(&self, path: &std::path::Path) {
        let mut file = std::fs::File::create(path).unwrap();
        let mut left = self.length as usize;
        while left > 0 {
            let piece = &self.block[..left.min(self.block.len())];
            file.write_all(piece).unwrap();
            left -= piece.len();
        }
    }

    fn has_at(&self, position: u64, mut bytes: &[u8]) -> bool {
        let mut start = (position % self.block.len() as u64) as usize;
        while !bytes.is_empty() {
            let length = bytes.len().min(self.block.len() - start);
            if self.block[start..start + length] != bytes[..length] {
                return false;
            }
            bytes = &bytes[length..];
            start = 0;
        }
        true
    }
}

/// The most that has been sent of any download, in bytes with the head: the bytes that were read, and those that the kernel holds in the
/// sockets of both sides (proc(5), /proc/net/tcp).
pub(crate) fn sent_max(server: SocketAddr, readers: &[Reader]) -> u64 {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut held = HashMap::<u16, u64>::new();
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().take(5).collect();
        let port = |word: &str| u16::from_str_radix(word.split_once(':').unwrap().1, 16).unwrap();
        let (local, remote) = (port(words[1]), port(words[2]));
        let (sending, received) = words[4].split_once(':').unwrap();
        let (client, bytes) = match (local == server.port(), remote == server.port()) {
            (true, false) => (remote, sending),
            (false, true) => (local, received),
            _ => continue,
        };
        *held.entry(client).or_default() += u64::from_str_radix(bytes, 16).unwrap();
    }
    let sent = |reader: &Reader| reader.read + held[&reader.stream.local_addr().unwrap().port()];
    readers.iter().map(sent).max().unwrap()
}
