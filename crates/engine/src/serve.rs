//! The driver: the path of a request, step by step, for each request of a connection.

use crate::answer::Answer;
use crate::beacon;
use crate::connection::{Connection, IdleTimer};
use crate::deliver;
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::parse::{self, Received};
use crate::request::forward;
use crate::request::passes::pass_reason;
use crate::request::request_id::RequestId;
use crate::request::respond;
use crate::request::route::{self, Routed};
use crate::session;
use crate::synthetic;
use crate::worker::Worker;
use crate::{changes, fetch, guard, log, lookup, purge, tunnel};
use kasoku_wire::http1::BodyLength;
use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

/// A request that is logged in any case: one that is dropped without its answer, as cut.
struct Logged(Exchange);

/// Serves all requests of a connection, one after the other.
//= RFC 9112 section 9.3.2
//# A server MAY process a sequence of pipelined requests in parallel if they all have safe methods (Section 9.2.1 of
//# [HTTP]), but it MUST send the corresponding responses in the same order that the requests were received.
pub(crate) async fn serve(worker: Rc<Worker>, connection: Rc<Connection>) {
    let requests_max = connection.limits.requests_per_connection_max;
    let mut idle = IdleTimer::new(connection.limits.idle_timeout);
    let mut stopped = pin!(worker.stopped());
    let mut is_registered = false;
    for number in 1_u64.. {
        let mut receive = pin!(parse::receive(&worker, &connection, &mut idle));
        let received = poll_fn(|cx| {
            if let Poll::Ready(received) = receive.as_mut().poll(cx) {
                return Poll::Ready(Some(received));
            }
            // Polled once, it wakes this task from then on; the flag tells why.
            let may_have_stopped = !is_registered || worker.is_stopping();
            is_registered = true;
            if may_have_stopped { stopped.as_mut().poll(cx).map(|()| None) } else { Poll::Pending }
        });
        let received = match received.await {
            Some(received) => received,
            None => last_chance(&worker, receive).await,
        };
        let mut exchange = match received {
            Received::Nothing => return,
            Received::Refused(fault) => return Box::pin(refuse(&worker, &connection, fault)).await,
            Received::Request(request) => Logged(Exchange::new(&worker, &connection, request)),
        };
        let is_clients_last = !exchange.request.keeps_alive && exchange.request.body == BodyLength::None;
        exchange.request.keeps_alive &= number != requests_max;

        let answer = answer(&mut exchange).await;
        let served = beacon::served(&exchange, &answer);
        let delivered = deliver::deliver(&exchange, answer).await;
        log::log(&worker, &exchange, &delivered);
        beacon::follows(&exchange, &delivered, served);
        changes::has_gone_out(&exchange);
        if let Some(tunnel) = delivered.tunnel {
            Box::pin(tunnel::run(&connection, tunnel)).await;
            // Whatever was said in it, a log-in too, is over now.
            return session::answered(&exchange, delivered.status);
        }
        session::answered(&exchange, delivered.status);
        if !delivered.is_whole {
            return connection.cut();
        }
        //= RFC 9112 section 9.6
        //# The server MUST NOT process any further requests received on that connection.
        //= RFC 9112 section 9.6
        //# A server that sends a "close" connection option MUST initiate closure of the connection (see below) after it sends
        //# the response containing the "close" connection option.
        //= RFC 9112 section 9.3
        //# A server MUST read the entire request message body or close the connection after sending its response
        if !delivered.keeps_alive || !exchange.body.is_complete() {
            // Who has asked for the end, and has sent nothing behind that, sends nothing more that a plain close would answer with
            // a reset. 14 KB for a connection each take 10 to 17 % less CPU time without the wait for the client's end.
            if is_clients_last && connection.read_ahead.borrow().is_empty() {
                return;
            }
            return Box::pin(connection.linger()).await;
        }
    }
}

/// A request that was on its way when the worker was told to stop is answered, and the client told to close.
async fn last_chance(worker: &Worker, receive: impl Future<Output = Received>) -> Received {
    let timeout = worker.settings().limits.drain_idle_timeout;
    Box::pin(tokio::time::timeout(timeout, receive)).await.unwrap_or(Received::Nothing)
}

/// parse -> **route -> key -> lookup -> (fetch -> save)** -> deliver -> log
async fn answer(exchange: &mut Exchange) -> Answer {
    let routed = match routed(exchange) {
        Ok(routed) => routed,
        Err(fault) => {
            exchange.request.head.target.clone_into(&mut exchange.uri);
            return Answer::Own(fault, None);
        }
    };
    let answer = answer_routed(exchange, &routed).await;
    exchange.site = routed.site;
    match routed.stands_for {
        Some(read) if exchange.origin().is_some() => exchange.aside().read = Some(read),
        Some(read) => exchange.worker.paths.borrow_mut().give_back(read),
        None => {}
    }
    exchange.route = Some(routed.route);
    exchange.uri = routed.key.into_uri();
    answer
}

async fn answer_routed(exchange: &Exchange, routed: &Routed) -> Answer {
    if forward::is_loop(&exchange.request) {
        return Answer::Own(Fault::Loop, None);
    }
    //= RFC 9110 section 7.6.2
    //# If the received value is zero, the intermediary MUST NOT forward the request; instead, the intermediary MUST respond as the final recipient.
    if forward::max_forwards(&exchange.request) == Some(0) {
        return Answer::Options;
    }
    if purge::METHODS.contains(&exchange.request.head.method.as_str()) {
        let (code, text) = purge::purge(exchange, routed);
        return Answer::Purged(code, text);
    }
    // A PURGE is for the cache, and may drop what was stored of a URL before that was refused.
    if let Some(by) = &routed.refused_by {
        exchange.aside().notes.refused(by);
        return Answer::Own(Fault::RefusedUrl, Some(respond::refused()));
    }
    let upgrade = forward::upgrade(&exchange.request, routed);
    let is_anonymous = see(exchange, routed);
    let reason = pass_reason(&exchange.request, routed, upgrade, is_anonymous);
    if let Some(reason) = reason {
        exchange.aside().notes.passes(reason, &exchange.request.head.fields, routed, is_anonymous);
    }
    if reason.is_none() {
        guard::sample(exchange, routed);
    }
    if reason.is_none()
        && let Some(hit) = lookup::hit_at_once(exchange, routed)
    {
        return hit;
    }
    // What takes longer runs in memory of its own: a connection that waits for its next request holds no room for it.
    let asked = async {
        match reason {
            Some(reason) => fetch::pass(exchange, routed, upgrade, reason).await,
            None => lookup::look_up(exchange, routed).await,
        }
    };
    let answer = Box::pin(asked).await;
    exchange.has_waited();
    answer
}

/// Whether the request's visitor is known to be nobody, although it carries a session.
fn see(exchange: &Exchange, routed: &Routed) -> bool {
    let (worker, now_ms) = (&exchange.worker, exchange.now().mono_ms);
    let Some(seen) = session::see(&worker.sessions, routed, &exchange.request.head.fields, now_ms) else {
        return false;
    };
    exchange.seen.set(seen);
    if let Some(standing) = seen.standing.filter(|standing| standing.is_anonymous) {
        worker.sessions.reads(standing.id, now_ms);
        if standing.is_to_be_renewed && session::probe::may_follow(&exchange.request) {
            session::probe::ask(exchange, &routed.route, &routed.base(), standing.id);
        }
    }
    seen.is_anonymous
}

impl Deref for Logged {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.0
    }
}

impl DerefMut for Logged {
    fn deref_mut(&mut self) -> &mut Exchange {
        &mut self.0
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if !self.0.is_logged() {
            // The worker ends, and its deadline was over before the request was.
            log::log_cut(&self.0);
        }
    }
}

/// Answers what is not a request, and closes.
async fn refuse(worker: &Worker, connection: &Connection, fault: Fault) {
    tracing::debug!(fault = fault.text(), "refused");
    let id = RequestId::Made(worker.request_ids.make());
    let sent = synthetic::refuse(worker, connection, &fault, id).await.ok();
    log::log_refused(worker, connection, &fault, id, sent);
    if sent.is_some() {
        connection.linger().await;
    }
}

/// Where a request belongs.
fn routed(exchange: &Exchange) -> Result<Routed, Fault> {
    let Exchange { connection, request, settings, .. } = exchange;
    let own_address = || connection.stream.local_address();
    route::route(&settings.sites, exchange.desk(), &request.head, connection.peer().is_trusted, own_address)
}
