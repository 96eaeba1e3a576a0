//! Tests the checker of the session tests: each makes one mistake in a single answer, and the checker must report it.

use crate::application::SESSION;
use crate::check::{Answer, Ask, Expected, Kept, Ledger, check};
use crate::page::{Claim, Kind, Page, View};
use crate::visitor::Visitor;
use kasoku_oracle::random::Random;
use kasoku_oracle::wire::{Fields, ResponseHead};

/// The numbers of two visitors of the first site: one without a session, and one who is logged in.
const GUEST: usize = 3;
const MEMBER: usize = 30;

/// A request, and an answer that is right until a test changes it.
struct Case {
    ledger: Ledger,
    ask: Ask,
    claim: Claim,
    status: u16,
    fields: Vec<(String, String)>,
    cache: &'static str,
    body: Option<Vec<u8>>,
}

fn board() -> Page {
    Page { kind: Kind::Board, number: 7 }
}

fn member() -> View {
    View { user: Some(MEMBER), has_opened: false, cart: vec![format!("v{MEMBER}.1")] }
}

impl Case {
    /// The page for that visitor, whose session holds `view`, with the `Cache-Status` `cache`.
    fn of(page: Page, visitor: usize, view: View, cache: &'static str) -> Self {
        let mut asking = Visitor::new(visitor);
        asking.view = view.clone();
        let mut ask = asking.read(&mut Random::new(1));
        (ask.method, ask.path, ask.expected, ask.kept) = ("GET", page.path(), Expected::Page(page), None);
        let (host, path) = (ask.site.host().to_owned(), ask.path.clone());
        let claim = Claim { host, path, view, serial: 5, ..Claim::default() };
        let fields = [("Cache-Control", "no-store, no-cache"), ("Vary", "Cookie")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { ledger: Ledger::default(), ask, claim, status: 200, fields, cache, body: None }
    }

    /// A hit for an unknown visitor.
    fn hit() -> Self {
        Self::of(board(), GUEST, View::default(), "hit; detail=hit")
    }

    /// A pass for a visitor who is logged in.
    fn passed() -> Self {
        let mut case = Self::of(board(), MEMBER, member(), "fwd=bypass; detail=pass-session");
        case.claim.by = Some(MEMBER);
        case
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    fn mistakes(&self) -> Vec<String> {
        let mut fields = self.fields.clone();
        fields.push(("Cache-Status".to_owned(), format!("kasoku; {}", self.cache)));
        let head = ResponseHead { status: self.status, minor: 1, fields: Fields(fields) };
        let body = self.body.clone().unwrap_or_else(|| self.claim.body().into_bytes());
        check(&self.ask, &Answer { head, body }, &self.ledger)
    }

    #[track_caller]
    fn is_right(&self) {
        assert_eq!(self.mistakes(), [""; 0]);
    }

    #[track_caller]
    fn is_wrong(&self, expected: &str) {
        let mistakes = self.mistakes();
        assert!(mistakes.iter().any(|mistake| mistake.contains(expected)), "{expected} is not among {mistakes:?}");
    }
}

#[test]
fn what_is_right_is_right() {
    Case::hit().is_right();
    Case::passed().is_right();
}

#[test]
fn a_page_of_a_member_is_seen_in_anothers_answer() {
    let mut case = Case::hit();
    case.claim.view.user = Some(MEMBER);
    case.is_wrong("foreign: it is for");
    let mut case = Case::passed();
    case.claim.view.user = Some(MEMBER + 1);
    case.is_wrong("foreign: it is for");
}

#[test]
fn a_thing_in_anothers_cart_is_seen() {
    let mut case = Case::passed();
    case.claim.view.cart.push("v31.2".to_owned());
    case.is_wrong("foreign: it is for");
}

#[test]
fn a_page_for_which_the_application_knew_its_visitor_is_not_shared_even_with_that_visitor() {
    let mut case = Case::hit();
    case.claim.by = Some(GUEST);
    case.is_wrong("shared: what is for one visitor");
    case.claim.by = Some(GUEST + 1);
    case.is_wrong("foreign: it is for");
}

#[test]
fn the_page_of_one_who_is_logged_in_comes_from_the_application() {
    for cache in ["hit; detail=hit", "fwd=uri-miss; collapsed; detail=collapsed"] {
        let case = Case { cache, ..Case::passed() };
        case.is_wrong("shared: what is for one visitor");
    }
}

#[test]
fn an_answer_for_one_that_is_given_twice_is_seen() {
    let case = Case::passed();
    case.is_right();
    case.is_wrong("has been given before");
}

#[test]
fn an_anonymous_page_is_wrong_for_a_visitor_who_has_just_logged_in_or_has_a_cart() {
    let mut case = Case::passed();
    case.claim.view.user = None;
    case.is_wrong("mistaken: ");
    case.claim.view = View::default();
    case.is_wrong("mistaken: ");
    // This is no mistake during a hand-over: the old process may take the session for anonymous.
    case.claim.by = None;
    case.ask.is_handed_over = true;
    case.is_right();
    case.claim.view = member();
    case.claim.view.cart.clear();
    case.is_wrong("mistaken: ");
}

#[test]
fn a_page_that_still_shows_who_has_logged_out_is_seen() {
    let mut case = Case::passed();
    case.ask.allowed = vec![View::default()];
    case.is_wrong("mistaken: ");
}

#[test]
fn a_single_foreign_byte_is_seen() {
    for at in [0, 30, 200] {
        let mut case = Case::hit();
        let mut body = case.claim.body().into_bytes();
        body[at] ^= 1;
        case.body = Some(body);
        case.is_wrong("mixed: ");
    }
    let mut case = Case::hit();
    let other = Claim { serial: 6, ..case.claim.clone() }.body();
    let own = case.claim.body();
    let (first, _) = own.split_once('\n').unwrap();
    let (_, rest) = other.split_once('\n').unwrap();
    case.body = Some(format!("{first}\n{rest}").into_bytes());
    case.is_wrong("mixed: ");
}

#[test]
fn another_page_or_another_sites_is_seen() {
    let mut case = Case::hit();
    case.claim.path = "/board/8".to_owned();
    case.is_wrong("mixed: this is /board/8");
    let mut case = Case::hit();
    case.claim.host = "told.test".to_owned();
    case.is_wrong("mixed: this is /board/7 of told.test");
}

#[test]
fn a_session_that_is_given_to_two_is_seen_in_the_head_and_in_the_body() {
    let id = "s0000000123456789abcdef01";
    let case = Case { cache: "fwd=uri-miss; detail=set-cookie", ..Case::hit() };
    let case = case.with("Set-Cookie", &format!("{SESSION}={id}; path=/"));
    case.is_right();
    assert_eq!(case.ledger.hand(id, GUEST), None, "the same visitor");
    let second = Case { ask: Case::passed().ask, ..case };
    second.is_wrong("handed twice: PHPSESSID");
    let mut case = Case { cache: "fwd=uri-miss; detail=cookie-value-in-response", ..Case::hit() };
    case.claim.session = Some(id.to_owned());
    case.is_right();
    case.ask.visitor = MEMBER;
    case.is_wrong("handed twice: s0000");
}

#[test]
fn a_hit_sets_no_cookie_and_shows_no_session() {
    let case = Case::hit().with("Set-Cookie", "login_status=none");
    case.is_wrong("shared: a hit sets");
    let mut case = Case::hit();
    case.claim.session = Some("s0000000123456789abcdef01".to_owned());
    case.is_wrong("shared: what is for one visitor");
}

#[test]
fn a_session_is_taken_away_only_where_nothing_is_in_it() {
    let end = format!("{SESSION}=deleted; Max-Age=0; Path=/");
    Case::hit().with("Set-Cookie", &end).is_right();
    Case::passed().with("Set-Cookie", &end).is_wrong("lost: ");
    let mut form = Case::hit().with("Set-Cookie", &end);
    form.ask.expected = Expected::Begun;
    form.is_wrong("lost: ");
}

#[test]
fn a_page_gives_no_session_to_one_who_has_one() {
    let mut case = Case::passed().with("Set-Cookie", &format!("{SESSION}=s0000000123456789abcdef01; path=/"));
    case.is_right();
    case.ask.has_session = true;
    case.claim.serial += 1;
    case.is_wrong("replaced: ");
}

#[test]
fn a_page_for_one_is_never_a_hit() {
    for kind in [Kind::Private, Kind::Form, Kind::Deceptive, Kind::Account] {
        let case = Case::of(Page { kind, number: 1 }, GUEST, View::default(), "hit; detail=hit");
        case.is_wrong("shared: a hit on a page of kind");
    }
    let page = Page { kind: Kind::Private, number: 1 };
    let case = Case::of(page, GUEST, View::default(), "fwd=uri-miss; detail=private");
    case.is_right();
    case.is_wrong("has been given before");
}

#[test]
fn what_was_refused_before_is_not_shown() {
    let page = Page { kind: Kind::SometimesMembersOnly, number: 1 };
    let mut refused = Case::of(page, GUEST, View::default(), "fwd=stale; detail=not-storable");
    (refused.status, refused.claim.version) = (403, 3);
    refused.is_right();
    let mut shown = Case { status: 200, cache: "hit; detail=hit", ..refused };
    shown.claim.version = 2;
    shown.is_right();
    shown.ask.oldest_version = shown.ledger.oldest_version(shown.ask.site, 1);
    shown.is_wrong("closed: version 2 is shown, and 3 was refused before");
    shown.claim.version = 4;
    shown.is_right();
}

#[test]
fn who_is_logged_in_is_not_sent_away() {
    let mut case = Case { status: 403, ..Case::passed() };
    case.is_wrong("status: 403");
    let page = Page { kind: Kind::SometimesMembersOnly, number: 1 };
    (case.ask.path, case.ask.expected, case.claim.path) = (page.path(), Expected::Page(page), page.path());
    case.is_wrong("mistaken: a member is sent away");
    let page = Page { kind: Kind::Account, number: 1 };
    let case = Case { status: 302, ..Case::of(page, MEMBER, member(), "fwd=bypass") };
    let sent_away = Case { claim: Claim { view: View::default(), ..case.claim.clone() }, ..case };
    sent_away.is_wrong("mistaken: ");
}

#[test]
fn a_304_for_what_another_visitor_sees_is_seen() {
    let page = Page { kind: Kind::Tagged, number: 1 };
    let mut case = Case::of(page, MEMBER, member(), "hit; detail=hit");
    (case.status, case.body) = (304, Some(Vec::new()));
    let kept = |tag: &str, view: View| Some(Kept { tag: tag.to_owned(), view });
    case.ask.kept = kept("\"1\"", member());
    case = case.with("ETag", "\"1\"");
    case.is_right();
    case.ask.kept = kept("\"2\"", View::default());
    case.is_wrong("304: for");
    case.fields.last_mut().unwrap().1 = "\"2\"".to_owned();
    case.is_wrong("mistaken: 304 for");
}

#[test]
fn another_class_of_devices_or_language_is_seen() {
    let page = Page { kind: Kind::Device, number: 1 };
    let mut case = Case::of(page, GUEST, View::default(), "hit; detail=hit");
    case.claim.variant = Some(case.ask.variant.clone());
    case.is_right();
    case.claim.variant = Some("toaster.ko".to_owned());
    case.is_wrong("variant: ");
}

#[test]
fn a_granted_page_that_a_browser_may_keep_is_seen() {
    for (name, value) in [("Cache-Control", "no-cache"), ("Vary", "Cookie")] {
        let mut case = Case::hit();
        case.fields = vec![(name.to_owned(), value.to_owned())];
        case.is_wrong("downstream: ");
    }
}

#[test]
fn a_page_that_answers_a_session_and_may_be_kept_is_seen() {
    let mut case = Case::hit();
    case.ask.has_session = true;
    case.is_wrong("downstream: ");
    case.with("Cache-Control", "private, no-store").is_right();
}
