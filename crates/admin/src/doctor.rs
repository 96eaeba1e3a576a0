//! `POST /doctor`: what keeps requests from being served from memory, and what would help. `site` in the query names a host; without
//! it, the diagnosis is of all sites.
//!
//! It needs the token as an explanation does. One diagnosis is made at a time, since each asks the application about several
//! examples.

use crate::AdminHandle;
use crate::explain::{changes, difference, guarded, told};
use kasoku_engine::doctor::{BlockedPattern, Diagnosis, Finding, FindingVerdict};
use serde_json::{Value, json};
use url::form_urlencoded;

/// The host that a query names, if any. The error says what is wrong with the query.
pub(crate) fn host(query: &str) -> Result<Option<String>, String> {
    let mut host = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "site" => host = Some(value.into_owned()),
            other => return Err(format!("unknown parameter {other}")),
        }
    }
    Ok(host)
}

/// The diagnosis as JSON; `None`: another one is being made.
pub(crate) async fn diagnose(handle: &AdminHandle, host: Option<String>) -> Option<String> {
    let place = handle.diagnoses.clone().try_acquire_owned().ok()?;
    let engine = handle.engine.clone();
    let diagnosed = tokio::task::spawn_blocking(move || {
        let diagnosis = engine.diagnose(host.as_deref());
        drop(place);
        diagnosis
    });
    Some(format!("{:#}\n", json_of(&diagnosed.await.ok()?)))
}

fn json_of(it: &Diagnosis) -> Value {
    json!({
        "seconds": it.seconds,
        "blocked": it.blocked.iter().map(blocked).collect::<Vec<_>>(),
        "findings": it.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn blocked(it: &BlockedPattern) -> Value {
    json!({ "guard": guarded(&it.guarded), "requests": it.requests, "origin_seconds": it.origin_seconds })
}

fn finding(it: &Finding) -> Value {
    json!({
        "site": it.site,
        "pattern": it.pattern,
        "reason": told(it.reason),
        "requests": it.requests,
        "urls": it.urls,
        "origin_seconds": it.origin_seconds,
        "example": it.example,
        "verdict": verdict(&it.verdict),
    })
}

fn verdict(it: &FindingVerdict) -> Value {
    match it {
        FindingVerdict::Proposal(proposal) => json!({
            "kind": "proposal",
            "toml": proposal.toml(),
            "path": proposal.path,
            "place": proposal.place,
            "order": proposal.order,
            "changes": changes(&proposal.changes),
            "saved_requests_per_hour": proposal.saved_requests,
            "saved_origin_seconds_per_hour": proposal.saved_seconds,
        }),
        FindingVerdict::Differs(all, differences) => json!({
            "kind": "differs",
            "changes": changes(all),
            "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        }),
        FindingVerdict::Refused(all, reason) => {
            json!({ "kind": "refused", "changes": changes(all), "reason": told(*reason) })
        }
        FindingVerdict::Nothing(why) => json!({ "kind": "nothing", "why": why }),
        FindingVerdict::Untried => json!({ "kind": "untried" }),
    }
}
