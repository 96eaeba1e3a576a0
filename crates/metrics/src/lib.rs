//! Counts and times what Kasoku does: one table of counters, with cheap cells for each worker that are summed when read.
//!
//! A worker adds to cells that no other thread writes, so counting is a plain load and store. A reader sums over the
//! workers; the sums are exact once the workers are quiet and never go backwards.
//!
//! | file | what |
//! |---|---|
//! | [`histogram`] | how long things take |
//! | [`frequent`] | which keys come most often |
//! | [`slowest`] | which keys took longest |
//! | [`outcomes`] | what requests were, by site and class of status, and why they were no hits |

pub mod frequent;
pub mod histogram;
pub mod outcomes;
pub mod slowest;

pub use frequent::Frequent;
pub use histogram::{Histogram, Timer};
pub use outcomes::{NotHits, Outcome, Responses, SiteCells, StatusClass};
pub use slowest::Slowest;

use histogram::Times;
use kasoku_semantics::Reason;
use outcomes::{Reasons, Sites};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($variant:ident $name:literal $help:literal;)*) => {
        /// What is counted. The table below is the reference; `/metrics` shows each with its help text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $(#[doc = $help] $variant),* }

        impl Counter {
            /// All counters, in the order of the table.
            pub const ALL: &'static [Counter] = &[$(Counter::$variant),*];

            /// The name in `/metrics`, without prefix and suffix.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$variant => $name),* }
            }

            /// One sentence for people.
            pub fn help(self) -> &'static str {
                match self { $(Counter::$variant => $help),* }
            }
        }
    };
}

counters! {
    Connections "connections" "Connections accepted from clients.";
    Requests "requests" "All requests that were answered: the sum of hits, misses, passes and errors.";
    Hits "hits" "Requests answered from the cache without asking the origin, stale ones included.";
    Misses "misses" "Requests that asked the origin or waited for another request's answer, and whose answer could be stored; and those whose client left before that was known.";
    Passes "passes" "Requests that went to the origin, and whose answer could not be stored; and those that Kasoku itself has to answer: PURGE, and OPTIONS with Max-Forwards: 0.";
    Errors "errors" "Requests that Kasoku answered with an error of its own: malformed requests, unreachable origins, no site, refused purges.";
    Revalidations "revalidations" "Stored responses that the origin confirmed with 304.";
    StaleServed "stale_served" "Hits that were served stale.";
    SharedHits "shared_hits" "Hits that the shared tier answered, since neither memory nor disk had the response.";
    SharedStored "shared_stored" "Responses written to the shared tier.";
    SharedRefused "shared_refused" "Stored responses that were not written to the shared tier: no server could be asked, or it failed; its log of purges is not known well enough; too many writes waited; or the response is on disk only, stale, or too large.";
    Collapsed "collapsed" "Misses that joined another request's fill.";
    Stored "stored" "Responses stored.";
    Invalidated "invalidated" "Stored responses dropped because an unsafe method succeeded.";
    Changes "changes" "Requests that have changed pages, and dropped the pages with their tags (changes).";
    PossibleChanges "possible_changes" "Requests that may have changed pages, and make the pages with their tags stale, ever less often (changes).";
    Purges "purges" "Purges that were carried out: by the method PURGE, and by the operator.";
    OriginRequests "origin_requests" "Requests sent to origins.";
    OriginConnections "origin_connections" "Connections opened to origins.";
    OriginRetries "origin_retries" "Requests sent again because a kept connection was found dead.";
    OriginFailovers "origin_failovers" "Requests sent to another origin because the one before could not be reached or lost the connection.";
    OriginErrors "origin_errors" "Requests to origins that failed: unreachable, too slow, cut short or malformed.";
    ConnectionsRefused "connections_refused" "Connections closed at once, since their address had as many as one may have (limits.connections-per-address).";
    IdleClosed "idle_closed" "Connections closed while they waited for a request, since a new client found no place (limits.connections-max) or no descriptor.";
    BodyBytesSent "body_bytes_sent" "Bytes of response bodies sent to clients.";
    CompressedResponses "compressed_responses" "Responses sent in a content coding that Kasoku made.";
    CompressionBytesSaved "compression_bytes_saved" "Bytes of response bodies that these content codings saved.";
    Compressions "compressions" "Content codings (br, zstd, gzip) made of stored responses.";
    CompressionsDiscarded "compressions_discarded" "Content codings that were thrown away because they saved less than a tenth, or made the stored response too large.";
    CompressionsDeferred "compressions_deferred" "Hits sent as they are stored because their coding could not be made yet: too many waited already, or there was no memory for it.";
    SessionProbes "session_probes" "Requests that asked an application whether a session is anonymous (session.probe).";
    Beacons "beacons" "Requests by which the application hears of visitors who are served from memory (beacon, view-beacon).";
    BeaconsDropped "beacons_dropped" "Beacons that were not sent: too many waited already, or the origin was down.";
    PageTextMissing "page_text_missing" "Answers that were not stored because they lack the text of a page (page-text).";
    Outages "outages" "Answers that were not stored because they say that the application is out of order (outage-text).";
    SoftErrors "soft_errors" "Answers that may be errors although they say 200, and were stored for seconds or replaced by stale responses.";
    MissesRefused "misses_refused" "Requests that began no fetch, because their client's address has begun too many (limits.client-misses-max): answered 429, or by a stale response.";
    GuardChecks "guard_checks" "Pages that the leak guard compared with a test visitor's (guard).";
    GuardBlocked "guard_blocked" "Times that the leak guard blocked a URL pattern, since its pages differ by visitor (guard).";
    SlowReadersCut "slow_readers_cut" "Responses cut while memory was short, because the client took less than 4 KiB a second.";
    Aborted "aborted" "Responses cut before their end: the client left, or the origin's response was cut.";
    Spans "spans" "Spans sent to the collector (traces.otlp).";
    SpansDropped "spans_dropped" "Spans that were not sent: too many waited already, or the collector did not take them.";
    LogLines "log_lines" "Lines written to the access log.";
    LogLinesDropped "log_lines_dropped" "Lines of the access log that were lost because it could not be written, or not fast enough.";
}

/// One worker's cells.
#[derive(Debug)]
pub struct Cells {
    counters: Box<[AtomicU64]>,
    times: Times,
    reasons: Reasons,
}

impl Cells {
    fn new() -> Self {
        let counters = Counter::ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Self { counters, times: Times::new(), reasons: Reasons::new() }
    }

    /// Adds one.
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds `n`. To be called by the owning worker only: load and store instead of an atomic addition.
    pub fn add(&self, counter: Counter, n: u64) {
        if let Some(cell) = self.counters.get(counter as usize) {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        }
    }

    /// Counts a time of `us` microseconds. To be called by the owning worker only.
    pub fn observe(&self, timer: Timer, us: u64) {
        self.times.observe(timer, us);
    }

    /// Counts a request that was no hit. To be called by the owning worker only.
    pub fn count_reason(&self, outcome: Outcome, reason: Option<Reason>) {
        self.reasons.count(outcome, reason);
    }

    /// Adds one in cells that no worker owns. Any thread may call it.
    pub fn count_shared(&self, counter: Counter) {
        self.add_shared(counter, 1);
    }

    /// Adds `n` in cells that no worker owns. Any thread may call it.
    pub fn add_shared(&self, counter: Counter, n: u64) {
        if let Some(cell) = self.counters.get(counter as usize) {
            cell.fetch_add(n, Ordering::Relaxed);
        }
    }

    fn read(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).map_or(0, |cell| cell.load(Ordering::Relaxed))
    }
}

/// All workers' cells.
#[derive(Clone, Debug)]
pub struct Metrics {
    workers: Arc<[Arc<Cells>]>,
    sites: Arc<Sites>,
}

impl Metrics {
    /// Cells for that many workers.
    pub fn new(workers: usize) -> Self {
        let workers: Arc<[_]> = (0..workers.max(1)).map(|_| Arc::new(Cells::new())).collect();
        let sites = Arc::new(Sites::new(workers.len()));
        Self { workers, sites }
    }

    /// The cells of one worker; for a number beyond the last worker, those of the first.
    pub fn cells(&self, worker: usize) -> Arc<Cells> {
        self.workers.get(worker).or(self.workers.first()).cloned().unwrap_or_else(|| Arc::new(Cells::new()))
    }

    /// What one worker has counted; 0 for a number beyond the last worker.
    pub fn of_worker(&self, worker: usize, counter: Counter) -> u64 {
        self.workers.get(worker).map_or(0, |cells| cells.read(counter))
    }

    /// The sum over all workers.
    pub fn total(&self, counter: Counter) -> u64 {
        self.workers.iter().map(|cells| cells.read(counter)).sum()
    }

    /// The histogram of `timer`, summed over all workers.
    pub fn times(&self, timer: Timer) -> Histogram {
        let mut sum = Histogram::default();
        self.workers.iter().for_each(|cells| cells.times.add_to(timer, &mut sum));
        sum
    }

    /// One worker's cells of the site of that name.
    pub fn of_site(&self, name: &str, worker: usize) -> Arc<SiteCells> {
        self.sites.of(name, worker)
    }

    /// One worker's cells of requests that belong to no site.
    pub fn of_no_site(&self, worker: usize) -> Arc<SiteCells> {
        self.sites.of_none(worker)
    }

    /// Removes all sites but these, so that there are never more than the configuration has.
    pub fn keep_only_sites(&self, names: &[&str]) {
        self.sites.keep_only(names);
    }

    /// The counts of requests of each site, by name; those without a site come last.
    pub fn responses(&self) -> Vec<(Arc<str>, Responses)> {
        self.sites.read()
    }

    /// Misses whose stored response the origin confirmed (304): no body was fetched for them.
    pub fn revalidated(&self) -> u64 {
        self.workers.iter().map(|cells| cells.reasons.read(Outcome::Miss, Some(Reason::Revalidated))).sum()
    }

    /// Why requests were no hits: each result and reason that occurred.
    pub fn not_hits(&self) -> Vec<NotHits> {
        let outcomes = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Hit);
        let reasons = || std::iter::once(None).chain(Reason::all().iter().copied().map(Some));
        let all = outcomes.flat_map(|outcome| reasons().map(move |reason| (outcome, reason)));
        let count = |(outcome, reason)| NotHits {
            outcome,
            reason,
            count: self.workers.iter().map(|cells| cells.reasons.read(outcome, reason)).sum(),
        };
        all.map(count).filter(|not_hits| not_hits.count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_sums_over_workers() {
        let metrics = Metrics::new(2);
        metrics.cells(0).count(Counter::Hits);
        metrics.cells(1).add(Counter::Hits, 4);
        metrics.cells(1).count(Counter::Misses);
        assert_eq!((metrics.total(Counter::Hits), metrics.total(Counter::Misses)), (5, 1));
        assert_eq!(metrics.total(Counter::Passes), 0);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Counter::ALL.iter().map(|c| c.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Counter::ALL.len());
    }
}
