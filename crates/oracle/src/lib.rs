//! The oracle: mixed traffic through an engine of several workers, and a checker that knows what each byte must be.
//!
//! Each 64 bytes of the origin's pages say which page, visitor, variant, version and length they belong to ([`claim`]). Clients ask
//! for the pages in every way that HTTP knows ([`ask`], [`traffic`]), while versions change by time, by unsafe requests and before
//! purges, the origin fails, clients leave, and the memory tier is far too small. Each response is checked as it comes ([`check`],
//! [`content`]): nothing may be mixed, cut without a sign, given to the wrong visitor, or older than the page's rules allow.
//!
//! In the order of the data:
//!
//! | file | job |
//! |---|---|
//! | [`page`] | what each URL is: caching, Vary, size, framing, all from its number |
//! | [`world`] | what is true: clock, versions, and which versions may not be served any more |
//! | [`claim`] | what a response says it is, and the bytes that prove it |
//! | [`origin`] | the origin, which answers and misbehaves |
//! | [`ask`], [`traffic`], [`stampede`] | the clients, alone and in crowds |
//! | [`got`], [`uncode`], [`coded_tags`] | a response as a client gets it, and the decoding of its content coding |
//! | [`check`], [`content`] | the checker |
//! | [`report`] | counts and mistakes |
//!
//! It deliberately asserts nothing about speed, does not repeat a run exactly (the seed repeats what is asked, not how threads
//! interleave), and knows nothing of the engine's insides.
//!
//! Failing is what this crate is for: it panics where it cannot even begin.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod ask;
pub mod cache_status;
pub mod check;
pub mod claim;
pub mod coded_tags;
pub mod content;
pub mod got;
pub mod governor;
pub mod origin;
pub mod page;
pub mod random;
pub mod ranges;
pub mod report;
pub mod run;
pub mod stampede;
pub mod traffic;
pub mod uncode;
pub mod wire;
pub mod world;
