//! Asks memcached servers, by their meta protocol.

pub mod protocol;
