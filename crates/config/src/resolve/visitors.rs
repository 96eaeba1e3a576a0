//! Resolves the settings of an application's visitors and their sessions.

use crate::issue::{Issue, Located, quoted};
use crate::raw::{LocatedTexts, RawRoute, RawSession, RawVisitors};
use crate::value::is_token;
use kasoku_options::{
    CookiePattern, DeviceUrls, EmptyToken, PageRules, Route, SessionProbe, SessionRules, StatefulUrl, UrlPattern,
};
use kasoku_semantics::classes::Device;
use kasoku_semantics::policy::Policy;
use std::sync::Arc;

/// The most entries of each list: each is compared with each request.
pub(super) const NAMES_MAX: usize = 256;

/// The most texts that are looked for in a page.
const TEXTS_MAX: usize = 16;

/// The most languages.
const LANGUAGES_MAX: usize = 16;

/// Stands in a list for the entries that would hold without the list.
pub(super) const DEFAULT: &str = "default";

/// Lays written keys over a route.
pub(super) fn set_route(route: &mut Route, policy: &mut Policy, raw: &RawVisitors) {
    if let Some(urls) = &raw.pass_urls {
        route.pass_urls = urls_after(urls, &route.pass_urls);
    }
    set_page(route, raw);
    if let Some(urls) = &raw.refuse_urls {
        route.refuse_urls = urls_after(urls, &route.refuse_urls);
    }
    super::set(&mut policy.grant.key_device, &raw.key_device);
    if let Some(written) = &raw.device_urls {
        set_device_urls(&mut route.device_urls, written);
    }
    if let Some(languages) = &raw.key_languages {
        policy.grant.key_languages = languages.value.iter().map(|one| one.value.to_ascii_lowercase()).collect();
    }
    let mut session = SessionRules::clone(&route.session);
    set_session(&mut session, &raw.session);
    if session != *route.session {
        route.session = Arc::new(session);
    }
}

/// `"default"` stands for both lists of the outer level.
fn set_device_urls(urls: &mut DeviceUrls, written: &LocatedTexts) {
    let before = std::mem::take(urls);
    for text in &written.value {
        if text.value == DEFAULT {
            urls.mobile.extend_from_slice(&before.mobile);
            urls.desktop.extend_from_slice(&before.desktop);
        }
        match device_url(&text.value) {
            Some((url, Device::Mobile)) => urls.mobile.push(url),
            Some((url, Device::Desktop)) => urls.desktop.push(url),
            None => {}
        }
    }
}

fn set_page(route: &mut Route, raw: &RawVisitors) {
    let mut page = PageRules::clone(&route.page);
    if let Some(texts) = &raw.page_text {
        page.texts = names_after(texts, &page.texts);
    }
    if let Some(texts) = &raw.outage_text {
        page.outages = names_after(texts, &page.outages);
    }
    if let Some(texts) = &raw.private_text {
        page.privates = names_after(texts, &page.privates);
    }
    if let Some(tokens) = &raw.empty_tokens {
        page.empty_tokens = after(tokens, &page.empty_tokens, EmptyToken::parse);
    }
    if page != *route.page {
        route.page = Arc::new(page);
    }
}

fn set_session(session: &mut SessionRules, raw: &RawSession) {
    if let Some(cookies) = &raw.anonymous_cookies {
        session.anonymous_cookies = after(cookies, &session.anonymous_cookies, cookie_pattern);
    }
    if let Some(urls) = &raw.logout {
        session.logout = urls_after(urls, &session.logout);
    }
    if let Some(urls) = &raw.harmless_urls {
        session.harmless_urls = urls_after(urls, &session.harmless_urls);
    }
    if let Some(urls) = &raw.stateful_urls {
        session.stateful_urls = after(urls, &session.stateful_urls, stateful_url);
    }
    super::set(&mut session.stateful_for, &raw.stateful_for);
    if let Some(text) = &raw.probe {
        session.probe = probe(&text.value, session.probe.take());
    }
    super::set(&mut session.anonymous_for, &raw.anonymous_for);
    super::set(&mut session.expire_after, &raw.expire_after);
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    let raw = &raw.visitors;
    for text in own(&raw.session.stateful_urls).filter(|text| stateful_url(&text.value).is_none()) {
        let issue = Issue::error(format!("{} is not a URL pattern", quoted(&text.value))).at(&text.place);
        issues.push(issue.help("write a path, and after `=>` the pages that show it: \"/cart.php => /shop/*\""));
    }
    for text in own(&raw.device_urls).filter(|text| device_url(&text.value).is_none()) {
        let issue = Issue::error(format!("{} chooses no version of a page", quoted(&text.value))).at(&text.place);
        issues.push(issue.help("write a URL pattern, and after `=>` the version: \"*?device=mobile => mobile\""));
    }
    let lists = [&raw.pass_urls, &raw.refuse_urls, &raw.session.logout, &raw.session.harmless_urls];
    for text in lists.into_iter().flat_map(own) {
        if url_pattern(&text.value).is_none() {
            let issue = Issue::error(format!("{} is not a URL pattern", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("write a path, and after `?` one parameter: \"/login*\", \"*?action=edit\""));
        }
    }
    for text in own(&raw.session.anonymous_cookies).filter(|text| cookie_pattern(&text.value).is_none()) {
        let issue = Issue::error(format!("{} is not a cookie", quoted(&text.value))).at(&text.place);
        issues.push(issue.help("write name and value: \"rx_login_status=none\""));
    }
    for text in own(&raw.session.anonymous_cookies).filter(|text| text.value.ends_with("=*")) {
        let issue =
            Issue::warning(format!("{} makes a visitor anonymous whatever the cookie says", quoted(&text.value)));
        issues.push(
            issue.at(&text.place).help("write the value that the cookie has only if the visitor is not logged in"),
        );
    }
    for text in [&raw.page_text, &raw.outage_text, &raw.private_text]
        .into_iter()
        .flat_map(own)
        .filter(|text| text.value.is_empty())
    {
        let issue = Issue::error("an empty text stands in every answer").at(&text.place);
        issues.push(issue.help("write a text that only such an answer contains, like \"</html>\""));
    }
    for text in own(&raw.empty_tokens).filter(|text| EmptyToken::parse(&text.value).is_none()) {
        let issue = Issue::error(format!("{} names no token", quoted(&text.value))).at(&text.place);
        let help = "write the text before the value, `{token}`, and the quote: 'name=\"csrf\" value=\"{token}\"'";
        issues.push(issue.help(help));
    }
    if let Some(text) = &raw.session.probe
        && !text.value.is_empty()
        && probe(&text.value, None).is_none()
    {
        let issue = Issue::error(format!("`session.probe` can't be {}", quoted(&text.value))).at(&text.place);
        let help = "write the URL of a page that differs for members, and after `=>` the status and a text of the answer to a guest: \
                    \"/login.php => 200 </form>\"";
        issues.push(issue.help(help));
    }
    for text in own(&raw.key_languages).filter(|text| !is_language(&text.value)) {
        let issue = Issue::error(format!("{} is not a language", quoted(&text.value))).at(&text.place);
        issues.push(issue.help("like \"ko\" or \"zh-CN\""));
    }
    let lists = [
        (&raw.pass_urls, NAMES_MAX),
        (&raw.device_urls, NAMES_MAX),
        (&raw.page_text, TEXTS_MAX),
        (&raw.outage_text, TEXTS_MAX),
        (&raw.private_text, TEXTS_MAX),
        (&raw.empty_tokens, TEXTS_MAX),
        (&raw.refuse_urls, NAMES_MAX),
        (&raw.session.anonymous_cookies, NAMES_MAX),
        (&raw.session.logout, NAMES_MAX),
        (&raw.session.harmless_urls, NAMES_MAX),
        (&raw.session.stateful_urls, NAMES_MAX),
        (&raw.key_languages, LANGUAGES_MAX),
    ];
    check_lengths(&lists, issues);
}

/// Reports lists that are longer than they may be.
pub(super) fn check_lengths(lists: &[(&Option<LocatedTexts>, usize)], issues: &mut Vec<Issue>) {
    for (list, max) in lists {
        if let Some(surplus) = list.iter().flat_map(|list| &list.value).nth(*max) {
            let issue = Issue::error(format!("the list is longer than {max}")).at(&surplus.place);
            issues.push(
                issue.help(
                    "this entry is the first that is too many; in patterns, `*` stands for any run of characters",
                ),
            );
        }
    }
}

/// Warns of keys that have no effect where they are written.
pub(super) fn warn(raw: &RawVisitors, route: &Route, issues: &mut Vec<Issue>) {
    if route.page.texts.is_empty()
        && let Some(texts) = raw.outage_text.as_ref().filter(|texts| !texts.value.is_empty())
    {
        let issue = Issue::warning("`outage-text` has no effect without `page-text`").at(&texts.place);
        issues.push(issue.help(
            "a visitor could write such words into a page: name a text that stands in each page, `page-text = [\"</html>\"]`",
        ));
    }
    let session = &raw.session;
    if route.session.cookies.is_empty() {
        let written = [
            ("session.anonymous-cookies", session.anonymous_cookies.as_ref().map(|it| &it.place)),
            ("session.probe", session.probe.as_ref().map(|it| &it.place)),
            ("session.logout", session.logout.as_ref().map(|it| &it.place)),
            ("session.harmless-urls", session.harmless_urls.as_ref().map(|it| &it.place)),
            ("session.stateful-urls", session.stateful_urls.as_ref().map(|it| &it.place)),
            ("session.expire-after", session.expire_after.as_ref().map(|it| &it.place)),
        ];
        for (key, place) in written.into_iter().filter_map(|(key, place)| Some((key, place?))) {
            let issue = Issue::warning(format!("{} has no effect: no cookie starts a session here", quoted(key)));
            issues.push(issue.at(place).help("name the cookies: `cookies.session = [\"PHPSESSID\"]`"));
        }
    }
}

/// The entries of a list without [`DEFAULT`].
pub(super) fn own(list: &Option<LocatedTexts>) -> impl Iterator<Item = &Located<String>> {
    list.iter().flat_map(|list| &list.value).filter(|text| text.value != DEFAULT)
}

/// The entries of a list, with those of the outer level in place of [`DEFAULT`].
pub(super) fn after<T: Clone>(list: &LocatedTexts, before: &[T], read: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let mut all = Vec::new();
    for text in &list.value {
        match text.value.as_str() {
            DEFAULT => all.extend_from_slice(before),
            text => all.extend(read(text)),
        }
    }
    all
}

/// The same for names.
pub(super) fn names_after(list: &LocatedTexts, before: &[String]) -> Vec<String> {
    after(list, before, |text| Some(text.to_owned()))
}

pub(super) fn urls_after(list: &LocatedTexts, before: &[UrlPattern]) -> Vec<UrlPattern> {
    after(list, before, url_pattern)
}

pub(super) fn url_pattern(text: &str) -> Option<UrlPattern> {
    let is_sound = text.bytes().all(|byte| byte.is_ascii_graphic());
    UrlPattern::parse(text).filter(|_| is_sound)
}

/// `URL`, or `URL => pages that show it`.
fn stateful_url(text: &str) -> Option<StatefulUrl> {
    let (url, pages) = text.split_once("=>").map_or((text, None), |(url, pages)| (url, Some(pages)));
    let shown_by = match pages {
        None => None,
        Some(pages) => Some(url_pattern(pages.trim())?),
    };
    Some(StatefulUrl { url: url_pattern(url.trim())?, shown_by })
}

/// `URL => mobile`, or `URL => desktop`.
fn device_url(text: &str) -> Option<(UrlPattern, Device)> {
    let (url, device) = text.split_once("=>")?;
    let device = match device.trim() {
        "mobile" => Device::Mobile,
        "desktop" => Device::Desktop,
        _ => return None,
    };
    Some((url_pattern(url.trim())?, device))
}

/// `/path`, `/path => STATUS` or `/path => STATUS TEXT`. A path alone keeps status and text of `before`. Empty: no probe, whatever
/// an outer level says.
fn probe(text: &str, before: Option<SessionProbe>) -> Option<SessionProbe> {
    let (target, answer) = text.split_once("=>").map_or((text, None), |(target, answer)| (target, Some(answer.trim())));
    let target = Some(target.trim()).filter(|target| is_target(target))?.to_owned();
    let Some(answer) = answer else {
        let (status, text) = before.map_or((200, String::new()), |probe| (probe.status, probe.text));
        return Some(SessionProbe { target, status, text });
    };
    let (status, text) = answer.split_once(' ').unwrap_or((answer, ""));
    let status = status.parse().ok().filter(|status| (200..=599).contains(status))?;
    Some(SessionProbe { target, status, text: text.trim_start().to_owned() })
}

fn cookie_pattern(text: &str) -> Option<CookiePattern> {
    let (name, value) = text.split_once('=')?;
    let is_sound = !name.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b";,".contains(&byte));
    is_sound.then(|| CookiePattern { name: name.to_owned(), value: value.to_owned() })
}

/// Whether it is a path, maybe with a query, as a client asks for it.
pub(super) fn is_target(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//") && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

fn is_language(text: &str) -> bool {
    is_token(text)
        && text.split('-').all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
}
