//! An origin for the traffic test whose paths select the kind of answer, one request for each connection.
//!
//! | path | answer |
//! |---|---|
//! | `/page…` | fresh for a minute, with a validator |
//! | `/private…` | may not be stored |
//! | `/pass/…` | as without `/pass` |
//! | `/stale…` | stale at once, with `stale-while-revalidate`; 304 if validated |
//! | `/chunked…` | fresh, in chunks |
//! | `/cut…` | fewer bytes than `Content-Length` |
//! | `/garbage…` | is no HTTP |
//! | `/upgrade…` | switches protocols |
//! | `/think…` | nothing until [`Origin::open`], then as `/page` |
//! | `/half…` | the first half, and the second after [`Origin::open`] |

use super::support::PATIENCE;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

pub(crate) struct Origin {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    asked: Vec<String>,
    open: HashSet<String>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new((Mutex::default(), Condvar::new()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                // Errors are ignored: Kasoku may close the connection if its client has left.
                std::thread::spawn(move || drop(answer(stream, &shared)));
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until the origin has got a request for the path.
    pub(crate) fn is_asked(&self, path: &str) {
        let (state, changed) = &*self.state;
        let is_missing = |state: &mut State| !state.asked.iter().any(|asked| asked == path);
        let waited = changed.wait_timeout_while(state.lock().unwrap(), PATIENCE, is_missing).unwrap();
        assert!(!waited.1.timed_out(), "{path} is never asked for");
    }

    /// Lets the answers for the path continue.
    pub(crate) fn open(&self, path: &str) {
        let (state, changed) = &*self.state;
        state.lock().unwrap().open.insert(path.to_owned());
        changed.notify_all();
    }
}

fn answer(mut stream: TcpStream, shared: &(Mutex<State>, Condvar)) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let lines: Vec<String> =
        reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let field = |name: &str| {
        lines.iter().find_map(|line| line.split_once(": ").filter(|(one, _)| one.eq_ignore_ascii_case(name)))
    };
    let body_bytes = field("content-length").map_or(0, |(_, length)| length.parse().unwrap());
    reader.read_exact(&mut vec![0; body_bytes])?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let (state, changed) = shared;
    state.lock().unwrap().asked.push(path.clone());
    changed.notify_all();
    let wait =
        || drop(changed.wait_timeout_while(state.lock().unwrap(), PATIENCE, |state| !state.open.contains(&path)));

    let ok = |fields: &str| format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{fields}\r\n\r\n");
    let fresh = ok("Content-Length: 6\r\nCache-Control: max-age=60\r\nETag: \"1\"");
    let kind =
        path.trim_start_matches("/pass").trim_start_matches('/').split(['/', '?', '-']).next().unwrap_or_default();
    let text = match kind {
        "private" => ok("Content-Length: 6\r\nCache-Control: no-store") + "mine!!",
        "stale" if field("if-none-match").is_some() => "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n".to_owned(),
        "stale" => {
            ok("Content-Length: 5\r\nCache-Control: max-age=0, stale-while-revalidate=600\r\nETag: \"1\"") + "stale"
        }
        "chunked" => {
            ok("Transfer-Encoding: chunked\r\nCache-Control: max-age=60") + "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
        }
        "cut" => ok("Content-Length: 9\r\nCache-Control: max-age=60") + "abc",
        "garbage" => "this is no HTTP\r\n\r\n".to_owned(),
        "upgrade" => "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n".to_owned(),
        "think" => {
            wait();
            fresh + "abcdef"
        }
        "half" => {
            stream.write_all(format!("{fresh}abc").as_bytes())?;
            wait();
            "def".to_owned()
        }
        _ => fresh + "abcdef",
    };
    stream.write_all(text.as_bytes())
}
