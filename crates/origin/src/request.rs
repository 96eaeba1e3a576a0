//! What an origin of any kind is asked with.

use crate::Limits;
use kasoku_wire::RequestHead;

/// A request for an origin.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// As it goes there: the target is path and query, Host is there, the fields frame the body. Where the answer may be shared,
    /// it holds nothing that is not in the key.
    pub head: &'a RequestHead,
    /// Deadlines and bounds.
    pub limits: &'a Limits,
}
