//! Clients: who accepts their connections, and the doors by which their requests come.

pub(crate) mod accept;
pub(crate) mod http1;
