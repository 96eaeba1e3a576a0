//! HTTP/1 messages as the clients and the origin read them: strictly, and with code that shares nothing with the program under test.
//!
//! One distinction matters here: a message that was *cut* (the connection ended or was reset before the end of its framing) is no
//! mistake; a message that is *broken* (no HTTP, two framings at once) is one.

use std::io::{self, Read};
use std::net::TcpStream;

/// The longest head and the longest body that are accepted, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
const BODY_BYTES_MAX: u64 = 16 << 20;
const READ_BYTES: usize = 64 << 10;

/// Why no more can be read.
#[derive(Debug)]
pub enum Trouble {
    /// The connection ended or was reset.
    Cut,
    /// Nothing came in time.
    Silence,
    /// The bytes are no HTTP.
    Broken(String),
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After so many bytes.
    Bytes(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection.
    Close,
}

/// The fields of a message, in their order.
#[derive(Clone, Debug, Default)]
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// The value of the only line of that name; `None`: there is none, or more than one.
    pub fn only(&self, name: &str) -> Option<&str> {
        let mut all = self.all(name);
        all.next().filter(|_| all.next().is_none())
    }

    /// All values of that name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Whether there is such a field.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Whether the list of that name has that member, ignoring case and parameters.
    pub fn lists(&self, name: &str, member: &str) -> bool {
        let token = |one: &str| one.split(';').next().is_some_and(|token| token.trim().eq_ignore_ascii_case(member));
        self.all(name).flat_map(|value| value.split(',')).any(token)
    }

    fn of(headers: &[httparse::Header<'_>]) -> Self {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        Self(headers.iter().map(|header| (header.name.to_owned(), text(header.value))).collect())
    }

    /// The framing that the fields name, if any. Two framings at once are broken.
    pub fn framing(&self) -> Result<Option<Length>, Trouble> {
        match (self.has("transfer-encoding"), self.has("content-length")) {
            (true, true) => Err(Trouble::Broken("both Transfer-Encoding and Content-Length".to_owned())),
            (true, false) if self.only("transfer-encoding") == Some("chunked") => Ok(Some(Length::Chunked)),
            (true, false) => Err(Trouble::Broken("an unknown transfer coding".to_owned())),
            (false, true) => match self.only("content-length").and_then(|value| value.parse().ok()) {
                Some(bytes) if bytes <= BODY_BYTES_MAX => Ok(Some(Length::Bytes(bytes))),
                _ => Err(Trouble::Broken(format!("Content-Length: {:?}", self.only("content-length")))),
            },
            (false, false) => Ok(None),
        }
    }
}

/// The head of a request.
pub struct RequestHead {
    /// As sent.
    pub method: String,
    /// As sent.
    pub target: String,
    /// All fields.
    pub fields: Fields,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// Minor version of HTTP/1.
    pub minor: u8,
    /// All fields.
    pub fields: Fields,
}

/// Reads messages from a socket.
pub struct Reader<'s> {
    socket: &'s TcpStream,
    buffer: Vec<u8>,
    start: usize,
}

impl<'s> Reader<'s> {
    /// Reads from that socket. Its read timeout bounds each wait.
    pub fn new(socket: &'s TcpStream) -> Self {
        Self { socket, buffer: Vec::new(), start: 0 }
    }

    /// Whether bytes were read that belong to no message yet.
    pub fn has_more(&self) -> bool {
        self.start < self.buffer.len()
    }

    /// The next request's head; `None`: the connection ended before it.
    pub fn request(&mut self) -> Result<Option<RequestHead>, Trouble> {
        let Some(head) = self.head()? else { return Ok(None) };
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut fields);
        request.parse(&head).map_err(|error| Trouble::Broken(error.to_string()))?;
        let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        Ok(Some(RequestHead {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: Fields::of(request.headers),
        }))
    }

    /// The next response's head; `None`: the connection ended in order before it. (A reset is a cut.)
    pub fn response(&mut self) -> Result<Option<ResponseHead>, Trouble> {
        let Some(head) = self.head()? else { return Ok(None) };
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut fields);
        response.parse(&head).map_err(|error| Trouble::Broken(error.to_string()))?;
        let (status, minor) = (response.code.unwrap_or_default(), response.version.unwrap_or_default());
        Ok(Some(ResponseHead { status, minor, fields: Fields::of(response.headers) }))
    }

    fn head(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        let mut searched = self.start;
        loop {
            let end = self.buffer[searched..].windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end.map(|at| searched + at + 4) {
                let head = self.buffer[self.start..end].to_vec();
                self.start = end;
                return Ok(Some(head));
            }
            searched = self.buffer.len().saturating_sub(3).max(self.start);
            if self.buffer.len() - self.start > HEAD_BYTES_MAX {
                return Err(Trouble::Broken("a head without an end".to_owned()));
            }
            let kept = searched - self.start;
            let is_empty = !self.has_more();
            match self.more()? {
                true => {}
                false if is_empty => return Ok(None),
                false => return Err(Trouble::Cut),
            }
            searched = self.start + kept;
        }
    }

    /// Appends the body to `body`. After each read it calls `each` with the length so far; `each` says whether to go on.
    pub fn body(
        &mut self,
        length: Length,
        body: &mut Vec<u8>,
        each: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Trouble> {
        match length {
            Length::Bytes(bytes) => self.exactly(bytes, body, each),
            Length::Chunked => loop {
                let line = self.line()?;
                let digits = line.split(';').next().unwrap_or_default();
                let bytes = u64::from_str_radix(digits, 16).ok().filter(|bytes| *bytes <= BODY_BYTES_MAX);
                let bytes = bytes.ok_or_else(|| Trouble::Broken(format!("a chunk of {line:?}")))?;
                if bytes == 0 {
                    while !self.line()?.is_empty() {}
                    return Ok(());
                }
                self.exactly(bytes, body, each)?;
                if !self.line()?.is_empty() {
                    return Err(Trouble::Broken("a chunk longer than it says".to_owned()));
                }
            },
            Length::Close => loop {
                let have = self.buffer.len() - self.start;
                match self.exactly(have as u64, body, each).and_then(|()| self.more()) {
                    Ok(true) => {}
                    other => return other.map(drop),
                }
            },
        }
    }

    fn exactly(
        &mut self,
        mut bytes: u64,
        body: &mut Vec<u8>,
        each: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Trouble> {
        while bytes > 0 {
            if !self.has_more() {
                self.fill()?;
            }
            let count = bytes.min((self.buffer.len() - self.start) as u64) as usize;
            body.extend_from_slice(&self.buffer[self.start..self.start + count]);
            self.start += count;
            bytes -= count as u64;
            if !each(body.len()) {
                return Err(Trouble::Cut);
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String, Trouble> {
        loop {
            if let Some(end) = self.buffer[self.start..].windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[self.start..self.start + end]).into_owned();
                self.start += end + 2;
                return Ok(line);
            }
            if self.buffer.len() - self.start > HEAD_BYTES_MAX {
                return Err(Trouble::Broken("a line without an end".to_owned()));
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), Trouble> {
        if self.more()? { Ok(()) } else { Err(Trouble::Cut) }
    }

    /// Reads once; `false`: the connection has ended in order.
    fn more(&mut self) -> Result<bool, Trouble> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let had = self.buffer.len();
        self.buffer.resize(had + READ_BYTES, 0);
        let read = self.socket.read(&mut self.buffer[had..]);
        self.buffer.truncate(had + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(Trouble::Silence)
            }
            Err(_) => Err(Trouble::Cut),
        }
    }
}
