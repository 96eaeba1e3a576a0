//! The HTTP/1.1 client towards origins.
//!
//! [`ConnectionPool::send`] writes a request and waits for the final head; the caller then reads the body piece by piece. A task of its
//! own sends a request's body, so that an origin may answer before it has read the whole body. A connection goes back to the pool only if
//! both directions ended cleanly. The client is Kasoku's own, over the parsers of `kasoku-wire`, so that RFC 9112 decides what a
//! malformed response leads to (docs/decisions/0001-http-origin-client.md).

mod body;
mod connection;
mod exchange;
mod pool;
mod response;
mod upload;
mod upload_task;

pub use body::{ResponseBody, Tunnel};
pub use connection::{ConnectionRoute, OriginConnection, with_deadline};
pub use pool::ConnectionPool;
pub use upload_task::UploadTask;
