//! What others may ask of a running engine: the operator's listener, and an embedding program. Cheap to clone.

use crate::beacon::Counted;
use crate::clock::Clock;
use crate::doctor::Cases;
use crate::guard::Guard;
use crate::session::table::Sessions;
use crate::set_by::SetBy;
use crate::spool::Spool;
use crate::top::{self, Tables, Top};
use crate::trace::SpanSender;
use kasoku_cache::Cache;
use kasoku_metrics::{Cells, Metrics};
use kasoku_options::Options;
use kasoku_origin::Directory;
use kasoku_semantics::time::Now;
use std::sync::Arc;
use tokio::sync::watch;

/// See the [module](self).
#[derive(Clone)]
pub struct Handle {
    cache: Cache,
    spool: Arc<Spool>,
    sessions: Arc<Sessions>,
    counted: Arc<Counted>,
    guard: Arc<Guard>,
    set_by: Arc<SetBy>,
    metrics: Metrics,
    origins: Directory,
    clock: Arc<dyn Clock>,
    options: watch::Receiver<Arc<Options>>,
    workers: usize,
    tops: Arc<[Arc<Tables>]>,
    cases: Arc<[Arc<Cases>]>,
    traces: Option<SpanSender>,
}

impl Handle {
    pub(crate) fn new(
        cache: Cache,
        metrics: Metrics,
        clock: Arc<dyn Clock>,
        options: watch::Receiver<Arc<Options>>,
        workers: usize,
        traces: Option<SpanSender>,
    ) -> Self {
        let now_ms = clock.now().mono_ms;
        let tops = (0..workers).map(|_| Arc::new(Tables::new(now_ms))).collect();
        let cases = Cases::of_workers(workers, now_ms).into_iter().map(Arc::new).collect();
        let (spool, sessions, counted, origins) = Default::default();
        let (guard, set_by) = (Arc::new(Guard::new()), Arc::default());
        Self {
            cache,
            spool,
            sessions,
            counted,
            guard,
            set_by,
            metrics,
            origins,
            clock,
            options,
            workers,
            tops,
            cases,
            traces,
        }
    }

    /// The cache that the workers share.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Bytes of requests' bodies that are on disk until they are complete.
    pub fn request_buffer_bytes(&self) -> u64 {
        self.spool.held_bytes()
    }

    /// What is known of visitors' sessions.
    pub(crate) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Which visitors the application has counted.
    pub(crate) fn counted(&self) -> &Arc<Counted> {
        &self.counted
    }

    /// What is known of URL patterns.
    pub(crate) fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// How cookies were seen to be set.
    pub(crate) fn set_by(&self) -> &Arc<SetBy> {
        &self.set_by
    }

    pub(crate) fn spool(&self) -> &Arc<Spool> {
        &self.spool
    }

    /// What the workers have counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What is known of the origins.
    pub fn origins(&self) -> &Directory {
        &self.origins
    }

    /// What is served by at present.
    pub fn options(&self) -> Arc<Options> {
        self.options.borrow().clone()
    }

    /// How many workers run.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// What each worker has seen of URLs.
    pub(crate) fn tops(&self) -> &[Arc<Tables>] {
        &self.tops
    }

    /// What each worker has not served from memory.
    pub(crate) fn cases(&self) -> &[Arc<Cases>] {
        &self.cases
    }

    /// Where spans go; `None`: nothing is traced.
    pub(crate) fn traces(&self) -> Option<&SpanSender> {
        self.traces.as_ref()
    }

    /// Which URLs are worth a look, over all workers: of each order (requests, misses, bytes, times) at most so many.
    pub fn top(&self, urls_max: usize) -> Top {
        top::merged(self.tops.iter().map(AsRef::as_ref), self.now().mono_ms, urls_max)
    }

    /// Where it is counted what is done through a handle, by any thread.
    pub fn cells(&self) -> Arc<Cells> {
        self.metrics.cells(self.workers + 2)
    }

    /// The present, as the engine sees it.
    pub fn now(&self) -> Now {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
