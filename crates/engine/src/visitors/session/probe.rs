//! Asks the application whether a session is anonymous, with the cookies, the address and the browser of the session's visitor.
//!
//! The probe follows an answer, when no other request of the session is on its way, and no request waits for it. Its own answer
//! is read, judged by its status and a text, and dropped: nothing of it is stored, and no cookie that it sets reaches a client.
//! Fields by which the visitor selects a representation (conditions, a range, codings) are left out, since the text has to be
//! readable. Fields that would make another request of it are left out as well: an application that answers requests of its own
//! scripts with 200 for all visitors would make members look like guests, and a method in a field would change something.

use crate::exchange::Exchange;
use crate::observe::timing::OriginTime;
use crate::origin::fetch_context::FetchContext;
use crate::origin::send;
use crate::origin_client::Response;
use crate::request::forward::{Audience, forward};
use crate::request::message::Request;
use crate::request::route::{Base, Routed, route_beside};
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use bytes::BytesMut;
use http::{Method, Version};
use kasoku_metrics::Counter;
use kasoku_options::{SessionProbe, SessionRules};
use kasoku_origin::{BodyPiece, NoInterim, NoUpload};
use kasoku_semantics::unkeyed::is_same;
use kasoku_visitors::session::table::{ProbeTicket, SessionId};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use memchr::memmem;
use std::rc::Rc;
use std::sync::Arc;

/// The most probes of one worker at a time. A session beyond that is probed after its next request.
const PROBES_MAX: usize = 16;

/// How much of an answer is read for the text, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Fields of a visitor's request that say how the answer is to look, and not who the visitor is.
const NOT_SENT: [&str; 29] = [
    "accept",
    "accept-encoding",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "faces-request",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "method-override",
    "origin",
    "pragma",
    "purpose",
    "range",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-purpose",
    "transfer-encoding",
    "x-livewire",
    "x-method-override",
    "x-microsoftajax",
    "x-original-url",
    "x-pjax",
    "x-requested-with",
    "x-rewrite-url",
];

/// The same by the beginning of the field name: `X-HTTP-Method-Override`, `HX-Request`, `Turbo-Frame`, `Wicket-Ajax`.
const NOT_SENT_FAMILIES: [&str; 9] =
    ["hx-", "turbo-", "turbolinks-", "wicket-", "x-ajax", "x-http-", "x-ic-", "x-inertia", "x-up-"];

/// Whether a probe may follow a request. The request has to be for a page that a person looks at: the application may answer a
/// script otherwise, and any field may tell it of the script.
pub(crate) fn may_follow(request: &Request) -> bool {
    let is_page = |mode: &[u8]| mode == b"navigate";
    request.head.method == Method::GET && request.head.fields.first("sec-fetch-mode").is_none_or(is_page)
}

/// Probes the session of a request that has been answered, if there is reason to. No request waits for it.
pub(crate) fn ask(exchange: &Exchange, route: &ActiveRoute, base: &Base, id: SessionId) {
    let worker = &exchange.worker;
    let rules = &route.session;
    let Some(probe) = rules.probe.as_ref().filter(|_| worker.probes.get() < PROBES_MAX) else { return };
    let Some(asked) = route_beside(&exchange.settings.sites, exchange.scratch(), base, &probe.target) else { return };
    // Another application knows nothing of this session, and must not get its cookies.
    if asked.route.origins != route.origins {
        return;
    }
    let Some(ticket) = worker.sessions.ticket(id, rules, worker.now().mono_ms) else { return };
    let place = ProbeSlot::new(worker.clone(), ticket);
    let request = as_visitor(&exchange.request, &probe.target);
    let peer = exchange.peer;
    let outgoing = forward(&request, &asked, &peer, Audience::OneClient, None);
    let time = Rc::new(OriginTime::begin(worker.moment().mono_us));
    let fetch_context = FetchContext::new(exchange, &asked, Audience::OneClient, time);
    tokio::task::spawn_local(run(place, asked, fetch_context, outgoing, rules.clone()));
}

async fn run(
    place: ProbeSlot,
    asked: Routed,
    fetch_context: FetchContext,
    outgoing: RequestHead,
    rules: Arc<SessionRules>,
) {
    let Some(probe) = &rules.probe else { return };
    let worker = place.worker.clone();
    worker.cells.count(Counter::SessionProbes);
    let (mut no_upload, mut no_interim) = (Some(NoUpload), NoInterim);
    let sent = send::send(&worker, &asked.route, &fetch_context, &outgoing, &mut no_upload, &mut no_interim).await;
    let found = match sent.response {
        Ok(response) => judge(probe, response).await,
        Err(error) => {
            tracing::debug!(%error, "session probe");
            None
        }
    };
    place.found(found);
}

/// Whether an answer says that the session is anonymous; `None` where the application has failed, so that nothing follows from
/// it.
async fn judge(probe: &SessionProbe, mut response: Response) -> Option<bool> {
    let status = response.head.status;
    if status.is_server_error() && status.as_u16() != probe.status {
        return None;
    }
    let mut text = BytesMut::new();
    let ended = loop {
        match response.body.next().await {
            Ok(BodyPiece::Data(data)) if text.len() + data.len() <= TEXT_BYTES_MAX => text.extend_from_slice(&data),
            Ok(BodyPiece::Data(data)) => {
                text.extend_from_slice(data.get(..TEXT_BYTES_MAX - text.len()).unwrap_or_default());
                break true;
            }
            Ok(BodyPiece::End(_)) => break true,
            Err(_) => break false,
        }
    };
    response.body.discard();
    if status.as_u16() != probe.status {
        return Some(false);
    }
    let is_there = probe.text.is_empty() || memmem::find(&text, probe.text.as_bytes()).is_some();
    (ended || is_there).then_some(is_there)
}

/// The visitor's request, made for another URL whose page is read here.
pub(crate) fn as_visitor(request: &Request, target: &str) -> Request {
    let mut head = RequestHead::new(Method::GET, target.to_owned());
    head.version = Version::HTTP_11;
    head.fields.clone_from(&request.head.fields);
    head.fields.retain(|name, _| !is_left_out(name));
    head.fields.push("Accept", "*/*");
    Request { head, body: BodyLength::None }
}

fn is_left_out(name: &[u8]) -> bool {
    let begins = |with: &&str| name.get(..with.len()).is_some_and(|start| is_same(start, with.as_bytes()));
    NOT_SENT.iter().any(|one| is_same(name, one.as_bytes())) || NOT_SENT_FAMILIES.iter().any(begins)
}

/// A place among the probes of a worker. Dropped without an answer, it changes nothing that is known.
struct ProbeSlot {
    worker: Rc<Worker>,
    ticket: Option<ProbeTicket>,
}

impl ProbeSlot {
    fn new(worker: Rc<Worker>, ticket: ProbeTicket) -> Self {
        worker.probes.set(worker.probes.get() + 1);
        Self { worker, ticket: Some(ticket) }
    }

    fn found(mut self, is_anonymous: Option<bool>) {
        if let Some(ticket) = self.ticket.take() {
            self.worker.sessions.report_probe(ticket, is_anonymous, self.worker.now().mono_ms);
        }
    }
}

impl Drop for ProbeSlot {
    fn drop(&mut self) {
        self.worker.probes.set(self.worker.probes.get() - 1);
        if let Some(ticket) = self.ticket.take() {
            self.worker.sessions.report_probe(ticket, None, self.worker.now().mono_ms);
        }
    }
}
