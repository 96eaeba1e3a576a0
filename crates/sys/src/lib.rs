//! What the operating system gives: listening sockets ([`listen`]) and connected ones ([`stream`]).
//!
//! The only crate that may hold `unsafe` code; each block says why it is sound.

pub mod listen;
pub mod stream;

pub use stream::Stream;
