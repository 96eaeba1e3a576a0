//! Checks whether the pages of a URL pattern are the same for all visitors.
//!
//! The guard fetches the first page of each pattern once more, as a made-up visitor (`synthetic_visitor`), and
//! compares both pages ([`comparison`]). A page that differs by more than listed noise blocks its pattern ([`table`]). Sampled
//! requests repeat the comparison. The engine does the fetches, and acts on the verdicts.

pub mod comparison;
mod countdown;
mod guarded_patterns;
mod pattern_verdict;
mod report;
mod synthetic_visitor;
pub mod table;

pub use comparison::{
    Comparison, ComparisonResult, FETCH_MAX, FetchedPage, Fetcher, as_sent, check, is_to_be_compared, says_nothing,
};
pub use countdown::Countdown;
pub use pattern_verdict::{Blocked, DifferenceReport, PatternVerdict, Verified};
pub use report::{GuardState, Guarded};
pub use synthetic_visitor::plain;
pub use table::{ComparisonTicket, Guard, GuardStep};
