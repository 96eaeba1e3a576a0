//! The leak guard's verdict on a URL pattern.

use crate::leak_guard::Pending;
use kasoku_semantics::difference::Difference;
use std::sync::Arc;

/// The pages of a pattern are the same for all visitors, by the comparisons so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// On the monotonic clock, in milliseconds.
    pub since_ms: u64,
    /// The account of `guard-cookie` got the anonymous page, so it is not logged in any more.
    pub account_is_logged_out: bool,
}

/// Pages of a pattern differ by visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// On the monotonic clock, in milliseconds.
    pub since_ms: u64,
    /// When its pages are compared again.
    pub until_ms: u64,
    /// How long this block lasts, in milliseconds.
    pub period_ms: u64,
    /// They are shared all the same, by `guard = "warn"`.
    pub is_shared: bool,
    /// Where the pages differ.
    pub report: DifferenceReport,
}

/// Where two pages differ, and whose page the other one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DifferenceReport {
    /// Whether the other page is that of the account of `guard-cookie`, whose request would not have passed.
    pub is_of_account: bool,
    /// Some of the differences.
    pub differences: Vec<Difference>,
}

/// What the guard knows of a pattern.
#[derive(Clone, Debug)]
pub enum PatternVerdict {
    /// The pattern was not compared yet, or its block has ended.
    Unknown,
    /// Its first page is being compared.
    Pending(Arc<Pending>),
    /// The last comparison had no result, or has to be repeated: its pages are not shared for a while.
    Postponed,
    /// The application itself gave the last page a lifetime: the next page is compared if it has none.
    Unneeded,
    /// Its pages are shared.
    Verified(Verified),
    /// Its pages differ by visitor.
    Blocked(Arc<Blocked>),
}
