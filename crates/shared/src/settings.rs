//! What an application says of its other processes: the servers that they share, or the addresses of all of them. The caches that an
//! application embeds are told so; the server has settings of its own.
//!
//! | file | job |
//! |---|---|
//! | `peers` | the processes that tell each other their purges, without servers between them |
//! | `shared_tier` | the servers of a shared tier, and how they are used |

mod peers;
mod shared_tier;

pub use crate::items::WhenDown as ServerDown;
pub use crate::placement::Distribution as Ring;
use crate::purge_exchange::PurgeExchange;
pub use crate::tls::{ClientFiles, TlsFiles};
pub use peers::Peers;
pub use shared_tier::{MemcachedServer, SharedTier};
use std::net::TcpListener;

/// Why purges can't be exchanged with other processes as the application wants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The settings of the shared tier can't be used, for this reason.
    #[error("the shared tier can't be used: {0}")]
    SharedTier(String),
    /// The peers can't be used, for this reason: most often, another program listens at the address of this process.
    #[error("the peers can't be used: {0}")]
    Peers(String),
    /// Both a shared tier and peers: the processes of a shared tier hear of each other's purges there.
    #[error("peers can't stand beside a shared tier: its processes hear of each other's purges there")]
    PeersBesideSharedTier,
}

/// How an application wants its processes to hear of each other's purges: one of the two, or neither.
#[derive(Clone, Debug, Default)]
pub struct WantedExchange {
    /// By servers, in which they also keep what they have made.
    pub shared: Option<SharedTier>,
    /// Without servers between them.
    pub peers: Option<Peers>,
}

impl WantedExchange {
    /// The exchange, and the socket at which peers connect. Listens there, and connects to nobody yet.
    ///
    /// # Errors
    /// The settings can't be used.
    pub fn open(self) -> Result<(Option<PurgeExchange>, Option<TcpListener>), ExchangeError> {
        match self {
            Self { shared: None, peers: None } => Ok((None, None)),
            Self { shared: Some(tier), peers: None } => Ok((Some(PurgeExchange::Tier(tier.open()?)), None)),
            Self { shared: None, peers: Some(peers) } => {
                let (peers, socket) = peers.open()?;
                Ok((Some(PurgeExchange::Peers(peers)), Some(socket)))
            }
            Self { shared: Some(_), peers: Some(_) } => Err(ExchangeError::PeersBesideSharedTier),
        }
    }
}
