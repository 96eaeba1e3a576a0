//! Placement beside libmemcached's: pylibmc stores values in real servers, and each must be in the server that our ring names.
//!
//! pylibmc takes no ring of both addresses and sockets, and no weight of a socket. Vectors of libmemcached itself are in the tests of
//! `placement`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "not each test needs all of it")]
mod support;

use kasoku_shared::memcached::{MemcachedOptions, ServerAddress};
use kasoku_shared::placement::Distribution;
use kasoku_shared::{Client, Endpoint};
use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use support::{Memcached, options, servers};
use tokio::task::JoinSet;

const KEYS: usize = 10_000;

/// Keys that are asked for at once.
const AT_ONCE: usize = 500;

/// libmemcached leaves this port out of the names of points.
const DEFAULT_PORT: u16 = 11211;

/// Stores the keys of each line of its input (`behavior prefix server …`), with each key as its own value.
const STORE: &str = r#"
import sys, pylibmc
for line in sys.stdin:
    behavior, prefix, *servers = line.split()
    client = pylibmc.Client(servers, behaviors={behavior: True, "tcp_nodelay": True})
    failed = client.set_multi({f"{prefix}-{n}": f"{prefix}-{n}" for n in range(int(sys.argv[1]))})
    assert not failed, (line, failed[:3])
"#;

/// A ring, and what its keys begin with.
struct Row {
    prefix: String,
    distribution: Distribution,
    servers: Vec<ServerAddress>,
}

impl Row {
    /// The line for pylibmc.
    fn line(&self) -> String {
        let behavior = match self.distribution {
            Distribution::Ketama => "ketama",
            Distribution::KetamaWeighted => "ketama_weighted",
        };
        let servers = self.servers.iter().map(|server| match &server.endpoint {
            Endpoint::Unix(path) => path.display().to_string(),
            tcp => format!("{tcp}:{}", server.weight),
        });
        let servers: Vec<String> = servers.collect();
        format!("{behavior} {} {}\n", self.prefix, servers.join(" "))
    }
}

/// Servers on the default port of several loopback addresses, which no other test uses at this time. Empty if another program has the
/// port on all addresses.
fn on_the_default_port(count: usize) -> Vec<Memcached> {
    let process = std::process::id();
    let host = |number| format!("127.{}.{}.{}", 64 + process / 65536 % 64, process / 256 % 256, number);
    let first = (process % 32) as usize * 8 + 1;
    if TcpStream::connect((host(first), DEFAULT_PORT)).is_ok() {
        eprintln!(
            "another program has port {DEFAULT_PORT} on all addresses, so placement on this port is not compared"
        );
        return vec![];
    }
    (first..first + count).map(|number| Memcached::at(&host(number), DEFAULT_PORT).expect("the port is free")).collect()
}

fn rows(tcp: &[Memcached], unix: &[Memcached], default_port: &[Memcached]) -> Vec<Row> {
    let address = |endpoint, weight| ServerAddress { endpoint, weight };
    let at = |server: &Memcached| address(server.endpoint(), 1);
    let named = |server: &Memcached| match server.endpoint() {
        Endpoint::Tcp { port, .. } => address(Endpoint::Tcp { host: "localhost".into(), port }, 1),
        Endpoint::Unix(_) => panic!("a socket has no host"),
    };
    let weighted = |servers: &[Memcached], weights: &[u32]| {
        servers.iter().zip(weights).map(|(server, &weight)| address(server.endpoint(), weight)).collect()
    };
    let mut lists: Vec<Vec<ServerAddress>> = vec![
        vec![at(&tcp[0])],
        tcp.iter().take(4).map(at).collect(),
        tcp.iter().map(at).collect(),
        vec![named(&tcp[0]), at(&tcp[1]), named(&tcp[2]), at(&tcp[3])],
        vec![at(&unix[0])],
        unix.iter().take(4).map(at).collect(),
        unix.iter().map(at).collect(),
        weighted(tcp, &[1, 3, 2, 7]),
        weighted(tcp, &[5, 1, 1, 3, 9, 2, 4]),
    ];
    if let [first, second, third, fourth] = default_port {
        lists.push(default_port.iter().map(at).collect());
        lists.push([&tcp[1], first, &tcp[0], second, third, &tcp[2], fourth].map(at).into());
        lists.push(weighted(default_port, &[2, 1, 4, 1]));
    }
    let both = |(number, list): (usize, &Vec<ServerAddress>)| {
        [Distribution::Ketama, Distribution::KetamaWeighted].map(|distribution| Row {
            prefix: format!("ring-{number}-{distribution:?}"),
            distribution,
            servers: list.clone(),
        })
    };
    lists.iter().enumerate().flat_map(both).collect()
}

fn store_with_pylibmc(rows: &[Row]) {
    let mut python = Command::new("/usr/bin/python3")
        .args(["-c", STORE, &KEYS.to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("Debian's python3 is installed");
    let lines: String = rows.iter().map(Row::line).collect();
    python.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success(), "needs python3-pylibmc (scripts/install-test-deps --only cargo)");
}

/// How many keys are where the ring says, and how many keys each server has.
async fn found(client: &Client, prefix: &str) -> (usize, Vec<usize>) {
    let servers = client.servers().clone();
    let mut found = 0;
    let mut keys = vec![0; client.servers().all().len()];
    for begin in (0..KEYS).step_by(AT_ONCE) {
        let mut gets = JoinSet::new();
        for number in begin..begin + AT_ONCE {
            let key = format!("{prefix}-{number}");
            let server = servers.server_of(key.as_bytes());
            keys[server] += 1;
            let client = client.clone();
            gets.spawn(
                async move { client.get(server, key.as_bytes()).await.unwrap().is_some_and(|value| value == key) },
            );
        }
        while let Some(is_found) = gets.join_next().await {
            found += usize::from(is_found.unwrap());
        }
    }
    (found, keys)
}

#[tokio::test]
async fn each_key_is_in_the_server_that_libmemcached_chooses() {
    let tcp: Vec<Memcached> = (0..7).map(|_| Memcached::tcp()).collect();
    let unix: Vec<Memcached> = (0..7).map(|_| Memcached::unix()).collect();
    let default_port = on_the_default_port(4);
    let rows = rows(&tcp, &unix, &default_port);
    store_with_pylibmc(&rows);
    for row in rows {
        let options = MemcachedOptions { distribution: row.distribution, servers: row.servers.clone(), ..options([]) };
        let client = servers(options).client();
        let (found, keys) = found(&client, &row.prefix).await;
        assert_eq!(found, KEYS, "keys of {}", row.line());
        assert!(keys.iter().all(|&keys| keys > 0), "each server has keys: {keys:?} of {}", row.line());
    }
}
