//! Leases: of several caches that miss the same item, one asks the origin, and the others wait until the item is there.
//!
//! A lease is an item that one cache has added. It expires soon, and its holder renews it while the origin answers. So the others wait as long as the
//! holder lives, and not much longer. If what has come may not be shared, the holder says so in the place of the lease.

use crate::expiry::Expiry;
use crate::failure::Failure;
use crate::items::Items;
use crate::names::Name;
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// After this time a lease that is not renewed is over, in seconds. memcached counts whole seconds, so it may be over a second earlier.
const LEASE_SECONDS: u64 = 3;

/// How often a lease has to be renewed.
pub const RENEWAL_INTERVAL: Duration = Duration::from_millis(700);

/// How often it is looked whether a lease can be ended that could not be, since its server had failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// For how long the others are told that an item may not be shared, in seconds.
const PASS_SECONDS: u64 = 2;

/// Stands in the place of a lease when the item may not be shared.
const PASS: &[u8] = b"pass";

/// The right to fetch an item, for a short time. See the [module](self).
#[derive(Debug)]
pub struct Lease {
    items: Items,
    server: usize,
    name: Name,
    token: Bytes,
}

/// The answer to a cache that wants to fetch an item.
#[derive(Debug)]
pub enum Leased {
    /// It may.
    Granted(Lease),
    /// Another cache fetches it.
    Held,
    /// What another cache has just fetched may not be shared.
    Pass,
    /// The server can't be asked, or does not say who fetches it.
    Unknown,
    /// The server did not answer in time. It may have granted the lease all the same, so release it.
    Lost(Lease),
}

impl Items {
    /// Asks for the right to fetch the item of this name.
    pub async fn lease(&self, item: &Name) -> Leased {
        let Some(server) = self.tier().server_of(item) else { return Leased::Unknown };
        let (name, token) = (item.lease(), Bytes::from(format!("{:032x}", fastrand::u128(..))));
        let expiry = Expiry::After(LEASE_SECONDS);
        let added = self.client().add(server, name.as_bytes(), token.clone(), expiry).await;
        let lease = || Lease { items: self.clone(), server, name: name.clone(), token };
        match added {
            Ok(true) => Leased::Granted(lease()),
            Ok(false) => self.standing(server, &name).await.unwrap_or(Leased::Held),
            Err(failure) if failure.is_about_the_request() => Leased::Unknown,
            Err(_) => Leased::Lost(lease()),
        }
    }

    /// Asks again, where another cache fetched the item a moment ago. While it still does, this takes one round trip, not two.
    pub async fn lease_again(&self, item: &Name) -> Leased {
        let Some(server) = self.tier().server_of(item) else { return Leased::Unknown };
        match self.standing(server, &item.lease()).await {
            Some(standing) => standing,
            None => self.lease(item).await,
        }
    }

    /// What stands in the place of a lease; `None`: nothing.
    async fn standing(&self, server: usize, lease: &Name) -> Option<Leased> {
        match self.client().peek(server, lease.as_bytes(), None).await {
            Ok(Some(value)) if value == PASS => Some(Leased::Pass),
            Ok(Some(_)) => Some(Leased::Held),
            Ok(None) => None,
            Err(_) => Some(Leased::Unknown),
        }
    }
}

impl Lease {
    /// The lease lives on. To be called every [`RENEWAL_INTERVAL`].
    pub async fn renew(&self) {
        let expiry = Some(Expiry::After(LEASE_SECONDS));
        let _ = self.items.client().peek(self.server, self.name.as_bytes(), expiry).await;
    }

    /// The item is there, or can't be had: another cache may fetch it.
    pub async fn release(&self) {
        self.end(Ending::Release).await;
    }

    /// The item may not be shared: the others need not wait.
    pub async fn pass(&self) {
        self.end(Ending::Pass).await;
    }

    /// Ends the lease. Where the server has failed, tries again when it is back, as long as the lease may live: other caches would wait for nothing.
    async fn end(&self, ending: Ending) {
        let until = Instant::now() + Duration::from_secs(LEASE_SECONDS);
        while self.end_own(ending).await.is_err() {
            loop {
                sleep(RETRY_INTERVAL).await;
                if Instant::now() >= until {
                    return;
                }
                if self.items.tier().is_usable(self.server) {
                    break;
                }
            }
        }
    }

    /// Ends the lease, if it has not become another one's. That may happen just afterwards: then the item is fetched twice.
    async fn end_own(&self, ending: Ending) -> Result<(), Failure> {
        let (client, name) = (self.items.client(), self.name.as_bytes());
        if client.peek(self.server, name, None).await?.is_none_or(|value| value != self.token) {
            return Ok(());
        }
        match ending {
            Ending::Release => client.delete(self.server, name).await.map(drop),
            Ending::Pass => {
                let (value, expiry) = (vec![Bytes::from_static(PASS)], Expiry::After(PASS_SECONDS));
                client.set(self.server, name, value, expiry).await
            }
        }
    }
}

/// What is left where a lease was.
#[derive(Clone, Copy)]
enum Ending {
    /// Nothing.
    Release,
    /// [`PASS`].
    Pass,
}
