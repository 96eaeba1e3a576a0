//! A request on its way to the application for its visitor alone.

use super::table::{Passing, SessionId};
use crate::request::route::Base;
use kasoku_semantics::reason::Reason;

/// A request on its way to the application for its visitor alone, and what is to be done once it has been answered.
pub(crate) struct Ongoing {
    pub(super) passing: Passing,
    /// Why it passes.
    pub(crate) reason: Reason,
    /// The session that it carries, where its rules know one.
    pub(super) asks: Option<Asks>,
    pub(super) is_logout: bool,
}

/// Who is to be asked about a session.
pub(super) struct Asks {
    pub(super) id: SessionId,
    pub(super) base: Base,
    /// Whether the answer has replaced a cookie of the request: who asks with the old one may be taken for a thief.
    pub(super) is_outdated: bool,
}
