//! A crowd of a thousand clients, and checks of what each of them reads.
//!
//! A few threads go through all members, so a step of the test ("all have read the first half") is one call that returns when it
//! holds for all of them. The clients compare the bytes while they read, and don't keep them.

use crate::PATIENCE;
use kasoku_testkit::client::request;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The size of a crowd, if descriptors allow it.
const SIZE: usize = 1000;

/// Descriptors that a member may need in this process: its own, the engine's, and both ends of a connection to the origin.
const DESCRIPTORS_EACH: usize = 4;

/// Descriptors for all other purposes.
const DESCRIPTORS_BESIDES: usize = 200;

/// The number of threads that go through the members.
const THREADS: usize = 4;

/// The segment size and the receive buffer of a slow reader, in bytes. Over loopback, the kernel would accept a whole megabyte
/// from a sender whose peer does not read; with these values it accepts some ten kilobytes.
const SLOW_SEGMENT_BYTES: u32 = 536;
const SLOW_BUFFER_BYTES: usize = 4096;

/// The size of a crowd: [`SIZE`], or as many clients as descriptors allow. Raises the soft limit to the hard one.
pub(crate) fn size() -> usize {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let descriptors = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    let size = SIZE.min(descriptors.saturating_sub(DESCRIPTORS_BESIDES) / DESCRIPTORS_EACH);
    if size < SIZE {
        eprintln!("the hard limit of descriptors allows only {size} clients");
    }
    size
}

/// The members, in the order of their numbers.
pub(crate) struct Crowd(pub(crate) Vec<Member>);

/// One client.
pub(crate) struct Member {
    /// The member's place in the crowd, from 0.
    pub(crate) number: usize,
    stream: TcpStream,
    /// Bytes that came behind a head.
    ahead: Vec<u8>,
}

/// The head of a response.
#[derive(Debug)]
pub(crate) struct Head(String);

impl Head {
    pub(crate) fn status(&self) -> &str {
        self.0.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a field, or `""` if the head does not have it.
    pub(crate) fn field(&self, name: &str) -> &str {
        let lines = self.0.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    /// Whether this client has joined another client's fill.
    pub(crate) fn is_collapsed(&self) -> bool {
        self.field("cache-status").contains("; collapsed")
    }

    pub(crate) fn is_hit(&self) -> bool {
        self.field("cache-status").contains("; hit")
    }
}

impl Crowd {
    /// Connects that many clients, which send no request yet.
    pub(crate) fn connect(address: SocketAddr, count: usize) -> Self {
        Self((0..count).map(|number| Member::connect(address, number)).collect())
    }

    /// Removes the last `count` members and returns them.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        Self(self.0.split_off(self.0.len() - count))
    }

    /// Calls `what` with each member. Returns the results in the order of the members, when all have finished.
    pub(crate) fn each<T: Send>(&mut self, what: impl Fn(&mut Member) -> T + Sync) -> Vec<T> {
        let share = self.0.len().div_ceil(THREADS).max(1);
        let what = &what;
        std::thread::scope(|scope| {
            let through = |members: &mut [Member]| members.iter_mut().map(what).collect::<Vec<_>>();
            let threads: Vec<_> =
                self.0.chunks_mut(share).map(|members| scope.spawn(move || through(members))).collect();
            // The test fails with the member's panic.
            let join =
                |result: std::thread::Result<Vec<T>>| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            threads.into_iter().flat_map(|thread| join(thread.join())).collect()
        })
    }

    /// All members ask for the same target.
    pub(crate) fn ask(&mut self, target: &str) {
        self.each(|member| member.ask("GET", target, &[]));
    }

    /// All members read a head, which must be a 200.
    pub(crate) fn heads(&mut self) -> Vec<Head> {
        self.each(Member::ok_head)
    }

    /// All members read these bytes of their bodies.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        self.each(|member| member.read(bytes));
    }
}

impl Member {
    pub(crate) fn connect(address: SocketAddr, number: usize) -> Self {
        Self::with(TcpStream::connect_timeout(&address, PATIENCE).unwrap(), number)
    }

    /// Connects a client for which the kernel buffers next to nothing.
    pub(crate) fn connect_slow(address: SocketAddr, number: usize) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(SLOW_BUFFER_BYTES).unwrap();
        socket.set_tcp_mss(SLOW_SEGMENT_BYTES).unwrap();
        socket.connect(&address.into()).unwrap();
        Self::with(socket.into(), number)
    }

    fn with(stream: TcpStream, number: usize) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { number, stream, ahead: Vec::new() }
    }

    pub(crate) fn ask(&mut self, method: &str, target: &str, fields: &[&str]) {
        self.stream.write_all(request(method, target, fields).as_bytes()).unwrap();
    }

    /// Reads a head, which must be a 200.
    #[track_caller]
    pub(crate) fn ok_head(&mut self) -> Head {
        let head = self.head();
        assert_eq!(head.status(), "200", "{} got {head:?}", self.number);
        head
    }

    /// Reads a head.
    #[track_caller]
    pub(crate) fn head(&mut self) -> Head {
        let mut buffer = [0; 1024];
        loop {
            if let Some(end) = self.ahead.windows(4).position(|window| window == b"\r\n\r\n") {
                let behind = self.ahead.split_off(end + 4);
                let head = std::mem::replace(&mut self.ahead, behind);
                return Head(String::from_utf8(head).unwrap());
            }
            let read = self.stream.read(&mut buffer).unwrap_or_else(|error| panic!("{}: {error}", self.number));
            assert_ne!(read, 0, "{} got no head", self.number);
            self.ahead.extend_from_slice(&buffer[..read]);
        }
    }

    /// Reads exactly these bytes.
    #[track_caller]
    pub(crate) fn read(&mut self, expected: &[u8]) {
        let known = self.ahead.len().min(expected.len());
        let ahead: Vec<u8> = self.ahead.drain(..known).collect();
        assert!(ahead == expected[..known], "{}: other bytes than expected", self.number);
        let (mut buffer, mut done) = ([0; 32 << 10], known);
        while done < expected.len() {
            let wanted = buffer.len().min(expected.len() - done);
            let read = match self.stream.read(&mut buffer[..wanted]) {
                Ok(0) => panic!("{} was cut after {done} of {} bytes", self.number, expected.len()),
                Ok(read) => read,
                Err(error) => panic!("{} after {done} of {} bytes: {error}", self.number, expected.len()),
            };
            assert!(buffer[..read] == expected[done..done + read], "{}: other bytes behind {done}", self.number);
            done += read;
        }
    }

    /// Sends a request, and reads the whole answer: its head, and this body.
    #[track_caller]
    pub(crate) fn get(&mut self, target: &str, fields: &[&str], body: &[u8]) -> Head {
        self.ask("GET", target, fields);
        self.whole(body)
    }

    /// Reads a head that announces the length of this body, and the body.
    #[track_caller]
    pub(crate) fn whole(&mut self, body: &[u8]) -> Head {
        let head = self.ok_head();
        assert_eq!(head.field("content-length"), body.len().to_string(), "{} got {head:?}", self.number);
        self.read(body);
        head
    }

    /// Waits for the end of the connection, clean or not. No byte may come before it.
    #[track_caller]
    pub(crate) fn ends(&mut self) {
        assert!(self.ahead.is_empty(), "{} got more", self.number);
        match self.stream.read(&mut [0; 1]) {
            Ok(0) => {}
            Ok(_) => panic!("{} got more", self.number),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("{}: the connection stays open", self.number)
            }
            Err(_) => {}
        }
    }

    /// From now on, the client has a receive buffer like others.
    pub(crate) fn hurry(&self) {
        SockRef::from(&self.stream).set_recv_buffer_size(1 << 20).unwrap();
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    }
}
