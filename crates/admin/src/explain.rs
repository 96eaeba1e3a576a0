//! `POST /explain`: what would happen to a request, and why. The query describes the request:
//!
//! | parameter | what |
//! |---|---|
//! | `url` | its URL |
//! | `method` | its method; without this, GET |
//! | `field` | a field line, such as `Cookie: a=b`; may come several times |
//! | `live` | asks the origin as well |
//!
//! It needs the token as a purge does, since it shows what visitors ask for. Each explanation is made on a thread of its own, which
//! may wait for an origin; the number of these threads is bounded.

use crate::AdminHandle;
use kasoku_engine::Difference;
use kasoku_engine::explain::{
    Because, ConfigName, Explanation, GuardState, Guarded, OriginSample, Point, Question, QuestionError, Reason,
    SharedLookup, SharedWithSessions, Side, Stored, SuggestedChange, Suggestion, Tips,
};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

/// The most explanations that are made at the same time.
pub(crate) const QUESTIONS_MAX: usize = 4;

/// Parses a query. The error says what is wrong with it.
pub(crate) fn question(query: &str) -> Result<Question, String> {
    let mut question = Question::get("");
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "url" => question.url = value.into_owned(),
            "method" => question.method = value.into_owned(),
            "field" => question.fields.push(value.into_owned()),
            "live" => (question.is_live, question.is_tried) = (true, true),
            other => return Err(format!("unknown parameter {other}")),
        }
    }
    if question.url.is_empty() { Err("url is needed".to_owned()) } else { Ok(question) }
}

/// Why there is no explanation.
pub(crate) enum Refused {
    /// The question is not valid.
    Question(QuestionError),
    /// Too many other explanations are being made.
    Busy,
}

/// The explanation of a request, as JSON.
pub(crate) async fn explain(handle: &AdminHandle, question: Question) -> Result<String, Refused> {
    let Ok(place) = handle.questions.clone().try_acquire_owned() else { return Err(Refused::Busy) };
    let engine = handle.engine.clone();
    let explained = tokio::task::spawn_blocking(move || {
        let explained = engine.explain(&question);
        drop(place);
        explained
    });
    match explained.await {
        Ok(Ok(explanation)) => Ok(format!("{:#}\n", json_of(&explanation))),
        Ok(Err(error)) => Err(Refused::Question(error)),
        Err(_) => Err(Refused::Busy),
    }
}

fn json_of(it: &Explanation) -> Value {
    let reason = it.outcome.reason();
    json!({
        "method": it.method,
        "url": it.url,
        "key": it.key,
        "stands_for": it.stands_for,
        "tags": it.tags,
        "changes": it.changes,
        "site": named(&it.site),
        "rule": it.rule.as_ref().map(named),
        "profile": named(&it.profile),
        "guard": it.guarded.as_ref().map(guarded),
        "stored": stored(&it.stored),
        "shared": it.shared.as_ref().map(shared),
        "outcome": it.outcome.kind(),
        "reason": told(reason),
        "cache_status": it.cache_status(),
        "answer": it.answer.as_ref().map(answer),
        "points": it.points.iter().map(point).collect::<Vec<_>>(),
        "advice": advice(&it.tips),
        "shared_with_sessions": it.shared_with_sessions.as_ref().map(shared_with_sessions),
    })
}

fn named(it: &ConfigName) -> Value {
    json!({ "name": it.name, "place": it.place })
}

pub(crate) fn told(reason: Reason) -> Value {
    json!({ "id": reason.id(), "text": reason.text(), "source": reason.source() })
}

fn stored(it: &Stored) -> Value {
    let entry = it.entry.as_ref().map(|entry| {
        let codings: Map<String, Value> =
            entry.codings.iter().map(|(name, bytes)| ((*name).to_owned(), Value::from(*bytes))).collect();
        json!({
            "status": entry.status,
            "body_bytes": entry.body_bytes,
            "codings": codings,
            "age": entry.age,
            "lifetime": entry.lifetime,
            "tier": entry.tier,
        })
    });
    let refusal = it.last_refusal.map(|(refusal, seconds_ago)| {
        json!({
            "reason": told(refusal.reason),
            "status": refusal.status,
            "seconds_ago": seconds_ago,
            "has_credentials": refusal.has_credentials,
        })
    });
    json!({
        "tier": "memory",
        "variants": it.variants,
        "varies_by": it.varies_by,
        "entry": entry,
        "is_being_filled": it.is_being_filled,
        "is_hit_for_miss": it.is_hit_for_miss,
        "last_refusal": refusal,
    })
}

/// What the shared tier has. `refusal` says why that can't answer.
fn shared(it: &SharedLookup) -> Value {
    let because = |because: Because| json!({ "text": because.text(), "source": because.source() });
    json!({ "name": it.place.name, "server": it.place.server, "refusal": it.refusal.map(because) })
}

/// What the leak guard knows of a URL pattern.
pub(crate) fn guarded(it: &Guarded) -> Value {
    let (pattern, state) = (&it.pattern, it.state.word());
    match &it.state {
        GuardState::Pending => json!({ "pattern": pattern, "state": state }),
        GuardState::Verified { seconds_ago, account_is_logged_out, token } => json!({
            "pattern": pattern,
            "state": state,
            "seconds_ago": seconds_ago,
            "account_is_logged_out": account_is_logged_out,
            "token": token.as_ref().map(difference),
        }),
        GuardState::Blocked { seconds_ago, again_in_seconds, report, .. } => json!({
            "pattern": pattern,
            "state": state,
            "seconds_ago": seconds_ago,
            "again_in_seconds": again_in_seconds,
            "is_of_account": report.is_of_account,
            "differences": report.differences.iter().map(difference).collect::<Vec<_>>(),
        }),
    }
}

/// Where two pages differ.
pub(crate) fn difference(it: &Difference) -> Value {
    json!({ "place": it.place.word(), "anonymous": it.anonymous, "visitors": it.visitors })
}

fn answer(it: &Result<OriginSample, Reason>) -> Value {
    match it {
        Ok(answer) => json!({
            "status": answer.status,
            "lifetime": answer.lifetime,
            "stated_age": answer.stated_age,
            "would_be_stored": answer.refusal.is_none(),
            "reason": answer.refusal.map(told),
        }),
        Err(reason) => json!({ "status": null, "reason": told(*reason) }),
    }
}

fn point(it: &Point) -> Value {
    let side = match it.side {
        Side::For => "for",
        Side::Against => "against",
        Side::Neither => "neither",
    };
    json!({ "part": it.part, "line": it.line, "side": side, "text": it.text, "source": it.source, "reason": it.reason })
}

fn advice(it: &Tips) -> Value {
    match it {
        Tips::Needless => json!({ "kind": "needless" }),
        Tips::Changes(all) => json!({ "kind": "changes", "changes": changes(all), "instead": [] }),
        Tips::Either(all, instead) => {
            json!({ "kind": "changes", "changes": changes(all), "instead": changes(instead) })
        }
        Tips::Nothing(why) => json!({ "kind": "nothing", "why": why }),
        Tips::AskLive => json!({ "kind": "ask-live" }),
    }
}

fn shared_with_sessions(it: &SharedWithSessions) -> Value {
    json!({ "cookie": it.cookie, "line": it.line, "changes": changes(&it.changes) })
}

pub(crate) fn changes(all: &[Suggestion]) -> Vec<Value> {
    all.iter().map(change).collect()
}

fn change(it: &Suggestion) -> Value {
    let (change, name, value) = match &it.change {
        SuggestedChange::Send(name, value) => ("send", name.as_str(), Some(value)),
        SuggestedChange::Omit(name) => ("omit", name.as_str(), None),
        SuggestedChange::Set(key, value) => ("set", *key, Some(value)),
    };
    json!({ "change": change, "name": name, "value": value, "text": it.text, "dangers": it.dangers })
}
