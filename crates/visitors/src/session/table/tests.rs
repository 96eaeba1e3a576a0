use super::*;
use kasoku_options::CookiePattern;
use kasoku_options::SessionProbe;
use kasoku_semantics::reason::Reason;

fn rules() -> SessionRules {
    let probe = SessionProbe { target: "/me".to_owned(), status: 200, text: String::new() };
    SessionRules { cookies: vec!["sid".to_owned()], probe: Some(probe), ..SessionRules::default() }
}

fn fields(cookies: &str) -> Fields {
    [("Cookie", cookies)].into_iter().collect()
}

/// A table, and one session in it.
struct One {
    sessions: Arc<Sessions>,
    rules: Arc<SessionRules>,
    id: SessionId,
}

fn at(authority: &str, rules: u64) -> SessionPlace<'_> {
    SessionPlace { authority, rules }
}

impl One {
    fn new(rules: SessionRules) -> Self {
        let sessions = Arc::new(Sessions::default());
        let rules = Arc::new(rules);
        let id = sessions.of(at("a", 0), &rules, &fields("sid=1")).unwrap();
        Self { sessions, rules, id }
    }

    fn status(&self, now_ms: u64) -> SessionStatus {
        self.sessions.status(self.id, &self.rules, &fields("sid=1"), now_ms, |_| false)
    }

    fn of(&self, authority: &str, cookies: &str) -> SessionId {
        self.sessions.of(at(authority, 0), &self.rules, &fields(cookies)).unwrap()
    }

    fn passes(&self, reason: Reason, now_ms: u64) -> PassingRequest {
        self.passes_at(self.id, reason, now_ms)
    }

    fn passes_at(&self, id: SessionId, reason: Reason, now_ms: u64) -> PassingRequest {
        let cookies = id.cookies().iter().copied().collect();
        let effect = if reason == Reason::PassSession { SessionEffect::Reads } else { SessionEffect::Changes(cookies) };
        self.sessions.passes(Some(id), effect, now_ms)
    }

    /// Sends a request, has it answered, and asks for the duty to probe.
    fn asks(&self, reason: Reason, now_ms: u64) -> Option<ProbeTicket> {
        drop(self.passes(reason, now_ms));
        self.sessions.ticket(self.id, &self.rules, now_ms)
    }

    fn found(&self, is_anonymous: bool, now_ms: u64) {
        let ticket = self.asks(Reason::PassSession, now_ms).unwrap();
        self.sessions.report_probe(ticket, Some(is_anonymous), now_ms);
    }
}

#[test]
fn a_session_is_its_cookies() {
    let (sessions, rules) = (Sessions::default(), Arc::new(rules()));
    let of = |host, cookies| sessions.of(at(host, 0), &rules, &fields(cookies));
    let is_one = |one: Option<SessionId>, other: Option<SessionId>| one.unwrap().all == other.unwrap().all;
    assert_eq!(of("a", "a=1; sid=1"), of("a", "sid=1; b=2"));
    assert_ne!(of("a", "sid=1"), of("a", "sid=2"));
    assert_ne!(of("a", "sid=1"), of("b", "sid=1"));
    assert_ne!(of("a", "sid=1"), of("a", "sid=1; sid=2"));
    assert_ne!(of("a", "sid=1"), sessions.of(at("a", 1), &rules, &fields("sid=1")), "another is asked");
    assert!(is_one(of("a", "sid=1"), of("b", "sid=1")) && !is_one(of("a", "sid=1"), of("a", "sid=2")));
    assert!(of("a", "a=1").is_none() && sessions.of(at("a", 0), &rules, &Fields::new()).is_none());
}

#[test]
fn a_session_is_not_anonymous_until_the_application_says_so() {
    let one = One::new(rules());
    assert!(!one.status(0).is_anonymous);
    one.found(true, 1_000);
    assert!(one.status(1_000).is_anonymous && one.status(300_999).is_anonymous);
    assert!(!one.status(301_000).is_anonymous);
    let other = one.of("a", "sid=2");
    assert!(!one.sessions.status(other, &one.rules, &fields("sid=2"), 1_000, |_| false).is_anonymous);
}

#[test]
fn any_request_that_passes_makes_it_not_anonymous_again() {
    for reason in [Reason::Method, Reason::PassUrl, Reason::PassCookie, Reason::PassField, Reason::PassSession] {
        let one = One::new(rules());
        one.found(true, 0);
        let passing = one.passes(reason, 1);
        assert!(!one.status(1).is_anonymous, "{reason:?}");
        assert_eq!(one.sessions.ticket(one.id, &one.rules, 1), None, "while it is on its way");
        drop(passing);
        assert!(!one.status(1).is_anonymous && one.sessions.ticket(one.id, &one.rules, 1).is_some());
    }
}

#[test]
fn an_answer_that_was_overtaken_counts_for_nothing() {
    let one = One::new(rules());
    let ticket = one.asks(Reason::PassSession, 0).unwrap();
    // The visitor logs in meanwhile.
    drop(one.passes(Reason::Method, 1));
    one.sessions.report_probe(ticket, Some(true), 2);
    assert!(!one.status(2).is_anonymous);
    // A request that is not answered yet may log in as well.
    let ticket = one.asks(Reason::Method, 3).unwrap();
    let passing = one.passes(Reason::PassSession, 4);
    one.sessions.report_probe(ticket, Some(true), 5);
    assert!(!one.status(5).is_anonymous);
    drop(passing);
    assert!(one.sessions.ticket(one.id, &one.rules, 6).is_some());
}

#[test]
fn who_logs_in_at_one_host_or_by_other_rules_is_known_at_all() {
    let one = One::new(rules());
    let there = one.of("www.a", "sid=1");
    one.found(true, 0);
    let is_anonymous_there = |at| one.sessions.status(there, &one.rules, &fields("sid=1"), at, |_| false).is_anonymous;
    assert!(!is_anonymous_there(1), "no probe has asked there");
    drop(one.passes_at(there, Reason::PassSession, 1));
    let ticket = one.sessions.ticket(there, &one.rules, 1).unwrap();
    one.sessions.report_probe(ticket, Some(true), 1);
    assert!(one.status(1).is_anonymous && is_anonymous_there(1), "who only reads there changes nothing here");
    drop(one.passes_at(there, Reason::Method, 2));
    assert!(!one.status(2).is_anonymous && !is_anonymous_there(2));
    // A probe's answer that was on its way does not count either.
    let ticket = one.asks(Reason::PassSession, 3).unwrap();
    drop(one.passes_at(there, Reason::Method, 4));
    one.sessions.report_probe(ticket, Some(true), 5);
    assert!(!one.status(5).is_anonymous);
}

#[test]
fn an_answer_about_a_session_that_was_forgotten_meanwhile_counts_for_nothing() {
    let one = One::new(rules());
    let ticket = one.asks(Reason::PassSession, 0).unwrap();
    one.sessions.states.clear();
    // There are as many requests as before, and one of them has logged in.
    drop(one.passes(Reason::Method, 1));
    one.sessions.report_probe(ticket, Some(true), 2);
    assert!(!one.status(2).is_anonymous);
}

#[test]
fn one_asks_at_a_time_and_not_again_at_once() {
    let one = One::new(rules());
    let ticket = one.asks(Reason::PassSession, 0).unwrap();
    assert_eq!(one.asks(Reason::PassSession, 1), None);
    one.sessions.report_probe(ticket, None, 2);
    one.found(false, 3);
    assert!(!one.status(3).is_anonymous);
    assert_eq!(one.asks(Reason::PassSession, 100_000), None, "a member's");
    assert!(one.asks(Reason::PassSession, 300_003).is_some());
    let out = One::new(rules());
    out.found(false, 0);
    assert!(out.asks(Reason::Method, 1).is_some(), "it may have logged out");
}

#[test]
fn what_is_known_is_renewed_before_it_is_void() {
    let one = One::new(rules());
    one.found(true, 0);
    assert!(!one.status(150_000).is_to_be_renewed && one.status(150_001).is_to_be_renewed);
    assert_eq!(one.sessions.ticket(one.id, &one.rules, 150_000), None);
    let ticket = one.sessions.ticket(one.id, &one.rules, 150_001).unwrap();
    one.sessions.report_probe(ticket, Some(true), 150_100);
    assert!(one.status(450_099).is_anonymous);
}

#[test]
fn a_cookie_of_the_application_tells() {
    let tells = CookiePattern { name: "login_*".to_owned(), value: "none".to_owned() };
    let one = One::new(SessionRules { probe: None, anonymous_cookies: vec![tells], ..rules() });
    let is_anonymous = |cookies| one.sessions.status(one.id, &one.rules, &fields(cookies), 0, |_| false).is_anonymous;
    assert!(is_anonymous("sid=1; login_status=none"));
    for cookies in ["sid=1", "sid=1; login_status=5", "sid=1; login_status=none; login_status=5", "sid=1; login=none"] {
        assert!(!is_anonymous(cookies), "{cookies}");
    }
}

#[test]
fn without_anybody_to_ask_logging_out_makes_it_anonymous() {
    let one = One::new(SessionRules { probe: None, ..rules() });
    assert_eq!(one.asks(Reason::PassUrl, 0), None);
    one.sessions.ended(one.id, true, &one.rules, 0);
    assert!(one.status(0).is_anonymous);
    drop(one.passes(Reason::Method, 1));
    assert!(!one.status(1).is_anonymous);
    // A log-in that was on its way at the same time may have come after the log-out.
    for ends_first in [true, false] {
        let logout = one.passes(Reason::PassUrl, 2);
        let login = one.passes(Reason::Method, 2);
        let is_alone = if ends_first {
            drop(login);
            logout.ends()
        } else {
            let is_alone = logout.ends();
            drop(login);
            is_alone
        };
        one.sessions.ended(one.id, is_alone, &one.rules, 3);
        assert!(!is_alone && !one.status(3).is_anonymous);
    }
    assert!(one.passes(Reason::PassUrl, 4).ends());
    let asked = One::new(rules());
    asked.sessions.ended(asked.id, true, &asked.rules, 0);
    assert!(!asked.status(0).is_anonymous);
}

#[test]
fn a_session_is_over_when_it_has_long_only_read() {
    let expire_after = Duration::from_secs(10);
    let one = One::new(SessionRules { probe: None, expire_after, ..rules() });
    assert!(!one.status(20_000).is_over, "it was never seen");
    drop(one.passes(Reason::Method, 1_000));
    drop(one.passes(Reason::PassSession, 9_000));
    assert!(!one.status(10_999).is_over && one.status(11_000).is_over);
    let asked = One::new(SessionRules { expire_after, ..rules() });
    asked.found(false, 0);
    assert!(!asked.status(20_000).is_over, "a member's");
    asked.found(true, 300_000);
    assert!(asked.status(310_000).is_over);
    let never = One::new(rules());
    never.found(true, 0);
    assert!(!never.status(200_000).is_over);
}

#[test]
fn what_is_in_a_session_is_shown_for_a_while_although_it_is_anonymous() {
    let one = One::new(rules());
    one.sessions.is_stateful(one.id, ShownBy::ALL, Duration::from_secs(10), 0);
    drop(one.passes(Reason::PassUrl, 0));
    assert_eq!(one.sessions.ticket(one.id, &one.rules, 9_999), None);
    let ticket = one.sessions.ticket(one.id, &one.rules, 10_000).unwrap();
    one.sessions.report_probe(ticket, Some(true), 10_000);
    assert!(one.status(10_000).is_anonymous);
    // Later requests do not shorten the time of the content.
    let tells = CookiePattern { name: "login".to_owned(), value: "none".to_owned() };
    let told = One::new(SessionRules { probe: None, anonymous_cookies: vec![tells], ..rules() });
    told.sessions.is_stateful(told.id, ShownBy::ALL, Duration::from_secs(10), 0);
    drop(told.passes(Reason::Method, 0));
    drop(told.passes(Reason::PassSession, 1_000));
    let is_anonymous =
        |at| told.sessions.status(told.id, &told.rules, &fields("sid=1; login=none"), at, |_| false).is_anonymous;
    assert!(!is_anonymous(9_999) && is_anonymous(10_000));
    // Only logging out removes the content earlier.
    told.sessions.is_stateful(told.id, ShownBy::ALL, Duration::from_secs(10), 20_000);
    drop(told.passes(Reason::Method, 20_000));
    told.sessions.ended(told.id, true, &told.rules, 21_000);
    assert!(is_anonymous(21_000));
}

#[test]
fn that_it_is_not_anonymous_is_learned_although_its_visitor_reads_on() {
    let one = One::new(rules());
    let ticket = one.asks(Reason::PassSession, 0).unwrap();
    drop(one.passes(Reason::PassSession, 1));
    one.sessions.report_probe(ticket, Some(false), 2);
    assert_eq!(one.sessions.ticket(one.id, &one.rules, 3), None, "a member's");
    // The answer does not count if the visitor has logged out.
    let one = One::new(rules());
    let ticket = one.asks(Reason::PassSession, 0).unwrap();
    drop(one.passes(Reason::PassUrl, 1));
    one.sessions.report_probe(ticket, Some(false), 2);
    assert!(one.sessions.ticket(one.id, &one.rules, 3).is_some());
}

#[test]
fn what_one_of_its_cookies_was_used_for_counts_for_all_sessions_with_it() {
    let one = One::new(SessionRules { cookies: vec!["sid".to_owned(), "member".to_owned()], ..rules() });
    let cookies_of = |text| one.sessions.cookies(&one.rules.cookies, &fields(text));
    for changed in ["sid=1; member=2", "member=2; sid=1", "sid=1"] {
        one.found(true, 0);
        assert!(one.status(0).is_anonymous);
        // The request takes a route that knows no session.
        let passing = one.sessions.passes(None, SessionEffect::Changes(cookies_of(changed)), 1);
        assert!(!one.status(1).is_anonymous, "{changed}");
        assert_eq!(one.sessions.ticket(one.id, &one.rules, 1), None, "while it is on its way");
        drop(passing);
        assert!(!one.status(1).is_anonymous, "{changed}");
    }
    one.found(true, 2);
    drop(one.sessions.passes(None, SessionEffect::Changes(cookies_of("sid=2; member=2")), 3));
    assert!(one.status(3).is_anonymous, "the cookie of another");
    // A request with only one of the cookies changes the session of both.
    let both = one.of("a", "sid=1; member=2");
    drop(one.passes_at(both, Reason::PassSession, 4));
    let ticket = one.sessions.ticket(both, &one.rules, 4).unwrap();
    one.sessions.report_probe(ticket, Some(true), 4);
    let is_anonymous =
        |at| one.sessions.status(both, &one.rules, &fields("sid=1; member=2"), at, |_| false).is_anonymous;
    assert!(is_anonymous(4));
    drop(one.sessions.passes(None, SessionEffect::Changes(cookies_of("member=2")), 5));
    assert!(!is_anonymous(5) && one.status(5).is_anonymous);
}

#[test]
fn of_a_session_of_too_many_cookies_nothing_is_found() {
    let one = One::new(SessionRules { cookies: vec!["s*".to_owned()], ..rules() });
    let many = one.of("a", "s1=1; s2=1; s3=1; s4=1; s5=1");
    drop(one.passes_at(many, Reason::PassSession, 0));
    assert_eq!(one.sessions.ticket(many, &one.rules, 0), None);
    one.sessions.ended(many, true, &SessionRules { probe: None, ..(*one.rules).clone() }, 0);
    assert!(!one.sessions.status(many, &one.rules, &fields("s1=1"), 0, |_| false).is_anonymous);
}

#[test]
fn no_probe_is_sent_while_the_application_may_still_be_at_a_request_whose_client_left() {
    let one = One::new(rules());
    one.passes(Reason::PassSession, 0).leaves(0);
    assert_eq!(one.asks(Reason::PassSession, 29_999), None);
    assert!(one.asks(Reason::PassSession, 30_000).is_some());
}

#[test]
fn a_change_that_was_forgotten_does_not_bring_back_what_was_known_before() {
    let one = One::new(rules());
    one.found(true, 0);
    let changing = one.sessions.cookies(&one.rules.cookies, &fields("sid=1"));
    drop(one.sessions.passes(None, SessionEffect::Changes(changing), 1));
    one.sessions.activities.clear();
    assert!(!one.status(2).is_anonymous, "it is not known");
    one.sessions.note_read(one.id, 2);
    assert!(!one.status(2).is_anonymous, "seen again");
    one.found(true, 3);
    assert!(one.status(3).is_anonymous);
}
