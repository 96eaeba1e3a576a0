//! A raw client: sends exact bytes, reads one response at a time.

use crate::WAIT_MAX;
use crate::memory;
use crate::message::{Framing, Head};
use crate::socket::{Content, Socket, Stopped, Stream};
use kasoku_engine::Entrance;
use socket2::{Domain, Socket as RawSocket, Type};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection.
pub struct Client {
    socket: Socket,
}

/// How a response's body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As its framing promised; without any framing: with a clean close.
    Whole,
    /// The connection was closed or reset before the body's end.
    Cut,
}

/// A response, interim or final.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Status line and fields.
    pub head: Head,
    /// The body without its framing, as far as it came.
    pub body: Vec<u8>,
    /// The trailer fields behind a chunked body.
    pub trailers: Vec<(String, String)>,
    /// How the body ended.
    pub ending: Ending,
}

impl Response {
    /// See [`Head::field`]; `""` where there is none.
    pub fn field(&self, name: &str) -> String {
        self.head.field(name).unwrap_or_default()
    }

    /// Whether a line of that name is there.
    pub fn has(&self, name: &str) -> bool {
        self.head.has(name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Status and body, to be compared at once.
    pub fn short(&self) -> (u16, String) {
        (self.status, self.text())
    }

    /// Whether Cache-Status says that it was a hit.
    pub fn is_hit(&self) -> bool {
        self.cache_status("hit").is_some()
    }

    /// A parameter of Cache-Status: its value, or `""` for a bare one.
    pub fn cache_status(&self, name: &str) -> Option<String> {
        let status = self.field("cache-status");
        status.split(';').skip(1).find_map(|parameter| {
            let (found, value) = parameter.trim().split_once('=').unwrap_or((parameter.trim(), ""));
            (found == name).then(|| value.to_owned())
        })
    }

    /// The `detail` of Cache-Status: the rule that decided.
    pub fn detail(&self) -> String {
        self.cache_status("detail").unwrap_or_default()
    }
}

impl Client {
    /// Connects over TCP.
    pub fn connect(address: SocketAddr) -> Self {
        Self { socket: Socket::new(Stream::Tcp(TcpStream::connect_timeout(&address, WAIT_MAX).unwrap())) }
    }

    /// Connects over TCP from that address of this machine.
    pub fn connect_from(own: IpAddr, address: SocketAddr) -> Self {
        let raw = RawSocket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        raw.bind(&SocketAddr::new(own, 0).into()).unwrap();
        raw.connect(&address.into()).unwrap();
        Self { socket: Socket::new(Stream::Tcp(raw.into())) }
    }

    /// Connects over TCP with a receive buffer so small that the sender soon notices when the client does not read.
    pub fn connect_slow(address: SocketAddr) -> Self {
        let raw = RawSocket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        raw.set_recv_buffer_size(4096).unwrap();
        raw.connect(&address.into()).unwrap();
        let socket = Socket::new(Stream::Tcp(raw.into()));
        socket.small_buffer();
        Self { socket }
    }

    /// Sends requests through doors in memory.
    pub fn in_memory(entrance: Entrance) -> Self {
        Self { socket: memory::connect(entrance) }
    }

    /// Connects to a Unix socket.
    pub fn connect_unix(path: &Path) -> Self {
        Self { socket: Socket::new(Stream::Unix(UnixStream::connect(path).unwrap())) }
    }

    /// Sends these bytes. It is no error if the other side has closed already: its answer can still be read.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.socket.write(bytes.as_ref());
        self
    }

    /// Sends these bytes, and expects that the other side does not take them all at once; returns those that are left.
    #[track_caller]
    pub fn send_held_up<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let sent = self.socket.write_until_held_up(bytes).unwrap();
        assert!(sent < bytes.len(), "all was taken at once");
        &bytes[sent..]
    }

    /// Sends a request without a body to `example.org`; `fields` are whole lines without CRLF.
    pub fn ask(&mut self, method: &str, target: &str, fields: &[&str]) -> &mut Self {
        self.send(request(method, target, fields))
    }

    /// Asks with GET, and reads the response.
    pub fn get(&mut self, target: &str) -> Response {
        self.get_with(target, &[])
    }

    /// The same, with more fields.
    pub fn get_with(&mut self, target: &str, fields: &[&str]) -> Response {
        self.ask("GET", target, fields).response()
    }

    /// Asks with HEAD, and reads the response.
    pub fn head(&mut self, target: &str, fields: &[&str]) -> Response {
        self.ask("HEAD", target, fields).response_to_head()
    }

    /// Sends a body of known length with that method, and reads the response.
    pub fn send_body(&mut self, method: &str, target: &str, fields: &[&str], body: &str) -> Response {
        let length = format!("Content-Length: {}", body.len());
        let fields: Vec<&str> = fields.iter().copied().chain([length.as_str()]).collect();
        self.ask(method, target, &fields).send(body).response()
    }

    /// The next response, interim or final. It must be whole.
    #[track_caller]
    pub fn response(&mut self) -> Response {
        let response = self.cut_response();
        assert_eq!(response.ending, Ending::Whole, "{response:?}");
        response
    }

    /// The next response, which may be cut.
    #[track_caller]
    pub fn cut_response(&mut self) -> Response {
        let head = self.next_head();
        self.rest_of(head)
    }

    /// The response of which [`Client::next_head`] has given the head; it may be cut.
    #[track_caller]
    pub fn rest_of(&mut self, head: Head) -> Response {
        let status = status(&head);
        let framing = head.framing();
        //= RFC 9112 section 6.1
        //# A server MUST NOT send a Transfer-Encoding header field in any response with a status code of 1xx (Informational)
        //# or 204 (No Content).
        if status < 200 || status == 204 {
            assert_eq!(framing, Framing::Nothing, "{head:?}");
        }
        let has_body = status >= 200 && status != 204 && status != 304;
        let Content { body, trailers, stopped } = match framing {
            _ if !has_body => Content::default(),
            Framing::Nothing => {
                assert_eq!(head.field("connection").as_deref(), Some("close"), "no framing: {head:?}");
                let (body, stopped) = self.socket.rest();
                Content { body, stopped: Some(stopped).filter(|s| *s != Stopped::Eof), ..Content::default() }
            }
            framing => self.socket.content(framing),
        };
        assert_ne!(stopped, Some(Stopped::Hangs), "the response hangs: {head:?} {:?}", String::from_utf8_lossy(&body));
        let ending = if stopped.is_some() { Ending::Cut } else { Ending::Whole };
        Response { status, head, body, trailers, ending }
    }

    /// The next response, which has no body, whatever its head says.
    #[track_caller]
    pub fn response_to_head(&mut self) -> Response {
        let head = self.next_head();
        let _ = head.framing();
        let status = status(&head);
        Response { status, head, body: Vec::new(), trailers: Vec::new(), ending: Ending::Whole }
    }

    /// The head of the next response; its body is left to be read.
    #[track_caller]
    pub fn next_head(&mut self) -> Head {
        match self.socket.head() {
            Ok(head) => head,
            Err(stopped) => {
                panic!("no response: {stopped:?}, behind {:?}", String::from_utf8_lossy(self.socket.ahead()))
            }
        }
    }

    /// Reads exactly as many bytes as `text` has, and compares them.
    #[track_caller]
    pub fn reads(&mut self, text: &str) -> &mut Self {
        let (bytes, stopped) = self.socket.exactly(text.len());
        assert_eq!(String::from_utf8_lossy(&bytes), text, "{stopped:?}");
        self
    }

    /// Reads exactly that many bytes.
    #[track_caller]
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let (bytes, stopped) = self.socket.exactly(count);
        assert_eq!((bytes.len(), stopped), (count, None));
        bytes
    }

    /// Waits for the end of the connection: nothing more may come, and the close must be a clean one.
    #[track_caller]
    pub fn is_closed(&mut self) {
        let (bytes, stopped) = self.socket.rest();
        assert_eq!((String::from_utf8_lossy(&bytes).as_ref(), stopped), ("", Stopped::Eof));
    }

    /// Waits for a reset of the connection: nothing more may come before.
    #[track_caller]
    pub fn is_reset(&mut self) {
        let (bytes, stopped) = self.socket.rest();
        assert_eq!((String::from_utf8_lossy(&bytes).as_ref(), stopped), ("", Stopped::Reset));
    }

    /// Waits for the end of the connection, clean or not; returns what came before.
    #[track_caller]
    pub fn rest(&mut self) -> String {
        let (bytes, stopped) = self.socket.rest();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert_ne!(stopped, Stopped::Hangs, "the connection stays open behind {text:?}");
        text
    }

    /// Ends the sending side; reading goes on.
    pub fn shutdown_write(&mut self) -> &mut Self {
        self.socket.shutdown_write().unwrap();
        self
    }

    /// Closes the connection with a reset.
    pub fn reset(self) {
        self.socket.reset_on_close();
    }
}

/// The bytes of a request to `example.org`, or to the host that `fields` name.
pub fn request(method: &str, target: &str, fields: &[&str]) -> String {
    let has_host = fields.iter().any(|line| line.to_ascii_lowercase().starts_with("host:"));
    let host = if has_host { "" } else { "Host: example.org\r\n" };
    let fields: String = fields.iter().map(|line| format!("{line}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\n{host}{fields}\r\n")
}

fn status(head: &Head) -> u16 {
    assert!(head.line.starts_with("HTTP/1.1 "), "{head:?}");
    head.word(1).parse().unwrap_or_else(|_| panic!("{head:?}"))
}
