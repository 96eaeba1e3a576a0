//! Checks whether the pages of a URL pattern are the same for all visitors.
//!
//! The guard looks at the first page of each pattern as two visitors (`synthetic_visitor`) and compares what they get
//! ([`comparison`]). A page that depends on who asks blocks its pattern ([`table`]). A page with a token is not shared, and each page is
//! read for tokens before it is (`known_places`). Sampled requests repeat the comparison. Nobody waits for it longer than
//! `pending` says. The engine does the fetches, and acts on the verdicts.

pub mod comparison;
mod countdown;
mod guarded_patterns;
mod known_places;
mod pattern_verdict;
mod pending;
mod report;
mod second_page;
mod synthetic_visitor;
pub mod table;

pub use comparison::{
    Comparison, ComparisonResult, FETCH_MAX, FetchedPage, Fetcher, Finding, Read, as_sent, check, check_places,
    is_to_be_compared, places_of, says_nothing,
};
pub use countdown::Countdown;
pub use known_places::PageReview;
pub use pattern_verdict::{Blocked, DifferenceReport, PatternVerdict, Verified};
pub use pending::Pending;
pub use report::{GuardState, Guarded};
pub use synthetic_visitor::{CountryField, LANGUAGES, countries, page_language, plain};
pub use table::{ComparisonTicket, Guard, GuardStep};
