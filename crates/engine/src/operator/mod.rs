//! Answers the operator's questions and carries out orders: why a request gets what it gets, what would help, what is to be
//! dropped.

pub mod doctor;
pub mod explain;
pub(crate) mod isolated_fetch;
pub(crate) mod log;
pub mod purge;
pub(crate) mod trial;
