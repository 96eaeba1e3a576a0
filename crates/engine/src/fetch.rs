//! Asks the origin: for one client alone ([`pass`]), or into a fill ([`fill`], [`refresh`]).
//!
//! A fill runs in a task of its own, so that the client that began it can leave while others wait. That client gets
//! news from the task: interim responses, and whether the answer is its own alone, or one that it reads like
//! everybody else.

use crate::body::ClientBody;
use crate::connection::Connection;
use crate::deliver::{self, Answer, Conditions, Meant};
use crate::error::{Fault, reason};
use crate::forward::{Audience, forward, measured};
use crate::held;
use crate::lookup::hit;
use crate::options::Route;
use crate::origins::{self, Errand};
use crate::represent::makes_codings_of;
use crate::request_id::{self, Digits};
use crate::respond::{Dropped, forwarded};
use crate::route::{Routed, canonical};
use crate::serve::Exchange;
use crate::session;
use crate::timing::OriginTime;
use crate::visitor;
use crate::worker::Worker;
use http::{Method, StatusCode, Version};
use kasoku_cache::verdict::Exchange as OriginExchange;
use kasoku_cache::{Ask, Entry, FillReader, FillWriter, Joined, Meta, Verdict};
use kasoku_metrics::Counter;
use kasoku_origin::upload::invite;
use kasoku_origin::{Body, Error, Interim, NoUpload, Piece, Response};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::downstream::tell;
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::hop_by_hop::{forwardable_trailers, strip_hop_by_hop};
use kasoku_semantics::policy::Profile;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::set_cookies::Secrets;
use kasoku_semantics::storable::post_stores_for_get;
use kasoku_semantics::time::Now;
use kasoku_wire::field::content_range::{self, ContentRange};
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Interim responses that wait for a client; more are dropped, since they are hints.
const INTERIM_QUEUE_MAX: usize = 16;

/// How often one fill may ask: once, and once more when parts could not be combined.
const ASKS_MAX: usize = 2;

/// Asks for this client alone.
pub(crate) async fn pass(exchange: &Exchange, routed: &Routed, upgrade: Option<&str>, reason: Reason) -> Answer {
    let Exchange { worker, connection, request, .. } = exchange;
    let audience = audience(exchange, routed, upgrade);
    session::passes(exchange, routed, reason);
    let mut outgoing = forward(request, routed, &connection.peer(), audience, upgrade);
    if audience == Audience::OneClient {
        outgoing.fields.push(request_id::FIELD, exchange.id().text(&mut Digits::default()));
    }
    let status = forwarded(reason);
    let mut interim = ToClient::new(exchange);
    let mut upload = match client_body(exchange, &routed.route, &mut outgoing, &mut interim).await {
        Ok(upload) => upload,
        Err(error) => return failed(&error, status),
    };
    let writer = begin_beside(exchange, routed, &outgoing, audience);
    let request_time = worker.now();
    let errand = Errand::new(exchange, routed, audience, exchange.begin_origin());
    // What changes something is not broken off in the middle, and its answer says what of the stored is invalid now.
    let sent = if upload.is_some() || !request.head.method.is_safe() {
        origins::send(worker, &routed.route, &errand, &outgoing, &mut upload, &mut interim).await
    } else {
        // Nobody else waits for the answer: a client that leaves takes its request back.
        let mut no_upload = Some(NoUpload);
        tokio::select! {
            biased;
            sent = origins::send(worker, &routed.route, &errand, &outgoing, &mut no_upload, &mut interim) => sent,
            () = connection.gone() => return Answer::ClientGone(status, Meant::ForOneClient),
        }
    };
    match sent {
        Ok(response) if response.is_switched() => Answer::Switched(Box::new(response)),
        Ok(response) => {
            session::opens(exchange, routed, &response.head.fields);
            let (audience, writer, status) = match errand.for_one_client() {
                // That it passed says more.
                Some(Reason::PassRule) => (Audience::OneClient, None, status),
                Some(reason) => (Audience::OneClient, None, CacheStatus { detail: Some(reason), ..status }),
                None => (audience, writer, status),
            };
            let answered = errand.replaced().unwrap_or(response.head.status);
            let passed = Passed { outgoing, audience, writer, request_time, answered, status };
            after_pass(exchange, routed, passed, response)
        }
        Err(error) => {
            if let Some(answered) = errand.replaced() {
                invalidate(exchange, routed, answered, &Fields::new(), writer.as_ref());
            }
            failed(&error, status)
        }
    }
}

/// The body that a request brings, if any: all of it where the route wants it so, or its beginning, unless its client waits for
/// the origin's 100.
async fn client_body(
    exchange: &Exchange,
    route: &Route,
    outgoing: &mut RequestHead,
    interim: &mut impl Interim,
) -> Result<Option<ClientBody>, Error> {
    let Exchange { worker, connection, request, body, settings, .. } = exchange;
    if matches!(request.body, BodyLength::None) {
        return Ok(None);
    }
    let fields = &request.head.fields;
    let mut upload = ClientBody::new(connection.clone(), request.body, body.clone(), fields.clone());
    if route.buffers(request.body) {
        if route.group.is_down(worker.now().mono_ms) {
            return Err(Error::Down);
        }
        let buffer = &settings.request_buffer;
        upload.reserve(worker, buffer).map_err(Error::Upload)?;
        invite(outgoing, interim).await;
        let bytes = upload.take_in(worker, buffer).await.map_err(Error::Upload)?;
        measured(&mut outgoing.fields, bytes);
    } else if !fields.contains("expect") {
        upload.read_ahead().await.map_err(Error::Upload)?;
    }
    Ok(Some(upload))
}

/// The answer to a plain HEAD updates what is stored for all; any other that passes is for its client.
fn audience(exchange: &Exchange, routed: &Routed, upgrade: Option<&str>) -> Audience {
    let request = &exchange.request;
    // A granted lifetime must not begin anew with each HEAD, to which scripts without validators answer what they always do.
    let is_granting = routed.route.policy.grant.is_granting();
    let is_plain = upgrade.is_none() && matches!(request.body, BodyLength::None) && !has_to_pass(exchange, routed);
    let is_shared = request.head.method == Method::HEAD && is_plain && !is_granting;
    if is_shared { Audience::Shared } else { Audience::OneClient }
}

/// Whether the operator wants such requests to pass, whatever their method: then nothing follows from them for others.
fn has_to_pass(exchange: &Exchange, routed: &Routed) -> bool {
    let (fields, is_anonymous) = (&exchange.request.head.fields, exchange.seen.get().is_anonymous);
    routed.passes.is_some() || visitor::passes(fields, &routed.route, is_anonymous).is_some()
}

/// A fill that nobody joins, for an answer that may change what is stored: that to a HEAD, and that to a POST, which may
/// turn out to be one for later GETs as well (profile rfc). It begins before the request is sent, so that whatever
/// invalidates the key from then on outdoes the answer.
///
/// Not for a POST in profile safe: it reaches the origin with fields that are not in the key, the client's address among
/// them.
fn begin_beside(
    exchange: &Exchange,
    routed: &Routed,
    outgoing: &RequestHead,
    audience: Audience,
) -> Option<FillWriter> {
    let (worker, policy) = (&exchange.worker, &routed.route.policy);
    let is_by_the_rfc = policy.profile == Profile::Rfc && !policy.grant.is_granting();
    let is_post = outgoing.method == Method::POST;
    let may_be_for_get = is_post && is_by_the_rfc && !has_to_pass(exchange, routed);
    let ask = Ask { key: &routed.key, request: outgoing, policy, now: worker.now() };
    (may_be_for_get || audience == Audience::Shared).then(|| worker.cache.fill_alone(&ask))
}

/// A request that has passed.
struct Passed {
    outgoing: RequestHead,
    audience: Audience,
    /// Of a HEAD, or of a POST whose answer may be one for GETs.
    writer: Option<FillWriter>,
    request_time: Now,
    /// The application's status, whatever the client gets.
    answered: StatusCode,
    status: CacheStatus,
}

/// What a response that passes by means for the cache.
fn after_pass(exchange: &Exchange, routed: &Routed, passed: Passed, response: Response) -> Answer {
    let Passed { outgoing, audience, writer, request_time, answered, status } = passed;
    let worker = &exchange.worker;
    let key = &routed.key;
    if let (Audience::Shared, Some(own)) = (audience, &writer) {
        let now = worker.now();
        let ask = Ask { key, request: &outgoing, policy: &routed.route.policy, now };
        worker.cache.on_head(&ask, &response.head, request_time, now, own);
    }
    invalidate(exchange, routed, answered, &response.head.fields, writer.as_ref());
    let is_for_get = outgoing.method == Method::POST && post_stores_for_get(key.uri(), &response.head);
    match writer.filter(|writer| is_for_get && !writer.is_poisoned()) {
        Some(writer) => store_beside(exchange, &outgoing, writer, response, request_time),
        None => Answer::Origin(Box::new(response), Conditions::Origins, status),
    }
}

/// Drops what an unsafe request with such an answer has made invalid.
fn invalidate(exchange: &Exchange, routed: &Routed, status: StatusCode, fields: &Fields, own: Option<&FillWriter>) {
    let worker = &exchange.worker;
    let canonical = |uri: String| canonical(&exchange.settings.sites, &mut worker.paths.borrow_mut(), uri);
    let method = &exchange.request.head.method;
    let dropped = worker.cache.on_unsafe_response(method, &routed.key, status, fields, canonical, own);
    worker.cells.add(Counter::Invalidated, dropped as u64);
}

/// Stores the answer to a POST for later GETs, while the client reads it.
fn store_beside(
    exchange: &Exchange,
    outgoing: &RequestHead,
    writer: FillWriter,
    response: Response,
    request_time: Now,
) -> Answer {
    let mut status = forwarded(Reason::Method);
    let response_time = exchange.worker.now();
    let verdict = writer.on_response(&OriginExchange {
        request: outgoing,
        response: &response.head,
        request_time,
        response_time,
        body_length: response.body.length(),
    });
    match verdict {
        Verdict::Write(body) => {
            status.stored = true;
            let meta = Arc::new(body.meta().with_head(own_head(&response.head)));
            let reader = body.reader();
            tokio::task::spawn_local(pump(exchange.worker.clone(), response, body, exchange.begin_origin()));
            Answer::Filling(meta, reader, status)
        }
        _ => Answer::Origin(Box::new(response), Conditions::Origins, status),
    }
}

pub(crate) fn failed(error: &Error, status: CacheStatus) -> Answer {
    tracing::debug!(%error, "origin");
    // What was asked of nobody was not forwarded (RFC 9211 section 2.2).
    let fwd = status.fwd.filter(|_| !error.is_unasked());
    Answer::Own(Fault::from_origin(error), Some(CacheStatus { fwd, detail: Some(reason(error)), ..status }))
}

/// What the client that began a fill learns from it.
enum News {
    /// The response may be shared: read it like everybody else. The head is the origin's own, with what may not be
    /// stored.
    Shared(FillReader, Dropped, Box<ResponseHead>),
    /// A stored response answers.
    Stored(Arc<Entry>, Reason),
    /// The response is yours as it is; others get what is kept of it, and whether it is stored.
    Kept(Box<Response>, bool),
    /// The response is yours alone, for this reason.
    Yours(Box<Response>, Reason),
    /// There is none.
    Failed(Error),
}

/// Asks for everybody who waits for this fill.
pub(crate) async fn fill(
    exchange: &Exchange,
    routed: &Routed,
    writer: FillWriter,
    outgoing: RequestHead,
    miss: Reason,
) -> Answer {
    let (news_sender, mut news) = oneshot::channel();
    let (interim_sender, mut interim) = mpsc::channel(INTERIM_QUEUE_MAX);
    let errand = Errand::new(exchange, routed, Audience::Shared, exchange.begin_origin());
    let task = FillTask::new(exchange, routed, errand, outgoing, interim_sender);
    tokio::task::spawn_local(task.run(writer, news_sender));
    let mut to_client = ToClient::new(exchange);
    let news = loop {
        tokio::select! {
            biased;
            Some(head) = interim.recv() => to_client.interim(head).await,
            news = &mut news => break news,
            () = exchange.connection.gone() => return Answer::ClientGone(forwarded(miss), Meant::ForTheCache),
        }
    };
    let mut status = forwarded(miss);
    match news {
        Ok(News::Shared(reader, dropped, head)) => match reader.head().await {
            Joined::Streaming(meta) => {
                exchange.aside().notes.kept(dropped);
                status.stored = true;
                let meta = Arc::new(meta.with_head(*head));
                Answer::Filling(meta, reader, status)
            }
            // Parts that were combined: the whole is stored by now.
            Joined::Settled(entry, _) => Answer::Stored(entry, CacheStatus { stored: true, ..status }),
            Joined::Failed(reason) | Joined::Released(reason) => {
                Answer::Own(Fault::Origin(reason), Some(CacheStatus { detail: Some(reason), ..status }))
            }
        },
        Ok(News::Stored(entry, reason @ (Reason::HitStaleError | Reason::HitStaleDisconnected))) => {
            hit(exchange, &entry, reason)
        }
        // The same of a 304: what it set is in the head, for this client alone.
        Ok(News::Stored(entry, _)) if session::opens_another(exchange, routed, &entry.meta.head.fields) => {
            Box::pin(pass(exchange, routed, None, Reason::PassSession)).await
        }
        Ok(News::Stored(entry, reason)) => {
            status.fwd_status = Some(304);
            let stored = reason == Reason::Revalidated;
            Answer::Stored(entry, CacheStatus { detail: Some(reason), stored, ..status })
        }
        Ok(News::Kept(response, stored)) => {
            Answer::Origin(response, Conditions::Ours, CacheStatus { stored, ..status })
        }
        Ok(News::Yours(response, Reason::ObjectTooLarge)) if is_whole_for_a_part(exchange, &response) => {
            drop(response);
            Box::pin(pass(exchange, routed, None, Reason::ObjectTooLarge)).await
        }
        // It opens a session, and its visitor has one, which was set aside: the page is the one that this session sees.
        Ok(News::Yours(response, _)) if session::opens_another(exchange, routed, &response.head.fields) => {
            drop(response);
            let fields = &exchange.request.head.fields;
            exchange.aside().notes.passes(Reason::PassSession, fields, routed, false);
            Box::pin(pass(exchange, routed, None, Reason::PassSession)).await
        }
        Ok(News::Yours(response, reason)) => {
            if reason == Reason::SetCookie {
                exchange.aside().notes.sets(&routed.route, &response.head.fields);
            }
            Answer::Origin(response, Conditions::Ours, CacheStatus { detail: Some(reason), ..status })
        }
        Ok(News::Failed(error)) => failed(&error, status),
        Err(_) => Answer::Own(Fault::Origin(Reason::OriginClosedEarly), Some(status)),
    }
}

/// Whether a client that wants a part got the whole of a file, which was asked for to be stored, and is not.
fn is_whole_for_a_part(exchange: &Exchange, response: &Response) -> bool {
    let is_whole_file = matches!(response.body, Body::File(_)) && response.head.status == StatusCode::OK;
    is_whole_file && exchange.request.head.fields.contains("range")
}

/// Where a stale response is refreshed in the background (RFC 5861 section 3).
///
/// It goes out in nobody's name where it may, since what a visitor is told refreshes nothing for the others.
pub(crate) fn refresh(
    exchange: &Exchange,
    routed: &Routed,
    writer: FillWriter,
    mut outgoing: RequestHead,
    stale: &Entry,
) {
    // What the client wants of its own answer is not meant for this one.
    for directive in ["cache-control", "pragma"] {
        outgoing.fields.remove(directive);
    }
    for credentials in ["cookie", "authorization"] {
        let is_in_the_key = stale.meta.nominated.iter().any(|name| name == credentials);
        if routed.route.policy.profile == Profile::Safe && !is_in_the_key {
            outgoing.fields.remove(credentials);
        }
    }
    in_the_background(exchange, routed, writer, outgoing);
}

/// Asks in nobody's name, for all who wait: what is the client's own is taken from the request as it is prepared.
pub(crate) fn probe(exchange: &Exchange, routed: &Routed, writer: FillWriter, outgoing: RequestHead) {
    in_the_background(exchange, routed, writer, outgoing);
}

fn in_the_background(exchange: &Exchange, routed: &Routed, writer: FillWriter, outgoing: RequestHead) {
    let (news, _) = oneshot::channel();
    let (interim, _) = mpsc::channel(1);
    let time = Rc::new(OriginTime::begin(exchange.worker.moment().mono_us));
    let errand = Errand::new(exchange, routed, Audience::Shared, time);
    let task = FillTask::new(exchange, routed, errand, outgoing, interim);
    tokio::task::spawn_local(task.run(writer, news));
}

/// The origin's side of a fill.
struct FillTask {
    worker: Rc<Worker>,
    route: Arc<Route>,
    errand: Errand,
    outgoing: RequestHead,
    interim: mpsc::Sender<ResponseHead>,
}

impl FillTask {
    fn new(
        exchange: &Exchange,
        routed: &Routed,
        errand: Errand,
        outgoing: RequestHead,
        interim: mpsc::Sender<ResponseHead>,
    ) -> Self {
        Self { worker: exchange.worker.clone(), route: routed.route.clone(), errand, outgoing, interim }
    }

    async fn run(self, mut writer: FillWriter, news: oneshot::Sender<News>) {
        for _ in 0..ASKS_MAX {
            let mut request = self.outgoing.clone();
            writer.prepare(&mut request);
            visitor::keep_wishes_back(&mut request, &self.route);
            let request_time = self.worker.now();
            let mut interim = Relay(&self.interim);
            let (worker, route) = (&self.worker, &self.route);
            // In memory of its own, which is free again before the body comes: what is stored would lie behind it otherwise.
            let mut no_upload = Some(NoUpload);
            let sent =
                Box::pin(origins::send(worker, route, &self.errand, &request, &mut no_upload, &mut interim)).await;
            let mut response = match sent {
                Ok(response) => response,
                Err(error) => return self.fail(writer, &request, error, news),
            };
            let one_client = self.errand.for_one_client();
            let (said, file) = match self.errand.take_said() {
                // That a file goes out is the application's answer; which part of it, if any, only what this client has asked.
                Some(said) if one_client == Some(Reason::Sendfile) => (Some(said.head), said.file),
                Some(said) if one_client.is_none() && writer.validates_elsewhere() => (Some(said.head), None),
                _ if one_client == Some(Reason::Sendfile) => (self.errand.replaced().map(ResponseHead::new), None),
                _ => (None, None),
            };
            let exchange = OriginExchange {
                request: &request,
                response: said.as_ref().unwrap_or(&response.head),
                request_time,
                response_time: self.worker.now(),
                body_length: response.body.length(),
            };
            // What completes a part that is stored already is no answer by itself.
            let is_answer = request.fields.only("range") == self.outgoing.fields.only("range");
            let is_left_alone = one_client.is_none() && is_answer && is_of_a_long_file(&self.route, &response);
            let mut one_client = one_client.or(is_left_alone.then_some(Reason::ObjectTooLarge));
            let secrets = Secrets::of(&request, exchange.response, &self.route.policy);
            // Of what names a file, the head alone is kept.
            let is_in_head = file.is_some() && secrets.occur_in_head(exchange.response);
            if is_in_head {
                one_client = Some(Reason::CookieValueInAnswer);
            }
            let file = file.filter(|_| !is_in_head);
            if !secrets.is_empty() && one_client.is_none() && writer.would_store(&exchange) {
                let mut charge = self.worker.cache.hold();
                match held::look_through(&secrets, &response.head, &mut response.body, &mut charge).await {
                    Ok(found) => one_client = found,
                    Err(error) => {
                        self.errand.time.has_ended(self.worker.moment().mono_us);
                        return self.fail(writer, &request, error, news);
                    }
                }
            }
            let verdict = match (one_client, file) {
                (Some(_), Some(file)) => writer.on_elsewhere(&exchange, file),
                (Some(reason), None) => writer.for_one_client(&exchange, reason),
                (None, _) => writer.on_response(&exchange),
            };
            match verdict {
                Verdict::Write(body) => {
                    // Whoever asked may have left; others may wait, and the response is worth storing.
                    let dropped = Dropped::of(&request, &response.head, &body.meta().freshness, &self.route);
                    let _ = news.send(News::Shared(
                        body.reader(),
                        dropped,
                        Box::new(shared_head(&request, &response.head, body.meta(), &self.route)),
                    ));
                    return pump(self.worker, response, body, self.errand.time).await;
                }
                Verdict::Settled(entry, reason) => {
                    if reason == Reason::Revalidated {
                        self.worker.cells.count(Counter::Revalidations);
                    }
                    self.errand.time.has_ended(self.worker.moment().mono_us);
                    let _ = news.send(News::Stored(entry, reason));
                    return finish_empty(response).await;
                }
                Verdict::Kept { is_stored } => {
                    if is_stored {
                        self.worker.cells.count(Counter::Stored);
                    }
                    let _ = news.send(News::Kept(Box::new(self.for_the_first(response)), is_stored));
                    return;
                }
                // It goes through piece by piece, and nothing of it is kept.
                //= RFC 9111 section 5.2.2.5
                //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in
                //# non-volatile storage and MUST make a best-effort attempt to remove the information from volatile
                //# storage as promptly as possible after forwarding it.
                //= RFC 9111 section 5.2.1.5
                //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in
                //# non-volatile storage and MUST make a best-effort attempt to remove the information from volatile
                //# storage as promptly as possible after forwarding it.
                Verdict::Private(reason) => {
                    // Clients keep it as they keep what is stored.
                    if is_left_alone {
                        let (policy, now) = (&self.route.policy, self.worker.now());
                        let freshness = freshness(&request, &response.head, request_time, now, policy);
                        tell(&request, &mut response.head, &freshness, policy);
                    }
                    let _ = news.send(News::Yours(Box::new(response), reason));
                    return;
                }
                Verdict::AskAgain(again) => writer = again,
            }
        }
        writer.release(Reason::PartialMiss);
    }

    /// What the first client gets of an answer of which all get what is kept: where a lifetime is granted, no cookie that the operator
    /// ignores.
    fn for_the_first(&self, mut response: Response) -> Response {
        if self.route.policy.grant.is_granting() {
            response.head.fields.remove("set-cookie");
            response.head.fields.remove("set-cookie2");
        }
        response
    }

    fn fail(&self, writer: FillWriter, request: &RequestHead, error: Error, news: oneshot::Sender<News>) {
        // The application has answered, and what it names can't be sent: nothing that is stored stands in for that.
        if self.errand.replaced().is_some() {
            writer.release(reason(&error));
            let _ = news.send(News::Failed(error));
            return;
        }
        let stale = writer.on_failure(request, reason(&error), self.worker.now());
        let _ = news.send(match stale {
            Ok((entry, reason)) => News::Stored(entry, reason),
            Err(_) => News::Failed(error),
        });
    }
}

/// Whether a response is from a file that is too long to be stored: the kernel has it in memory already, and sends it from there
/// without a copy. One that would be compressed has to be stored for that.
pub(crate) fn is_of_a_long_file(route: &Route, response: &Response) -> bool {
    let Body::File(_) = &response.body else { return false };
    let complete = match content_range::parse(&response.head.fields) {
        Some(ContentRange::Part { complete, .. }) => complete,
        _ => response.body.length(),
    };
    complete > Some(route.file_stored_bytes_max) && !makes_codings_of(&route.compression, &response.head)
}

/// What the client that asked gets of the origin's head: all that is not about the connection. Age is written anew.
fn own_head(head: &ResponseHead) -> ResponseHead {
    let mut head = head.clone();
    strip_hop_by_hop(&mut head.fields);
    head.fields.remove("age");
    head
}

/// The same of a response that others get as well. Where a lifetime is granted, the first client gets what they get: no cookie
/// that the operator ignores, and the lifetime, if clients are told.
fn shared_head(request: &RequestHead, head: &ResponseHead, meta: &Meta, route: &Route) -> ResponseHead {
    let mut head = own_head(head);
    if route.policy.grant.is_granting() {
        head.fields.remove("set-cookie");
        head.fields.remove("set-cookie2");
        tell(request, &mut head, &meta.freshness, &route.policy);
    }
    head
}

/// Carries the body from the origin into the fill.
async fn pump(worker: Rc<Worker>, mut response: Response, mut body: kasoku_cache::BodyWriter, time: Rc<OriginTime>) {
    loop {
        match response.body.next().await {
            Ok(Piece::Data(data)) => {
                if body.push(data).await.is_err() {
                    return;
                }
            }
            Ok(Piece::End(trailers)) => {
                // Before those who read know of it.
                time.has_ended(worker.moment().mono_us);
                if response.body.is_doubtful() {
                    body.doubt();
                }
                let trailers = trailers.and_then(|trailers| forwardable_trailers(trailers, &response.head.fields));
                if body.finish(trailers) {
                    worker.cells.count(Counter::Stored);
                }
                return;
            }
            // What the origin closes early is never stored: the writer is dropped, and readers are cut.
            Err(error) => {
                time.has_ended(worker.moment().mono_us);
                worker.cells.count(Counter::OriginErrors);
                tracing::debug!(%error, "origin");
                return body.fail(reason(&error), worker.now());
            }
        }
    }
}

/// Lets a connection that has nothing more to say go back to the pool.
async fn finish_empty(mut response: Response) {
    if response.body.is_none() {
        let _ = response.body.next().await;
    }
}

/// Writes interim responses to the client itself.
struct ToClient<'a> {
    connection: &'a Connection,
    version: Version,
}

impl<'a> ToClient<'a> {
    fn new(exchange: &'a Exchange) -> Self {
        Self { connection: &exchange.connection, version: exchange.request.head.version }
    }
}

impl Interim for ToClient<'_> {
    async fn interim(&mut self, head: ResponseHead) {
        //= RFC 9110 section 15.2
        //# Since HTTP/1.0 did not define any 1xx status codes, a server MUST NOT send a 1xx response to an HTTP/1.0 client.
        if self.version == Version::HTTP_11 {
            // A client that is gone will be noticed when the final response is written.
            let _ = deliver::interim(self.connection, head).await;
        }
    }
}

/// Hands interim responses to the task of the client that began the fill.
struct Relay<'a>(&'a mpsc::Sender<ResponseHead>);

impl Interim for Relay<'_> {
    async fn interim(&mut self, head: ResponseHead) {
        let _ = self.0.try_send(head);
    }
}
