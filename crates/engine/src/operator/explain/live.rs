//! Checks for an explanation whether the file that a stored answer names is unchanged, and, for a live question, asks the origin:
//! with the request that a visitor's GET would lead to, and without any effect of the answer.
//!
//! The origin is asked for the whole response, without the conditions that a stored response would add, on a connection of its
//! own that no other request uses. The calling thread waits, so it must not be one that serves clients. Nothing of the answer is
//! kept, and no counter of requests moves. The health of origins is neither read nor changed: an origin that is down is asked as
//! well, and one that fails here does not count as down for other requests.

use crate::cache::fetch::is_of_a_long_file;
use crate::error;
use crate::operator::explain::forms;
use crate::operator::isolated_fetch::send_isolated;
use crate::origin::sendfile::{self, Lost};
use crate::origin_client::Response;
use crate::request::route::Routed;
use crate::runtime::clock::Clock;
use crate::sites::ActiveRoute;
use crate::visitors::scan_body::{self, ScanTargets};
use bytes::{Bytes, BytesMut};
use http::{Method, StatusCode};
use kasoku_cache::inspect::LookupOutcome;
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{Cache, ExternalBody, HeldCharge, SharedRequest};
use kasoku_origin::{BodyPiece, Error};
use kasoku_programs::OpenFiles;
use kasoku_semantics::difference::{AnswerFacts, KnownPieces, Markup, Outline, compare_places};
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::time::Now;
use kasoku_visitors::anonymous_cookies;
use kasoku_wire::{RequestHead, ResponseHead};
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};

/// How long a live question may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);

/// How much of the body is read, in bytes: to know its length where no field tells it, and its forms where a session is dropped.
/// The rest of a longer body is not read, and the connection is closed.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The origin's answer to a live question.
pub(super) struct Live {
    /// The request as it was sent.
    pub(super) request: RequestHead,
    pub(super) head: ResponseHead,
    names_a_file: bool,
    is_too_long_to_store: bool,
    /// Why the answer is for the client that asked alone, as far as its body and head show.
    is_of_one_client: Option<Reason>,
    /// The name of the dropped cookie whose value stands in the answer.
    pub(super) cookie_in_it: Option<Vec<u8>>,
    /// Whether two answers differ in places where tokens are.
    pub(super) has_token: bool,
    /// The whole body, where it could be looked through.
    page: Option<Bytes>,
    /// Whether it sets a cookie that would be dropped, and has a form that is sent by POST.
    has_form_of_a_session: bool,
    body_length: Option<u64>,
    is_file: bool,
    request_time: Now,
    response_time: Now,
}

/// A live answer, and what the cache would do with it.
pub(super) struct Answered {
    pub(super) live: Live,
    pub(super) freshness: Freshness,
    /// All reasons that keep it from being stored. The first one decides.
    pub(super) objections: Vec<Reason>,
}

impl Answered {
    /// Whether it would be stored with a form whose session would be dropped.
    pub(super) fn has_form_of_a_session(&self) -> bool {
        self.objections.is_empty() && self.live.has_form_of_a_session
    }

    /// Adds what the leak guard's `review` of its page objects to.
    pub(super) fn reviewed(mut self, review: impl FnOnce(&ResponseHead, &Bytes) -> Option<Reason>) -> Self {
        let page = self.live.page.as_ref().filter(|_| self.objections.is_empty());
        self.objections.extend(page.and_then(|page| review(&self.live.head, page)));
        self
    }

    pub(super) fn judge(cache: &Cache, request: &SharedRequest, live: Live) -> Self {
        let (freshness, objections) = would_store(cache, request, &live);
        // An answer that names a file must say itself how long that holds.
        let is_silent = live.names_a_file && !freshness.is_explicit();
        let is_too_long_to_store = live.is_too_long_to_store.then_some(Reason::ObjectTooLarge);
        let first = [is_silent.then_some(Reason::Sendfile), is_too_long_to_store];
        let mut objections: Vec<Reason> = first.into_iter().flatten().chain(objections).collect();
        // A fill looks through the body only where nothing else keeps the answer from being stored.
        if objections.is_empty() {
            objections.extend(live.is_of_one_client);
        }
        Self { freshness, objections, live }
    }
}

/// Whether an answer would be stored, as far as its head tells: its freshness, and what keeps it from being stored.
pub(super) fn would_store(cache: &Cache, request: &SharedRequest, live: &Live) -> (Freshness, Vec<Reason>) {
    let exchange = OriginExchange {
        response: &live.head,
        request_time: live.request_time,
        response_time: live.response_time,
        body_length: live.body_length,
        is_file: live.is_file,
    };
    cache.would_store(request, &live.request, &exchange)
}

/// Whether asking the origin tells something, and does nothing else.
pub(super) fn is_wanted(request: &RequestHead, outcome: LookupOutcome) -> bool {
    let may_be_stored = !matches!(outcome, LookupOutcome::Pass(_) | LookupOutcome::Refused(_))
        || outcome == LookupOutcome::Pass(Reason::RequestNoStore);
    request.method == Method::GET && may_be_stored
}

/// Whether the file that a stored answer names is another one by now, or may not be sent.
pub(super) fn has_changed(route: &ActiveRoute, file: &ExternalBody) -> bool {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return false };
    let found = runtime.block_on(async {
        tokio::time::timeout(PATIENCE, sendfile::find_again(route, file, &OpenFiles::default())).await
    });
    // No thread waits for a disk that hangs.
    runtime.shutdown_background();
    matches!(found, Ok(Err(Lost::Changed(_))))
}

/// Asks the origins of a route in turn, until one can be reached. A page that may have tokens, and `has_objections`, is fetched
/// twice and compared.
pub(super) fn ask(
    routed: &Routed,
    outgoing: &RequestHead,
    clock: &dyn Clock,
    charges: [HeldCharge; 2],
    has_objections: impl Fn(&Live) -> bool,
) -> Result<Live, Reason> {
    let [charge, again] = charges;
    let mut request = outgoing.clone();
    for name in ["if-none-match", "if-modified-since", "range", "if-range"] {
        request.fields.remove(name);
    }
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let Ok(runtime) = runtime else { return Err(Reason::OriginUnreachable) };
    runtime.block_on(async {
        let begun = tokio::time::Instant::now();
        let asked = tokio::time::timeout(PATIENCE, exchange(routed, request.clone(), clock, charge)).await;
        let mut live = asked.unwrap_or(Err(Error::FirstByteTimeout)).map_err(|error| error::reason(&error))?;
        if live.may_have_tokens() && has_objections(&live) {
            let rest = PATIENCE.saturating_sub(begun.elapsed());
            let again = tokio::time::timeout(rest, exchange(routed, request, clock, again)).await;
            live.has_token = again.is_ok_and(|again| again.is_ok_and(|again| differ_by_token(&live, &again, routed)));
        }
        Ok(live)
    })
}

impl Live {
    /// Whether its page has the name of an anti-forgery token.
    pub(super) fn names_forgery_token(&self) -> bool {
        self.page.as_ref().is_some_and(|page| forms::names_forgery_token(page))
    }

    /// Whether its page has a form that is sent by POST.
    pub(super) fn has_form(&self) -> bool {
        self.page.as_ref().is_some_and(|page| forms::is_sent_back(page))
    }

    /// Whether its page has places in which tokens may be.
    fn may_have_tokens(&self) -> bool {
        let Some(page) = &self.page else { return false };
        !Outline::places(&self.head, page, &AnswerFacts::default(), &[]).0.is_empty()
    }
}

/// Whether two answers differ in places where tokens are.
fn differ_by_token(one: &Live, other: &Live, routed: &Routed) -> bool {
    let (Some(page), Some(again)) = (&one.page, &other.page) else { return false };
    let (noise, mut known) = (&routed.route.guard.noise, KnownPieces::default());
    let [one, other] = [(one, page), (other, again)].map(|(live, page)| {
        let facts = AnswerFacts::of(routed.key.uri(), &live.head, page, live.response_time);
        Outline::of(&live.head, &**page, &facts, noise, &mut known)
    });
    compare_places(&one, &other, |_| true).iter().any(|place| place.difference.is_some())
}

async fn exchange(
    routed: &Routed,
    request: RequestHead,
    clock: &dyn Clock,
    mut charge: HeldCharge,
) -> Result<Live, Error> {
    let (request_time, route) = (clock.now(), &routed.route);
    let stand_in = Some(route.draw_stand_in());
    let asks = anonymous_cookies::sent(&request, route.visitor_rules(), stand_in);
    let mut response = send_isolated(routed, &asks, stand_in, request_time).await?;
    if let Some(error) = sendfile::fault(route, &response.head) {
        return Err(error);
    }
    let response_time = clock.now();
    let names_a_file = sendfile::names_a_file(&response.head);
    let (is_file, is_too_long_to_store) = (response.body.is_file(), is_of_a_long_file(route, &response));
    let secrets = Secrets::of(&request, &response.head, &route.policy);
    let mut targets = ScanTargets::of(route.visitor_rules(), &request.target, &response.head, is_file, &secrets);
    if !is_file {
        targets = targets.of_stand_in(stand_in, route.visitor_rules(), (&request, &response.head), response_time);
    }
    let is_text = response.head.status == StatusCode::OK && !is_file && Markup::of(&response.head).is_some();
    let page = match is_text && !names_a_file {
        true => {
            let tokens = targets.empty_tokens();
            scan_body::read(&response.head, &mut response.body, &mut charge, tokens).await?.map(|(page, _)| page)
        }
        false => None,
    };
    let is_of_one_client = match targets.is_empty() || names_a_file {
        true => None,
        false => scan_body::look_through(&targets, &response.head, &mut response.body, &mut charge).await?.reason,
    };
    let (mut has_form, mut cookie_in_it) = (false, None);
    if is_of_one_client == Some(Reason::CookieValueInResponse) {
        cookie_in_it = secrets.cookie_in_head(&response.head).map(<[u8]>::to_vec);
    }
    let body_length = match response.body.length() {
        // A stored answer that names a file has no body.
        _ if names_a_file => Some(0),
        Some(known) if secrets.is_empty() => Some(known),
        known => {
            let page = read(&mut response).await;
            has_form = page.as_ref().is_some_and(|page| !secrets.is_empty() && forms::is_sent_back(page));
            if is_of_one_client == Some(Reason::CookieValueInResponse) {
                let in_page = page.as_ref().and_then(|page| secrets.cookie_in(page)).map(<[u8]>::to_vec);
                cookie_in_it = cookie_in_it.or(in_page);
            }
            known.or(page.map(|page| page.len() as u64))
        }
    };
    let mut head = response.head;
    if names_a_file {
        head = sendfile::for_the_cache(head, response_time);
    } else {
        sendfile::strip(&mut head.fields);
    }
    Ok(Live {
        request,
        head,
        names_a_file,
        is_too_long_to_store,
        is_of_one_client,
        cookie_in_it,
        has_token: false,
        page,
        has_form_of_a_session: has_form,
        body_length,
        is_file,
        request_time,
        response_time,
    })
}

/// Reads the body; `None` where it is too long, or breaks off.
async fn read(response: &mut Response) -> Option<BytesMut> {
    let mut page = BytesMut::new();
    while page.len() <= BODY_BYTES_MAX {
        match response.body.next().await.ok()? {
            BodyPiece::Data(data) => page.extend_from_slice(&data),
            BodyPiece::End(_) => return Some(page),
        }
    }
    None
}
