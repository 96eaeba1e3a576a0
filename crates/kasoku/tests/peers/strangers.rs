//! Tests of what the listener for peers does to others: without the token nothing is read or purged, and nothing that is sent there hurts.

use crate::fleet::{FRONT_ENDS, Fleet, PURGE_BOUND, Setup};
use crate::front_end::Scope;
use crate::support::PATIENCE;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Sends bytes, and reads until the end. `is_all`: says that no more come, which the listener may take for a client that has gone. `None`: the
/// connection was reset.
fn answer_to(address: SocketAddr, sent: &[u8], is_all: bool) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // What the listener does not want to read, it does not take.
    let _ = stream.write_all(sent);
    if is_all {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {}
        Err(error) => panic!("the listener does not end the connection: {error}"),
    }
    (!answer.is_empty()).then(|| String::from_utf8_lossy(&answer).into_owned())
}

fn status(answer: Option<String>) -> Option<u16> {
    answer?.get(9..12)?.parse().ok()
}

#[test]
fn a_front_end_with_another_token_purges_nothing_and_hears_of_nothing() {
    let fleet = Fleet::start(Setup { has_stranger: true, ..Setup::PLAIN });
    let target = "/page/300/token";
    let ask = |number: usize| fleet.front_ends[number].get(target).version(target, "");
    (0..FRONT_ENDS).for_each(|number| assert_eq!(ask(number), 1));
    fleet.origin.change(target);
    let stranger = FRONT_ENDS - 1;
    fleet.front_ends[stranger].purge(Scope::All, false);
    std::thread::sleep(PURGE_BOUND + Duration::from_millis(500));
    assert_eq!([ask(0), ask(1), ask(stranger)], [1, 1, 2]);
    fleet.origin.change(target);
    fleet.front_ends[0].purge(Scope::Key(target), false);
    std::thread::sleep(PURGE_BOUND + Duration::from_millis(500));
    assert_eq!([ask(0), ask(1), ask(stranger)], [3, 3, 2]);
    let refused = [0, 1, stranger].map(|number| fleet.number(number, "kasoku_peer_requests_refused_total"));
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
    fleet.front_ends[stranger].program().said_at("the token is another one");
}

#[test]
fn what_strangers_send_is_refused_and_changes_nothing() {
    let fleet = Fleet::start(Setup::PLAIN);
    let address = fleet.listeners[0];
    let target = "/page/300/strangers";
    fleet.front_ends.iter().for_each(|it| assert_eq!(it.get(target).version(target, ""), 1));
    let request = |line: &str, fields: &str| format!("{line} HTTP/1.1\r\nHost: x\r\n{fields}\r\n").into_bytes();
    let bearer = "Authorization: Bearer 0123456789abcdef\r\n";
    for (line, fields, expected) in [
        ("GET /kasoku:purges", "", 401),
        ("POST /kasoku:purges", "", 401),
        ("DELETE /", "", 401),
        ("GET /kasoku:log", bearer, 403),
        // The token itself is not what peers show.
        ("PUT /kasoku:log?expires=1", "Authorization: Bearer 0123456789abcdef\r\nContent-Length: 0\r\n", 403),
        ("GET /", "Authorization: Basic eDp4\r\n", 403),
        ("PUT /kasoku:purges", "Content-Length: 99999999999\r\n", 401),
        ("PUT /kasoku:purges", "Transfer-Encoding: chunked\r\n", 401),
    ] {
        assert_eq!(status(answer_to(address, &request(line, fields), false)), Some(expected), "{line} {fields}");
    }
    let long = format!("X: {}\r\n", "x".repeat(1 << 20));
    let many: String = (0..10_000).map(|number| format!("X{number}: x\r\n")).collect();
    for garbage in [
        request("GET /", &long),
        request("GET /", &many),
        request(&format!("GET /{}", "x".repeat(1 << 20)), ""),
        b"\0".repeat(1 << 20),
        b"\r\n".repeat(1 << 16),
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\n".to_vec(),
        b"get kasoku:purges\r\n".to_vec(),
        [request("PUT /kasoku:purges", "Transfer-Encoding: chunked\r\n"), b"ffffffffffffffffff\r\n".to_vec()].concat(),
        Vec::new(),
    ] {
        let shown = String::from_utf8_lossy(&garbage[..garbage.len().min(40)]).into_owned();
        let status = status(answer_to(address, &garbage, true));
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{shown}: {status:?}");
    }
    assert!(fleet.front_ends.iter().all(|it| it.get(target).version(target, "") == 1));
    assert_eq!(fleet.number(0, "kasoku_peer_dropped_everything_total"), 0);
}

#[test]
fn silent_and_slow_connections_keep_no_peer_out_and_are_cut() {
    let fleet = Fleet::start(Setup::PLAIN);
    let address = fleet.listeners[0];
    let mut silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    for (number, stream) in silent.iter_mut().enumerate().filter(|(number, _)| number % 2 == 0) {
        // Some of them have been cut by now.
        let _ = stream.write_all(format!("GET /kasoku:purges HTTP/1.1\r\nX: {number}\r\n").as_bytes());
    }
    let target = "/page/300/silent";
    let asks = |number: usize| fleet.front_ends[number].get(target).version(target, "");
    (0..FRONT_ENDS).for_each(|number| assert_eq!(asks(number), 1));
    let version = fleet.origin.change(target);
    fleet.front_ends[1].purge(Scope::Key(target), false);
    std::thread::sleep(PURGE_BOUND);
    (0..FRONT_ENDS).for_each(|number| assert_eq!(asks(number), version));
    // A peer that begins anew finds a place.
    fleet.cut(1, 0, kasoku_testkit::Fault::Reset);
    fleet.cut(1, 0, kasoku_testkit::Fault::None);
    fleet.settle(&[0, 1, 2], PATIENCE);
    let begun = Instant::now();
    for mut stream in silent {
        stream.set_read_timeout(Some(PATIENCE + PATIENCE)).unwrap();
        let ended = stream.read_to_end(&mut Vec::new());
        let is_cut = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
        assert!(ended.is_ok() || ended.as_ref().is_err_and(is_cut), "{ended:?} after {:?}", begun.elapsed());
    }
}
