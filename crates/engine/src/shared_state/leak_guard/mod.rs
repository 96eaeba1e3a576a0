//! What is known of URL patterns: whether their pages are the same for all visitors.

mod countdown;
mod guarded_patterns;
mod pattern_verdict;
mod table;

pub(crate) use countdown::Countdown;
pub(crate) use pattern_verdict::DifferenceReport;
pub(crate) use pattern_verdict::{Blocked, PatternVerdict};
pub(crate) use table::{ComparisonTicket, Guard, GuardStep};
