//! What a cache needs to exchange purges with others, whichever way they reach each other.

use crate::items::Tier;
use crate::peers::{OWN_LOG, Peer, Peers};
use crate::purge_log::PurgeLog;
use std::sync::Arc;

/// How purges reach the other caches, and theirs this one.
#[derive(Clone, Debug)]
pub enum PurgeExchange {
    /// By the logs in the servers of a shared tier.
    Tier(Arc<Tier>),
    /// By the logs that the other caches host.
    Peers(Arc<Peers>),
}

impl PurgeExchange {
    /// The purges that all caches have to hear of.
    pub fn log(&self) -> &PurgeLog {
        match self {
            Self::Tier(tier) => tier.log(),
            Self::Peers(peers) => peers.log(),
        }
    }

    /// The shared tier, if the exchange is by one.
    pub fn tier(&self) -> Option<&Arc<Tier>> {
        match self {
            Self::Tier(tier) => Some(tier),
            Self::Peers(_) => None,
        }
    }

    /// The peers, if the exchange is by these.
    pub fn peers(&self) -> Option<&Arc<Peers>> {
        match self {
            Self::Peers(peers) => Some(peers),
            Self::Tier(_) => None,
        }
    }

    /// Whether each server of the shared tier, or each peer, can be reached at present.
    pub fn reaches_all(&self) -> bool {
        match self {
            Self::Tier(tier) => tier.status().servers.iter().all(|server| server.is_usable),
            Self::Peers(peers) => peers.status().peers.iter().all(|peer| peer.is_up),
        }
    }

    /// The number and the address of each log that other caches read: the servers, or the peers.
    pub fn others(&self) -> Vec<(usize, String)> {
        match self {
            Self::Tier(tier) => {
                tier.servers().all().iter().enumerate().map(|(log, server)| (log, server.address.clone())).collect()
            }
            Self::Peers(peers) => {
                let named = |(number, peer): (usize, &Peer)| (OWN_LOG + 1 + number, peer.endpoint.to_string());
                peers.all().iter().enumerate().map(named).collect()
            }
        }
    }

    /// How far each log has been carried out for good: to be kept with what is stored on disk.
    pub fn positions(&self) -> Vec<(u64, u64)> {
        match self {
            Self::Tier(tier) => tier.positions(),
            Self::Peers(peers) => peers.positions(),
        }
    }

    /// The cache begins with what an earlier process had stored on disk, which had followed the logs so far.
    pub fn resume(&self, positions: &[(u64, u64)]) {
        match self {
            Self::Tier(tier) => tier.resume(positions),
            Self::Peers(peers) => peers.resume(positions),
        }
    }
}
