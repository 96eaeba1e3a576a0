//! An origin that computes its answers from the requests: for a thousand requests at once, and answers that name the client.
//!
//! The scripted origin of the testkit has a fixed script. This one calls a function with the request and its number in the order
//! of arrival. A test waits for events by [`Source::arrived`], and releases answers by [`Latch`]es.

use crate::PATIENCE;
use kasoku_options::{OriginAddress, OriginOptions};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The number of connections that may wait to be accepted: the clients of a released crowd all connect at once.
const BACKLOG: i32 = 4096;

/// A latch is closed until the test opens it. It waits longer than the testkit's gate: as long as a crowd may take on a busy
/// machine.
#[derive(Clone, Default)]
pub(crate) struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until the latch is open. A panic here ends one of the origin's connections, and so fails the test.
    pub(crate) fn wait(&self) {
        let closed = self.0.0.lock().unwrap();
        let (open, _) = self.0.1.wait_timeout_while(closed, PATIENCE, |open| !*open).unwrap();
        assert!(*open, "nobody opened it");
    }
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The number of requests before it.
    pub(crate) number: usize,
    head: String,
}

impl Asked {
    /// The method and the target.
    pub(crate) fn what(&self) -> String {
        self.head.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    /// The value of a field, or `""` if the request does not have it.
    pub(crate) fn field(&self, name: &str) -> String {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    }
}

/// What the origin does with the connection after an answer.
pub(crate) enum After {
    /// It waits for the next request.
    Kept,
    /// It closes the connection.
    Closed,
    /// It resets the connection.
    Reset,
}

/// The connection on which the origin sends its answer.
pub(crate) struct Out<'a>(&'a TcpStream);

impl Out<'_> {
    /// Sends these bytes. Ignores a client that has gone: the test notices that itself.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref());
    }
}

/// See the [module](self).
pub(crate) struct Source {
    address: SocketAddr,
    asked: Arc<(Mutex<Vec<Asked>>, Condvar)>,
}

impl Source {
    /// Starts the origin. Its threads end with the process.
    pub(crate) fn start(answer: impl Fn(&Asked, &mut Out<'_>) -> After + Send + Sync + 'static) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(BACKLOG).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let asked: Arc<(Mutex<Vec<Asked>>, Condvar)> = Arc::default();
        let (record, answer) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (record, answer) = (record.clone(), answer.clone());
                std::thread::spawn(move || {
                    while let Some(head) = next_head(&stream) {
                        let asked = arrive(&record, head);
                        match answer(&asked, &mut Out(&stream)) {
                            After::Kept => {}
                            After::Closed => return,
                            After::Reset => return SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap(),
                        }
                    }
                });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn address(&self) -> OriginOptions {
        OriginAddress::http(self.address.ip().to_string(), self.address.port()).into()
    }

    /// The method and target of each request so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.0.lock().unwrap().iter().map(Asked::what).collect()
    }

    /// Waits until that many requests have arrived.
    #[track_caller]
    pub(crate) fn arrived(&self, count: usize) {
        let asked = self.asked.0.lock().unwrap();
        let (asked, _) = self.asked.1.wait_timeout_while(asked, PATIENCE, |asked| asked.len() < count).unwrap();
        let came = asked.len();
        drop(asked);
        assert!(came >= count, "{came} of {count} requests came");
    }
}

fn arrive(record: &(Mutex<Vec<Asked>>, Condvar), head: String) -> Asked {
    let mut all = record.0.lock().unwrap();
    let asked = Asked { number: all.len(), head };
    all.push(asked.clone());
    record.1.notify_all();
    asked
}

/// The head of the next request. The requests of these tests have no body.
fn next_head(mut stream: &TcpStream) -> Option<String> {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(read @ 1..) => head.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
    Some(String::from_utf8(head).unwrap())
}
