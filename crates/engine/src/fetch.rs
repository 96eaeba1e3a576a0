//! Asks the origin: for one client alone ([`pass`], with the link that is this client's own: [`fresh_link`]), or into a fill ([`fill`], [`refresh`], [`probe`]).
//!
//! A fill runs in a task of its own (`fetch/fill_task.rs`), so that the client that began it can leave while others wait. That client
//! gets news from the task: interim responses, and whether the answer is its own alone, or one that it reads like
//! everybody else.

mod fill_task;
mod fresh_link;
mod pass;

use crate::answer::{Answer, Conditions, Meant};
use crate::connection::Connection;
use crate::deliver;
use crate::errand::Errand;
use crate::error::{Fault, reason};
use crate::exchange::Exchange;
use crate::request::forward::{Audience, forward};
use crate::request::notes::Dropped;
use crate::request::respond::forwarded;
use crate::request::route::Routed;
use crate::session;
use crate::timing::OriginTime;
use fill_task::FillTask;
pub(crate) use fill_task::is_of_a_long_file;
use http::{StatusCode, Version};
use kasoku_cache::{Entry, FillReader, FillWriter, Joined};
use kasoku_origin::{Body, Error, Interim, Response};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::policy::Profile;
use kasoku_semantics::reason::Reason;
use kasoku_wire::{RequestHead, ResponseHead};
pub(crate) use pass::pass;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Interim responses that wait for a client; more are dropped, since they are hints.
const INTERIM_QUEUE_MAX: usize = 16;

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
    task.spawn(exchange, writer, news_sender);
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
            Answer::hit(entry, reason, exchange.worker.now())
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
        // What is said to nobody need not be what is said to this visitor.
        Ok(News::Yours(response, reason @ (Reason::NotAPage | Reason::PageOfOne | Reason::LeakGuard))) => {
            drop(response);
            ask_as_oneself(exchange, routed, reason).await
        }
        // Where it left off (Last-Event-ID), and whose events are meant, only the client's own request says.
        Ok(News::Yours(response, Reason::EndlessStream)) if routed.route.policy.grant.is_granting() => {
            drop(response);
            ask_as_oneself(exchange, routed, Reason::EndlessStream).await
        }
        // It opens a session, and its visitor has one, which was set aside: the page is the one that this session sees. The same of a page
        // that sends everybody away.
        Ok(News::Yours(response, _)) if is_for_the_session(exchange, routed, &response.head) => {
            drop(response);
            ask_as_oneself(exchange, routed, Reason::PassSession).await
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

/// Asks once more, with all that the client has sent: the answer to nobody is not for it.
pub(crate) async fn ask_as_oneself(exchange: &Exchange, routed: &Routed, reason: Reason) -> Answer {
    exchange.aside().notes.passes(reason, &exchange.request.head.fields, routed, false);
    Box::pin(pass(exchange, routed, None, reason)).await
}

/// Whether an answer that nobody got may be another for the session that was set aside: it opens a session, sends its visitor elsewhere (to
/// the form for a password), or refuses.
fn is_for_the_session(exchange: &Exchange, routed: &Routed, response: &ResponseHead) -> bool {
    let status = response.status;
    let sends_away = status.is_redirection() || matches!(status.as_u16(), 401 | 403);
    session::is_set_aside(exchange) && sends_away || session::opens_another(exchange, routed, &response.fields)
}

/// Whether a client that wants a part got the whole of a file, which was asked for to be stored, and is not.
fn is_whole_for_a_part(exchange: &Exchange, response: &Response) -> bool {
    let is_whole_file = matches!(response.body, Body::File(_)) && response.head.status == StatusCode::OK;
    is_whole_file && exchange.request.head.fields.contains("range")
}

/// Where a stale response is refreshed in the background (RFC 5861 section 3).
///
/// It goes out in nobody's name where it may, since what a visitor is told refreshes nothing for the others.
pub(crate) fn refresh(exchange: &Exchange, routed: &Routed, writer: FillWriter, stale: &Entry) {
    let mut outgoing = for_nobody(exchange, routed);
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
pub(crate) fn probe(exchange: &Exchange, routed: &Routed, writer: FillWriter) {
    in_the_background(exchange, routed, writer, for_nobody(exchange, routed));
}

/// The request as it goes out where its client does not wait for the answer.
fn for_nobody(exchange: &Exchange, routed: &Routed) -> RequestHead {
    forward(&exchange.request, routed, &exchange.connection.peer(), Audience::Nobody, None)
}

fn in_the_background(exchange: &Exchange, routed: &Routed, writer: FillWriter, outgoing: RequestHead) {
    let (news, _) = oneshot::channel();
    let (interim, _) = mpsc::channel(1);
    let time = Rc::new(OriginTime::begin(exchange.worker.moment().mono_us));
    let errand = Errand::new(exchange, routed, Audience::Nobody, time);
    let task = FillTask::new(exchange, routed, errand, outgoing, interim);
    task.spawn(exchange, writer, news);
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
