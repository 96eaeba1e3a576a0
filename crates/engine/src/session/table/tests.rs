use super::*;
use crate::options::CookiePattern;
use crate::options::SessionProbe;

fn rules() -> SessionRules {
    let probe = SessionProbe { target: "/me".to_owned(), status: 200, text: String::new() };
    SessionRules { cookies: vec!["sid".to_owned()], probe: Some(probe), ..SessionRules::default() }
}

fn fields(cookies: &str) -> Fields {
    [("Cookie", cookies)].into_iter().collect()
}

/// Sessions, and one of them.
struct One {
    sessions: Arc<Sessions>,
    rules: SessionRules,
    id: SessionId,
}

impl One {
    fn new(rules: SessionRules) -> Self {
        let sessions = Arc::new(Sessions::default());
        let id = sessions.of("a", &rules, &fields("sid=1")).unwrap();
        Self { sessions, rules, id }
    }

    fn standing(&self, now_ms: u64) -> Standing {
        self.sessions.standing(self.id, &self.rules, &fields("sid=1"), now_ms)
    }

    /// Passes from its request to its answer, and asks.
    fn asks(&self, reason: Reason, now_ms: u64) -> Option<Duty> {
        drop(self.sessions.passes(self.id, reason, Duration::ZERO, now_ms));
        self.sessions.duty(self.id, &self.rules, now_ms)
    }

    fn found(&self, is_anonymous: bool, now_ms: u64) {
        let duty = self.asks(Reason::PassSession, now_ms).unwrap();
        self.sessions.found(duty, Some(is_anonymous), now_ms);
    }
}

#[test]
fn a_session_is_its_cookies() {
    let (sessions, rules) = (Sessions::default(), rules());
    let of = |host, cookies| sessions.of(host, &rules, &fields(cookies));
    let is_one = |one: Option<SessionId>, other: Option<SessionId>| one.unwrap().cookies == other.unwrap().cookies;
    assert_eq!(of("a", "a=1; sid=1"), of("a", "sid=1; b=2"));
    assert_ne!(of("a", "sid=1"), of("a", "sid=2"));
    assert_ne!(of("a", "sid=1"), of("b", "sid=1"));
    assert_ne!(of("a", "sid=1"), of("a", "sid=1; sid=2"));
    let other = SessionRules { probe: None, ..rules.clone() };
    assert_ne!(of("a", "sid=1"), sessions.of("a", &other, &fields("sid=1")));
    assert!(is_one(of("a", "sid=1"), of("b", "sid=1")) && !is_one(of("a", "sid=1"), of("a", "sid=2")));
    assert!(of("a", "a=1").is_none() && sessions.of("a", &rules, &Fields::new()).is_none());
}

#[test]
fn a_session_is_somebodys_until_the_application_says_otherwise() {
    let one = One::new(rules());
    assert!(!one.standing(0).is_anonymous);
    one.found(true, 1_000);
    assert!(one.standing(1_000).is_anonymous && one.standing(300_999).is_anonymous);
    assert!(!one.standing(301_000).is_anonymous);
    let other = one.sessions.of("a", &one.rules, &fields("sid=2")).unwrap();
    assert!(!one.sessions.standing(other, &one.rules, &fields("sid=2"), 1_000).is_anonymous);
}

#[test]
fn whatever_passes_makes_it_somebodys_again() {
    for reason in [Reason::Method, Reason::PassUrl, Reason::PassCookie, Reason::PassSession] {
        let one = One::new(rules());
        one.found(true, 0);
        let passing = one.sessions.passes(one.id, reason, Duration::ZERO, 1);
        assert!(!one.standing(1).is_anonymous, "{reason:?}");
        assert_eq!(one.sessions.duty(one.id, &one.rules, 1), None, "while it is on its way");
        drop(passing);
        assert!(!one.standing(1).is_anonymous && one.sessions.duty(one.id, &one.rules, 1).is_some());
    }
}

#[test]
fn an_answer_that_was_overtaken_counts_for_nothing() {
    let one = One::new(rules());
    let duty = one.asks(Reason::PassSession, 0).unwrap();
    // Logs in meanwhile.
    drop(one.sessions.passes(one.id, Reason::Method, Duration::ZERO, 1));
    one.sessions.found(duty, Some(true), 2);
    assert!(!one.standing(2).is_anonymous);
    // A request that is not answered yet may log in as well.
    let duty = one.asks(Reason::Method, 3).unwrap();
    let passing = one.sessions.passes(one.id, Reason::PassSession, Duration::ZERO, 4);
    one.sessions.found(duty, Some(true), 5);
    assert!(!one.standing(5).is_anonymous);
    drop(passing);
    assert!(one.sessions.duty(one.id, &one.rules, 6).is_some());
}

#[test]
fn who_logs_in_at_one_host_or_by_other_rules_is_known_at_all() {
    let one = One::new(rules());
    let there = one.sessions.of("www.a", &one.rules, &fields("sid=1")).unwrap();
    one.found(true, 0);
    let is_anonymous_there = |at| one.sessions.standing(there, &one.rules, &fields("sid=1"), at).is_anonymous;
    assert!(!is_anonymous_there(1), "nobody has asked there");
    drop(one.sessions.passes(there, Reason::PassSession, Duration::ZERO, 1));
    let duty = one.sessions.duty(there, &one.rules, 1).unwrap();
    one.sessions.found(duty, Some(true), 1);
    assert!(one.standing(1).is_anonymous && is_anonymous_there(1), "who only reads there changes nothing here");
    drop(one.sessions.passes(there, Reason::Method, Duration::ZERO, 2));
    assert!(!one.standing(2).is_anonymous && !is_anonymous_there(2));
    // Nor does an answer count that was on its way.
    let duty = one.asks(Reason::PassSession, 3).unwrap();
    drop(one.sessions.passes(there, Reason::Method, Duration::ZERO, 4));
    one.sessions.found(duty, Some(true), 5);
    assert!(!one.standing(5).is_anonymous);
}

#[test]
fn an_answer_about_a_session_that_was_forgotten_meanwhile_counts_for_nothing() {
    let one = One::new(rules());
    let duty = one.asks(Reason::PassSession, 0).unwrap();
    one.sessions.shard(one.id).clear();
    // As many requests as before, one of which has logged in.
    drop(one.sessions.passes(one.id, Reason::Method, Duration::ZERO, 1));
    one.sessions.found(duty, Some(true), 2);
    assert!(!one.standing(2).is_anonymous);
}

#[test]
fn one_asks_at_a_time_and_not_again_at_once() {
    let one = One::new(rules());
    let duty = one.asks(Reason::PassSession, 0).unwrap();
    assert_eq!(one.asks(Reason::PassSession, 1), None);
    one.sessions.found(duty, None, 2);
    one.found(false, 3);
    assert!(!one.standing(3).is_anonymous);
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
    assert!(!one.standing(150_000).is_to_be_renewed && one.standing(150_001).is_to_be_renewed);
    assert_eq!(one.sessions.duty(one.id, &one.rules, 150_000), None);
    let duty = one.sessions.duty(one.id, &one.rules, 150_001).unwrap();
    one.sessions.found(duty, Some(true), 150_100);
    assert!(one.standing(450_099).is_anonymous);
}

#[test]
fn a_cookie_of_the_application_tells() {
    let tells = CookiePattern { name: "login_*".to_owned(), value: "none".to_owned() };
    let one = One::new(SessionRules { probe: None, anonymous_cookies: vec![tells], ..rules() });
    let is_anonymous = |cookies| one.sessions.standing(one.id, &one.rules, &fields(cookies), 0).is_anonymous;
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
    assert!(one.standing(0).is_anonymous);
    drop(one.sessions.passes(one.id, Reason::Method, Duration::ZERO, 1));
    assert!(!one.standing(1).is_anonymous);
    // A log-in that was on its way at the same time may have come after it.
    for ends_first in [true, false] {
        let logout = one.sessions.passes(one.id, Reason::PassUrl, Duration::ZERO, 2);
        let login = one.sessions.passes(one.id, Reason::Method, Duration::ZERO, 2);
        let is_alone = if ends_first {
            drop(login);
            logout.ends()
        } else {
            let is_alone = logout.ends();
            drop(login);
            is_alone
        };
        one.sessions.ended(one.id, is_alone, &one.rules, 3);
        assert!(!is_alone && !one.standing(3).is_anonymous);
    }
    assert!(one.sessions.passes(one.id, Reason::PassUrl, Duration::ZERO, 4).ends());
    let asked = One::new(rules());
    asked.sessions.ended(asked.id, true, &asked.rules, 0);
    assert!(!asked.standing(0).is_anonymous);
}

#[test]
fn a_session_is_over_when_it_has_long_only_read() {
    let expire_after = Duration::from_secs(10);
    let one = One::new(SessionRules { probe: None, expire_after, ..rules() });
    assert!(!one.standing(20_000).is_over, "it was never seen");
    drop(one.sessions.passes(one.id, Reason::Method, Duration::ZERO, 1_000));
    drop(one.sessions.passes(one.id, Reason::PassSession, Duration::ZERO, 9_000));
    assert!(!one.standing(10_999).is_over && one.standing(11_000).is_over);
    let asked = One::new(SessionRules { expire_after, ..rules() });
    asked.found(false, 0);
    assert!(!asked.standing(20_000).is_over, "a member's");
    asked.found(true, 300_000);
    assert!(asked.standing(310_000).is_over);
    let never = One::new(rules());
    never.found(true, 0);
    assert!(!never.standing(200_000).is_over);
}

#[test]
fn what_is_in_a_session_is_shown_for_a_while_although_it_is_nobodys() {
    let one = One::new(rules());
    drop(one.sessions.passes(one.id, Reason::PassUrl, Duration::from_secs(10), 0));
    assert_eq!(one.sessions.duty(one.id, &one.rules, 9_999), None);
    let duty = one.sessions.duty(one.id, &one.rules, 10_000).unwrap();
    one.sessions.found(duty, Some(true), 10_000);
    assert!(one.standing(10_000).is_anonymous);
    // What follows does not shorten it.
    let tells = CookiePattern { name: "login".to_owned(), value: "none".to_owned() };
    let told = One::new(SessionRules { probe: None, anonymous_cookies: vec![tells], ..rules() });
    drop(told.sessions.passes(told.id, Reason::Method, Duration::from_secs(10), 0));
    drop(told.sessions.passes(told.id, Reason::PassSession, Duration::ZERO, 1_000));
    let is_anonymous = |at| told.sessions.standing(told.id, &told.rules, &fields("sid=1; login=none"), at).is_anonymous;
    assert!(!is_anonymous(9_999) && is_anonymous(10_000));
    // But for logging out.
    drop(told.sessions.passes(told.id, Reason::Method, Duration::from_secs(10), 20_000));
    told.sessions.ended(told.id, true, &told.rules, 21_000);
    assert!(is_anonymous(21_000));
}

#[test]
fn that_it_is_somebodys_is_learned_although_they_read_on() {
    let one = One::new(rules());
    let duty = one.asks(Reason::PassSession, 0).unwrap();
    drop(one.sessions.passes(one.id, Reason::PassSession, Duration::ZERO, 1));
    one.sessions.found(duty, Some(false), 2);
    assert_eq!(one.sessions.duty(one.id, &one.rules, 3), None, "a member's");
    // Not although they have logged out.
    let one = One::new(rules());
    let duty = one.asks(Reason::PassSession, 0).unwrap();
    drop(one.sessions.passes(one.id, Reason::PassUrl, Duration::ZERO, 1));
    one.sessions.found(duty, Some(false), 2);
    assert!(one.sessions.duty(one.id, &one.rules, 3).is_some());
}
