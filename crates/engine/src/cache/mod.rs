//! Answers requests from the cache, fills it from origins, lets requests pass, and drops what a write has changed.

pub(crate) mod changes;
pub(crate) mod fetch;
pub(crate) mod lookup;
pub(crate) mod shared_tier;
