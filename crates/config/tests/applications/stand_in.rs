//! What the stand-ins of the applications share: parsed requests as PHP and CGI programs see them, answers, and sessions.

use super::application::{Application, Asked, Does};
use kasoku_testkit::reply;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// An answer that a stand-in builds up.
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    /// A page of HTML.
    pub(crate) fn page(body: impl Into<String>) -> Self {
        Self { status: "200 OK", fields: vec!["Content-Type: text/html; charset=utf-8".to_owned()], body: body.into() }
    }

    /// A redirect to `target`.
    pub(crate) fn to(target: &str) -> Self {
        Self { status: "302 Found", fields: vec![format!("Location: {target}")], body: String::new() }
    }

    pub(crate) fn field(mut self, line: impl Into<String>) -> Self {
        self.fields.push(line.into());
        self
    }

    pub(crate) fn cookie(self, name: &str, value: &str) -> Self {
        self.field(format!("Set-Cookie: {name}={value}; path=/"))
    }

    pub(crate) fn no_cookie(self, name: &str) -> Self {
        self.field(format!("Set-Cookie: {name}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/"))
    }
}

/// A session's variables.
pub(crate) type Session = BTreeMap<String, String>;

/// Sessions by their ids.
#[derive(Default)]
pub(crate) struct Sessions {
    begun: usize,
    all: BTreeMap<String, Session>,
}

impl Sessions {
    /// The id of the session `id` or, if there is none, of a new session; and whether the session is new.
    pub(crate) fn start(&mut self, id: Option<&str>) -> (String, bool) {
        if let Some(id) = id.filter(|id| self.all.contains_key(*id)) {
            return (id.to_owned(), false);
        }
        self.begun += 1;
        let id = format!("{:032x}", 0xfeed_0000_u64 + self.begun as u64);
        self.all.insert(id.clone(), Session::new());
        (id, true)
    }

    pub(crate) fn of(&mut self, id: &str) -> &mut Session {
        self.all.entry(id.to_owned()).or_default()
    }

    pub(crate) fn destroy(&mut self, id: &str) {
        self.all.remove(id);
    }
}

/// Starts an application that answers each request with `answer`, given the request and its own state.
pub(crate) fn stand_in<S: Send + 'static>(
    state: S,
    answer: impl Fn(&mut S, &Asked) -> Answer + Send + Sync + 'static,
) -> Application {
    let state = Mutex::new(state);
    Application::start(move |asked| {
        let answer = answer(&mut state.lock().unwrap(), asked);
        let fields: Vec<&str> = answer.fields.iter().map(String::as_str).collect();
        Does::Answer(reply(answer.status, &fields, answer.body))
    })
}

/// A request as PHP and CGI programs read it.
pub(crate) trait Reads {
    fn method(&self) -> &str;
    fn path(&self) -> &str;
    /// A parameter of the query, or of a form that was sent.
    fn parameter(&self, name: &str) -> Option<&str>;
    fn cookie(&self, name: &str) -> Option<&str>;
    /// Whether `User-Agent` names a telephone, by the words that most programs look for.
    fn is_mobile(&self) -> bool;
}

impl Reads for Asked {
    fn method(&self) -> &str {
        self.lines[0].split(' ').next().unwrap()
    }

    fn path(&self) -> &str {
        self.target().split('?').next().unwrap()
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let query = self.target().split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').chain(self.body.split('&'));
        let mut found =
            pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).filter(|(found, _)| *found == name);
        found.next().map(|(_, value)| value)
    }

    fn cookie(&self, name: &str) -> Option<&str> {
        let mut pairs = self.field("cookie")?.split("; ").filter_map(|pair| pair.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    fn is_mobile(&self) -> bool {
        self.field("user-agent").is_some_and(|agent| agent.contains("Mobile") || agent.contains("Android"))
    }
}
