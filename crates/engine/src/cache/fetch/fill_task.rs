//! The origin's side of a fill: asks the origin, lets the cache judge the answer, tells the client that began the fill, and carries
//! the body in.

use crate::cache::fetch::fill_body::{finish_empty, pump};
use crate::cache::fetch::review::{Review, Ruling};
use crate::cache::fetch::to_client::{FirstClient, FirstClientEvent};
use crate::cache::shared_tier;
use crate::error::reason;
use crate::exchange::Exchange;
use crate::origin::fetch_context::FetchContext;
use crate::origin::origin_answer::{ApplicationHead, OriginAnswer};
use crate::origin::send;
use crate::origin_client::Response;
use crate::request::notes::DroppedCookies;
use crate::request::route::Routed;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use crate::visitors::leak_guard::CheckedFill;
use crate::visitors::session;
use http::StatusCode;
use kasoku_cache::shared::{Asked, HeldLease};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{ExternalBody, FillWriter, Verdict};
use kasoku_metrics::Counter;
use kasoku_origin::permits::Share;
use kasoku_origin::{Error, Interim, NoUpload};
use kasoku_semantics::downstream::announce_lifetime;
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::time::Now;
use kasoku_visitors::anonymous_cookies;
use kasoku_visitors::leak_guard::{ComparisonTicket, CountryField, countries};
use kasoku_visitors::pattern::Pattern;
use kasoku_wire::field::content_range::{self, ContentRange};
use kasoku_wire::{RequestHead, ResponseHead};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// How often one fill may ask: once, and once more when parts could not be combined.
const ASKS_MAX: usize = 2;

/// The task of a fill.
pub(super) struct FillTask {
    worker: Rc<Worker>,
    route: Arc<ActiveRoute>,
    fetch_context: FetchContext,
    interim: mpsc::Sender<ResponseHead>,
    /// The URL pattern, where the leak guard looks at its pages before they are shared.
    pattern: Option<Pattern>,
    /// Whether the shared tier is asked before the origin.
    asks_the_shared_tier: bool,
    /// The duty to compare the page, where the fill was begun for that.
    ticket: Option<ComparisonTicket>,
    /// Fields in which a trusted proxy names the client's country.
    countries: Vec<CountryField>,
}

impl FillTask {
    pub(super) fn new(
        exchange: &Exchange,
        routed: &Routed,
        fetch_context: FetchContext,
        interim: mpsc::Sender<ResponseHead>,
    ) -> Self {
        let pattern = routed.pattern(&exchange.request.head.fields).cloned();
        let asks_the_shared_tier = !exchange.existing_extras().is_some_and(|extras| extras.has_shared_tier_failed);
        let (worker, route) = (exchange.worker.clone(), routed.route.clone());
        let is_guarded = pattern.is_some() && exchange.peer.is_trusted;
        let countries = if is_guarded { countries(&exchange.request.head.fields) } else { Vec::new() };
        Self { worker, route, fetch_context, interim, pattern, asks_the_shared_tier, ticket: None, countries }
    }

    /// The same for the first page of a pattern, which is compared.
    pub(super) fn comparing(mut self, ticket: ComparisonTicket) -> Self {
        // Its client passes, and waits for no look.
        self.fetch_context.share = Share::Leftover;
        Self { ticket: Some(ticket), ..self }
    }

    /// Spawns the task. If its request carries session cookies, it counts as a request that may change these sessions.
    pub(super) fn spawn(self, exchange: &Exchange, writer: FillWriter, events: oneshot::Sender<FirstClientEvent>) {
        // Boxed, since the runtime moves what it is given several times, and these are some thousand bytes.
        match session::note_fill_with_cookies(exchange, &writer.request().head().fields) {
            None => tokio::task::spawn_local(Box::pin(self.run(writer, FirstClient::new(events)))),
            Some(passing) => tokio::task::spawn_local(Box::pin(async move {
                self.run(writer, FirstClient::new(events)).await;
                drop(passing);
            })),
        };
    }

    async fn run(mut self, mut writer: FillWriter, mut client: FirstClient) {
        let found = match self.asks_the_shared_tier {
            true => shared_tier::ask(&self.worker, writer).await,
            false => Asked::Nothing(writer, None),
        };
        let lease = match found {
            Asked::Response(entry, reason) => {
                self.fetch_context.time.has_ended(self.worker.moment().mono_us);
                client.tell(FirstClientEvent::Stored(entry, reason));
                return;
            }
            Asked::Nothing(unanswered, lease) => {
                writer = unanswered;
                lease
            }
        };
        for _ in 0..ASKS_MAX {
            let asked = writer.request().clone();
            let request = writer.prepare();
            let request_time = self.worker.now();
            let OriginAnswer { response, one_client, replaced, said } = self.ask(&request).await;
            let response = match response {
                Ok(response) => response,
                Err(error) => return self.fail(writer, error, replaced.is_some(), client),
            };
            let mut unjudged = self.unjudged(&writer, (request, request_time), response, one_client, (replaced, said));
            let verdict = match self.judge(writer, &mut unjudged, &mut client).await {
                Ok(verdict) => verdict,
                Err((writer, error)) => {
                    self.fetch_context.time.has_ended(self.worker.moment().mono_us);
                    return self.fail(writer, error, replaced.is_some(), client);
                }
            };
            let UnjudgedResponse { request, mut response, is_too_long_to_store, .. } = unjudged;
            match verdict {
                Verdict::Write(body) => {
                    // The client that began the fill may have left; others may wait, and the response is worth storing.
                    let dropped = DroppedCookies::of(&request, &response.head, &body.meta().freshness, &self.route);
                    let head = body.first_head(&request, &response.head);
                    client.tell(FirstClientEvent::Shared(body.reader(), dropped, Box::new(head)));
                    return pump(self.worker, response, body, self.fetch_context.time, lease).await;
                }
                Verdict::Settled(entry, reason) => {
                    if reason == Reason::Revalidated {
                        self.worker.cells.count(Counter::Revalidations);
                        shared_tier::share(&self.worker, asked, entry.clone(), None);
                    }
                    self.fetch_context.time.has_ended(self.worker.moment().mono_us);
                    client.tell(FirstClientEvent::Stored(entry, reason));
                    return finish_empty(response).await;
                }
                Verdict::External { is_stored } => {
                    HeldLease::pass(lease);
                    if is_stored {
                        self.worker.cells.count(Counter::Stored);
                    }
                    let response = Box::new(self.for_the_first(response));
                    client.tell(FirstClientEvent::PrivateWithStoredCopy(response, is_stored));
                    return;
                }
                // The response goes through piece by piece, and nothing of it is kept.
                //= RFC 9111 section 5.2.2.5
                //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in
                //# non-volatile storage and MUST make a best-effort attempt to remove the information from volatile
                //# storage as promptly as possible after forwarding it.
                //= RFC 9111 section 5.2.1.5
                //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in
                //# non-volatile storage and MUST make a best-effort attempt to remove the information from volatile
                //# storage as promptly as possible after forwarding it.
                Verdict::Private(reason) => {
                    HeldLease::pass(lease);
                    // Clients get the same lifetime as with a stored response.
                    if is_too_long_to_store {
                        let (policy, now) = (&self.route.policy, self.worker.now());
                        let freshness = freshness(&request, &response.head, request_time, now, policy);
                        announce_lifetime(&request, &mut response.head, &freshness, policy);
                    }
                    client.tell(FirstClientEvent::Private(Box::new(response), reason));
                    return;
                }
                Verdict::AskAgain(again) => writer = again,
            }
        }
        writer.release(Reason::PartialMiss);
    }

    async fn ask(&self, request: &RequestHead) -> OriginAnswer {
        let (mut no_upload, mut interim) = (Some(NoUpload), Relay(self));
        let asks = anonymous_cookies::sent(request, self.route.visitor_rules(), self.fetch_context.connection.stand_in);
        // Boxed, so that its memory is free again before the body comes: otherwise what is stored would lie behind it.
        Box::pin(send::send(&self.worker, &self.route, &self.fetch_context, &asks, &mut no_upload, &mut interim)).await
    }

    /// The origin's answer, with all that it is judged by.
    fn unjudged(
        &self,
        writer: &FillWriter,
        (request, request_time): (Arc<RequestHead>, Now),
        response: Response,
        one_client: Option<Reason>,
        (replaced, said): (Option<StatusCode>, Option<ApplicationHead>),
    ) -> UnjudgedResponse {
        let (said, file) = match said {
            // The application's answer is that the file goes out; which part of the file, if any, depends only on this client's request.
            Some(said) if one_client == Some(Reason::Sendfile) => (Some(said.head), said.file),
            Some(said) if one_client.is_none() && writer.validates_external_body() => (Some(said.head), None),
            _ if one_client == Some(Reason::Sendfile) => (replaced.map(ResponseHead::new), None),
            _ => (None, None),
        };
        // What completes a part that is stored already is no answer by itself.
        let is_answer = request.fields.only("range") == writer.request().head().fields.only("range");
        let is_too_long_to_store = one_client.is_none() && is_answer && is_of_a_long_file(&self.route, &response);
        let one_client = one_client.or(is_too_long_to_store.then_some(Reason::ObjectTooLarge));
        let response_time = self.worker.now();
        UnjudgedResponse {
            request,
            request_time,
            response,
            response_time,
            said,
            file,
            one_client,
            is_too_long_to_store,
        }
    }

    /// Decides what becomes of an answer: by its head, and by its body where that has to be looked through first.
    ///
    /// # Errors
    /// The body broke off before that was decided.
    async fn judge(
        &mut self,
        mut writer: FillWriter,
        unjudged: &mut UnjudgedResponse,
        client: &mut FirstClient,
    ) -> Result<Verdict, (FillWriter, Error)> {
        let UnjudgedResponse { request, response, said, file, .. } = unjudged;
        let mut one_client = unjudged.one_client;
        // The client of an anonymous request asks for itself if the answer is not shared, and so do the next ones.
        if self.pattern.is_some() && !response.head.status.is_client_error() && !response.head.status.is_server_error()
        {
            writer.pass_if_private();
        }
        let is_file = response.body.is_file();
        let exchange = OriginExchange {
            response: said.as_ref().unwrap_or(&response.head),
            request_time: unjudged.request_time,
            response_time: unjudged.response_time,
            body_length: response.body.length(),
            is_file,
        };
        let secrets = Secrets::of(request, exchange.response, &self.route.policy);
        // Of an answer that names a file, only the head is stored.
        let is_in_head = file.is_some() && secrets.occur_in_head(exchange.response);
        if is_in_head {
            one_client = Some(Reason::CookieValueInResponse);
        }
        let file = file.take().filter(|_| !is_in_head);
        let ticket = self.ticket.take();
        let ruling = match one_client {
            None if writer.would_store(&exchange) => {
                let Self { worker, route, fetch_context, countries, .. } = &*self;
                let fill = CheckedFill { worker, route, fetch_context, countries };
                let (pattern, head) = (self.pattern.as_ref(), &response.head);
                let review = Review { fill, pattern, request, head, exchange: &exchange, secrets: &secrets };
                match review.rule(ticket, &mut writer, &mut response.body, client).await {
                    Ok(ruling) => ruling,
                    Err(error) => return Err((writer, error)),
                }
            }
            _ => {
                ticket.into_iter().for_each(|ticket| ticket.unneeded(self.worker.now().mono_ms));
                one_client.map_or(Ruling::Share, Ruling::OneClient)
            }
        };
        Ok(match (ruling, file) {
            (Ruling::Share, _) => writer.on_response(&exchange),
            (_, Some(file)) => writer.on_external_body(&exchange, file),
            (Ruling::SoftError { seconds, is_outage }, None) => writer.on_soft_error(&exchange, seconds, is_outage),
            (Ruling::OneClient(reason), None) => writer.for_one_client(&exchange, reason),
            (Ruling::Outage, None) => writer.on_outage(&exchange),
            (Ruling::Late(reason), None) => writer.on_late(&exchange, reason),
        })
    }

    /// The answer for the client that began the fill, where other clients get what is kept of it. Where a lifetime is granted, this
    /// client gets no cookies either: the operator ignores them.
    fn for_the_first(&self, mut response: Response) -> Response {
        if self.route.policy.grant.is_granting() {
            response.head.fields.remove("set-cookie");
            response.head.fields.remove("set-cookie2");
        }
        response
    }

    /// Ends the fill without a response. `is_answered`: the application has answered, but what it names can't be sent.
    fn fail(&self, writer: FillWriter, error: Error, is_answered: bool, mut client: FirstClient) {
        // No stored response may answer instead.
        if is_answered {
            writer.release(reason(&error));
            client.tell(FirstClientEvent::Failed(error));
            return;
        }
        let stale = writer.on_failure(reason(&error), self.worker.now());
        let event = match stale {
            Ok((entry, reason)) => FirstClientEvent::Stored(entry, reason),
            Err(_) => FirstClientEvent::Failed(error),
        };
        client.tell(event);
    }
}

/// An answer of the origin that has not been judged.
struct UnjudgedResponse {
    request: Arc<RequestHead>,
    request_time: Now,
    response: Response,
    response_time: Now,
    /// What the application has said, where a file takes the place of its body.
    said: Option<ResponseHead>,
    file: Option<ExternalBody>,
    /// Why the answer is for the client that asked alone.
    one_client: Option<Reason>,
    /// Whether it is a file that is too long to be stored.
    is_too_long_to_store: bool,
}

/// Whether a response is from a file that is too long to be stored: the kernel has the file in memory already, and sends it from
/// there without a copy. A file that would be compressed has to be stored for that.
pub(crate) fn is_of_a_long_file(route: &ActiveRoute, response: &Response) -> bool {
    if !response.body.is_file_in_one() {
        return false;
    }
    let complete = match content_range::parse(&response.head.fields) {
        Some(ContentRange::Part { complete, .. }) => complete,
        _ => response.body.length(),
    };
    complete > Some(route.file_stored_bytes_max) && !route.compression.apply_to(&response.head)
}

/// Hands interim responses to the task of the client that began the fill.
struct Relay<'a>(&'a FillTask);

impl Interim for Relay<'_> {
    async fn interim(&mut self, mut head: ResponseHead) {
        // It is unknown yet whether the page that follows is shared, and a page that is shared sets no session.
        let FillTask { route, interim, .. } = self.0;
        if route.policy.protects_visitors() {
            head.fields.remove("set-cookie");
        }
        let _ = interim.try_send(head);
    }
}
