//! A visitor: the cookies of a browser, what its session holds as far as it knows, and what it does next (`steps`).
//!
//! What a visitor may see is exact, since it knows all that its session went through: what the session holds, at once after that
//! changed, and nobody's page where it holds nothing. Three things are less exact, and are said so in the request ([`Ask::allowed`]):
//! what is asked for while the visitor's own log-in or log-out is under way may be from before or after; who was logged in by something
//! that no request said (on another device) may be taken for anonymous until that is asked anew; and that a guest has opened a post is
//! known to the process that saw it.

#[path = "steps.rs"]
mod steps;

use crate::application::{SESSION, STATUS, TICKET};
use crate::check::{Answer, Ask, Expected, Kept, SetCookie};
use crate::habit::Habit;
use crate::page::{Kind, Page, Site, View};
use std::collections::{BTreeMap, VecDeque};

/// How many lines of its own doing a visitor remembers.
const HISTORY: usize = 12;

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
    kept: BTreeMap<String, Kept>,
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
            kept: BTreeMap::new(),
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
        if ask.expected == Expected::Done && answer.head.status != 303 {
            // One mistake is one mistake.
            self.view.user = None;
        }
        let Some(claim) = answer.claim() else { return };
        if let Some(tag) = answer.head.fields.only("etag") {
            self.kept.insert(ask.path.clone(), Kept { tag: tag.to_owned(), view: claim.view.clone() });
        }
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
