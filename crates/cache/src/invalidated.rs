//! The result of an invalidation or a purge, which is certain only when the disk tier has noted it, and other caches can hear of it.

use crate::timer::in_time;
use kasoku_shared::PurgeExchange;
use kasoku_shared::purge_log::{Delivery, Reached};
use kasoku_store::disk::{Durability, NotDurable};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a host waits for [`Told::wait`]: all servers of the shared tier, or all peers, are asked at once, and each answers within its timeout or
/// not at all.
pub const TOLD_TIMEOUT: Duration = Duration::from_secs(1);

/// A removal may be undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncertain {
    /// The disk tier can't note it.
    #[error(transparent)]
    NotDurable(#[from] NotDurable),
    /// The process that takes this one's place does not say that it has noted it.
    #[error("the new process has not confirmed the removal, so it may still have what was removed")]
    Successor,
}

/// A purge that was carried out here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// Whether each server of the shared tier, or each peer, has been told of it. If not, this process tells those that could not be reached when
    /// they are back, as long as it runs. True where there are none.
    pub reached_all: bool,
}

/// The servers of a shared tier, or the peers, that a purge has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// Whether they are peers.
    pub are_peers: bool,
    /// How many there are.
    pub all: usize,
    /// The addresses of those that have not got it.
    pub missing: Vec<String>,
}

impl Reach {
    /// How many have got it.
    pub fn reached(&self) -> usize {
        self.all.saturating_sub(self.missing.len())
    }

    /// Whether none has got it, so that the purge counts only here.
    pub fn is_none(&self) -> bool {
        self.all > 0 && self.reached() == 0
    }
}

/// Says what the purges of one [`Told`] have reached by then.
#[derive(Debug)]
pub struct Reaching(Vec<Reached>);

impl Reaching {
    /// What all of these purges have reached by now.
    pub fn of(&self, exchange: &PurgeExchange) -> Reach {
        let others = exchange.others();
        let all = others.len();
        let is_missing = |(log, _): &(usize, String)| !self.0.iter().all(|reached| reached.has(*log));
        let missing = others.into_iter().filter(is_missing).map(|(_, address)| address).collect();
        Reach { are_peers: exchange.peers().is_some(), all, missing }
    }
}

/// Other caches are told of a purge.
#[must_use]
#[derive(Debug, Default)]
pub struct Told(Vec<Delivery>);

impl From<Delivery> for Told {
    fn from(delivery: Delivery) -> Self {
        Self(vec![delivery])
    }
}

impl Told {
    /// Waits until it stands in each server or peer that can be reached. Returns whether it does.
    pub async fn wait(self) -> bool {
        let mut stands = true;
        for delivery in self.0 {
            stands &= delivery.wait().await;
        }
        stands
    }

    /// Says later what has been reached.
    pub fn reaching(&self) -> Reaching {
        Reaching(self.0.iter().map(Delivery::reached).collect())
    }

    /// The same for at most [`TOLD_TIMEOUT`]; not at all where the runtime has no timer. Returns whether it stands there by then.
    pub async fn in_time(self) -> bool {
        in_time(TOLD_TIMEOUT, self.wait()).await == Ok(true)
    }
}

/// What an invalidation has dropped, or a purge. On disk, and for other caches, it is certain only after [`Invalidated::wait`] and [`Told::wait`].
#[must_use]
#[derive(Debug, Default)]
pub struct Invalidated {
    /// The keys that had stored responses.
    pub keys: usize,
    on_disk: Vec<Durability>,
    passed_on: Vec<oneshot::Receiver<()>>,
    told: Vec<Delivery>,
}

impl Invalidated {
    /// Adds what another one has dropped.
    pub fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.on_disk.extend(other.on_disk);
        self.passed_on.extend(other.passed_on);
        self.told.extend(other.told);
    }

    /// Whether it is certain without waiting.
    pub fn is_certain(&self) -> bool {
        self.on_disk.is_empty() && self.passed_on.is_empty() && self.told.is_empty()
    }

    /// The part of the wait that is for other caches: until the purge stands in each server or peer that can be reached.
    pub fn take_told(&mut self) -> Told {
        Told(std::mem::take(&mut self.told))
    }

    /// Waits until nothing that was dropped can come back, whatever happens to the process or the machine. Does not wait for other caches.
    ///
    /// # Errors
    /// That can't be achieved: the disk fails.
    pub async fn wait(self) -> Result<usize, Uncertain> {
        let mut result = Ok(self.keys);
        for durability in self.on_disk {
            result = durability.wait().await.map_err(Uncertain::from).and(result);
        }
        for passed_on in self.passed_on {
            result = passed_on.await.map_err(|_| Uncertain::Successor).and(result);
        }
        result
    }

    /// What was removed on disk alone.
    pub(crate) fn on_disk(durability: Durability) -> Self {
        Self { on_disk: vec![durability], ..Self::default() }
    }

    /// What other caches have to remove.
    pub(crate) fn told(delivery: Delivery) -> Self {
        Self { told: vec![delivery], ..Self::default() }
    }

    /// What the process that takes this one's place has to remove.
    pub(crate) fn passed_on(certain: oneshot::Receiver<()>) -> Self {
        Self { passed_on: vec![certain], ..Self::default() }
    }
}
