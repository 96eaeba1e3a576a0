//! The workers that serve requests, and what they share.

pub(crate) mod background;
pub mod clock;
pub(crate) mod compress;
pub(crate) mod connection_tasks;
pub(crate) mod connections_by_address;
pub mod handle;
pub(crate) mod kept_connections;
pub(crate) mod removals;
pub(crate) mod scratch;
pub(crate) mod settings;
pub(crate) mod shutdown;
pub(crate) mod spool;
pub(crate) mod worker;
pub(crate) mod worker_loads;
