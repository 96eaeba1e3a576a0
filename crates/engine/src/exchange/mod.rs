//! One request on its way, and what belongs to it.

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
use crate::runtime::settings::Settings;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use http::{Method, StatusCode};
use kasoku_metrics::SiteCells;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::time::Now;
use kasoku_visitors::session::RequestIdentity;
use kasoku_wire::RequestHead;
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

/// One request on its way, and what belongs to it.
pub(crate) struct Exchange {
    pub(crate) worker: Rc<Worker>,
    /// What it is served by to its end.
    pub(crate) settings: Rc<Settings>,
    /// Where it came from, and its answer goes.
    pub(crate) door: Rc<dyn Door>,
    pub(crate) peer: Peer,
    pub(crate) request: Request,
    /// What was asked for, once the answer is known: the effective URI, or the target as sent where there is none.
    pub(crate) uri: String,
    /// What it is served by, once that is known.
    pub(crate) route: Option<Arc<ActiveRoute>>,
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
    pub(crate) identity: Cell<RequestIdentity>,
    /// What only some requests need.
    extras: RefCell<Option<Box<ExchangeExtras>>>,
}

/// What only some requests need beside the rest: a hit makes no room for it.
#[derive(Default)]
pub(crate) struct ExchangeExtras {
    /// The session with which the request is on its way to the application. In memory of its own: what is told of each miss is beside it.
    pub(crate) session: Option<Box<Ongoing>>,
    /// What we set ourselves: the end of its visitor's session, or what its visitor has chosen.
    pub(crate) own_cookies: Vec<Vec<u8>>,
    /// What it may have changed, as far as nobody knows.
    pub(crate) possible_change: Option<Box<PossibleChange>>,
    /// The target as the application reads it, where that is another one.
    pub(crate) read: Option<String>,
    /// Where it is in a trace.
    pub(crate) trace: Option<Rc<RequestTrace>>,
    /// What is told of it besides what the cache did.
    pub(crate) notes: Notes,
}

impl Exchange {
    pub(crate) fn new(worker: &Rc<Worker>, door: Rc<dyn Door>, request: Request) -> Self {
        let WorkerTime { now, mono_us } = worker.moment();
        let settings = worker.settings();
        // A reload may have changed whom to believe.
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

    /// The present, as of when the request came or its answer last had to be waited for: a hit reads the clock once.
    pub(crate) fn now(&self) -> Now {
        self.now.get()
    }

    /// What it is routed with.
    pub(crate) fn scratch(&self) -> RouteScratch<'_> {
        let Worker { cache, uris, known_authority, paths, .. } = &*self.worker;
        RouteScratch { cache, uris, known_authority, paths, remembered: &self.settings.remembered }
    }

    /// What only some requests need: from now on, this one does.
    pub(crate) fn extras(&self) -> RefMut<'_, ExchangeExtras> {
        RefMut::map(self.extras.borrow_mut(), |extras| &mut **extras.get_or_insert_default())
    }

    /// The same, where it needs something.
    pub(crate) fn existing_extras(&self) -> Option<RefMut<'_, ExchangeExtras>> {
        RefMut::filter_map(self.extras.borrow_mut(), |extras| extras.as_deref_mut()).ok()
    }

    /// Its answer had to be waited for.
    pub(crate) fn has_waited(&self) {
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

    pub(crate) fn is_logged(&self) -> bool {
        self.is_logged.get()
    }

    /// Microseconds from its head to now. What never had to wait took none: it was served in one go, and reading the clock
    /// once more for it would be the larger part of what is measured.
    pub(crate) fn duration_us(&self) -> u64 {
        if self.has_waited.get() { self.worker.moment().mono_us.saturating_sub(self.began_us) } else { 0 }
    }

    /// Microseconds from its head to that moment.
    pub(crate) fn elapsed_us(&self, moment: WorkerTime) -> u64 {
        moment.mono_us.saturating_sub(self.began_us)
    }

    /// The id that was made for it, whoever has given it another one.
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
        let head = std::mem::replace(&mut self.request.head, RequestHead::new(Method::GET, String::new()));
        self.worker.heads.give(head);
        self.worker.uris.give(std::mem::take(&mut self.uri));
    }
}
