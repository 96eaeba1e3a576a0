//! Chooses the representation of a stored response: the stored bytes, or a content coding made from them.
//!
//! Which codings there are is a matter of what has been asked for before (`compress`): a client gets the one that it likes best
//! among those that are there, and what it would like better is made for those who come after it. Four things follow from
//! there being several:
//!
//! - Each has an entity tag of its own. Towards the origin there is only the origin's.
//! - Vary says so, on the uncoded one as well, and on a miss: a cache behind us must not give one client's to another.
//! - Parts are parts of the uncoded bytes, under the uncoded tag, so that all parts that a client gets belong together
//!   whatever has been made meanwhile.
//! - A client that has any representation that it accepts is told that this is current (304).
//!
//! Answers that pass are never coded, nor are those that a fill streams: the first would tell secrets by their length (BREACH),
//! the second would make a client wait for the work.

use crate::door::content_length;
use crate::exchange::Exchange;
use crate::sites::ActiveRoute;
use http::Method;
use kasoku_cache::{Body, Entry, Meta};
use kasoku_metrics::Counter;
use kasoku_options::glob::matches;
use kasoku_options::{Coding, Compression};
use kasoku_semantics::Validators;
use kasoku_semantics::coding::{
    AcceptedCodings, Representation, accepted, allows_coding, known_representation, may_be_coded, media_type,
};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::precondition::{Precondition, precondition};
use kasoku_semantics::range::{RangeOutcome, range};
use kasoku_semantics::time::Now;
use kasoku_wire::ResponseHead;
use kasoku_wire::field::date;
use std::sync::Arc;

/// What a request gets of a response. By default: of one that has no other representation.
#[derive(Clone, Copy, Default)]
pub(crate) struct ChosenRepresentation {
    /// Whether there may be others, so that Vary has to say it.
    pub(crate) varies: bool,
    /// Which one this client gets.
    selected: Representation,
    /// Which one it would like better, and that can be made.
    wanted: Representation,
    accepted: AcceptedCodings,
}

impl ChosenRepresentation {
    pub(crate) fn of_stored(exchange: &Exchange, entry: &Entry) -> Self {
        let Some(route) = coded_route(exchange) else { return Self::default() };
        let (rules, policy, body) = (&*route.compression, &*route.policy, &entry.body);
        let length = body.complete_length().filter(|_| body.is_complete());
        let judge = || length.is_some_and(|length| may_be(rules, policy, &entry.meta, length));
        if !entry.may_be_coded(route.compression_mark, judge) {
            return Self::default();
        }
        let fields = &exchange.request.head.fields;
        let accepted = accepted(fields);
        let Some(best) = accepted.best(rules.codings.iter().copied()).filter(|_| allows_coding(fields)) else {
            return Self { varies: true, accepted, ..Self::default() };
        };
        if body.coded(best).is_some() {
            return Self { varies: true, selected: Some(best), wanted: None, accepted };
        }
        let made = rules.codings.iter().copied().filter(|coding| body.coded(*coding).is_some());
        Self { varies: true, selected: accepted.best(made), wanted: Some(best), accepted }
    }

    /// Of a response that is still coming in: there is one representation so far.
    pub(crate) fn of_filling(exchange: &Exchange, meta: &Meta) -> Self {
        let Some(route) = coded_route(exchange) else { return Self::default() };
        // One of unknown length may turn out to be long enough.
        let length = content_length(&meta.head).unwrap_or(u64::MAX);
        let varies = may_be(&route.compression, &route.policy, meta, length);
        if varies {
            Self { varies, accepted: accepted(&exchange.request.head.fields), ..Self::default() }
        } else {
            Self::default()
        }
    }

    /// Which representation the client has already, by its own conditions.
    pub(crate) fn known(&self, exchange: &Exchange, stored: &Meta) -> Option<Representation> {
        let (head, validators, response_time) = (&stored.head, stored.validators(), stored.freshness.response_time);
        if !self.varies {
            return is_not_modified(exchange, head, validators, response_time).then_some(None);
        }
        let times = (response_time, exchange.now());
        known_representation(&exchange.request.head, head, validators, times, self.selected, &self.accepted)
    }

    /// What of a response of that length the client asks for. By a date in If-Range it can't say of which representation it has a
    /// part, as all were modified at the same time: a client that may have been sent a coded one gets the whole. So does
    /// one that may have been sent another visitor's.
    pub(crate) fn asked_of(&self, exchange: &Exchange, stored: &Meta, length: u64) -> RangeOutcome {
        let request = &exchange.request.head;
        let may_have_coded = self.varies && Coding::ALL.iter().any(|coding| self.accepted.accepts(*coding));
        let may_have_another = may_have_coded || stored.validators() == Validators::OwnTag;
        let is_date = || request.fields.only("if-range").is_some_and(|value| date::parse(value, 0).is_some());
        if may_have_another && is_date() { RangeOutcome::Full } else { range(request, &stored.head, length) }
    }

    /// The body that goes out, where it is a coded one.
    pub(crate) fn coded<'e>(&self, entry: &'e Entry) -> Option<(Coding, &'e Arc<Body>)> {
        self.selected.and_then(|coding| Some((coding, entry.body.coded(coding)?)))
    }

    /// Has the better one made for those who come after this client.
    pub(crate) fn ask_for_wanted(&self, exchange: &Exchange, entry: &Arc<Entry>) {
        let (Some(wanted), Some(route)) = (self.wanted, coded_route(exchange)) else { return };
        let worker = &exchange.worker;
        if !worker.compress.ask(&worker.cache, &exchange.uri, entry, wanted, route.compression.levels) {
            worker.cells.count(Counter::CompressionsDeferred);
        }
    }

    /// Counts that a coded body goes out.
    pub(crate) fn count(exchange: &Exchange, stored: &Body, coded: &Body) {
        let cells = &exchange.worker.cells;
        cells.count(Counter::CompressedResponses);
        if let (Some(length), Some(coded), &Method::GET) =
            (stored.complete_length(), coded.complete_length(), &exchange.request.head.method)
        {
            cells.add(Counter::CompressionBytesSaved, length.saturating_sub(coded));
        }
    }
}

pub(crate) fn is_not_modified(
    exchange: &Exchange,
    head: &ResponseHead,
    validators: Validators,
    response_time: Now,
) -> bool {
    precondition(&exchange.request.head, head, validators, response_time, exchange.now()) == Precondition::NotModified
}

/// A request's route; `None` where no codings are made.
fn coded_route(exchange: &Exchange) -> Option<&ActiveRoute> {
    exchange.route.as_deref().filter(|route| route.compression.is_enabled)
}

/// Whether codings may be made of a response of that length.
fn may_be(rules: &Compression, policy: &Policy, meta: &Meta, length: u64) -> bool {
    length >= rules.bytes_min
        && may_be_coded(&meta.head, &meta.nominated, policy, |media_type| is_coded_type(rules, media_type))
}

/// Whether codings are made of such a response once it is stored, or of the whole of which it is a part.
pub(crate) fn makes_codings_of(rules: &Compression, response: &ResponseHead) -> bool {
    let fields = &response.fields;
    let media_type = fields.only("content-type").map(media_type);
    rules.is_enabled
        && !fields.contains("content-encoding")
        && media_type.is_some_and(|media_type| is_coded_type(rules, media_type))
}

fn is_coded_type(rules: &Compression, media_type: &[u8]) -> bool {
    let media_type = String::from_utf8_lossy(media_type).to_ascii_lowercase();
    rules.types.iter().any(|glob| matches(glob, &media_type))
}
