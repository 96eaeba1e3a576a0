//! Extra details of a request for Cache-Status and the log, such as the cookie or the rule that decided.

use crate::request::route::Routed;
use crate::sites::ActiveRoute;
use kasoku_options::UrlPattern;
use kasoku_semantics::deleted_cookies::deletes;
use kasoku_semantics::freshness::{Freshness, LifetimeSource};
use kasoku_semantics::grant::GrantRefusal;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::{cookies, set_cookies};
use kasoku_visitors::passing;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::sync::Arc;

/// What is told of a request besides what the cache did: what the rules about visitors did, and which line of the configuration decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// The cookie for which the request passes, or for which its answer is not stored.
    cookie: Option<Box<[u8]>>,
    /// The field for which the request passes: lower case.
    field: Option<Box<[u8]>>,
    /// The cookies that were dropped from the stored response.
    dropped: Option<Box<[u8]>>,
    /// What became of the session that the request carries.
    session: Option<&'static str>,
    /// The line of the configuration that decided, such as `kasoku.toml:12`.
    rule: Option<Arc<str>>,
}

/// The cookies that were dropped from a stored response, and the line that grants its lifetime.
#[derive(Default)]
pub(crate) struct DroppedCookies {
    names: Option<Box<[u8]>>,
    rule: Option<Arc<str>>,
}

impl DroppedCookies {
    /// Those of a response that is stored.
    pub(crate) fn of(
        request: &RequestHead,
        response: &ResponseHead,
        freshness: &Freshness,
        route: &ActiveRoute,
    ) -> Self {
        let lines = set_cookies::dropped(request, response, &route.policy);
        let names: Vec<&[u8]> = lines.map(|line| set_cookies::pair(line).0).collect();
        let by = match freshness.source {
            LifetimeSource::Ttl => "ttl",
            LifetimeSource::Override => "ttl-override",
            LifetimeSource::Status => "ttl-status",
            _ => "",
        };
        let rule = route.places.settings.get(by).cloned();
        Self { names: (!names.is_empty()).then(|| names.join(&b", "[..]).into()), rule }
    }
}

impl Notes {
    /// What became of the session that the request carries, and nothing else.
    pub(crate) fn of_session(what: &'static str) -> Self {
        Self { session: Some(what), ..Self::default() }
    }

    /// The cookie for which the request passes, or for which its answer is not stored.
    pub(crate) fn cookie(&self) -> Option<&[u8]> {
        self.cookie.as_deref()
    }

    /// Notes that the request passes, for that reason. `is_anonymous`: the session that it carries is anonymous, and is not the reason.
    pub(crate) fn passes(&mut self, reason: Reason, request: &Fields, routed: &Routed, is_anonymous: bool) {
        let route = &*routed.route;
        let settings = &route.places.settings;
        let by = match reason {
            Reason::PassCookie | Reason::PassSession => {
                let Some(GrantRefusal::Cookie(name) | GrantRefusal::Session(name)) =
                    passing::refusal(request, route.visitor_rules(), is_anonymous)
                else {
                    return;
                };
                self.cookie = Some(name.into());
                match reason {
                    Reason::PassSession => "cookies.session",
                    _ if passing::listed(request, route.visitor_rules()).is_some() => "cookies.pass",
                    _ => "cookies.others",
                }
            }
            Reason::PassField => {
                if let Some(GrantRefusal::Field(name)) = passing::refusal(request, route.visitor_rules(), is_anonymous)
                {
                    self.field = Some(name.to_ascii_lowercase().into());
                }
                return;
            }
            Reason::PassUrl => list_of(routed),
            Reason::PassParameter => "query.known",
            Reason::PassTagValue => "tags",
            Reason::PageTextMissing => "page-text",
            Reason::PersonalPage => "private-text",
            Reason::LeakGuard | Reason::LeakGuardToken | Reason::LeakGuardUnconfirmed | Reason::LeakGuardPending => {
                "guard"
            }
            Reason::PassRule => {
                self.rule.clone_from(&route.places.rule);
                return;
            }
            _ => return,
        };
        self.rule = settings.get(by).cloned();
    }

    /// Notes that the request passes for a cookie that the stored page deletes.
    pub(crate) fn brings_deleted(&mut self, cookie: &[u8]) {
        self.cookie = Some(cookie.into());
        self.rule = None;
    }

    /// Notes that `by` refuses the URL.
    pub(crate) fn refused(&mut self, by: &ActiveRoute) {
        self.rule = by.places.settings.get("refuse-urls").cloned();
    }

    /// Notes the cookie that a response sets and that is not dropped.
    pub(crate) fn sets(&mut self, route: &ActiveRoute, response: &Fields) {
        let dropped = &route.policy.grant.dropped_cookies;
        let others = || set_cookies::names(response).filter(|name| !cookies::is_any(dropped, name));
        let is_deleted = |name: &[u8]| {
            let mut lines = response.all("set-cookie").filter(|line| set_cookies::pair(line).0 == name).peekable();
            lines.peek().is_some() && lines.all(|line| deletes(line, response))
        };
        self.cookie = others().find(|name| !is_deleted(name)).or_else(|| others().next()).map(Into::into);
    }

    /// Notes that the response is stored.
    pub(crate) fn kept(&mut self, dropped: DroppedCookies) {
        self.dropped = dropped.names;
        self.rule = dropped.rule;
    }

    /// Notes what became of the session that the request carries.
    pub(crate) fn session(&mut self, what: &'static str) {
        self.session = Some(what);
    }

    /// Appends the notes as parameters (RFC 9651 section 3.1.2).
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let texts = [
            ("cookie", self.cookie.as_deref()),
            ("field", self.field.as_deref()),
            ("dropped", self.dropped.as_deref()),
        ];
        for (key, value) in texts.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            write_string(key, value, out);
        }
        if let Some(session) = self.session {
            out.extend_from_slice(b"; session=");
            out.extend_from_slice(session.as_bytes());
        }
        if let Some(rule) = &self.rule {
            write_string("rule", rule.as_bytes(), out);
        }
    }
}

/// The setting whose list of URLs makes this URL pass.
pub(crate) fn list_of(routed: &Routed) -> &'static str {
    let route = &*routed.route;
    let is_in = |urls: &[UrlPattern]| routed.is_any(|| urls.iter());
    match () {
        () if is_in(&route.pass_urls) => "pass-urls",
        () if is_in(&route.session.logout) => "session.logout",
        () if routed.is_any(|| route.fresh_links.iter().map(|one| &one.url)) => "fresh-links",
        () if is_in(&route.session.harmless_urls) => "session.harmless-urls",
        () if is_in(&route.device_urls.mobile) || is_in(&route.device_urls.desktop) => "device-urls",
        () => "changes",
    }
}

/// The longest text of a parameter, in bytes.
const TEXT_BYTES_MAX: usize = 200;

/// Writes a parameter with a String (RFC 9651 section 3.3.3); `?` stands for each character that a String can't have.
fn write_string(key: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"; ");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"=\"");
    for byte in value.iter().take(TEXT_BYTES_MAX) {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0x20..=0x7e => out.push(*byte),
            _ => out.push(b'?'),
        }
    }
    out.push(b'"');
}
