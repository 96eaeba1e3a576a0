//! Reports to people what the guard knows of URL patterns.

use crate::leak_guard::{Blocked, DifferenceReport, Guard, PatternVerdict};
use crate::pattern::Pattern;
use kasoku_semantics::difference::Difference;
use std::sync::Arc;

/// What the guard knows of a URL pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// The pattern: `a.org/bbs/board.php?bo_table&wr_id (mobile)`.
    pub pattern: String,
    /// The result of the comparisons.
    pub state: GuardState,
}

/// The result of the comparisons of a URL pattern. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardState {
    /// No page was compared yet, or one is being compared.
    Pending,
    /// Its pages are the same for all visitors.
    Verified {
        /// How long ago that was found.
        seconds_ago: u64,
        /// The account of `guard-cookie` was not logged in any more.
        account_is_logged_out: bool,
        /// A place of some of its pages that holds a token: these pages are not shared.
        token: Option<Difference>,
    },
    /// Its pages differ by visitor.
    Blocked {
        /// How long ago that was found for the first time.
        seconds_ago: u64,
        /// When its pages are compared again.
        again_in_seconds: u64,
        /// They are shared all the same, by `guard = "warn"`.
        is_shared: bool,
        /// Where they differ.
        report: DifferenceReport,
    },
}

impl GuardState {
    /// The name of the state, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Verified { .. } => "verified",
            Self::Blocked { is_shared: true, .. } => "shared",
            Self::Blocked { .. } => "blocked",
        }
    }
}

impl Guard {
    /// What the guard knows of the pattern of a request.
    pub fn shown(&self, pattern: &Pattern, now_ms: u64) -> Guarded {
        let state = match self.verdict(pattern, now_ms) {
            PatternVerdict::Unknown
            | PatternVerdict::Unneeded
            | PatternVerdict::Pending(_)
            | PatternVerdict::Postponed => GuardState::Pending,
            PatternVerdict::Verified(verified) => GuardState::Verified {
                seconds_ago: now_ms.saturating_sub(verified.since_ms) / 1000,
                account_is_logged_out: verified.account_is_logged_out,
                token: self.token(pattern).map(|one| printed(&one)),
            },
            PatternVerdict::Blocked(blocked) => state_of(&blocked, now_ms),
        };
        Guarded { pattern: printable(&pattern.shown), state }
    }

    /// All patterns that are blocked.
    pub fn shown_blocked(&self, now_ms: u64) -> Vec<Guarded> {
        let shown = |(pattern, blocked): (String, Arc<Blocked>)| Guarded {
            pattern: printable(&pattern),
            state: state_of(&blocked, now_ms),
        };
        self.blocked(now_ms).into_iter().map(shown).collect()
    }
}

fn state_of(blocked: &Blocked, now_ms: u64) -> GuardState {
    let differences = blocked.report.differences.iter().map(printed).collect();
    GuardState::Blocked {
        seconds_ago: now_ms.saturating_sub(blocked.since_ms) / 1000,
        again_in_seconds: blocked.until_ms.saturating_sub(now_ms) / 1000,
        is_shared: blocked.is_shared,
        report: DifferenceReport { is_of_account: blocked.report.is_of_account, differences },
    }
}

fn printed(one: &Difference) -> Difference {
    Difference { anonymous: printable(&one.anonymous), visitors: printable(&one.visitors), ..one.clone() }
}

/// Text without control characters, which a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{b7}' } else { letter }).collect()
}
