//! The scripts of the session tests' application: each makes an answer from a request and its session.
//!
//! A script that changes a session (a form, a log-in, a cart) shows the session's id and new content, since only the session's visitor
//! requests it. Pages that visitors read show no more than necessary; a few have the id in a form or in their links.

use super::{Application, COUNTER, SESSION, STATUS, Session, TICKET, pairs};
use crate::page::{Claim, Kind, Page, Site, View};
use crate::response::Response;
use kasoku_oracle::random::hash;
use kasoku_oracle::wire::Fields;
use std::sync::atomic::Ordering::Relaxed;

/// A request, with its parsed parts.
pub(super) struct Visit<'v> {
    pub(super) app: &'v Application,
    pub(super) site: Site,
    pub(super) path: &'v str,
    pub(super) fields: &'v Fields,
    pub(super) query: Vec<(&'v str, &'v str)>,
    pub(super) form: Vec<(&'v str, &'v str)>,
}

impl Visit<'_> {
    fn cookie(&self, name: &str) -> Option<&str> {
        let mut all = self.fields.all("cookie").flat_map(|line| pairs(line, ';'));
        all.find(|(one, _)| *one == name).map(|(_, value)| value)
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().chain(&self.form).find(|(one, _)| *one == name).map(|(_, value)| *value)
    }

    /// The visitor whom a field names, independent of the session: `visitor-17` anywhere in its value.
    fn by(&self) -> Option<usize> {
        self.fields.0.iter().find_map(|(_, value)| {
            let (_, rest) = value.split_once("visitor-")?;
            let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
            digits.parse().ok()
        })
    }

    /// The user whom `Authorization` or the cookie of single sign-on names.
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

    pub(super) fn answer(&self, method: &str) -> Response {
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

    /// The head of each answer with a session.
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

    /// An answer that shows the session's id and token.
    fn personal(&self, status: u16, opened: Opened) -> Response {
        let mut claim = self.claim(&opened);
        claim.session = Some(opened.id.clone());
        claim.token = opened.session.token.clone();
        let response = self.head(status, &opened);
        self.never_stored(response).with(&claim)
    }

    /// Changes the content of a session; returns the session with the new content.
    fn change(&self, opened: Opened, change: impl FnOnce(&mut Session)) -> Opened {
        let mut sessions = self.app.sessions.lock().unwrap();
        let session = sessions.entry(opened.id.clone()).or_default();
        change(session);
        Opened { session: session.clone(), ..opened }
    }

    /// A log-in form, or the first step of a single sign-on, with a token that the next step must send back.
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
        // Some applications give the session a new id at a log-in, others do not.
        let opened = match user {
            Some(user) if user % 2 == 0 => self.renewed(opened),
            _ => opened,
        };
        self.personal(303, opened).at("/board/0")
    }

    /// Gives the session a new id, as session_regenerate_id(true) does.
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
            // The application forgets the session, but its visitor keeps the cookie.
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

    /// Accepts the password of a protected post.
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

    /// Answers Kasoku's probe with the visitor's cookies: the word `nobody` if the session is empty.
    fn probe(&self) -> Response {
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
            Kind::SometimesMembersOnly => {
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

    /// Adds an entity tag that depends on the session's content. A request with that tag gets a 304, which may set a cookie or say
    /// `private`.
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

/// The entity tag of a page for that view.
fn tag(view: &View) -> String {
    let user = view.user.map_or("nobody".to_owned(), |user| user.to_string());
    format!("\"{user}.{}.{}\"", view.has_opened, view.cart.join("."))
}

struct Opened {
    id: String,
    session: Session,
    is_new: bool,
}
