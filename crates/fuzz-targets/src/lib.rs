//! The bodies of the fuzz targets: what must hold for any bytes that an outside party sends.
//!
//! A target is a function of bytes that panics where a property does not hold. "It does not panic" is the least of them:
//! most properties say that a message is judged the same however its bytes arrive, that what we write is read as it was
//! meant, that no more is taken than was given, or that another, simpler reader comes to the same end. Fuzzing
//! builds have debug assertions and overflow checks, so a wrong sum is found as well.
//!
//! The same functions run in two places, so that they cannot rot: `fuzz/fuzz_targets` gives them to libFuzzer
//! (`make fuzz`), and `tests/seeds.rs` replays `fuzz/seeds` through them (`make test`).
//!
//! Heads, bodies and PROXY headers are fuzzed as they go over the wire. A target for field values reads its input as
//! lines (`input.rs`), so that seeds can be written by hand and a mutation rarely breaks more than one value.
//!
//! What it does not do: no I/O, no threads, no clock; those have scenarios, models and the oracle. It does not say
//! whether a value was read *right*: that is for the tests beside each parser.
//!
//! Failing is what this crate is for: it panics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod age;
mod arrival;
mod cache_control;
mod cgi_head;
mod chunked_body;
mod configuration;
mod content_range;
mod date;
mod difference;
mod entity_tag;
mod exchange;
mod fastcgi_records;
mod form;
mod input;
mod links;
mod list;
mod proxy_protocol;
mod range;
mod request_head;
mod request_target;
mod response_head;
mod rewrite;
mod section;
mod targeted_field;
mod url_path;
mod vary;

/// One fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of the file in `fuzz/fuzz_targets`, and of the folder in `fuzz/seeds`.
    pub name: &'static str,
    /// Panics when one of its properties does not hold for these bytes.
    pub run: fn(&[u8]),
}

/// All of them, in the order in which bytes meet what they check.
pub const TARGETS: [Target; 23] = [
    Target { name: "proxy_protocol", run: proxy_protocol::run },
    Target { name: "request_head", run: request_head::run },
    Target { name: "request_target", run: request_target::run },
    Target { name: "url_path", run: url_path::run },
    Target { name: "rewrite", run: rewrite::run },
    Target { name: "response_head", run: response_head::run },
    Target { name: "chunked_body", run: chunked_body::run },
    Target { name: "form", run: form::run },
    Target { name: "fastcgi_records", run: fastcgi_records::run },
    Target { name: "cgi_head", run: cgi_head::run },
    Target { name: "links", run: links::run },
    Target { name: "list", run: list::run },
    Target { name: "cache_control", run: cache_control::run },
    Target { name: "targeted_field", run: targeted_field::run },
    Target { name: "age", run: age::run },
    Target { name: "date", run: date::run },
    Target { name: "vary", run: vary::run },
    Target { name: "entity_tag", run: entity_tag::run },
    Target { name: "range", run: range::run },
    Target { name: "content_range", run: content_range::run },
    Target { name: "exchange", run: exchange::run },
    Target { name: "difference", run: difference::run },
    Target { name: "configuration", run: configuration::run },
];

/// Runs the target of that name.
///
/// # Panics
/// When one of its properties does not hold for `data`, or when there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a fuzz target of that name");
    (target.run)(data);
}
