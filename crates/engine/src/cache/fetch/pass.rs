//! Fetches for one client, without a fill that others could join, and applies what the response means for the cache: an unsafe
//! request invalidates, the answer to a HEAD updates, and the answer to a POST may be stored for later GETs.

use crate::cache::changes::Changing;
use crate::cache::fetch::fill_body::pump;
use crate::cache::fetch::fresh_link::{self, VisitorLink};
use crate::cache::fetch::to_client::{ToClient, failed};
use crate::exchange::Exchange;
use crate::exchange::answer::{Answer, ConditionEvaluator, IntendedUse};
use crate::exchange::body::ClientBody;
use crate::exchange::form_body::FormBuffer;
use crate::origin::fetch_context::FetchContext;
use crate::origin::origin_answer::OriginAnswer;
use crate::origin::send;
use crate::origin_client::Response;
use crate::request::changing;
use crate::request::forward::{Audience, forward};
use crate::request::request_id::{self, RequestIdDigits};
use crate::request::route::{Routed, canonical};
use crate::sites::ActiveRoute;
use crate::visitors::{scan_body, session};
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::represent::own_head;
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{FillWriter, SharedRequest, Verdict};
use kasoku_metrics::Counter;
use kasoku_options::{ChangeAnswer, DeviceUrls, UrlPattern};
use kasoku_origin::permits::Share;
use kasoku_origin::{Error, Interim, NoUpload};
use kasoku_programs::upload::invite;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::classes::Device;
use kasoku_semantics::forward::{measured, tell_stand_in};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::storable::post_stores_for_get;
use kasoku_semantics::time::Now;
use kasoku_visitors::passing;
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead};
use std::sync::Arc;

/// Asks the origin for this client alone. `reason`: why the request passes.
pub(crate) async fn pass(exchange: &Exchange, routed: &Routed, upgrade: Option<&str>, reason: Reason) -> Answer {
    let Exchange { worker, request, .. } = exchange;
    let audience = audience(exchange, routed, upgrade);
    session::note_pass(exchange, routed, reason);
    let mut outgoing = forward(request, routed, &exchange.peer, audience, upgrade);
    if audience == Audience::OneClient {
        outgoing.fields.push(request_id::FIELD, exchange.id().text(&mut RequestIdDigits::default()));
    }
    let status = CacheStatus::forwarded(reason);
    let fresh = tokio::select! {
        biased;
        fresh = own_link(exchange, routed, upgrade) => fresh,
        () = exchange.gone() => return Answer::ClientGone(status, IntendedUse::Pass),
    };
    if let Some(fresh) = &fresh {
        fresh.write(routed, &mut outgoing);
    }
    let mut interim = ToClient(exchange);
    let mut changing = Changing::of(exchange, routed).map(Box::new);
    if changing.as_ref().is_some_and(|changing| changing.may_need_beginning(routed)) {
        // What a proof is looked for in has to be readable.
        outgoing.fields.remove("accept-encoding");
    }
    let has_body = !matches!(request.body, BodyLength::None);
    let form = changing.as_mut().filter(|_| has_body).and_then(|changing| changing.form(worker, routed));
    let mut upload = match client_body(exchange, &routed.route, &mut outgoing, form, &mut interim).await {
        Ok(upload) => upload,
        Err(error) => return failed(&error, status),
    };
    let writer = begin_beside(exchange, routed, audience);
    let request_time = worker.now();
    let mut fetch_context = FetchContext::new(exchange, routed, audience, exchange.begin_origin());
    if reason == Reason::PassField {
        // Any client can ask for any page in this way, as often as it likes.
        fetch_context.share = Share::Quarter;
    }
    // The answer to a HEAD may be stored for all clients.
    if let Some(stand_in) = fetch_context.connection.stand_in {
        tell_stand_in(&mut outgoing.fields, stand_in);
    }
    // A request that may change something goes on when its client leaves: its answer says which stored responses are invalid now.
    let sent = if upload.is_some() || !request.head.method.is_safe() || changing.is_some() {
        send::send(worker, &routed.route, &fetch_context, &outgoing, &mut upload, &mut interim).await
    } else {
        // No other request waits for the answer: a client that leaves takes its request back.
        let mut no_upload = Some(NoUpload);
        tokio::select! {
            biased;
            sent = send::send(worker, &routed.route, &fetch_context, &outgoing, &mut no_upload, &mut interim) => sent,
            () = exchange.gone() => return Answer::ClientGone(status, IntendedUse::Pass),
        }
    };
    let OriginAnswer { response, one_client, replaced, .. } = sent;
    match response {
        Ok(response) if response.is_switched() => Answer::Switched(Box::new(response)),
        Ok(mut response) => {
            if let Some(fresh) = &fresh {
                fresh.add_to(&mut response.head);
            }
            session::note_set_cookie(exchange, routed, &response.head);
            if let Some(form) = changing.as_ref().and_then(|changing| changing.form_as_query(exchange)) {
                session::note_form(exchange, routed, &form, &response.head.fields);
            }
            keep_choice(exchange, routed, response.head.status);
            let (audience, writer, status) = match one_client {
                // The reason for which the request passed says more.
                Some(Reason::PassRule) => (Audience::OneClient, None, status),
                Some(reason) => (Audience::OneClient, None, CacheStatus { detail: Some(reason), ..status }),
                None => (audience, writer, status),
            };
            let answered = replaced.unwrap_or(response.head.status);
            if let Some(changing) = changing {
                let beginning = match changing.waits_for_beginning(exchange, routed, answered, &response.head.fields) {
                    true => Box::pin(scan_body::beginning(&response.head, &mut response.body)).await,
                    false => Ok(Bytes::new()),
                };
                let fields = &response.head.fields;
                let answer = |beginning| ChangeAnswer { status: answered, fields, beginning };
                changing.has_answer(exchange, routed, beginning.as_deref().ok().map(answer));
                if let Err(error) = beginning {
                    invalidate(exchange, routed, answered, fields, writer.as_ref());
                    return failed(&error, status);
                }
            }
            let passed = Passed { outgoing, audience, writer, request_time, answered, status };
            after_pass(exchange, routed, passed, response)
        }
        Err(error) => {
            if let Some(changing) = changing.filter(|_| !error.is_unasked()) {
                changing.has_answer(exchange, routed, None);
            }
            if let Some(answered) = replaced {
                invalidate(exchange, routed, answered, &Fields::new(), writer.as_ref());
            }
            failed(&error, status)
        }
    }
}

/// The visitor's own link, where the visitor has followed a link of a shared page.
async fn own_link(exchange: &Exchange, routed: &Routed, upgrade: Option<&str>) -> Option<VisitorLink> {
    let wanted = fresh_link::wanted(exchange, routed).filter(|_| upgrade.is_none())?;
    Box::pin(wanted.find(exchange, routed)).await
}

/// Keeps the visitor's choice of mobile or desktop pages in a cookie: the application's session knows it, but a shared page is
/// selected without.
fn keep_choice(exchange: &Exchange, routed: &Routed, status: StatusCode) {
    let route = &*routed.route;
    let DeviceUrls { mobile, desktop } = &route.device_urls;
    if !route.policy.grant.key_device || status.is_client_error() || status.is_server_error() {
        return;
    }
    let fits = |urls: &Vec<UrlPattern>| routed.is_any(|| urls.iter());
    let chosen = if fits(mobile) { Some(Device::Mobile) } else { fits(desktop).then_some(Device::Desktop) };
    if let Some(device) = chosen {
        exchange.extras().own_cookies.push(device.cookie().into_bytes());
    }
}

/// The body that a request brings, if any. The whole body is read where the route wants it so; otherwise its beginning is read,
/// unless the client waits for the origin's 100.
async fn client_body(
    exchange: &Exchange,
    route: &ActiveRoute,
    outgoing: &mut RequestHead,
    form: Option<FormBuffer>,
    interim: &mut impl Interim,
) -> Result<Option<ClientBody>, Error> {
    let Exchange { worker, door, request, settings, .. } = exchange;
    if matches!(request.body, BodyLength::None) {
        return Ok(None);
    }
    let fields = &request.head.fields;
    let upload = ClientBody::new(door.clone(), &settings.limits, request.body, fields.clone());
    let mut upload = upload.keeping(form);
    if route.buffers(request.body) {
        if !send::can_be_reached(worker, route).await {
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

/// The answer to a plain HEAD updates what is stored for all; the answer to any other request that passes is for its client.
fn audience(exchange: &Exchange, routed: &Routed, upgrade: Option<&str>) -> Audience {
    let request = &exchange.request;
    // A granted lifetime must not begin anew with each HEAD: scripts without validators answer it as always.
    let is_granting = routed.route.policy.grant.is_granting();
    let is_plain = upgrade.is_none() && matches!(request.body, BodyLength::None) && !has_to_pass(exchange, routed);
    let is_shared = request.head.method == Method::HEAD && is_plain && !is_granting;
    if is_shared { Audience::Shared } else { Audience::OneClient }
}

/// Whether the operator wants such requests to pass, whatever their method: then their answers change nothing for other clients.
fn has_to_pass(exchange: &Exchange, routed: &Routed) -> bool {
    let (fields, is_anonymous) = (&exchange.request.head.fields, exchange.identity.get().is_anonymous);
    routed.passes.is_some() || passing::passes(fields, routed.route.visitor_rules(), is_anonymous).is_some()
}

/// A fill that no request joins, for an answer that may change what is stored: the answer to a HEAD, or to a POST that may turn out
/// to be storable for later GETs (profile `rfc`). It begins before the request is sent, so that an invalidation of the key from
/// then on prevails over the answer.
///
/// Not for each POST ([`SharedRequest::post`]): it reaches the origin with fields that are not in the key.
fn begin_beside(exchange: &Exchange, routed: &Routed, audience: Audience) -> Option<FillWriter> {
    let Exchange { worker, request, peer, .. } = exchange;
    let (head, route) = (&request.head, routed.cache_route(&[]));
    let shared = match audience {
        Audience::Shared | Audience::Background => SharedRequest::new(head, &route, peer),
        Audience::OneClient if has_to_pass(exchange, routed) => return None,
        Audience::OneClient => SharedRequest::post(head, &route, peer)?,
    };
    Some(worker.cache.fill_alone(&shared, worker.now()))
}

/// A request that has passed.
struct Passed {
    outgoing: RequestHead,
    audience: Audience,
    /// For a HEAD, or for a POST whose answer may be stored for GETs.
    writer: Option<FillWriter>,
    request_time: Now,
    /// The application's status, whatever status the client gets.
    answered: StatusCode,
    status: CacheStatus,
}

/// Applies what a response that passes means for the cache.
fn after_pass(exchange: &Exchange, routed: &Routed, passed: Passed, response: Response) -> Answer {
    let Passed { outgoing, audience, writer, request_time, answered, status } = passed;
    let worker = &exchange.worker;
    if let (Audience::Shared, Some(own)) = (audience, &writer) {
        worker.cache.on_head(&response.head, request_time, worker.now(), own);
    }
    invalidate(exchange, routed, answered, &response.head.fields, writer.as_ref());
    let is_for_get = outgoing.method == Method::POST && post_stores_for_get(routed.key.uri(), &response.head);
    match writer.filter(|writer| is_for_get && !writer.is_poisoned()) {
        Some(writer) => store_beside(exchange, writer, response, request_time),
        None => Answer::Origin(Box::new(response), ConditionEvaluator::Origin, status),
    }
}

/// Drops what an unsafe request with such an answer has invalidated.
fn invalidate(exchange: &Exchange, routed: &Routed, status: StatusCode, fields: &Fields, own: Option<&FillWriter>) {
    let worker = &exchange.worker;
    let canonical = |uri: String| canonical(&exchange.settings.sites, &mut worker.paths.borrow_mut(), uri);
    let method = &exchange.request.head.method;
    // A visitor who logs in is redirected to a page that has not changed.
    let nothing = Fields::new();
    let fields = if changing::is_none(method, routed) { &nothing } else { fields };
    let invalidated = worker.cache.on_unsafe_response(method, &routed.key, status, fields, canonical, own);
    worker.cells.add(Counter::Invalidated, exchange.invalidated(invalidated) as u64);
}

/// Stores the answer to a POST for later GETs, while the client reads it.
fn store_beside(exchange: &Exchange, writer: FillWriter, response: Response, request_time: Now) -> Answer {
    let mut status = CacheStatus::forwarded(Reason::Method);
    let response_time = exchange.worker.now();
    let verdict = writer.on_response(&OriginExchange {
        response: &response.head,
        request_time,
        response_time,
        body_length: response.body.length(),
        is_file: false,
    });
    match verdict {
        Verdict::Write(body) => {
            status.stored = true;
            let meta = Arc::new(body.meta().with_head(own_head(&response.head)));
            let reader = body.reader();
            tokio::task::spawn_local(pump(exchange.worker.clone(), response, body, exchange.begin_origin(), None));
            Answer::Filling(meta, reader, status)
        }
        _ => Answer::Origin(Box::new(response), ConditionEvaluator::Origin, status),
    }
}
