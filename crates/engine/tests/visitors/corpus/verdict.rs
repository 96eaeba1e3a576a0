//! What is to be said of a page's course: whether it was shared, and whether each visitor got what was made for them.

use crate::corpus::pages::Page;
use crate::corpus::run::{Course, Given, Rendered};

/// What became of a page, with what happened to which answer.
pub(crate) enum Verdict {
    /// A hit at one of the last two requests.
    Shared,
    /// No hit at either.
    Passed,
    /// An answer was not what its visitor should get.
    Wrong(String),
    /// A visitor could not use a form: its token was of a session of which they have no cookie.
    CookieLost(String),
}

/// The last answers of a page, at least one of which is a hit if the page is shared.
const LAST: usize = 2;

/// The verdict on a page that all visitors may share.
pub(crate) fn of_shared(page: &Page, course: &Course) -> Verdict {
    for (number, given) in course.given.iter().enumerate() {
        if let Some(fault) = fault_of_shared(page, given, &course.rendered) {
            return Verdict::Wrong(format!("answer {}: {fault}", number + 1));
        }
    }
    let is_shared = course.given.iter().rev().take(LAST).any(|given| given.response.is_hit());
    if is_shared { Verdict::Shared } else { Verdict::Passed }
}

fn fault_of_shared(page: &Page, given: &Given, rendered: &[Rendered]) -> Option<String> {
    let text = given.response.text();
    if !page.status.starts_with(&given.response.status.to_string()) {
        return Some(format!("status {}", given.response.status));
    }
    if !rendered.iter().any(|one| one.body == text) {
        return Some("a body that the origin has not sent".to_owned());
    }
    let policy = given.response.field("content-security-policy");
    let nonce = policy.split_once("'nonce-").and_then(|(_, rest)| rest.split('\'').next());
    nonce.filter(|nonce| !text.contains(*nonce)).map(|_| "a policy with another nonce than the page".to_owned())
}

/// The verdict on a page of which each visitor has their own.
pub(crate) fn of_personal(course: &Course) -> Verdict {
    let faults = course.given.iter().map(|given| fault_of_personal(given, &course.rendered));
    let faults: Vec<(usize, Fault)> = faults.enumerate().filter_map(|(at, fault)| Some((at + 1, fault?))).collect();
    // Of several faults, one by which a visitor gets another's page counts.
    let worst = faults.iter().find(|(_, fault)| matches!(fault, Fault::Anothers(_))).or(faults.first());
    match worst {
        Some((number, Fault::Anothers(text))) => Verdict::Wrong(format!("answer {number}: {text}")),
        Some((number, Fault::CookieLost)) => {
            Verdict::CookieLost(format!("answer {number}: values of a session, without its cookie"))
        }
        None => Verdict::Passed,
    }
}

enum Fault {
    /// The visitor got what is another's, or what others may get.
    Anothers(String),
    /// The visitor got values of a session, but not the cookie that belongs to them.
    CookieLost,
}

fn fault_of_personal(given: &Given, rendered: &[Rendered]) -> Option<Fault> {
    let response = &given.response;
    let (text, location) = (response.text(), response.head.field("location"));
    let is_it = |one: &&Rendered| one.body == text && one.location == location;
    if response.is_hit() {
        return Some(Fault::Anothers("a hit".to_owned()));
    }
    let is_lost = |session: &String| !response.head.all("set-cookie").any(|line| line.contains(session.as_str()));
    // A look may have been given the same page beside this visitor.
    let during = || rendered[given.during.clone()].iter().filter(is_it);
    let with_cookie = during().find(|one| !one.new_session.as_ref().is_some_and(is_lost));
    let Some(own) = with_cookie.or(during().next()) else {
        let is_known = rendered.iter().any(|one| is_it(&one));
        let fault = if is_known { "a page that was made for another request" } else { "no page of the origin's" };
        return Some(Fault::Anothers(fault.to_owned()));
    };
    if let Some((class, _, got)) = own.chosen.iter().find(|one| is_anothers(given, one)) {
        return Some(Fault::Anothers(format!("another visitor's {class}: {got:?}")));
    }
    let has_lost_it = !given.had_cookies && own.new_session.as_ref().is_some_and(is_lost);
    has_lost_it.then_some(Fault::CookieLost)
}

/// Whether the program would have chosen something else for this visitor.
fn is_anothers(given: &Given, (class, alternatives, got): &(String, String, String)) -> bool {
    let right = match alternatives.as_str() {
        "" => given.traits.value(class),
        alternatives => given.traits.choose(class, alternatives),
    };
    right != got
}

/// What Cache-Status says, in a word.
pub(crate) fn of_cache(given: &Given) -> String {
    let detail = given.response.detail();
    match (given.response.is_hit(), detail.is_empty()) {
        (true, _) => "hit".to_owned(),
        (false, true) => "miss".to_owned(),
        (false, false) => detail,
    }
}
