//! What depends on the visitor: sessions, pages that may differ by visitor, values of dropped cookies, visits to be counted.

pub(crate) mod beacon;
pub(crate) mod leak_guard;
pub(crate) mod scan_body;
pub(crate) mod session;
