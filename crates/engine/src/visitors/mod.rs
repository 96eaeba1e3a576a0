//! The parts of the engine that depend on the visitor: sessions, the leak guard, the scan of response bodies, beacons.

pub(crate) mod beacon;
pub(crate) mod leak_guard;
pub(crate) mod scan_body;
pub(crate) mod session;
