//! Finds settings that would make a response cacheable without a change to the application, where the response forbids storing or
//! has a status without a granted lifetime: `ttl-override` or `ttl-status`, with the shortest `ignore` list that suffices.
//!
//! An operator who writes such a line takes over the application's responsibility, so each suggestion that overrules the
//! application comes with its risk, in the words of the warning by `kasoku check`. A request with credentials gets no suggestion,
//! since no lifetime is granted to it, and neither does an error that says nothing lasting about the page.

use crate::credentials::has_credentials;
use crate::effective::is_overruled_or_dropped;
use crate::evidence::obstacles;
use crate::freshness::freshness;
use crate::grant::{Grant, Ignored, StatusTtl, ttl_applies_to_status};
use crate::our_fields::is_ours;
use crate::request_fields::unseen;
use crate::suggestion::{
    GRANTED, GRANTED_MINUTE, SECONDS, SuggestedChange, Suggestion, is_failure, is_negative, listed,
};
use crate::vary::{Vary, vary};
use crate::{Freshness, Policy, classes, set_cookies};
use http::{Method, StatusCode};
use kasoku_wire::{RequestHead, ResponseHead};

/// What a cookie seems to be, by the answers that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieMeaning {
    /// It tells nothing about the visitor who has it.
    Noise,
    /// It tells who its visitor is, or may do so after a log-in.
    Session,
    /// That is not known.
    Unknown,
}

/// What the cookie of a name seems to be.
pub type CookieMeanings<'n> = &'n dyn Fn(&str) -> CookieMeaning;

const SESSION: &str = "a session that begins for a visitor without cookies is anonymous, and its cookie is dropped; requests with a session pass";
const NOISE: &str = "if the cookie changes no page: it is dropped, and no request passes because of it";
const NEGATIVE: &str =
    "if the page is the same for all visitors; a busy application then answers such requests once a minute";
const BY_DEVICE: &str =
    "the page depends on User-Agent, by its Vary: then there is one for small devices, and one for all others";
const BY_FIELD: &str = "the page depends on this field, by its Vary: then each value has a page of its own; where the field is Accept-Language, `key-languages` makes fewer pages";
const OVERRULED: &str = "the listed parts of the response no longer count, with these risks:";

/// The settings that make the next request a hit while the application stays as it is; `None`: no setting helps. `before` is the
/// response's freshness under `policy`.
pub(crate) fn by_configuration(
    request: &RequestHead,
    response: &ResponseHead,
    before: &Freshness,
    policy: &Policy,
    meaning: CookieMeanings<'_>,
) -> Option<Vec<Suggestion>> {
    if request.method != Method::GET || has_credentials(&request.fields) || is_failure(response.status) {
        return None;
    }
    let mut keyed = policy.clone();
    let keys = keys_for_vary(response, &mut keyed.grant);
    let freshness = freshness(request, response, before.response_time, before.response_time, &keyed);
    if !keys.is_empty() && obstacles(request, response, &freshness, &keyed).is_empty() {
        return Some(keys);
    }
    let mut changes = with_lifetime(request, response, before, &keyed, meaning)?;
    changes.extend(keys);
    Some(changes)
}

/// Adds the fields to the key that `Vary` names and that would not be sent on, and returns the lines that do so.
fn keys_for_vary(response: &ResponseHead, grant: &mut Grant) -> Vec<Suggestion> {
    let mut all = Vec::new();
    let Vary::Fields(names) = vary(&response.fields) else { return all };
    if grant.ignore.contains(&Ignored::Vary) {
        return all;
    }
    let before = grant.key_fields.len();
    while let Some(name) = unseen(&names, grant) {
        if is_ours(name.as_bytes()) {
            return Vec::new();
        }
        if name == classes::DEVICE_FIELD {
            grant.key_device = true;
            all.push(Suggestion::of(SuggestedChange::Set("key-device", "true".to_owned()), BY_DEVICE));
        } else {
            grant.key_fields.push(name.clone());
        }
    }
    if grant.key_fields.len() > before {
        let change = SuggestedChange::Set("key-fields", listed(&grant.key_fields));
        all.push(Suggestion::of(change, BY_FIELD));
    }
    all
}

/// The settings that give a response a lifetime whose `Vary` names only what is sent on.
fn with_lifetime(
    request: &RequestHead,
    response: &ResponseHead,
    before: &Freshness,
    policy: &Policy,
    meaning: CookieMeanings<'_>,
) -> Option<Vec<Suggestion>> {
    let mut own = policy.clone();
    let mut changes: Vec<Suggestion> = grants(response.status, &mut own.grant)?.into_iter().collect();
    let is_hit = |policy: &Policy| {
        let time = before.response_time;
        let freshness = freshness(request, response, time, time, policy);
        obstacles(request, response, &freshness, policy).is_empty()
    };
    let cookies = Cookies::of(request, response, policy, meaning);
    own.grant.dropped_cookies.extend(cookies.names());
    // Never propose to ignore `Vary`, since all visitors would get the variant of the first one, or `Set-Cookie` for an unknown cookie,
    // which may be that of a login.
    let is_never = |one: &Ignored| matches!(one, Ignored::Vary | Ignored::SetCookie);
    let is_found = |one: &Ignored| !is_never(one) && says(response, *one, policy);
    let said = Ignored::ALL.iter().copied().filter(is_found);
    let said: Vec<Ignored> = said.collect();
    own.grant.ignore.extend(&said);
    if !is_hit(&own) {
        return None;
    }
    let mut needed = Vec::new();
    for word in said {
        let mut without = own.clone();
        without.grant.ignore.retain(|one| *one != word);
        match is_hit(&without) {
            true => own = without,
            false => needed.push(word),
        }
    }
    if needed.is_empty() && cookies.is_empty() && is_negative(response.status) {
        let negative = Policy { negative_ttl_seconds: SECONDS, ..policy.clone() };
        if is_hit(&negative) {
            let change = SuggestedChange::Set("cache.negative-ttl", GRANTED_MINUTE.to_owned());
            return Some(vec![Suggestion::of(change, NEGATIVE)]);
        }
    }
    if needed.is_empty() && !cookies.is_empty() {
        // The response states nothing that `ttl-override` would have to overrule, so `ttl` suffices.
        let lifetime = match ttl_applies_to_status(response.status) {
            true => {
                changes.pop().map(|_| Suggestion::of(SuggestedChange::Set("ttl", GRANTED_MINUTE.to_owned()), GRANTED))
            }
            false => changes.pop(),
        };
        return Some(lifetime.into_iter().chain(cookies.suggestions()).collect());
    }
    if needed.is_empty() {
        // The response states nothing that has to be overruled, so `ttl` suffices.
        let one = changes.pop()?;
        let ttl = || Suggestion::of(SuggestedChange::Set("ttl", GRANTED_MINUTE.to_owned()), GRANTED);
        return Some(vec![if ttl_applies_to_status(response.status) { ttl() } else { one }]);
    }
    // Under a lifetime that is granted, one line is enough if all cookies are sessions': as with `cookies.session`, the page is stored
    // without them, and requests with them pass.
    let mut without_cookies = own.clone();
    without_cookies.grant.ignore.push(Ignored::SetCookie);
    without_cookies.grant.dropped_cookies.clone_from(&policy.grant.dropped_cookies);
    let is_one_line = changes.is_empty() && cookies.are_sessions() && is_hit(&without_cookies);
    if is_one_line {
        own = without_cookies;
        needed.push(Ignored::SetCookie);
    }
    let words: Vec<String> = own.grant.ignore.iter().map(|one| format!("\"{}\"", one.word())).collect();
    let mut dangers: Vec<&'static str> = needed.iter().map(|one| one.danger()).collect();
    dangers.dedup();
    let change = SuggestedChange::Set("ignore", format!("[{}]", words.join(", ")));
    changes.push(Suggestion { change, text: OVERRULED, dangers });
    if !is_one_line {
        changes.extend(cookies.suggestions());
    }
    Some(changes)
}

/// The cookies of a response that keep it from being stored.
struct Cookies {
    /// The cookies that are a session's by their name, or by what is known of them.
    sessions: Vec<String>,
    others: Vec<String>,
}

impl Cookies {
    fn of(request: &RequestHead, response: &ResponseHead, policy: &Policy, meaning: CookieMeanings<'_>) -> Self {
        let is_plain =
            |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && !b"*;,=\"".contains(&b));
        let names = set_cookies::not_dropped(request, response, policy).map(std::str::from_utf8);
        let mut names: Vec<String> = names.flatten().filter(is_plain).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        // If one of the cookies has a name that the configuration can't hold, propose none of them.
        if set_cookies::not_dropped(request, response, policy)
            .any(|name| !names.iter().any(|one| one.as_bytes() == name))
        {
            names.clear();
        }
        // Scripts of noise read their cookie, so what no script can read is the application's own: DokuWiki's log-in cookie, for one.
        let is_sessions = |name: &String| {
            set_cookies::names_a_session(name)
                || set_cookies::is_http_only(&response.fields, name.as_bytes())
                || meaning(name) == CookieMeaning::Session
        };
        let (sessions, others): (Vec<_>, Vec<_>) = names.into_iter().partition(is_sessions);
        // If it is not known of one of the cookies whether it identifies its visitor, propose none of them.
        if !others.iter().all(|name| meaning(name) == CookieMeaning::Noise) {
            return Self { sessions: Vec::new(), others: Vec::new() };
        }
        Self { sessions, others }
    }

    fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.others.is_empty()
    }

    fn are_sessions(&self) -> bool {
        !self.sessions.is_empty() && self.others.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.sessions.iter().chain(&self.others).cloned()
    }

    fn suggestions(&self) -> Vec<Suggestion> {
        let quoted = |names: &[String]| names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let mut all = Vec::new();
        if !self.sessions.is_empty() {
            let change = SuggestedChange::Set("cookies.session", format!("[{}]", quoted(&self.sessions)));
            all.push(Suggestion { change, text: SESSION, dangers: Vec::new() });
        }
        if !self.others.is_empty() {
            let change = SuggestedChange::Set("cookies.noise", format!("[\"default\", {}]", quoted(&self.others)));
            all.push(Suggestion { change, text: NOISE, dangers: Vec::new() });
        }
        all
    }
}

/// Adds a lifetime for `status` to `grant`, and returns the setting to write, if one is needed. The outer `None`: the operator has
/// set that this status gets no lifetime.
fn grants(status: StatusCode, grant: &mut Grant) -> Option<Option<Suggestion>> {
    let (key, value) = match grant.of_status(status) {
        Some(0) => return None,
        Some(_) => return Some(None),
        None if !ttl_applies_to_status(status) => {
            let mut entries: Vec<String> = grant.ttl_status.iter().map(shown).collect();
            entries.push(format!("{} = {GRANTED_MINUTE}", status.as_u16()));
            let (first, last) = (status.as_u16(), status.as_u16());
            grant.ttl_status.push(StatusTtl { first, last, seconds: SECONDS });
            ("ttl-status", format!("{{ {} }}", entries.join(", ")))
        }
        // `ttl` covers what `ignore` overrules as well, where there is no `ttl-override`.
        None if grant.ttl_override_seconds > 0 || grant.ttl_seconds > 0 => return Some(None),
        None => {
            grant.ttl_override_seconds = SECONDS;
            ("ttl-override", GRANTED_MINUTE.to_owned())
        }
    };
    Some(Some(Suggestion::of(SuggestedChange::Set(key, value), GRANTED)))
}

/// An entry of `ttl-status` as the configuration writes it.
fn shown(entry: &StatusTtl) -> String {
    let StatusTtl { first, last, seconds } = entry;
    match (first, last) {
        (first, last) if first == last => format!("{first} = \"{seconds}s\""),
        (200, 599) => format!("any = \"{seconds}s\""),
        (first, _) => format!("{}xx = \"{seconds}s\"", first / 100),
    }
}

/// Whether the response says something that `word` would overrule and that is not ignored already.
fn says(response: &ResponseHead, word: Ignored, policy: &Policy) -> bool {
    let mut alone = policy.clone();
    if alone.grant.ignore.contains(&word) {
        return false;
    }
    alone.grant.ignore = vec![word];
    response.fields.iter().any(|(name, value)| is_overruled_or_dropped(name, value, &alone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, at, cached, get, ok, rfc, safe, status};

    fn written(response: &ResponseHead, policy: &Policy) -> Vec<String> {
        let before = freshness(&get(), response, NOW, NOW, policy);
        let all = by_configuration(&get(), response, &before, policy, &|_| CookieMeaning::Noise).unwrap_or_default();
        let line = |one: &Suggestion| match &one.change {
            SuggestedChange::Set(key, value) => format!("{key} = {value}"),
            other => panic!("{other:?}"),
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn only_what_is_in_the_way_is_listed() {
        let php = cached("no-store, no-cache, must-revalidate").with("Expires", at(-999)).with("Pragma", "no-cache");
        let expected = ["ttl-override = \"1m\"", "ignore = [\"no-store\", \"no-cache\", \"expires\"]"];
        assert_eq!(written(&php, &safe()), expected);
        let with_session = php.with("Set-Cookie", "PHPSESSID=1");
        let expected = ["ignore = [\"no-store\", \"no-cache\", \"expires\"]", "cookies.session = [\"PHPSESSID\"]"];
        assert_eq!(written(&with_session, &safe())[1..], expected);
        let counted = ok().with("Set-Cookie", "PHPSESSID=1").with("Set-Cookie", "seen=1");
        let expected = ["ttl = \"1m\"", "cookies.session = [\"PHPSESSID\"]", "cookies.noise = [\"default\", \"seen\"]"];
        assert_eq!(written(&counted, &safe()), expected);
        let rails = cached("max-age=0, private, must-revalidate").with("ETag", "\"a\"");
        assert_eq!(written(&rails, &safe())[1], "ignore = [\"private\", \"max-age\"]");
        assert_eq!(written(&cached("no-store, max-age=300"), &safe())[1], "ignore = [\"no-store\"]");
        assert_eq!(written(&ok().with("Pragma", "no-cache"), &safe()), ["ttl = \"1m\""], "Pragma means nothing");
        assert_eq!(written(&ok().with("Vary", "*"), &safe()), [""; 0], "what it varies by is never proposed away");
        assert_eq!(written(&ok(), &safe()), ["ttl = \"1m\""]);
    }

    #[test]
    fn each_word_that_is_added_says_what_it_may_lead_to() {
        let response = cached("no-store, max-age=0, s-maxage=0").with("Set-Cookie", "a=b").with("Expires", "0");
        let before = freshness(&get(), &response, NOW, NOW, &safe());
        let all = by_configuration(&get(), &response, &before, &safe(), &|_| CookieMeaning::Noise).unwrap();
        let dangers = &all[1].dangers;
        let expected = [Ignored::NoStore.danger(), Ignored::MaxAge.danger()];
        assert_eq!(dangers.as_slice(), expected, "no sentence twice");
    }

    #[test]
    fn an_unknown_cookie_is_never_noise() {
        let page = ok().with("Set-Cookie", "seen=1").with("Set-Cookie", "2e61f26e7a4e8194=k");
        let before = freshness(&get(), &page, NOW, NOW, &safe());
        let with = |meaning: CookieMeanings<'_>| by_configuration(&get(), &page, &before, &safe(), meaning);
        assert!(with(&|_| CookieMeaning::Noise).is_some());
        let known = |name: &str| if name == "seen" { CookieMeaning::Noise } else { CookieMeaning::Unknown };
        let all = with(&known).unwrap_or_default();
        assert!(all.is_empty(), "nor is it ignored: {all:?}");
    }

    #[test]
    fn a_cookie_that_no_script_can_read_or_that_is_known_to_be_a_sessions_is_never_noise() {
        let dokuwiki = ok().with("Set-Cookie", "DokuWiki=b3kq; path=/; HttpOnly");
        assert_eq!(written(&dokuwiki, &safe()), ["ttl = \"1m\"", "cookies.session = [\"DokuWiki\"]"]);
        let shaarli = ok().with("Set-Cookie", "shaarli=b3kq; path=/");
        let before = freshness(&get(), &shaarli, NOW, NOW, &safe());
        let all = by_configuration(&get(), &shaarli, &before, &safe(), &|_| CookieMeaning::Session).unwrap();
        assert_eq!(all[1].change, SuggestedChange::Set("cookies.session", "[\"shaarli\"]".to_owned()));
    }

    #[test]
    fn a_lifetime_that_is_granted_already_needs_only_what_overrules_the_application() {
        let mut policy = safe();
        policy.grant.ttl_seconds = 3600;
        for (word, response) in
            [("no-store", cached("no-store")), ("private", cached("private")), ("no-cache", cached("no-cache"))]
        {
            assert_eq!(written(&response, &policy), [format!("ignore = [\"{word}\"]")]);
        }
        // DokuWiki: PHP's session, with what session_start() sends.
        let session = cached("no-store, no-cache, must-revalidate").with("Set-Cookie", "DokuWiki=1; HttpOnly");
        assert_eq!(written(&session, &policy), ["ignore = [\"no-store\", \"no-cache\", \"set-cookie\"]"]);
        let expected = [
            "ignore = [\"no-store\", \"no-cache\"]",
            "cookies.session = [\"DokuWiki\"]",
            "cookies.noise = [\"default\", \"seen\"]",
        ];
        assert_eq!(written(&session.with("Set-Cookie", "seen=1"), &policy), expected);
        let noise = ok().with("Set-Cookie", "seen=1");
        assert_eq!(written(&noise, &policy), ["cookies.noise = [\"default\", \"seen\"]"]);
    }

    #[test]
    fn what_is_written_already_stays() {
        let mut policy = safe();
        policy.grant.ignore = vec![Ignored::Expires];
        policy.grant.ttl_override_seconds = 5;
        let page = cached("no-store").with("Expires", "0");
        assert_eq!(written(&page, &policy), ["ignore = [\"expires\", \"no-store\"]"]);
        let of = |first, last, seconds| StatusTtl { first, last, seconds };
        policy.grant.ttl_status = vec![of(200, 599, 9), of(500, 599, 1), of(404, 404, 60), of(200, 200, 0)];
        assert_eq!(written(&page, &policy), [""; 0], "the operator wants none for a 200");
        policy.grant.ttl_status.remove(0);
        let expected = "ttl-status = { 5xx = \"1s\", 404 = \"60s\", 200 = \"0s\", 302 = \"1m\" }";
        assert_eq!(written(&status(302), &policy), [expected]);
    }

    #[test]
    fn a_status_that_no_lifetime_is_granted_to_is_named() {
        assert_eq!(written(&status(302), &safe()), ["ttl-status = { 302 = \"1m\" }"]);
        let moved = status(302).with("Set-Cookie", "a=b").with("Cache-Control", "no-cache");
        let expected =
            ["ttl-status = { 302 = \"1m\" }", "ignore = [\"no-cache\"]", "cookies.noise = [\"default\", \"a\"]"];
        assert_eq!(written(&moved, &safe()), expected);
        let missing = status(404).with("Cache-Control", "no-store");
        assert_eq!(written(&missing, &safe()), ["ttl-status = { 404 = \"1m\" }", "ignore = [\"no-store\"]"]);
        for code in [403, 429, 500, 503] {
            assert_eq!(written(&status(code).with("Cache-Control", "no-store"), &safe()), [""; 0], "{code}");
        }
    }

    #[test]
    fn who_says_who_they_are_is_granted_nothing() {
        for (name, value) in [("Cookie", "a=b"), ("Authorization", "Basic x")] {
            let request = get().with(name, value);
            let before = freshness(&request, &cached("no-store"), NOW, NOW, &safe());
            assert_eq!(
                by_configuration(&request, &cached("no-store"), &before, &safe(), &|_| CookieMeaning::Noise),
                None,
                "{name}"
            );
        }
        let post = RequestHead { method: Method::POST, ..get() };
        let before = freshness(&post, &cached("no-store"), NOW, NOW, &rfc());
        assert_eq!(by_configuration(&post, &cached("no-store"), &before, &rfc(), &|_| CookieMeaning::Noise), None);
    }
}
