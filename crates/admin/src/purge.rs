//! `POST /purge`: the query says what is purged, so that curl can send it as well.
//!
//! | parameter | what |
//! |---|---|
//! | `url` | one URL, in all variants |
//! | `prefix` | all URLs that begin like this one |
//! | `site` | all of a host |
//! | `tag` | all that has this tag; may come several times |
//! | `in` | with `tag`: only in the site that serves this host |
//! | `all` | everything |
//! | `soft` | makes it stale instead of dropping it |
//!
//! With a shared tier or peers, the answer says how many of them have got the purge, and the addresses of the others.

use kasoku_cache::Purge;
use kasoku_engine::EngineHandle;
use kasoku_engine::purge::{PurgeError, PurgeTarget, Purged};
use url::form_urlencoded;

/// Carries out a purge. Returns the answer as JSON.
pub(crate) async fn purge(engine: &EngineHandle, target: &PurgeTarget, purge: Purge) -> Result<String, PurgeError> {
    let purged = engine.purge_durably(target, purge).await?;
    Ok(json(target, purge, &purged))
}

/// What a query asks for; the error says what is wrong with it.
pub(crate) fn wanted(query: &str) -> Result<(PurgeTarget, Purge), String> {
    let (mut target, mut purge) = (None, Purge::Hard);
    let (mut tags, mut host) = (Vec::new(), None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let named = match &*name {
            "url" => PurgeTarget::Url(value.into_owned()),
            "prefix" => PurgeTarget::Prefix(value.into_owned()),
            "site" => PurgeTarget::Site(value.into_owned()),
            "all" => PurgeTarget::All,
            "tag" => {
                tags.push(value.into_owned());
                continue;
            }
            "in" => {
                host = Some(value.into_owned());
                continue;
            }
            "soft" => {
                purge = Purge::Soft;
                continue;
            }
            other => return Err(format!("unknown parameter {other}")),
        };
        if target.replace(named).is_some() {
            return Err("give only one of url, prefix, site, tag and all".to_owned());
        }
    }
    match (target, tags.is_empty(), host) {
        (None, false, host) => Ok((PurgeTarget::Tags(tags, host), purge)),
        (Some(target), true, None) => Ok((target, purge)),
        (None, true, _) => Err("one of url, prefix, site, tag and all is needed".to_owned()),
        (Some(_), true, Some(_)) => Err("`in` is allowed only with tag".to_owned()),
        (Some(_), false, _) => Err("give only one of url, prefix, site, tag and all".to_owned()),
    }
}

fn json(target: &PurgeTarget, purge: Purge, purged: &Purged) -> String {
    let (kind, value) = match target {
        PurgeTarget::Url(url) => ("url", url.as_str()),
        PurgeTarget::Prefix(prefix) => ("prefix", prefix.as_str()),
        PurgeTarget::Site(host) => ("site", host.as_str()),
        PurgeTarget::Tags(tags, _) => ("tag", &*tags.join(" ")),
        PurgeTarget::All => ("all", ""),
    };
    let mut answer = serde_json::json!({
        "purged": kind,
        "target": value,
        "soft": purge == Purge::Soft,
        "was_stored": purged.was_stored,
    });
    if let (Some(reach), Some(fields)) = (&purged.reach, answer.as_object_mut()) {
        let others = if reach.are_peers { "peers" } else { "servers" };
        let said = serde_json::json!({ "told": reach.reached(), "of": reach.all, "missing": reach.missing });
        fields.insert(others.to_owned(), said);
    }
    format!("{answer}\n")
}
