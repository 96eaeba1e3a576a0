//! Asks application servers over FastCGI 1.0, as a web server asks a responder.
//!
//! A request takes a permit for one of the origin's connections, as one over HTTP does, and has its connection to itself: nothing is
//! multiplexed. The application server closes the connection after the answer unless the configuration keeps connections. php-fpm
//! binds a child to each connection, used or not; so none is kept by default, and the number of those that wait for their next
//! request is bounded for the whole process ([`crate::Limits::kept_connections_max`]).
//!
//! An answer has an end mark of its own, END_REQUEST. If the connection closes before it, the answer was cut: that is an error,
//! never the end of a body. If the rest of an answer is not needed, Kasoku closes the connection, by which a program that still
//! prints can notice it (php-fpm and libfcgi ignore the specification's ABORT_REQUEST).
//!
//! What it does not do: GET_VALUES. The operator configures what it would tell (the number of connections, multiplexing), or it
//! is not needed. It is no health check either: FCGI.pm does not answer it, and php-fpm's answer tells nothing of its children. A
//! health check requests a path instead, such as php-fpm's ping.path, which need not be a file below the root.

mod exchange;
mod keeper;
mod records;

pub(crate) use exchange::FastCgi;
pub(crate) use records::Records;
