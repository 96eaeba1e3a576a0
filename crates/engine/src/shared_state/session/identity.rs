//! The session of a request's sender, and whether it is known to be anonymous.

use crate::shared_state::session::table::SessionStatus;

/// The session of a request's sender, and whether it is known to be anonymous.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestIdentity {
    /// The session that it carries.
    pub(crate) standing: Option<SessionStatus>,
    /// Whether they are known to be nobody.
    pub(crate) is_anonymous: bool,
}
