//! Decides what the origin's answer means for a fill.
//!
//! A [`FillWriter`] makes the request for the origin ([`FillWriter::prepare`]), and judges the head that comes back. Here a 304 refreshes
//! a stale response, stale-if-error takes effect, a response turns out to be private, and parts are combined.

mod external_body;
mod head;

use crate::disk::{DiskBase, DiskPart};
use crate::failing::was_never_sent;
use crate::fill::Fill;
use crate::generations::{Epoch, Purge};
use crate::hit_for_miss::AskedKey;
use crate::refusals::StoreRefusal;
use crate::save::{PartOf, combined_meta, without_range};
use crate::selection::{FillId, RequestedFor, Selection};
use crate::shared_request::SharedRequest;
use crate::tags::Tags;
use crate::{BodyWriter, Cache, Entry, Key, Meta};
use http::StatusCode;
use kasoku_semantics::Validators;
use kasoku_semantics::anonymous_request::{remove_cache_directives, remove_client_fields};
use kasoku_semantics::credentials::{has_unkeyed_credentials, may_share};
use kasoku_semantics::downstream::announce_lifetime;
use kasoku_semantics::effective::nominated;
use kasoku_semantics::freshness::{Freshness, LifetimeSource, freshness};
use kasoku_semantics::hop_by_hop::strip_hop_by_hop;
use kasoku_semantics::partial::{PartialContent, combinable, part, range_value};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::request_directives;
use kasoku_semantics::reuse::{OriginFailure, stale_on_failure};
use kasoku_semantics::storable::storable;
use kasoku_semantics::stored_fields::fields_to_store;
use kasoku_semantics::tags::Excepted;
use kasoku_semantics::time::Now;
use kasoku_semantics::validation::{Freshened, freshen, freshness_after_validation, make_conditional};
use kasoku_semantics::validators::withhold;
use kasoku_semantics::vary::{Vary, variant_key, vary};
use kasoku_store::disk::StoredBody;
use kasoku_wire::{RequestHead, ResponseHead};
use std::sync::Arc;

/// The longest body of which parts are stored on disk, in bytes. No file is longer, and sums of offsets in it do not overflow.
const COMPLETE_LENGTH_MAX: u64 = i64::MAX as u64;

/// The writing end of a fill before its response's head is known. Its holder must ask the origin. Dropping it fails the fill.
pub struct FillWriter {
    cache: Cache,
    fill: Option<Arc<Fill>>,
    request: SharedRequest,
    /// The request as it was sent, once [`FillWriter::prepare`] has made it.
    sent: Option<Arc<RequestHead>>,
    base: Option<Arc<Entry>>,
    purpose: FetchPurpose,
    /// For a probe: the request fields that make its variant.
    kept: Vec<String>,
    /// The tag templates whose exception text occurs in the page.
    excepted: Excepted,
    /// See [`FillWriter::pass_if_private`].
    passes_if_private: bool,
    /// See [`FillWriter::on_soft_error`].
    lives_seconds: Option<u64>,
}

/// Why the fill asks the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchPurpose {
    /// No usable response is stored.
    Miss,
    /// The stored response must be validated.
    Validate,
    /// These bytes of the stored response are missing.
    Complete(ByteRange),
}

/// One exchange with the origin.
#[derive(Clone, Copy)]
pub struct OriginExchange<'a> {
    /// The head of the final response.
    pub response: &'a ResponseHead,
    /// When the request was sent.
    pub request_time: Now,
    /// When the head was received.
    pub response_time: Now,
    /// The length of the body, where the framing tells it.
    pub body_length: Option<u64>,
    /// Whether Kasoku itself read the body from a file. Then its validators belong to these bytes.
    pub is_file: bool,
}

/// What becomes of the origin's answer.
pub enum Verdict {
    /// The response may be shared: write its body into the fill.
    Write(BodyWriter),
    /// This stored response answers the client that asked; the origin's body is of no use.
    Settled(Arc<Entry>, Reason),
    /// The origin's answer goes to the client that asked, as it is. The entry that was made of it answers the requests that wait, and
    /// later ones if it is stored.
    External {
        /// Whether the entry is stored.
        is_stored: bool,
    },
    /// The origin's answer goes only to the client that asked.
    Private(Reason),
    /// The answer is of no use: prepare the request anew and ask once more.
    AskAgain(FillWriter),
}

impl FillWriter {
    pub(crate) fn new(
        cache: Cache,
        fill: Arc<Fill>,
        request: SharedRequest,
        base: Option<Arc<Entry>>,
        purpose: FetchPurpose,
    ) -> Self {
        let (fill, kept, excepted) = (Some(fill), Vec::new(), Excepted::default());
        let (passes_if_private, lives_seconds) = (false, None);
        Self { cache, fill, request, sent: None, base, purpose, kept, excepted, passes_if_private, lives_seconds }
    }

    /// Makes it a probe: of the client's fields it sends only `kept`.
    pub(crate) fn probe(mut self, kept: &[String]) -> Self {
        self.kept = kept.to_vec();
        self
    }

    /// Makes it a writer that refreshes `stale` in the background, while the client gets the stale response.
    pub(crate) fn in_the_background(mut self, stale: &Meta) -> Self {
        self.request = self.request.to_refresh(stale);
        self
    }

    /// The request lacks what its client sent about itself, so the client asks once more if the response may not be shared. Then requests for
    /// the key pass for a minute, so that the origin is not always asked twice: if the answer says that the next one will not be for all
    /// either. An error of the server or of this one request says nothing of that. If there is no response, the clients that wait ask for
    /// themselves, and the failure is not remembered.
    pub fn pass_if_private(&mut self) {
        self.passes_if_private = true;
    }

    /// The request that this fill is for.
    pub fn request(&self) -> &SharedRequest {
        &self.request
    }

    /// The request to send. The client's conditions name what the client has; these name what the cache has.
    pub fn prepare(&mut self) -> Arc<RequestHead> {
        let mut head = self.request.head().clone();
        self.set_conditions(&mut head);
        remove_cache_directives(&mut head.fields, &self.policy().grant);
        let sent = Arc::new(head);
        self.sent = Some(sent.clone());
        sent
    }

    fn set_conditions(&self, request: &mut RequestHead) {
        if self.fill.as_ref().is_some_and(|fill| fill.is_probe()) {
            remove_client_fields(&mut request.fields, &self.kept);
        }
        if let Some(base) = self.validated() {
            request.fields.remove("range");
            request.fields.remove("if-range");
            make_conditional(request, &base.meta.origin_head(self.policy()));
            return;
        }
        for condition in ["if-none-match", "if-modified-since"] {
            request.fields.remove(condition);
        }
        if let (FetchPurpose::Complete(missing), Some(base)) = (self.purpose, &self.base) {
            request.fields.remove("if-range");
            request.fields.set("Range", range_value(missing, base.body.complete_length()));
            let said = base.meta.origin_head(self.policy());
            if let Some(etag) = said.fields.only("etag").filter(|tag| !tag.starts_with(b"W/")) {
                request.fields.push("If-Range", etag);
            }
        }
    }

    /// The request as it was sent to the origin.
    pub(crate) fn sent(&self) -> &RequestHead {
        self.sent.as_deref().unwrap_or(self.request.head())
    }

    /// Judges the origin's head.
    pub fn on_response(mut self, exchange: &OriginExchange<'_>) -> Verdict {
        let status = exchange.response.status;
        if status == StatusCode::NOT_MODIFIED {
            return self.on_not_modified(exchange);
        }
        let failure = OriginFailure::ServerError(status);
        if let Some(settled) = self.settle_stale(failure, Reason::HitStaleError, exchange.response_time) {
            return settled;
        }
        if status == StatusCode::PARTIAL_CONTENT {
            return self.on_part(exchange);
        }
        if status == StatusCode::RANGE_NOT_SATISFIABLE && self.purpose != FetchPurpose::Miss {
            return self.ask_again();
        }
        self.on_whole(exchange)
    }

    /// Whether the response would be stored, as far as its head tells.
    pub fn would_store(&self, exchange: &OriginExchange<'_>) -> bool {
        match exchange.response.status {
            StatusCode::NOT_MODIFIED => false,
            // Whether a part goes to disk depends on the parts that are stored.
            StatusCode::PARTIAL_CONTENT => self.storable_meta(exchange).is_ok_and(|meta| {
                let may_spool = self.cache.may_spool(exchange.body_length.unwrap_or(0));
                may_spool || self.cache.has_place_for(&meta, exchange).is_ok()
            }),
            _ => self.may_store(exchange).is_ok(),
        }
    }

    /// Notes that the page was scanned and contains the exception texts of these tag templates.
    pub fn set_excepted_tags(&mut self, excepted: Excepted) {
        self.excepted = excepted;
    }

    /// The response is only for the client that asked, for a reason outside its head.
    pub fn for_one_client(self, exchange: &OriginExchange<'_>, reason: Reason) -> Verdict {
        self.private(exchange, reason)
    }

    /// The answer is the application's outage page, whatever its status. As after a server error, a stored response may answer, and stays
    /// stored.
    pub fn on_outage(mut self, exchange: &OriginExchange<'_>) -> Verdict {
        let failure = OriginFailure::ServerError(StatusCode::SERVICE_UNAVAILABLE);
        if let Some(settled) = self.settle_stale(failure, Reason::HitStaleError, exchange.response_time) {
            return settled;
        }
        self.remember_refusal(exchange, Reason::Outage);
        self.end(|fill| fill.release(Reason::Outage));
        Verdict::Private(Reason::Outage)
    }

    /// The answer may be an error that says 200. If it is stored, it lives `seconds`. `is_outage`: the application has failed, so a stored
    /// response goes first, as after a server error.
    pub fn on_soft_error(mut self, exchange: &OriginExchange<'_>, seconds: u64, is_outage: bool) -> Verdict {
        let failure = OriginFailure::ServerError(StatusCode::SERVICE_UNAVAILABLE);
        if is_outage && let Some(settled) = self.settle_stale(failure, Reason::HitStaleError, exchange.response_time) {
            return settled;
        }
        self.lives_seconds = Some(seconds);
        self.on_response(exchange)
    }

    /// The stored response that the answer may replace.
    pub fn replaces(&self) -> Option<&Entry> {
        self.base.as_deref().filter(|base| base.body.is_complete())
    }

    /// The body came too slowly to be scanned, or there was no memory for the scan. A stored response may answer, and stays stored.
    /// Otherwise the response is only for the client that asked.
    pub fn on_late(mut self, exchange: &OriginExchange<'_>, reason: Reason) -> Verdict {
        match self.settle_stale(OriginFailure::Disconnected, reason, exchange.response_time) {
            Some(settled) => settled,
            None => self.private(exchange, reason),
        }
    }

    /// There was no response. A stored response may answer; otherwise all requests that wait get the failure.
    pub fn on_failure(mut self, reason: Reason, now: Now) -> Result<(Arc<Entry>, Reason), Reason> {
        if let Some(Verdict::Settled(entry, served)) = self.settle_stale(OriginFailure::Disconnected, reason, now) {
            return Ok((entry, served));
        }
        if self.passes_if_private {
            // A visitor's own request may fare better. So the failure is reported to no other client, and no client waits for such a fill.
            let has_credentials = has_unkeyed_credentials(&self.sent().fields, self.policy());
            self.cache.0.hit_for_miss.remember(self.asked_key(), has_credentials, now);
            self.end(|fill| fill.release(reason));
            return Err(reason);
        }
        if !was_never_sent(reason) {
            self.remember(OriginFailure::Disconnected, reason, now);
        }
        self.end(|fill| fill.fail(reason));
        Err(reason)
    }

    /// The origin is not asked, since this client may not begin a fetch. The stored response answers, if it may be served stale. The
    /// requests that wait ask for themselves, and nothing is remembered: the origin has not failed.
    pub fn decline(mut self, reason: Reason, now: Now) -> Option<Arc<Entry>> {
        let base = self.base.clone().filter(|base| base.body.is_complete() && !self.is_dropped());
        let directives = request_directives(&self.request.head().fields);
        self.end(|fill| fill.release(reason));
        base.filter(|base| {
            let failure = OriginFailure::Disconnected;
            stale_on_failure(&base.meta.freshness, &directives, failure, self.policy(), now).is_ok()
        })
    }

    /// Whether its key was invalidated since the fill began: then its response will not be stored.
    pub fn is_poisoned(&self) -> bool {
        self.fill().is_some_and(|fill| fill.is_poisoned())
    }

    pub(crate) fn fill(&self) -> Option<&Arc<Fill>> {
        self.fill.as_ref()
    }

    /// The fill ends: its request was for one client alone after all.
    pub fn release(mut self, reason: Reason) {
        self.end(|fill| fill.release(reason));
    }

    /// The fill ends with a stored response, which answers all requests that wait.
    pub(crate) fn settle(mut self, entry: Arc<Entry>, reason: Reason) {
        self.forget();
        self.end(|fill| fill.settle(entry, reason));
    }

    /// The stored response that the fill validates, if it does. What may be an error is fetched anew: a 304 would say nothing of that.
    pub(crate) fn validated(&self) -> Option<&Arc<Entry>> {
        let may_validate = self.purpose == FetchPurpose::Validate;
        self.base.as_ref().filter(|base| may_validate && base.meta.freshness.source != LifetimeSource::SoftError)
    }

    pub(crate) fn purpose(&self) -> FetchPurpose {
        self.purpose
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(crate) fn key(&self) -> &Key {
        self.request.key()
    }

    fn asked_key(&self) -> AskedKey {
        self.cache.asked_key(self.key(), self.policy())
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.request.policy()
    }

    fn on_not_modified(mut self, exchange: &OriginExchange<'_>) -> Verdict {
        self.forget();
        let Some(base) = self.validated().cloned() else {
            return self.private(exchange, Reason::StatusNotModified);
        };
        let now = exchange.response_time;
        let stored = base.meta.origin_head(self.policy());
        let head = match freshen(&stored, exchange.response, now, self.policy()) {
            Freshened::Updated(head) => head,
            Freshened::Drop(reason) => {
                if !has_unkeyed_credentials(&self.sent().fields, self.policy()) {
                    self.remove_everywhere(&base);
                }
                return self.settle_for_one(&base, exchange, reason);
            }
        };
        // The answer to one visitor must not change the shared response, nor may a visitor drop it.
        if let Err(reason) = may_share(self.sent(), &head, self.policy()) {
            return self.settle_for_one(&base, exchange, reason);
        }
        let meta = self.refreshed(&base, head, exchange);
        if base.body.external_body().is_some() && !meta.freshness.is_explicit() {
            // The 304 no longer states a lifetime for the file.
            if !has_unkeyed_credentials(&self.sent().fields, self.policy()) {
                self.cache.remove(self.key(), &base);
            }
            return self.settle_for_one(&base, exchange, Reason::Sendfile);
        }
        let entry = Arc::new(Entry::new(Arc::new(meta), base.body.clone(), self.key(), &self.cache.0.budget));
        let fill = self.fill.clone();
        self.cache.replace(self.key(), &base, entry.clone(), || fill.is_some_and(|fill| !fill.is_poisoned()));
        let settled = entry.clone();
        self.end(|fill| fill.settle(settled, Reason::Revalidated));
        Verdict::Settled(entry, Reason::Revalidated)
    }

    /// The stored response with the fields that the 304 had for this visitor answers the request that asked. The requests that wait ask
    /// for themselves.
    fn settle_for_one(mut self, base: &Entry, exchange: &OriginExchange<'_>, reason: Reason) -> Verdict {
        self.end(|fill| fill.release(reason));
        let mut said = exchange.response.fields.clone();
        strip_hop_by_hop(&mut said);
        if base.meta.validators() == Validators::OwnTag {
            said.remove("last-modified");
        }
        said.retain(|name, _| !OF_THE_STORED_BYTES.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes())));
        let mut head = base.meta.head.clone();
        let is_said = |name: &[u8]| said.iter().any(|(one, _)| one.eq_ignore_ascii_case(name));
        head.fields.retain(|name, _| !is_said(name));
        head.fields.extend(&said);
        let meta = Arc::new(Meta { head, ..(*base.meta).clone() });
        Verdict::Settled(Arc::new(Entry::new(meta, base.body.clone(), self.key(), &self.cache.0.budget)), reason)
    }

    /// The stored response with the fields and the times of a 304.
    fn refreshed(&self, base: &Entry, mut head: ResponseHead, exchange: &OriginExchange<'_>) -> Meta {
        let OriginExchange { response, request_time, response_time, .. } = *exchange;
        let request = self.sent();
        let freshness =
            freshness_after_validation(request, &head, response, request_time, response_time, self.policy());
        announce_lifetime(request, &mut head, &freshness, self.policy());
        let withheld = base.meta.withheld.as_ref().map(|_| {
            let said = withhold(request, &mut head, response_time);
            // The bytes have not changed, so their tag has not either.
            if let Some(own) = base.meta.head.fields.only("etag") {
                head.fields.push("ETag", own);
            }
            Box::new(said)
        });
        // The origin has confirmed the body too, so it is as recent as this request.
        let (epoch, rules) = (self.epoch(), self.policy().rules);
        Meta { head, freshness, withheld, epoch, rules, ..(*base.meta).clone() }
    }

    fn settle_stale(&mut self, failure: OriginFailure, failed: Reason, now: Now) -> Option<Verdict> {
        let base = self.base.clone().filter(|base| base.body.is_complete() && !self.is_dropped())?;
        let directives = request_directives(&self.sent().fields);
        let reason = stale_on_failure(&base.meta.freshness, &directives, failure, self.policy(), now).ok()?;
        // Remembered before the other requests are told, so that their next look-ups find it.
        self.remember(failure, failed, now);
        let settled = base.clone();
        self.end(|fill| fill.settle(settled, reason));
        Some(Verdict::Settled(base, reason))
    }

    /// Whether a purge or a write since the fill began has dropped the stored response, so that no client may get it any more. A response
    /// that was only made stale may still be served.
    fn is_dropped(&self) -> bool {
        self.fill.as_ref().is_some_and(|fill| {
            fill.is_dropped_by_purge()
                || (fill.is_poisoned() && self.cache.0.memory.value(self.key().hash(), self.key().bytes()).is_none())
        })
    }

    fn remember(&self, failure: OriginFailure, reason: Reason, now: Now) {
        if let Some(fill) = &self.fill {
            self.cache.on_failed_fill(fill, failure, reason, self.policy(), now);
        }
    }

    /// The origin has answered, and not with an error for which a stored response stands in: forgets the last failure.
    fn forget(&self) {
        if let Some(fill) = &self.fill {
            self.cache.on_answered_fill(fill);
        }
    }

    fn on_part(self, exchange: &OriginExchange<'_>) -> Verdict {
        let part = part(exchange.response, exchange.body_length);
        if let (FetchPurpose::Complete(missing), Some(base)) = (self.purpose, self.base.clone()) {
            return match part {
                Ok(part)
                    if part.range == missing
                        && belongs(&base, (self.sent(), exchange.response), self.policy(), &part) =>
                {
                    let body_length = Some(part.range.length());
                    self.complete(base, part, &OriginExchange { body_length, ..*exchange })
                }
                _ => self.ask_again(),
            };
        }
        let part = match part {
            Ok(part) if self.sent().fields.contains("range") => part,
            Ok(_) => return self.private(exchange, Reason::RequestSpecificStatus),
            Err(reason) => return self.private(exchange, reason),
        };
        let body_length = Some(part.range.length());
        let exchange = &OriginExchange { body_length, ..*exchange };
        let meta = match self.storable_meta(exchange) {
            Ok(meta) => meta,
            Err(reason) => return self.private(exchange, reason),
        };
        if let Some(part) = self.part_on_disk(&meta, exchange.response, part) {
            return self.start(meta, Some(PartOf::OnDisk(Box::new(part))), body_length);
        }
        match self.cache.has_place_for(&meta, exchange) {
            Ok(()) => self.start(meta, Some(PartOf::Alone(part)), body_length),
            Err(reason) => self.private(exchange, reason),
        }
    }

    /// The origin has sent the bytes that the stored response lacks.
    fn complete(self, base: Arc<Entry>, part: PartialContent, exchange: &OriginExchange<'_>) -> Verdict {
        let is_on_disk = base.body.stored_body().is_some();
        let may_store = if is_on_disk { self.storable_meta(exchange) } else { self.may_store(exchange) };
        let Ok(meta) = may_store else { return self.ask_again() };
        let (nominated, variant) = (base.meta.nominated.clone(), base.meta.variant.clone());
        let epoch = base.meta.epoch.min(meta.epoch);
        let meta = Meta { nominated, variant, epoch, ..meta };
        if !is_on_disk {
            return self.write(Arc::new(meta), Some(PartOf::Completing { base, part }), exchange.body_length);
        }
        // A reader of an earlier fill may have found that the stored bytes are damaged.
        if base.body.stored_body().is_some_and(StoredBody::is_dropped) {
            self.cache.remove(self.key(), &base);
            return self.ask_again();
        }
        let is_taken = self.cache.may_spool(part.range.length());
        let base = DiskBase::open(&base).filter(|_| is_taken).zip(complete_length(&part));
        let Some((base, complete_length)) = base else { return self.ask_again() };
        base.open.count_hit();
        let meta = of_length(combined_meta(&base.entry.meta, &meta, self.policy()), complete_length);
        let base = Some(base);
        let part = DiskPart { part, complete_length, base, meta: Arc::new(meta.clone()), completes: true };
        self.start(meta, Some(PartOf::OnDisk(Box::new(part))), exchange.body_length)
    }

    /// The part as it goes to disk, if it does: where other parts of the representation are there, and where memory does not take it.
    fn part_on_disk(&self, meta: &Meta, response: &ResponseHead, part: PartialContent) -> Option<DiskPart> {
        let (complete_length, bytes) = (complete_length(&part)?, part.range.length());
        if !self.cache.may_spool(bytes) || meta.validators() != Validators::Any {
            return None;
        }
        let resource = self.cache.0.memory.value(self.key().hash(), self.key().bytes());
        let is_of_one = |stored: &&Arc<Entry>| {
            stored.meta.is_under(self.policy())
                && stored.holds(self.key(), &self.cache.0.generations)
                && belongs(stored, (self.sent(), response), self.policy(), &part)
        };
        let stored = resource.as_ref().and_then(|resource| resource.same_variant(meta)).filter(is_of_one);
        let base = stored.and_then(DiskBase::open);
        // Small parts of a large representation are in memory until they are too many.
        let in_memory =
            stored.filter(|stored| stored.body.is_in_memory()).map_or(0, |stored| stored.body.stored_bytes());
        let bytes_max = self.cache.0.limits.object_bytes_max.saturating_sub(meta.memory_bytes());
        if base.is_none() && bytes.max(in_memory.saturating_add(bytes).min(complete_length)) <= bytes_max {
            return None;
        }
        let stored_meta = match &base {
            Some(base) => combined_meta(&base.entry.meta, meta, self.policy()),
            None => without_range(meta),
        };
        let meta = Arc::new(of_length(stored_meta, complete_length));
        Some(DiskPart { part, complete_length, base, meta, completes: false })
    }

    //= RFC 9111 section 4.3.3
    //# Instead, the cache MUST use the full response to satisfy the request.
    fn on_whole(self, exchange: &OriginExchange<'_>) -> Verdict {
        if exchange.response.status == StatusCode::RANGE_NOT_SATISFIABLE {
            return self.private(exchange, Reason::RangeUnsatisfiable);
        }
        match self.may_store(exchange) {
            Ok(meta) => self.start(meta, None, exchange.body_length),
            Err(reason) => self.private(exchange, reason),
        }
    }

    pub(crate) fn may_store(&self, exchange: &OriginExchange<'_>) -> Result<Meta, Reason> {
        let meta = self.storable_meta(exchange)?;
        self.cache.has_place_for(&meta, exchange)?;
        Ok(meta)
    }

    /// The same, wherever there may be a place for it.
    fn storable_meta(&self, exchange: &OriginExchange<'_>) -> Result<Meta, Reason> {
        let tags = self.tags().map(|tags| tags.of_page(self.excepted));
        let OriginExchange { response, request_time, response_time, .. } = *exchange;
        let mut freshness = freshness(self.sent(), response, request_time, response_time, self.policy());
        if let Some(seconds) = self.lives_seconds.filter(|_| freshness.is_granted()) {
            freshness = freshness.of_soft_error(seconds);
        }
        let meta = Meta { tags, ..meta_of(self.sent(), exchange, freshness, self.policy(), self.epoch()) };
        storable(self.sent(), exchange.response, &meta.freshness, self.policy())?;
        Ok(meta)
    }

    /// The tags that the response may have.
    pub(crate) fn tags(&self) -> Option<Arc<Tags>> {
        self.fill.as_ref().and_then(|fill| fill.tags.clone())
    }

    /// The purge epoch in which the request began.
    fn epoch(&self) -> Epoch {
        self.fill.as_ref().map_or(0, |fill| fill.epoch)
    }

    fn start(self, meta: Meta, part: Option<PartOf>, length: Option<u64>) -> Verdict {
        let meta = Arc::new(meta);
        if let Some(fill) = &self.fill {
            fill.start(meta.clone());
        }
        self.write(meta, part, length)
    }

    fn write(mut self, meta: Arc<Meta>, part: Option<PartOf>, length: Option<u64>) -> Verdict {
        match self.fill.take() {
            Some(fill) => {
                let (cache, request) = (self.cache.clone(), self.request.clone());
                Verdict::Write(BodyWriter::new(cache, fill, meta, part, request, length))
            }
            None => Verdict::Private(Reason::UriMiss),
        }
    }

    pub(crate) fn private(mut self, exchange: &OriginExchange<'_>, reason: Reason) -> Verdict {
        self.forget();
        let has_credentials = self.remember_refusal(exchange, reason);
        let predicts_next_answer = predicts_next_answer(reason) && !is_request_error(exchange.response.status);
        if predicts_next_answer {
            self.cache.0.hit_for_miss.remember(self.asked_key(), has_credentials, exchange.response_time);
        }
        // The answer to one visitor says nothing about the shared response, nor does an error of the origin.
        let is_news = predicts_next_answer && !has_credentials && !exchange.response.status.is_server_error();
        // Where no lifetime is granted, Accept may select the stream, and other clients ask for a page at the same URL.
        let is_stream = reason == Reason::EndlessStream && self.policy().grant.is_granting();
        let is_no_page = matches!(
            reason,
            Reason::PageTextMissing
                | Reason::PersonalPage
                | Reason::AddressInResponse
                | Reason::VaryUnseen
                | Reason::LeakGuardToken
                | Reason::LeakGuardUnconfirmed
        );
        // The leak guard knows by itself which requests pass.
        let passes_if_private = self.passes_if_private && reason != Reason::LeakGuard;
        if is_stream || is_no_page || passes_if_private && is_news {
            let (known, now) = (&self.cache.0.hit_for_miss, exchange.response_time);
            known.remember_no_page(self.asked_key(), reason, self.epoch(), now);
        }
        // The stored response is outdated: the origin has just answered otherwise, and its answer may not be shared.
        if is_news {
            if let Some(base) = self.base.take() {
                self.remove_everywhere(&base);
            }
            self.cache.remove_of_other_rules(self.key(), self.policy());
        }
        self.end(|fill| fill.release(reason));
        Verdict::Private(reason)
    }

    /// Drops a stored response that the origin has outdated, here and in all caches of the shared tier.
    fn remove_everywhere(&self, base: &Arc<Entry>) {
        // Nobody waits for the others: the origin's answer is not for them.
        let _ = self.cache.tell_of_key(self.key(), Purge::Hard);
        self.cache.remove(self.key(), base);
    }

    /// Remembers the refusal, for `kasoku explain`. Returns whether the request had cookies or credentials that are not in the key.
    fn remember_refusal(&self, exchange: &OriginExchange<'_>, reason: Reason) -> bool {
        let has_credentials = has_unkeyed_credentials(&self.sent().fields, self.policy());
        let (status, at) = (exchange.response.status.as_u16(), exchange.response_time);
        self.cache.0.refusals.remember(self.key().hash(), StoreRefusal { reason, status, at, has_credentials });
        has_credentials
    }

    /// Releases the requests that wait, and asks again for this request alone.
    fn ask_again(mut self) -> Verdict {
        let tags = self.tags();
        self.end(|fill| fill.release(Reason::PartialMiss));
        let (selection, requested_for) = (&Selection::default(), RequestedFor::Everybody);
        let (hash, key, rules) = (self.key().hash(), self.key().bytes(), self.policy().rules);
        let which = FillId { hash, key, selection, requested_for, rules };
        self.fill = Some(self.cache.0.fills.begin_alone(which, tags));
        self.purpose = FetchPurpose::Miss;
        self.base = None;
        Verdict::AskAgain(self)
    }

    fn end(&mut self, settle: impl FnOnce(&Fill)) {
        if let Some(fill) = self.fill.take() {
            self.cache.0.fills.end(&fill);
            settle(&fill);
        }
    }
}

/// All that would be stored of a response except its body.
pub(crate) fn meta(request: &RequestHead, exchange: &OriginExchange<'_>, policy: &Policy, epoch: Epoch) -> Meta {
    let OriginExchange { response, request_time, response_time, .. } = *exchange;
    let freshness = freshness(request, response, request_time, response_time, policy);
    meta_of(request, exchange, freshness, policy, epoch)
}

/// The same, of a response with this freshness.
fn meta_of(
    request: &RequestHead,
    exchange: &OriginExchange<'_>,
    freshness: Freshness,
    policy: &Policy,
    epoch: Epoch,
) -> Meta {
    let OriginExchange { response, response_time, .. } = *exchange;
    let nominated = nominated(request, response, policy);
    let mut variant = Vec::new();
    variant_key(&nominated, &request.fields, policy, &mut variant);
    let mut head = ResponseHead { fields: fields_to_store(response, response_time, policy), ..response.clone() };
    announce_lifetime(request, &mut head, &freshness, policy);
    let is_withheld = Validators::of(policy, exchange.is_file) == Validators::OwnTag;
    let withheld = is_withheld.then(|| Box::new(withhold(request, &mut head, response_time)));
    Meta { head, freshness, nominated, variant, withheld, tags: None, epoch, rules: policy.rules }
}

impl Cache {
    /// Whether there is room for such a response, in memory or, if it is too large for that, on disk.
    pub(crate) fn has_place_for(&self, meta: &Meta, exchange: &OriginExchange<'_>) -> Result<(), Reason> {
        let body_length = exchange.body_length.unwrap_or(0);
        let length = body_length.saturating_add(meta.memory_bytes());
        if length > self.0.limits.object_bytes_max {
            // Of a part on disk, the length of the whole must be known.
            let is_part = exchange.response.status == StatusCode::PARTIAL_CONTENT;
            let is_known = || part(exchange.response, None).is_ok_and(|part| part.complete_length.is_some());
            let may_spool = self.may_spool(body_length) && (!is_part || is_known());
            return if may_spool { Ok(()) } else { Err(Reason::ObjectTooLarge) };
        }
        if self.0.budget.has_room_for(length) { Ok(()) } else { Err(Reason::MemoryFull) }
    }
}

/// The response with this length, for readers of a fill and for the answer to a HEAD.
fn of_length(mut meta: Meta, complete_length: u64) -> Meta {
    meta.head.fields.set("Content-Length", complete_length.to_string());
    meta
}

/// The length of the whole of which this is a part, where the origin states one that a file can have.
fn complete_length(part: &PartialContent) -> Option<u64> {
    part.complete_length.filter(|length| *length <= COMPLETE_LENGTH_MAX)
}

/// Fields that describe the stored bytes, which a 304 does not replace, and Age, which the cache writes itself.
const OF_THE_STORED_BYTES: [&str; 6] =
    ["age", "content-encoding", "content-length", "content-md5", "content-range", "etag"];

/// Whether the next answer for the key, and not only this one, will probably not be shareable.
fn predicts_next_answer(reason: Reason) -> bool {
    let of_this_request = [
        Reason::RequestSpecificStatus,
        Reason::StatusNotModified,
        Reason::RangeUnsatisfiable,
        Reason::MultipartRange,
        Reason::ContentRangeInvalid,
        Reason::ContentRangeLength,
        Reason::MemoryFull,
        Reason::RequestNoStore,
        // The reason is about another page of the URL pattern.
        Reason::LeakGuardPending,
    ];
    !of_this_request.contains(&reason)
}

/// Whether a status says that this one request was wrong (400, 431 ...). One client's odd request must change nothing for the others.
fn is_request_error(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401..=405 | 410 | 451)
}

/// Whether a part may be combined with the stored response.
fn belongs(
    base: &Entry,
    (request, response): (&RequestHead, &ResponseHead),
    policy: &Policy,
    part: &PartialContent,
) -> bool {
    let is_same_variant = match vary(&response.fields) {
        // A part without Vary says nothing about variants; an empty Vary says that there is only one.
        Vary::None if !response.fields.contains("vary") => true,
        Vary::Star => false,
        Vary::None | Vary::Fields(_) => nominated(request, response, policy) == base.meta.nominated,
    };
    let stored_length = base.body.complete_length();
    is_same_variant && combinable(&base.meta.head, stored_length, response, part.complete_length)
}

impl Drop for FillWriter {
    fn drop(&mut self) {
        match self.passes_if_private {
            true => self.end(|fill| fill.release(Reason::OriginClosedEarly)),
            false => self.end(Fill::cut),
        }
    }
}
