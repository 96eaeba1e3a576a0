//! The driver: the path of a request, step by step, for each request of a connection.

use crate::beacon;
use crate::body::BodyState;
use crate::clock::Moment;
use crate::connection::{Connection, IdleTimer};
use crate::deliver::{self, Answer};
use crate::error::Fault;
use crate::options::Route;
use crate::parse::{self, Received, Request};
use crate::request_id::RequestId;
use crate::respond::{self, Notes};
use crate::route::{self, Routed};
use crate::session::{self, Seen};
use crate::settings::Settings;
use crate::timing::OriginTime;
use crate::trace::RequestTrace;
use crate::worker::Worker;
use crate::{changes, fetch, forward, guard, log, lookup, purge, tunnel, visitor};
use http::{Method, StatusCode};
use kasoku_metrics::SiteCells;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// One request on its way, and what belongs to it.
pub(crate) struct Exchange {
    pub(crate) worker: Rc<Worker>,
    /// What it is served by to its end.
    pub(crate) settings: Rc<Settings>,
    pub(crate) connection: Rc<Connection>,
    pub(crate) request: Request,
    pub(crate) body: BodyState,
    /// What was asked for, once the answer is known: the effective URI, or the target as sent where there is none.
    pub(crate) uri: String,
    /// What it is served by, once that is known.
    pub(crate) route: Option<Arc<Route>>,
    /// Which of the sites that is.
    pub(crate) site: usize,
    /// What an origin took, where one was asked or another request's answer awaited.
    origin: OnceCell<Rc<OriginTime>>,
    id: u128,
    now: Cell<Now>,
    began_us: u64,
    has_waited: Cell<bool>,
    /// The status and the bytes of content that have gone out so far; `None`: no answer has begun.
    progress: Cell<Option<(StatusCode, u64)>>,
    is_logged: Cell<bool>,
    /// What is known of its visitor.
    pub(crate) seen: Cell<Seen>,
    /// What only some requests need.
    aside: RefCell<Option<Box<Aside>>>,
}

/// What only some requests need beside the rest: a hit makes no room for it.
#[derive(Default)]
pub(crate) struct Aside {
    /// The session with which the request is on its way to the application. In memory of its own: what is told of each miss is beside it.
    pub(crate) session: Option<Box<session::Ongoing>>,
    /// What we set ourselves: the end of its visitor's session, or what its visitor has chosen.
    pub(crate) own_cookies: Vec<Vec<u8>>,
    /// What it may have changed, as far as nobody knows.
    pub(crate) doubt: Option<Box<changes::Doubt>>,
    /// The target as the application reads it, where that is another one.
    pub(crate) read: Option<String>,
    /// Where it is in a trace.
    pub(crate) trace: Option<Rc<RequestTrace>>,
    /// What is told of it besides what the cache did.
    pub(crate) notes: Notes,
}

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
            Received::Request(request) => Exchange::new(&worker, &connection, request),
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
    let routed = match route::route(exchange) {
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

/// Why a request never meets the cache. `is_anonymous`: its visitor is known to be nobody, although it carries a session.
pub(crate) fn pass_reason(
    request: &Request,
    routed: &Routed,
    upgrade: Option<&str>,
    is_anonymous: bool,
) -> Option<Reason> {
    if upgrade.is_some() {
        return Some(Reason::Upgrade);
    }
    if !request.head.method.is_safe() || request.head.method == Method::OPTIONS {
        return Some(Reason::Method);
    }
    if !matches!(request.body, BodyLength::None) {
        return Some(Reason::RequestBodyOnGet);
    }
    if routed.passes.is_some() {
        return routed.passes;
    }
    visitor::passes(&request.head.fields, &routed.route, is_anonymous)
}

impl Exchange {
    fn new(worker: &Rc<Worker>, connection: &Rc<Connection>, request: Request) -> Self {
        let Moment { now, mono_us } = worker.moment();
        let settings = worker.settings();
        // A reload may have changed whom to believe.
        connection.trust(&settings.trusted_proxies);
        Self {
            worker: worker.clone(),
            settings,
            connection: connection.clone(),
            body: BodyState::new(request.body),
            uri: String::new(),
            route: None,
            site: 0,
            origin: OnceCell::new(),
            id: worker.request_ids.make(),
            now: Cell::new(now),
            began_us: mono_us,
            has_waited: Cell::new(false),
            progress: Cell::new(None),
            is_logged: Cell::new(false),
            seen: Cell::default(),
            aside: RefCell::default(),
            request,
        }
    }

    /// The present, as of when the request came or its answer last had to be waited for: a hit reads the clock once.
    pub(crate) fn now(&self) -> Now {
        self.now.get()
    }

    /// What only some requests need: from now on, this one does.
    pub(crate) fn aside(&self) -> RefMut<'_, Aside> {
        RefMut::map(self.aside.borrow_mut(), |aside| &mut **aside.get_or_insert_default())
    }

    /// The same, where it needs something.
    pub(crate) fn existing_aside(&self) -> Option<RefMut<'_, Aside>> {
        RefMut::filter_map(self.aside.borrow_mut(), |aside| aside.as_deref_mut()).ok()
    }

    fn has_waited(&self) {
        self.now.set(self.worker.now());
        self.takes_time();
    }

    /// The request has to wait for somebody.
    pub(crate) fn takes_time(&self) {
        self.has_waited.set(true);
    }

    /// Where it is counted what its site has answered.
    pub(crate) fn site_cells(&self) -> &SiteCells {
        let of_site = self.settings.site_cells.get(self.site).filter(|_| self.route.is_some());
        of_site.unwrap_or(&self.worker.of_no_site)
    }

    /// So much of an answer has gone out.
    pub(crate) fn progressed(&self, status: StatusCode, body_bytes: u64) {
        self.progress.set(Some((status, body_bytes)));
    }

    /// See [`Exchange::progressed`].
    pub(crate) fn progress(&self) -> Option<(StatusCode, u64)> {
        self.progress.get()
    }

    /// It has been told about.
    pub(crate) fn has_been_logged(&self) {
        self.is_logged.set(true);
    }

    /// Microseconds from its head to now. What never had to wait took none: it was served in one go, and reading the clock
    /// once more for it would be the larger part of what is measured.
    pub(crate) fn duration_us(&self) -> u64 {
        if self.has_waited.get() { self.worker.moment().mono_us.saturating_sub(self.began_us) } else { 0 }
    }

    /// Microseconds from its head to that moment.
    pub(crate) fn elapsed_us(&self, moment: Moment) -> u64 {
        moment.mono_us.saturating_sub(self.began_us)
    }

    /// The id that was made for it, whoever has given it another one.
    pub(crate) fn made_id(&self) -> u128 {
        self.id
    }

    pub(crate) fn id(&self) -> RequestId<'_> {
        RequestId::of(&self.connection.peer(), &self.request.head.fields, self.id)
    }

    /// What its origin takes, from the first call on.
    pub(crate) fn begin_origin(&self) -> Rc<OriginTime> {
        self.origin.get_or_init(|| Rc::new(OriginTime::begin(self.worker.moment().mono_us))).clone()
    }

    /// What its origin took, if it has one.
    pub(crate) fn origin(&self) -> Option<&OriginTime> {
        self.origin.get().map(Rc::as_ref)
    }

    /// All that the origin sends has been read.
    pub(crate) fn origin_has_ended(&self) {
        if let Some(origin) = self.origin() {
            origin.has_ended(self.worker.moment().mono_us);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.is_logged.get() {
            // The worker ends, and its deadline was over before the request was.
            log::log_cut(self);
        }
        let head = std::mem::replace(&mut self.request.head, RequestHead::new(Method::GET, String::new()));
        self.worker.heads.give(head);
        self.worker.uris.give(std::mem::take(&mut self.uri));
    }
}

/// Answers what is not a request, and closes.
async fn refuse(worker: &Worker, connection: &Connection, fault: Fault) {
    tracing::debug!(fault = fault.text(), "refused");
    let id = RequestId::Made(worker.request_ids.make());
    let sent = deliver::refuse(worker, connection, &fault, id).await.ok();
    log::log_refused(worker, connection, &fault, id, sent);
    if sent.is_some() {
        connection.linger().await;
    }
}
