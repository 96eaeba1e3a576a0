//! What the origin's program remembers between requests.

use crate::corpus::values::seeded;
use fastrand::Rng;
use std::collections::{HashMap, HashSet};

/// What a program remembers between requests.
pub(crate) struct Memory {
    pub(crate) rng: Rng,
    pub(crate) requests: u64,
    pub(crate) addresses: HashSet<String>,
    /// The last number that was given, and those that belong to a session or an address.
    number: u64,
    pub(crate) numbers: HashMap<(String, String), u64>,
    /// The time at which the program began, and the present one.
    pub(crate) begun_ms: i64,
    pub(crate) now_ms: i64,
}

impl Memory {
    pub(crate) fn new(seed: &str, now_ms: i64) -> Self {
        let (addresses, numbers) = (HashSet::new(), HashMap::new());
        Self { rng: seeded(seed), requests: 0, addresses, number: 100_016, numbers, begun_ms: now_ms, now_ms }
    }

    /// Counts a request, and tells whether its address has never asked before.
    pub(crate) fn visit(&mut self, address: &str) -> bool {
        self.requests += 1;
        self.addresses.insert(address.to_owned())
    }

    pub(crate) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
}
