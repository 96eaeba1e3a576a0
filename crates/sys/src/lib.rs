//! What the operating system gives: listening sockets ([`listen`], [`accept`]) and connected ones, to which files go as well ([`stream`]),
//! programs that run for one request ([`process`]), the priority of a [`thread`], and what this process has by now ([`usage`]).
//!
//! The only crate that may hold `unsafe` code; each block says why it is sound.

pub mod accept;
pub mod listen;
pub mod process;
pub mod stream;
pub mod thread;
pub mod usage;

pub use accept::{AcceptedSocket, Acceptor};
pub use stream::{Stream, Unsent};
