//! The driver: handles one request from its parsed head to its log line, and calls the steps in between.

use crate::cache::changes;
use crate::cache::fetch;
use crate::cache::lookup;
use crate::deliver;
use crate::door::Door;
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::answer::Answer;
use crate::exchange::delivered::Delivered;
use crate::operator::log;
use crate::operator::purge;
use crate::request::forward;
use crate::request::message::Request;
use crate::request::passes::pass_reason;
use crate::request::respond;
use crate::request::route::{self, Routed};
use crate::runtime::worker::Worker;
use crate::visitors::beacon;
use crate::visitors::leak_guard;
use crate::visitors::session;
use kasoku_semantics::forward::{is_loop, max_forwards};
use std::rc::Rc;

/// A request that is being handled. Each one is logged: a request that is dropped before its answer is logged as cut.
pub(crate) struct Handling {
    exchange: Exchange,
    /// The failure with which the request is answered instead of being routed, where the door found one.
    refused: Option<Box<Fault>>,
}

impl Handling {
    /// Begins to handle a request that came through `door`.
    pub(crate) fn begin(worker: &Rc<Worker>, door: Rc<dyn Door>, request: Request) -> Self {
        Self { exchange: Exchange::new(worker, door, request), refused: None }
    }

    /// Answers the request with `fault` instead of routing it.
    pub(crate) fn refused(mut self, fault: Fault) -> Self {
        self.refused = Some(Box::new(fault));
        self
    }

    /// Answers the request, logs it, and does what follows from the answer.
    // An idle connection holds room for this future and all that it awaits: so no values are moved in.
    pub(crate) async fn run(&mut self) -> Handled {
        let answer = match self.refused.take() {
            None => answer(&mut self.exchange).await,
            Some(fault) => refuse(&mut self.exchange, *fault),
        };
        let exchange = &self.exchange;
        let served = beacon::served(exchange, &answer);
        session::expiry::end_if_over(exchange, &answer);
        let delivered = deliver::deliver(exchange, answer).await;
        log::log(&exchange.worker, exchange, &delivered);
        beacon::after_delivery(exchange, &delivered, served);
        changes::has_gone_out(exchange);
        let Delivered { status, is_whole, keeps_alive, tunnel, .. } = delivered;
        let has_switched = tunnel.is_some();
        if let Some(tunnel) = tunnel {
            exchange.door.carry(tunnel).await;
        }
        // Only after the tunnel has closed, since a visitor may have logged in through it.
        session::note_answered(exchange, status);
        Handled { is_whole, keeps_alive, has_switched }
    }

    /// The monotonic clock at the end of the request, in milliseconds; at its begin, where it never had to wait.
    pub(crate) fn ended_ms(&self) -> u64 {
        self.exchange.ended_ms()
    }
}

impl Drop for Handling {
    fn drop(&mut self) {
        if !self.exchange.is_logged() {
            // The worker has stopped: its deadline passed before the request was done.
            log::log_cut(&self.exchange);
        }
    }
}

/// How a request ended, for its door.
pub(crate) struct Handled {
    /// Whether the client got the whole answer.
    pub(crate) is_whole: bool,
    /// Whether the door can carry another request, as far as the answer is concerned.
    pub(crate) keeps_alive: bool,
    /// Whether the connection switched to another protocol (101), which has ended by now.
    pub(crate) has_switched: bool,
}

/// The steps in bold: parse -> **route -> key -> lookup -> (fetch -> save)** -> deliver -> log
async fn answer(exchange: &mut Exchange) -> Answer {
    let routed = match routed(exchange) {
        Ok(routed) => routed,
        Err(fault) => return refuse(exchange, fault),
    };
    let answer = answer_routed(exchange, &routed).await;
    exchange.site = routed.site;
    match routed.stands_for {
        Some(read) if exchange.origin().is_some() => exchange.extras().read = Some(read),
        Some(read) => exchange.worker.paths.borrow_mut().give_back(read),
        None => {}
    }
    exchange.route = Some(routed.route);
    exchange.uri = routed.key.into_uri();
    answer
}

/// The answer to a request that is not looked up.
fn refuse(exchange: &mut Exchange, fault: Fault) -> Answer {
    exchange.request.head.target.clone_into(&mut exchange.uri);
    Answer::Synthetic(fault, None)
}

async fn answer_routed(exchange: &Exchange, routed: &Routed) -> Answer {
    if is_loop(&exchange.request.head) {
        return Answer::Synthetic(Fault::Loop, None);
    }
    //= RFC 9110 section 7.6.2
    //# If the received value is zero, the intermediary MUST NOT forward the request; instead, the intermediary MUST respond as the final recipient.
    if max_forwards(&exchange.request.head) == Some(0) {
        return Answer::Options;
    }
    if purge::METHODS.contains(&exchange.request.head.method.as_str()) {
        let (code, text) = Box::pin(purge::purge(exchange, routed)).await;
        return Answer::Purged(code, text);
    }
    // This stands after PURGE: a PURGE may drop a response that was stored before the configuration refused its URL.
    if let Some(by) = &routed.refused_by {
        exchange.extras().notes.refused(by);
        return Answer::Synthetic(Fault::RefusedUrl, Some(respond::refused()));
    }
    let upgrade = forward::upgrade(&exchange.request, routed);
    let is_anonymous = see(exchange, routed);
    let reason = pass_reason(&exchange.request, routed, upgrade, is_anonymous);
    if let Some(reason) = reason {
        exchange.extras().notes.passes(reason, &exchange.request.head.fields, routed, is_anonymous);
    }
    if reason.is_none() {
        leak_guard::sample(exchange, routed);
    }
    if reason.is_none()
        && let Some(hit) = lookup::hit_at_once(exchange, routed)
    {
        return hit;
    }
    // Boxed, so that an idle connection holds no room for the steps that wait.
    let asked = async {
        let answer = match reason {
            Some(reason) => fetch::pass(exchange, routed, upgrade, reason).await,
            None => lookup::look_up(exchange, routed).await,
        };
        exchange.removals_are_certain().await;
        answer
    };
    let answer = Box::pin(asked).await;
    exchange.has_waited();
    answer
}

/// Notes what is known of the visitor and, where it is time, has the session probed again. Returns whether the visitor is known to
/// be anonymous.
fn see(exchange: &Exchange, routed: &Routed) -> bool {
    let (worker, now_ms) = (&exchange.worker, exchange.now().mono_ms);
    let Some(identity) = session::identify_visitor(&worker.sessions, routed, &exchange.request.head.fields, now_ms)
    else {
        return false;
    };
    exchange.identity.set(identity);
    if let Some(found) = identity.session.filter(|found| found.is_anonymous) {
        worker.sessions.note_read(found.id, now_ms);
        if found.is_to_be_renewed && session::probe::may_follow(&exchange.request) {
            session::probe::ask(exchange, &routed.route, &routed.base(), found.id);
        }
    }
    identity.is_anonymous
}

/// Finds the site, rule and key of a request.
fn routed(exchange: &Exchange) -> Result<Routed, Fault> {
    let Exchange { door, request, settings, .. } = exchange;
    let own_address = || door.local_address();
    route::route(&settings.sites, exchange.scratch(), &request.head, exchange.peer.is_trusted, own_address)
}
