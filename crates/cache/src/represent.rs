//! What of a stored response goes to a client: all of it, coded or not, a part, or word that the client has it already.
//!
//! Which codings there are depends on what has been asked for before: a client gets the one that it likes best among those that are there,
//! and the caller has the one that it would like better made for those who come after it ([`Representations::wanted`]). Four things follow:
//!
//! - Each coding has an entity tag of its own. The origin gets only its own tag.
//! - Vary says that there are several, on the uncoded response and on a miss as well: a cache behind us must not give one client's to another.
//! - Parts are parts of the uncoded bytes, under the uncoded tag, so that all parts that a client gets belong together, whatever has been
//!   made meanwhile.
//! - A client that has any representation that it accepts is told that this is current (304).
//!
//! Responses that pass are never coded, nor are those that a fill streams: the first would tell secrets by their length (BREACH), the
//! second would make a client wait for the work.

mod head;
mod multipart;

pub use head::{HeadContext, HeadSink, date_unless_in, fields_where, via};
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

/// The rules by which codings are made for a request.
#[derive(Clone, Copy)]
pub struct CodingContext<'r> {
    /// Which codings, and of which responses.
    pub rules: &'r CodingRules,
    /// The caching rules.
    pub policy: &'r Policy,
    /// Stands for all that decides of which responses codings are made: the decision is remembered under it.
    pub mark: u64,
}

/// The representations of a response from which a request chooses. The default: there is one.
#[derive(Clone, Copy, Default)]
pub struct Representations {
    /// Whether there may be several, so that Vary has to say so.
    pub varies: bool,
    /// The one that this client gets.
    selected: Representation,
    /// The one that it would like better, and that can be made.
    wanted: Representation,
    accepted: AcceptedCodings,
}

/// What a client gets of a stored response.
pub enum Selected<'e> {
    /// Word that it has this representation (304).
    NotModified(Representation),
    /// All of it, in that coding.
    Whole(Representation, &'e Arc<Body>),
    /// A part (206).
    Part(ByteRange),
    /// Several parts (206).
    Parts(ByteRanges),
    /// Word that none of the parts that it asks for exists (416). The length of the whole.
    Unsatisfiable(u64),
    /// Not all of it is stored. A look-up never ends so.
    Incomplete,
}

impl Representations {
    /// Those of a stored response. `codings`: `None` where none are made.
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
        let made = rules.codings.iter().copied().filter(|coding| body.coded(*coding).is_some());
        Self { varies: true, selected: accepted.best(made), wanted: Some(best), accepted }
    }

    /// Those of a response that is being filled: there is one so far. `length`: that of its body, where it is known.
    pub fn of_filling(request: &Fields, codings: Option<CodingContext<'_>>, meta: &Meta, length: Option<u64>) -> Self {
        // A response of unknown length may turn out to be long enough.
        let length = length.unwrap_or(u64::MAX);
        match codings {
            Some(CodingContext { rules, policy, .. }) if has_codings(rules, policy, meta, length) => {
                Self { varies: true, accepted: accepted(request), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// What of a stored response the request gets, by its conditions, its range and the codings that it accepts.
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

    /// The representation that the client has already, by its own conditions.
    pub fn known(&self, request: &RequestHead, stored: &Meta, now: Now) -> Option<Representation> {
        let (head, validators, response_time) = (&stored.head, stored.validators(), stored.freshness.response_time);
        if !self.varies {
            let is_known = precondition(request, head, validators, response_time, now) == Precondition::NotModified;
            return is_known.then_some(None);
        }
        known_representation(request, head, validators, (response_time, now), self.selected, &self.accepted)
    }

    /// The part of a response of that length that the client asks for. A date in If-Range does not say of which representation the client
    /// has a part, since all were modified at the same time: a client that may have been sent a coded one, or another visitor's, gets the
    /// whole.
    pub fn range(&self, request: &RequestHead, stored: &Meta, length: u64) -> RangeOutcome {
        let may_have_coded = self.varies && Coding::ALL.iter().any(|coding| self.accepted.accepts(*coding));
        let may_have_another = may_have_coded || stored.validators() == Validators::OwnTag;
        let is_date = || request.fields.only("if-range").is_some_and(|value| date::parse(value, 0).is_some());
        if may_have_another && is_date() { RangeOutcome::Full } else { range(request, &stored.head, length) }
    }

    /// The coding that the client would like better than what there is.
    pub fn wanted(&self) -> Option<Coding> {
        self.wanted
    }
}

/// Whether codings are made of a response of that length.
fn has_codings(rules: &CodingRules, policy: &Policy, meta: &Meta, length: u64) -> bool {
    let has_type = |media_type: &[u8]| rules.has_type(media_type);
    length >= rules.bytes_min && may_be_coded(&meta.head, &meta.nominated, policy, has_type)
}

impl Selected<'_> {
    /// The status of the response. `stored`: the status of the stored one.
    pub fn status(&self, stored: StatusCode) -> StatusCode {
        match self {
            Self::NotModified(_) => StatusCode::NOT_MODIFIED,
            Self::Whole(..) | Self::Incomplete => stored,
            Self::Part(_) | Self::Parts(_) => StatusCode::PARTIAL_CONTENT,
            Self::Unsatisfiable(_) => StatusCode::RANGE_NOT_SATISFIABLE,
        }
    }
}
