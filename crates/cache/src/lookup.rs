//! The decision: may a stored response answer, must the origin be asked, or is the cache out of the game?
//!
//! Pure but for the registry of fills: a look-up that finds nothing begins a fill, or joins the one that runs. Between the
//! two, a running fill may be stored and end; so who begins one looks once more whether something else is stored by now,
//! under the registry's lock. A fill is stored before it leaves the registry: who does not find it there finds what it
//! brought, and nobody asks for what somebody has just got. (Order of locks: the registry's before the index's. Nobody
//! takes the registry's while holding the index's or that of a change.)

use crate::ask::Ask;
use crate::failing::Advice;
use crate::fill::{Fill, FillReader};
use crate::fills::Begun;
use crate::generations::Standing;
use crate::resource::Resource;
use crate::selection::{Behalf, Selection};
use crate::verdict::{FillWriter, Purpose};
use crate::{Cache, Entry, Meta};
use http::Method;
use kasoku_semantics::credentials::says_who;
use kasoku_semantics::partial::missing;
use kasoku_semantics::policy::Profile;
use kasoku_semantics::range::{ByteRange, ByteRanges, RangeOutcome, range};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::{RequestDirectives, may_look_up, request_directives};
use kasoku_semantics::reuse::{Reuse, reuse};
use kasoku_semantics::vary::variant_key;
use kasoku_wire::RequestHead;
use std::borrow::Cow;
use std::sync::Arc;

/// Decisions about one request. The second finds what a fill has brought that has just ended, the third what a probe has brought
/// after one that failed; after that the origin is asked once too often.
const DECISIONS_MAX: u8 = 3;

/// What a look-up says. Whoever gets a [`FillWriter`] must ask the origin.
pub enum Lookup {
    /// Deliver this, for this reason; where there is a writer, refresh it in the background.
    Hit(Arc<Entry>, Reason, Option<FillWriter>),
    /// Somebody asks already, for this reason: wait for their answer.
    Join(FillReader, Reason),
    /// Ask the origin, for this reason, and write what it says.
    Fill(FillWriter, Reason),
    /// Ask the origin, for this reason, in nobody's name, and wait for it like everybody else: the last who asked got no
    /// answer, which may have been due to what that client sent.
    Probe(FillWriter, FillReader, Reason),
    /// Nobody asks: the origin has just failed for the first reason, and there is nothing stored for the second.
    Failed(Reason, Reason),
    /// Ask the origin for this client alone.
    Pass(Reason),
    /// The client wants a stored response only, and there is none that may be used (RFC 9111 section 5.2.1.7).
    Unavailable(Reason),
}

impl Lookup {
    /// The same, where nothing is stored for that reason.
    #[must_use]
    pub fn missed_for(self, why: Reason) -> Self {
        let named = |reason| if matches!(reason, Reason::UriMiss | Reason::VaryMiss) { why } else { reason };
        match self {
            Self::Join(reader, reason) => Self::Join(reader, named(reason)),
            Self::Fill(writer, reason) => Self::Fill(writer, named(reason)),
            Self::Probe(writer, reader, reason) => Self::Probe(writer, reader, named(reason)),
            Self::Failed(failure, reason) => Self::Failed(failure, named(reason)),
            Self::Pass(reason) => Self::Pass(named(reason)),
            found @ (Self::Hit(..) | Self::Unavailable(_)) => found,
        }
    }
}

impl Cache {
    /// The path of a hit: the stored response, where one may answer at once and nothing else is to be done. It allocates
    /// nothing and begins nothing; `None` says only that [`Cache::look_up`] must decide.
    ///
    /// `ask.request` may be the request as the client sent it, as long as `is_as_sent` says of each field by which
    /// variants are told apart whether the origin would get it unchanged.
    pub fn hit(&self, ask: &Ask<'_>, is_as_sent: impl Fn(&str) -> bool) -> Option<(Arc<Entry>, Reason)> {
        may_look_up(ask.request).ok()?;
        let resource = self.0.memory.value(ask.key.hash(), ask.key.bytes())?;
        if !resource.nominated().all(is_as_sent) {
            return None;
        }
        let entry = resource.select(&ask.request.fields, ask.policy)?;
        let is_good = entry.meta.is_under(ask.policy) && entry.holds(ask.key, &self.0.generations);
        if !is_good || entry.body.elsewhere().is_some() {
            return None;
        }
        let directives = request_directives(&ask.request.fields);
        let reason = match reuse(&entry.meta.freshness, &directives, ask.policy, ask.now) {
            Reuse::Fresh => Reason::Hit,
            Reuse::Stale(reason) => reason,
            Reuse::StaleWhileRevalidate | Reuse::Validate(_) => return None,
        };
        self.covers(ask.request, entry).then(|| (entry.clone(), reason))
    }

    /// Looks up a request.
    pub fn look_up(&self, ask: &Ask<'_>) -> Lookup {
        if let Err(reason) = may_look_up(ask.request) {
            return Lookup::Pass(reason);
        }
        let asked = Asked { ask, directives: &request_directives(&ask.request.fields), decisions: 1 };
        let stored = self.0.memory.value(ask.key.hash(), ask.key.bytes());
        self.decide(asked, stored.as_deref())
    }

    /// Whether a response that another client's fill brought may answer this request as well, without asking again
    /// (RFC 9111 section 4: "provided that it is allowed to reuse that response for the requests in question").
    pub fn may_share(&self, ask: &Ask<'_>, meta: &Meta) -> bool {
        let directives = request_directives(&ask.request.fields);
        meta.is_under(ask.policy)
            && meta.is_selected_by(&ask.request.fields, ask.policy)
            && !matches!(reuse(&meta.freshness, &directives, ask.policy, ask.now), Reuse::Validate(_))
    }

    /// For a request that waited for a fill which turned out to be another variant: joins, or begins, the fill of its own
    /// variant, now that the fields by which the origin chooses are known.
    pub fn look_up_variant(&self, ask: &Ask<'_>, other: &Meta) -> Lookup {
        let mut variant = Vec::new();
        variant_key(&other.nominated, &ask.request.fields, ask.policy, &mut variant);
        let asked = Asked { ask, directives: &request_directives(&ask.request.fields), decisions: 1 };
        self.begin_miss(asked, Missed::variant(&variant), Reason::VaryMiss)
    }

    /// A writer for a request that must not share its answer with anyone who waits: nobody joins it, but what it
    /// brings is stored if it may be.
    pub fn fill_alone(&self, ask: &Ask<'_>) -> FillWriter {
        let fill = self.0.fills.begin_alone(ask.which(&Selection::default(), Behalf::Everybody), ask.tags());
        self.writer(ask, fill, None, Purpose::Miss)
    }

    /// Whether a stored response has all bytes that a request wants.
    pub fn covers(&self, request: &RequestHead, entry: &Entry) -> bool {
        matches!(needed(request, entry), Needed::Stored)
    }

    /// What a request gets when this is stored for its key.
    fn decide(&self, asked: Asked<'_>, stored: Option<&Resource>) -> Lookup {
        let ask = asked.ask;
        match self.judge(ask, asked.directives, stored) {
            Judged::Nothing => {
                let (key, variant) = first_variant(ask);
                self.begin_miss(asked, Missed { seen: None, variant: &variant, key: Some(key) }, Reason::UriMiss)
            }
            Judged::OtherVariants(resource) => {
                let variant = resource.variant_of(&ask.request.fields, ask.policy);
                self.begin_miss(asked, Missed::variant(&variant), Reason::VaryMiss)
            }
            Judged::Gone(entry, reason) => {
                if matches!(reason, Reason::Purged | Reason::Changed | Reason::KeptTooLong) {
                    self.remove(ask.key, entry);
                }
                self.begin_miss(asked, Missed::entry(entry), reason)
            }
            Judged::Kept { was, entry, reuse } => {
                if let Cow::Owned(expired) = &entry {
                    self.replace(ask.key, was, expired.clone(), || true);
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

    /// What is to be thought of what is stored for a key, before anything is done about it.
    pub(crate) fn judge<'r>(
        &self,
        ask: &Ask<'_>,
        directives: &RequestDirectives,
        stored: Option<&'r Resource>,
    ) -> Judged<'r> {
        let Some(resource) = stored else { return Judged::Nothing };
        let Some(was) = resource.select(&ask.request.fields, ask.policy) else {
            return Judged::OtherVariants(resource);
        };
        match self.standing(ask, was) {
            Err(reason) => Judged::Gone(was, reason),
            Ok(entry) => {
                let reuse = reuse(&entry.meta.freshness, directives, ask.policy, ask.now);
                Judged::Kept { was, entry, reuse }
            }
        }
    }

    /// The stored response, as far as purges and changed rules have left it.
    fn standing<'e>(&self, ask: &Ask<'_>, entry: &'e Arc<Entry>) -> Result<Cow<'e, Arc<Entry>>, Reason> {
        if !entry.meta.is_under(ask.policy) {
            return Err(Reason::RulesChanged);
        }
        if entry.meta.freshness.is_past_keeping(ask.policy, ask.now) {
            return Err(Reason::KeptTooLong);
        }
        let (standing, epoch) = entry.standing(ask.key, &self.0.generations);
        match standing {
            Standing::Valid => Ok(Cow::Borrowed(entry)),
            Standing::Gone => Err(Reason::Purged),
            Standing::Changed => Err(Reason::Changed),
            Standing::Stale(since) => Ok(Cow::Owned(Arc::new(self.expired(entry, ask.key, since, epoch)))),
        }
    }

    fn usable(&self, asked: Asked<'_>, entry: &Arc<Entry>, reason: Reason) -> Lookup {
        match needed(asked.ask.request, entry) {
            Needed::Stored => Lookup::Hit(entry.clone(), reason, None),
            Needed::More(_) if entry.body.complete_length() > Some(self.0.limits.object_bytes_max) => {
                self.begin_miss(asked, Missed::entry(entry), Reason::PartialMiss)
            }
            Needed::More(missing) => self.begin_completion(asked, entry, missing),
            Needed::Unknown => self.begin_miss(asked, Missed::entry(entry), Reason::PartialMiss),
        }
    }

    fn usable_and_refresh(&self, asked: Asked<'_>, entry: &Arc<Entry>) -> Lookup {
        let ask = asked.ask;
        if !matches!(needed(ask.request, entry), Needed::Stored) {
            return self.begin_validation(asked, entry, Reason::Stale);
        }
        let selection = Selection::whole(&entry.meta.variant);
        let may_refresh = ask.request.method == Method::GET && !asked.directives.no_store;
        let refresh = (may_refresh && !self.is_backing_off(ask, &selection)).then(|| {
            let reason = Reason::HitStaleWhileRevalidate;
            let wanted = Wanted::joinable(selection, Some(entry), Purpose::Validate, reason);
            self.advise(asked, wanted).unwrap_or_else(|wanted| self.begin(asked, &wanted))
        });
        match refresh {
            Some(
                Lookup::Fill(writer, reason @ Reason::HitStaleWhileRevalidate)
                | Lookup::Probe(writer, _, reason @ Reason::HitStaleWhileRevalidate),
            ) => Lookup::Hit(entry.clone(), reason, Some(writer)),
            None
            | Some(
                Lookup::Join(_, Reason::HitStaleWhileRevalidate) | Lookup::Failed(_, Reason::HitStaleWhileRevalidate),
            ) => Lookup::Hit(entry.clone(), Reason::HitStaleWhileRevalidate, None),
            Some(decided_anew) => decided_anew,
        }
    }

    fn begin_miss(&self, asked: Asked<'_>, missed: Missed<'_>, reason: Reason) -> Lookup {
        let Asked { ask, directives, .. } = asked;
        let Missed { seen, variant, key } = missed;
        if let Some(no_fill) = no_fill(asked, reason) {
            return no_fill;
        }
        if let Some(reason) = self.no_page(ask) {
            return Lookup::Pass(reason);
        }
        let range = ask.request.fields.combined("range");
        if range.is_some() && ask.request.fields.contains("if-range") {
            // Its answer depends on a validator that we do not know.
            return Lookup::Pass(Reason::IfRangeMiss);
        }
        let whole = Selection::whole(variant);
        if range.is_some()
            && let Some(reader) = self.0.fills.join(ask.which(&whole, Behalf::Everybody))
        {
            return Lookup::Join(reader, reason);
        }
        let is_joinable = !(directives.no_cache && ask.policy.client_may_revalidate);
        let selection = Selection::of_request(variant, range.as_deref());
        let wanted = Wanted::joinable(selection, seen, Purpose::Miss, reason);
        self.begin_among_equals(asked, Wanted { is_joinable, key, ..wanted })
    }

    fn begin_validation(&self, asked: Asked<'_>, entry: &Arc<Entry>, reason: Reason) -> Lookup {
        let selection = Selection::whole(&entry.meta.variant);
        if let Some(reason) = self.stale_meanwhile(asked.ask, asked.directives, entry, &selection) {
            return Lookup::Hit(entry.clone(), reason, None);
        }
        if let Some(no_fill) = no_fill(asked, reason) {
            return no_fill;
        }
        if !entry.body.is_complete() {
            return self.begin_miss(asked, Missed::entry(entry), reason);
        }
        let is_joinable = is_joined_validation(reason);
        let wanted = Wanted::joinable(selection, Some(entry), Purpose::Validate, reason);
        self.begin_among_equals(asked, Wanted { is_joinable, ..wanted })
    }

    fn begin_completion(&self, asked: Asked<'_>, entry: &Arc<Entry>, missing: ByteRange) -> Lookup {
        let reason = Reason::PartialMiss;
        if let Some(no_fill) = no_fill(asked, reason) {
            return no_fill;
        }
        let selection = Selection::missing(missing, entry);
        let wanted = Wanted::joinable(selection, Some(entry), Purpose::Complete(missing), reason);
        self.begin_among_equals(asked, wanted)
    }

    /// What an anonymous request brings may be for anybody; what a visitor's brings, in profile safe, hardly ever. So
    /// visitors wait for anonymous ones and for each other, and anonymous ones never wait for a visitor.
    fn begin_among_equals(&self, asked: Asked<'_>, mut wanted: Wanted<'_>) -> Lookup {
        let ask = asked.ask;
        let is_visitor = ask.policy.profile == Profile::Safe && says_who(&ask.request.fields, ask.policy);
        wanted.is_joinable &= !self.0.known_private.contains(ask.key.hash(), is_visitor, ask.now);
        if wanted.is_joinable {
            match self.advise(asked, wanted) {
                Ok(advised) => return advised,
                Err(as_ever) => wanted = as_ever,
            }
        }
        if is_visitor {
            if wanted.is_joinable
                && let Some(reader) = self.0.fills.join(ask.which(&wanted.selection, Behalf::Everybody))
            {
                return Lookup::Join(reader, wanted.reason);
            }
            wanted.behalf = Behalf::Visitors;
        }
        self.begin(asked, &wanted)
    }

    /// What follows from the last failure; or, when nothing does, the fill as it was wanted.
    fn advise<'w>(&self, asked: Asked<'_>, wanted: Wanted<'w>) -> Result<Lookup, Wanted<'w>> {
        let stored = wanted.seen.map(Arc::as_ref);
        match self.advice(asked.ask, asked.directives, &wanted.selection, stored) {
            Advice::Refuse(reason) => Ok(Lookup::Failed(reason, wanted.reason)),
            Advice::Probe if wanted.kept().is_some() => {
                Ok(self.begin(asked, &Wanted { behalf: Behalf::Nobody, ..wanted }))
            }
            Advice::Probe | Advice::Ask => Err(wanted),
        }
    }

    fn begin(&self, asked: Asked<'_>, wanted: &Wanted<'_>) -> Lookup {
        let Asked { ask, decisions, .. } = asked;
        // Who may not join wants nothing of what another has brought either.
        let may_have_changed = wanted.is_joinable && decisions < DECISIONS_MAX;
        let changed = || {
            let stored = || self.stored_since(ask, wanted.seen).map(Some);
            if may_have_changed { stored().or_else(|| self.failed_since(ask, wanted)) } else { None }
        };
        match self.0.fills.begin(
            ask.which(&wanted.selection, wanted.behalf),
            wanted.is_joinable,
            || ask.tags(),
            changed,
        ) {
            Begun::Running(reader) => Lookup::Join(reader, wanted.reason),
            Begun::Needless(stored) => self.decide(Asked { decisions: decisions + 1, ..asked }, stored.as_deref()),
            Begun::New(fill) => {
                let base = wanted.seen.filter(|_| wanted.purpose != Purpose::Miss).cloned();
                let probe = wanted.kept().filter(|_| wanted.is_probe()).map(|kept| (kept, fill.reader()));
                let writer = self.writer(ask, fill, base, wanted.purpose);
                match probe {
                    Some((kept, reader)) => Lookup::Probe(writer.probe(kept), reader, wanted.reason),
                    None => Lookup::Fill(writer, wanted.reason),
                }
            }
        }
    }

    /// What is stored for the key, if it has another response for this request than the one that was seen.
    fn stored_since(&self, ask: &Ask<'_>, seen: Option<&Arc<Entry>>) -> Option<Arc<Resource>> {
        let stored = self.0.memory.value(ask.key.hash(), ask.key.bytes())?;
        let entry = stored.select(&ask.request.fields, ask.policy)?;
        (!seen.is_some_and(|seen| Arc::ptr_eq(seen, entry))).then_some(stored)
    }

    /// Why a request passes, where the application has said a moment ago that there is no page for everybody, and nothing has changed since.
    fn no_page(&self, ask: &Ask<'_>) -> Option<Reason> {
        let (reason, since) = self.0.known_private.passes(ask.key.hash(), ask.now)?;
        let standing = self.0.generations.standing(ask.key.bytes(), ask.tags().as_deref(), since);
        (standing == Standing::Valid).then_some(reason)
    }

    /// What is stored for the key, if anything, where a fill of the same has failed since the decision was made.
    fn failed_since(&self, ask: &Ask<'_>, wanted: &Wanted<'_>) -> Option<Option<Arc<Resource>>> {
        let is_news = if wanted.is_probe() {
            wanted.seen.is_some() && self.is_backing_off(ask, &wanted.selection)
        } else {
            wanted.kept().is_some() && self.is_failing(ask, &wanted.selection)
        };
        is_news.then(|| self.0.memory.value(ask.key.hash(), ask.key.bytes()))
    }

    fn writer(&self, ask: &Ask<'_>, fill: Arc<Fill>, base: Option<Arc<Entry>>, purpose: Purpose) -> FillWriter {
        FillWriter::new(self.clone(), fill, ask.key.clone(), ask.policy.clone(), base, purpose)
    }
}

/// What is to be thought of what is stored for a request.
pub(crate) enum Judged<'r> {
    /// There is nothing.
    Nothing,
    /// There are responses, and none for such a request.
    OtherVariants(&'r Resource),
    /// There is one that must not be used any more, for this reason.
    Gone(&'r Arc<Entry>, Reason),
    /// There is one that can be used in that way: as it was stored, or as a soft purge has left it.
    Kept { was: &'r Arc<Entry>, entry: Cow<'r, Arc<Entry>>, reuse: Reuse },
}

/// A decision in the making.
#[derive(Clone, Copy)]
struct Asked<'a> {
    ask: &'a Ask<'a>,
    directives: &'a RequestDirectives,
    /// How many were made, this one included; the ones before came too late.
    decisions: u8,
}

/// What a request has missed.
struct Missed<'a> {
    /// What is stored and of no use.
    seen: Option<&'a Arc<Entry>>,
    /// The variant that it wants, as far as that is known.
    variant: &'a [u8],
    /// See [`Wanted::key`].
    key: Option<Vec<String>>,
}

impl<'a> Missed<'a> {
    fn entry(entry: &'a Arc<Entry>) -> Self {
        Self { seen: Some(entry), variant: &entry.meta.variant, key: None }
    }

    fn variant(variant: &'a [u8]) -> Self {
        Self { seen: None, variant, key: None }
    }
}

/// A fill that a request needs.
struct Wanted<'a> {
    selection: Selection,
    behalf: Behalf,
    is_joinable: bool,
    /// The stored response that the decision was made with.
    seen: Option<&'a Arc<Entry>>,
    /// The fields that the variant is made of, where nothing is stored and the policy tells.
    key: Option<Vec<String>>,
    purpose: Purpose,
    reason: Reason,
}

impl<'a> Wanted<'a> {
    /// One on behalf of everybody, which others may join.
    fn joinable(selection: Selection, seen: Option<&'a Arc<Entry>>, purpose: Purpose, reason: Reason) -> Self {
        Self { selection, behalf: Behalf::Everybody, is_joinable: true, seen, key: None, purpose, reason }
    }

    fn is_probe(&self) -> bool {
        self.behalf == Behalf::Nobody
    }

    /// The fields of the request that its variant is made of, where that is known.
    fn kept(&self) -> Option<&[String]> {
        match (self.seen, &self.key) {
            (Some(entry), _) => Some(&entry.meta.nominated),
            (None, Some(key)) => Some(key),
            (None, None) => self.selection.variant.is_empty().then_some(&[]),
        }
    }
}

/// The variant that a request wants of a key of which nothing is stored, and the fields that it is made of: what the policy has in
/// the key in any case.
pub(crate) fn first_variant(ask: &Ask<'_>) -> (Vec<String>, Vec<u8>) {
    let (key, mut variant) = (ask.policy.grant.key(), Vec::new());
    variant_key(&key, &ask.request.fields, ask.policy, &mut variant);
    (key, variant)
}

/// Why the origin may not be asked on behalf of all: the client wants a stored response or none, nothing may be stored, or
/// there will be no body.
fn no_fill(asked: Asked<'_>, reason: Reason) -> Option<Lookup> {
    let reason = without_fill(asked.ask.request, asked.directives, reason)?;
    Some(if reason == Reason::OnlyIfCachedMiss { Lookup::Unavailable(reason) } else { Lookup::Pass(reason) })
}

/// The reason for which such a request gets no fill, if it gets none; `reason` is why it would need one.
pub(crate) fn without_fill(request: &RequestHead, directives: &RequestDirectives, reason: Reason) -> Option<Reason> {
    if directives.only_if_cached {
        return Some(Reason::OnlyIfCachedMiss);
    }
    if directives.no_store {
        return Some(Reason::RequestNoStore);
    }
    (request.method == Method::HEAD).then_some(reason)
}

/// Whether one validation for this reason is for all who ask meanwhile. A client that wants one of its own must not get the
/// result of one that began before it asked, and a response that must be validated each time can't be shared.
pub(crate) fn is_joined_validation(reason: Reason) -> bool {
    matches!(reason, Reason::Stale | Reason::StaleMustRevalidate | Reason::NoLifetime)
}

/// How much of what a request wants is stored.
enum Needed {
    Stored,
    More(ByteRange),
    Unknown,
}

fn needed(request: &RequestHead, entry: &Entry) -> Needed {
    if entry.body.is_complete() {
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
        [only] => missing(&have, *only).map_or(Needed::Stored, Needed::More),
        several if several.iter().all(|range| entry.body.covers(*range)) => Needed::Stored,
        _ => Needed::Unknown,
    }
}
