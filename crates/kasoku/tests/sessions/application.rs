//! The application: a program in the manner of PHP, that knows its visitors by sessions and says on each page whom it believes to serve.
//!
//! It opens a session on each page, as session_start() does: who sends no id, or one that is not known (any more), gets a new one by
//! Set-Cookie, and every answer says `no-store, no-cache, must-revalidate` and `Expires: 0`. What a session holds is known here only.
//! A visitor may be known by other things as well: Basic authorization, and a cookie of single sign-on that has nothing to do with the
//! session. And it looks at whatever else of a request names a visitor (User-Agent, Referer, fields that nobody knows, the cookies of
//! analytics): what it finds stands on the page, so that a page shared although somebody was named is seen.
//!
//! It takes its time now and then between looking into the session and answering, so that what a visitor does meanwhile comes in between.

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

/// The session's cookie.
pub(crate) const SESSION: &str = "PHPSESSID";

/// The cookie of single sign-on, of which no configuration knows.
pub(crate) const TICKET: &str = "corporate_ticket";

/// The cookie by which the second site says what a session holds.
pub(crate) const STATUS: &str = "login_status";

/// The counter of visits: gnuboard5's md5 of "ck_visit_ip".
pub(crate) const COUNTER: &str = "2a0d2363701f23f8a75028924a3af643";

/// What somebody's session holds.
#[derive(Clone, Default)]
struct Session {
    view: View,
    /// What a form was given, or a single sign-on that is under way.
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
    /// By site and number; even: open to all.
    clubs: Vec<AtomicU64>,
    serial: AtomicU64,
    seed: u64,
    /// Whether it lets the answer for somebody be shared by saying so: the mistake of an application, to see it found.
    is_careless: bool,
}

impl Application {
    /// Starts it; it ends with the tests.
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

    /// A session from before there was a cache: its id, with that visitor logged in.
    pub(crate) fn session_of(&self, user: Option<usize>) -> String {
        self.open(Session { view: View { user, ..View::default() }, token: None })
    }

    /// What an id would look like that is not known any more.
    pub(crate) fn forgotten(&self) -> String {
        self.mint("s")
    }

    /// Logs a session in as another device would: no request says so. Whether there is such a session.
    pub(crate) fn log_in_elsewhere(&self, id: &str, user: usize) -> bool {
        self.sessions.lock().unwrap().get_mut(id).map(|session| session.view.user = Some(user)).is_some()
    }

    /// Closes a club that is open, or opens it.
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
        // What is said was decided before; now something else happens. Nobody waits for a probe, so it may take long.
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

    /// A value that was never there before.
    fn mint(&self, first: &str) -> String {
        let serial = self.serial.fetch_add(1, Relaxed);
        format!("{first}{serial:08x}{:016x}", hash(&[self.seed, serial]))
    }
}

/// `a=1; b=2`, by that separator.
fn pairs(text: &str, separator: char) -> Vec<(&str, &str)> {
    text.split(separator).filter_map(|pair| pair.trim().split_once('=')).collect()
}
