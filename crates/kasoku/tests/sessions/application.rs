//! The application of the session tests: it works like PHP, knows its visitors by sessions, and states on each page for whom it was made.
//!
//! The application opens a session on each page, as session_start() does: a visitor without a session id, or with an unknown id, gets a new
//! one by `Set-Cookie`. Most answers say `no-store, no-cache, must-revalidate` and `Expires: 0`. Only the application knows what a session
//! holds. It knows a visitor by Basic authorization and by a cookie of single sign-on as well, both independent of the session. If anything
//! else of a request names a visitor (`User-Agent`, `Referer`, unknown fields, cookies of analytics), the page repeats that name. So the
//! checker notices if Kasoku shares a page for whose request a visitor was named.
//!
//! Now and then the application waits between reading the session and answering, so that other requests of the visitor come in between.

#[path = "scripts.rs"]
mod scripts;

use crate::page::{Site, View};
use crate::response::Response;
use kasoku_oracle::random::hash;
use kasoku_oracle::wire::{Length, Reader, RequestHead};
use scripts::Visit;
use std::collections::HashMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The session cookie.
pub(crate) const SESSION: &str = "PHPSESSID";

/// The cookie of single sign-on, which no configuration names.
pub(crate) const TICKET: &str = "corporate_ticket";

/// The cookie by which the site [`Site::Told`] tells the state of a session.
pub(crate) const STATUS: &str = "login_status";

/// The counter of visits: gnuboard5's md5 of "ck_visit_ip".
pub(crate) const COUNTER: &str = "2a0d2363701f23f8a75028924a3af643";

/// The content of a visitor's session.
#[derive(Clone, Default)]
struct Session {
    view: View,
    /// The token of a form, or of a single sign-on, that the visitor has begun.
    token: Option<String>,
}

impl Session {
    fn is_empty(&self) -> bool {
        self.view.is_anonymous() && self.token.is_none()
    }

    fn status(&self) -> &'static str {
        match (self.view.user, self.is_empty()) {
            (Some(_), _) => "member",
            (None, false) => "guest",
            (None, true) => "none",
        }
    }
}

/// See the [module](self).
pub(crate) struct Application {
    pub(crate) address: SocketAddr,
    sessions: Mutex<HashMap<String, Session>>,
    /// The versions of the clubs, by number and site. A club with an even version is open to all.
    clubs: Vec<AtomicU64>,
    serial: AtomicU64,
    seed: u64,
    /// Whether the application wrongly says `public` on all pages: a mistake that the checker must find.
    is_careless: bool,
}

impl Application {
    /// Starts the application; it ends with the tests.
    pub(crate) fn start(seed: u64, is_careless: bool) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let application = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            sessions: Mutex::default(),
            clubs: (0..16).map(|_| AtomicU64::new(0)).collect(),
            serial: AtomicU64::new(1),
            seed,
            is_careless,
        });
        let serving = application.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                std::thread::spawn(move || serving.converse(&stream));
            }
        });
        application
    }

    /// Opens a session that was not opened through Kasoku, with that user logged in, if any; returns its id.
    pub(crate) fn session_of(&self, user: Option<usize>) -> String {
        self.open(Session { view: View { user, ..View::default() }, token: None })
    }

    /// The id of a session that the application does not know.
    pub(crate) fn forgotten(&self) -> String {
        self.mint("s")
    }

    /// Logs the user in without a request of this visitor, as a log-in on another device would. Returns whether the session exists.
    pub(crate) fn log_in_elsewhere(&self, id: &str, user: usize) -> bool {
        self.sessions.lock().unwrap().get_mut(id).map(|session| session.view.user = Some(user)).is_some()
    }

    /// Closes a random club if it is open, or opens it.
    pub(crate) fn toggle(&self, random: u64) {
        self.clubs[random as usize % self.clubs.len()].fetch_add(1, Relaxed);
    }

    fn converse(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut reader = Reader::new(stream);
        while let Ok(Some(head)) = reader.request() {
            let mut body = Vec::new();
            let length = head.fields.framing().ok().flatten().unwrap_or(Length::Bytes(0));
            if reader.body(length, &mut body, &mut |_| true).is_err() {
                return;
            }
            let answer = self.answer(&head, &String::from_utf8_lossy(&body));
            let mut writer = stream;
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, head: &RequestHead, body: &str) -> String {
        let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
        let host = head.fields.only("host").unwrap_or_default();
        let Some(site) = Site::of(host) else { return Response::new(404).plain() };
        let visit =
            Visit { app: self, site, path, fields: &head.fields, query: pairs(query, '&'), form: pairs(body, '&') };
        let response = visit.answer(&head.method);
        // The answer is made; other requests may change the session before it is sent. No request waits for a probe, so that may take long.
        let (one_of, millis_max) = if path == "/probe" { (3, 300) } else { (29, 20) };
        if response.serial.is_multiple_of(one_of) {
            std::thread::sleep(Duration::from_millis(hash(&[self.seed, response.serial]) % millis_max));
        }
        response.bytes(head.method == "HEAD")
    }

    fn open(&self, session: Session) -> String {
        let id = self.mint("s");
        self.sessions.lock().unwrap().insert(id.clone(), session);
        id
    }

    /// A new unique value.
    fn mint(&self, first: &str) -> String {
        let serial = self.serial.fetch_add(1, Relaxed);
        format!("{first}{serial:08x}{:016x}", hash(&[self.seed, serial]))
    }
}

/// The names and values of `a=1; b=2`, split at `separator`.
fn pairs(text: &str, separator: char) -> Vec<(&str, &str)> {
    text.split(separator).filter_map(|pair| pair.trim().split_once('=')).collect()
}
