//! Decides for each request: a stored response answers, the request joins a fill or begins one, or the request passes.
//!
//! A look-up changes the registry of fills. In the index it only drops responses that are purged or past their keep, and marks softly
//! purged ones stale. A look-up that finds no usable response joins the running fill, or begins one. Between the two, the running fill
//! may be stored and end. So a look-up that is about to begin a fill checks the index once more under the registry's lock. A fill is
//! stored before it leaves the registry: a request that no longer finds the fill finds the stored response, and no response is fetched
//! twice.
//!
//! Order of locks: the registry's before the index's. No code takes the registry's lock while it holds the index's lock or that of a
//! change ([`kasoku_store::Memory::update`]).

use crate::collapse::FillStart;
use crate::disk::Recall;
use crate::failing::RetryDecision;
use crate::fill::FillReader;
use crate::generations::Validity;
use crate::query::CacheQuery;
use crate::represent::{CodingContext, Representations};
use crate::resource::Resource;
use crate::selection::{RequestedFor, Selection};
use crate::shared_request::{CacheRoute, SharedRequest};
use crate::verdict::{FetchPurpose, FillWriter};
use crate::{Cache, Entry, Meta};
use http::Method;
use kasoku_semantics::credentials::has_unkeyed_credentials;
use kasoku_semantics::forward::{forwards_fields_unchanged, is_sent_as_received};
use kasoku_semantics::partial::missing;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::precondition::{Precondition, precondition};
use kasoku_semantics::range::{ByteRange, ByteRanges, RangeOutcome, range};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::{RequestDirectives, may_look_up, request_directives};
use kasoku_semantics::reuse::{Reuse, reuse};
use kasoku_semantics::time::Now;
use kasoku_semantics::vary::variant_key;
use kasoku_wire::RequestHead;
use std::borrow::Cow;
use std::sync::Arc;

/// The most decisions about one request. The second finds the response of a fill that has just ended. The third finds what a probe has
/// brought after a failed fill. The third does not check the index again, so it may ask the origin once too often.
const DECISIONS_MAX: u8 = 3;

/// The fewest bytes that are added to a body on disk at a time, and the most additions that a body takes.
const ADDED_BYTES_MIN: u64 = 64 << 10;
const ADDITIONS_MAX: u64 = 256;

/// The result of a look-up. A caller that gets a [`FillWriter`] must ask the origin.
pub enum Lookup {
    /// Deliver this stored response, for this reason. If there is a writer, refresh the response in the background.
    Hit(Arc<Entry>, Reason, Option<FillWriter>),
    /// Another request's fill is running: wait for it. The reason says why the stored response did not answer.
    Join(FillReader, Reason),
    /// Ask the origin and hand its answer to the writer. The reason says why.
    Fill(FillWriter, Reason),
    /// Ask the origin anonymously, and read the answer from the fill like every request that joins: the last fetch failed, possibly
    /// because of what its client sent.
    Probe(FillWriter, FillReader, Reason),
    /// The origin has just failed for the first reason, and the second reason says why no stored response answers. Do not ask the origin.
    Failed(Reason, Reason),
    /// Responses for the key are on the disk: wait, and call [`Cache::look_up_recalled`].
    Recall(Recall),
    /// Ask the origin for this client alone.
    Pass(Reason),
    /// The client wants a stored response only, and there is none that may be used (RFC 9111 section 5.2.1.7).
    Unavailable(Reason),
}

impl Lookup {
    /// The same result, where `why` is the reason that nothing is stored.
    #[must_use]
    pub fn missed_for(self, why: Reason) -> Self {
        let named = |reason| if matches!(reason, Reason::UriMiss | Reason::VaryMiss) { why } else { reason };
        match self {
            Self::Join(reader, reason) => Self::Join(reader, named(reason)),
            Self::Fill(writer, reason) => Self::Fill(writer, named(reason)),
            Self::Probe(writer, reader, reason) => Self::Probe(writer, reader, named(reason)),
            Self::Failed(failure, reason) => Self::Failed(failure, named(reason)),
            Self::Pass(reason) => Self::Pass(named(reason)),
            found @ (Self::Hit(..) | Self::Recall(_) | Self::Unavailable(_)) => found,
        }
    }
}

impl Cache {
    /// The path of a hit in memory: the stored response, if it may answer at once and nothing else is to be done. It allocates nothing and
    /// begins nothing. `None` means that [`Cache::hit_on_disk`] or [`Cache::look_up`] must decide.
    ///
    /// `received` is the request as the client sent it. It stands for the [`SharedRequest`] that would be made of it, as long as the
    /// origin would get each field that selects a variant unchanged. Otherwise the result is `None`.
    pub fn hit(&self, received: &RequestHead, route: &CacheRoute<'_>, now: Now) -> Option<(Arc<Entry>, Reason)> {
        may_hit(received).then_some(())?;
        let CacheRoute { key, policy, .. } = *route;
        let resource = self.0.memory.value(key.hash(), key.bytes())?;
        may_select(resource.nominated(), policy).then_some(())?;
        let entry = resource.select(&received.fields, policy)?;
        let reason = self.reason_to_hit(entry, received, route, now)?;
        Some((entry.clone(), reason))
    }

    /// The stored response that may answer at once, where memory has none for the key, and the disk has one whose bytes are in the kernel's page
    /// cache. It may come into memory. `codings`: those that are made for this route.
    pub fn hit_on_disk(
        &self,
        received: &RequestHead,
        route: &CacheRoute<'_>,
        codings: Option<CodingContext<'_>>,
        now: Now,
    ) -> Option<(Arc<Entry>, Reason)> {
        may_hit(received).then_some(())?;
        let CacheRoute { key, policy, .. } = *route;
        let fields = &received.fields;
        let may_answer = |meta: &Meta| {
            may_select(meta.nominated.iter().map(String::as_str), policy)
                && meta.is_selected_by(fields, policy)
                && meta.is_under(policy)
                && hit_reason(meta, received, policy, now).is_some()
        };
        let response = self.only_response(key, now, may_answer)?;
        let entry = response.entry();
        let reason = self.reason_to_hit(entry, received, route, now)?;
        let is_to_be_coded = Representations::of_stored(fields, codings, entry).wanted().is_some();
        Some((self.answers(key, response, is_to_be_coded)?, reason))
    }

    /// Why a stored response answers at once, if it does.
    fn reason_to_hit(&self, entry: &Entry, received: &RequestHead, route: &CacheRoute<'_>, now: Now) -> Option<Reason> {
        let CacheRoute { key, policy, .. } = *route;
        let is_good = entry.meta.is_under(policy) && entry.holds(key, &self.0.generations);
        if !is_good || !entry.body.is_in_memory() {
            return None;
        }
        let reason = hit_reason(&entry.meta, received, policy, now)?;
        self.covers(received, entry, now).then_some(reason)
    }

    /// Looks up a request.
    pub fn look_up(&self, request: &SharedRequest, now: Now) -> Lookup {
        if let Err(reason) = may_look_up(request.head()) {
            return Lookup::Pass(reason);
        }
        let query = &CacheQuery::new(request, now);
        let asked = Decision { query, directives: &request_directives(&query.request.fields), decisions: 1 };
        match self.stored(query.key, &query.request.fields, query.policy, query.now) {
            Ok(stored) => self.decide(asked, stored.as_deref()),
            Err(recall) => Lookup::Recall(recall),
        }
    }

    /// Looks up a request after a [`Recall`], by what is in memory now, and by what was read.
    pub fn look_up_recalled(&self, request: &SharedRequest, recall: &Recall, now: Now) -> Lookup {
        let query = &CacheQuery::new(request, now);
        let asked = Decision { query, directives: &request_directives(&query.request.fields), decisions: 1 };
        let selects = |stored: &Arc<Resource>| stored.select(&query.request.fields, query.policy).is_some();
        let in_memory = self.0.memory.value(query.key.hash(), query.key.bytes());
        let stored = match recall.found() {
            Some(read) if !in_memory.as_ref().is_some_and(selects) => Some(read.clone()),
            _ => in_memory,
        };
        self.decide(asked, stored.as_deref())
    }

    /// Whether a response that another client's fill brought may answer this request as well, without a fetch of its own (RFC 9111
    /// section 4: "provided that it is allowed to reuse that response for the requests in question").
    pub fn may_share(&self, request: &SharedRequest, meta: &Meta, now: Now) -> bool {
        let (fields, policy) = (&request.head().fields, request.policy());
        meta.is_under(policy)
            && meta.is_selected_by(fields, policy)
            && !matches!(reuse(&meta.freshness, &request_directives(fields), policy, now), Reuse::Validate(_))
    }

    /// For a request that waited for a fill which brought another variant: joins, or begins, the fill of its own variant. The fields by
    /// which the origin chooses are known now.
    pub fn look_up_variant(&self, request: &SharedRequest, other: &Meta, now: Now) -> Lookup {
        let query = &CacheQuery::new(request, now);
        let mut variant = Vec::new();
        variant_key(&other.nominated, &query.request.fields, query.policy, &mut variant);
        let asked = Decision { query, directives: &request_directives(&query.request.fields), decisions: 1 };
        self.begin_miss(asked, Miss::variant(&variant), Reason::VaryMiss)
    }

    /// A writer for a fill that no other request may join. Its response is stored if it may be.
    pub fn fill_alone(&self, request: &SharedRequest, now: Now) -> FillWriter {
        let query = CacheQuery::new(request, now);
        let fill =
            self.0.fills.begin_alone(query.fill_id(&Selection::default(), RequestedFor::Everybody), query.tags());
        FillWriter::new(self.clone(), fill, request.clone(), None, FetchPurpose::Miss)
    }

    /// Whether a stored response has all bytes that a request wants.
    pub fn covers(&self, request: &RequestHead, entry: &Entry, now: Now) -> bool {
        matches!(needed(request, entry, now), Needed::Stored)
    }

    /// The result for a request, given what is stored for its key.
    fn decide(&self, asked: Decision<'_>, stored: Option<&Resource>) -> Lookup {
        let query = asked.query;
        match self.judge(query, asked.directives, stored) {
            Judged::Nothing => {
                let (key, variant) = first_variant(query);
                self.begin_miss(asked, Miss { seen: None, variant: &variant, key: Some(key) }, Reason::UriMiss)
            }
            Judged::OtherVariants(resource) => {
                let variant = resource.variant_of(&query.request.fields, query.policy);
                self.begin_miss(asked, Miss::variant(&variant), Reason::VaryMiss)
            }
            Judged::Gone(entry, reason) => {
                if matches!(reason, Reason::Purged | Reason::Invalidated | Reason::KeepExceeded) {
                    self.remove(query.key, entry);
                }
                self.begin_miss(asked, Miss::entry(entry), reason)
            }
            Judged::Kept { was, entry, reuse } => {
                if let Cow::Owned(expired) = &entry {
                    self.replace(query.key, was, expired.clone(), || true);
                }
                match reuse {
                    Reuse::Fresh => self.usable(asked, &entry, Reason::Hit),
                    Reuse::Stale(reason) => self.usable(asked, &entry, reason),
                    Reuse::StaleWhileRevalidate => self.usable_and_refresh(asked, &entry),
                    Reuse::Validate(reason) => self.begin_validation(asked, &entry, reason),
                }
            }
        }
    }

    /// Judges what is stored for a key, and changes nothing.
    pub(crate) fn judge<'r>(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        stored: Option<&'r Resource>,
    ) -> Judged<'r> {
        let Some(resource) = stored else { return Judged::Nothing };
        let Some(was) = resource.select(&query.request.fields, query.policy) else {
            return Judged::OtherVariants(resource);
        };
        match self.validity(query, was) {
            Err(reason) => Judged::Gone(was, reason),
            Ok(entry) => {
                let reuse = reuse(&entry.meta.freshness, directives, query.policy, query.now);
                Judged::Kept { was, entry, reuse }
            }
        }
    }

    /// The stored response as purges and changed rules have left it; `Err` where it may no longer be used.
    fn validity<'e>(&self, query: &CacheQuery<'_>, entry: &'e Arc<Entry>) -> Result<Cow<'e, Arc<Entry>>, Reason> {
        if !entry.meta.is_under(query.policy) {
            return Err(Reason::RulesChanged);
        }
        if entry.meta.freshness.is_past_keeping(query.policy, query.now) {
            return Err(Reason::KeepExceeded);
        }
        let (validity, epoch) = entry.validity(query.key, &self.0.generations);
        match validity {
            Validity::Valid => Ok(Cow::Borrowed(entry)),
            Validity::Gone => Err(Reason::Purged),
            Validity::Changed => Err(Reason::Invalidated),
            Validity::Stale(since) => Ok(Cow::Owned(Arc::new(self.expired(entry, query.key, since, epoch)))),
        }
    }

    fn usable(&self, asked: Decision<'_>, entry: &Arc<Entry>, reason: Reason) -> Lookup {
        match needed(asked.query.request, entry, asked.query.now) {
            Needed::Stored => Lookup::Hit(entry.clone(), reason, None),
            Needed::More(missing) if self.may_complete(entry, missing) => self.begin_completion(asked, entry, missing),
            Needed::More(_) | Needed::Unknown => self.begin_miss(asked, Miss::entry(entry), Reason::PartialMiss),
        }
    }

    /// Whether the bytes that a stored part lacks can be added to it.
    pub(crate) fn may_complete(&self, entry: &Entry, missing: ByteRange) -> bool {
        match entry.body.is_in_memory() {
            true => entry.body.complete_length() <= Some(self.0.limits.object_bytes_max),
            false => self.may_spool(missing.length()),
        }
    }

    fn usable_and_refresh(&self, asked: Decision<'_>, entry: &Arc<Entry>) -> Lookup {
        let query = asked.query;
        if !matches!(needed(query.request, entry, query.now), Needed::Stored) {
            return self.begin_validation(asked, entry, Reason::Stale);
        }
        let selection = Selection::whole(&entry.meta.variant);
        let may_refresh = query.request.method == Method::GET && !asked.directives.no_store;
        let refresh = (may_refresh && !self.is_backing_off(query, &selection)).then(|| {
            let reason = Reason::HitStaleWhileRevalidate;
            let wanted = WantedFill::joinable(selection, Some(entry), FetchPurpose::Validate, reason);
            self.advise(asked, wanted).unwrap_or_else(|wanted| self.begin(asked, &wanted))
        });
        match refresh {
            Some(
                Lookup::Fill(writer, reason @ Reason::HitStaleWhileRevalidate)
                | Lookup::Probe(writer, _, reason @ Reason::HitStaleWhileRevalidate),
            ) => Lookup::Hit(entry.clone(), reason, Some(writer.in_the_background(&entry.meta))),
            None
            | Some(
                Lookup::Join(_, Reason::HitStaleWhileRevalidate) | Lookup::Failed(_, Reason::HitStaleWhileRevalidate),
            ) => Lookup::Hit(entry.clone(), Reason::HitStaleWhileRevalidate, None),
            Some(decided_anew) => decided_anew,
        }
    }

    fn begin_miss(&self, asked: Decision<'_>, missed: Miss<'_>, reason: Reason) -> Lookup {
        let Decision { query, directives, .. } = asked;
        let Miss { seen, variant, key } = missed;
        if let Some(no_fill) = no_fill(asked, reason) {
            return no_fill;
        }
        if let Some(reason) = self.no_page(query) {
            return Lookup::Pass(reason);
        }
        let range = query.request.fields.combined("range");
        if range.is_some() && query.request.fields.contains("if-range") {
            // The answer depends on a validator that the cache does not know.
            return Lookup::Pass(Reason::IfRangeMiss);
        }
        let whole = Selection::whole(variant);
        if range.is_some()
            && let Some(reader) = self.0.fills.join(query.fill_id(&whole, RequestedFor::Everybody))
        {
            return Lookup::Join(reader, reason);
        }
        let is_joinable = !(directives.no_cache && query.policy.client_may_revalidate);
        let selection = Selection::of_request(variant, range.as_deref());
        let wanted = WantedFill::joinable(selection, seen, FetchPurpose::Miss, reason);
        self.begin_among_equals(asked, WantedFill { is_joinable, key, ..wanted })
    }

    fn begin_validation(&self, asked: Decision<'_>, entry: &Arc<Entry>, reason: Reason) -> Lookup {
        let selection = Selection::whole(&entry.meta.variant);
        if let Some(reason) = self.stale_meanwhile(asked.query, asked.directives, entry, &selection) {
            return Lookup::Hit(entry.clone(), reason, None);
        }
        if let Some(no_fill) = no_fill(asked, reason) {
            return no_fill;
        }
        if !entry.body.is_complete() {
            return self.begin_miss(asked, Miss::entry(entry), reason);
        }
        let is_joinable = is_joined_validation(reason);
        let wanted = WantedFill::joinable(selection, Some(entry), FetchPurpose::Validate, reason);
        self.begin_among_equals(asked, WantedFill { is_joinable, ..wanted })
    }

    fn begin_completion(&self, asked: Decision<'_>, entry: &Arc<Entry>, missing: ByteRange) -> Lookup {
        let reason = Reason::PartialMiss;
        if let Some(no_fill) = no_fill(asked, reason) {
            return no_fill;
        }
        let selection = Selection::missing(missing, entry);
        let wanted = WantedFill::joinable(selection, Some(entry), FetchPurpose::Complete(missing), reason);
        self.begin_among_equals(asked, wanted)
    }

    /// The answer to an anonymous request may be shared; in profile safe, the answer to a visitor's request rarely may. So a visitor's
    /// request joins the fill of an anonymous request or of another visitor. An anonymous request never joins a visitor's fill.
    fn begin_among_equals(&self, asked: Decision<'_>, mut wanted: WantedFill<'_>) -> Lookup {
        let query = asked.query;
        let is_visitor =
            query.policy.profile == Profile::Safe && has_unkeyed_credentials(&query.request.fields, query.policy);
        wanted.is_joinable &= !self.is_hit_for_miss(query);
        if wanted.is_joinable {
            match self.advise(asked, wanted) {
                Ok(advised) => return advised,
                Err(as_ever) => wanted = as_ever,
            }
        }
        if is_visitor {
            if wanted.is_joinable
                && let Some(reader) = self.0.fills.join(query.fill_id(&wanted.selection, RequestedFor::Everybody))
            {
                return Lookup::Join(reader, wanted.reason);
            }
            wanted.requested_for = RequestedFor::Visitors;
        }
        self.begin(asked, &wanted)
    }

    /// Whether requests like this one, with or without credentials, do not wait for one another.
    pub(crate) fn is_hit_for_miss(&self, query: &CacheQuery<'_>) -> bool {
        let has_credentials = has_unkeyed_credentials(&query.request.fields, query.policy);
        self.0.hit_for_miss.contains(self.asked_key(query.key, query.policy), has_credentials, query.now)
    }

    /// The look-up that follows from the last failure of this fetch. `Err` returns the wanted fill where nothing follows.
    fn advise<'w>(&self, asked: Decision<'_>, wanted: WantedFill<'w>) -> Result<Lookup, WantedFill<'w>> {
        let stored = wanted.seen.map(Arc::as_ref);
        match self.advice(asked.query, asked.directives, &wanted.selection, stored) {
            RetryDecision::Refuse(reason) => Ok(Lookup::Failed(reason, wanted.reason)),
            RetryDecision::Probe if wanted.kept().is_some() => {
                Ok(self.begin(asked, &WantedFill { requested_for: RequestedFor::Anonymous, ..wanted }))
            }
            RetryDecision::Probe | RetryDecision::Ask => Err(wanted),
        }
    }

    fn begin(&self, asked: Decision<'_>, wanted: &WantedFill<'_>) -> Lookup {
        let Decision { query, decisions, .. } = asked;
        // A request that may not join a fill does not want what another fill has brought either.
        let may_have_changed = wanted.is_joinable && decisions < DECISIONS_MAX;
        let changed = || {
            let stored = || self.stored_since(query, wanted.seen).map(Some);
            if may_have_changed { stored().or_else(|| self.failed_since(query, wanted)) } else { None }
        };
        match self.0.fills.begin(
            query.fill_id(&wanted.selection, wanted.requested_for),
            wanted.is_joinable,
            || query.tags(),
            changed,
        ) {
            FillStart::Running(reader) => Lookup::Join(reader, wanted.reason),
            FillStart::DecideAgain(stored) => {
                self.decide(Decision { decisions: decisions + 1, ..asked }, stored.as_deref())
            }
            FillStart::New(fill) => {
                let base = wanted.seen.filter(|_| wanted.purpose != FetchPurpose::Miss).cloned();
                let probe = wanted.kept().filter(|_| wanted.is_probe()).map(|kept| (kept, fill.reader()));
                let writer = |request| FillWriter::new(self.clone(), fill, request, base, wanted.purpose);
                match probe {
                    Some((kept, reader)) => {
                        Lookup::Probe(writer(query.shared.without_client()).probe(kept), reader, wanted.reason)
                    }
                    None => Lookup::Fill(writer(query.shared.clone()), wanted.reason),
                }
            }
        }
    }

    /// What is stored for the key, if it has a response for this request other than `seen`.
    fn stored_since(&self, query: &CacheQuery<'_>, seen: Option<&Arc<Entry>>) -> Option<Arc<Resource>> {
        let stored = self.0.memory.value(query.key.hash(), query.key.bytes())?;
        let entry = stored.select(&query.request.fields, query.policy)?;
        (!seen.is_some_and(|seen| Arc::ptr_eq(seen, entry))).then_some(stored)
    }

    /// Why a request passes, if it does: within the last minute the anonymous request brought no page, and no purge has covered the key
    /// since.
    fn no_page(&self, query: &CacheQuery<'_>) -> Option<Reason> {
        let (reason, since) = self.0.hit_for_miss.passes(self.asked_key(query.key, query.policy), query.now)?;
        let validity = self.0.generations.validity(query.key.bytes(), query.tags().as_deref(), since);
        (validity == Validity::Valid).then_some(reason)
    }

    /// What is stored for the key by now, if a fill of the same selection has failed since the decision was made.
    fn failed_since(&self, query: &CacheQuery<'_>, wanted: &WantedFill<'_>) -> Option<Option<Arc<Resource>>> {
        let is_news = if wanted.is_probe() {
            wanted.seen.is_some() && self.is_backing_off(query, &wanted.selection)
        } else {
            wanted.kept().is_some() && self.is_failing(query, &wanted.selection)
        };
        is_news.then(|| self.0.memory.value(query.key.hash(), query.key.bytes()))
    }
}

/// Whether [`Cache::hit`] may stand for a look-up of the request that would be made of this one.
pub(crate) fn may_hit(received: &RequestHead) -> bool {
    forwards_fields_unchanged(&received.fields) && may_look_up(received).is_ok()
}

/// Why a response answers a request without a validation, if it does, by its head.
fn hit_reason(meta: &Meta, received: &RequestHead, policy: &Policy, now: Now) -> Option<Reason> {
    match reuse(&meta.freshness, &request_directives(&received.fields), policy, now) {
        Reuse::Fresh => Some(Reason::Hit),
        Reuse::Stale(reason) => Some(reason),
        Reuse::StaleWhileRevalidate | Reuse::Validate(_) => None,
    }
}

/// Whether a request as it was received may select a response by these fields. Where a lifetime is granted, fields that the origin does
/// not get select no variant.
fn may_select<'n>(mut nominated: impl Iterator<Item = &'n str>, policy: &Policy) -> bool {
    policy.grant.is_granting() || nominated.all(is_sent_as_received)
}

/// The judgement on what is stored for a request.
pub(crate) enum Judged<'r> {
    /// Nothing is stored for the key.
    Nothing,
    /// Responses are stored, and none fits this request.
    OtherVariants(&'r Resource),
    /// The stored response must not be used any more, for this reason.
    Gone(&'r Arc<Entry>, Reason),
    /// The stored response may be used in the way of `reuse`. `was` is the entry as it is stored; `entry` is the same, or its stale copy
    /// after a soft purge.
    Kept { was: &'r Arc<Entry>, entry: Cow<'r, Arc<Entry>>, reuse: Reuse },
}

/// A decision in progress.
#[derive(Clone, Copy)]
struct Decision<'a> {
    query: &'a CacheQuery<'a>,
    directives: &'a RequestDirectives,
    /// The number of this decision: 1, and one more each time that a check under the registry's lock found a change.
    decisions: u8,
}

/// What a request has missed.
struct Miss<'a> {
    /// The stored response that can't be used.
    seen: Option<&'a Arc<Entry>>,
    /// The variant that the request wants, as far as it is known.
    variant: &'a [u8],
    /// See [`WantedFill::key`].
    key: Option<Vec<String>>,
}

impl<'a> Miss<'a> {
    fn entry(entry: &'a Arc<Entry>) -> Self {
        Self { seen: Some(entry), variant: &entry.meta.variant, key: None }
    }

    fn variant(variant: &'a [u8]) -> Self {
        Self { seen: None, variant, key: None }
    }
}

/// The fill that a request needs.
struct WantedFill<'a> {
    selection: Selection,
    requested_for: RequestedFor,
    is_joinable: bool,
    /// The stored response on which the decision was based.
    seen: Option<&'a Arc<Entry>>,
    /// The fields that make the variant, where nothing is stored and the policy names the fields.
    key: Option<Vec<String>>,
    purpose: FetchPurpose,
    reason: Reason,
}

impl<'a> WantedFill<'a> {
    /// A fill whose answer may be for all clients, and which other requests may join.
    fn joinable(selection: Selection, seen: Option<&'a Arc<Entry>>, purpose: FetchPurpose, reason: Reason) -> Self {
        Self { selection, requested_for: RequestedFor::Everybody, is_joinable: true, seen, key: None, purpose, reason }
    }

    fn is_probe(&self) -> bool {
        self.requested_for == RequestedFor::Anonymous
    }

    /// The request fields that make its variant, where they are known.
    fn kept(&self) -> Option<&[String]> {
        match (self.seen, &self.key) {
            (Some(entry), _) => Some(&entry.meta.nominated),
            (None, Some(key)) => Some(key),
            (None, None) => self.selection.variant.is_empty().then_some(&[]),
        }
    }
}

/// The variant that a request wants of a key for which nothing is stored, and the fields that make it: those that the policy always has
/// in the key.
pub(crate) fn first_variant(query: &CacheQuery<'_>) -> (Vec<String>, Vec<u8>) {
    let (key, mut variant) = (query.policy.grant.key(), Vec::new());
    variant_key(&key, &query.request.fields, query.policy, &mut variant);
    (key, variant)
}

/// Why no shared fill may begin: the client wants a stored response only, the request forbids storing, or a HEAD brings no body.
fn no_fill(asked: Decision<'_>, reason: Reason) -> Option<Lookup> {
    let reason = without_fill(asked.query.request, asked.directives, reason)?;
    Some(if reason == Reason::OnlyIfCachedMiss { Lookup::Unavailable(reason) } else { Lookup::Pass(reason) })
}

/// Why such a request gets no fill, if it gets none; `reason` is why it would need one.
pub(crate) fn without_fill(request: &RequestHead, directives: &RequestDirectives, reason: Reason) -> Option<Reason> {
    if directives.only_if_cached {
        return Some(Reason::OnlyIfCachedMiss);
    }
    if directives.no_store {
        return Some(Reason::RequestNoStore);
    }
    (request.method == Method::HEAD).then_some(reason)
}

/// Whether a validation for this reason answers all requests that come meanwhile. A client that demands a validation must not get the
/// result of one that began before its request, and a response that must be validated on each use can't be shared.
pub(crate) fn is_joined_validation(reason: Reason) -> bool {
    matches!(reason, Reason::Stale | Reason::StaleMustRevalidate | Reason::NoLifetime)
}

/// How much of the bytes that a request wants is stored.
pub(crate) enum Needed {
    Stored,
    More(ByteRange),
    Unknown,
}

pub(crate) fn needed(request: &RequestHead, entry: &Entry, now: Now) -> Needed {
    let Meta { head, freshness, .. } = &*entry.meta;
    // A client that has the response already gets no byte of it. Of a part, no codings are made.
    let has_it = || precondition(request, head, entry.meta.validators(), freshness.response_time, now);
    if entry.body.is_complete() || has_it() == Precondition::NotModified {
        return Needed::Stored;
    }
    let Some(complete_length) = entry.body.complete_length() else { return Needed::Unknown };
    let ranges = match range(request, &entry.meta.head, complete_length) {
        RangeOutcome::Ranges(ranges) => ranges,
        RangeOutcome::Unsatisfiable => return Needed::Stored,
        RangeOutcome::Full => ByteRanges::from_elem(ByteRange { first: 0, last: complete_length.saturating_sub(1) }, 1),
    };
    let have = entry.body.ranges();
    match ranges.as_slice() {
        [only] => match missing(&have, *only) {
            None => Needed::Stored,
            Some(missing) if entry.body.is_in_memory() => Needed::More(missing),
            Some(missing) => Needed::More(widened(missing, &have, complete_length)),
        },
        several if several.iter().all(|range| entry.body.covers(*range)) => Needed::Stored,
        _ => Needed::Unknown,
    }
}

/// A missing range that is to be added to a body on disk: at least [`ADDED_BYTES_MIN`], or one of [`ADDITIONS_MAX`] parts of the body, as far
/// as nothing is stored there. Each addition writes the list of all chunks anew, so a client that asks for many single bytes would wear the
/// object out.
fn widened(missing: ByteRange, have: &[ByteRange], complete_length: u64) -> ByteRange {
    let wanted = (complete_length / ADDITIONS_MAX).max(ADDED_BYTES_MIN);
    let next = have.iter().map(|range| range.first).find(|first| *first > missing.last).unwrap_or(complete_length);
    let last = missing.first.saturating_add(wanted - 1).min(next.saturating_sub(1));
    ByteRange { last: last.max(missing.last), ..missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_widened_up_to_what_is_stored() {
        let range = |first, last| ByteRange { first, last };
        let widened = |missing, have: &[ByteRange], length| {
            let ByteRange { first, last } = widened(missing, have, length);
            (first, last)
        };
        let (kib, mib) = (1 << 10, 1 << 20);
        let have = [range(0, 9), range(3 * mib, 4 * mib - 1)];
        assert_eq!(widened(range(10, 10), &have, 9 * mib), (10, 64 * kib + 9));
        assert_eq!(widened(range(10, 2 * mib), &have, 9 * mib), (10, 2 * mib));
        assert_eq!(widened(range(3 * mib - 1, 3 * mib - 1), &have, 9 * mib), (3 * mib - 1, 3 * mib - 1));
        assert_eq!(widened(range(9 * mib - 5, 9 * mib - 5), &have, 9 * mib), (9 * mib - 5, 9 * mib - 1));
        // What is stored within the missing range is fetched once more.
        assert_eq!(widened(range(10, 5 * mib), &have, 9 * mib), (10, 5 * mib));
        let tib = 1 << 40;
        assert_eq!(widened(range(4 * mib, 4 * mib), &have, tib), (4 * mib, 4 * mib + tib / 256 - 1));
        assert_eq!(widened(range(u64::MAX - 1, u64::MAX - 1), &[], u64::MAX), (u64::MAX - 1, u64::MAX - 1));
    }
}
