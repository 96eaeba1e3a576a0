//! A visitor: the cookies of a browser, what its session holds as far as it knows, and what it does next.
//!
//! What a visitor may see is exact, since it knows all that its session went through: what the session holds, at once after that
//! changed, and nobody's page where it holds nothing. Two things are less exact, and are said so in the request ([`Ask::allowed`]):
//! what is asked for while the visitor's own log-in or log-out is under way may be from before or after; and who was logged in by something
//! that no request said (on another device) may be taken for anonymous until that is asked anew.

use crate::application::{SESSION, STATUS, TICKET};
use crate::check::{Answer, Ask, Expected, SetCookie};
use crate::page::{Kind, Page, Site, View};
use kasoku_oracle::random::Random;
use std::collections::{BTreeMap, VecDeque};

/// How many lines of its own doing a visitor remembers.
const HISTORY: usize = 12;

/// By what a visitor is known, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Reads. Gets a session by accident at most.
    Reader,
    /// Logs in with a form, and out.
    Member,
    /// Puts things into a cart, and logs in now and then.
    Shopper,
    /// Is logged in by single sign-on, with GET alone.
    SignedOn,
    /// Is known by a cookie that no configuration names.
    Ticket,
    /// Takes no cookies: the session travels in URLs.
    Cookieless,
    /// Is known by Authorization.
    Basic,
}

/// What they had before there was a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// A session that holds nothing.
    Empty,
    /// One that is logged in.
    LoggedIn,
    /// A cookie of a session that is known no more.
    Forgotten,
}

impl Habit {
    /// Of each twenty visitors.
    pub(crate) fn of(number: usize) -> (Self, Before) {
        match number / 3 % 20 {
            0..=6 => (Self::Reader, Before::Nothing),
            7 => (Self::Reader, Before::Empty),
            8 => (Self::Reader, Before::Forgotten),
            9 | 10 => (Self::Member, Before::Nothing),
            11 => (Self::Member, Before::Empty),
            12 => (Self::Member, Before::LoggedIn),
            13 | 14 => (Self::Shopper, Before::Nothing),
            15 => (Self::SignedOn, Before::Nothing),
            16 => (Self::SignedOn, Before::Empty),
            17 => (Self::Ticket, Before::Nothing),
            18 => (Self::Cookieless, Before::Nothing),
            _ => (Self::Basic, Before::Nothing),
        }
    }
}

/// See the [module](self).
pub(crate) struct Visitor {
    pub(crate) number: usize,
    pub(crate) site: Site,
    pub(crate) habit: Habit,
    pub(crate) jar: BTreeMap<String, String>,
    /// The session of one who takes no cookies.
    url_session: Option<String>,
    /// What the session holds.
    pub(crate) view: View,
    /// What a form was given, by which the next step goes on.
    token: Option<String>,
    /// Where the present token comes from.
    is_signing_on: bool,
    /// Whether the application knows the session: that it gets another by reading a page is wrong then.
    is_known: bool,
    /// Somebody else has changed the session: what it held before may be seen as well.
    elsewhere: Option<View>,
    /// When a post was opened, counted in processes: only the one that has seen it knows that pages show it.
    opened_in: u64,
    /// The process that serves now, counted likewise.
    process: u64,
    /// Since then, its own page has been seen.
    is_seen: bool,
    tags: BTreeMap<String, String>,
    things: usize,
    /// The last requests and what came of them, for who has to find out why a later one went wrong.
    history: VecDeque<String>,
}

impl Visitor {
    pub(crate) fn new(number: usize) -> Self {
        let mut visitor = Self {
            number,
            site: Site::ALL[number % Site::ALL.len()],
            habit: Habit::of(number).0,
            jar: BTreeMap::new(),
            url_session: None,
            view: View::default(),
            token: None,
            is_signing_on: false,
            is_known: false,
            elsewhere: None,
            opened_in: 0,
            process: 0,
            is_seen: false,
            tags: BTreeMap::new(),
            things: 0,
            history: VecDeque::new(),
        };
        if (number / 2).is_multiple_of(2) {
            visitor.jar.insert("_ga".to_owned(), format!("GA1.visitor-{number}"));
            visitor.jar.insert("_gid".to_owned(), format!("visitor-{number}"));
        }
        if visitor.habit == Habit::Ticket {
            visitor.jar.insert(TICKET.to_owned(), format!("user-{number}"));
        }
        if matches!(visitor.habit, Habit::Ticket | Habit::Basic) {
            visitor.view.user = Some(number);
        }
        visitor
    }

    /// Comes with a session from before.
    pub(crate) fn with_session(&mut self, id: String, user: Option<usize>, is_known: bool) {
        self.is_known = is_known;
        self.jar.insert(SESSION.to_owned(), id);
        self.view.user = user;
        if self.site == Site::Told {
            let status = if user.is_some() { "member" } else { "none" };
            self.jar.insert(STATUS.to_owned(), status.to_owned());
        }
    }

    /// Whether nothing but noise says who it is.
    pub(crate) fn is_stranger(&self) -> bool {
        let is_known = self.jar.contains_key(SESSION) || self.url_session.is_some();
        !is_known && !matches!(self.habit, Habit::Ticket | Habit::Basic)
    }

    /// What it does next: a request, and perhaps one that it has sent a moment before on another connection.
    pub(crate) fn next(&mut self, random: &mut Random, process: u64) -> Vec<Ask> {
        self.process = process;
        if random.per_mille(20) {
            self.leave();
        }
        let before = self.view.clone();
        let Some(step) = self.step(random) else { return vec![self.read(random)] };
        if self.habit == Habit::Cookieless || random.percent(75) {
            return vec![step];
        }
        let mut meanwhile = self.read(random);
        (meanwhile.needs_session, meanwhile.has_session) = (false, false);
        // And nothing, where the step gives the session another id.
        meanwhile.allowed.extend([before, View::default()]);
        vec![meanwhile, step]
    }

    /// Closes the browser, which forgets sessions.
    fn leave(&mut self) {
        if !matches!(self.habit, Habit::Ticket | Habit::Basic) {
            self.view = View::default();
        }
        self.jar.retain(|name, _| ![SESSION, STATUS].contains(&name.as_str()));
        self.is_known = false;
        (self.url_session, self.token, self.elsewhere) = (None, None, None);
        self.remember("left, and came back".to_owned());
    }

    /// Reads some page.
    pub(crate) fn read(&self, random: &mut Random) -> Ask {
        let page = Page::any(random);
        let method = if random.percent(3) { "HEAD" } else { "GET" };
        let mut ask = self.ask(method, &page.path(), Expected::Page(page));
        if let Some(tag) = self.tags.get(&ask.path).filter(|_| method == "GET" && random.percent(50)) {
            ask.fields.push(format!("If-None-Match: {tag}"));
            ask.tag = Some(tag.clone());
        }
        ask
    }

    /// A step of what it does beside reading, if this is the moment for one.
    fn step(&mut self, random: &mut Random) -> Option<Ask> {
        let per_mille = match self.habit {
            Habit::Reader if self.is_known && !self.view.has_opened => 10,
            Habit::Reader | Habit::Ticket | Habit::Basic => 0,
            // Who has begun goes on soon.
            _ if self.token.is_some() => 200,
            Habit::Member | Habit::SignedOn => 60,
            Habit::Cookieless => 100,
            Habit::Shopper => 120,
        };
        if !random.per_mille(per_mille) {
            return None;
        }
        Some(match (self.habit, self.view.user.is_some()) {
            (Habit::Reader, _) => self.open(),
            (Habit::Shopper, _) if random.percent(70) => self.shop(random),
            (_, true) => self.log_out(),
            (_, false) if self.token.is_some() => self.log_in(),
            (Habit::Member, _) if random.percent(20) => self.follow_link(),
            (Habit::SignedOn, _) => self.begin("/sso/start"),
            _ => self.begin("/login"),
        })
    }

    fn begin(&mut self, path: &str) -> Ask {
        self.is_signing_on = path == "/sso/start";
        self.ask("GET", path, Expected::Begun)
    }

    fn log_in(&mut self) -> Ask {
        let token = self.token.take().unwrap_or_default();
        self.view.user = Some(self.number);
        let form = format!("user={}", self.number);
        match self.is_signing_on {
            true => self.with_query(&format!("state={token}&{form}"), "/sso/return", Expected::Done),
            false => self.post("/login", format!("token={token}&{form}")),
        }
    }

    /// A link in a mail: whoever follows it is logged in.
    fn follow_link(&mut self) -> Ask {
        self.view.user = Some(self.number);
        let page = Page { kind: Kind::Board, number: 7 };
        self.with_query(&format!("token=user-{}", self.number), &page.path(), Expected::Page(page))
    }

    fn log_out(&mut self) -> Ask {
        self.view = View::default();
        (self.token, self.elsewhere) = (None, None);
        self.ask("GET", "/logout", Expected::Done)
    }

    fn shop(&mut self, random: &mut Random) -> Ask {
        match random.below(4) {
            0 if !self.view.cart.is_empty() => {
                self.view.cart.clear();
                self.post("/cart", "empty=1".to_owned())
            }
            2.. if self.view.cart.len() < 4 => {
                self.things += 1;
                let thing = format!("v{}.{}", self.number, self.things);
                self.view.cart.push(thing.clone());
                self.post("/cart", format!("add={thing}"))
            }
            _ => self.ask("GET", "/cart", Expected::Shown),
        }
    }

    /// Types the password of a post.
    fn open(&mut self) -> Ask {
        (self.view.has_opened, self.opened_in) = (true, self.process);
        self.post("/open", "password=1".to_owned())
    }

    fn post(&mut self, path: &str, form: String) -> Ask {
        Ask { body: form, ..self.ask("POST", path, Expected::Done) }
    }

    fn with_query(&self, query: &str, path: &str, expected: Expected) -> Ask {
        let mut ask = self.ask("GET", path, expected);
        let first = if ask.query.is_empty() { '?' } else { '&' };
        ask.query = format!("{}{first}{query}", ask.query);
        ask
    }

    /// A request as this visitor's browser sends it now.
    fn ask(&self, method: &'static str, path: &str, expected: Expected) -> Ask {
        let (number, is_mobile) = (self.number, self.number % 5 < 2);
        let language = if self.number % 7 < 3 { "en" } else { "ko" };
        let device = if is_mobile { "iPhone; Mobile" } else { "X11; Linux" };
        let mut fields = vec![
            format!("User-Agent: Mozilla/5.0 ({device}) visitor-{number}"),
            format!("Accept-Language: {language},de;q=0.5"),
            format!("Referer: http://visitor-{number}.test/"),
            format!("X-Device-Id: visitor-{number}"),
        ];
        if self.habit == Habit::Basic {
            fields.push(format!("Authorization: Basic user-{number}"));
        }
        if !self.jar.is_empty() {
            let pairs: Vec<String> = self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
            fields.push(format!("Cookie: {}", pairs.join("; ")));
        }
        Ask {
            visitor: number,
            site: self.site,
            method,
            path: path.to_owned(),
            query: self.url_session.as_ref().map(|id| format!("?{SESSION}={id}")).unwrap_or_default(),
            fields,
            body: String::new(),
            expected,
            allowed: self.allowed(),
            variant: format!("{}.{language}", if is_mobile { "mobile" } else { "desktop" }),
            tag: None,
            is_stranger: self.is_stranger(),
            has_session: self.is_known && self.jar.contains_key(SESSION),
            needs_session: !self.is_in_doubt() && (!self.view.is_nobodys() || self.token.is_some()),
            floor: 0,
            is_handed_over: false,
        }
    }

    /// What the session may be seen to hold.
    fn allowed(&self) -> Vec<View> {
        let mut allowed: Vec<View> = std::iter::once(&self.view).chain(&self.elsewhere).cloned().collect();
        if self.is_forgotten() {
            allowed.push(View { has_opened: false, ..self.view.clone() });
        }
        allowed
    }

    /// A post was opened, and the process that saw it is gone.
    fn is_forgotten(&self) -> bool {
        self.view.has_opened && self.opened_in != self.process
    }

    fn is_in_doubt(&self) -> bool {
        self.elsewhere.is_some() || (self.is_forgotten() && self.view.is_anonymous())
    }

    /// Somebody logs this session in, and no request says so.
    pub(crate) fn is_logged_in_elsewhere(&mut self, log_in: impl FnOnce(&str, usize) -> bool) -> bool {
        let is_apt = self.habit == Habit::Member && self.view.user.is_none() && self.token.is_none();
        let Some(id) = self.jar.get(SESSION).filter(|_| is_apt && self.site == Site::Probed) else { return false };
        if !log_in(id, self.number) {
            return false;
        }
        (self.elsewhere, self.is_seen) = (Some(self.view.clone()), false);
        self.remember("logged in elsewhere".to_owned());
        self.view.user = Some(self.number);
        true
    }

    /// What it reads to learn what came of a log-in that no request said; `None`: nothing is in doubt.
    pub(crate) fn doubt(&self) -> Option<Ask> {
        let page = Page { kind: Kind::Board, number: 7 };
        (self.elsewhere.is_some() && !self.is_seen).then(|| self.ask("GET", &page.path(), Expected::Page(page)))
    }

    /// Takes in what came; `is_beside`: another answer is under way that counts more, in which the session's cookie may be set as well.
    pub(crate) fn learn(&mut self, ask: &Ask, answer: &Answer, is_beside: bool) {
        self.remember(summary(ask, answer, is_beside));
        // Some log-outs make the application forget the session whose cookie goes on.
        self.is_known &= ask.path != "/logout";
        for SetCookie { name, value, is_end } in answer.cookies() {
            if self.habit == Habit::Cookieless || (is_beside && [SESSION, STATUS].contains(&name)) {
                continue;
            }
            match is_end {
                true => drop(self.jar.remove(name)),
                false => drop(self.jar.insert(name.to_owned(), value.to_owned())),
            }
            self.is_known |= name == SESSION;
            if name == SESSION && self.is_in_doubt() {
                // The browser has another session from now on, or none.
                self.view.has_opened = false;
            }
            if let Some(before) = self.elsewhere.take_if(|_| name == SESSION) {
                self.view = before;
            }
        }
        if let Some(tag) = answer.head.fields.only("etag") {
            self.tags.insert(ask.path.clone(), tag.to_owned());
        }
        if ask.expected == Expected::Done && answer.head.status != 303 {
            // One mistake is one mistake.
            self.view.user = None;
        }
        let Some(claim) = answer.claim() else { return };
        self.is_seen |= claim.view == self.view && !self.view.is_nobodys();
        if ask.expected == Expected::Begun {
            self.token = claim.token;
        }
        if self.habit == Habit::Cookieless && !matches!(ask.expected, Expected::Page(_)) {
            self.url_session = claim.session.filter(|_| ask.path != "/logout");
        }
    }

    fn remember(&mut self, what: String) {
        self.history.truncate(HISTORY - 1);
        self.history.push_front(what);
    }

    /// What it did last, the latest first.
    pub(crate) fn history(&self) -> String {
        self.history.iter().map(|line| format!("    {line}\n")).collect()
    }
}

fn summary(ask: &Ask, answer: &Answer, is_beside: bool) -> String {
    let cookies: Vec<String> = answer.cookies().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
    let sent = ask.fields.iter().find_map(|field| field.split_once("PHPSESSID=")).map_or("-", |(_, id)| id);
    let sent = sent.split(';').next().unwrap_or_default();
    let cache = answer.head.fields.only("cache-status").unwrap_or_default();
    let view = answer.claim().map(|claim| claim.view);
    let Ask { method, path, query, .. } = ask;
    let beside = if is_beside { " (beside the next)" } else { "" };
    format!("{method} {path}{query} of {sent}{beside}: {} {view:?} {cookies:?} {cache}", answer.head.status)
}
