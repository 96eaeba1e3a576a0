//! Which visitors are anonymous, and which pages depend on the visitor.
//!
//! Some applications know nothing of shared caches: they open a session for every client, and do not say which pages are the same
//! for all visitors. This crate decides which requests pass because of their sender, which sessions are anonymous, what in a
//! response is one visitor's, and whether a page is the same for two visitors. It does no I/O, and gets the time as an argument.
//! The engine asks the application, and acts on the decisions.
//!
//! | file | job |
//! |---|---|
//! | [`route_rules`] | what a route says of visitors |
//! | [`passing`] | which requests pass because of their sender: cookies, credentials, sessions |
//! | [`session`] | which sessions are anonymous; which requests can't change that |
//! | [`scan`] | searches a response before it is shared: for values of dropped cookies, texts of pages, the address that the request had |
//! | [`pattern`] | groups the URLs that the leak guard judges together |
//! | [`leak_guard`] | whether the pages of a URL pattern are the same for all visitors |
//! | [`soft_errors`] | which answers may be errors although they say 200 |
//! | [`anonymous_cookies`] | the address and the cookies with which an anonymous request is sent |
//! | [`cookie_setters`] | in which responses the application sets a cookie: whether the cookie may be noise |
//! | [`counted`] | which visitors the application has counted |
//! | [`miss_limit`] | how many fetches each client has begun |
//! | `fact_table` | the bounded table that keeps sessions, counted visitors and fetches of clients |

pub mod anonymous_cookies;
pub mod cookie_setters;
pub mod counted;
mod fact_table;
pub mod leak_guard;
pub mod miss_limit;
pub mod passing;
pub mod pattern;
pub mod route_rules;
pub mod scan;
pub mod session;
pub mod soft_errors;

use fact_table::{FactId, FactTable};
pub use route_rules::RouteRules;
