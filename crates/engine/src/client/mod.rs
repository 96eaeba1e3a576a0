//! Accepts the connections of clients, and reads and answers their requests.

pub(crate) mod accept;
pub(crate) mod http1;
