//! The request to an origin that is a program or a directory of files.

use crate::Limits;
use crate::document_root::OpenFiles;
use kasoku_options::Gateway;
use kasoku_wire::RequestHead;
use std::net::{IpAddr, SocketAddr};

/// A request to an origin of any kind. An origin that speaks HTTP gets only [a part of it](Request::plain).
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// As [`kasoku_origin::Request::head`].
    pub head: &'a RequestHead,
    /// Facts about the client's connection, for programs.
    pub connection: &'a ConnectionFacts,
    /// How URLs map to scripts and files.
    pub gateway: &'a Gateway,
    /// Deadlines and bounds.
    pub limits: &'a Limits,
    /// Files that are open already.
    pub open_files: &'a OpenFiles,
}

impl<'a> Request<'a> {
    /// The part of the request for an origin that speaks HTTP.
    pub fn plain(&self) -> kasoku_origin::Request<'a> {
        kasoku_origin::Request { head: self.head, limits: self.limits }
    }
}

/// What a gateway protocol tells a program about the client's connection, besides the request itself.
///
/// A program can put these values into its answer as easily as a field's value. So where the answer may be shared (profile
/// `safe`), they hold nothing that is not in the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// Whether the client uses TLS, according to the listener or a trusted proxy. The scheme is in the key.
    pub is_https: bool,
    /// The address that the client connected to; `None` where the answer may be shared, and for Unix sockets. (The name and the
    /// port that the client asked for are in Host.)
    pub local: Option<SocketAddr>,
    /// The client's address, from the connection, the PROXY protocol or a trusted proxy (then with port 0); `None` where the
    /// answer may be shared, or where the address is unknown.
    pub remote: Option<SocketAddr>,
    /// The address that the program is told where it may not know the client's: the one in the request's fields. `None`: the program
    /// may know the client's, if there is any.
    pub stand_in: Option<IpAddr>,
    /// For Kasoku's log. The program never gets it.
    pub request_id: String,
}
