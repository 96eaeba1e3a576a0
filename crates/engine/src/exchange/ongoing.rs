//! A request that has passed to the application with its visitor's session and has not been answered yet.

use crate::request::route::Base;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::session::table::{PassingRequest, SessionId};

/// A request on its way to the application for its visitor alone, and what is to be done once it has been answered.
pub(crate) struct Ongoing {
    pub(crate) passing: PassingRequest,
    /// Why it passes.
    pub(crate) reason: Reason,
    /// The session that it carries, where the rules of its route know one.
    pub(crate) asks: Option<Asks>,
    pub(crate) is_logout: bool,
}

/// The session that is to be probed.
pub(crate) struct Asks {
    pub(crate) id: SessionId,
    pub(crate) base: Base,
    /// Whether the answer has replaced a cookie of the request. The application might take a probe with the old cookie for a thief's.
    pub(crate) is_outdated: bool,
}
