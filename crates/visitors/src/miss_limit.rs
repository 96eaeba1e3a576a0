//! Bounds how many fetches one client begins, by its address. All workers share the table.
//!
//! Where a lifetime is granted, the application does not know who asks, so its own limits by address bind no fetch for all visitors
//! ([`kasoku_semantics::stand_in`]). Without a bound of Kasoku's own, one client could keep it busy with URLs that nobody asked for
//! before. Only fetches count: a hit, and a request that waits for another one's fetch, cost the application nothing.
//!
//! The bound is meant for a client that makes an application slow for all others, not for a fair one. So each address may begin many
//! fetches at once (`BURST_SECONDS`): an office behind one address whose people come in at nine, and a crawler that reads a site.
//!
//! This is a generic cell rate algorithm: of each client, the table knows the time at which the client will have no debt. The table
//! is bounded. A client who was evicted begins without debt, so a client with very many addresses is not bound.

use crate::{FactId, FactTable};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

/// Clients that the table remembers: about 3 MiB.
const CLIENTS_MAX: usize = 64 << 10;

/// How many seconds' fetches a client may begin at once.
const BURST_SECONDS: u64 = 20;

/// One customer has a /64 of IPv6 at least.
const IPV6_CLIENT_BITS: u32 = 64;

/// See the [module](self).
pub struct MissLimit {
    /// When each client will have no debt, in microseconds.
    clear_us: FactTable<u64>,
    hashers: [RandomState; 2],
}

impl Default for MissLimit {
    fn default() -> Self {
        Self { clear_us: FactTable::with_room_for(CLIENTS_MAX), hashers: Default::default() }
    }
}

impl MissLimit {
    /// Whether a client may begin a fetch now, which then counts. `per_second`: how many each client may begin, in the long run; 0: any
    /// number.
    pub fn admits(&self, client: IpAddr, per_second: u64, now_ms: u64) -> bool {
        let Some(period_us) = 1_000_000_u64.checked_div(per_second) else { return true };
        let now_us = now_ms.saturating_mul(1_000);
        self.clear_us.change(self.id(client), |clear_us| {
            let next_us = now_us.max(*clear_us).saturating_add(period_us);
            let is_admitted = next_us.saturating_sub(now_us) <= BURST_SECONDS * 1_000_000;
            if is_admitted {
                *clear_us = next_us;
            }
            is_admitted
        })
    }

    fn id(&self, client: IpAddr) -> FactId {
        let client = match client.to_canonical() {
            IpAddr::V4(address) => (4, u128::from(address.to_bits())),
            IpAddr::V6(address) => (6, address.to_bits() >> (128 - IPV6_CLIENT_BITS)),
        };
        self.hashers.each_ref().map(|hasher| hasher.hash_one(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PER_SECOND: u64 = 30;
    const BURST: u64 = PER_SECOND * BURST_SECONDS;

    fn admitted(limit: &MissLimit, client: &str, count: u64, now_ms: u64) -> u64 {
        let client = client.parse().unwrap();
        (0..count).filter(|_| limit.admits(client, PER_SECOND, now_ms)).count() as u64
    }

    #[test]
    fn a_client_may_begin_many_fetches_at_once_and_then_as_many_as_time_brings() {
        let limit = MissLimit::default();
        assert_eq!(admitted(&limit, "192.0.2.7", 2 * BURST, 5_000), BURST);
        assert_eq!(admitted(&limit, "192.0.2.7", BURST, 6_000), PER_SECOND, "a refused request makes no debt");
        assert_eq!(admitted(&limit, "192.0.2.7", 2 * BURST, 100_000), BURST);
        assert_eq!(admitted(&limit, "192.0.2.8", 2 * BURST, 5_000), BURST, "another client");
    }

    #[test]
    fn an_ipv6_network_of_one_customer_is_one_client() {
        let limit = MissLimit::default();
        assert_eq!(admitted(&limit, "2001:db8:0:1::1", BURST, 0), BURST);
        assert_eq!(admitted(&limit, "2001:db8:0:1:ffff::2", 1, 0), 0);
        assert_eq!(admitted(&limit, "2001:db8:0:2::1", 1, 0), 1);
        assert_eq!(admitted(&limit, "192.0.2.7", BURST, 0), BURST);
        assert_eq!(admitted(&limit, "::ffff:192.0.2.7", 1, 0), 0, "the same client, as an IPv6 socket sees it");
    }

    #[test]
    fn without_a_limit_every_fetch_is_admitted() {
        let limit = MissLimit::default();
        assert!((0..2 * BURST).all(|_| limit.admits([192, 0, 2, 7].into(), 0, 0)));
    }

    #[test]
    fn a_client_with_many_addresses_takes_no_more_memory() {
        let limit = MissLimit::default();
        let client = |number: u32| IpAddr::from(number.to_be_bytes());
        let count = 2 * CLIENTS_MAX as u32;
        // One fetch a second at most, so that a client who is remembered has debt.
        let fill = |number: u32| (0..BURST_SECONDS).all(|_| limit.admits(client(number), 1, 0));
        assert!((0..count).all(fill));
        let known = (0..count).filter(|number| !limit.admits(client(*number), 1, 0)).count();
        assert!((1..=CLIENTS_MAX).contains(&known), "{known}");
    }
}
