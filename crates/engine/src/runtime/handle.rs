//! The interface to a running engine, for the admin listener and for embedding programs. Cheap to clone.

use crate::observe::misses::MissTable;
use crate::observe::top::{self, Top, TopTables};
use crate::observe::trace::SpanSender;
use crate::runtime::clock::Clock;
use crate::runtime::spool::Spool;
use kasoku_cache::Cache;
use kasoku_metrics::{Cells, Metrics};
use kasoku_options::Options;
use kasoku_origin::OriginRegistry;
use kasoku_semantics::time::Now;
use kasoku_visitors::cookie_setters::CookieSetters;
use kasoku_visitors::counted::CountedVisitors;
use kasoku_visitors::leak_guard::Guard;
use kasoku_visitors::miss_limit::MissLimit;
use kasoku_visitors::session::table::Sessions;
use std::sync::Arc;
use tokio::sync::watch;

/// See the [module](self).
#[derive(Clone)]
pub struct EngineHandle {
    cache: Cache,
    spool: Arc<Spool>,
    sessions: Arc<Sessions>,
    counted: Arc<CountedVisitors>,
    miss_limit: Arc<MissLimit>,
    guard: Arc<Guard>,
    cookie_setters: Arc<CookieSetters>,
    metrics: Metrics,
    origins: OriginRegistry,
    clock: Arc<dyn Clock>,
    options: watch::Receiver<Arc<Options>>,
    workers: usize,
    tops: Arc<[Arc<TopTables>]>,
    misses: Arc<[Arc<MissTable>]>,
    traces: Option<SpanSender>,
}

impl EngineHandle {
    pub(crate) fn new(
        cache: Cache,
        metrics: Metrics,
        clock: Arc<dyn Clock>,
        options: watch::Receiver<Arc<Options>>,
        workers: usize,
        traces: Option<SpanSender>,
    ) -> Self {
        let now_ms = clock.now().mono_ms;
        let tops = (0..workers).map(|_| Arc::new(TopTables::new(now_ms))).collect();
        let misses = MissTable::of_workers(workers, now_ms).into_iter().map(Arc::new).collect();
        let (spool, sessions, counted, origins) = Default::default();
        let (guard, cookie_setters, miss_limit) = (Arc::new(Guard::default()), Arc::default(), Arc::default());
        Self {
            cache,
            spool,
            sessions,
            counted,
            miss_limit,
            guard,
            cookie_setters,
            metrics,
            origins,
            clock,
            options,
            workers,
            tops,
            misses,
            traces,
        }
    }

    /// The cache that the workers share.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Bytes of request bodies that are on disk until the bodies are complete.
    pub fn request_buffer_bytes(&self) -> u64 {
        self.spool.held_bytes()
    }

    /// What is known of visitors' sessions.
    pub(crate) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Which visitors the application has counted.
    pub(crate) fn counted(&self) -> &Arc<CountedVisitors> {
        &self.counted
    }

    /// How many fetches each client has begun.
    pub(crate) fn miss_limit(&self) -> &Arc<MissLimit> {
        &self.miss_limit
    }

    /// What the leak guard knows of URL patterns.
    pub(crate) fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// In which responses origins were seen to set cookies.
    pub(crate) fn cookie_setters(&self) -> &Arc<CookieSetters> {
        &self.cookie_setters
    }

    pub(crate) fn spool(&self) -> &Arc<Spool> {
        &self.spool
    }

    /// What the workers have counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What is known of the origins.
    pub fn origins(&self) -> &OriginRegistry {
        &self.origins
    }

    /// The options that are valid now.
    pub fn options(&self) -> Arc<Options> {
        self.options.borrow().clone()
    }

    /// How many workers run.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// What each worker has seen of requests that were no hits, by URL.
    pub(crate) fn tops(&self) -> &[Arc<TopTables>] {
        &self.tops
    }

    /// What each worker has not served from memory, by URL pattern and reason.
    pub(crate) fn misses(&self) -> &[Arc<MissTable>] {
        &self.misses
    }

    /// The queue for spans; `None`: nothing is traced.
    pub(crate) fn traces(&self) -> Option<&SpanSender> {
        self.traces.as_ref()
    }

    /// The URLs that are worth a look, over all workers: of each order (requests, misses, bytes, times) the first `urls_max`.
    pub fn top(&self, urls_max: usize) -> Top {
        top::merged(self.tops.iter().map(AsRef::as_ref), self.now().mono_ms, urls_max)
    }

    /// The counters of what is done through a handle, by any thread.
    pub fn cells(&self) -> Arc<Cells> {
        self.metrics.cells(self.workers + 2)
    }

    /// The current time, as the engine sees it.
    pub fn now(&self) -> Now {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
