//! Records requests for the operator: the access log, spans, and the tables behind `kasoku top` and `kasoku doctor`.

pub(crate) mod access_log;
pub(crate) mod miss_examples;
pub(crate) mod misses;
pub(crate) mod timing;
pub mod top;
pub mod trace;
