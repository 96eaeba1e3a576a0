//! Asks the cache, and the origin where that is to fill it; what a write drops.

pub(crate) mod changes;
pub(crate) mod fetch;
pub(crate) mod lookup;
