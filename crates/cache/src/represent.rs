//! What a client gets of a stored response: the whole, coded or not, a part of it, or a 304 because the client has it already.
//!
//! Which codings of a response exist depends on earlier requests. A client gets the existing coding that it prefers, and the caller has a
//! better one made for later clients ([`Representations::wanted`]). Four rules follow:
//!
//! - Each coding has an entity tag of its own. The origin gets only its own tag.
//! - Vary names Accept-Encoding on the uncoded response and on a miss as well, so that a cache behind us never gives one client's coding
//!   to another.
//! - Ranges are ranges of the uncoded bytes, under the uncoded tag. So all parts that a client gets belong together, even if codings have
//!   been made meanwhile.
//! - A client that has any representation that it accepts gets a 304.
//!
//! Two kinds of responses are never coded: those that pass, since their compressed length could reveal secrets (BREACH), and those that a
//! fill streams, since the client would wait for the compression.

mod head;
mod multipart;

pub(crate) use head::shared_head;
pub use head::{HeadContext, HeadSink, date_unless_in, fields_where, own_head, via};
pub use multipart::Multipart;

use crate::{Body, Entry, Meta};
use http::StatusCode;
use kasoku_semantics::Validators;
use kasoku_semantics::coding::{
    AcceptedCodings, Coding, Representation, accepted, allows_coding, known_representation, may_be_coded,
};
use kasoku_semantics::coding_rules::CodingRules;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::precondition::{Precondition, precondition};
use kasoku_semantics::range::{ByteRange, ByteRanges, RangeOutcome, range};
use kasoku_semantics::time::Now;
use kasoku_wire::field::date;
use kasoku_wire::{Fields, RequestHead};
use std::sync::Arc;

/// The rules by which codings are made of the response to a request.
#[derive(Clone, Copy)]
pub struct CodingContext<'r> {
    /// Which codings are made, and of which responses.
    pub rules: &'r CodingRules,
    /// The caching rules.
    pub policy: &'r Policy,
    /// Identifies all settings that decide of which responses codings are made. [`Entry::may_be_coded`] remembers its finding under this
    /// mark.
    pub mark: u64,
}

/// The representations of a response from which a request chooses. By default there is one.
#[derive(Clone, Copy, Default)]
pub struct Representations {
    /// Whether there may be several representations, so that Vary must say so.
    pub varies: bool,
    /// The representation that this client gets.
    selected: Representation,
    /// A representation that can be made and that this client prefers to `selected`.
    wanted: Representation,
    accepted: AcceptedCodings,
}

/// What a client gets of a stored response.
pub enum Selected<'e> {
    /// A 304: the client has this representation.
    NotModified(Representation),
    /// The whole, in this coding.
    Whole(Representation, &'e Arc<Body>),
    /// One part (206).
    Part(ByteRange),
    /// Several parts (206).
    Parts(ByteRanges),
    /// A 416: none of the ranges exists. Holds the length of the whole, in bytes.
    Unsatisfiable(u64),
    /// The body is external, or some of the requested bytes are not stored. A hit covers the request, so only the first occurs after one.
    Incomplete,
}

/// What a client gets of a response that a fill brings.
pub enum SelectedFilling {
    /// A 304: the client has this representation.
    NotModified(Representation),
    /// The whole, or the part that the origin has sent.
    Whole,
    /// This part of the whole (206).
    Part(ByteRange),
}

impl Representations {
    /// The representations of a stored response. `codings` is `None` where no codings are made.
    pub fn of_stored(request: &Fields, codings: Option<CodingContext<'_>>, entry: &Entry) -> Self {
        let Some(CodingContext { rules, policy, mark }) = codings else { return Self::default() };
        let body = &entry.body;
        let length = body.complete_length().filter(|_| body.is_complete());
        let judge = || length.is_some_and(|length| has_codings(rules, policy, &entry.meta, length));
        if !entry.may_be_coded(mark, judge) {
            return Self::default();
        }
        let accepted = accepted(request);
        let Some(best) = accepted.best(rules.codings.iter().copied()).filter(|_| allows_coding(request)) else {
            return Self { varies: true, accepted, ..Self::default() };
        };
        if body.coded(best).is_some() {
            return Self { varies: true, selected: Some(best), wanted: None, accepted };
        }
        if !body.is_in_memory() {
            return Self { varies: true, accepted, ..Self::default() };
        }
        let made = rules.codings.iter().copied().filter(|coding| body.coded(*coding).is_some());
        Self { varies: true, selected: accepted.best(made), wanted: Some(best), accepted }
    }

    /// The representations of a response that a fill brings: one so far. `length` is the length of its body, where it is known.
    pub fn of_filling(request: &Fields, codings: Option<CodingContext<'_>>, meta: &Meta, length: Option<u64>) -> Self {
        // A body of unknown length may turn out to be long enough for a coding.
        let length = length.unwrap_or(u64::MAX);
        match codings {
            Some(CodingContext { rules, policy, .. }) if has_codings(rules, policy, meta, length) => {
                Self { varies: true, accepted: accepted(request), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// What the request gets of a stored response, by its conditions, its range and the codings that it accepts.
    //= RFC 9111 section 4.3.2
    //# If the response to the forwarded request is 304 (Not Modified) and has an ETag field value with an entity tag that
    //# is not in the client's list, the cache MUST generate a 200 (OK) response for the client by reusing its
    //# corresponding stored response, as updated by the 304 response metadata (Section 4.3.4).
    pub fn select<'e>(&self, request: &RequestHead, entry: &'e Entry, now: Now) -> Selected<'e> {
        let Entry { meta, body, .. } = entry;
        if body.external_body().is_some() {
            return Selected::Incomplete;
        }
        if let Some(representation) = self.known(request, meta, now) {
            return Selected::NotModified(representation);
        }
        let Some(length) = body.complete_length() else { return Selected::Incomplete };
        match self.range(request, meta, length) {
            RangeOutcome::Full if !body.is_complete() => Selected::Incomplete,
            RangeOutcome::Full => match self.selected.and_then(|coding| Some((coding, body.coded(coding)?))) {
                Some((coding, coded)) => Selected::Whole(Some(coding), coded),
                None => Selected::Whole(None, body),
            },
            //= RFC 9111 section 3.3
            //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial
            //# Content) status code.
            RangeOutcome::Ranges(ranges) if !ranges.iter().all(|range| body.covers(*range)) => Selected::Incomplete,
            RangeOutcome::Ranges(ranges) => match ranges.as_slice() {
                [only] => Selected::Part(*only),
                _ => Selected::Parts(ranges),
            },
            RangeOutcome::Unsatisfiable => Selected::Unsatisfiable(length),
        }
    }

    /// What the request gets of a response that a fill brings, by its conditions and its range. `length` is the length of the whole, where it
    /// is known.
    pub fn select_filling(&self, request: &RequestHead, meta: &Meta, length: Option<u64>, now: Now) -> SelectedFilling {
        if let Some(representation) = self.known(request, meta, now) {
            return SelectedFilling::NotModified(representation);
        }
        // A fill of a 206 goes out as it is.
        let is_whole = meta.head.status == StatusCode::OK;
        match length.filter(|_| is_whole).map(|length| self.range(request, meta, length)) {
            Some(RangeOutcome::Ranges(ranges)) if ranges.len() == 1 => {
                ranges.first().map_or(SelectedFilling::Whole, |range| SelectedFilling::Part(*range))
            }
            _ => SelectedFilling::Whole,
        }
    }

    /// The representation that the client has already, according to its conditions.
    pub fn known(&self, request: &RequestHead, stored: &Meta, now: Now) -> Option<Representation> {
        let (head, validators, response_time) = (&stored.head, stored.validators(), stored.freshness.response_time);
        if !self.varies {
            let is_known = precondition(request, head, validators, response_time, now) == Precondition::NotModified;
            return is_known.then_some(None);
        }
        known_representation(request, head, validators, (response_time, now), self.selected, &self.accepted)
    }

    /// The part that the client asks for, of a response of this length. A date in If-Range does not tell representations apart, since all
    /// of them have the same Last-Modified. So a client whose If-Range has a date gets the whole if it may have been sent a coded
    /// representation or another visitor's.
    pub fn range(&self, request: &RequestHead, stored: &Meta, length: u64) -> RangeOutcome {
        let may_have_coded = self.varies && Coding::ALL.iter().any(|coding| self.accepted.accepts(*coding));
        let may_have_another = may_have_coded || stored.validators() == Validators::OwnTag;
        let is_date = || request.fields.only("if-range").is_some_and(|value| date::parse(value, 0).is_some());
        if may_have_another && is_date() { RangeOutcome::Full } else { range(request, &stored.head, length) }
    }

    /// A coding that can be made and that the client prefers to the one that it gets.
    pub fn wanted(&self) -> Option<Coding> {
        self.wanted
    }
}

/// Whether codings are made of this response, if its body has this length.
fn has_codings(rules: &CodingRules, policy: &Policy, meta: &Meta, length: u64) -> bool {
    let has_type = |media_type: &[u8]| rules.has_type(media_type);
    length >= rules.bytes_min && may_be_coded(&meta.head, &meta.nominated, policy, has_type)
}

impl Selected<'_> {
    /// The status of the response that goes out. `stored` is the status of the stored response.
    pub fn status(&self, stored: StatusCode) -> StatusCode {
        match self {
            Self::NotModified(_) => StatusCode::NOT_MODIFIED,
            Self::Whole(..) | Self::Incomplete => stored,
            Self::Part(_) | Self::Parts(_) => StatusCode::PARTIAL_CONTENT,
            Self::Unsatisfiable(_) => StatusCode::RANGE_NOT_SATISFIABLE,
        }
    }

    /// The offset in the body of the first byte that goes out; `None` where no byte of it does.
    pub fn first_byte(&self) -> Option<u64> {
        match self {
            Self::Whole(..) => Some(0),
            Self::Part(range) => Some(range.first),
            Self::Parts(ranges) => ranges.first().map(|range| range.first),
            Self::NotModified(_) | Self::Unsatisfiable(_) | Self::Incomplete => None,
        }
    }
}
