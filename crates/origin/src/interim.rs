//! Interim (1xx) responses on their way to a client.

use kasoku_wire::ResponseHead;

/// Receives interim (1xx) responses.
pub trait Interim {
    /// One arrived. 101 does not come here: it is final.
    fn interim(&mut self, head: ResponseHead) -> impl Future<Output = ()>;
}

/// Nobody.
pub struct NoInterim;

impl Interim for NoInterim {
    async fn interim(&mut self, _: ResponseHead) {}
}
