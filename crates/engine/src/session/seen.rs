//! What is known of who sends a request.

use super::table::Standing;

/// What is known of who sends a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The session that it carries.
    pub(crate) standing: Option<Standing>,
    /// Whether they are known to be nobody.
    pub(crate) is_anonymous: bool,
}
