//! Asks origins that are no HTTP servers: programs behind CGI, FastCGI and SCGI (including FastCGI programs that Kasoku starts
//! itself), and the files of a directory.
//!
//! Each kind takes the same [`Request`] and returns the same [`Reply`]: a head and a [`LocalBody`] that comes piece by piece,
//! or a local redirect. [`kasoku_origin`] has what all origins share: the choice among several, permits, health, connections and
//! their pool, the request's body, errors. That crate does not know this one; `engine/src/origin_client` uses both.
//!
//! | file | job |
//! |---|---|
//! | `request`, `upload` | the request, and its body |
//! | `document_root` | from the path of a URL to a file or a script below a directory |
//! | `files` | the files below a directory, and those that an application names |
//! | `gateway`, `meta_variables` | what CGI, FastCGI and SCGI have in common |
//! | `fastcgi`, `scgi` | application servers |
//! | `spawned` | FastCGI programs that Kasoku starts itself |
//! | `cgi` | a program that runs for one request |
//! | `response` | the response |

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
pub use files::{SendfileContext, SendfileName, SendfileTarget, find_named, refused, respond_named, tags_no_content};
pub use gateway::GatewayBody;
use kasoku_options::{OriginEndpoint as Endpoint, OriginLimits as Limits};
pub use request::{ConnectionFacts, Request};
pub use response::{LocalBody, Reply, Response};
