//! Chooses a visitor's next request: mostly the visitor reads a page, now and then it takes a step of its habit, such as a log-in.

use super::Visitor;
use crate::application::{SESSION, STATUS};
use crate::check::{Ask, Expected};
use crate::habit::Habit;
use crate::page::{Kind, Page, View};
use kasoku_oracle::random::Random;

impl Visitor {
    /// The visitor's next requests: one, or a read and a step that the visitor sends right after it on another connection.
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
        // The read may also find no session content, if the step gives the session another id.
        meanwhile.allowed.extend([before, View::default()]);
        vec![meanwhile, step]
    }

    /// Closes the browser, which drops session cookies.
    fn leave(&mut self) {
        if !matches!(self.habit, Habit::UnlistedCookie | Habit::Basic) {
            self.view = View::default();
        }
        self.jar.retain(|name, _| ![SESSION, STATUS].contains(&name.as_str()));
        self.is_known = false;
        (self.url_session, self.token, self.elsewhere) = (None, None, None);
        self.remember("left, and came back".to_owned());
    }

    /// Reads a random page.
    pub(crate) fn read(&self, random: &mut Random) -> Ask {
        let page = Page::any(random);
        let method = if random.percent(3) { "HEAD" } else { "GET" };
        let mut ask = self.ask(method, &page.path(), Expected::Page(page));
        if let Some(kept) = self.kept.get(&ask.path).filter(|_| method == "GET" && random.percent(50)) {
            ask.fields.push(format!("If-None-Match: {}", kept.tag));
            ask.kept = Some(kept.clone());
        }
        ask
    }

    /// The next step of the visitor's habit, with a probability that depends on the habit.
    fn step(&mut self, random: &mut Random) -> Option<Ask> {
        let per_mille = match self.habit {
            Habit::Reader if self.is_known && !self.view.has_opened => 10,
            Habit::Reader | Habit::UnlistedCookie | Habit::Basic => 0,
            // A visitor who has begun a log-in continues it soon.
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

    /// Follows a link in a mail, which logs the visitor in.
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

    /// Sends the password of a protected post.
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
    pub(super) fn ask(&self, method: &'static str, path: &str, expected: Expected) -> Ask {
        let (number, is_mobile) = (self.number, self.number % 5 < 2);
        let language = if self.number % 7 < 3 { "en" } else { "ko" };
        let device = if is_mobile { "iPhone; Mobile" } else { "X11; Linux" };
        let mut fields = vec![
            format!("User-Agent: Mozilla/5.0 ({device}) visitor-{number}"),
            format!("Accept-Language: {language},de;q=0.5"),
            format!("Referer: http://visitor-{number}.test/"),
            format!("X-ATT-DeviceId: visitor-{number}"),
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
            kept: None,
            is_unknown_visitor: self.is_unknown_visitor(),
            has_session: self.is_known && self.jar.contains_key(SESSION),
            needs_session: !self.is_in_doubt() && (!self.view.is_shareable() || self.token.is_some()),
            oldest_version: 0,
            is_handed_over: false,
        }
    }
}
