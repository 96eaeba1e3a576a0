//! The way by which a cache tells others of its purges, and hears of theirs.

use crate::clock::Clock;
use crate::invalidated::Purged;
use kasoku_semantics::time::Now;
use kasoku_shared::PurgeExchange;
use kasoku_shared::purge_log::{Delivery, Epoch, Purger};

/// An exchange of purges, and the clock that it goes by.
#[derive(Clone)]
pub(crate) struct Link {
    exchange: PurgeExchange,
    clock: Clock,
}

/// A cache that may have a [`Link`], and carries out what comes by it. A clone is the same cache.
pub(crate) trait Linked: Purger + Clone + 'static {
    /// `None`: it exchanges purges with nobody.
    fn link(&self) -> Option<&Link>;
}

impl Link {
    pub(crate) fn new(exchange: PurgeExchange, clock: Clock) -> Self {
        Self { exchange, clock }
    }

    pub(crate) fn exchange(&self) -> &PurgeExchange {
        &self.exchange
    }

    pub(crate) fn now(&self) -> Now {
        (self.clock)()
    }

    /// What has come of a purge of which others were told, or not in time.
    pub(crate) fn purged(&self, is_told: bool) -> Purged {
        Purged { reached_all: is_told && self.exchange.reaches_all() }
    }

    /// Has a purge carried out here, and all other caches told of it. `purge`: as it stands in a log.
    pub(crate) fn publish<E>(
        &self,
        now: Now,
        carry_out: impl FnOnce() -> Result<Epoch, E>,
        purge: impl FnOnce() -> Vec<u8>,
    ) -> Result<(Epoch, Delivery), E> {
        let mut done = 0;
        let delivery = self.exchange.log().publish(now.mono_ms, || {
            done = carry_out()?;
            Ok((done, purge()))
        })?;
        Ok((done, delivery))
    }
}
