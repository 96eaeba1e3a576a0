//! What a program or a directory of files is asked with.

use crate::Limits;
use crate::document_root::OpenFiles;
use kasoku_options::Gateway;
use kasoku_wire::RequestHead;
use std::net::SocketAddr;

/// A request for an origin of any kind: to one that speaks HTTP goes [a part of it](Request::plain).
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// As [`kasoku_origin::Request::head`].
    pub head: &'a RequestHead,
    /// What else a program may be told.
    pub circumstances: &'a Circumstances,
    /// How the route's URLs become scripts and files.
    pub gateway: &'a Gateway,
    /// Deadlines and bounds.
    pub limits: &'a Limits,
    /// Files that are open already.
    pub open_files: &'a OpenFiles,
}

impl<'a> Request<'a> {
    /// What of it an origin gets that is neither a program nor files.
    pub fn plain(&self) -> kasoku_origin::Request<'a> {
        kasoku_origin::Request { head: self.head, limits: self.limits }
    }
}

/// What a gateway protocol tells a program besides the request itself.
///
/// It becomes a part of the answer as easily as a field, so where the answer may be shared (profile safe) it tells no more
/// than the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Whether the client's side is encrypted, as the listener or a trusted proxy says. It is in the key.
    pub is_https: bool,
    /// Where the client has reached us; `None` where the answer may be shared, or for Unix sockets. (Name and port that the
    /// client has asked for are in Host.)
    pub local: Option<SocketAddr>,
    /// The client, as the connection, the PROXY protocol or a trusted proxy says (then with port 0); `None` where the answer
    /// may be shared, or where nobody knows.
    pub remote: Option<SocketAddr>,
    /// For our own log. It is never told to the program.
    pub request_id: String,
}
