//! What the shared tier does, in numbers for an operator.

use crate::Tier;
use crate::servers::Server;

/// The tier at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierStatus {
    /// Items that were damaged, forged, or not written by a cache of this version.
    pub damaged: u64,
    /// Purges of this front end that the others are told of.
    pub purges_published: u64,
    /// Purges of other front ends that were carried out here.
    pub purges_carried_out: u64,
    /// Records of purges that stayed missing, or could not be read.
    pub purges_missing: u64,
    /// How often everything was dropped here, since purges may have been lost.
    pub dropped_everything: u64,
    /// In the order of the configuration.
    pub servers: Vec<ServerStatus>,
}

/// One server. Counts are those of all workers since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// Where it is, as a configuration names it: `host:port`, or `unix:` and a path.
    pub address: String,
    /// Whether it is asked for items.
    pub is_usable: bool,
    /// How often it has become unusable.
    pub outages: u64,
    /// How long ago its log of purges was last read, in milliseconds; if it never was, the time since the start.
    pub log_age_ms: u64,
    /// Values that were asked for.
    pub gets: u64,
    /// Those that it had.
    pub hits: u64,
    /// Values that were to be stored.
    pub sets: u64,
    /// Operations that failed, without `timeouts` and `busy`.
    pub errors: u64,
    /// Operations that had no answer in time.
    pub timeouts: u64,
    /// Operations that were not tried, since too many were waiting.
    pub busy: u64,
    /// Bytes received from it.
    pub bytes_in: u64,
    /// Bytes sent to it.
    pub bytes_out: u64,
    /// Operations that it has answered.
    pub replies: u64,
    /// How long all of these took together, in microseconds.
    pub reply_us: u64,
    /// The longest of them, in microseconds.
    pub reply_max_us: u64,
}

impl Tier {
    /// What the tier does.
    pub fn status(&self) -> TierStatus {
        let (purges, servers) = (self.log().counts(), self.servers());
        let now_ms = servers.now_ms();
        TierStatus {
            damaged: self.damaged(),
            purges_published: purges.published.value(),
            purges_carried_out: purges.carried_out.value(),
            purges_missing: purges.missing.value(),
            dropped_everything: purges.dropped_everything.value(),
            servers: servers.all().iter().map(|server| server.status(now_ms)).collect(),
        }
    }
}

impl ServerStatus {
    /// Operations that have failed in any way.
    pub fn failures(&self) -> u64 {
        [self.errors, self.timeouts, self.busy].into_iter().fold(0, u64::saturating_add)
    }
}

impl Server {
    fn status(&self, now_ms: u64) -> ServerStatus {
        let counters = &self.counters;
        ServerStatus {
            address: self.address.clone(),
            is_usable: self.health.is_usable(now_ms),
            outages: self.health.outages(),
            log_age_ms: self.health.log_age_ms(now_ms),
            gets: counters.gets.value(),
            hits: counters.hits.value(),
            sets: counters.sets.value(),
            errors: counters.errors.value(),
            timeouts: counters.timeouts.value(),
            busy: counters.busy.value(),
            bytes_in: counters.bytes_in.value(),
            bytes_out: counters.bytes_out.value(),
            replies: counters.latency.count.value(),
            reply_us: counters.latency.sum_us.value(),
            reply_max_us: counters.latency.max_us(),
        }
    }
}
