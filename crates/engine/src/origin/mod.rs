//! Asks origins: which one of several, with which request, and what the answer is.

pub(crate) mod checks;
pub(crate) mod fetch_context;
pub(crate) mod origin_answer;
pub(crate) mod outages;
pub(crate) mod send;
pub(crate) mod sendfile;
