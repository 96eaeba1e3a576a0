//! Warns where a visitor with a session gets a shared page because the application itself says that it may be shared.
//!
//! That is right for pages that are the same with every session, and a leak for all others: `public` on a page that greets its
//! visitor by name. Only the application knows which case it is. So the explanation shows the line by which the application
//! shares the page, and how the application or the configuration could take that back. A session is recognised by its cookie: by
//! a name that `cookies.session` lists, or by a name as frameworks use it. There is deliberately no warning where the cookie is
//! in the key or in `Vary`, since each value has a page of its own then, nor where the cookie is not sent on.

use crate::operator::explain::shown;
use crate::operator::explain::steps::Explaining;
use kasoku_cache::inspect::LookupOutcome;
use kasoku_semantics::directives::control_field;
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::suggestion::{SuggestedChange, Suggestion};
use kasoku_semantics::vary::{Vary, vary};
use kasoku_semantics::{LifetimeSource, accel_expires, cookies, set_cookies};
use kasoku_wire::ResponseHead;

const BY_CONFIGURATION: &str = "requests with this cookie pass then, whatever the application says";
const BY_APPLICATION: &str = "with each page that depends on its visitor";

/// A shared page that visitors with a session get as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedWithSessions {
    /// The name of the session's cookie in the request.
    pub cookie: String,
    /// The line by which the application shares the page.
    pub line: String,
    /// The changes of which one helps if that is wrong.
    pub changes: Vec<Suggestion>,
}

impl Explaining<'_> {
    pub(super) fn shared_with_sessions(&self) -> Option<SharedWithSessions> {
        let cookie = self.session_sent()?;
        let (field, line) = self.line_that_shares()?;
        let mut changes = Vec::new();
        // Other names need care: characters of a pattern, and characters to be quoted.
        if cookie.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            let listed = self.asked.routed.route.session.cookies.iter().chain([&cookie]);
            let names: Vec<String> = listed.map(|name| format!("\"{name}\"")).collect();
            let change = SuggestedChange::Set("cookies.session", format!("[{}]", names.join(", ")));
            changes.push(Suggestion::of(change, BY_CONFIGURATION));
        }
        // In the field that counts, which would overrule any other.
        let change = match field.as_str() {
            accel_expires::NAME => SuggestedChange::Send(field, "0".to_owned()),
            "Expires" => SuggestedChange::Send("Cache-Control".to_owned(), "private".to_owned()),
            _ => SuggestedChange::Send(field, "private".to_owned()),
        };
        changes.push(Suggestion::of(change, BY_APPLICATION));
        Some(SharedWithSessions { cookie: shown::printable(&cookie), line, changes })
    }

    /// The first session cookie that the application would be sent.
    fn session_sent(&self) -> Option<String> {
        let route = &self.asked.routed.route;
        let is_told_apart = |name: &[u8]| {
            cookies::is_any(&route.cookies.noise, name) || cookies::is_any(&route.policy.grant.key_cookies, name)
        };
        let names_a_session = |name: &str| {
            let is_listed = cookies::is_any(&route.session.cookies, name.as_bytes());
            is_listed || set_cookies::names_a_session(name) && !set_cookies::names_forgery_token(name)
        };
        let names = cookies::pairs(&self.outgoing.fields).map(cookies::name).filter(|name| !is_told_apart(name));
        names.map(String::from_utf8_lossy).find(|name| names_a_session(name)).map(|name| name.into_owned())
    }

    /// The field by which the application shares what this request gets or would get, and its line.
    fn line_that_shares(&self) -> Option<(String, String)> {
        let outcome = self.inspection.outcome;
        let answer = self.live_answer().filter(|answered| answered.objections.is_empty());
        let answer = answer.filter(|_| !matches!(outcome, LookupOutcome::Pass(_) | LookupOutcome::Refused(_)));
        if let Some(found) = answer.and_then(|answered| self.line_of(&answered.live.head, &answered.freshness)) {
            return Some(found);
        }
        let entry = self.inspection.entry.as_ref().filter(|_| matches!(outcome, LookupOutcome::Hit(_)))?;
        self.line_of(&entry.meta.origin_head(self.shared.policy()), &entry.meta.freshness)
    }

    fn line_of(&self, said: &ResponseHead, freshness: &Freshness) -> Option<(String, String)> {
        let is_told_apart = match vary(&said.fields) {
            Vary::Fields(names) => names.iter().any(|name| name == "cookie"),
            Vary::Star => true,
            Vary::None => false,
        };
        if is_told_apart || freshness.lifetime == 0 {
            return None;
        }
        let field = match freshness.source {
            LifetimeSource::Targeted | LifetimeSource::SMaxage | LifetimeSource::MaxAge => {
                control_field(said, self.shared.policy())
            }
            LifetimeSource::AccelExpires => accel_expires::NAME,
            LifetimeSource::Expires => "Expires",
            // Only the configuration has shared it.
            _ => return None,
        };
        let value = said.fields.all(field).next()?;
        Some((field.to_owned(), shown::field(field.as_bytes(), value)))
    }
}
