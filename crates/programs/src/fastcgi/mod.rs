//! FastCGI 1.0 towards an application server, as the web server of a responder.
//!
//! A request takes a place among the origin's connections, like one over HTTP, and has its connection for itself: nothing is
//! multiplexed. The application server closes it after the answer, unless the route keeps connections: php-fpm binds a
//! child to each of them, used or not, so none is kept by default, and how many may wait for their next request is bounded for
//! the whole program ([`crate::Limits::kept_connections_max`]).
//!
//! An answer has an end of its own, END_REQUEST. A connection that closes before it has been cut, and is an error, never the end of
//! a body. Where nobody wants the rest of an answer, the connection is closed, which is how a program that goes on
//! printing finds out (the specification's ABORT_REQUEST is ignored by php-fpm and by libfcgi).
//!
//! What it does not do: GET_VALUES. What it would tell (how many connections, whether it multiplexes) is the operator's to say, or
//! not needed; and as a check of health it fails: FCGI.pm does not answer it, php-fpm tells nothing of its children by it. A check
//! asks for a path instead, such as php-fpm's ping.path, which need not be a file below the root.

mod exchange;
mod keeper;
mod records;

pub(crate) use exchange::FastCgi;
pub(crate) use records::Records;
