//! One request on its way through the engine, and all that is kept for it until it is logged.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod delivered;
pub(crate) mod form_body;
pub(crate) mod ongoing;
mod pace;
pub(crate) mod possible_change;
pub(crate) mod trace;

use crate::door::{Door, HeadWriter};
use crate::exchange::ongoing::Ongoing;
use crate::exchange::possible_change::PossibleChange;
use crate::observe::timing::OriginTime;
use crate::observe::trace::RequestTrace;
use crate::request::message::Request;
use crate::request::notes::Notes;
use crate::request::peer::peer_at;
use crate::request::request_id::RequestId;
use crate::request::route::RouteScratch;
use crate::runtime::clock::WorkerTime;
use crate::runtime::removals::{NotCertain, certain};
use crate::runtime::settings::Settings;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use http::{Method, StatusCode};
use kasoku_cache::Invalidated;
use kasoku_metrics::SiteCells;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::time::Now;
use kasoku_visitors::session::RequestIdentity;
use kasoku_wire::RequestHead;
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

/// One request on its way through the engine, and all that is kept for it until it is logged.
pub(crate) struct Exchange {
    pub(crate) worker: Rc<Worker>,
    /// The settings by which the request is served to its end.
    pub(crate) settings: Rc<Settings>,
    /// Where the request came from, and its answer goes.
    pub(crate) door: Rc<dyn Door>,
    pub(crate) peer: Peer,
    pub(crate) request: Request,
    /// The effective URI, once the answer is known; the target as sent, where there is no such URI.
    pub(crate) uri: String,
    /// The route by which the request is served, once that is known.
    pub(crate) route: Option<Arc<ActiveRoute>>,
    /// The number of the route's site.
    pub(crate) site: usize,
    /// The time that an origin takes, where one was asked or another request's answer was awaited.
    origin: OnceCell<Rc<OriginTime>>,
    id: u128,
    now: Cell<Now>,
    began_us: u64,
    has_waited: Cell<bool>,
    /// The status and the bytes of content that have gone out so far; `None`: no answer has begun.
    progress: Cell<Option<(StatusCode, u64)>>,
    is_logged: Cell<bool>,
    /// What is known of the visitor.
    pub(crate) identity: Cell<RequestIdentity>,
    /// What only some requests need.
    extras: RefCell<Option<Box<ExchangeExtras>>>,
}

/// What only some requests need: a hit allocates nothing for it.
#[derive(Default)]
pub(crate) struct ExchangeExtras {
    /// The session with which the request is on its way to the application. Boxed, since each miss has notes, and few have this.
    pub(crate) session: Option<Box<Ongoing>>,
    /// Set-Cookie lines of our own: they end the visitor's session, or keep the visitor's choice of device.
    pub(crate) own_cookies: Vec<Vec<u8>>,
    /// A change that the request may have made, where the answer does not tell.
    pub(crate) possible_change: Option<Box<PossibleChange>>,
    /// What the request has removed from the cache, where the disk must be waited for before it is certain.
    pub(crate) invalidated: Invalidated,
    /// The target as the application reads it, where it differs.
    pub(crate) read: Option<String>,
    /// The request's place in a trace.
    pub(crate) trace: Option<Rc<RequestTrace>>,
    /// The shared tier has failed this request, so it is not asked for it again.
    pub(crate) has_shared_tier_failed: bool,
    /// What Cache-Status and the log tell of the request besides what the cache did.
    pub(crate) notes: Notes,
}

impl Exchange {
    pub(crate) fn new(worker: &Rc<Worker>, door: Rc<dyn Door>, request: Request) -> Self {
        let WorkerTime { now, mono_us } = worker.moment();
        let settings = worker.settings();
        // A reload may have changed which proxies are trusted.
        let peer = peer_at(door.address(), &settings.trusted_proxies);
        Self {
            worker: worker.clone(),
            settings,
            door,
            peer,
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
            identity: Cell::default(),
            extras: RefCell::default(),
            request,
        }
    }

    /// The time at which the request came, or at which its last wait for an answer ended: a hit reads the clock once.
    pub(crate) fn now(&self) -> Now {
        self.now.get()
    }

    /// What the request is routed with.
    pub(crate) fn scratch(&self) -> RouteScratch<'_> {
        let Worker { cache, uris, known_authority, paths, .. } = &*self.worker;
        RouteScratch { cache, uris, known_authority, paths, remembered: &self.settings.remembered }
    }

    /// The extras, which are made where the request has none.
    pub(crate) fn extras(&self) -> RefMut<'_, ExchangeExtras> {
        RefMut::map(self.extras.borrow_mut(), |extras| &mut **extras.get_or_insert_default())
    }

    /// Notes what the request has removed from the cache. The client gets its answer when that is certain. Returns how many keys had
    /// stored responses.
    pub(crate) fn invalidated(&self, invalidated: Invalidated) -> usize {
        let keys = invalidated.keys;
        if !invalidated.is_certain() {
            self.extras().invalidated.add(invalidated);
        }
        keys
    }

    /// Waits until what the request has removed can't come back. The client gets its answer in any case.
    pub(crate) async fn removals_are_certain(&self) {
        let removed = self.existing_extras().map(|mut extras| std::mem::take(&mut extras.invalidated));
        let Some(removed) = removed.filter(|removed| !removed.is_certain()) else { return };
        match certain(&self.worker.cache, removed).await {
            Ok(_) => {}
            Err(NotCertain::Uncertain(error)) => {
                tracing::error!(%error, "what a request has changed may come back from the disk");
            }
            Err(NotCertain::DiskTimeout) => {
                tracing::error!("the disk does not answer: what a request has changed may come back from it");
            }
        }
    }

    /// The extras, where the request has some.
    pub(crate) fn existing_extras(&self) -> Option<RefMut<'_, ExchangeExtras>> {
        RefMut::filter_map(self.extras.borrow_mut(), |extras| extras.as_deref_mut()).ok()
    }

    /// Notes that the answer had to be waited for.
    pub(crate) fn has_waited(&self) {
        self.now.set(self.worker.now());
        self.takes_time();
    }

    /// Notes that the request has to wait, so that its duration is measured.
    pub(crate) fn takes_time(&self) {
        self.has_waited.set(true);
    }

    /// Where the answers of the request's site are counted.
    pub(crate) fn site_cells(&self) -> &SiteCells {
        let of_site = self.settings.site_cells.get(self.site).filter(|_| self.route.is_some());
        of_site.unwrap_or(&self.worker.of_no_site)
    }

    /// Notes how much of an answer has gone out.
    pub(crate) fn progressed(&self, status: StatusCode, body_bytes: u64) {
        self.progress.set(Some((status, body_bytes)));
    }

    /// See [`Exchange::progressed`].
    pub(crate) fn progress(&self) -> Option<(StatusCode, u64)> {
        self.progress.get()
    }

    /// Notes that the request has been logged.
    pub(crate) fn has_been_logged(&self) {
        self.is_logged.set(true);
    }

    pub(crate) fn is_logged(&self) -> bool {
        self.is_logged.get()
    }

    /// Microseconds from the request's head to now. A request that never had to wait counts as 0: reading the clock once more would
    /// be the larger part of what is measured.
    pub(crate) fn duration_us(&self) -> u64 {
        if self.has_waited.get() { self.worker.moment().mono_us.saturating_sub(self.began_us) } else { 0 }
    }

    /// The monotonic clock at the end of the request, in milliseconds; at its begin, where it never had to wait.
    pub(crate) fn ended_ms(&self) -> u64 {
        let began = self.began_us / 1_000;
        if self.has_waited.get() { self.worker.now().mono_ms } else { began }
    }

    /// Microseconds from the request's head to that moment.
    pub(crate) fn elapsed_us(&self, moment: WorkerTime) -> u64 {
        moment.mono_us.saturating_sub(self.began_us)
    }

    /// The id that was made for the request, even where a trusted proxy gave it another one.
    pub(crate) fn made_id(&self) -> u128 {
        self.id
    }

    pub(crate) fn id(&self) -> RequestId<'_> {
        RequestId::of(&self.peer, &self.request.head.fields, self.id)
    }

    /// An empty head of an answer.
    pub(crate) fn head(&self) -> HeadWriter {
        self.door.head()
    }

    /// Returns when the client has gone.
    pub(crate) async fn gone(&self) {
        poll_fn(|cx| self.door.poll_gone(cx)).await;
    }

    /// The time that the origin takes, from the first call on.
    pub(crate) fn begin_origin(&self) -> Rc<OriginTime> {
        self.origin.get_or_init(|| Rc::new(OriginTime::begin(self.worker.moment().mono_us))).clone()
    }

    /// The time that the origin takes, if the request has begun to measure it.
    pub(crate) fn origin(&self) -> Option<&OriginTime> {
        self.origin.get().map(Rc::as_ref)
    }

    /// Notes that all that the origin sends has been read.
    pub(crate) fn origin_has_ended(&self) {
        if let Some(origin) = self.origin() {
            origin.has_ended(self.worker.moment().mono_us);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let head = std::mem::replace(&mut self.request.head, RequestHead::new(Method::GET, String::new()));
        self.worker.heads.give(head);
        self.worker.uris.give(std::mem::take(&mut self.uri));
    }
}
