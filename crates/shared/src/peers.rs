//! Purges between front ends that have no servers in common: each front end hosts a log of purges for the others (docs/decisions/0043).
//!
//! For the [`PurgeLog`] a peer is one more server, of which it needs the log alone. Log 0 is the one that this front end hosts, and is read
//! in the process; the others are those of the peers, which are asked over HTTP. A purge is written into all of them. So a front end mostly
//! hears of a purge from its own log, which wakes it; and from any other log, if its own could not be reached.
//!
//! Records are sealed with the token. The requests show a password that is made of the token, so that the token itself is on no wire.
//!
//! | file | job |
//! |---|---|
//! | `hosted` | the log that this front end hosts, within its bounds |
//! | `listener` | lets the peers read and write it, over HTTP |
//! | `client` | reads and writes the log of a peer |
//! | `password` | what peers show to each other |
//! | `peer` | where a peer is, and how it does |

mod client;
mod hosted;
mod listener;
mod password;
mod peer;

use crate::health::ServerHealth;
use crate::kept_positions::KeptPositions;
use crate::names::Namespace;
use crate::purge_log::{Clock, PurgeLog, Purger};
use crate::sealed::{Sealer, SecretTooShort};
use crate::server_counters::{Count, ServerCounters};
use crate::{Endpoint, Failure};
use client::Client;
pub use hosted::HostedLog;
pub use listener::listen;
use password::Password;
pub use peer::{Peer, PeerStatus, PeersStatus};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;
use xxhash_rust::xxh3::xxh3_64;

/// The number of the log that this front end hosts.
pub const OWN_LOG: usize = 0;

/// What a process knows of its peers, and the log that it hosts for them.
#[derive(Debug)]
pub struct Peers {
    log: PurgeLog,
    hosted: HostedLog,
    peers: Vec<Peer>,
    password: Password,
    positions: KeptPositions,
    /// Requests of others that showed no password, or a wrong one.
    refused: Count,
    started: Instant,
}

/// The connections to all peers, for the runtime that follows their logs.
#[derive(Debug)]
pub struct PeerConnections {
    peers: Arc<Peers>,
    clients: Vec<Client>,
}

impl Peers {
    /// These peers, of which nothing is known yet. The token is the same for all of them.
    ///
    /// # Errors
    /// The token is too short.
    pub fn new(endpoints: Vec<Endpoint>, token: &[u8]) -> Result<Arc<Self>, SecretTooShort> {
        let sealer = Arc::new(Sealer::new(Some(token))?);
        let peer = |endpoint| Peer { endpoint, health: ServerHealth::default(), counters: ServerCounters::default() };
        let peers: Vec<Peer> = endpoints.into_iter().map(peer).collect();
        let address = |peer: &Peer| Some(xxh3_64(peer.endpoint.to_string().as_bytes()));
        let names = peers.iter().map(|peer: &Peer| peer.endpoint.to_string());
        let names: Vec<String> = std::iter::once("own".to_owned()).chain(names).collect();
        let addresses = std::iter::once(None).chain(peers.iter().map(address)).collect();
        let namespace = Namespace::default();
        Ok(Arc::new(Self {
            hosted: HostedLog::new(namespace.clone()),
            log: PurgeLog::of_front_ends(namespace, sealer, peers.len()).naming(names),
            peers,
            password: Password::of(token)?,
            positions: KeptPositions::new(addresses),
            refused: Count::default(),
            started: Instant::now(),
        }))
    }

    /// The purges that all front ends have to hear of.
    pub fn log(&self) -> &PurgeLog {
        &self.log
    }

    /// The log that this front end hosts.
    pub fn hosted(&self) -> &HostedLog {
        &self.hosted
    }

    /// The peers, in the order of the configuration.
    pub fn all(&self) -> &[Peer] {
        &self.peers
    }

    /// Changes whenever a peer has written a purge here.
    pub fn news(&self) -> watch::Receiver<()> {
        self.hosted.news()
    }

    /// How far the log of each peer has been carried out for good: the hash of its address, and the number. To be kept with what is stored on
    /// disk. The own log is not among them: it ends with this process.
    pub fn positions(&self) -> Vec<(u64, u64)> {
        self.positions.read_from(&self.log)
    }

    /// The cache begins with what an earlier process had stored on disk, which had followed the logs so far. To be called once at most.
    pub fn resume(&self, positions: &[(u64, u64)]) {
        self.positions.resume(&self.log, positions);
    }

    /// Connections of its own for the runtime that calls this. Nothing is connected before a log is followed.
    pub fn connections(self: &Arc<Self>) -> PeerConnections {
        PeerConnections {
            clients: (0..)
                .zip(&self.peers)
                .map(|(number, peer)| Client::new(self.clone(), number, peer.endpoint.clone()))
                .collect(),
            peers: self.clone(),
        }
    }

    /// What the peers do.
    pub fn status(&self) -> PeersStatus {
        let (purges, now_ms) = (self.log.counts(), self.now_ms());
        PeersStatus {
            purges_published: purges.published.value(),
            purges_carried_out: purges.carried_out.value(),
            purges_missing: purges.missing.value(),
            dropped_everything: purges.dropped_everything.value(),
            refused: self.refused.value(),
            peers: self.peers.iter().map(|peer| peer.status(now_ms)).collect(),
        }
    }

    /// The time that health is measured in.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl PeerConnections {
    /// What is known of the peers.
    pub fn peers(&self) -> &Arc<Peers> {
        &self.peers
    }

    /// Reads what is new in a log, and adds what it lacks. Returns whether it has been read to its end.
    ///
    /// # Errors
    /// The peer can't be asked.
    pub async fn follow(&self, log: usize, purger: &impl Purger, now: impl Fn() -> Clock) -> Result<bool, Failure> {
        let (purges, begun_ms) = (&self.peers.log, self.peers.now_ms());
        let Some(number) = log.checked_sub(1) else { return purges.follow(log, &self.peers.hosted, purger, now).await };
        let client = self.clients.get(number).ok_or(Failure::NoSuchServer(log))?;
        let is_read = purges.follow(log, client, purger, now).await?;
        if is_read {
            client.peer().health.synced(begun_ms);
        }
        Ok(is_read)
    }
}

#[cfg(test)]
mod tests;
