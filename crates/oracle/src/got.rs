//! A response as a client got it.

use crate::cache_status::CacheStatus;
use crate::claim::{Claim, FIELD};
use crate::wire::ResponseHead;

/// A response as a client got it.
#[derive(Clone, Debug)]
pub struct ClientResponse {
    /// Status and fields.
    pub head: ResponseHead,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// Whether the framing says that this is all of it.
    pub is_whole: bool,
    /// Whether the body ended with the connection.
    pub ends_with_connection: bool,
}

impl ClientResponse {
    /// What the response says it is.
    pub fn claim(&self) -> Option<Claim> {
        Claim::parse(self.head.fields.only(FIELD)?)
    }

    /// What the cache says that it did.
    pub fn cache(&self) -> CacheStatus {
        CacheStatus::of(&self.head.fields)
    }
}
