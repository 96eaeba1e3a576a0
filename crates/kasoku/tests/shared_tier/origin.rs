//! The origin of the shared tier's tests. It makes the pages of `page`, numbers their versions, and counts what it is asked.
//!
//! The first part of a path says what kind of page it is: `page`, `vary` and `slow` may be shared; the kinds of [`PRIVATE`] may not, whether by
//! their fields or by the request. A POST changes the page.

use crate::page;
use kasoku_oracle::wire::{Length, Reader, RequestHead};
use std::collections::HashMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The kinds of pages that no server may have, and the fields by which the origin says so. `pass` is a rule of the configuration.
pub(crate) const PRIVATE: [(&str, &str); 7] = [
    ("private", "Cache-Control: private, max-age=600\r\n"),
    ("no-store", "Cache-Control: no-store\r\n"),
    ("private-field", "Cache-Control: private=\"x-user\", max-age=600\r\nX-User: anna\r\n"),
    ("cookie", "Cache-Control: max-age=600\r\nSet-Cookie: session=secret\r\n"),
    ("no-expiry", ""),
    ("vary-all", "Cache-Control: max-age=600\r\nVary: *\r\n"),
    ("pass", "Cache-Control: max-age=600\r\n"),
];

/// How long a page of the kind `slow` takes: longer than all clients need to ask for it.
const SLOW: Duration = Duration::from_millis(1500);

/// See the [module](self).
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: HashMap<String, u64>,
    /// The changes of each page.
    changes: HashMap<String, u64>,
}

impl Origin {
    /// Starts it; it ends with the tests.
    pub(crate) fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Arc::new(Self { address: listener.local_addr().unwrap(), state: Mutex::default() });
        let serving = origin.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                std::thread::spawn(move || serving.converse(&stream));
            }
        });
        origin
    }

    /// How often it was asked for that page.
    pub(crate) fn asked(&self, target: &str) -> u64 {
        self.state().asked.get(target).copied().unwrap_or(0)
    }

    /// The version in which it gives the page now.
    pub(crate) fn version(&self, target: &str) -> u64 {
        1 + self.state().changes.get(target).copied().unwrap_or(0)
    }

    /// Changes the page. Returns its new version.
    pub(crate) fn change(&self, target: &str) -> u64 {
        let mut state = self.state();
        let changes = state.changes.entry(target.to_owned()).or_default();
        *changes += 1;
        1 + *changes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn converse(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = Reader::new(stream);
        while let Ok(Some(head)) = reader.request() {
            let length = head.fields.framing().ok().flatten().unwrap_or(Length::Bytes(0));
            if reader.body(length, &mut Vec::new(), &mut |_| true).is_err() {
                return;
            }
            let mut writer = stream;
            if writer.write_all(&self.answer(&head)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, head: &RequestHead) -> Vec<u8> {
        let target = &*head.target;
        *self.state().asked.entry(target.to_owned()).or_default() += 1;
        if head.method == "POST" {
            self.change(target);
            return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
        }
        let kind = target.split('/').nth(1).unwrap_or_default();
        if kind == "slow" {
            std::thread::sleep(SLOW);
        }
        let language = if page::varies(target) { head.fields.only("accept-language").unwrap_or_default() } else { "" };
        let version = self.version(target);
        let private = PRIVATE.iter().find(|(one, _)| *one == kind).map(|(_, fields)| *fields);
        let control = match (kind, private) {
            (_, Some(fields)) => fields,
            ("vary", _) => "Cache-Control: max-age=600\r\nVary: Accept-Language\r\n",
            ("brief", _) => "Cache-Control: max-age=1\r\n",
            _ => "Cache-Control: max-age=600\r\n",
        };
        let tag = format!("\"{version}{language}\"");
        if head.fields.only("if-none-match") == Some(&tag) {
            return format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n{control}\r\n").into_bytes();
        }
        let body = page::body(target, language, version);
        let mut answer =
            format!("HTTP/1.1 200 OK\r\nETag: {tag}\r\n{control}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        if head.method != "HEAD" {
            answer.extend_from_slice(&body);
        }
        answer
    }
}
