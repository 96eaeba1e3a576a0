//! Counts the events of a run, and keeps the first mistakes of each kind in full.

use crate::application::SESSION;
use crate::check::{Answer, Ask, Expected};
use crate::page::Site;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counts {
    ($($variant:ident $text:literal)*) => {
        /// The events that are counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Count { $(#[doc = $text] $variant),* }

        const ALL: &[(Count, &str)] = &[$((Count::$variant, $text)),*];
    };
}

counts! {
    Request "requests"
    UnknownVisitor "pages read by those who have no session"
    UnknownVisitorHit "hits among these"
    Visitor "pages read by those who have a session, or are known otherwise"
    ProbedHit "hits among these: a probe has found the session to be anonymous"
    ToldHit "hits among these: a cookie says so"
    PlainHit "hits among these: it has logged out"
    OwnPage "pages with something of the visitor's own"
    LogIn "log-ins, by form and by single sign-on"
    LogOut "log-outs"
    Cart "carts shown or changed"
    Opened "posts opened by a password"
    LoggedInElsewhere "log-ins that no request says"
    Session "session cookies that were handed out"
    Expired "session cookies that were taken away"
    Refused "visitors that were sent away"
    NotModified "304"
    Failed "errors"
    HandedOver "answers while two processes serve"
    Reload "reloads"
    HandOver "hand-overs"
    Restart "restarts"
}

/// The most mistakes of a kind that are printed in full.
const MISTAKES_SHOWN: u64 = 2;

/// See the [module](self).
pub(crate) struct Report {
    counts: Vec<AtomicU64>,
    mistakes: Mutex<Mistakes>,
}

#[derive(Default)]
struct Mistakes {
    shown: Vec<String>,
    /// The number of mistakes of each kind, which is the text before the colon.
    kinds: BTreeMap<String, u64>,
}

impl Default for Report {
    fn default() -> Self {
        Self { counts: ALL.iter().map(|_| AtomicU64::new(0)).collect(), mistakes: Mutex::default() }
    }
}

impl Report {
    pub(crate) fn count(&self, what: Count) {
        self.counts[what as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn total(&self, what: Count) -> u64 {
        self.counts[what as usize].load(Relaxed)
    }

    /// Counts the events that an answer shows.
    pub(crate) fn note(&self, ask: &Ask, answer: &Answer) {
        let (cache, status) = (answer.cache(), answer.head.status);
        let is_page = matches!(ask.expected, Expected::Page(_));
        let is_own = answer.claim().is_some_and(|claim| !claim.view.is_shareable());
        let session: Vec<bool> =
            answer.cookies().filter(|cookie| cookie.name == SESSION).map(|cookie| cookie.is_end).collect();
        let by_site = match ask.site {
            Site::Probed => Count::ProbedHit,
            Site::Told => Count::ToldHit,
            Site::Plain => Count::PlainHit,
        };
        let all = [
            (Count::Request, true),
            (Count::UnknownVisitor, is_page && ask.is_unknown_visitor),
            (Count::UnknownVisitorHit, is_page && ask.is_unknown_visitor && cache.hit),
            (Count::Visitor, is_page && !ask.is_unknown_visitor),
            (by_site, is_page && !ask.is_unknown_visitor && cache.hit),
            (Count::OwnPage, is_page && is_own),
            (Count::LogIn, status == 303 && ["/login", "/sso/return"].contains(&ask.path.as_str())),
            (Count::LogOut, ask.path == "/logout"),
            (Count::Opened, ask.path == "/open"),
            (Count::Cart, ask.path == "/cart"),
            (Count::Session, session.contains(&false)),
            (Count::Expired, session.contains(&true) && is_page),
            (Count::Refused, is_page && matches!(status, 302 | 403)),
            (Count::NotModified, status == 304),
            (Count::Failed, status >= 500),
            (Count::HandedOver, ask.is_handed_over),
        ];
        all.into_iter().filter(|(_, is)| *is).for_each(|(what, _)| self.count(what));
    }

    /// Records a mistake.
    pub(crate) fn mistake(&self, what: String) {
        let mut mistakes = self.mistakes.lock().unwrap();
        let kind = what.split([':', '\n']).next().unwrap_or_default().to_owned();
        let count = mistakes.kinds.entry(kind).or_default();
        *count += 1;
        if *count <= MISTAKES_SHOWN {
            mistakes.shown.push(what);
        }
    }

    /// The number of mistakes of each kind.
    pub(crate) fn mistakes(&self) -> BTreeMap<String, u64> {
        self.mistakes.lock().unwrap().kinds.clone()
    }

    /// The events that never happened in the run. A run without one of them tests too little.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        ALL.iter().filter(|(count, _)| self.total(*count) == 0).map(|(_, text)| *text).collect()
    }

    /// The report as text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for (count, text) in ALL {
            let _ = writeln!(out, "{:>10}  {text}", self.total(*count));
        }
        let mistakes = self.mistakes.lock().unwrap();
        let _ = writeln!(out, "{:>10}  mistakes", mistakes.kinds.values().sum::<u64>());
        for (kind, number) in &mistakes.kinds {
            let _ = writeln!(out, "{number:>12}  {kind}");
        }
        for mistake in &mistakes.shown {
            let _ = writeln!(out, "\n--- {mistake}");
        }
        out
    }
}
