//! The leak guard's verdict on a URL pattern.

use kasoku_semantics::difference::Difference;
use std::sync::Arc;

/// Pages of a pattern are the same for everybody, as far as anybody has looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// On the monotonic clock, in milliseconds.
    pub since_ms: u64,
    /// The account whose cookies are configured got what everybody gets, so it is not logged in any more.
    pub account_is_logged_out: bool,
}

/// Pages of a pattern differ by visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// On the monotonic clock, in milliseconds.
    pub since_ms: u64,
    /// When it is looked at again.
    pub until_ms: u64,
    /// How long it is blocked before that, in milliseconds.
    pub period_ms: u64,
    /// Where the pages differ.
    pub report: DifferenceReport,
}

/// Where two pages differ, and whose the other one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DifferenceReport {
    /// Whether it is the page of the account whose cookies are configured, who would not have passed.
    pub is_of_account: bool,
    /// Some of the places.
    pub differences: Vec<Difference>,
}

/// What is known of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternVerdict {
    /// Nothing, or nothing any more.
    Unknown,
    /// Somebody looks.
    Pending,
    /// Its pages are shared.
    Verified(Verified),
    /// They are not.
    Blocked(Arc<Blocked>),
}
