//! The application: a program in the manner of PHP, that knows its visitors by sessions and says on each page whom it believes to serve.
//!
//! It opens a session on each page, as session_start() does: who sends no id, or one that is not known (any more), gets a new one by
//! Set-Cookie, and every answer says `no-store, no-cache, must-revalidate` and `Expires: 0`. What a session holds is known here only.
//! A visitor may be known by other things as well: Basic authorization, and a cookie of single sign-on that has nothing to do with the
//! session. And it looks at whatever else of a request names a visitor (User-Agent, Referer, fields that nobody knows, the cookies of
//! analytics): what it finds stands on the page, so that a page shared although somebody was named is seen.
//!
//! It takes its time now and then between looking into the session and answering, so that what a visitor does meanwhile comes in between.

use crate::page::{Claim, Kind, Page, Site, View};
use kasoku_oracle::random::hash;
use kasoku_oracle::wire::{Fields, Length, Reader, RequestHead};
use std::collections::HashMap;
use std::fmt::Write as _;
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
    /// How often a probe was asked.
    pub(crate) probes: AtomicU64,
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
            probes: AtomicU64::new(0),
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

/// A request, with what it says.
struct Visit<'v> {
    app: &'v Application,
    site: Site,
    path: &'v str,
    fields: &'v Fields,
    query: Vec<(&'v str, &'v str)>,
    form: Vec<(&'v str, &'v str)>,
}

impl Visit<'_> {
    fn cookie(&self, name: &str) -> Option<&str> {
        let mut all = self.fields.all("cookie").flat_map(|line| pairs(line, ';'));
        all.find(|(one, _)| *one == name).map(|(_, value)| value)
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().chain(&self.form).find(|(one, _)| *one == name).map(|(_, value)| *value)
    }

    /// The visitor whom anything but the session names: `visitor-17` somewhere in a field.
    fn by(&self) -> Option<usize> {
        self.fields.0.iter().find_map(|(_, value)| {
            let (_, rest) = value.split_once("visitor-")?;
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
            digits.parse().ok()
        })
    }

    /// Who needs no session to be known.
    fn known_otherwise(&self) -> Option<usize> {
        let word = self.fields.only("authorization").or_else(|| self.cookie(TICKET))?;
        word.rsplit_once("user-")?.1.parse().ok()
    }

    fn variant(&self) -> String {
        let agent = self.fields.only("user-agent").unwrap_or_default();
        let class = if agent.contains("Mobi") { "mobile" } else { "desktop" };
        let language = self.fields.only("accept-language").unwrap_or_default();
        format!("{class}.{}", if language.starts_with("en") { "en" } else { "ko" })
    }

    fn answer(&self, method: &str) -> Response {
        match (method, self.path) {
            (_, "/probe") => self.probe(),
            ("POST", "/login") => self.log_in(self.parameter("token")),
            (_, "/sso/return") => self.log_in(self.parameter("state")),
            (_, "/login" | "/sso/start") => self.begin(),
            (_, "/logout") => self.log_out(),
            ("POST", "/open") => self.open_post(),
            ("POST", "/cart") => self.change_cart(),
            (_, "/cart") => self.personal(200, self.session()),
            _ => match Page::of(self.path) {
                Some(Page { kind: Kind::File, .. }) => self.file(),
                Some(page) => self.page(page),
                None => Response::new(404),
            },
        }
    }

    /// session_start(): the session's id, what it holds, and whether the id is new.
    fn session(&self) -> Opened {
        let sent = self.cookie(SESSION).or_else(|| self.parameter(SESSION));
        let known = sent.and_then(|id| Some((id, self.app.sessions.lock().unwrap().get(id)?.clone())));
        match known {
            Some((id, session)) => Opened { id: id.to_owned(), session, is_new: false },
            None => {
                let session = Session::default();
                Opened { id: self.app.open(session.clone()), session, is_new: true }
            }
        }
    }

    fn claim(&self, opened: &Opened) -> Claim {
        let mut view = opened.session.view.clone();
        view.user = self.known_otherwise().or(view.user);
        Claim {
            host: self.site.host().to_owned(),
            path: self.path.to_owned(),
            view,
            by: self.by(),
            serial: self.app.serial.fetch_add(1, Relaxed),
            ..Claim::default()
        }
    }

    /// The head that everything gets that has a session.
    fn head(&self, status: u16, opened: &Opened) -> Response {
        let mut response = Response::new(status);
        if opened.is_new {
            response.field("Set-Cookie", &format!("{SESSION}={}; path=/; HttpOnly", opened.id));
        }
        if self.site == Site::Told && self.cookie(STATUS) != Some(opened.session.status()) {
            response.field("Set-Cookie", &format!("{STATUS}={}; path=/", opened.session.status()));
        }
        response
    }

    fn never_stored(&self, mut response: Response) -> Response {
        response.field("Cache-Control", "no-store, no-cache, must-revalidate");
        response.field("Expires", "0");
        response.field("Pragma", "no-cache");
        response
    }

    /// Shows the session's id and token: what is asked for on purpose.
    fn personal(&self, status: u16, opened: Opened) -> Response {
        let mut claim = self.claim(&opened);
        claim.session = Some(opened.id.clone());
        claim.token = opened.session.token.clone();
        let response = self.head(status, &opened);
        self.never_stored(response).with(&claim)
    }

    /// Changes what a session holds, and says what came of it.
    fn change(&self, opened: Opened, change: impl FnOnce(&mut Session)) -> Opened {
        let mut sessions = self.app.sessions.lock().unwrap();
        let session = sessions.entry(opened.id.clone()).or_default();
        change(session);
        Opened { session: session.clone(), ..opened }
    }

    /// A form for logging in, or the first step of a single sign-on: what comes back must fit.
    fn begin(&self) -> Response {
        let token = self.app.mint("t");
        let opened = self.change(self.session(), |session| session.token = Some(token));
        self.personal(200, opened)
    }

    fn log_in(&self, token: Option<&str>) -> Response {
        let opened = self.session();
        let user = self.parameter("user").and_then(|user| user.parse().ok());
        if token.is_none() || opened.session.token.as_deref() != token {
            return self.personal(403, opened);
        }
        let opened = self.change(opened, |session| {
            session.token = None;
            session.view.user = user;
        });
        // Some applications give a session that logs in a new id, some do not.
        let opened = match user {
            Some(user) if user % 2 == 0 => self.renewed(opened),
            _ => opened,
        };
        self.personal(303, opened).at("/board/0")
    }

    /// session_regenerate_id(true).
    fn renewed(&self, opened: Opened) -> Opened {
        self.app.sessions.lock().unwrap().remove(&opened.id);
        let id = self.app.open(opened.session.clone());
        Opened { id, is_new: true, ..opened }
    }

    fn log_out(&self) -> Response {
        let opened = self.change(self.session(), |session| *session = Session::default());
        let serial = self.app.serial.fetch_add(1, Relaxed);
        match hash(&[self.app.seed, serial]) % 4 {
            0 => self.personal(303, self.renewed(opened)),
            // It is forgotten here, and its visitor goes on with the cookie.
            1 => {
                self.app.sessions.lock().unwrap().remove(&opened.id);
                self.personal(303, Opened { is_new: false, ..opened })
            }
            2 => {
                self.app.sessions.lock().unwrap().remove(&opened.id);
                let mut response = self.personal(303, Opened { is_new: false, ..opened });
                response.field(
                    "Set-Cookie",
                    &format!("{SESSION}=deleted; expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0; path=/"),
                );
                response
            }
            _ => self.personal(303, opened),
        }
        .at("/board/0")
    }

    /// The password of a post that is not for everybody.
    fn open_post(&self) -> Response {
        let opened = self.change(self.session(), |session| session.view.has_opened = true);
        self.personal(303, opened).at("/board/0")
    }

    fn change_cart(&self) -> Response {
        let opened = self.change(self.session(), |session| match self.parameter("add") {
            Some(thing) => session.view.cart.push(thing.to_owned()),
            None => session.view.cart.clear(),
        });
        self.personal(303, opened).at("/cart")
    }

    /// Asked by the cache with a visitor's cookies: 200 and a word where the session holds nothing.
    fn probe(&self) -> Response {
        self.app.probes.fetch_add(1, Relaxed);
        let opened = self.session();
        let mut response = self.head(200, &opened);
        response.field("Content-Type", "text/html");
        let is_empty = opened.session.is_empty() && self.known_otherwise().is_none();
        response.body = format!("you are {}\n", if is_empty { "nobody" } else { "somebody" });
        response.serial = self.app.serial.fetch_add(1, Relaxed);
        response
    }

    fn file(&self) -> Response {
        let mut claim = self.claim(&Opened { id: String::new(), session: Session::default(), is_new: false });
        claim.view = View::default();
        let mut response = Response::new(200);
        response.field("Cache-Control", "public, max-age=60");
        response.with(&claim).of("text/css")
    }

    fn page(&self, page: Page) -> Response {
        let mut opened = self.session();
        if let Some(user) = self.parameter("token").and_then(|token| token.rsplit_once("user-")?.1.parse().ok()) {
            // A link that logs in.
            opened = self.change(opened, |session| session.view.user = Some(user));
        }
        let mut claim = self.claim(&opened);
        let mut status = 200;
        let came_with_cookie = self.cookie(SESSION).is_some();
        match page.kind {
            Kind::Club => {
                let place = page.number as usize * Site::ALL.len() + self.site as usize;
                claim.version = self.app.clubs[place % self.app.clubs.len()].load(Relaxed);
                let is_closed = claim.version % 2 == 1 && claim.view.user.is_none();
                status = match (is_closed, page.number % 2) {
                    (false, _) => 200,
                    (true, 0) => 302,
                    (true, _) => 403,
                };
            }
            Kind::Account if claim.view.user.is_none() => status = 302,
            _ if page.is_failing() && claim.serial.is_multiple_of(5) => status = 503,
            Kind::Form => claim.session = Some(opened.id.clone()),
            Kind::Linked if !came_with_cookie => claim.session = Some(opened.id.clone()),
            Kind::Device => claim.variant = Some(self.variant()),
            _ => {}
        }
        let mut response = self.head(status, &opened);
        if self.cookie(COUNTER).is_none() {
            response.field("Set-Cookie", &format!("{COUNTER}={}; path=/", self.app.mint("c")));
        }
        if status == 302 {
            response.field("Location", "/login");
        }
        let response = match page.kind {
            _ if self.app.is_careless => response.says("public, max-age=5"),
            Kind::Listed => response.says("public, must-revalidate"),
            Kind::Private => response.says("private, max-age=60"),
            Kind::Tagged => return self.tagged(response, claim),
            _ => self.never_stored(response),
        };
        response.with(&claim)
    }

    /// With a tag that names whom it is for; whoever has it is told that it still holds, together with a cookie, or `private`.
    fn tagged(&self, mut response: Response, claim: Claim) -> Response {
        let tag = tag(&claim.view);
        response.field("ETag", &tag);
        let control = if claim.serial.is_multiple_of(5) { "private" } else { "no-cache, must-revalidate" };
        let is_known = self.fields.only("if-none-match").is_some_and(|tags| tags.split(", ").any(|one| one == tag));
        if !is_known {
            return response.says("no-cache, must-revalidate").with(&claim);
        }
        response.status = 304;
        response.serial = claim.serial;
        response.says(control)
    }
}

/// The tag of what is for that view.
pub(crate) fn tag(view: &View) -> String {
    let user = view.user.map_or("nobody".to_owned(), |user| user.to_string());
    format!("\"{user}.{}.{}\"", view.has_opened, view.cart.join("."))
}

struct Opened {
    id: String,
    session: Session,
    is_new: bool,
}

/// An answer in the making.
struct Response {
    status: u16,
    fields: String,
    body: String,
    serial: u64,
}

impl Response {
    fn new(status: u16) -> Self {
        Self { status, fields: String::new(), body: String::new(), serial: 1 }
    }

    fn field(&mut self, name: &str, value: &str) {
        let _ = write!(self.fields, "{name}: {value}\r\n");
    }

    fn says(mut self, control: &str) -> Self {
        self.field("Cache-Control", control);
        self
    }

    fn at(mut self, location: &str) -> Self {
        self.field("Location", location);
        self
    }

    fn of(mut self, media_type: &str) -> Self {
        self.fields = self.fields.replace("Content-Type: text/html", &format!("Content-Type: {media_type}"));
        self
    }

    fn with(mut self, claim: &Claim) -> Self {
        self.field("Content-Type", "text/html");
        (self.body, self.serial) = (claim.body(), claim.serial);
        self
    }

    fn plain(self) -> String {
        self.bytes(false)
    }

    fn bytes(&self, is_head: bool) -> String {
        let length =
            if self.status == 304 { String::new() } else { format!("Content-Length: {}\r\n", self.body.len()) };
        let body = if is_head || self.status == 304 { "" } else { &self.body };
        format!("HTTP/1.1 {} X\r\n{}{length}\r\n{body}", self.status, self.fields)
    }
}

/// `a=1; b=2`, by that separator.
fn pairs(text: &str, separator: char) -> Vec<(&str, &str)> {
    text.split(separator).filter_map(|pair| pair.trim().split_once('=')).collect()
}
