//! Receives interim (1xx) responses of an origin, on their way to a client.

use kasoku_wire::ResponseHead;

/// A receiver of interim (1xx) responses.
pub trait Interim {
    /// An interim response arrived. A 101 does not come here: it is final.
    fn interim(&mut self, head: ResponseHead) -> impl Future<Output = ()>;
}

/// Ignores interim responses.
pub struct NoInterim;

impl Interim for NoInterim {
    async fn interim(&mut self, _: ResponseHead) {}
}
