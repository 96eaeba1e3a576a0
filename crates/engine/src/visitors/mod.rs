//! The parts of the engine that depend on the visitor: sessions, the leak guard, the scan of response bodies, beacons, the limit of fetches by address.

pub(crate) mod beacon;
pub(crate) mod leak_guard;
pub(crate) mod miss_limit;
pub(crate) mod scan_body;
pub(crate) mod session;
