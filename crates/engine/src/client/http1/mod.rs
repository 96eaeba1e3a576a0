//! HTTP/1.1, the door that is built in.

pub(crate) mod connection;
mod door;
mod idle;
mod parse;
mod read_ahead;
pub(crate) mod socket;
mod socket_buffer;
mod tunnel;
