//! What asks an origin: which one of several, what it is told, what it has answered.

pub(crate) mod checks;
pub(crate) mod fetch_context;
pub(crate) mod origin_answer;
pub(crate) mod outages;
pub(crate) mod send;
pub(crate) mod sendfile;
