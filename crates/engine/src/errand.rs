//! What an origin is asked for, whose time that takes, and what it has said.

use crate::exchange::Exchange;
use crate::forward::{Audience, circumstances};
use crate::route::Routed;
use crate::settings::Settings;
use crate::timing::OriginTime;
use crate::trace::ErrandTrace;
use http::{Method, StatusCode};
use kasoku_cache::Elsewhere;
use kasoku_origin::group;
use kasoku_origin::{Balance, Circumstances};
use kasoku_semantics::reason::Reason;
use kasoku_wire::{RequestHead, ResponseHead};
use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;

/// What of a request decides which part of a file goes out.
const CONDITIONS: [&str; 6] =
    ["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"];

/// What an origin is asked for, and whose time that takes.
pub(crate) struct Errand {
    /// What decides about the origin where the route spreads by hash: the effective URI, whatever the variant.
    pub(crate) key_hash: u64,
    pub(crate) uri: Box<str>,
    pub(crate) site: usize,
    pub(crate) settings: Rc<Settings>,
    pub(crate) circumstances: Circumstances,
    pub(crate) time: Rc<OriginTime>,
    /// The client's own conditions and range, which the request to the origin may lack.
    pub(crate) asked: RequestHead,
    one_client: Cell<Option<Reason>>,
    replaced: Cell<Option<StatusCode>>,
    said: Cell<Option<Said>>,
    /// Where in a trace it is; `None`: nothing is traced.
    pub(crate) trace: Option<ErrandTrace>,
}

impl Errand {
    /// For a request whose answer is for these.
    pub(crate) fn new(exchange: &Exchange, routed: &Routed, audience: Audience, time: Rc<OriginTime>) -> Self {
        Self {
            key_hash: key_hash(routed),
            uri: routed.key.uri().into(),
            site: routed.site,
            settings: exchange.settings.clone(),
            circumstances: circumstances(exchange, routed, audience),
            time,
            asked: asked(&exchange.request.head),
            one_client: Cell::new(None),
            replaced: Cell::new(None),
            said: Cell::new(None),
            trace: ErrandTrace::of(exchange, audience),
        }
    }

    /// The same once more, for an answer that no client gets: for whoever is told to be at `address`, or for nobody.
    pub(crate) fn again(&self, address: Option<IpAddr>, begun_us: u64) -> Self {
        let remote = address.map(|address| (address, 0).into());
        Self {
            key_hash: self.key_hash,
            uri: self.uri.clone(),
            site: self.site,
            settings: self.settings.clone(),
            circumstances: Circumstances { remote, ..self.circumstances.clone() },
            time: Rc::new(OriginTime::begin(begun_us)),
            asked: RequestHead::new(Method::GET, String::new()),
            one_client: Cell::new(None),
            replaced: Cell::new(None),
            said: Cell::new(None),
            trace: self.trace.clone(),
        }
    }

    /// Why the answer is for who asked alone, whatever it says, and whatever of that the rule ignores by which it was asked for: it
    /// has come from where requests pass, by a local redirect, or it is a file that the application has named.
    pub(crate) fn for_one_client(&self) -> Option<Reason> {
        self.one_client.get()
    }

    /// The status of the application's answer where another one, or a failure, stands in its place: what it has done, it has
    /// done, whatever became of the file that it named.
    pub(crate) fn replaced(&self) -> Option<StatusCode> {
        self.replaced.get()
    }

    /// See [`Errand::replaced`].
    pub(crate) fn has_replaced(&self, status: StatusCode) {
        self.replaced.set(Some(status));
    }

    /// What the application has said, where that is more than the answer tells.
    pub(crate) fn take_said(&self) -> Option<Said> {
        self.said.take()
    }

    /// See [`Errand::take_said`].
    pub(crate) fn has_said(&self, said: Said) {
        self.said.set(Some(said));
    }

    /// See [`Errand::for_one_client`].
    pub(crate) fn restrict_to_one_client(&self, reason: Reason) {
        self.one_client.set(Some(reason));
    }
}

/// What an application has said in an answer, for the cache: its own words, those about the file among them ([`BESIDE`]).
pub(crate) struct Said {
    pub(crate) head: ResponseHead,
    /// The file that it has named, where its decision may be stored.
    pub(crate) file: Option<Elsewhere>,
}

/// See [`Errand`].
pub(crate) fn key_hash(routed: &Routed) -> u64 {
    match routed.route.balance {
        Balance::Hash => group::key_hash(routed.key.uri().as_bytes()),
        Balance::First | Balance::RoundRobin => 0,
    }
}

/// What is to be known of a request when its answer turns out to be a file.
pub(crate) fn asked(request: &RequestHead) -> RequestHead {
    let mut asked = RequestHead::new(request.method.clone(), String::new());
    for name in CONDITIONS {
        request.fields.all(name).for_each(|value| asked.fields.push(name, value));
    }
    asked
}
