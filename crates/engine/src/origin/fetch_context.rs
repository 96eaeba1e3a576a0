//! What asking an origin needs besides the request itself: key, site, settings, gateway variables, timing and trace.

use crate::exchange::Exchange;
use crate::exchange::trace::FetchTrace;
use crate::observe::timing::OriginTime;
use crate::request::forward::Audience;
use crate::request::request_id::RequestIdDigits;
use crate::request::route::Routed;
use crate::runtime::settings::Settings;
use http::Method;
use kasoku_options::Balance;
use kasoku_origin::group;
use kasoku_origin::permits::Share;
use kasoku_programs::ConnectionFacts;
use kasoku_semantics::client_address::client;
use kasoku_semantics::forward::is_address_told;
use kasoku_wire::RequestHead;
use std::net::IpAddr;
use std::rc::Rc;

/// The fields of a request that decide which part of a file goes out.
const CONDITIONS: [&str; 6] =
    ["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"];

/// What asking an origin needs besides the request itself: key, site, settings, gateway variables, timing and trace.
pub(crate) struct FetchContext {
    /// By what the route chooses an origin where it spreads by hash: a hash of the effective URI, the same for all variants.
    pub(crate) key_hash: u64,
    pub(crate) uri: Box<str>,
    pub(crate) site: usize,
    pub(crate) settings: Rc<Settings>,
    pub(crate) connection: ConnectionFacts,
    pub(crate) time: Rc<OriginTime>,
    /// The client's own conditions and range, which the request to the origin may lack.
    pub(crate) asked: RequestHead,
    /// How many of an origin's permits the request may have.
    pub(crate) share: Share,
    /// The place of the fetch in a trace; `None`: nothing is traced.
    pub(crate) trace: Option<FetchTrace>,
}

impl FetchContext {
    /// For a request whose answer is for `audience`.
    pub(crate) fn new(exchange: &Exchange, routed: &Routed, audience: Audience, time: Rc<OriginTime>) -> Self {
        Self {
            key_hash: key_hash(routed),
            uri: routed.key.uri().into(),
            site: routed.site,
            settings: exchange.settings.clone(),
            connection: connection(exchange, routed, audience),
            time,
            asked: asked(&exchange.request.head),
            share: Share::All,
            trace: FetchTrace::of(exchange, audience),
        }
    }

    /// The same for another request, whose answer no client gets. `stand_in`: the client's address that the application is told.
    pub(crate) fn again(&self, stand_in: IpAddr, begun_us: u64) -> Self {
        let stand_in = Some(stand_in);
        Self {
            key_hash: self.key_hash,
            uri: self.uri.clone(),
            site: self.site,
            settings: self.settings.clone(),
            connection: ConnectionFacts { remote: None, stand_in, ..self.connection.clone() },
            time: Rc::new(OriginTime::begin(begun_us)),
            asked: RequestHead::new(Method::GET, String::new()),
            share: Share::Leftover,
            trace: self.trace.clone(),
        }
    }
}

/// What a program may be told besides the request's fields.
fn connection(exchange: &Exchange, routed: &Routed, audience: Audience) -> ConnectionFacts {
    let (peer, fields) = (exchange.peer, &exchange.request.head.fields);
    let is_told = is_address_told(fields, &routed.route.policy, audience);
    // A proxy tells the client's address without a port.
    let own = |client: IpAddr| peer.address.filter(|address| address.ip().to_canonical() == client);
    let remote = client(&peer, fields).map(|client| own(client).unwrap_or_else(|| (client, 0).into()));
    ConnectionFacts {
        is_https: routed.scheme == "https",
        local: exchange.door.local_address().filter(|_| is_told),
        remote: remote.filter(|_| is_told),
        stand_in: (!is_told).then(|| routed.route.draw_stand_in()),
        request_id: String::from_utf8_lossy(exchange.id().text(&mut RequestIdDigits::default())).into_owned(),
    }
}

/// See [`FetchContext`].
pub(crate) fn key_hash(routed: &Routed) -> u64 {
    match routed.route.balance {
        Balance::Hash => group::key_hash(routed.key.uri().as_bytes()),
        Balance::First | Balance::RoundRobin => 0,
    }
}

/// The method, conditions and range of a request, for the case that its answer turns out to be a file.
pub(crate) fn asked(request: &RequestHead) -> RequestHead {
    let mut asked = RequestHead::new(request.method.clone(), String::new());
    for name in CONDITIONS {
        request.fields.all(name).for_each(|value| asked.fields.push(name, value));
    }
    asked
}
