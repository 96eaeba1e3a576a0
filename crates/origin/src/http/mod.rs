//! HTTP/1.1 towards an origin.
//!
//! [`ConnectionPool::send`] writes a request and waits for the final head; the body is then read piece by piece. A request's
//! body is sent by a task of its own, so that an origin which answers before it has read everything works as well.
//! A connection goes back to the pool only when both directions came to a clean end. The client is our own over the parsers
//! of `kasoku-wire`, so that what a malformed response leads to comes from RFC 9112
//! (docs/decisions/0001-http-origin-client.md).

mod body;
mod connection;
mod exchange;
mod pool;
mod response;
mod upload;
mod upload_task;

pub use body::{ResponseBody, Tunnel};
pub use connection::{OriginConnection, with_deadline};
pub use pool::ConnectionPool;
pub use upload_task::UploadTask;
