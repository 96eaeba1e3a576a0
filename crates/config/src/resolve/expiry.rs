//! Resolves the lifetimes that the operator grants, and the settings that tell visitors apart there.
//!
//! An operator who overrules an application takes over its responsibility, so each word of `ignore` causes a warning that says what
//! may happen. A key that has no effect, since no lifetime is granted where it is written, causes one as well.

use super::visitors::{DEFAULT, after};
use super::{cookies, dangers, set};
use crate::address;
use crate::issue::{Issue, Located, SourceLocation, quoted};
use crate::raw::{LocatedTexts, RawExpiry, RawRoute};
use crate::value::{is_token, statuses_of};
use kasoku_options::{Route, UrlKey};
use kasoku_semantics::grant::{Ignored, StatusTtl};
use kasoku_semantics::policy::Policy;
use std::sync::Arc;
use std::time::Duration;

/// The most entries of each list: each is compared with each request.
const NAMES_MAX: usize = 64;

/// Fields that `key-fields` can't name, and why.
const NO_KEY_FIELDS: [(&str, &str); 14] = [
    ("authorization", "a request with it always passes"),
    ("cookie", "`cookies.key` names the cookies that count"),
    ("host", "it is in the key anyway"),
    ("range", "Kasoku always requests the whole response"),
    ("if-range", "Kasoku always requests the whole response"),
    ("cache-control", "it is for the cache, not for the application"),
    ("pragma", "it is for the cache, not for the application"),
    ("if-match", "it is for the cache, not for the application"),
    ("if-none-match", "it is for the cache, not for the application"),
    ("if-modified-since", "it is for the cache, not for the application"),
    ("if-unmodified-since", "it is for the cache, not for the application"),
    ("connection", "it is about the connection to Kasoku"),
    ("via", "Kasoku sets it itself"),
    ("forwarded", "Kasoku sets it itself"),
];

/// Fields without which a stored response would have another meaning.
const NEEDED_FIELDS: [&str; 10] = [
    "age",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "expires",
    "transfer-encoding",
    "vary",
];

/// Lays written keys over a policy.
pub(super) fn set_policy(policy: &mut Policy, raw: &RawExpiry) {
    let seconds = |option: &mut u64, written: &Option<Located<Duration>>| {
        if let Some(written) = written {
            *option = written.value.as_secs();
        }
    };
    seconds(&mut policy.grace_seconds, &raw.grace);
    seconds(&mut policy.ttl_max_seconds, &raw.ttl_max);
    policy.keep_seconds = raw.keep.as_ref().map(|keep| keep.value.as_secs()).or(policy.keep_seconds);
    if let Some(fields) = &raw.strip_fields {
        policy.strip_fields = lower_case(fields);
    }
    let grant = &mut policy.grant;
    seconds(&mut grant.ttl_seconds, &raw.ttl);
    seconds(&mut grant.ttl_override_seconds, &raw.ttl_override);
    set(&mut grant.announce_ttl, &raw.announce_ttl);
    if let Some(words) = &raw.ignore {
        grant.ignore = after(words, &grant.ignore, ignored);
    }
    if let Some(statuses) = &raw.ttl_status {
        let of = |(status, ttl): &(Located<String>, Located<Duration>)| {
            let (first, last) = statuses_of(&status.value)?;
            Some(StatusTtl { first, last, seconds: ttl.value.as_secs() })
        };
        grant.ttl_status = statuses.iter().filter_map(of).collect();
    }
    if let Some(fields) = &raw.key_fields {
        grant.key_fields = lower_case(fields);
    }
}

/// Adds what is ignored further out: a site's list adds to that of its application, and replaces none.
pub(super) fn add_ignored(route: &mut Route, further: &[Ignored]) {
    let is_new = |one: &&Ignored| !route.policy.grant.ignore.contains(one);
    let new: Vec<Ignored> = further.iter().filter(is_new).copied().collect();
    if !new.is_empty() {
        Arc::make_mut(&mut route.policy).grant.ignore.extend(new);
    }
}

/// The parts of the URL that are in a site's keys.
pub(super) fn url_key(
    host: Option<&Located<String>>,
    path_parameters: [Option<&LocatedTexts>; 2],
    issues: &mut Vec<Issue>,
) -> UrlKey {
    let host = host.and_then(|text| match address::parse_origin_host(&text.value) {
        Ok(host) => Some(host),
        Err(fault) => {
            issues.push(fault.at(&text.place));
            None
        }
    });
    let [top, site] = path_parameters;
    UrlKey { host, path_parameters: site.or(top).map(names).unwrap_or_default() }
}

/// Reports the faults of `strip-path-parameters`, where it is written.
pub(super) fn check_path_parameters(written: Option<&LocatedTexts>, issues: &mut Vec<Issue>) {
    let is_name = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !b";=/?#".contains(&b));
    for text in texts(written).filter(|text| !is_name(&text.value)) {
        let issue = Issue::error(format!("{} can't match the name of a parameter", quoted(&text.value)));
        issues.push(issue.at(&text.place).help("write the name alone, without `;` and `=`: \"jsessionid\""));
    }
}

/// Reports the faults of these keys and warns of their dangers, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    let raw = &raw.expiry;
    for word in texts(raw.ignore.as_ref()).filter(|word| word.value != DEFAULT) {
        issues.push(match ignored(&word.value) {
            Some(ignored) => warning_of(ignored, &word.place),
            None => unknown_word(word),
        });
    }
    for status in raw.ttl_status.iter().flatten().map(|(status, _)| status) {
        issues.extend(status_fault(status));
    }
    for text in texts(raw.key_fields.as_ref()) {
        issues.extend(key_field_fault(text));
    }
    for text in texts(raw.strip_fields.as_ref()) {
        issues.extend(strip_field_fault(text));
    }
    let lists = [&raw.key_fields, &raw.strip_fields];
    for surplus in lists.into_iter().filter_map(|list| texts(list.as_ref()).nth(NAMES_MAX)) {
        let issue = Issue::error(format!("the list is longer than {NAMES_MAX}")).at(&surplus.place);
        issues.push(issue.help("this entry is the first that is too many"));
    }
}

/// Reports keys that lack another key or have no effect, once the route is complete. `is_final`: no inner rule may add to it.
pub(super) fn warn(raw: &RawRoute, route: &Route, is_final: bool, issues: &mut Vec<Issue>) {
    let (raw, cookies) = (&raw.expiry, &raw.cookies);
    let grant = &route.policy.grant;
    cookies::warn(cookies, route, grant.is_granting() || !is_final, issues);
    dangers::above_the_bound(raw, route.policy.ttl_max_seconds, issues);
    if let Some(written) = raw.ttl_override.as_ref().filter(|ttl| !ttl.value.is_zero())
        && grant.ignore.is_empty()
    {
        let issue = Issue::error("`ttl-override` overrules nothing: there is no `ignore`").at(&written.place);
        let help = "list what does not count, like `ignore = [\"no-store\", \"expires\"]`; for responses that state no lifetime write `ttl`";
        issues.push(issue.help(help));
    }
    if !is_final || grant.is_granting() {
        return;
    }
    let written = [
        ("ignore", raw.ignore.as_ref().map(|it| &it.place)),
        ("announce-ttl", raw.announce_ttl.as_ref().map(|it| &it.place)),
        ("key-fields", raw.key_fields.as_ref().map(|it| &it.place)),
    ];
    let written = written.into_iter().chain(cookies::idle(cookies, route));
    for (key, place) in written.filter_map(|(key, place)| Some((key, place?))) {
        let issue = Issue::warning(format!("{} has no effect: no lifetime is granted here", quoted(key))).at(place);
        issues.push(issue.help("write `ttl = \"1h\"`, `ttl-override` or `ttl-status` beside it, or leave it out"));
    }
}

fn warning_of(ignored: Ignored, place: &SourceLocation) -> Issue {
    let issue = Issue::warning(format!("{} is ignored: {}", quoted(ignored.word()), ignored.danger())).at(place);
    issue.help(match ignored {
        Ignored::SetCookie => "this is right for pages that set a cookie without need, and on which no visitor logs in",
        Ignored::Vary => "this is right if the application names fields that change nothing",
        Ignored::MaxAge | Ignored::SMaxage | Ignored::Expires | Ignored::MustRevalidate => {
            "this is right if a page may be older than its application says"
        }
        _ => "this is right only if each page of this rule is the same for all visitors without cookies",
    })
}

fn unknown_word(word: &Located<String>) -> Issue {
    let issue = Issue::error(format!("`ignore` can't list {}", quoted(&word.value))).at(&word.place);
    let is_credential = ["authorization", "cookie"].contains(&word.value.to_ascii_lowercase().as_str());
    if is_credential {
        return issue.help(
            "a request that tells who sends it always passes; for cookies there are `cookies.key` and `cookies.noise`",
        );
    }
    let words: Vec<String> = Ignored::ALL.iter().map(|one| format!("\"{}\"", one.word())).collect();
    issue.help(format!("write {}", words.join(", ")))
}

fn ignored(word: &str) -> Option<Ignored> {
    Ignored::ALL.iter().copied().find(|one| one.word().eq_ignore_ascii_case(word))
}

fn status_fault(status: &Located<String>) -> Option<Issue> {
    const HELP: &str = "write a status from 200 to 599, a class like `4xx`, or `any`";
    match statuses_of(&status.value) {
        None => {
            let issue = Issue::error(format!("{} is not a status", quoted(&status.value))).at(&status.place);
            Some(issue.help(HELP))
        }
        Some((206 | 304 | 407 | 412 | 416, last)) if status.value.parse() == Ok(last) => {
            let message = format!("{} answers one request, and is never stored", quoted(&status.value));
            Some(Issue::error(message).at(&status.place).help("leave it out"))
        }
        Some(_) => None,
    }
}

fn key_field_fault(field: &Located<String>) -> Option<Issue> {
    let name = field.value.to_ascii_lowercase();
    if !is_token(&name) {
        let issue = Issue::error(format!("{} is not the name of a field", quoted(&field.value))).at(&field.place);
        return Some(issue.help("like \"Accept-Language\""));
    }
    let known = NO_KEY_FIELDS.iter().find(|(one, _)| *one == name).map(|(_, why)| *why);
    let why = known.or(name.starts_with("x-forwarded-").then_some("Kasoku sets it itself"))?;
    let issue = Issue::error(format!("`key-fields` can't list {}: {why}", quoted(&field.value))).at(&field.place);
    Some(issue.help("leave it out"))
}

fn strip_field_fault(field: &Located<String>) -> Option<Issue> {
    if !is_token(&field.value) {
        let issue = Issue::error(format!("{} is not the name of a field", quoted(&field.value))).at(&field.place);
        return Some(issue.help("like \"X-Debug-Token\""));
    }
    NEEDED_FIELDS.contains(&field.value.to_ascii_lowercase().as_str()).then(|| {
        let message = format!("{} can't be stripped: a stored response needs it", quoted(&field.value));
        let help = "leave it out; `ignore` overrules what it says, where a lifetime is granted";
        Issue::error(message).at(&field.place).help(help)
    })
}

fn texts(list: Option<&LocatedTexts>) -> impl Iterator<Item = &Located<String>> {
    list.into_iter().flat_map(|list| &list.value)
}

fn names(list: &LocatedTexts) -> Vec<String> {
    list.value.iter().map(|one| one.value.clone()).collect()
}

fn lower_case(list: &LocatedTexts) -> Vec<String> {
    list.value.iter().map(|one| one.value.to_ascii_lowercase()).collect()
}
