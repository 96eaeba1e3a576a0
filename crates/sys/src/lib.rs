//! Wraps system calls: listening sockets ([`listen`], [`accept`]), connected sockets, into which files are sent as well ([`stream`]),
//! the timeout for a peer that takes nothing ([`pause`]), what of a file is in memory ([`page_cache`]), reads of files by io_uring
//! ([`read_ring`]), programs ([`process`]), the priority of a [`thread`], and this process's use of the machine ([`usage`]).
//!
//! The only crate that may hold `unsafe` code; each block says why it is sound.

pub mod accept;
pub mod listen;
pub mod page_cache;
pub mod pause;
pub mod process;
pub mod read_ring;
pub mod stream;
pub mod thread;
pub mod usage;

pub use accept::{AcceptedSocket, Acceptor};
pub use stream::{Stream, Unsent};
