//! One origin of a rule, and how requests are spread over several.

use crate::origin_address::OriginAddress;

/// The most origins of one group; further ones are ignored.
pub const ORIGINS_MAX: usize = 64;

/// One origin of a rule, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginOptions {
    /// Where it listens.
    pub address: OriginAddress,
    /// The origin's part of the requests, in proportion to the others' weights. Default 1.
    pub weight: u32,
    /// Whether it is asked only when no other origin can be. Default false.
    pub is_backup: bool,
    /// Connections in use, over all workers and rules. Default: as [`crate::OriginLimits::connections_max`].
    pub connections_max: Option<usize>,
}

impl From<OriginAddress> for OriginOptions {
    fn from(address: OriginAddress) -> Self {
        Self { address, weight: 1, is_backup: false, connections_max: None }
    }
}

/// How requests are spread over the origins of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// The first that can be asked; the others stand in for it.
    #[default]
    First,
    /// In turn, by weight.
    RoundRobin,
    /// By the key: the same key goes to the same origin.
    Hash,
}
