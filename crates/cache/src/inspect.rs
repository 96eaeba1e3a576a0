//! Tells what a request would get, and why: the decision of [`Cache::look_up`], without side effects.
//!
//! No fill begins, and nothing is dropped, replaced or counted as used. It is for people: the cache may change between an inspection and
//! the request itself. It does not know what the origin would answer. [`Cache::would_store`] judges an answer that the origin gave, by
//! the rules that hold for a fill.

use crate::failing::RetryDecision;
use crate::lookup::{Judged, Needed, first_variant, is_joined_validation, needed, without_fill};
use crate::query::CacheQuery;
use crate::refusals::StoreRefusal;
use crate::selection::Selection;
use crate::shared::may_be_answered;
use crate::verdict::{OriginExchange, meta};
use crate::{Cache, Entry, SharedRequest};
use kasoku_semantics::credentials::has_unkeyed_credentials;
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::{RequestDirectives, may_look_up, request_directives};
use kasoku_semantics::reuse::Reuse;
use kasoku_semantics::storable::objections;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// The predicted outcome of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupOutcome {
    /// The stored response answers.
    Hit(Reason),
    /// The origin is asked, and its answer may be stored.
    Ask(Reason),
    /// The origin is asked for this client alone.
    Pass(Reason),
    /// The client gets an error, since it wants a stored response or none.
    Unavailable(Reason),
    /// The client gets an error, since the configuration refuses the request. The cache itself refuses none.
    Refused(Reason),
    /// The client gets an error and the origin is not asked: it has just failed for the first reason, and the second says why no stored
    /// response answers.
    Failed(Reason, Reason),
}

impl LookupOutcome {
    /// A one-word name.
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

    /// The reason for the outcome.
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

/// Where a response is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// In memory.
    Memory,
    /// On disk, and not in memory.
    Disk,
    /// In the shared tier alone.
    Shared,
}

impl Tier {
    /// A one-word name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Shared => "shared",
        }
    }
}

/// What the cache knows of a key, and what a request for it would get.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The predicted outcome.
    pub outcome: LookupOutcome,
    /// The stored response that the request selects, usable or not.
    pub entry: Option<Arc<Entry>>,
    /// Where that response is.
    pub tier: Option<Tier>,
    /// The newest stored response, where the request selects none.
    pub other: Option<Arc<Entry>>,
    /// How many variants are stored.
    pub variants: usize,
    /// The request fields that tell the variants apart, lower case.
    pub nominated: Vec<String>,
    /// Whether a fill for this key is running.
    pub is_being_filled: bool,
    /// Whether requests for this key do not wait for one another, since its last answer could not be shared.
    pub is_hit_for_miss: bool,
    /// Why the last response of this key was not stored, as long as none is.
    pub last_refusal: Option<StoreRefusal>,
    /// Whether the shared tier, if there is one, would be asked before the origin.
    pub asks_shared_tier: bool,
    /// What the request asks of caches.
    directives: RequestDirectives,
}

impl Inspection {
    /// The same, where a caller found for this reason that the predicted hit must not be used.
    #[must_use]
    pub fn missed_for(self, request: &SharedRequest, reason: Reason) -> Self {
        let is_hit = matches!(self.outcome, LookupOutcome::Hit(_));
        let outcome = if is_hit { asking(request.head(), &self.directives, reason) } else { self.outcome };
        Self { outcome, ..self }
    }

    /// The same, where the shared tier has this response, for this reason.
    #[must_use]
    pub fn found_shared(self, entry: Arc<Entry>, reason: Reason) -> Self {
        let outcome = LookupOutcome::Hit(reason);
        Self { outcome, entry: Some(entry), tier: Some(Tier::Shared), other: None, ..self }
    }
}

impl Cache {
    /// What a request would get now. Waits for the disk where memory has no answer, so this is not for a worker's thread.
    pub fn inspect(&self, request: &SharedRequest, now: Now) -> Inspection {
        let query = &CacheQuery::new(request, now);
        let hash = query.key.hash();
        let (stored, from_disk) = self.stored_in_tiers(query);
        let directives = request_directives(&query.request.fields);
        let judged = self.judge(query, &directives, stored.as_deref());
        let is_kept = matches!(judged, Judged::Kept { .. });
        let (outcome, entry) = match judged {
            Judged::Nothing => (self.miss(query, &directives, None, &first_variant(query).1, Reason::UriMiss), None),
            Judged::OtherVariants(resource) => {
                let variant = resource.variant_of(&query.request.fields, query.policy);
                (self.miss(query, &directives, None, &variant, Reason::VaryMiss), None)
            }
            Judged::Gone(entry, reason) => {
                (self.miss(query, &directives, Some(entry), &entry.meta.variant, reason), Some(entry.clone()))
            }
            Judged::Kept { entry, reuse, .. } => {
                (self.of_kept(query, &directives, &entry, reuse), Some(entry.into_owned()))
            }
        };
        let other = stored.as_ref().filter(|_| entry.is_none()).and_then(|resource| resource.newest()).cloned();
        let mut nominated: Vec<String> = stored.iter().flat_map(|it| it.nominated()).map(str::to_owned).collect();
        nominated.sort_unstable();
        nominated.dedup();
        let has_credentials = has_unkeyed_credentials(&query.request.fields, query.policy);
        let tier = entry.as_ref().map(|entry| match from_disk.iter().any(|it| Arc::ptr_eq(it, entry)) {
            true => Tier::Disk,
            false => Tier::Memory,
        });
        let outcome = may_look_up(query.request).err().map_or(outcome, LookupOutcome::Pass);
        let is_hit_for_miss = self.is_hit_for_miss(query);
        let wants_validation = directives.no_cache && query.policy.client_may_revalidate;
        let asks_shared_tier = matches!(outcome, LookupOutcome::Ask(_))
            && may_be_answered(query.request, query.policy)
            && !(is_kept || is_hit_for_miss || wants_validation);
        Inspection {
            outcome,
            asks_shared_tier,
            entry,
            tier,
            other,
            variants: stored.as_ref().map_or(0, |resource| resource.len()),
            nominated,
            is_being_filled: self.0.fills.is_running(hash, query.key.bytes()),
            is_hit_for_miss,
            last_refusal: self.0.refusals.last(hash, has_credentials),
            directives,
        }
    }

    fn of_kept(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        entry: &Entry,
        reuse: Reuse,
    ) -> LookupOutcome {
        let variant = &entry.meta.variant;
        let reason = match reuse {
            Reuse::Fresh => Reason::Hit,
            Reuse::Stale(reason) => reason,
            Reuse::StaleWhileRevalidate => Reason::HitStaleWhileRevalidate,
            Reuse::Validate(reason) => return self.validation(query, directives, entry, reason),
        };
        let missing = match needed(query.request, entry, query.now) {
            Needed::Stored => return LookupOutcome::Hit(reason),
            Needed::More(missing) => Some(missing),
            Needed::Unknown => None,
        };
        match (reuse, missing) {
            (Reuse::StaleWhileRevalidate, _) => self.validation(query, directives, entry, Reason::Stale),
            (_, Some(missing)) if self.may_complete(entry, missing) => {
                asking(query.request, directives, Reason::PartialMiss)
            }
            _ => self.miss(query, directives, Some(entry), variant, Reason::PartialMiss),
        }
    }

    fn validation(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        entry: &Entry,
        reason: Reason,
    ) -> LookupOutcome {
        let selection = Selection::whole(&entry.meta.variant);
        if let Some(reason) = self.stale_meanwhile(query, directives, entry, &selection) {
            return LookupOutcome::Hit(reason);
        }
        if !entry.body.is_complete() {
            return self.miss(query, directives, Some(entry), &entry.meta.variant, reason);
        }
        let outcome = asking(query.request, directives, reason);
        if is_joined_validation(reason) {
            self.unless_failing(query, directives, Some(entry), &selection, outcome)
        } else {
            outcome
        }
    }

    /// The outcome where no usable response is stored.
    fn miss(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        seen: Option<&Entry>,
        variant: &[u8],
        reason: Reason,
    ) -> LookupOutcome {
        let range = query.request.fields.combined("range");
        match asking(query.request, directives, reason) {
            LookupOutcome::Ask(_) if range.is_some() && query.request.fields.contains("if-range") => {
                LookupOutcome::Pass(Reason::IfRangeMiss)
            }
            outcome if directives.no_cache && query.policy.client_may_revalidate => outcome,
            outcome => {
                self.unless_failing(query, directives, seen, &Selection::of_request(variant, range.as_deref()), outcome)
            }
        }
    }

    /// The outcome of asking where others may join, after the last fetch may have failed.
    fn unless_failing(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        seen: Option<&Entry>,
        selection: &Selection,
        outcome: LookupOutcome,
    ) -> LookupOutcome {
        let LookupOutcome::Ask(reason) = outcome else { return outcome };
        if self.is_hit_for_miss(query) {
            return outcome;
        }
        match self.advice(query, directives, selection, seen) {
            RetryDecision::Refuse(why) => LookupOutcome::Failed(why, reason),
            RetryDecision::Ask | RetryDecision::Probe => outcome,
        }
    }

    /// Whether an answer of the origin would be stored now: its freshness, and all reasons against storing it, the decisive one first.
    pub fn would_store(
        &self,
        request: &SharedRequest,
        sent: &RequestHead,
        exchange: &OriginExchange<'_>,
    ) -> (Freshness, Vec<Reason>) {
        let policy = request.policy();
        let meta = meta(sent, exchange, policy, self.0.generations.epoch());
        let mut reasons = objections(sent, exchange.response, &meta.freshness, policy);
        reasons.extend(self.has_place_for(&meta, exchange).err());
        (meta.freshness, reasons)
    }
}

fn asking(request: &RequestHead, directives: &RequestDirectives, reason: Reason) -> LookupOutcome {
    match without_fill(request, directives, reason) {
        None => LookupOutcome::Ask(reason),
        Some(Reason::OnlyIfCachedMiss) => LookupOutcome::Unavailable(Reason::OnlyIfCachedMiss),
        Some(reason) => LookupOutcome::Pass(reason),
    }
}
