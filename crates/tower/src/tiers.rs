//! Opens the tiers below the memory of a layer, and starts the exchange of purges with other processes.

use crate::build_error::BuildError;
use crate::clock::Clock;
#[cfg(feature = "disk")]
use crate::disk::{self, DiskTier};
#[cfg(feature = "peers")]
use crate::peers::Peers;
#[cfg(feature = "shared")]
use crate::shared_tier::SharedTier;
use kasoku_cache::purge_exchange::{PurgeExchange, PurgeFollower};
use kasoku_cache::{Cache, CacheLimits, Tiers};
use std::io;
use std::net::TcpListener;

/// What an application wants besides memory.
#[derive(Default)]
pub(crate) struct WantedTiers {
    #[cfg(feature = "disk")]
    pub(crate) disk: Option<DiskTier>,
    #[cfg(feature = "shared")]
    pub(crate) shared: Option<SharedTier>,
    #[cfg(feature = "peers")]
    pub(crate) peers: Option<Peers>,
}

/// How purges reach other processes, if there are any, and where peers connect.
type Exchange = (Option<PurgeExchange>, Option<TcpListener>);

impl WantedTiers {
    /// The cache with these tiers, and the thread that exchanges purges with other processes, if there are any. `host_field_bytes`: see
    /// [`Cache::for_host`].
    pub(crate) fn open(
        mut self,
        limits: CacheLimits,
        host_field_bytes: u64,
        clock: &Clock,
    ) -> Result<(Cache, Option<PurgeFollower>), BuildError> {
        let thread = |error: io::Error| BuildError::Thread(error.to_string());
        let (exchange, peers_socket) = self.take_exchange()?;
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

    #[cfg(not(any(feature = "peers", feature = "shared")))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "with other features it needs both")]
    fn take_exchange(&mut self) -> Result<Exchange, BuildError> {
        Ok((None, None))
    }

    #[cfg(any(feature = "peers", feature = "shared"))]
    fn take_exchange(&mut self) -> Result<Exchange, BuildError> {
        #[cfg(all(feature = "peers", feature = "shared"))]
        if self.peers.is_some() && self.shared.is_some() {
            return Err(BuildError::PeersBesideSharedTier);
        }
        #[cfg(feature = "shared")]
        if let Some(tier) = self.shared.take() {
            return Ok((Some(PurgeExchange::Tier(tier.open()?)), None));
        }
        #[cfg(feature = "peers")]
        if let Some(peers) = self.peers.take() {
            let (peers, socket) = peers.open()?;
            return Ok((Some(PurgeExchange::Peers(peers)), Some(socket)));
        }
        Ok((None, None))
    }
}
