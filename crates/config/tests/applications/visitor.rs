//! Simulates a visitor with a browser, which stores the cookies that it receives and sends them back.

use kasoku_testkit::{Client, Response, Scenario};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

const DESKTOP: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";
const TELEPHONE: &str = "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36";

/// See the [module](self).
pub(crate) struct Visitor {
    host: u8,
    agent: &'static str,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// A visitor with a desktop browser, at the address 127.0.0.`host`.
    pub(crate) fn new(host: u8) -> Self {
        Self { host, agent: DESKTOP, cookies: BTreeMap::new() }
    }

    /// A visitor with a telephone, at the address 127.0.0.`host`.
    pub(crate) fn mobile(host: u8) -> Self {
        Self { agent: TELEPHONE, ..Self::new(host) }
    }

    /// The same visitor with one more cookie.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.cookies.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn get(&mut self, scene: &Scenario, target: &str) -> Response {
        self.ask(scene, "GET", target, None)
    }

    /// Sends a form.
    pub(crate) fn post(&mut self, scene: &Scenario, target: &str, form: &str) -> Response {
        self.ask(scene, "POST", target, Some(form))
    }

    fn ask(&mut self, scene: &Scenario, method: &str, target: &str, form: Option<&str>) -> Response {
        let own = IpAddr::V4(Ipv4Addr::new(127, 0, 0, self.host));
        let mut client = Client::connect_from(own, scene.engine.addresses()[0]);
        let mut fields = vec![format!("User-Agent: {}", self.agent)];
        if !self.cookies.is_empty() {
            let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            fields.push(format!("Cookie: {}", pairs.join("; ")));
        }
        if form.is_some() {
            fields.push("Content-Type: application/x-www-form-urlencoded".to_owned());
        }
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let response = match form {
            Some(form) => client.send_body(method, target, &fields, form),
            None => client.get_with(target, &fields),
        };
        for line in response.head.all("set-cookie") {
            self.keep(line);
        }
        response
    }

    fn keep(&mut self, line: &str) {
        let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
        if line.contains("Max-Age=0") {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Requests the page until it is a hit. Kasoku probes the session after an answer, and ignores the result if another request of the
    /// session came meanwhile. So each round waits until the engine has settled.
    #[track_caller]
    pub(crate) fn becomes_anonymous(&mut self, scene: &Scenario, target: &str) -> Response {
        let mut last = None;
        scene.eventually(|| {
            scene.settled();
            let response = self.get(scene, target);
            let is_hit = response.is_hit();
            last = Some(response);
            is_hit
        });
        last.unwrap()
    }
}

/// Checks that the response is a hit on a shared page, without `Set-Cookie`.
#[track_caller]
pub(crate) fn is_shared(response: &Response, body: &str) {
    assert_eq!(response.short(), (200, body.to_owned()), "{response:?}");
    assert!(response.is_hit(), "{response:?}");
    assert!(!response.has("set-cookie"), "{response:?}");
}

/// Checks that the response was fetched and stored; such a response carries no `Set-Cookie` either.
#[track_caller]
pub(crate) fn is_made(response: &Response, body: &str) {
    assert_eq!(response.short(), (200, body.to_owned()), "{response:?}");
    assert!(!response.is_hit() && !response.has("set-cookie"), "{response:?}");
    assert!(response.cache_status("stored").is_some(), "{response:?}");
}

/// Checks that the page is for its visitor alone: no hit, not stored, and with the reason `detail`.
#[track_caller]
pub(crate) fn is_own(response: &Response, body: &str, detail: &str) {
    assert_eq!(response.short(), (200, body.to_owned()), "{response:?}");
    assert!(!response.is_hit() && response.cache_status("stored").is_none(), "{response:?}");
    assert_eq!(response.detail(), detail, "{response:?}");
}
