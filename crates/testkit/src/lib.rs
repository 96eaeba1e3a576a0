//! Scenario tests: a scripted origin, a raw client, and an engine between them, over real sockets.
//!
//! A test reads as three parts: what the origin will be asked and what it answers ([`script`]), what clients send
//! ([`client`]), and what must come out. Bytes are written as they go over the wire, so a test can say exactly what a
//! well-behaved library would never send.
//!
//! Three rules keep the tests honest:
//!
//! * **Events, not sleeps.** An origin's step waits for a [`Gate`] that the test opens; a test waits for the arrival of a
//!   request ([`Origin::arrived`]). Time that caching sees is a [`SimulatedClock`](kasoku_engine::clock::SimulatedClock).
//! * **Every wait is bounded** by [`WAIT_MAX`], so a hang is a failure with a message.
//! * **The script is complete**: a request that no exchange expects fails the test, and so does an exchange that never
//!   happened.
//!
//! This crate parses messages with code of its own, which shares nothing with the parsers under test. It is no HTTP library: it
//! believes what it reads, apart from the rules that every message of Kasoku must keep (never both Content-Length and
//! Transfer-Encoding, for one).
//!
//! Failing is what this crate is for: it panics wherever an expectation is not met.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod application;
pub mod client;
pub mod fault_proxy;
pub mod folder;
pub mod gate;
pub mod memory;
pub mod message;
pub mod origin;
pub mod scenario;
pub mod script;
pub mod servers;
mod socket;
pub mod stand_in;
pub mod unreachable;

pub use application::{Application, Call, Turn};
pub use client::{Client, Ending, Response};
pub use fault_proxy::{Fault, FaultProxy};
pub use folder::Folder;
pub use gate::Gate;
pub use message::Head;
pub use origin::{Origin, Received};
pub use scenario::{BOTH, Scenario, Setup};
pub use script::{Exchange, get, head, ok, on, post, reply};
pub use stand_in::{has_stand_in, is_stand_in};

use std::time::Duration;

/// How long anything may take before it counts as hanging.
pub const WAIT_MAX: Duration = Duration::from_secs(10);
