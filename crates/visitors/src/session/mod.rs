//! Finds out which visitors' sessions are anonymous.
//!
//! An application that opens a session for every client marks members by nothing else: no cookie tells who has logged in. So a
//! request with a session passes until Kasoku has learned that the session is anonymous. From then on its visitor gets the shared
//! pages.

pub mod contents;
mod cookie_activity;
pub mod expired_cookies;
pub mod harmless;
mod identity;
pub mod table;

pub use cookie_activity::CookieIds;
pub use identity::{RequestIdentity, identify};
