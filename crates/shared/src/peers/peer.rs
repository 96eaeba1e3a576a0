//! Where a peer is, and how it does.

use crate::endpoint::Endpoint;
use crate::health::ServerHealth;
use crate::server_counters::ServerCounters;

/// A peer.
#[derive(Debug)]
pub struct Peer {
    /// Where it listens.
    pub endpoint: Endpoint,
    /// Whether its log is read at present.
    pub health: ServerHealth,
    /// What it was asked and did.
    pub counters: ServerCounters,
}

/// The peers at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeersStatus {
    /// Purges of this front end that the others are told of.
    pub purges_published: u64,
    /// Purges of other front ends that were carried out here.
    pub purges_carried_out: u64,
    /// Records of purges that stayed missing, or could not be read.
    pub purges_missing: u64,
    /// How often everything was dropped here, since purges may have been lost.
    pub dropped_everything: u64,
    /// Requests to this front end's log that did not show the token.
    pub refused: u64,
    /// In the order of the configuration.
    pub peers: Vec<PeerStatus>,
}

/// One peer. Counts are those since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerStatus {
    /// Where it is: `host:port`.
    pub address: String,
    /// Whether its log has been read within the last second.
    pub is_up: bool,
    /// How often it has gone.
    pub outages: u64,
    /// How long ago its log was last read, in milliseconds; if it never was, the time since the start.
    pub log_age_ms: u64,
    /// Operations that failed, without `timeouts`.
    pub errors: u64,
    /// Operations that had no answer in time.
    pub timeouts: u64,
    /// Operations that it has answered.
    pub replies: u64,
    /// How long all of these took together, in microseconds.
    pub reply_us: u64,
    /// The longest of them, in microseconds.
    pub reply_max_us: u64,
}

impl Peer {
    pub(super) fn status(&self, now_ms: u64) -> PeerStatus {
        let counters = &self.counters;
        PeerStatus {
            address: self.endpoint.to_string(),
            is_up: self.health.is_usable(now_ms),
            outages: self.health.outages(),
            log_age_ms: self.health.log_age_ms(now_ms),
            errors: counters.errors.value(),
            timeouts: counters.timeouts.value(),
            replies: counters.latency.count.value(),
            reply_us: counters.latency.sum_us.value(),
            reply_max_us: counters.latency.max_us(),
        }
    }
}
