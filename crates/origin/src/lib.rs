//! Asks an origin, and gives back a head and a stream of body chunks.
//!
//! An [`Address`] says which kind of origin it is; a [`Client`] asks each kind in its way, with the same [`Request`], and
//! gives back the same [`Response`]. Connections belong to one worker: they are neither `Send` nor shared. What the process
//! shares is what it knows of an origin ([`directory`]): whether it should be asked ([`health`]), and how many connections to it
//! are in use. Which origin of several is asked says a [`group`].
//!
//! | file | job |
//! |---|---|
//! | `address`, `request`, `upload` | who is asked, and with what |
//! | `document_root` | from the path of a URL to a file or a script below a directory |
//! | `rewrite` | from a short address to the script that it stands for |
//! | `client` | one worker's side: asks in the way that the kind wants |
//! | `files` | the files below a directory, and those that an application names |
//! | `http` | HTTP/1.1 over TCP or a Unix socket |
//! | `gateway`, `meta_variables` | what CGI, FastCGI and SCGI have in common |
//! | `fastcgi`, `scgi` | application servers |
//! | `spawned` | FastCGI programs that are started here |
//! | `cgi` | a program that is run for one request |
//! | `response`, `piece`, `interim`, `error` | what comes of it |
//! | `group`, `directory`, `health`, `places`, `limits` | which of several, whether it is down, how many at a time |

mod cgi;
pub mod client;
pub mod counters;
pub mod directory;
pub mod document_root;
pub mod error;
mod fastcgi;
mod files;
mod gateway;
pub mod group;
pub mod health;
mod http;
pub mod interim;
pub mod limits;
mod meta_variables;
pub mod piece;
mod places;
pub mod request;
pub mod response;
mod scgi;
mod spawned;
pub mod upload;

pub use client::Client;
pub use directory::{Directory, OriginNumbers, OriginState};
pub use document_root::{FileIdentity, OpenFile, OpenFiles, is_shortage};
pub use error::Error;
pub use files::{FileBody, FileParts};
pub use files::{Named, NamedFile, Telling, find_named, refused, respond_named, tags_no_content};
pub use group::Group;
pub use http::Tunnel;
pub use interim::{Interim, NoInterim};
use kasoku_options::{OriginAddress as Address, OriginEndpoint as Endpoint, OriginLimits as Limits};
pub use piece::Piece;
pub use request::{Circumstances, Request};
pub use response::{Body, Reply, Response};
pub use upload::{NoUpload, Upload, UploadPiece};
