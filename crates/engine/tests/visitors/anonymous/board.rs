//! A board like a PHP program: it calls session_start() on each page, and knows its visitors only by their sessions.
//!
//! Like PHP, it accepts any session id that a request brings, and sets a cookie if the request has none. Each answer has a number
//! of its own, so a test can tell a stored page from a new one. The first line of a page says for whom it was made.

use crate::anonymous::application::{Application, Asked, Does};
use kasoku_metrics::Counter;
use kasoku_options::OriginAddress;
use kasoku_testkit::{Gate, Scenario, Setup, is_stand_in, reply};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The fields that session_start() makes PHP send.
pub(crate) const NOT_TO_BE_KEPT: [&str; 3] = [
    "Expires: Thu, 19 Nov 1981 08:52:00 GMT",
    "Cache-Control: no-store, no-cache, must-revalidate",
    "Pragma: no-cache",
];

/// See the [module](self).
pub(crate) struct Board {
    application: Application,
    state: Arc<Mutex<State>>,
}

/// The state of the board, which a test may change.
#[derive(Default)]
pub(crate) struct State {
    /// The logged-in members, by the id of their session.
    members: HashMap<String, String>,
    /// The number of sessions that have begun.
    sessions: usize,
    answers: usize,
    /// The answer to `/becomes.php` in place of the page: a status and more field lines.
    pub(crate) becomes: Option<(&'static str, Vec<&'static str>)>,
    /// The status of `/login.php`, in place of the form.
    pub(crate) fails: Option<&'static str>,
    /// Field lines that are added to each page.
    pub(crate) adds: Vec<&'static str>,
}

impl Board {
    pub(crate) fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let own = state.clone();
        let application = Application::start(move |asked| Does::Answer(own.lock().unwrap().answer(asked)));
        Self { application, state }
    }

    /// Kasoku in front of the board.
    pub(crate) fn behind(&self, setup: Setup) -> Scenario {
        setup.run_before(&self.application.address())
    }

    pub(crate) fn address(&self) -> OriginAddress {
        self.application.address()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Opens a session, which is logged in as that member, or anonymous.
    pub(crate) fn session(&self, member: Option<&str>) -> String {
        self.state().session(member)
    }

    /// From now on, the session is that member's, or anonymous.
    pub(crate) fn log_in(&self, id: &str, member: Option<&str>) {
        self.state().log_in(id, member);
    }

    pub(crate) fn count(&self) -> usize {
        self.application.count()
    }

    pub(crate) fn arrived(&self, count: usize) {
        self.application.arrived(count);
    }

    pub(crate) fn holds_next(&self, gate: &Gate) {
        self.application.holds_next(gate);
    }

    /// The last request for that target.
    pub(crate) fn last(&self, target: &str) -> Asked {
        self.application.asked().into_iter().rfind(|asked| asked.target() == target).unwrap()
    }

    /// The number of requests for that target.
    pub(crate) fn count_of(&self, target: &str) -> usize {
        self.application.asked().iter().filter(|asked| asked.target() == target).count()
    }

    /// Whether the board has answered all requests.
    pub(crate) fn all_is_answered(&self) -> bool {
        self.application.answered() == self.count()
    }

    /// Waits until Kasoku has sent that many probes and has read all answers.
    #[track_caller]
    pub(crate) fn was_probed(&self, scene: &Scenario, count: usize) {
        scene.counted(Counter::SessionProbes, count as u64);
        scene.eventually(|| self.count_of("/login.php") >= count && self.all_is_answered());
        scene.settled();
        assert_eq!(self.count_of("/login.php"), count, "questions");
    }
}

impl State {
    fn session(&mut self, member: Option<&str>) -> String {
        self.sessions += 1;
        let id = format!("{:032x}", 0xace0_0000_0000_0000_0000_0000_0000_0000_u128 + self.sessions as u128);
        self.log_in(&id, member);
        id
    }

    fn log_in(&mut self, id: &str, member: Option<&str>) {
        match member {
            Some(name) => drop(self.members.insert(id.to_owned(), name.to_owned())),
            None => drop(self.members.remove(id)),
        }
    }

    fn answer(&mut self, asked: &Asked) -> Vec<u8> {
        self.answers += 1;
        let brought = value_of(asked, "PHPSESSID");
        let id = brought.clone().unwrap_or_else(|| self.session(None));
        let sets = brought.is_none().then(|| format!("Set-Cookie: PHPSESSID={id}; path=/"));
        let mut lines: Vec<String> = NOT_TO_BE_KEPT.map(str::to_owned).into();
        lines.push("Content-Type: text/html; charset=utf-8".to_owned());
        lines.extend(sets);
        lines.extend(self.adds.iter().map(|line| (*line).to_owned()));
        let (status, more, text) = self.page(asked, &id);
        lines.extend(more);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let body = if asked.lines[0].starts_with("HEAD ") { String::new() } else { text };
        reply(status, &lines, body)
    }

    fn page(&mut self, asked: &Asked, id: &str) -> (&'static str, Vec<String>, String) {
        let moved = |to: &str| ("302 Found", vec![format!("Location: {to}")], String::new());
        let (path, query) = asked.target().split_once('?').unwrap_or((asked.target(), ""));
        match path {
            "/login.php" if self.fails.is_some() => return (self.fails.unwrap(), Vec::new(), "broken".to_owned()),
            "/login.php" if self.members.contains_key(id) => return moved("/"),
            "/login_check.php" => {
                self.log_in(id, asked.body.strip_prefix("user=").filter(|name| !name.is_empty()));
                return moved("/");
            }
            "/logout.php" => {
                self.log_in(id, None);
                return moved("/");
            }
            "/sso.php" => self.log_in(id, query.strip_prefix("user=")),
            _ => {}
        }
        // Single sign-on by a cookie of another program on the same domain.
        if let Some(member) = value_of(asked, "sso") {
            self.log_in(id, Some(&member));
        }
        let who = self.members.get(id).cloned().unwrap_or_else(|| "a guest".to_owned());
        // A page with an anonymous request's own address would not be stored.
        let field = |name: &str| asked.field(name).filter(|told| !is_stand_in(told)).unwrap_or("nothing").to_owned();
        let seen = ["user-agent", "accept-language", "referer", "x-forwarded-for", "x-theme"].map(field).join(" | ");
        let text = match path {
            "/login.php" => "<form action=\"/login_check.php\">".to_owned(),
            "/links.php" => format!("<a href=\"/list.php?PHPSESSID={id}\">list</a>"),
            "/seen.php" => seen,
            _ => String::new(),
        };
        let body = format!("This is for {who}.\n{text}\nAnswer {}.", self.answers);
        match (path, &self.becomes) {
            ("/becomes.php", Some((status, lines))) => {
                (status, lines.iter().map(|line| (*line).to_owned()).collect(), body)
            }
            ("/private.php", _) => ("200 OK", vec!["Cache-Control: private".to_owned()], body),
            _ => ("200 OK", Vec::new(), body),
        }
    }
}

/// The value of a cookie of a request.
fn value_of(asked: &Asked, name: &str) -> Option<String> {
    let mut cookies = asked.field("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
    cookies.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}
