//! Counts connections by the address of the client, for `limits.connections-per-address`. All workers share the counts.
//!
//! An address is remembered while it has a connection, so there are never more of them than connections. Without the limit nothing is
//! counted.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The parts of the table, each with a lock of its own.
const PARTS: usize = 16;

/// One customer has a /64 of IPv6 at least.
const IPV6_NETWORK: u128 = !0 << 64;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct ConnectionsByAddress {
    parts: [Mutex<HashMap<IpAddr, usize>>; PARTS],
    hasher: RandomState,
}

/// A connection that is counted for its address.
pub(crate) struct CountedAddress {
    all: Arc<ConnectionsByAddress>,
    network: IpAddr,
}

impl ConnectionsByAddress {
    /// Counts a connection for as long as the result lives; `None`: its address has `connections_max` already.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, connections_max: usize) -> Option<CountedAddress> {
        let network = network(address);
        let mut part = self.part(network);
        let count = part.get(&network).copied().unwrap_or_default();
        if count >= connections_max {
            return None;
        }
        part.insert(network, count + 1);
        Some(CountedAddress { all: self.clone(), network })
    }

    fn part(&self, network: IpAddr) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        let number = self.hasher.hash_one(network) as usize % PARTS;
        let [first, ..] = &self.parts;
        self.parts.get(number).unwrap_or(first).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedAddress {
    fn drop(&mut self) {
        let mut part = self.all.part(self.network);
        let left = part.get_mut(&self.network).map(|count| {
            *count = count.saturating_sub(1);
            *count
        });
        if left == Some(0) {
            part.remove(&self.network);
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & IPV6_NETWORK).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(all: &Arc<ConnectionsByAddress>, address: &str) -> Option<CountedAddress> {
        all.enter(address.parse().unwrap(), 2)
    }

    #[test]
    fn an_address_has_at_most_so_many_connections_at_once() {
        let all = Arc::default();
        let (one, other) = (entered(&all, "192.0.2.7"), entered(&all, "::ffff:192.0.2.7"));
        assert!(one.is_some() && other.is_some() && entered(&all, "192.0.2.7").is_none());
        assert!(entered(&all, "192.0.2.8").is_some(), "another address");
        drop(other);
        let next = entered(&all, "192.0.2.7");
        assert!(next.is_some() && entered(&all, "192.0.2.7").is_none());
        drop((one, next));
        assert!(all.parts.iter().all(|part| part.lock().unwrap().is_empty()), "nobody is remembered");
    }

    #[test]
    fn an_ipv6_network_of_one_customer_is_one_address() {
        let all = Arc::default();
        let both = (entered(&all, "2001:db8:0:1::1"), entered(&all, "2001:db8:0:1:ffff::2"));
        assert!(both.0.is_some() && both.1.is_some() && entered(&all, "2001:db8:0:1::3").is_none());
        assert!(entered(&all, "2001:db8:0:2::1").is_some());
    }

    #[test]
    fn a_refused_address_without_a_connection_is_not_remembered() {
        let all: Arc<ConnectionsByAddress> = Arc::default();
        assert!(all.enter([192, 0, 2, 7].into(), 0).is_none());
        assert!(all.parts.iter().all(|part| part.lock().unwrap().is_empty()));
    }
}
