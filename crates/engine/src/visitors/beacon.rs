//! Sends beacons: requests that tell the application about visitors who were served from the cache, so that its own visitor counters stay
//! right.
//!
//! A page from memory is no visit to the application: it was not asked, or was asked anonymously. So, where the configuration
//! names a URL (`beacon`), Kasoku requests that URL for a visitor who was served such a page. The beacon has the visitor's
//! address, and the User-Agent, the Accept-Language and the Referer of the page's own request, since the application counts by
//! those. Nothing else of the visitor goes along: without cookies the beacon belongs to no session, and its answer is read and
//! dropped with everything that it sets. A visitor has one beacon in a while ([`counted`](kasoku_visitors::counted)). Another URL
//! (`view-beacon`) is requested with each page view.
//!
//! A beacon is sent as soon as the page has gone out, since a script of that page may call the application a moment later, and
//! would be counted with the page as its Referer. No request waits for a beacon. A few beacons are sent at a time and a bounded
//! number waits ([`Background`](crate::runtime::background)); beyond that, and while the origin is down, beacons are dropped. No
//! beacon is retried. A visitor whose own request has reached the application needs no beacon.
//!
//! Prefetches and responses that are not pages count as no visit.

mod sending;

use crate::exchange::Exchange;
use crate::exchange::answer::{Answer, ConditionEvaluator};
use crate::exchange::delivered::Delivered;
use crate::observe::timing::OriginTime;
use crate::origin::fetch_context::FetchContext;
use crate::origin_client::Response;
use crate::request::forward::{Audience, forward};
use crate::request::message::Request;
use crate::request::route::{Base, read_target_of, route_beside};
use crate::sites::ActiveRoute;
use http::{Method, StatusCode, Version};
use kasoku_metrics::Counter;
use kasoku_semantics::client_address::client;
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use sending::Beacon;
use std::net::IpAddr;
use std::rc::Rc;

/// The fields of the page's request that go along.
const SENT: [&str; 3] = ["user-agent", "accept-language", "referer"];

/// The fields in which a proxy in front of Kasoku names the client; `forward` writes the fields that follow from them.
const ADDRESSES: [&str; 2] = ["forwarded", "x-forwarded-for"];

/// How much of a field goes along, in bytes.
const FIELD_BYTES_MAX: usize = 1 << 10;

/// What the application knows of the visitor who gets an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The answer is an anonymous page: the application has not counted this visitor.
    FromMemory,
    /// The visitor's own request has reached the application, which has counted it.
    ByApplication,
    /// Neither: the answer is no page and was not counted, or no beacon is configured.
    NotCounted,
}

/// What the application knows of the visitor who gets this answer, before it goes out.
pub(crate) fn served(exchange: &Exchange, answer: &Answer) -> Served {
    let Some(route) = exchange.route.as_deref().filter(|route| route.beacons.is_any()) else {
        return Served::NotCounted;
    };
    let is_granting = route.policy.grant.is_granting();
    let of_page = |head: &ResponseHead| match is_page(head) && is_granting {
        true => Served::FromMemory,
        false => Served::NotCounted,
    };
    match answer {
        Answer::Stored(entry, _) => of_page(&entry.meta.head),
        Answer::OnDisk(open, _) => of_page(&open.entry().meta.head),
        Answer::Filling(meta, ..) => of_page(&meta.head),
        // It was requested anonymously, and turned out to be for this client alone.
        Answer::Origin(response, ConditionEvaluator::Cache, _) if is_granting => of_page(&response.head),
        // Where no lifetime is granted, the application sees whose request it is, whether its answer may be stored or not.
        Answer::Origin(response, ..) if is_counted(response) => Served::ByApplication,
        _ => Served::NotCounted,
    }
}

/// Whether the application has counted a request that it answers so. Kasoku sends files itself, and an error may come from a
/// server in front of the application.
fn is_counted(response: &Response) -> bool {
    let status = response.head.status;
    !response.body.is_file() && (status.is_success() || status.is_redirection())
}

fn is_page(head: &ResponseHead) -> bool {
    let media_type = |value: &[u8]| {
        let media_type = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        media_type.eq_ignore_ascii_case(b"text/html")
    };
    head.status == StatusCode::OK && head.fields.only("content-type").is_some_and(media_type)
}

/// Called after an answer has gone out: sends the beacons that are due for its visitor, or notes that the application has counted
/// the visitor.
pub(crate) fn after_delivery(exchange: &Exchange, delivered: &Delivered, served: Served) {
    let Some(route) = exchange.route.as_deref() else { return };
    let is_of_a_visitor = |address: &IpAddr| !address.is_unspecified();
    let address = || client(&exchange.peer, &exchange.request.head.fields).filter(is_of_a_visitor);
    match served {
        Served::NotCounted => {}
        Served::ByApplication => {
            if let Some(address) = address() {
                exchange.worker.counted.note_counted(route.site_name_hash, address, exchange.now().mono_ms);
            }
        }
        Served::FromMemory => {
            if let Some(address) = address().filter(|_| is_view(exchange, delivered)) {
                was_seen_by(exchange, route, address);
            }
        }
    }
}

/// Whether a person looks at the page. With a 304, a browser shows the page that it has.
fn is_view(exchange: &Exchange, delivered: &Delivered) -> bool {
    let fields = &exchange.request.head.fields;
    let is_prefetch = |value: &[u8]| value.windows(8).any(|word| word.eq_ignore_ascii_case(b"prefetch"));
    let is_fetched_ahead = ["sec-purpose", "purpose"].into_iter().flat_map(|name| fields.all(name)).any(is_prefetch);
    let is_document = fields.first("sec-fetch-dest").is_none_or(|kind| kind == b"document");
    let has_it = matches!(delivered.status, StatusCode::OK | StatusCode::NOT_MODIFIED) && delivered.is_whole;
    exchange.request.head.method == Method::GET && has_it && is_document && !is_fetched_ahead
}

/// Sends the beacons that are due for a visitor who was served a page from memory.
fn was_seen_by(exchange: &Exchange, route: &ActiveRoute, address: IpAddr) {
    let (worker, rules) = (&exchange.worker, &*route.beacons);
    let now_ms = exchange.now().mono_ms;
    if let Some(target) = &rules.visitor
        && worker.counted.is_due(route.site_name_hash, address, rules.every, now_ms)
        && sending::has_room(worker)
        && let Some(beacon) = beacon(exchange, target)
        && worker.counted.claim(route.site_name_hash, address, rules.every, now_ms)
    {
        sending::send(worker, beacon);
    }
    if let Some(template) = &rules.view
        && let Some(target) =
            read_target_of(&exchange.settings.sites, exchange.site, &exchange.uri).and_then(|page| template.fill(&page))
        && sending::has_room(worker)
        && let Some(beacon) = beacon(exchange, &target)
    {
        sending::send(worker, beacon);
    }
}

/// Makes the beacon for that target. `None`: no route leads there, or it would be sent in vain and counts as dropped.
fn beacon(exchange: &Exchange, target: &str) -> Option<Beacon> {
    let base = Base::of(&exchange.uri, exchange.site)?;
    let asked = route_beside(&exchange.settings.sites, exchange.scratch(), &base, target)
        .filter(|asked| asked.refused_by.is_none())?;
    let peer = exchange.peer;
    let is_down = asked.route.group.is_down(exchange.now().mono_ms);
    let request = request(&exchange.request.head.fields, peer.is_trusted, target).filter(|_| !is_down);
    let Some(request) = request else {
        exchange.worker.cells.count(Counter::BeaconsDropped);
        return None;
    };
    let outgoing = forward(&request, &asked, &peer, Audience::OneClient, None);
    let time = Rc::new(OriginTime::begin(exchange.worker.moment().mono_us));
    let mut fetch_context = FetchContext::new(exchange, &asked, Audience::OneClient, time);
    // The conditions and the range of the page's request do not apply to the beacon.
    fetch_context.asked = RequestHead::new(Method::GET, String::new());
    Some(Beacon { route: asked.route, fetch_context, outgoing })
}

/// The request for that target, with fields of the page's request; `None` where a proxy's list of addresses is too long to go
/// along.
fn request(of_page: &Fields, is_trusted: bool, target: &str) -> Option<Request> {
    let mut head = RequestHead::new(Method::GET, target.to_owned());
    head.version = Version::HTTP_11;
    for name in SENT {
        if let Some(value) = of_page.first(name) {
            head.fields.push(name, value.get(..FIELD_BYTES_MAX).unwrap_or(value));
        }
    }
    if is_trusted {
        for name in ADDRESSES {
            // The last address counts, so a list can't be cut.
            match of_page.combined(name) {
                Some(list) if list.len() > FIELD_BYTES_MAX => return None,
                Some(list) => head.fields.push(name, list),
                None => {}
            }
        }
    }
    Some(Request { head, body: BodyLength::None })
}
