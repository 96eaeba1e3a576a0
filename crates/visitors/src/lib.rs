//! Which visitors are anonymous, and which pages depend on the visitor.
//!
//! An application that does not know of a shared cache opens a session for everybody, and renders pages of which nobody has said that they
//! are the same for all. This crate decides, without I/O and with the time as an argument: which requests pass because of their sender,
//! which sessions are anonymous, what in a response is one visitor's, and whether a page is the same for two visitors. The engine asks the
//! application, and does what follows.
//!
//! | file | job |
//! |---|---|
//! | [`route_rules`] | what a route says of visitors |
//! | [`passing`] | which requests pass because of their sender: cookies, credentials, sessions |
//! | [`session`] | which sessions are anonymous; which requests can't change that |
//! | [`scan`] | what is looked for in a response before it is shared: values of dropped cookies, texts of pages |
//! | [`pattern`] | which URLs the leak guard looks at together |
//! | [`leak_guard`] | whether the pages of a URL pattern are the same for all visitors |
//! | [`anonymous_cookies`] | the cookies that go along with each anonymous request |
//! | [`cookie_setters`] | in which responses the application sets a cookie: whether it may be noise |
//! | [`counted`] | which visitors the application has counted |
//! | `fact_table` | the bounded table below sessions and counted visitors |

pub mod anonymous_cookies;
pub mod cookie_setters;
pub mod counted;
mod fact_table;
pub mod leak_guard;
pub mod passing;
pub mod pattern;
pub mod route_rules;
pub mod scan;
pub mod session;

use fact_table::{FactId, FactTable};
pub use route_rules::RouteRules;
