//! Simulates a visitor: the cookies of its browser, what its session holds as far as the visitor knows, and its next request (`steps`).
//!
//! A visitor knows all changes of its session, so it knows exactly what an answer must show: what the session holds, from each change on,
//! and the anonymous page if the session is empty. In three cases more than one answer is right, and the request lists them
//! ([`Ask::allowed`]). During the visitor's own log-in or log-out, a page may be from before or after it. After a log-in that no request of
//! the visitor made (on another device), Kasoku may take the session for anonymous until its next probe. And only the process that saw a
//! guest open a post knows of that.

#[path = "steps.rs"]
mod steps;

use crate::application::{SESSION, STATUS, TICKET};
use crate::check::{Answer, Ask, Expected, Kept, SetCookie};
use crate::habit::Habit;
use crate::page::{Kind, Page, Site, View};
use std::collections::{BTreeMap, VecDeque};

/// The number of its last requests that a visitor remembers.
const HISTORY: usize = 12;

/// See the [module](self).
pub(crate) struct Visitor {
    pub(crate) number: usize,
    pub(crate) site: Site,
    pub(crate) habit: Habit,
    pub(crate) jar: BTreeMap<String, String>,
    /// The session id of a visitor who accepts no cookies.
    url_session: Option<String>,
    /// The content of the session.
    pub(crate) view: View,
    /// The token of the form, which the next step of the log-in sends.
    token: Option<String>,
    /// Whether the token comes from a single sign-on.
    is_signing_on: bool,
    /// Whether the application knows the session: then a page must not give the visitor another one.
    is_known: bool,
    /// The content before a log-in elsewhere, which pages may still show.
    elsewhere: Option<View>,
    /// The number of the process through which the visitor opened a post: only that process knows that the visitor's pages show it.
    opened_in: u64,
    /// The number of the process that serves now.
    process: u64,
    /// Whether the visitor has seen the own page since the log-in elsewhere.
    is_seen: bool,
    kept: BTreeMap<String, Kept>,
    things: usize,
    /// The last requests and their answers, for the report of a mistake.
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
        if visitor.habit == Habit::UnlistedCookie {
            visitor.jar.insert(TICKET.to_owned(), format!("user-{number}"));
        }
        if matches!(visitor.habit, Habit::UnlistedCookie | Habit::Basic) {
            visitor.view.user = Some(number);
        }
        visitor
    }

    /// Gives the visitor a session from before the run.
    pub(crate) fn with_session(&mut self, id: String, user: Option<usize>, is_known: bool) {
        self.is_known = is_known;
        self.jar.insert(SESSION.to_owned(), id);
        self.view.user = user;
        if self.site == Site::Told {
            let status = if user.is_some() { "member" } else { "none" };
            self.jar.insert(STATUS.to_owned(), status.to_owned());
        }
    }

    /// Whether only noise of the requests names the visitor.
    pub(crate) fn is_unknown_visitor(&self) -> bool {
        let is_known = self.jar.contains_key(SESSION) || self.url_session.is_some();
        !is_known && !matches!(self.habit, Habit::UnlistedCookie | Habit::Basic)
    }

    /// The states of the session that an answer may show.
    fn allowed(&self) -> Vec<View> {
        let mut allowed: Vec<View> = std::iter::once(&self.view).chain(&self.elsewhere).cloned().collect();
        if self.is_forgotten() {
            allowed.push(View { has_opened: false, ..self.view.clone() });
        }
        allowed
    }

    /// Whether the process that saw the visitor open a post is gone.
    fn is_forgotten(&self) -> bool {
        self.view.has_opened && self.opened_in != self.process
    }

    fn is_in_doubt(&self) -> bool {
        self.elsewhere.is_some() || (self.is_forgotten() && self.view.is_anonymous())
    }

    /// Logs the session in through `log_in`, without a request; returns whether that was possible.
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

    /// The page by which the visitor finds out whether Kasoku has noticed a log-in elsewhere; `None` if there is no doubt.
    pub(crate) fn doubt(&self) -> Option<Ask> {
        let page = Page { kind: Kind::Board, number: 7 };
        (self.elsewhere.is_some() && !self.is_seen).then(|| self.ask("GET", &page.path(), Expected::Page(page)))
    }

    /// Updates the visitor after an answer. With `is_beside`, the answer to the next step is still under way; its session cookie counts,
    /// not that of this answer.
    pub(crate) fn learn(&mut self, ask: &Ask, answer: &Answer, is_beside: bool) {
        self.remember(summary(ask, answer, is_beside));
        // After some log-outs the application forgets the session, but the visitor keeps its cookie.
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
                // From now on the browser has another session, or none.
                self.view.has_opened = false;
            }
            if let Some(before) = self.elsewhere.take_if(|_| name == SESSION) {
                self.view = before;
            }
        }
        if ask.expected == Expected::Done && answer.head.status != 303 {
            // The failed log-in is reported once; later pages must not count as mistakes again.
            self.view.user = None;
        }
        let Some(claim) = answer.claim() else { return };
        if let Some(tag) = answer.head.fields.only("etag") {
            self.kept.insert(ask.path.clone(), Kept { tag: tag.to_owned(), view: claim.view.clone() });
        }
        self.is_seen |= claim.view == self.view && !self.view.is_shareable();
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

    /// The visitor's last requests, the latest first.
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
