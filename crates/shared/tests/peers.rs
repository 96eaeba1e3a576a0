//! Tests of the listener for peers over real sockets, with the right password and without.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use hmac::{Hmac, KeyInit, Mac};
use kasoku_shared::Endpoint;
use kasoku_shared::peers::{OWN_LOG, Peers, listen};
use kasoku_shared::purge_log::{Clock, Epoch, Purger};
use sha2::Sha256;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const TOKEN: &[u8] = b"0123456789abcdef";

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A peer that listens, and its address.
async fn listening(peers: Arc<Peers>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(listen(peers, listener));
    address
}

/// What peers show who have this token.
fn authorization(token: &[u8]) -> String {
    let keyed = Hmac::<Sha256>::new_from_slice(token).unwrap().chain_update("the password of Kasoku's peers");
    let password: String = keyed.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("Authorization: Bearer {password}\r\n")
}

/// Sends a request with this password. Returns the status and the body.
async fn ask(address: SocketAddr, line: &str, fields: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    let exchange = async {
        // A body that is too long need not be taken.
        let _ = stream.write_all(&[format!("{head}{fields}\r\n").as_bytes(), body].concat()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    };
    let answer = timeout(PATIENCE, exchange).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {line}: {answer:?}"));
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn peers_read_and_write_the_log_and_nothing_else() {
    let address = listening(Peers::new(Vec::new(), TOKEN).unwrap()).await;
    let own = authorization(TOKEN);
    let told = async |line: &str, fields: &str, body: &[u8]| ask(address, line, &format!("{own}{fields}"), body).await;
    let add = "If-None-Match: *\r\n";
    assert_eq!(told("GET /kasoku:purges", "", b"").await.0, 404);
    assert_eq!(told("POST /kasoku:purges", "", b"").await.0, 404);
    assert_eq!(told("PUT /kasoku:purges", add, b"7").await.0, 204);
    assert_eq!(told("PUT /kasoku:purges", add, b"9").await.0, 412);
    assert_eq!(told("POST /kasoku:purges", "", b"").await, (200, "8".to_owned()));
    assert_eq!(told("GET /kasoku:purges", "", b"").await, (200, "8".to_owned()));
    assert_eq!(told("PUT /kasoku:purges:8?expires=60", "", b"record").await.0, 204);
    assert_eq!(told("GET /kasoku:purges:8", "", b"").await, (200, "record".to_owned()));
    for (line, body, status) in [
        ("GET /", &b""[..], 400),
        ("GET /kasoku:0123", b"", 400),
        ("PUT /other:log", b"x", 400),
        ("PUT /kasoku:log", b"x", 422),
        ("PUT /kasoku:purges:9", b"not counted", 422),
        ("POST /kasoku:log", b"", 422),
        ("DELETE /kasoku:purges", b"", 405),
        ("HEAD /kasoku:purges", b"", 405),
        ("PUT /kasoku:purges:8", &[b'x'; 100_000], 413),
    ] {
        assert_eq!(told(line, "", body).await.0, status, "{line}");
    }
    assert_eq!(told("GET /kasoku:purges:8", "", b"").await, (200, "record".to_owned()));
}

#[tokio::test]
async fn nobody_else_reads_or_writes() {
    let peers = Peers::new(Vec::new(), TOKEN).unwrap();
    let address = listening(peers.clone()).await;
    assert_eq!(ask(address, "PUT /kasoku:purges", &authorization(TOKEN), b"7").await.0, 204);
    let wrong = ["", "Authorization: Bearer 0123456789abcdef\r\n", &authorization(b"another token of 16")];
    for (fields, status) in wrong.into_iter().zip([401, 403, 403]) {
        for line in ["GET /kasoku:purges", "POST /kasoku:purges", "PUT /kasoku:purges", "GET /x"] {
            assert_eq!(ask(address, line, fields, b"9").await.0, status, "{line} {fields}");
        }
    }
    assert_eq!(ask(address, "GET /kasoku:purges", &authorization(TOKEN), b"").await.1, "7");
    assert_eq!(peers.status().refused, 12);
}

/// A cache that counts what it carries out.
#[derive(Default)]
struct Cache(AtomicU64);

impl Purger for Cache {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        (purge == b"a purge").then(|| self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    async fn make_certain(&self) -> bool {
        true
    }

    fn drop_everything(&self) {
        panic!("nothing is lost");
    }

    fn epoch(&self) -> Epoch {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn many_purges_reach_a_peer_and_come_from_it() {
    const PURGES: u64 = 200;
    let other = Peers::new(Vec::new(), TOKEN).unwrap();
    let address = listening(other.clone()).await;
    let one = Peers::new(vec![Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: address.port() }], TOKEN).unwrap();
    let (mine, theirs) = (Cache::default(), Cache::default());
    let (connections, of_other) = (one.connections(), other.connections());
    let now = || Clock { unix_ms: 1_700_000_000_000, mono_ms: 0 };
    // A front end that has nothing yet needs no purge from before.
    assert!(connections.follow(1, &mine, now).await.unwrap());
    for _ in 0..PURGES {
        let purge = || Ok::<_, ()>((mine.epoch(), b"a purge".to_vec()));
        let _ = one.log().publish(0, purge).unwrap();
        let _ = other.log().publish(0, || Ok::<_, ()>((theirs.epoch(), b"a purge".to_vec()))).unwrap();
    }
    let followed = async {
        while mine.epoch() < PURGES || theirs.epoch() < PURGES {
            assert!(of_other.follow(OWN_LOG, &theirs, now).await.unwrap());
            assert!(connections.follow(1, &mine, now).await.unwrap());
        }
    };
    timeout(PATIENCE, followed).await.unwrap();
    assert_eq!((mine.epoch(), theirs.epoch()), (PURGES, PURGES));
    assert!(one.status().peers[0].is_up && one.status().peers[0].errors == 0);
}

#[tokio::test]
async fn a_server_of_something_else_is_a_failure() {
    for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\nx", "+PONG\r\n", "HTTP/1.1 500 No\r\n\r\n", ""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let peers = Peers::new(vec![Endpoint::Tcp { host: "127.0.0.1".to_owned(), port }], TOKEN).unwrap();
        let now = || Clock { unix_ms: 0, mono_ms: 0 };
        let followed = peers.connections().follow(1, &Cache::default(), now).await;
        assert!(followed.is_err(), "{answer:?}");
        assert_eq!((peers.status().peers[0].errors, peers.status().peers[0].is_up), (1, false), "{answer:?}");
    }
}
