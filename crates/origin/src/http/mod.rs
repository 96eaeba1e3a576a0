//! HTTP/1.1 towards an origin.
//!
//! [`Client::send`] writes a request and waits for the final head; the body is then read piece by piece. A request's
//! body is sent by a task of its own, so that an origin which answers before it has read everything works as well.
//! A connection goes back to the pool only when both directions came to a clean end.

mod connection;
mod exchange;
mod pool;
mod response;
mod upload;

pub use exchange::{Interim, NoInterim, is_repeatable};
pub use pool::{Client, Counters};
pub use response::{Piece, Response, ResponseBody, Tunnel};
pub use upload::{NoUpload, Upload, UploadPiece};
