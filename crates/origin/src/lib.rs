//! Asks an origin over HTTP, and knows of origins of any kind which to ask: pool, exchange, health, places.
//!
//! An [`Address`] says which kind of origin it is. [`http`] is for those that are servers of HTTP; other crates ask the other kinds
//! (`kasoku-programs`), on the [`Connection`](http::OriginConnection)s, with the [`Upload`]s and [`Error`]s that all have in common. Connections belong to
//! one worker: they are neither `Send` nor shared. What the process shares is what it knows of an origin ([`registry`]): whether
//! it should be asked ([`health`]), and how many connections to it are in use. Which origin of several is asked says a [`group`].
//!
//! | file | job |
//! |---|---|
//! | `request`, `upload` | what an origin is asked, and the request's body |
//! | `http` | HTTP/1.1 over TCP or a Unix socket |
//! | `response`, `piece`, `interim`, `error` | what comes of it |
//! | `group`, `registry`, `health`, `permits`, `limits` | which of several, whether it is down, how many at a time |
//! | `counters` | what one worker has done so far |

pub mod counters;
pub mod error;
pub mod group;
pub mod health;
pub mod http;
pub mod interim;
pub mod limits;
pub mod permits;
pub mod piece;
pub mod registry;
pub mod request;
pub mod response;
pub mod upload;

pub use error::Error;
pub use group::Group;
pub use http::Tunnel;
pub use interim::{Interim, NoInterim};
use kasoku_options::{OriginAddress as Address, OriginEndpoint as Endpoint, OriginLimits as Limits};
pub use piece::BodyPiece;
pub use registry::{OriginNumbers, OriginRegistry, OriginState};
pub use request::Request;
pub use response::Response;
pub use upload::{NoUpload, Upload, UploadPiece};
