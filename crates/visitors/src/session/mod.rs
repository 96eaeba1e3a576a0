//! What is known of visitors' sessions.
//!
//! An application that opens a session for everybody knows a member by nothing else: no cookie tells who has logged in. So a request that
//! carries a session passes, until something tells that the session is anonymous: then its visitor gets what everybody gets.

pub mod contents;
mod cookie_activity;
pub mod expired_cookies;
pub mod harmless;
mod identity;
pub mod table;

pub use cookie_activity::CookieIds;
pub use identity::{RequestIdentity, identify};
