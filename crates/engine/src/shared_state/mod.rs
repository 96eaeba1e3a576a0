//! What is known of visitors, of cookies and of URL patterns: tables that all workers share, each with a bound.

pub(crate) mod counted;
mod fact_table;
pub(crate) mod leak_guard;
pub(crate) mod session;
pub(crate) mod set_by;

pub(crate) use fact_table::{FactId, FactTable};
