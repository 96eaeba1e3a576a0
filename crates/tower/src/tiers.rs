//! Opens the tiers below the memory of a layer, and starts the exchange of purges with other processes.

use crate::build_error::BuildError;
#[cfg(feature = "disk")]
use crate::disk::{self, DiskTier};
use kasoku_cache::clock::Clock;
use kasoku_cache::purge_exchange::PurgeFollower;
use kasoku_cache::purge_exchange::settings::WantedExchange;
use kasoku_cache::{Cache, CacheLimits, Tiers};
use std::io;

/// What an application wants besides memory.
#[derive(Default)]
pub(crate) struct WantedTiers {
    #[cfg(feature = "disk")]
    pub(crate) disk: Option<DiskTier>,
    /// The features let an application say none, one or both of these.
    pub(crate) exchange: WantedExchange,
}

impl WantedTiers {
    /// The cache with these tiers, and the thread that exchanges purges with other processes, if there are any. `host_field_bytes`: see
    /// [`Cache::for_host`].
    pub(crate) fn open(
        self,
        limits: CacheLimits,
        host_field_bytes: u64,
        clock: &Clock,
    ) -> Result<(Cache, Option<PurgeFollower>), BuildError> {
        let thread = |error: io::Error| BuildError::Thread(error.to_string());
        let (exchange, peers_socket) = self.exchange.open()?;
        let tiers = Tiers {
            #[cfg(feature = "disk")]
            disk: self.disk.map(DiskTier::checked).transpose()?,
            exchange,
            ..Tiers::default()
        };
        let cache = Cache::for_host_with_tiers(limits, host_field_bytes, tiers, clock.clone()).map_err(thread)?;
        #[cfg(feature = "disk")]
        disk::check_directory(&cache)?;
        // The disk has told by now how far an earlier process had read the purges of the others.
        let follower = PurgeFollower::start(&cache, peers_socket).map_err(thread)?;
        Ok((cache, follower))
    }
}
