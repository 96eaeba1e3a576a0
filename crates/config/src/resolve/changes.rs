//! Resolves tags, and the changes that drop tagged pages.

use super::visitors::{after, own, url_pattern, urls_after};
use crate::issue::{Issue, quoted};
use crate::raw::{RawChanges, RawRoute};
use http::{HeaderName, Method, StatusCode};
use kasoku_options::{
    AnswerStatus, ChangeProof, ChangeRule, ChangeRules, Credentials, Route, TagTemplate, TemplateError,
};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::tags::TEMPLATES_MAX;
use std::sync::Arc;

/// The most changes of one list: each is compared with each request that passes.
const CHANGES_MAX: usize = 64;

/// The most tags of one change.
const TAGS_OF_A_CHANGE_MAX: usize = 16;

/// Stands for all pages with tags.
const ALL: &str = "*";

/// Stands for no page.
const NOTHING: &str = "-";

/// Lays written keys over a route.
pub(super) fn set_route(route: &mut Route, policy: &mut Policy, raw: &RawChanges) {
    if let Some(tags) = &raw.tags {
        policy.tags.templates = after(tags, &policy.tags.templates, |text| TagTemplate::parse(text).ok());
    }
    let mut rules = ChangeRules::clone(&route.changes);
    if let Some(changes) = &raw.changes {
        rules.list = after(changes, &rules.list, |text| change(text).ok());
    }
    if let Some(urls) = &raw.no_change_redirects {
        rules.no_change_redirects = urls_after(urls, &rules.no_change_redirects);
    }
    super::set(&mut rules.again, &raw.again);
    if rules != *route.changes {
        route.changes = Arc::new(rules);
    }
}

/// Why a text is no change.
enum ChangeError<'t> {
    NoArrow,
    Request,
    Status(&'t str),
    Proof(&'t str),
    Method(&'t str),
    Url(&'t str),
    NoTags,
    Tag(&'t str, TemplateError),
    TooMany,
}

/// `POST */write_update.php => board-{bo_table} front`, or with the status that confirms the change: `POST /admin/* 3xx => *`, and with what
/// proves it: `PUT /api/* 2xx from session* with allow:*PUT* => *`
fn change(text: &str) -> Result<ChangeRule, ChangeError<'_>> {
    let (request, tags) = text.split_once("=>").ok_or(ChangeError::NoArrow)?;
    let mut words: Vec<&str> = request.split_ascii_whitespace().collect();
    let proof = proof(&mut words)?;
    let is_url = |word: &str| word.starts_with(['/', '*']);
    let (method, url, answer) = match words[..] {
        [url] => (None, url, None),
        [url, answer] if is_url(url) => (None, url, Some(answer)),
        [method, url] => (Some(method), url, None),
        [method, url, answer] => (Some(method), url, Some(answer)),
        _ => return Err(ChangeError::Request),
    };
    let method = method.map(|text| self::method(text).ok_or(ChangeError::Method(text))).transpose()?;
    let answer = answer.map(|text| status(text).ok_or(ChangeError::Status(text))).transpose()?;
    let url = url_pattern(url).ok_or(ChangeError::Url(url))?;
    let (mut templates, mut is_all) = (Vec::new(), false);
    let is_none = tags.trim() == NOTHING;
    for tag in tags.split_ascii_whitespace().filter(|_| !is_none) {
        match tag {
            ALL => is_all = true,
            tag => templates.push(TagTemplate::parse(tag).map_err(|error| ChangeError::Tag(tag, error))?),
        }
    }
    match templates.len() {
        0 if !is_all && !is_none => Err(ChangeError::NoTags),
        0..=TAGS_OF_A_CHANGE_MAX => Ok(ChangeRule { method, url, answer, proof, tags: templates, is_all }),
        _ => Err(ChangeError::TooMany),
    }
}

/// `from wordpress_logged_in_*`, or `from authorization`; `with x-wp-nonce`, or `with allow:*POST*`; `saying "error":0`. Takes these words away.
fn proof<'t>(words: &mut Vec<&'t str>) -> Result<ChangeProof, ChangeError<'t>> {
    let mut proof = ChangeProof::default();
    let begin = words.iter().position(|word| ["from", "with", "saying"].contains(word)).unwrap_or(words.len());
    for pair in words.split_off(begin).chunks(2) {
        match pair {
            ["from", name] if proof.from.is_none() && !name.contains(['=', ';', ',']) => {
                let is_field = name.eq_ignore_ascii_case("authorization");
                let cookie = || Credentials::Cookie((*name).to_owned());
                proof.from = Some(if is_field { Credentials::Authorization } else { cookie() });
            }
            ["with", field] if proof.with.is_none() => {
                let (name, value) = field.split_once(':').unwrap_or((field, "*"));
                let is_name = HeaderName::from_bytes(name.as_bytes()).is_ok();
                let written = is_name.then(|| (name.to_ascii_lowercase(), value.to_owned()));
                proof.with = Some(written.ok_or(ChangeError::Proof(field))?);
            }
            ["saying", text] if proof.saying.is_none() => proof.saying = Some((*text).to_owned()),
            [word, ..] => return Err(ChangeError::Proof(word)),
            [] => {}
        }
    }
    Ok(proof)
}

fn method(text: &str) -> Option<Method> {
    let is_one = text.bytes().all(|byte| byte.is_ascii_uppercase());
    Method::from_bytes(text.as_bytes()).ok().filter(|_| is_one)
}

/// `302`, or `3xx`.
fn status(text: &str) -> Option<AnswerStatus> {
    if let Some(digit) = text.strip_suffix("xx") {
        let digit = digit.parse().ok()?;
        return (2..=5).contains(&digit).then_some(AnswerStatus::Class(digit));
    }
    let status = StatusCode::from_bytes(text.as_bytes()).ok()?;
    (200..600).contains(&status.as_u16()).then_some(AnswerStatus::One(status))
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    let raw = &raw.changes;
    for text in own(&raw.tags) {
        if let Err(error) = TagTemplate::parse(&text.value) {
            let issue = Issue::error(format!("{} is not a tag: {error}", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("write a word, with parameters of the URL in braces: \"board-{name}\""));
        }
    }
    for text in own(&raw.changes) {
        let Err(fault) = change(&text.value) else { continue };
        let (why, help) = match fault {
            ChangeError::NoArrow => ("has no `=>`".to_owned(), "write \"POST /save => tag\""),
            ChangeError::Request => (
                "needs a URL, with at most a method before it and a status after it".to_owned(),
                "write \"POST /save => tag\", or \"POST /save 3xx => tag\"",
            ),
            ChangeError::Status(text) => (
                format!("names {}, which is no status", quoted(text)),
                "write a status, like \"302\", or a class, like \"3xx\"",
            ),
            ChangeError::Proof(word) => (
                format!("has {} where it says what proves the change", quoted(word)),
                "write after the URL and the status the name of a cookie of the request, a field of the answer, a text of the answer, or several of these: \"PUT /api/* 2xx from session* with allow:*PUT* saying done => tag\"",
            ),
            ChangeError::Method(method) => (
                format!("names {}, which is not a method", quoted(method)),
                "write the method in capitals, like \"POST\", or leave it out",
            ),
            ChangeError::Url(url) => (
                format!("names {}, which is not a URL pattern", quoted(url)),
                "write a path, and after `?` one parameter: \"/login*\", \"*?action=edit\"",
            ),
            ChangeError::NoTags => (
                "does not say what is changed".to_owned(),
                "write after `=>` the tags of the pages that change, `*` for all pages that have tags, or `-` for none",
            ),
            ChangeError::Tag(tag, error) => (
                format!("names {}, which is not a tag: {error}", quoted(tag)),
                "write a word, with parameters in braces: \"board-{name}\"",
            ),
            ChangeError::TooMany => {
                (format!("has more than {TAGS_OF_A_CHANGE_MAX} tags"), "write two lines, with some of the tags each")
            }
        };
        issues.push(Issue::error(format!("{} {why}", quoted(&text.value))).at(&text.place).help(help));
    }
    for text in own(&raw.no_change_redirects).filter(|text| url_pattern(&text.value).is_none()) {
        let issue = Issue::error(format!("{} is not a URL pattern", quoted(&text.value))).at(&text.place);
        issues.push(issue.help("write a path, and after `?` one parameter: \"/login*\", \"*?action=edit\""));
    }
    let lists = [(&raw.tags, TEMPLATES_MAX), (&raw.changes, CHANGES_MAX), (&raw.no_change_redirects, CHANGES_MAX)];
    super::visitors::check_lengths(&lists, issues);
}

/// Warns of keys that have no effect where they are written.
pub(super) fn warn(raw: &RawChanges, route: &Route, issues: &mut Vec<Issue>) {
    if !route.changes.list.is_empty() {
        return;
    }
    let urls = raw.no_change_redirects.as_ref().filter(|urls| !urls.value.is_empty()).map(|urls| &urls.place);
    let again = raw.again.as_ref().filter(|again| !again.value.is_zero()).map(|again| &again.place);
    for (key, place) in [("no-change-redirects", urls), ("changes-again", again)] {
        let Some(place) = place else { continue };
        let issue = Issue::warning(format!("`{key}` has no effect without `changes`")).at(place);
        issues.push(issue.help("say which requests change which pages: `changes = [\"POST /save => page-{id}\"]`"));
    }
}
