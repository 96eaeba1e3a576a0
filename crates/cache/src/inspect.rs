//! What a request would get, and why: the same decision as [`Cache::look_up`], of which nothing follows.
//!
//! No fill begins, nothing is dropped, replaced or counted as used. Between an answer of this and the request itself the
//! cache may change: it is for people. What the origin would say is not known here; what it did say is judged by
//! [`Cache::would_store`], by the rules that hold for a fill.

use crate::lookup::{Ask, Judged, without_fill};
use crate::refusals::Refusal;
use crate::verdict::{Exchange, meta};
use crate::{Cache, Entry};
use kasoku_semantics::credentials::has_credentials;
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::policy::Profile;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::{RequestDirectives, may_look_up, request_directives};
use kasoku_semantics::reuse::Reuse;
use kasoku_semantics::storable::objections;
use std::sync::Arc;

/// What would happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The stored response answers.
    Hit(Reason),
    /// The origin is asked, and its answer may be stored.
    Ask(Reason),
    /// The origin is asked for this client alone.
    Pass(Reason),
    /// The client gets an error, since it wants a stored response or none.
    Unavailable(Reason),
}

impl Outcome {
    /// Why.
    pub fn reason(self) -> Reason {
        match self {
            Self::Hit(reason) | Self::Ask(reason) | Self::Pass(reason) | Self::Unavailable(reason) => reason,
        }
    }
}

/// What is known of a key, and what a request for it would get.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What would happen.
    pub outcome: Outcome,
    /// The stored response that the request selects, usable or not.
    pub entry: Option<Arc<Entry>>,
    /// The newest stored response that it does not select, where it selects none.
    pub other: Option<Arc<Entry>>,
    /// How many variants are stored.
    pub variants: usize,
    /// The request fields by which they are told apart, lower case.
    pub nominated: Vec<String>,
    /// Whether somebody is fetching something for this key at the moment.
    pub is_being_filled: bool,
    /// Whether requests for this key do not wait for each other, since the last answer could not be shared.
    pub is_known_private: bool,
    /// What was last decided about it, while nothing is stored.
    pub last_refusal: Option<Refusal>,
}

impl Cache {
    /// What a request would get now.
    pub fn inspect(&self, ask: &Ask<'_>) -> Inspection {
        let hash = ask.key.hash();
        let stored = self.0.memory.value(hash, ask.key.bytes());
        let directives = request_directives(&ask.request.fields);
        let (outcome, entry) = match self.judge(ask, &directives, stored.as_deref()) {
            Judged::Nothing => (miss(ask, &directives, Reason::UriMiss), None),
            Judged::OtherVariants(_) => (miss(ask, &directives, Reason::VaryMiss), None),
            Judged::Gone(entry, reason) => (miss(ask, &directives, reason), Some(entry.clone())),
            Judged::Kept { entry, reuse, .. } => {
                (self.of_kept(ask, &directives, &entry, reuse), Some(entry.into_owned()))
            }
        };
        let other = stored.as_ref().filter(|_| entry.is_none()).and_then(|resource| resource.newest()).cloned();
        let mut nominated: Vec<String> = stored.iter().flat_map(|it| it.nominated()).map(str::to_owned).collect();
        nominated.sort_unstable();
        nominated.dedup();
        let has_credentials = has_credentials(&ask.request.fields);
        let is_visitor = has_credentials && ask.policy.profile == Profile::Safe;
        Inspection {
            outcome: may_look_up(ask.request).err().map_or(outcome, Outcome::Pass),
            entry,
            other,
            variants: stored.as_ref().map_or(0, |resource| resource.len()),
            nominated,
            is_being_filled: self.0.fills.is_running(hash, ask.key.bytes()),
            is_known_private: self.0.known_private.contains(hash, is_visitor, ask.now),
            last_refusal: self.0.refusals.last(hash, has_credentials),
        }
    }

    fn of_kept(&self, ask: &Ask<'_>, directives: &RequestDirectives, entry: &Entry, reuse: Reuse) -> Outcome {
        let reason = match reuse {
            Reuse::Fresh => Reason::Hit,
            Reuse::Stale(reason) => reason,
            Reuse::StaleWhileRevalidate => Reason::HitStaleWhileRevalidate,
            Reuse::Validate(reason) if entry.body.is_complete() => return asking(ask, directives, reason),
            Reuse::Validate(reason) => return miss(ask, directives, reason),
        };
        if self.covers(ask.request, entry) {
            return Outcome::Hit(reason);
        }
        match (reuse, entry.body.complete_length()) {
            (Reuse::StaleWhileRevalidate, _) => miss(ask, directives, Reason::Stale),
            (_, None) => miss(ask, directives, Reason::PartialMiss),
            (_, Some(length)) if length > self.0.limits.object_bytes_max => miss(ask, directives, Reason::PartialMiss),
            (_, Some(_)) => asking(ask, directives, Reason::PartialMiss),
        }
    }

    /// Whether an answer of the origin would be stored now: how long it is fresh, and all that keeps it from being stored,
    /// what decides first.
    pub fn would_store(&self, ask: &Ask<'_>, exchange: &Exchange<'_>) -> (Freshness, Vec<Reason>) {
        let meta = meta(exchange, ask.policy, self.0.generations.epoch());
        let mut reasons = objections(exchange.request, exchange.response, &meta.freshness, ask.policy);
        reasons.extend(self.has_place_for(&meta, exchange.body_length).err());
        (meta.freshness, reasons)
    }
}

/// Nothing is stored that could be used or validated.
fn miss(ask: &Ask<'_>, directives: &RequestDirectives, reason: Reason) -> Outcome {
    let fields = &ask.request.fields;
    match asking(ask, directives, reason) {
        Outcome::Ask(_) if fields.contains("range") && fields.contains("if-range") => {
            Outcome::Pass(Reason::IfRangeMiss)
        }
        outcome => outcome,
    }
}

fn asking(ask: &Ask<'_>, directives: &RequestDirectives, reason: Reason) -> Outcome {
    match without_fill(ask.request, directives, reason) {
        None => Outcome::Ask(reason),
        Some(Reason::OnlyIfCachedMiss) => Outcome::Unavailable(Reason::OnlyIfCachedMiss),
        Some(reason) => Outcome::Pass(reason),
    }
}
