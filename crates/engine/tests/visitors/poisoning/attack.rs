//! One attack vector against one page, in each order of events.

use crate::poisoning::application::Application;
use crate::poisoning::vectors::Vector;
use kasoku_testkit::{Client, Gate, Response, Scenario};

/// Fields that differ between equal answers. Kasoku makes an ETag of the bytes, which the test compares anyway, once it has
/// stored all of them.
const OF_ITS_OWN: [&str; 4] = ["date", "age", "cache-status", "etag"];

pub(crate) struct Attack<'a> {
    pub(crate) number: usize,
    pub(crate) vector: &'a Vector,
    /// The scenario in which the attacker asks.
    pub(crate) attacked: &'a Scenario,
    /// The scenario in which only the victim asks.
    pub(crate) cold: &'a Scenario,
    pub(crate) application: &'a Application,
}

impl Attack<'_> {
    /// The attacker asks first.
    pub(crate) fn before_the_victim(&self) {
        let page = self.page("first");
        self.send(&page).finish();
        self.victim_gets_the_page(&page, &mut self.ask(&page), "afterwards");
    }

    /// The victim asks while the application holds the attacker's request.
    pub(crate) fn while_the_victim_waits(&self) {
        let page = self.page("during");
        let (gate, before) = (Gate::new(), self.application.count());
        if self.vector.is_refused() {
            return;
        }
        self.application.holds_next(&gate);
        let attacker = self.send(&page);
        self.application.arrived(before + 1);
        let mut victim = self.ask(&page);
        self.attacked.settled();
        gate.open();
        attacker.finish();
        self.victim_gets_the_page(&page, &mut victim, "meanwhile");
        self.victim_gets_the_page(&page, &mut self.ask(&page), "after both");
    }

    /// The attacker asks for a page that is stored and stale, and then the victim does.
    pub(crate) fn on_what_has_become_stale(&self) {
        let page = self.page("stale");
        self.ask(&page).response();
        self.attacked.advance(70);
        self.cold.advance(70);
        self.send(&page).finish();
        self.victim_gets_the_page(&page, &mut self.ask(&page), "after a refresh");
    }

    fn page(&self, order: &str) -> String {
        format!("/{order}{}", self.number)
    }

    fn send(&self, page: &str) -> Attacker<'_> {
        let mut client = self.attacked.client();
        client.send(self.vector.request(page));
        Attacker { client, vector: self.vector }
    }

    /// The victim's client, which has sent its request.
    fn ask(&self, page: &str) -> Client {
        let mut client = self.attacked.client();
        client.ask("GET", &self.vector.victims(page), &[]);
        client
    }

    #[track_caller]
    fn victim_gets_the_page(&self, page: &str, victim: &mut Client, when: &str) {
        let got = shown(&victim.response());
        let expected = shown(&self.cold.client().get(&self.vector.victims(page)));
        assert_eq!(got, expected, "{when}: {:?}", self.vector);
        assert!(!got.contains("evil") || self.vector.victims(page).contains("evil"), "{when}: {got}");
    }
}

struct Attacker<'a> {
    client: Client,
    vector: &'a Vector,
}

impl Attacker<'_> {
    /// Reads the answer. Kasoku itself must have refused the request if the vector says so.
    #[track_caller]
    fn finish(mut self) {
        let response = if self.vector.is_head() { self.client.response_to_head() } else { self.client.cut_response() };
        let status = if self.vector.is_refused() { 400..=499 } else { 200..=200 };
        assert!(status.contains(&response.status), "{:?}: {response:?}", self.vector);
    }
}

fn shown(response: &Response) -> String {
    let fields = response.head.fields.iter();
    let fields = fields.filter(|(name, _)| !OF_ITS_OWN.contains(&name.to_ascii_lowercase().as_str()));
    let mut fields: Vec<String> = fields.map(|(name, value)| format!("{name}: {value}")).collect();
    fields.sort();
    format!("{}\n{}\n\n{}", response.head.line, fields.join("\n"), response.text())
}
