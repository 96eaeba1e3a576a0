//! Workers: one thread, one event loop, one share of the connections each.
//!
//! What crosses the workers: the cache (sharded), what is known of visitors' sessions and which of them were counted (sharded as well), what was
//! found of URL patterns (asked by misses alone), how origins were seen to set cookies, how much of requests' bodies is on disk, the metrics (one writer each), how many connections each has and fresh
//! ones on their way to another, what is known of the origins, which URLs were missed and slow, full pages of the access log
//! and the clock. Everything else, origin connections included, belongs to one worker and is neither locked nor counted
//! atomically.

use crate::access_log::WorkerLog;
use crate::background::Background;
use crate::beacon::Counted as CountedVisitors;
use crate::clock::{Clock, Moment};
use crate::compress;
use crate::course::{self, Course};
use crate::crew::{Counted, Crew, Fresh, HandedOver};
use crate::doctor::Cases;
use crate::guard::{Countdown, Guard};
use crate::handle::Handle;
use crate::outgoing::Scratch;
use crate::read_ahead::READ_BYTES;
use crate::recycle::Pool;
use crate::request::path::PathReader;
use crate::request::request_id::RequestIds;
use crate::request::route::KnownAuthority;
use crate::servers::Servers;
use crate::session::table::Sessions;
use crate::set_by::SetBy;
use crate::settings::Settings;
use crate::spool::Spool;
use crate::top::Tables;
use crate::trace::SpanSender;
use bytes::BytesMut;
use kasoku_cache::Cache;
use kasoku_metrics::{Cells, Counter, Metrics, SiteCells};
use kasoku_options::Options;
use kasoku_origin::{Client, Directory, OpenFiles};
use kasoku_semantics::time::Now;
use kasoku_wire::RequestHead;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// Requests of one worker that ask for themselves at a time after fills failed under them.
const ALONE_MAX: usize = 16;

/// What a worker is made of, besides what the process has.
pub(crate) struct Parts {
    pub(crate) number: usize,
    pub(crate) crew: Arc<Crew>,
    pub(crate) compress: compress::Queue,
    pub(crate) access_log: Option<WorkerLog>,
    pub(crate) course: course::Told,
}

/// All that one worker has.
pub(crate) struct Worker {
    settings: RefCell<Rc<Settings>>,
    pub(crate) cache: Cache,
    pub(crate) spool: Arc<Spool>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) set_by: Arc<SetBy>,
    /// Requests until a page is looked at that is shared.
    pub(crate) samples: Countdown,
    /// Questions about sessions that are on their way.
    pub(crate) probes: Cell<usize>,
    pub(crate) counted: Arc<CountedVisitors>,
    /// What no request waits for.
    pub(crate) background: Rc<Background>,
    pub(crate) client: Rc<Client>,
    pub(crate) open_files: OpenFiles,
    pub(crate) cells: Arc<Cells>,
    /// For what belongs to no site.
    pub(crate) of_no_site: Arc<SiteCells>,
    pub(crate) compress: compress::Queue,
    /// Where spans go; `None`: nothing is traced.
    pub(crate) traces: Option<SpanSender>,
    pub(crate) top: Arc<Tables>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) access_log: RefCell<Option<WorkerLog>>,
    /// Where requests are read while they come in one piece.
    pub(crate) read_buffer: Rc<RefCell<BytesMut>>,
    /// Request heads, keys and response heads for the next request.
    pub(crate) heads: Pool<RequestHead>,
    pub(crate) uris: Pool<String>,
    pub(crate) buffers: Pool<Vec<u8>>,
    pub(crate) scratch: Scratch,
    /// For paths that read otherwise than they are sent.
    pub(crate) paths: RefCell<PathReader>,
    pub(crate) known_authority: RefCell<KnownAuthority>,
    pub(crate) request_ids: RequestIds,
    clock: Arc<dyn Clock>,
    origins: Directory,
    metrics: Metrics,
    number: usize,
    crew: Arc<Crew>,
    alone: Cell<usize>,
    one_left: Notify,
    /// Tasks that wait for a connection.
    pub(crate) servers: Servers<(Fresh, Place)>,
    course: course::Told,
}

impl Worker {
    /// Without connections. `None`: there is no worker of that number.
    pub(crate) fn new(handle: &Handle, parts: Parts) -> Option<Rc<Self>> {
        let Parts { number, crew, compress, access_log, course } = parts;
        let top = handle.tops().get(number).cloned()?;
        let cases = handle.cases().get(number).cloned()?;
        Some(Rc::new(Self {
            top,
            cases,
            settings: RefCell::new(Rc::new(Settings::new(
                &handle.options(),
                handle.origins(),
                handle.metrics(),
                number,
            ))),
            cache: handle.cache().clone(),
            spool: handle.spool().clone(),
            sessions: handle.sessions().clone(),
            guard: handle.guard().clone(),
            set_by: handle.set_by().clone(),
            samples: Countdown::new(),
            probes: Cell::new(0),
            counted: handle.counted().clone(),
            background: Rc::default(),
            client: Rc::new(Client::new()),
            open_files: OpenFiles::with_capacity(handle.options().limits.open_files_max, handle.workers()),
            cells: handle.metrics().cells(number),
            of_no_site: handle.metrics().of_no_site(number),
            compress,
            traces: handle.traces().cloned(),
            access_log: RefCell::new(access_log),
            read_buffer: Rc::new(RefCell::new(BytesMut::with_capacity(READ_BYTES))),
            heads: Pool::new(),
            uris: Pool::new(),
            buffers: Pool::new(),
            scratch: Scratch::new(),
            paths: RefCell::default(),
            known_authority: RefCell::default(),
            request_ids: RequestIds::new(),
            clock: handle.clock().clone(),
            origins: handle.origins().clone(),
            metrics: handle.metrics().clone(),
            number,
            crew,
            alone: Cell::new(0),
            one_left: Notify::new(),
            servers: Servers::new(),
            course,
        }))
    }

    /// The present.
    pub(crate) fn now(&self) -> Now {
        self.clock.now()
    }

    /// The same to the microsecond.
    pub(crate) fn moment(&self) -> Moment {
        self.clock.moment()
    }

    /// What is served by at present. Whoever serves a request takes it once.
    pub(crate) fn settings(&self) -> Rc<Settings> {
        self.settings.borrow().clone()
    }

    /// Whether connections should end after the request at hand.
    pub(crate) fn is_stopping(&self) -> bool {
        self.course.has_changed()
    }

    /// Whether nobody listens where this program did: it has stopped, and none has taken its place.
    pub(crate) fn is_listening_ended(&self) -> bool {
        self.course.is(Course::Stop)
    }

    /// Waits until the worker is told to stop.
    pub(crate) async fn stopped(&self) {
        self.course.clone().changes().await;
    }

    /// Waits until the worker may have another connection.
    pub(crate) async fn has_room(&self) {
        while self.connections() >= self.settings.borrow().limits.connections_max {
            self.one_has_left().await;
        }
    }

    /// Counts a connection for as long as the result lives.
    pub(crate) fn enter(self: &Rc<Self>) -> Place {
        self.serves(self.crew.count(self.number))
    }

    /// The place of a connection that is counted already.
    pub(crate) fn serves(self: &Rc<Self>, counted: Counted) -> Place {
        Place { worker: self.clone(), counted: Some(counted) }
    }

    /// Who else should have a fresh connection.
    pub(crate) fn whose_turn(&self) -> Option<(mpsc::Sender<HandedOver>, Counted)> {
        self.crew.whose_turn(self.number)
    }

    /// Connections that are counted as its own.
    pub(crate) fn connections(&self) -> usize {
        self.crew.load(self.number)
    }

    /// Waits until a connection has left, or there may be more of them.
    pub(crate) async fn one_has_left(&self) {
        self.one_left.notified().await;
    }

    /// Serves by these options from now on.
    pub(crate) fn configure(&self, options: &Options) {
        let settings = Settings::new(options, &self.origins, &self.metrics, self.number);
        self.open_files.set_capacity(settings.limits.open_files_max);
        self.settings.replace(Rc::new(settings));
        // There may be room by the new limit.
        self.one_left.notify_waiters();
    }

    /// A place among the requests that ask for themselves after two fills failed under them; `None` when there are enough
    /// of them, so that an origin that is ill is not asked by all.
    pub(crate) fn enter_alone(self: &Rc<Self>) -> Option<AlonePlace> {
        let alone = self.alone.get();
        (alone < ALONE_MAX).then(|| {
            self.alone.set(alone + 1);
            AlonePlace(self.clone())
        })
    }

    /// Brings the counters of the origins' side up to date.
    pub(crate) fn count_origin(&self) {
        let counters = self.client.counters();
        self.cells.add(Counter::OriginRequests, counters.requests.take());
        self.cells.add(Counter::OriginConnections, counters.connections.take());
        self.cells.add(Counter::OriginRetries, counters.retries.take());
    }
}

/// A connection's place among those that its worker may have.
pub(crate) struct Place {
    worker: Rc<Worker>,
    counted: Option<Counted>,
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.counted.take());
        self.worker.one_left.notify_one();
    }
}

/// A place among those who ask for themselves.
pub(crate) struct AlonePlace(Rc<Worker>);

impl Drop for AlonePlace {
    fn drop(&mut self) {
        self.0.alone.set(self.0.alone.get() - 1);
    }
}
