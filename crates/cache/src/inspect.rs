//! What a request would get, and why: the same decision as [`Cache::look_up`], of which nothing follows.
//!
//! No fill begins, nothing is dropped, replaced or counted as used. Between an answer of this and the request itself the
//! cache may change: it is for people. What the origin would say is not known here; what it did say is judged by
//! [`Cache::would_store`], by the rules that hold for a fill.

use crate::ask::Ask;
use crate::failing::Advice;
use crate::lookup::{Judged, first_variant, is_joined_validation, without_fill};
use crate::refusals::Refusal;
use crate::selection::Selection;
use crate::verdict::{Exchange, meta};
use crate::{Cache, Entry};
use kasoku_semantics::credentials::says_who;
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
    /// The client gets an error, since the configuration refuses the request; a cache by itself refuses none.
    Refused(Reason),
    /// The client gets an error without anybody being asked: the origin has just failed for the first reason, and there is
    /// nothing stored for the second.
    Failed(Reason, Reason),
}

impl Outcome {
    /// What it is, in a word.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Hit(_) => "hit",
            Self::Ask(_) => "ask",
            Self::Pass(_) => "pass",
            Self::Unavailable(_) => "unavailable",
            Self::Refused(_) => "refused",
            Self::Failed(..) => "failed",
        }
    }

    /// Why.
    pub fn reason(self) -> Reason {
        match self {
            Self::Hit(reason)
            | Self::Ask(reason)
            | Self::Pass(reason)
            | Self::Unavailable(reason)
            | Self::Refused(reason) => reason,
            Self::Failed(why, _) => why,
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

impl Inspection {
    /// The same, where what would have been a hit must not be used any more, for that reason.
    #[must_use]
    pub fn missed_for(self, ask: &Ask<'_>, reason: Reason) -> Self {
        let is_hit = matches!(self.outcome, Outcome::Hit(_));
        let outcome = if is_hit { asking(ask, &request_directives(&ask.request.fields), reason) } else { self.outcome };
        Self { outcome, ..self }
    }
}

impl Cache {
    /// What a request would get now.
    pub fn inspect(&self, ask: &Ask<'_>) -> Inspection {
        let hash = ask.key.hash();
        let stored = self.0.memory.value(hash, ask.key.bytes());
        let directives = request_directives(&ask.request.fields);
        let (outcome, entry) = match self.judge(ask, &directives, stored.as_deref()) {
            Judged::Nothing => (self.miss(ask, &directives, None, &first_variant(ask).1, Reason::UriMiss), None),
            Judged::OtherVariants(resource) => {
                let variant = resource.variant_of(&ask.request.fields, ask.policy);
                (self.miss(ask, &directives, None, &variant, Reason::VaryMiss), None)
            }
            Judged::Gone(entry, reason) => {
                (self.miss(ask, &directives, Some(entry), &entry.meta.variant, reason), Some(entry.clone()))
            }
            Judged::Kept { entry, reuse, .. } => {
                (self.of_kept(ask, &directives, &entry, reuse), Some(entry.into_owned()))
            }
        };
        let other = stored.as_ref().filter(|_| entry.is_none()).and_then(|resource| resource.newest()).cloned();
        let mut nominated: Vec<String> = stored.iter().flat_map(|it| it.nominated()).map(str::to_owned).collect();
        nominated.sort_unstable();
        nominated.dedup();
        let has_credentials = says_who(&ask.request.fields, ask.policy);
        Inspection {
            outcome: may_look_up(ask.request).err().map_or(outcome, Outcome::Pass),
            entry,
            other,
            variants: stored.as_ref().map_or(0, |resource| resource.len()),
            nominated,
            is_being_filled: self.0.fills.is_running(hash, ask.key.bytes()),
            is_known_private: self.is_known_private(ask),
            last_refusal: self.0.refusals.last(hash, has_credentials),
        }
    }

    fn of_kept(&self, ask: &Ask<'_>, directives: &RequestDirectives, entry: &Entry, reuse: Reuse) -> Outcome {
        let variant = &entry.meta.variant;
        let reason = match reuse {
            Reuse::Fresh => Reason::Hit,
            Reuse::Stale(reason) => reason,
            Reuse::StaleWhileRevalidate => Reason::HitStaleWhileRevalidate,
            Reuse::Validate(reason) => return self.validation(ask, directives, entry, reason),
        };
        if self.covers(ask.request, entry) {
            return Outcome::Hit(reason);
        }
        match (reuse, entry.body.complete_length()) {
            (Reuse::StaleWhileRevalidate, _) => self.validation(ask, directives, entry, Reason::Stale),
            (_, Some(length)) if length <= self.0.limits.object_bytes_max => {
                asking(ask, directives, Reason::PartialMiss)
            }
            _ => self.miss(ask, directives, Some(entry), variant, Reason::PartialMiss),
        }
    }

    fn validation(&self, ask: &Ask<'_>, directives: &RequestDirectives, entry: &Entry, reason: Reason) -> Outcome {
        let selection = Selection::whole(&entry.meta.variant);
        if let Some(reason) = self.stale_meanwhile(ask, directives, entry, &selection) {
            return Outcome::Hit(reason);
        }
        if !entry.body.is_complete() {
            return self.miss(ask, directives, Some(entry), &entry.meta.variant, reason);
        }
        let outcome = asking(ask, directives, reason);
        if is_joined_validation(reason) {
            self.unless_failing(ask, directives, Some(entry), &selection, outcome)
        } else {
            outcome
        }
    }

    /// Nothing is stored that could be used or validated.
    fn miss(
        &self,
        ask: &Ask<'_>,
        directives: &RequestDirectives,
        seen: Option<&Entry>,
        variant: &[u8],
        reason: Reason,
    ) -> Outcome {
        let range = ask.request.fields.combined("range");
        match asking(ask, directives, reason) {
            Outcome::Ask(_) if range.is_some() && ask.request.fields.contains("if-range") => {
                Outcome::Pass(Reason::IfRangeMiss)
            }
            outcome if directives.no_cache && ask.policy.client_may_revalidate => outcome,
            outcome => {
                self.unless_failing(ask, directives, seen, &Selection::of_request(variant, range.as_deref()), outcome)
            }
        }
    }

    /// What becomes of asking where others may join it, and the last who asked got no answer.
    fn unless_failing(
        &self,
        ask: &Ask<'_>,
        directives: &RequestDirectives,
        seen: Option<&Entry>,
        selection: &Selection,
        outcome: Outcome,
    ) -> Outcome {
        let Outcome::Ask(reason) = outcome else { return outcome };
        if self.is_known_private(ask) {
            return outcome;
        }
        match self.advice(ask, directives, selection, seen) {
            Advice::Refuse(why) => Outcome::Failed(why, reason),
            Advice::Ask | Advice::Probe => outcome,
        }
    }

    /// Whether requests for this key do not wait for each other.
    fn is_known_private(&self, ask: &Ask<'_>) -> bool {
        let is_visitor = ask.policy.profile == Profile::Safe && says_who(&ask.request.fields, ask.policy);
        self.0.known_private.contains(ask.key.hash(), is_visitor, ask.now)
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

fn asking(ask: &Ask<'_>, directives: &RequestDirectives, reason: Reason) -> Outcome {
    match without_fill(ask.request, directives, reason) {
        None => Outcome::Ask(reason),
        Some(Reason::OnlyIfCachedMiss) => Outcome::Unavailable(Reason::OnlyIfCachedMiss),
        Some(reason) => Outcome::Pass(reason),
    }
}
