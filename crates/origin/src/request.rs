//! A request for an origin of any kind.

use crate::Limits;
use kasoku_wire::RequestHead;

/// A request for an origin.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The head for the origin: the target is path and query, Host is present, the fields frame the body. Where the answer may be shared,
    /// it holds nothing that is not in the key.
    pub head: &'a RequestHead,
    /// Deadlines and bounds.
    pub limits: &'a Limits,
}
