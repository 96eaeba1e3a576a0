//! Suggests what to change so that the next request is a hit: the one table of suggestions.
//!
//! A suggestion is made only when it works: it is applied to copies of the messages and the policy, and the functions that decide
//! about requests must then find nothing in the way ([`obstacles`]). A suggestion is safe, or its text states its condition,
//! because this code cannot know whether a page is the same for all visitors. [`Advice::Nothing`] says why there is no suggestion.
//! Beside a change of the application stands what the configuration could do instead, with its dangers (`overruling`).
//!
//! It suggests no change of responses that by nature belong to one visitor (the answer to a POST, an error), nor of what clients
//! send.

use crate::credentials::has_credentials;
use crate::directives::control_field;
use crate::evidence::{is_of_visitors, obstacles, sent_on};
use crate::overruling::by_configuration;
pub use crate::overruling::{CookieMeaning, CookieMeanings};
use crate::suggestion::{SECONDS, SuggestedChange, Suggestion, is_failure};
use crate::vary::{Vary, vary};
use crate::{Freshness, Policy, Reason, freshness, set_cookies};
use http::StatusCode;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing is in the way.
    Needless,
    /// Make all of these changes.
    Changes(Vec<Suggestion>),
    /// Make all of the first changes; or leave the application as it is, and make all of the second.
    Either(Vec<Suggestion>, Vec<Suggestion>),
    /// No safe change is known, for this reason.
    Nothing(&'static str),
}

const VARIES_BY_VISITOR: &str = "by its Vary, the page depends on a field that differs with nearly every visitor; where a lifetime is granted, `key-device` and `key-languages` reduce the values to a few classes";
const UNSURE: &str = "no change is sure to help";
const NOT_PRIVATE: &str = "only if `private` is wrong here: otherwise one visitor's page is shown to others";
const KEEPS_BROWSERS: &str = "if the page is the same for all visitors; what browsers are told does not change";
const ASKS_EACH_TIME: &str = "browsers then ask each time, since no purge reaches their own caches";
const KEPT_HERE: &str =
    "if the page is the same for all visitors; caches such as Kasoku read this field, and store the page for a minute";
/// Why sharing a page with a token against forgery is never suggested.
pub const HAS_FORGERY_TOKEN: &str = "the page has a token against forgery (csrf, xsrf), and each visitor needs their own: a form sent from a shared page would be refused, so the page has to pass (`pass-urls`)";
const SHARED_LIFETIME: &str = "if the page is the same for all visitors";

/// Why no change can be suggested for a reason; `None`: one can.
fn hopeless(reason: Reason, status: StatusCode) -> Option<&'static str> {
    Some(match reason {
        Reason::Method => "a request with this method may change something, so each one has to reach the application",
        Reason::HeadOnly => "a response to HEAD has no content to store: a GET of the same URL fills the cache",
        Reason::RequestNoStore => "the client's no-store forbids storing the response, and Kasoku obeys it",
        Reason::OriginCondition => "only the application can evaluate the client's condition",
        Reason::RequestBodyOnGet => "only the application knows what a GET with content means",
        Reason::Upgrade => "the request asks for another protocol than HTTP, which can't be cached",
        Reason::PassRule => "the configuration says that these requests pass",
        Reason::PassUrl => "the configuration says that this URL passes",
        Reason::PassTagValue => "requests that write the value as the application's own links do are not affected",
        Reason::PassParameter => "`query.known` lists the parameters of shared pages, and this one is not among them",
        Reason::PageTextMissing => {
            "the answer to an anonymous request lacks the text of `page-text`, so the application answers each visitor itself; if that answer is a page to be shared, list a text of it in `page-text`"
        }
        Reason::PageUnchecked => {
            "Kasoku can search and compare only pages that are shorter than 4 MiB and not compressed by the application"
        }
        Reason::LeakGuard => {
            "the page depends on who asks: if by language or device, set `key-languages` or `key-device` (`kasoku explain --live` tries these lines); otherwise take out of the page what differs"
        }
        Reason::LeakGuardToken => {
            "a page with a token has to pass; let a script fetch the token when the form is used, or put the form on a page of its own"
        }
        Reason::LeakGuardUnconfirmed => {
            "a value of the page has a name like a token's; if it stays the same for 70 seconds, and is the same for all, the next requests are hits"
        }
        Reason::AddressInResponse => {
            "the page is made for the address that asks; it can be stored if the application leaves the address out of it"
        }
        Reason::PersonalPage => "the page has a text of `private-text`, so it is made for one visitor",
        Reason::LeakGuardPending => {
            "the leak guard first looks at one page of the URL pattern as two visitors; if the page is the same for both, the next requests are hits"
        }
        Reason::EndlessStream => "each client needs a stream of its own, which begins and ends with its request",
        Reason::Outage => "the application is out of order",
        Reason::RefusedUrl => "the configuration refuses this URL",
        Reason::PassSession => {
            "pages of a session may be made for its visitor; if the application can tell that a session is anonymous, set `session.probe`"
        }
        Reason::PassCredentialInUrl => {
            "a credential in the URL identifies a visitor; if the parameter is not a credential, list it in `query.ignore`"
        }
        Reason::CookieValueInResponse => {
            "the page is made for one session; pages can be stored if the application leaves the session's id out of them"
        }
        Reason::PassAuthorization => "only the application can check credentials",
        Reason::PassCookie => {
            "the cookie may identify a visitor; if it only chooses among a few pages that are the same for all visitors, list it in `cookies.key`"
        }
        Reason::PassField => {
            "the application may answer by this field; if it only chooses among a few answers that are the same for all visitors, list it in `key-fields`"
        }
        Reason::VaryStar => {
            "the application says that the page depends on more than the request shows; with a Vary that names the fields it depends on, the page can be stored"
        }
        Reason::OnlyIfCachedMiss => {
            "the client accepts only a stored response; the same request without only-if-cached fetches one"
        }
        Reason::RequestSpecificStatus
        | Reason::StatusNotModified
        | Reason::InterimStatus
        | Reason::RangeUnsatisfiable => "a response with this status is for this one request",
        Reason::Sendfile => {
            "the application decides for each request whether the client may have the file; if all clients may, it can state a lifetime (max-age)"
        }
        Reason::SendfileMissing | Reason::SendfileDenied | Reason::SendfileFailed => {
            "the application decides for each request whether the client may have the file"
        }
        Reason::NotCacheable if is_failure(status) => {
            "the application has to fix the error, and no other client should get it"
        }
        Reason::RequestSpecificError => "the application has to fix the error, and no other client should get it",
        Reason::ContentTypeMismatch => {
            "a page at the URL of a file may be one visitor's: send it at another URL; if a file should be there, check that `root` leads to it"
        }
        Reason::MustUnderstand => "by must-understand, only caches that know this status may store the response",
        Reason::NoStore
        | Reason::Private
        | Reason::Authorization
        | Reason::Cookie
        | Reason::SetCookie
        | Reason::VaryUnseen
        | Reason::NotCacheable
        | Reason::NoExpiryNoValidator
        | Reason::NoCacheNoValidator
        | Reason::Expired
        | Reason::Stale
        | Reason::StaleNoCache
        | Reason::StaleMustRevalidate
        | Reason::NoLifetime => return None,
        _ => UNSURE,
    })
}

/// The advice on a response. `freshness` is the response's.
pub fn advice(
    request: &RequestHead,
    response: &ResponseHead,
    freshness: &Freshness,
    policy: &Policy,
    meaning: CookieMeanings<'_>,
) -> Advice {
    let reasons = obstacles(request, response, freshness, policy);
    let mut set = set_cookies::not_dropped(request, response, policy).map(String::from_utf8_lossy);
    if !reasons.is_empty() && set.any(|name| set_cookies::names_forgery_token(name.as_bytes())) {
        return Advice::Nothing(HAS_FORGERY_TOKEN);
    }
    if let Some(why) = reasons.iter().find_map(|reason| hopeless(*reason, response.status)) {
        return Advice::Nothing(why);
    }
    let mut changes: Vec<Suggestion> = reasons.iter().filter_map(|reason| of_line(*reason)).collect();
    let wants_lifetime = reasons.iter().any(|reason| !matches!(reason, Reason::SetCookie));
    if wants_lifetime {
        changes.extend(lifetime(request, response, freshness, &reasons, policy));
    }
    if changes.is_empty() {
        return Advice::Needless;
    }
    let works = works(&changes, request, response, freshness, policy);
    let leaves_application = changes.iter().all(|one| matches!(one.change, SuggestedChange::Set(..)));
    let wants_instead = !works || !leaves_application;
    let instead = wants_instead.then(|| by_configuration(request, response, freshness, policy, meaning)).flatten();
    match (works, instead) {
        (true, None) => Advice::Changes(changes),
        (true, Some(instead)) => Advice::Either(changes, instead),
        (false, Some(instead)) => Advice::Changes(instead),
        (false, None) => Advice::Nothing(UNSURE),
    }
}

/// The advice on a reason, where the request and the response are not known; [`Advice::Needless`]: it depends on them.
pub fn advice_without_messages(reason: Reason) -> Advice {
    match reason {
        Reason::ClientNoCache | Reason::ClientMaxAge | Reason::ClientMinFresh => {
            let change = SuggestedChange::Set("cache.client-may-revalidate", "false".to_owned());
            Advice::Changes(vec![Suggestion::of(change, "then no client can force a request to the application")])
        }
        Reason::ObjectTooLarge => {
            Advice::Nothing("with a larger `memory.object-bytes-max` it is stored, if there is memory for it")
        }
        Reason::MemoryFull => Advice::Nothing("this may be temporary; if it lasts, a larger `memory.size` helps"),
        reason => {
            hopeless(reason, StatusCode::OK).filter(|why| *why != UNSURE).map_or(Advice::Needless, Advice::Nothing)
        }
    }
}

/// The advice where variants are stored, and none fits the request. `stored` is one of them.
pub fn advice_on_variants(stored: &ResponseHead, policy: &Policy) -> Advice {
    let is_by_visitor = match sent_on(vary(&stored.fields), policy) {
        Vary::Fields(names) => names.iter().any(|name| is_of_visitors(name)),
        Vary::None | Vary::Star => false,
    };
    if is_by_visitor { Advice::Nothing(VARIES_BY_VISITOR) } else { Advice::Needless }
}

/// The change that removes the response line behind a reason.
fn of_line(reason: Reason) -> Option<Suggestion> {
    match reason {
        Reason::SetCookie => Some(Suggestion::of(
            SuggestedChange::Omit("Set-Cookie".to_owned()),
            "the cookie belongs to one visitor: set it where visitors log in or write, not on each page",
        )),
        _ => None,
    }
}

/// The changes that give the response a lifetime, or permit caches to share it. The suggested lifetime is for shared caches only,
/// because no purge reaches the cache of a browser.
fn lifetime(
    request: &RequestHead,
    response: &ResponseHead,
    freshness: &Freshness,
    reasons: &[Reason],
    policy: &Policy,
) -> Vec<Suggestion> {
    let field = control_field(response, policy);
    let only_sharing =
        reasons.iter().all(|one| matches!(one, Reason::Cookie | Reason::Authorization | Reason::SetCookie));
    if only_sharing
        && freshness.is_explicit()
        && let Some(said) = response.fields.only(field)
    {
        // s-maxage would permit sharing as well, and forbid to serve it stale.
        let value = format!("public, {}", String::from_utf8_lossy(said));
        return vec![Suggestion::of(SuggestedChange::Send(field.to_owned(), value), SHARED_LIFETIME)];
    }
    let is_private = reasons.contains(&Reason::Private);
    let Some(targeted) = policy.targeted_fields.first() else {
        let value = format!("max-age=0, s-maxage={SECONDS}");
        let text = if is_private { NOT_PRIVATE } else { SHARED_LIFETIME };
        return vec![Suggestion::of(SuggestedChange::Send("Cache-Control".to_owned(), value), text)];
    };
    let of_somebody = has_credentials(&request.fields)
        && reasons.iter().any(|reason| matches!(reason, Reason::Cookie | Reason::Authorization));
    // What the application already tells browsers stays as it is.
    let says_something = ["cache-control", "expires", "pragma"].iter().any(|name| response.fields.contains(name));
    let is_silent = !says_something && field == "Cache-Control";
    let value = if of_somebody { format!("public, max-age={SECONDS}") } else { format!("max-age={SECONDS}") };
    let text = match (of_somebody, is_silent) {
        _ if is_private => NOT_PRIVATE,
        (true, _) => SHARED_LIFETIME,
        (false, true) => KEPT_HERE,
        (false, false) => KEEPS_BROWSERS,
    };
    let mut all = Vec::new();
    if is_silent {
        let change = SuggestedChange::Send("Cache-Control".to_owned(), "max-age=0".to_owned());
        all.push(Suggestion::of(change, ASKS_EACH_TIME));
    }
    all.push(Suggestion::of(SuggestedChange::Send(targeted.clone(), value), text));
    all
}

/// Whether nothing is in the way any more once all changes are applied.
fn works(
    changes: &[Suggestion],
    request: &RequestHead,
    response: &ResponseHead,
    before: &Freshness,
    policy: &Policy,
) -> bool {
    let (mut response, mut policy) = (response.clone(), policy.clone());
    for suggestion in changes {
        apply(&suggestion.change, &mut response.fields, &mut policy);
    }
    let time = before.response_time;
    let freshness = freshness(request, &response, time, time, &policy);
    obstacles(request, &response, &freshness, &policy).is_empty()
}

/// Applies a change to the response's fields and to the policy.
fn apply(change: &SuggestedChange, fields: &mut Fields, policy: &mut Policy) {
    match change {
        SuggestedChange::Send(name, value) => fields.set(name, value),
        SuggestedChange::Omit(name) => drop(fields.remove(name)),
        SuggestedChange::Set("cache.negative-ttl", _) => policy.negative_ttl_seconds = SECONDS,
        SuggestedChange::Set("ttl", _) => policy.grant.ttl_seconds = SECONDS,
        SuggestedChange::Set(..) => {}
    }
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
