//! Situations in tables: a request and its answer, what Kasoku does with them, and what Cache-Status says about it.
//!
//! Each row is a scenario of its own: Kasoku with the rules of a board ([`of_a_board`]), changed as the row says; an application
//! that always gives the same answer; and a visitor who asks twice. A row expects one of three results:
//!
//! - **shared**: the first answer is stored, and the second request is a hit. The application was asked once, without the
//!   visitor's Cookie, Authorization and other fields. Neither answer has a Set-Cookie.
//! - **passes**: both requests go to the application with their cookies, and nothing is stored, whatever the application answers.
//! - **own**: both requests go there as anonymous requests and nothing is stored. The visitor gets the answer with its cookies.
//!
//! Beside the reason, a row states the other parameters: the cookie, the dropped cookies, and the line that decided. They must be
//! equal in Cache-Status, in X-Cache-Hit, and in `kasoku explain` before the request, if it passes or is a hit.

#[path = "situations/answers.rs"]
mod answers;
#[path = "situations/cookies.rs"]
mod cookies;
#[path = "situations/requests.rs"]
mod requests;
#[path = "situations/set_cookies.rs"]
mod set_cookies;
#[path = "situations/urls.rs"]
mod urls;

use crate::anonymous::application::{Application, Asked, Does};
use crate::anonymous::{of_a_board, told};
use kasoku_engine::explain::Question;
use kasoku_options::Route;
use kasoku_semantics::policy::Profile;
use kasoku_testkit::{Response, Scenario, Setup, is_stand_in, reply};

/// One situation.
pub(crate) struct Row {
    name: &'static str,
    target: &'static str,
    method: &'static str,
    fields: Vec<String>,
    status: &'static str,
    answer: Vec<String>,
    body: Vec<u8>,
    /// The bytes of the whole answer, if they are not made of status, lines and body.
    bytes: Option<Vec<u8>>,
    rules: Vec<fn(&mut Route)>,
    expected: Expected,
    cookie: Option<&'static str>,
    dropped: Option<&'static str>,
    line: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    Nothing,
    Shared,
    Passes(&'static str),
    Own(&'static str),
}

/// A GET of a page that says nothing about caching. Each row changes some of this.
pub(crate) fn row(name: &'static str) -> Row {
    Row {
        name,
        target: "/page",
        method: "GET",
        fields: Vec::new(),
        status: "200 OK",
        answer: vec!["Content-Type: text/html".to_owned()],
        body: b"a page".to_vec(),
        bytes: None,
        rules: Vec::new(),
        expected: Expected::Nothing,
        cookie: None,
        dropped: None,
        line: None,
    }
}

/// A request with these cookies.
pub(crate) fn with_cookie(name: &'static str, cookies: &str) -> Row {
    row(name).field(&format!("Cookie: {cookies}"))
}

/// An answer with this field line.
pub(crate) fn answered(name: &'static str, line: &str) -> Row {
    row(name).line(line)
}

impl Row {
    pub(crate) fn field(mut self, line: &str) -> Self {
        self.fields.push(line.to_owned());
        self
    }

    pub(crate) fn target(mut self, target: &'static str) -> Self {
        self.target = target;
        self
    }

    pub(crate) fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn line(mut self, line: &str) -> Self {
        self.answer.push(line.to_owned());
        self
    }

    pub(crate) fn typed(mut self, media_type: &str) -> Self {
        self.answer[0] = format!("Content-Type: {media_type}");
        self
    }

    pub(crate) fn status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.bytes = Some(bytes.as_ref().to_vec());
        self
    }

    /// Whether the rules of the row grant a lifetime.
    fn grants(&self) -> bool {
        let mut route = Route::new(Profile::Safe, Vec::new());
        of_a_board(&mut route);
        self.rules.iter().for_each(|change| change(&mut route));
        route.policy.grant.is_granting()
    }

    pub(crate) fn rules(mut self, change: fn(&mut Route)) -> Self {
        self.rules.push(change);
        self
    }

    /// Shared, by the line that grants the lifetime.
    pub(crate) fn shared(mut self) -> Self {
        self.expected = Expected::Shared;
        self.by_line(1)
    }

    /// No line decided: the granted lifetime did not matter.
    pub(crate) fn unruled(mut self) -> Self {
        self.line = None;
        self
    }

    /// Shared, and these cookies of the answer are dropped.
    pub(crate) fn drops(mut self, names: &'static str) -> Self {
        self.dropped = Some(names);
        self.shared()
    }

    pub(crate) fn passes(mut self, reason: &'static str) -> Self {
        self.expected = Expected::Passes(reason);
        self
    }

    /// Passes because of its session, in that cookie.
    pub(crate) fn passes_by_session(self, name: &'static str) -> Self {
        self.passes("pass-session").by(name, 4)
    }

    /// Passes because of an unknown cookie.
    pub(crate) fn passes_by_cookie(self, name: &'static str) -> Self {
        self.passes("pass-cookie").by(name, 2)
    }

    pub(crate) fn own(mut self, reason: &'static str) -> Self {
        self.expected = Expected::Own(reason);
        self
    }

    /// The answer is for its visitor alone because it sets that cookie.
    pub(crate) fn own_by_cookie(mut self, name: &'static str) -> Self {
        self.cookie = Some(name);
        self.own("set-cookie")
    }

    /// That cookie decided, by the line of that number.
    pub(crate) fn by(mut self, cookie: &'static str, line: usize) -> Self {
        self.cookie = Some(cookie);
        self.by_line(line)
    }

    pub(crate) fn by_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// The differences from what the row expects.
    fn faults(&self) -> Vec<String> {
        let bytes = self.bytes.clone().unwrap_or_else(|| {
            let lines: Vec<&str> = self.answer.iter().map(String::as_str).collect();
            reply(self.status, &lines, if self.method == "HEAD" { &[] } else { &self.body[..] })
        });
        let application = Application::start(move |_| Does::Answer(bytes.clone()));
        let setup = self.rules.iter().fold(Setup::safe().route(of_a_board), |setup, change| setup.route(change));
        let origin = application.address();
        let setup = setup.options(|options| options.hit_headers.x_cache_hit = true);
        let scene = setup.site(&[], |route| route.origins = vec![origin.into()]).run_with_own_origins();
        let explained = [(); 2].map(|()| (self.explanation(&scene, false), self.ask(&scene)));
        let (foretold, answers) =
            (explained.each_ref().map(|(told, _)| told.clone()), explained.map(|(_, answer)| answer));
        let mut seen = Seen { row: self, scene: &scene, asked: application.asked(), foretold, faults: Vec::new() };
        seen.look_at(&answers);
        seen.faults
    }

    /// What `kasoku explain` says about the row now, as Cache-Status.
    fn explanation(&self, scene: &Scenario, is_live: bool) -> String {
        let url = format!("http://example.org{}", self.target);
        let question =
            Question { method: self.method.to_owned(), fields: self.fields.clone(), is_live, ..Question::get(url) };
        scene.engine.handle().explain(&question).map_or_else(|error| error.0, |told| told.cache_status())
    }

    fn ask(&self, scene: &Scenario) -> Response {
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let mut client = scene.client();
        client.ask(self.method, self.target, &fields);
        if self.method == "HEAD" { client.response_to_head() } else { client.response() }
    }
}

/// What happened in the scenario of a row.
struct Seen<'r> {
    row: &'r Row,
    scene: &'r Scenario,
    asked: Vec<Asked>,
    /// The explanation before each of the two answers.
    foretold: [String; 2],
    faults: Vec<String>,
}

impl Seen<'_> {
    fn look_at(&mut self, [first, second]: &[Response; 2]) {
        let row = self.row;
        match row.expected {
            Expected::Nothing => self.fault("the row expects nothing"),
            Expected::Shared => {
                self.is(second.is_hit(), "the second is no hit");
                self.is(second.body == first.body, "the second is another");
                self.is(self.asked.len() == 1, "it was asked more than once");
                self.is(self.are_anonymous(), "the application was told who asks");
                let sets = [first, second].iter().any(|response| response.has("set-cookie"));
                self.is(!sets, "another visitor got a cookie");
            }
            Expected::Passes(reason) => {
                self.is(first.detail() == reason && second.detail() == reason, "another reason");
                self.is(self.asked.len() == 2 && self.has_its_cookies(), "it did not come as it was");
                self.is(self.scene.engine.cache().is_empty(), "something was stored");
                self.is(self.keeps_its_cookies(first), "a cookie of the answer is missing");
            }
            Expected::Own(reason) => {
                self.is(first.detail() == reason && second.detail() == reason, "another reason");
                self.is(self.asked.len() == 2 && self.are_anonymous(), "the application was told who asks");
                self.is(self.scene.engine.cache().is_empty(), "something was stored");
                self.is(self.keeps_its_cookies(first), "a cookie of the answer is missing");
                let found = row.explanation(self.scene, true);
                self.is(
                    found.contains(&format!("detail={reason};")) || found.ends_with(&format!("detail={reason}")),
                    "explain found something else",
                );
                self.is(behind(&found) == behind(&first.field("cache-status")), "explain named something else");
            }
        }
        let is_told_before = [first, second].iter().zip(&self.foretold).all(|(response, told)| {
            let is_settled = matches!(row.expected, Expected::Passes(_)) || response.is_hit();
            !is_settled || response.field("cache-status") == *told
        });
        self.is(is_told_before, "explain said something else");
        let is_repeated = behind(&first.field("x-cache-hit")) == behind(&first.field("cache-status"));
        self.is(
            is_repeated && second.field("x-cache-hit").starts_with(if second.is_hit() { "1" } else { "0" }),
            "X-Cache-Hit",
        );
        self.is(told(first, "cookie").as_deref() == row.cookie, "another cookie is told");
        self.is(told(first, "dropped").as_deref() == row.dropped, "other cookies are told as dropped");
        if let Some(line) = row.line {
            self.is(told(first, "rule") == Some(format!("board.toml:{line}")), "another line is told");
        }
        if !self.faults.is_empty() {
            self.faults.push(format!(
                "  first: {:?}\n  second: {:?}\n  asked: {:?}\n  foretold: {:?}",
                first.head, second.head, self.asked, self.foretold
            ));
        }
    }

    fn is(&mut self, holds: bool, fault: &str) {
        if !holds {
            self.fault(fault);
        }
    }

    fn fault(&mut self, text: &str) {
        self.faults.push(format!("{} ({:?}): {text}", self.row.name, self.row.expected));
    }

    /// Whether each request reached the application with the cookies that were sent.
    fn has_its_cookies(&self) -> bool {
        let cookies = |asked: &Asked| -> Vec<String> {
            let of = |line: &&String| line.to_ascii_lowercase().starts_with("cookie:");
            asked.lines.iter().filter(of).map(|line| line.split_once(':').unwrap().1.trim().to_owned()).collect()
        };
        let sent = Asked { lines: self.row.fields.clone(), ..Asked::default() };
        self.asked.iter().all(|asked| cookies(asked) == cookies(&sent))
    }

    fn are_anonymous(&self) -> bool {
        let names = ["cookie", "authorization", "referer", "accept-language"];
        let is_nobodys = |told: &str| if self.row.grants() { is_stand_in(told) } else { told == "127.0.0.1" };
        let has_no_address = |asked: &Asked| asked.field("x-forwarded-for").is_none_or(is_nobodys);
        let is_clean = |asked: &Asked| names.iter().all(|name| asked.field(name).is_none()) && has_no_address(asked);
        self.asked.iter().all(is_clean)
    }

    fn keeps_its_cookies(&self, response: &Response) -> bool {
        let lines = self.row.answer.iter().filter_map(|line| line.split_once(':'));
        let set = lines.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")).map(|(_, value)| value.trim());
        set.eq(response.head.all("set-cookie"))
    }
}

/// The part of Cache-Status that begins at the cookie.
fn behind(status: &str) -> Option<&str> {
    status.split_once("; cookie=").map(|(_, rest)| rest)
}

/// Runs all rows of a table.
#[track_caller]
pub(crate) fn hold(rows: Vec<Row>) {
    let count = rows.len();
    let faults: Vec<String> = rows.iter().flat_map(Row::faults).collect();
    assert!(faults.is_empty(), "of {count} situations:\n{}", faults.join("\n"));
}
