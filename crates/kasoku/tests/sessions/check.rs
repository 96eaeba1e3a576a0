//! Checks answers: compares the request and its visitor with the answer, and reports what is wrong.
//!
//! An answer is right if each of its bytes belongs to one claim, the claim is about the requested page and names no other visitor, and it
//! shows exactly what the visitor's session holds. An answer that was made for one visitor may be given only once. A hit must be an
//! anonymous page. The id of a session, a token or a counter may reach only one visitor, in `Set-Cookie` as in a body.

use crate::application::SESSION;
use crate::page::{Claim, Kind, Page, Site, View};
use kasoku_oracle::cache_status::CacheStatus;
use kasoku_oracle::wire::ResponseHead;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kind of answer that a request must get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A page that many visitors read.
    Page(Page),
    /// A form with a token.
    Begun,
    /// The visitor's own cart.
    Shown,
    /// A redirect to the next page after a change.
    Done,
}

/// A page that the visitor's browser has kept, even if it should not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) tag: String,
    /// The state of the session for which the page was made.
    pub(crate) view: View,
}

/// A request of a visitor, and the answers that are right for it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) visitor: usize,
    pub(crate) site: Site,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// The query with its `?`, or empty.
    pub(crate) query: String,
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
    pub(crate) expected: Expected,
    /// What the session may hold: more than one state only if the visitor can't know which.
    pub(crate) allowed: Vec<View>,
    /// The visitor's class of devices and language.
    pub(crate) variant: String,
    /// The browser's copy of the page, whose entity tag the request sends in `If-None-Match`.
    pub(crate) kept: Option<Kept>,
    /// Whether only noise of the request names the visitor.
    pub(crate) is_unknown_visitor: bool,
    /// Whether the request carries a session cookie that the application knows.
    pub(crate) has_session: bool,
    /// Whether the session holds something that the visitor must not lose.
    pub(crate) needs_session: bool,
    /// The latest version of the requested club that any stranger had been refused before this request; an older page must not be shown.
    pub(crate) oldest_version: u64,
    /// Whether two processes served during the request, because one hands over: see [`operator`](crate::operator).
    pub(crate) is_handed_over: bool,
}

impl Ask {
    /// The request as text.
    pub(crate) fn bytes(&self) -> String {
        let Self { method, path, query, body, .. } = self;
        let mut head = format!("{method} {path}{query} HTTP/1.1\r\nHost: {}\r\n", self.site.host());
        for field in &self.fields {
            head.push_str(field);
            head.push_str("\r\n");
        }
        if *method == "POST" {
            head.push_str(&format!(
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                body.len()
            ));
        }
        format!("{head}\r\n{body}")
    }

    /// What the answer must show if the session holds `view`: a file ignores the session.
    fn shown(&self, view: &View) -> View {
        match self.expected {
            Expected::Page(Page { kind: Kind::File, .. }) => View::default(),
            _ => view.clone(),
        }
    }

    fn may_fail(&self) -> bool {
        matches!(self.expected, Expected::Page(page) if page.is_failing())
    }

    fn kind(&self) -> Option<Kind> {
        match self.expected {
            Expected::Page(page) => Some(page.kind),
            _ => None,
        }
    }
}

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) head: ResponseHead,
    pub(crate) body: Vec<u8>,
}

/// A cookie that an answer sets or removes.
pub(crate) struct SetCookie<'s> {
    pub(crate) name: &'s str,
    pub(crate) value: &'s str,
    /// Whether the answer removes the cookie.
    pub(crate) is_end: bool,
}

impl Answer {
    pub(crate) fn cache(&self) -> CacheStatus {
        CacheStatus::of(&self.head.fields)
    }

    pub(crate) fn cookies(&self) -> impl Iterator<Item = SetCookie<'_>> {
        self.head.fields.all("set-cookie").filter_map(|line| {
            let (name, rest) = line.split_once('=')?;
            let value = rest.split(';').next().unwrap_or_default();
            let is_end = rest.to_ascii_lowercase().contains("max-age=0");
            Some(SetCookie { name, value, is_end })
        })
    }

    /// The claim in the body, if the body is intact.
    pub(crate) fn claim(&self) -> Option<Claim> {
        Claim::read(&self.body).ok()
    }

    /// Whether the application refuses the page to the visitor.
    fn is_refusal(&self) -> bool {
        matches!(self.head.status, 302 | 403)
    }
}

/// The state that all checks share: the visitor of each unique value, the answers for one visitor, and the closed clubs.
#[derive(Default)]
pub(crate) struct Ledger {
    handed: Mutex<HashMap<String, usize>>,
    given: Mutex<HashSet<u64>>,
    closed: Mutex<HashMap<(Site, u64), u64>>,
}

impl Ledger {
    /// Records that the visitor got a value that is theirs alone; returns the visitor who got it before, if it was another.
    pub(crate) fn hand(&self, value: &str, visitor: usize) -> Option<usize> {
        let first = *locked(&self.handed).entry(value.to_owned()).or_insert(visitor);
        (first != visitor).then_some(first)
    }

    /// The oldest version of the club that a request from now on may show.
    pub(crate) fn oldest_version(&self, site: Site, number: u64) -> u64 {
        locked(&self.closed).get(&(site, number)).copied().unwrap_or(0)
    }

    fn is_closed(&self, site: Site, number: u64, version: u64) {
        let mut closed = locked(&self.closed);
        let oldest = closed.entry((site, number)).or_default();
        *oldest = version.max(*oldest);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mistakes of an answer, each as a kind, a colon and details.
pub(crate) fn check(ask: &Ask, answer: &Answer, ledger: &Ledger) -> Vec<String> {
    let mut wrong = Vec::new();
    status(ask, answer, &mut wrong);
    cookies(ask, answer, ledger, &mut wrong);
    downstream(ask, answer, &mut wrong);
    if answer.head.status == 304 {
        not_modified(ask, answer, &mut wrong);
    } else if ask.method == "HEAD" {
        if !answer.body.is_empty() {
            wrong.push("HEAD: the answer has a body".to_owned());
        }
    } else {
        match Claim::read(&answer.body) {
            Ok(claim) => body(ask, answer, &claim, ledger, &mut wrong),
            // An error page of the cache's own.
            Err(_) if answer.head.status >= 500 && ask.may_fail() => {}
            Err(why) => wrong.push(why),
        }
    }
    wrong
}

fn status(ask: &Ask, answer: &Answer, wrong: &mut Vec<String>) {
    let status = answer.head.status;
    let is_right = match (ask.expected, status) {
        (Expected::Page(Page { kind: Kind::SometimesMembersOnly, number }), 302) => number % 2 == 0,
        (Expected::Page(Page { kind: Kind::SometimesMembersOnly, number }), 403) => number % 2 == 1,
        (Expected::Page(Page { kind: Kind::Account, .. }), 302) => true,
        (Expected::Page(_), 304) => ask.kept.is_some(),
        (Expected::Page(_), 500..) => ask.may_fail(),
        (Expected::Page(_) | Expected::Begun | Expected::Shown, 200) | (Expected::Done, 303) => true,
        _ => false,
    };
    if !is_right {
        wrong.push(format!("status: {status} for {:?}", ask.expected));
    }
}

/// Cookies: each long value is for this visitor alone, the visitor does not lose a session in use, and a hit sets no cookie.
fn cookies(ask: &Ask, answer: &Answer, ledger: &Ledger, wrong: &mut Vec<String>) {
    let is_hit = answer.cache().hit;
    for SetCookie { name, value, is_end } in answer.cookies() {
        let is_reading = matches!(ask.expected, Expected::Page(_));
        let is_lost = is_end && name == SESSION && ask.path != "/logout";
        if is_lost && (ask.needs_session || !is_reading) {
            wrong.push("lost: the cookie of a session is taken away that is in use".to_owned());
        } else if is_hit && !is_lost {
            wrong.push(format!("shared: a hit sets {name}={value}"));
        }
        if name == SESSION && !is_end && ask.has_session && is_reading {
            wrong.push(format!("replaced: a page gives a session to one who has one: {value}"));
        }
        // Short values are words that are the same for all visitors.
        if value.len() >= 16
            && let Some(other) = ledger.hand(value, ask.visitor)
        {
            wrong.push(format!("handed twice: {name}={value} was given to {other}"));
        }
    }
}

/// Pages with a granted lifetime may be stored neither by downstream caches nor by a browser, which would show them after a log-in.
fn downstream(ask: &Ask, answer: &Answer, wrong: &mut Vec<String>) {
    let (fields, is_page) = (&answer.head.fields, ask.kind().is_some_and(|kind| kind != Kind::File));
    if answer.cache().hit && is_page && answer.head.status == 200 {
        let is_asked_each_time = ["no-cache", "no-store"].iter().any(|one| fields.lists("cache-control", one));
        if !is_asked_each_time || !fields.lists("vary", "cookie") {
            wrong.push("downstream: a granted page that may be kept, or without Vary: Cookie".to_owned());
        }
    }
    let is_confined = fields.lists("cache-control", "private") && fields.lists("cache-control", "no-store");
    if is_page && ask.has_session && answer.head.status == 200 && !is_confined {
        wrong.push("downstream: a page that answers a session, and that its browser may keep".to_owned());
    }
}

fn not_modified(ask: &Ask, answer: &Answer, wrong: &mut Vec<String>) {
    let told = answer.head.fields.only("etag").unwrap_or_default();
    let Some(kept) = ask.kept.as_ref().filter(|kept| kept.tag == told) else {
        return wrong.push(format!("304: for {told}, but the client has {:?}", ask.kept));
    };
    if !ask.allowed.contains(&kept.view) && !ask.is_handed_over {
        wrong.push(format!("mistaken: 304 for {kept:?}, where there is {:?}", ask.allowed));
    }
}

fn body(ask: &Ask, answer: &Answer, claim: &Claim, ledger: &Ledger, wrong: &mut Vec<String>) {
    let cache = answer.cache();
    if (claim.host.as_str(), claim.path.as_str()) != (ask.site.host(), ask.path.as_str()) {
        wrong.push(format!("mixed: this is {} of {}", claim.path, claim.host));
    }
    whom(ask, claim, wrong);
    what(ask, claim, wrong);
    if (cache.hit || cache.collapsed) && !claim.is_shareable() {
        wrong.push(format!("shared: what is for one visitor: {claim:?}"));
    }
    if cache.hit && ask.kind().is_some_and(Kind::is_for_one) {
        wrong.push(format!("shared: a hit on a page of kind {:?}", ask.kind()));
    }
    let is_for_one = !claim.is_shareable() || ask.kind().is_some_and(|kind| matches!(kind, Kind::Private));
    if is_for_one && !locked(&ledger.given).insert(claim.serial) {
        wrong.push(format!("shared: the answer {} has been given before", claim.serial));
    }
    for own in claim.session.iter().chain(&claim.token) {
        if let Some(other) = ledger.hand(own, ask.visitor) {
            wrong.push(format!("handed twice: {own} in a body was given to {other}"));
        }
    }
    if let Expected::Page(Page { kind: Kind::SometimesMembersOnly, number }) = ask.expected {
        club(ask, answer, claim, number, ledger, wrong);
    }
}

/// The answer names no other visitor.
fn whom(ask: &Ask, claim: &Claim, wrong: &mut Vec<String>) {
    let things =
        claim.view.cart.iter().map(|thing| thing.trim_start_matches('v').split('.').next().unwrap_or_default());
    let named = things
        .map(|number| number.parse().ok())
        .chain([claim.view.user, claim.by].map(|one| one.or(Some(ask.visitor))));
    let foreign: Vec<_> = named.filter(|one| *one != Some(ask.visitor)).collect();
    if !foreign.is_empty() {
        wrong.push(format!("foreign: it is for {foreign:?}: {claim:?}"));
    }
}

/// The answer shows what the session holds.
fn what(ask: &Ask, claim: &Claim, wrong: &mut Vec<String>) {
    let is_right = ask.allowed.iter().any(|view| ask.shown(view) == claim.view);
    // The old process does not learn what the new one sees, so it may still take a session for anonymous.
    let is_excused = ask.is_handed_over && claim.is_shareable();
    if !is_right && !is_excused {
        wrong.push(format!("mistaken: {:?} where there is {:?}", claim.view, ask.allowed));
    }
    if ask.expected == Expected::Begun && claim.token.is_none() {
        wrong.push("mistaken: a form without its token".to_owned());
    }
    if claim.variant.as_ref().is_some_and(|variant| *variant != ask.variant) {
        wrong.push(format!("variant: {:?} for {}", claim.variant, ask.variant));
    }
}

/// A club that was closed before this request is not shown to a visitor who is not logged in.
fn club(ask: &Ask, answer: &Answer, claim: &Claim, number: u64, ledger: &Ledger, wrong: &mut Vec<String>) {
    if answer.is_refusal() {
        let passed = answer.cache().detail.is_some_and(|detail| detail.starts_with("pass"));
        if !passed && ask.is_unknown_visitor {
            ledger.is_closed(ask.site, number, claim.version);
        }
        if claim.view.user.is_some() {
            wrong.push("mistaken: a member is sent away".to_owned());
        }
    } else if claim.version < ask.oldest_version && !ask.is_handed_over {
        wrong
            .push(format!("closed: version {} is shown, and {} was refused before", claim.version, ask.oldest_version));
    }
}
