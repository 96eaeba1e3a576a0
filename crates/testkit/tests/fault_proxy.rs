//! Tests that the proxy does to connections what each fault says, and that a fault ends when it is switched off.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use kasoku_testkit::{Fault, FaultProxy, WAIT_MAX};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A server that sends back what it gets, with this byte in front of each connection.
fn echo(first: u8) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let _ = (&stream).write_all(&[first]);
                let _ = std::io::copy(&mut &stream, &mut &stream);
            });
        }
    });
    address
}

struct Client(TcpStream);

impl Client {
    /// Connects, and reads the byte of the server.
    fn of(proxy: &FaultProxy) -> (Self, u8) {
        let mut client = Self::connect(proxy);
        let first = client.read(1)[0];
        (client, first)
    }

    fn connect(proxy: &FaultProxy) -> Self {
        let stream = TcpStream::connect(proxy.address()).unwrap();
        stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        Self(stream)
    }

    fn read(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn is_echoed(&mut self) -> bool {
        self.send(b"ping");
        self.read(4) == b"ping"
    }

    /// What comes up to the end of the connection, and the error with which it ended.
    fn rest(&mut self) -> (Vec<u8>, Option<ErrorKind>) {
        let mut bytes = Vec::new();
        let ended = self.0.read_to_end(&mut bytes);
        (bytes, ended.err().map(|error| error.kind()))
    }

    /// Whether nothing comes for a moment.
    fn is_silent(&mut self) -> bool {
        self.0.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let read = self.0.read(&mut [0]);
        self.0.set_read_timeout(Some(WAIT_MAX)).unwrap();
        read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|number| (number % 251) as u8).collect()
}

#[test]
fn everything_passes_at_first_and_after_each_fault() {
    let proxy = FaultProxy::start(echo(b'a'));
    let sent = pattern(300_000);
    for fault in [
        Fault::None,
        Fault::Latency(Duration::from_millis(5)),
        Fault::Bandwidth(10 << 20),
        Fault::SlowClose(Duration::from_millis(5)),
        Fault::Slices(1000),
        Fault::Timeout,
        Fault::Reset,
        Fault::Cut(3),
        Fault::Damage(10),
        Fault::Down,
    ] {
        proxy.set(fault);
        let passes = !matches!(fault, Fault::Timeout | Fault::Reset | Fault::Cut(_) | Fault::Damage(_) | Fault::Down);
        if !passes {
            proxy.set(Fault::None);
        }
        let (mut client, _) = Client::of(&proxy);
        let mut writer = client.0.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| writer.write_all(&sent).unwrap());
            assert!(client.read(sent.len()) == sent, "{fault:?}");
        });
    }
}

#[test]
fn latency_delays_each_way() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut client, _) = Client::of(&proxy);
    proxy.set(Fault::Latency(Duration::from_millis(30)));
    let begun = Instant::now();
    assert!(client.is_echoed());
    assert!(begun.elapsed() >= Duration::from_millis(60));
}

#[test]
fn bandwidth_is_bounded() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut client, _) = Client::of(&proxy);
    proxy.set(Fault::Bandwidth(100_000));
    let begun = Instant::now();
    client.send(&pattern(10_000));
    client.read(10_000);
    assert!(begun.elapsed() >= Duration::from_millis(90));
}

#[test]
fn the_end_of_a_connection_comes_later() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut client, _) = Client::of(&proxy);
    proxy.set(Fault::SlowClose(Duration::from_millis(50)));
    let begun = Instant::now();
    client.0.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.rest(), (Vec::new(), None));
    assert!(begun.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_timeout_holds_everything_back_until_it_is_over() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut old, _) = Client::of(&proxy);
    proxy.set(Fault::Timeout);
    old.send(b"ping");
    let mut new = Client::connect(&proxy);
    assert!(old.is_silent() && new.is_silent());
    proxy.set(Fault::None);
    assert_eq!((old.read(4), new.read(1)), (b"ping".to_vec(), b"a".to_vec()));
}

#[test]
fn connections_are_reset_old_and_new() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut old, _) = Client::of(&proxy);
    proxy.set(Fault::Reset);
    assert_eq!(old.rest().1, Some(ErrorKind::ConnectionReset));
    assert_eq!(Client::connect(&proxy).rest().1, Some(ErrorKind::ConnectionReset));
}

#[test]
fn an_answer_is_cut_in_the_middle() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut client, _) = Client::of(&proxy);
    proxy.set(Fault::Cut(6));
    assert!(client.is_echoed());
    client.send(b"ping");
    assert_eq!(client.rest().0, b"pi");
}

#[test]
fn some_bytes_of_the_server_have_a_flipped_bit() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut client, _) = Client::of(&proxy);
    proxy.set(Fault::Damage(100));
    let sent = pattern(10_000);
    client.send(&sent);
    let got = client.read(sent.len());
    let differing: Vec<u8> = got.iter().zip(&sent).map(|(got, sent)| got ^ sent).filter(|bits| *bits != 0).collect();
    assert!((30..300).contains(&differing.len()), "{}", differing.len());
    assert!(differing.iter().all(|bits| bits.count_ones() == 1));
}

#[test]
fn a_proxy_that_is_down_refuses_and_comes_back_at_the_same_place() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut old, _) = Client::of(&proxy);
    proxy.set(Fault::Down);
    let _ = old.rest();
    let refused = TcpStream::connect(proxy.address()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    proxy.set(Fault::None);
    assert!(Client::of(&proxy).0.is_echoed());
}

#[test]
fn swapped_servers_are_those_of_new_connections() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut old, first) = Client::of(&proxy);
    proxy.swap(echo(b'b'));
    let _ = old.rest();
    assert_eq!((first, Client::of(&proxy).1), (b'a', b'b'));
}

#[test]
fn a_dropped_proxy_closes_its_connections() {
    let proxy = FaultProxy::start(echo(b'a'));
    let (mut client, _) = Client::of(&proxy);
    proxy.set(Fault::Timeout);
    client.send(b"ping");
    drop(proxy);
    let _ = client.rest();
}
