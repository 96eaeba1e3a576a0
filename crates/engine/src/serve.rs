//! The driver: the path of a request, step by step, for each request of a connection.

use crate::body::BodyState;
use crate::connection::Connection;
use crate::deliver::{self, Answer};
use crate::error::Fault;
use crate::outgoing::Delivered;
use crate::parse::{self, Received, Request};
use crate::route::{self, Routed};
use crate::worker::Worker;
use crate::{fetch, forward, log, lookup, tunnel};
use http::StatusCode;
use kasoku_semantics::reason::Reason;
use kasoku_wire::http1::BodyLength;
use std::rc::Rc;

/// One request on its way, and what belongs to it.
pub(crate) struct Exchange {
    pub(crate) worker: Rc<Worker>,
    pub(crate) connection: Rc<Connection>,
    pub(crate) request: Request,
    pub(crate) body: BodyState,
    /// What is asked for: the effective URI once it is known, until then the target as sent.
    pub(crate) uri: String,
}

/// Serves all requests of a connection, one after the other.
//= RFC 9112 section 9.3.2
//# A server MAY process a sequence of pipelined requests in parallel if they all have safe methods (Section 9.2.1 of
//# [HTTP]), but it MUST send the corresponding responses in the same order that the requests were received.
pub(crate) async fn serve(worker: Rc<Worker>, connection: Rc<Connection>) {
    let requests_max = connection.limits.requests_per_connection_max;
    for number in 1_u64.. {
        let received = tokio::select! {
            biased;
            received = parse::receive(&connection) => received,
            () = worker.stopped() => Received::Nothing,
        };
        let mut exchange = match received {
            Received::Nothing => return,
            Received::Refused(fault) => return refuse(&worker, &connection, fault).await,
            Received::Request(request) => Exchange::new(&worker, &connection, request),
        };
        exchange.request.keeps_alive &= number != requests_max;

        let answer = answer(&mut exchange).await;
        let delivered = deliver::deliver(&exchange, answer).await;
        log::log(&worker, &exchange, &delivered);

        if let Some(tunnel) = delivered.tunnel {
            return tunnel::run(&connection, tunnel).await;
        }
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
            return connection.linger().await;
        }
    }
}

/// parse -> **route -> key -> lookup -> (fetch -> save)** -> deliver -> log
async fn answer(exchange: &mut Exchange) -> Answer {
    let routed = match route::route(&exchange.worker, &exchange.connection, &exchange.request) {
        Ok(routed) => routed,
        Err(fault) => return Answer::Own(fault, None),
    };
    routed.key.uri().clone_into(&mut exchange.uri);
    if forward::is_loop(&exchange.request) {
        return Answer::Own(Fault::Loop, None);
    }
    //= RFC 9110 section 7.6.2
    //# If the received value is zero, the intermediary MUST NOT forward the request; instead, the intermediary MUST respond as the final recipient.
    if forward::max_forwards(&exchange.request) == Some(0) {
        return Answer::Options;
    }
    let upgrade = forward::upgrade(&exchange.request, &routed);
    match pass_reason(&exchange.request, &routed, upgrade) {
        Some(reason) => fetch::pass(exchange, &routed, upgrade, reason).await,
        None => lookup::look_up(exchange, &routed).await,
    }
}

/// Why a request never meets the cache.
fn pass_reason(request: &Request, routed: &Routed, upgrade: Option<&str>) -> Option<Reason> {
    if upgrade.is_some() {
        return Some(Reason::Upgrade);
    }
    if !request.head.method.is_safe() || request.head.method == http::Method::OPTIONS {
        return Some(Reason::Method);
    }
    if !matches!(request.body, BodyLength::None) {
        return Some(Reason::RequestBodyOnGet);
    }
    routed.route.pass.then_some(Reason::PassRule)
}

impl Exchange {
    fn new(worker: &Rc<Worker>, connection: &Rc<Connection>, request: Request) -> Self {
        Self {
            worker: worker.clone(),
            connection: connection.clone(),
            body: BodyState::new(request.body),
            uri: request.head.target.clone(),
            request,
        }
    }
}

/// Answers what is not a request, and closes.
async fn refuse(worker: &Worker, connection: &Connection, fault: Fault) {
    tracing::debug!(fault = fault.text(), "refused");
    worker.cells.count(kasoku_metrics::Counter::Requests);
    worker.cells.count(kasoku_metrics::Counter::Errors);
    if deliver::refuse(connection, worker.now(), &fault).await.is_ok() {
        connection.linger().await;
    }
}

impl Delivered {
    /// Of an answer that was cut.
    pub(crate) fn cut(status: StatusCode) -> Self {
        Self { status, body_bytes: 0, is_whole: false, keeps_alive: false, cache: None, tunnel: None }
    }
}
