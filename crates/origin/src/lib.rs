//! Asks origins over HTTP, and holds what all kinds of origins share: which origin of several to ask, health, limits of connections.
//!
//! An [`Address`] says which kind an origin is. [`http`] asks the origins that are HTTP servers. Other crates ask the other kinds
//! (`kasoku-programs`), with the [`Connection`](http::OriginConnection)s, [`Upload`]s and [`Error`]s that all kinds have in common. A
//! connection belongs to one worker: it is neither `Send` nor shared. The process shares what it knows of an origin ([`registry`]):
//! whether to ask it ([`health`]), and how many connections to it are in use. A [`group`] decides which of several origins is asked.
//!
//! | file | job |
//! |---|---|
//! | `request`, `upload` | the request for an origin, and its body |
//! | `http` | HTTP/1.1 over TCP or a Unix socket |
//! | `response`, `piece`, `interim`, `error` | the result: a response, or why there is none |
//! | `names` | the addresses of origins' names, which change |
//! | `group`, `registry`, `health`, `permits`, `limits` | which of several origins to ask, which are down, how many connections at a time |
//! | `counters` | counts of one worker's requests and connections |

pub mod counters;
pub mod error;
pub mod group;
pub mod health;
pub mod http;
pub mod interim;
pub mod limits;
pub mod names;
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
