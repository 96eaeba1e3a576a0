//! The numbers of `/metrics` and `/stats` at one moment.
//!
//! Counters and histograms come from the two tables in `kasoku-metrics`. The tables here have the other numbers: gauges, numbers that
//! other parts of the program count, and the numbers of each origin. Those of each server of the shared tier are in
//! `shared_servers`, those of each peer in `peers`, those of the process in `process`. Both formats walk these
//! tables, so a new row appears in both.
//!
//! Workers go on counting while the cells are read one after the other, so on a busy engine numbers that belong
//! together may differ by the requests of that moment. Counters never go backwards.

use crate::AdminHandle;
use crate::process::ProcessStats;
use kasoku_cache::disk::{DiskState, DiskStatus};
use kasoku_cache::purge_exchange::{PeerStatus, PeersStatus};
use kasoku_cache::shared::{ServerStatus, TierStatus};
use kasoku_engine::OriginNumbers;
use kasoku_metrics::{Counter, Histogram, Metrics, NotHits, Responses, Timer};
use std::sync::Arc;

/// The version that is running.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A number that is read from the part of the program that keeps it.
pub(crate) struct Gauge {
    /// The name in both formats, without prefix and suffix.
    pub(crate) name: &'static str,
    /// One sentence for people.
    pub(crate) help: &'static str,
    read: fn(&AdminHandle) -> u64,
}

/// Numbers that go up and down.
pub(crate) const GAUGES: &[Gauge] = &[
    Gauge {
        name: "stored_objects",
        help: "Keys with at least one stored response.",
        read: |handle| handle.engine.cache().len() as u64,
    },
    Gauge {
        name: "stored_bytes",
        help: "Bytes of memory that stored responses use, overhead included.",
        read: |handle| handle.engine.cache().used_bytes(),
    },
    Gauge {
        name: "stored_limit_bytes",
        help: "Bytes of memory that stored responses may use: seven eighths of memory.size.",
        read: |handle| handle.engine.cache().tier_bytes_max(),
    },
    Gauge {
        name: "memory_limit_bytes",
        help: "Bytes of memory that all responses may hold: memory.size.",
        read: |handle| handle.engine.cache().memory_bytes_max(),
    },
    Gauge {
        name: "memory_used_bytes",
        help: "Bytes of memory that all responses hold (stored, on their way, or evicted while a client still reads them), and bodies of requests that are not complete.",
        read: |handle| handle.engine.cache().held_bytes(),
    },
    Gauge {
        name: "request_buffer_bytes",
        help: "Bytes of requests' bodies that are on disk until they are complete.",
        read: |handle| handle.engine.request_buffer_bytes(),
    },
    Gauge {
        name: "fills_running",
        help: "Responses that are being fetched for the cache.",
        read: |handle| handle.engine.cache().fills_running() as u64,
    },
    Gauge {
        name: "disk_up",
        help: "1: the disk tier is read and written; 0: there is none, or it can't be used, or nothing is written at present.",
        read: |handle| {
            let is_up = |status: DiskStatus| matches!(status.state, DiskState::Serving { paused: None, .. });
            u64::from(handle.engine.cache().disk_status().is_some_and(is_up))
        },
    },
    Gauge {
        name: "disk_loading",
        help: "1: not all responses that an earlier process has left on disk are known yet.",
        read: |handle| {
            let is_loading = |status: DiskStatus| matches!(status.state, DiskState::Serving { is_loading: true, .. });
            u64::from(handle.engine.cache().disk_status().is_some_and(is_loading))
        },
    },
    Gauge { name: "disk_objects", help: "Responses on disk.", read: |handle| disk(handle, |disk| disk.objects) },
    Gauge {
        name: "disk_used_bytes",
        help: "Bytes on disk that responses take, also those that were evicted while a client still reads them.",
        read: |handle| disk(handle, |disk| disk.used_bytes),
    },
    Gauge {
        name: "disk_limit_bytes",
        help: "Bytes on disk that the disk tier may take: disk.size.",
        read: |handle| disk(handle, |disk| disk.size_bytes),
    },
    Gauge {
        name: "disk_index_bytes",
        help: "Bytes of memory that the index of the disk tier takes.",
        read: |handle| disk(handle, |disk| disk.index_bytes),
    },
    Gauge {
        name: "disk_io_uring",
        help: "1: io_uring makes the reads from the disk tier that the page cache can't answer; 0: threads make them, or there is no disk tier.",
        read: |handle| disk(handle, |disk| disk.uses_io_uring.into()),
    },
    Gauge { name: "workers", help: "Threads that serve clients.", read: |handle| handle.engine.workers() as u64 },
    Gauge {
        name: "uptime_seconds",
        help: "Seconds since the start.",
        read: |handle| handle.started.elapsed().as_secs(),
    },
];

/// Numbers that only grow, and that other parts of the program count.
pub(crate) const EXTERNAL_COUNTERS: &[Gauge] = &[
    Gauge {
        name: "evictions",
        help: "Keys whose stored responses were evicted from memory for lack of room.",
        read: |handle| handle.engine.cache().evicted().values,
    },
    Gauge {
        name: "evicted_bytes",
        help: "Bytes of memory that evicted responses had used.",
        read: |handle| handle.engine.cache().evicted().bytes,
    },
    Gauge {
        name: "disk_hits",
        help: "Responses that were read from disk, since they were not in memory.",
        read: |handle| disk(handle, |disk| disk.counts.hit_objects),
    },
    Gauge {
        name: "disk_stored",
        help: "Responses that were written to disk.",
        read: |handle| disk(handle, |disk| disk.counts.stored_objects),
    },
    Gauge {
        name: "disk_stored_bytes",
        help: "Bytes of responses that were written to disk.",
        read: |handle| disk(handle, |disk| disk.counts.stored_bytes),
    },
    Gauge {
        name: "disk_refused",
        help: "Responses that were not written to disk, since it was too slow or full, or had failed.",
        read: |handle| disk(handle, |disk| disk.counts.refused_objects),
    },
    Gauge {
        name: "disk_unproven",
        help: "Responses that were not written to disk, since they were stored for the first time (disk.admission).",
        read: |handle| disk(handle, |disk| disk.counts.unproven_objects),
    },
    Gauge {
        name: "disk_evictions",
        help: "Responses that were evicted from disk for lack of room.",
        read: |handle| disk(handle, |disk| disk.counts.evicted_objects),
    },
    Gauge {
        name: "disk_moved",
        help: "Responses on disk that were kept when their segment was evicted, since they had been requested again.",
        read: |handle| disk(handle, |disk| disk.counts.moved_objects),
    },
    Gauge {
        name: "disk_damaged",
        help: "Responses on disk that were not as they were written, and were dropped.",
        read: |handle| disk(handle, |disk| disk.counts.damaged_objects),
    },
    Gauge {
        name: "disk_errors",
        help: "Reads from and writes to the disk tier that failed.",
        read: |handle| disk(handle, |disk| disk.counts.io_errors),
    },
    Gauge {
        name: "disk_waits",
        help: "Reads from the disk tier that the page cache could not answer.",
        read: |handle| disk(handle, |disk| disk.counts.waited_reads),
    },
    Gauge {
        name: "disk_skipped_reads",
        help: "Reads from the disk tier that were skipped, since the disk did not answer others in time.",
        read: |handle| disk(handle, |disk| disk.counts.skipped_reads),
    },
    Gauge {
        name: "disk_removals",
        help: "Removals and purges that were noted on disk.",
        read: |handle| disk(handle, |disk| disk.counts.removals),
    },
    Gauge {
        name: "shared_damaged",
        help: "Items of the shared tier that were damaged, forged, or of another version of the format, and were not used.",
        read: |handle| shared(handle, |shared| shared.damaged),
    },
    Gauge {
        name: "shared_purges_published",
        help: "Purges and invalidations that the other front ends of the shared tier are told of.",
        read: |handle| shared(handle, |shared| shared.purges_published),
    },
    Gauge {
        name: "shared_purges_received",
        help: "Purges and invalidations of other front ends that were carried out here.",
        read: |handle| shared(handle, |shared| shared.purges_carried_out),
    },
    Gauge {
        name: "shared_purges_missing",
        help: "Records that were missing in a server's log of purges, or could not be read.",
        read: |handle| shared(handle, |shared| shared.purges_missing),
    },
    Gauge {
        name: "shared_dropped_everything",
        help: "Times that everything stored here was dropped, since purges of other front ends may have been lost.",
        read: |handle| shared(handle, |shared| shared.dropped_everything),
    },
    Gauge {
        name: "peer_purges_published",
        help: "Purges and invalidations that the peers are told of.",
        read: |handle| peers(handle, |peers| peers.purges_published),
    },
    Gauge {
        name: "peer_purges_received",
        help: "Purges and invalidations of peers that were carried out here.",
        read: |handle| peers(handle, |peers| peers.purges_carried_out),
    },
    Gauge {
        name: "peer_purges_missing",
        help: "Records that were missing in a front end's log of purges, or could not be read.",
        read: |handle| peers(handle, |peers| peers.purges_missing),
    },
    Gauge {
        name: "peer_dropped_everything",
        help: "Times that everything stored here was dropped, since purges of peers may have been lost.",
        read: |handle| peers(handle, |peers| peers.dropped_everything),
    },
    Gauge {
        name: "peer_requests_refused",
        help: "Requests to the listener for peers that did not show the token.",
        read: |handle| peers(handle, |peers| peers.refused),
    },
];

/// A number of the disk tier; 0 where there is none.
fn disk(handle: &AdminHandle, number: fn(&DiskStatus) -> u64) -> u64 {
    handle.engine.cache().disk_status().as_ref().map_or(0, number)
}

/// A number of the shared tier; 0 where there is none.
fn shared(handle: &AdminHandle, number: fn(&TierStatus) -> u64) -> u64 {
    handle.engine.cache().shared_status().as_ref().map_or(0, number)
}

/// A number of the peers; 0 where there are none.
fn peers(handle: &AdminHandle, number: fn(&PeersStatus) -> u64) -> u64 {
    handle.engine.cache().peers_status().as_ref().map_or(0, number)
}

/// A number that each origin has.
pub(crate) struct OfOrigin {
    /// The name in both formats, without prefix and suffix.
    pub(crate) name: &'static str,
    /// Whether it only grows.
    pub(crate) is_counter: bool,
    /// One sentence for people.
    pub(crate) help: &'static str,
    /// Its value.
    pub(crate) read: fn(&OriginNumbers) -> u64,
}

/// All numbers of an origin. The configuration decides how many origins there are.
pub(crate) const OF_ORIGIN: &[OfOrigin] = &[
    OfOrigin {
        name: "origin_up",
        is_counter: false,
        help: "1: the origin is up; 0: it is down or suspect, and is not asked, or only after the others.",
        read: |origin| u64::from(origin.is_up),
    },
    OfOrigin {
        name: "origin_chosen",
        is_counter: true,
        help: "Requests for which this origin was chosen.",
        read: |origin| origin.requests,
    },
    OfOrigin {
        name: "origin_failures",
        is_counter: true,
        help: "Requests that got no answer from this origin.",
        read: |origin| origin.failures,
    },
    OfOrigin {
        name: "origin_connections_in_use",
        is_counter: false,
        help: "Connections to this origin that carry a request.",
        read: |origin| origin.connections as u64,
    },
    OfOrigin {
        name: "origin_queue",
        is_counter: false,
        help: "Requests that wait for a connection to this origin.",
        read: |origin| origin.queue as u64,
    },
];

/// All numbers at one moment.
pub(crate) struct Snapshot {
    /// In the order of the counters' table.
    pub(crate) counters: Vec<(Counter, u64)>,
    /// In the order of [`EXTERNAL_COUNTERS`].
    pub(crate) counted: Vec<(&'static Gauge, u64)>,
    /// By the names of sites; at the end, responses that belong to no site.
    pub(crate) responses: Vec<(Arc<str>, Responses)>,
    /// The results and reasons that have occurred.
    pub(crate) not_hits: Vec<NotHits>,
    /// `None`: the system does not tell these numbers.
    pub(crate) process: Option<ProcessStats>,
    /// In the order of the histograms' table.
    pub(crate) times: Vec<(Timer, Histogram)>,
    /// In the order of [`GAUGES`].
    pub(crate) gauges: Vec<(&'static Gauge, u64)>,
    /// In the order of their addresses.
    pub(crate) origins: Vec<OriginNumbers>,
    /// In the order of the configuration.
    pub(crate) shared_servers: Vec<ServerStatus>,
    /// In the order of the configuration.
    pub(crate) peers: Vec<PeerStatus>,
    /// Hits per request that the cache or the origin answered, 0 to 1; `None` before the first. Kasoku's own errors don't count.
    pub(crate) hit_ratio: Option<f64>,
}

impl Snapshot {
    pub(crate) fn of(handle: &AdminHandle) -> Self {
        Self {
            counters: Counter::ALL.iter().map(|counter| (*counter, handle.engine.metrics().total(*counter))).collect(),
            times: Timer::ALL.iter().map(|timer| (*timer, handle.engine.metrics().times(*timer))).collect(),
            counted: read(EXTERNAL_COUNTERS, handle),
            responses: handle.engine.metrics().responses(),
            not_hits: handle.engine.metrics().not_hits(),
            process: ProcessStats::now(),
            gauges: read(GAUGES, handle),
            origins: handle.engine.origins().numbers(),
            shared_servers: handle.engine.cache().shared_status().unwrap_or_default().servers,
            peers: handle.engine.cache().peers_status().unwrap_or_default().peers,
            hit_ratio: hit_ratio(handle.engine.metrics()),
        }
    }
}

fn read(table: &'static [Gauge], handle: &AdminHandle) -> Vec<(&'static Gauge, u64)> {
    table.iter().map(|gauge| (gauge, (gauge.read)(handle))).collect()
}

fn hit_ratio(metrics: &Metrics) -> Option<f64> {
    let hits = metrics.total(Counter::Hits);
    let others = metrics.total(Counter::Misses) + metrics.total(Counter::Passes);
    let all = hits.saturating_add(others);
    (all > 0).then(|| hits as f64 / all as f64)
}

/// Microseconds as seconds, as short as can be.
pub(crate) fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_are_as_short_as_they_can_be() {
        let written = [0, 1, 1_000, 2_500_000, 10_000_000].map(super::seconds);
        assert_eq!(written, ["0", "0.000001", "0.001", "2.5", "10"]);
    }
}
