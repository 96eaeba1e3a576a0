//! What the operating system gives: listening sockets ([`listen`], [`accept`]) and connected ones ([`stream`]),
//! and programs that run for one request ([`process`]).
//!
//! The only crate that may hold `unsafe` code; each block says why it is sound.

pub mod accept;
pub mod listen;
pub mod process;
pub mod stream;

pub use accept::{Accepted, Acceptor};
pub use stream::Stream;
