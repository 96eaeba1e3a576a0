//! Proposes what would help, as far as the known messages tell. The rules are in
//! [`kasoku_semantics::advice`](mod@kasoku_semantics::advice); this file decides to which messages they apply.

use crate::operator::explain::shown::printable;
use crate::operator::explain::steps::Explaining;
use crate::request::route::route_url;
use crate::sites::ActiveRoute;
use http::Method;
use kasoku_cache::inspect::LookupOutcome;
use kasoku_semantics::advice::{
    Advice, CookieMeaning, HAS_FORGERY_TOKEN, advice, advice_on_variants, advice_without_messages,
};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::grant::GrantRefusal;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request_fields;
use kasoku_semantics::set_cookies::pair;
use kasoku_semantics::suggestion::{SuggestedChange, Suggestion, listed};
use kasoku_visitors::cookie_setters::{self, CookieSetters};
use kasoku_visitors::passing;
use kasoku_wire::RequestHead;

/// What would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tips {
    /// Nothing has to change.
    Needless,
    /// All of these together make the next such request a hit.
    Changes(Vec<Suggestion>),
    /// All of the first changes together; or, if the application stays as it is, all of the second.
    Either(Vec<Suggestion>, Vec<Suggestion>),
    /// There is no safe change, for this reason.
    Nothing(&'static str),
    /// That depends on the origin's answer: a live question tells.
    AskLive,
}

/// Parameters that other sites add to links, and that change no page: `utm_*` and those of large sites. Each as a prefix and as a
/// glob.
const TRACKING: [(&str, &str); 6] = [
    ("utm_", "utm_*"),
    ("fbclid", "fbclid"),
    ("gclid", "gclid"),
    ("msclkid", "msclkid"),
    ("mc_cid", "mc_cid"),
    ("mc_eid", "mc_eid"),
];

/// Why sharing is not proposed for a page whose answers differ in places where tokens are.
const HAS_TOKEN: &str = "two answers differ in a form, a meta or a script, as with a token: a form sent from a shared page would be refused, so the page has to pass; if the difference is a value in a script that is no token, list it in `guard-noise`";

/// Why no setting is proposed that shares a page with a form. The application may know better, and say so.
const HAS_FORM: &str = "the page has a form that is sent by POST, and applications often check such a form against the visitor who got the page: it has to pass (`pass-urls`), unless the application itself says that the page may be shared";

/// Why no setting is proposed that shares a page at such a URL.
pub(crate) const IS_LOGIN: &str = "by its URL, this is a page for logging in, which must not be shared";

/// Why a field is not proposed for the key.
const IS_CREDENTIAL: &str =
    "by its name, the field identifies a visitor or a program, and only the application can check that";

const BY_FIELD: &str = "if the field only chooses among a few answers that are the same for all visitors: then each value has an answer of its own";

/// Why lines are not proposed that were tried.
pub(super) const DIFFERS: &str = "a trial showed that the page differs by visitor: `kasoku doctor` shows the differences, and docs/guard.md says what to do";

/// Why lines are not proposed that could not be tried.
pub(super) const UNTRIED: &str =
    "the lines could not be tried, because the application did not answer the requests of the trial in time: ask again";

/// Keeps only the changes that the application would have to make. Where there are none, the result is `Nothing` for that reason.
pub(super) fn without_ours(tips: Tips, why: &'static str) -> Tips {
    match tips {
        Tips::Changes(all) | Tips::Either(all, _) if !is_ours(&all) => Tips::Changes(all),
        Tips::Changes(_) | Tips::Either(..) => Tips::Nothing(why),
        other => other,
    }
}

/// Keeps only the changes that the application would have to make. Where there are none, a live question has to try the lines of
/// the configuration; it also looks for forms and tokens in the page.
fn untried(tips: Tips) -> Tips {
    match tips {
        Tips::Changes(all) | Tips::Either(all, _) if !is_ours(&all) => Tips::Changes(all),
        Tips::Changes(_) | Tips::Either(..) => Tips::AskLive,
        other => other,
    }
}

/// The lines of the configuration that would help, alone or instead of the application's changes.
pub(super) fn ours(tips: &Tips) -> Option<&Vec<Suggestion>> {
    match tips {
        Tips::Changes(all) | Tips::Either(_, all) if is_ours(all) => Some(all),
        _ => None,
    }
}

fn is_ours(all: &[Suggestion]) -> bool {
    all.iter().all(|one| matches!(one.change, SuggestedChange::Set(..)))
}

/// The line that lists a cookie as noise, if it may be noise.
pub(crate) fn noise(name: &str, route: &ActiveRoute, cookie_setters: &CookieSetters) -> Option<Suggestion> {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !is_plain || cookie_setters.meaning(name) != CookieMeaning::Noise {
        return None;
    }
    let before = match route.places.settings.contains_key("cookies.noise") {
        true => route.cookies.noise.iter().map(|one| format!("\"{one}\", ")).collect(),
        false => "\"default\", ".to_owned(),
    };
    let change = SuggestedChange::Set("cookies.noise", format!("[{before}\"{name}\"]"));
    Some(Suggestion::of(
        change,
        "if the cookie changes no page: Kasoku has seen the application set it only for visitors whom the application does not know",
    ))
}

impl From<Advice> for Tips {
    fn from(advice: Advice) -> Self {
        match advice {
            Advice::Needless => Self::Needless,
            Advice::Changes(all) => Self::Changes(all),
            Advice::Either(all, instead) => Self::Either(all, instead),
            Advice::Nothing(why) => Self::Nothing(why),
        }
    }
}

impl Explaining<'_> {
    pub(super) fn tips(&self) -> Tips {
        let (outcome, policy) = (self.inspection.outcome, self.shared.policy().as_ref());
        let is_hit = matches!(outcome, LookupOutcome::Hit(_));
        if is_hit && self.live_answer().is_none() {
            return Tips::Needless;
        }
        // The request has to be a GET in any case.
        let reason = match self.outgoing.method {
            Method::HEAD if !is_hit => Reason::HeadOnly,
            _ => outcome.reason(),
        };
        let asked = &self.asked;
        if reason == Reason::PassCookie
            && passing::listed(&asked.request.head.fields, asked.routed.route.visitor_rules()).is_some()
        {
            return Tips::Nothing("the configuration says that requests with this cookie pass");
        }
        if reason == Reason::PassCookie
            && let Some(tip) = self.of_noise()
        {
            return Tips::Changes(vec![tip]);
        }
        if reason == Reason::PassField {
            return self.of_fields();
        }
        match advice_without_messages(reason) {
            Advice::Needless => {}
            advice => return advice.into(),
        }
        if !is_hit && let Some(tip) = self.of_tracking() {
            return Tips::Changes(vec![tip]);
        }
        if let Some(answered) = self.live_answer() {
            if let Some(first) = answered.objections.first().map(|first| advice_without_messages(*first))
                && first != Advice::Needless
            {
                return first.into();
            }
            if !answered.objections.is_empty() && answered.live.names_forgery_token() {
                return Tips::Nothing(HAS_FORGERY_TOKEN);
            }
            if answered.live.has_token {
                return Tips::Nothing(HAS_TOKEN);
            }
            let live = &answered.live;
            let is_for_anonymous =
                cookie_setters::is_for_anonymous(&live.request, &live.head, &asked.routed.route.policy);
            let set = |name: &str| {
                live.head
                    .fields
                    .all("set-cookie")
                    .map(pair)
                    .find(|(one, _)| *one == name.as_bytes())
                    .map(|(_, value)| value)
            };
            let meaning = |name: &str| match self.cookie_setters.meaning_as_set_anonymously(name, set(name)) {
                CookieMeaning::Noise if !is_for_anonymous => CookieMeaning::Unknown,
                known => known,
            };
            let tips = advice(&live.request, &live.head, &answered.freshness, policy, &meaning).into();
            return match () {
                () if live.has_form() => without_ours(tips, HAS_FORM),
                () if cookie_setters::is_login(&asked.target) => without_ours(tips, IS_LOGIN),
                () => tips,
            };
        }
        if let Some(entry) = self.inspection.entry.as_ref() {
            let freshness = &entry.meta.freshness;
            let was_of_use = freshness.lifetime > freshness.initial_age && !freshness.no_cache;
            if was_of_use || matches!(outcome.reason(), Reason::Purged | Reason::Invalidated | Reason::RulesChanged) {
                return Tips::Needless;
            }
            let meaning = |name: &str| self.cookie_setters.meaning(name);
            return untried(advice(self.outgoing, &entry.meta.head, freshness, policy, &meaning).into());
        }
        if let Some(other) = &self.inspection.other {
            match advice_on_variants(&other.meta.head, policy) {
                Advice::Needless => {}
                advice => return advice.into(),
            }
        }
        match self.inspection.last_refusal.map(|refusal| advice_without_messages(refusal.reason)) {
            Some(advice) if advice != Advice::Needless => advice.into(),
            _ if self.answered.is_some() => Tips::Nothing("the application has to answer first"),
            _ => Tips::AskLive,
        }
    }

    /// The line for a cookie that makes the request pass, where the application was seen to set it in anonymous answers alone.
    fn of_noise(&self) -> Option<Suggestion> {
        let (request, route) = (&self.asked.request.head.fields, &self.asked.routed.route);
        let Some(GrantRefusal::Cookie(name)) =
            passing::refusal(request, route.visitor_rules(), self.identity.is_anonymous)
        else {
            return None;
        };
        noise(std::str::from_utf8(name).ok()?, route, self.cookie_setters)
    }

    /// The line that takes the fields into the key by which the request passes. A credential never belongs there.
    fn of_fields(&self) -> Tips {
        let grant = &self.asked.routed.route.policy.grant;
        let mut fields = grant.key_fields.clone();
        for name in request_fields::passing(&self.asked.request.head.fields, grant) {
            if request_fields::names_credential(name) {
                return Tips::Nothing(IS_CREDENTIAL);
            }
            let name = printable(&String::from_utf8_lossy(name).to_ascii_lowercase());
            if !fields.contains(&name) {
                fields.push(name);
            }
        }
        let change = SuggestedChange::Set("key-fields", listed(&fields));
        Tips::Changes(vec![Suggestion::of(change, BY_FIELD)])
    }

    /// The line that ignores tracking parameters, where the URL is stored without them and not with them.
    fn of_tracking(&self) -> Option<Suggestion> {
        let (path, query) = self.asked.target.split_once('?')?;
        let is_tracking = |pair: &&str| TRACKING.iter().any(|(name, _)| pair.starts_with(name));
        let kept: Vec<&str> = query.split('&').filter(|pair| !is_tracking(pair)).collect();
        let globs = TRACKING.iter().filter(|(name, _)| query.split('&').any(|pair| pair.starts_with(name)));
        let mut globs: Vec<&str> = globs.map(|(_, glob)| *glob).collect();
        if globs.is_empty() {
            return None;
        }
        // Parameters that are ignored already stay ignored.
        globs.splice(0..0, self.asked.routed.route.query.ignore.iter().map(String::as_str));
        let globs: Vec<String> = globs.iter().map(|glob| format!("\"{glob}\"")).collect();
        let target = if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) };
        let (scheme, authority) = (self.asked.routed.scheme, self.asked.routed.authority());
        let url = format!("{scheme}://{authority}{target}");
        let head = RequestHead { target: url, ..self.asked.request.head.clone() };
        let plain = route_url(self.sites, self.cache, &head).ok()?;
        let shared = plain.shared(&head, &Peer::UNKNOWN);
        let is_hit = matches!(self.cache.inspect(&shared, self.now).outcome, LookupOutcome::Hit(_));
        is_hit.then(|| {
            let change = SuggestedChange::Set("query.ignore", format!("[{}]", globs.join(", ")));
            Suggestion::of(change, "the same page without these tracking parameters is stored already")
        })
    }
}
