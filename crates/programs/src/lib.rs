//! Origins that are no HTTP servers: programs behind CGI, FastCGI and SCGI, those that are started here among them, and the files
//! of a directory.
//!
//! Each kind is asked with the same [`Request`], and gives back the same [`Reply`]: a head and a [`OriginBody`] that comes piece by piece,
//! or the way to somewhere else. What all origins have in common, and which of several is asked, is
//! [`kasoku_origin`]'s: places, health, connections and their pool, the request's body, errors. That crate knows nothing of
//! this one; who asks origins of all kinds knows both (`engine/src/origin`).
//!
//! | file | job |
//! |---|---|
//! | `request`, `upload` | what is asked, and the request's body |
//! | `document_root` | from the path of a URL to a file or a script below a directory |
//! | `files` | the files below a directory, and those that an application names |
//! | `gateway`, `meta_variables` | what CGI, FastCGI and SCGI have in common |
//! | `fastcgi`, `scgi` | application servers |
//! | `spawned` | FastCGI programs that are started here |
//! | `cgi` | a program that is run for one request |
//! | `response` | what comes of it |

pub mod cgi;
pub mod document_root;
mod fastcgi;
pub mod files;
pub mod gateway;
mod meta_variables;
pub mod request;
pub mod response;
mod scgi;
pub mod spawned;
pub mod upload;

pub use cgi::CgiBody;
pub use document_root::{FileIdentity, OpenFile, OpenFiles, is_shortage};
pub use files::{FileBody, FileParts};
pub use files::{SendfileName, SendfileTarget, Telling, find_named, refused, respond_named, tags_no_content};
pub use gateway::GatewayBody;
use kasoku_options::{OriginEndpoint as Endpoint, OriginLimits as Limits};
pub use request::{Circumstances, Request};
pub use response::{OriginBody, Reply, Response};
