//! What the stand-ins have in common: what PHP and CGI programs make of a request, and sessions.

use super::application::{Application, Asked, Does};
use kasoku_testkit::reply;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// An answer in the making.
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    /// A page.
    pub(crate) fn page(body: impl Into<String>) -> Self {
        Self { status: "200 OK", fields: vec!["Content-Type: text/html; charset=utf-8".to_owned()], body: body.into() }
    }

    /// To another page.
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
    /// The session of that id, or a new one.
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

/// A program that answers by what it is asked and what it knows.
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

/// How programs read a request.
pub(crate) trait Reads {
    fn method(&self) -> &str;
    fn path(&self) -> &str;
    /// A parameter of the query, or of a form that was sent.
    fn parameter(&self, name: &str) -> Option<&str>;
    fn cookie(&self, name: &str) -> Option<&str>;
    /// Whether User-Agent speaks of a telephone, in the way in which most programs look.
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
