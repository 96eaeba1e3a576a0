//! The bodies of the fuzz targets: the properties that must hold for any bytes that an outside party sends.
//!
//! A target is a function of bytes that panics if a property does not hold. The least property is that the code under test does not
//! panic. Most others say that the verdict on a message does not depend on how its bytes arrive, that a parser reads back what
//! Kasoku writes, that a parser takes no more bytes than it was given, or that another, simpler parser comes to the same result.
//! Fuzzing builds have debug assertions and overflow checks, so they find wrong sums as well.
//!
//! The same functions run in two places, so that no change breaks them unnoticed: `fuzz/fuzz_targets` gives them to libFuzzer
//! (`make fuzz`), and `tests/seeds.rs` replays `fuzz/seeds` through them (`make test`).
//!
//! Heads, bodies and PROXY headers are fuzzed as they go over the wire. A target for field values reads its input as lines
//! (`input.rs`), so that seeds can be written by hand and a mutation rarely breaks more than one value.
//!
//! Not covered: I/O, threads and clocks, which scenarios, models and the oracle test; and whether a value was read *right*, which
//! the tests beside each parser check.
//!
//! Targets report failures by panics, hence the allowed lints.
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
mod sealed_item;
mod section;
mod shared_value;
mod targeted_field;
mod url_path;
mod vary;

/// One fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target: that of the file in `fuzz/fuzz_targets`, and of the folder in `fuzz/seeds`.
    pub name: &'static str,
    /// Panics when one of its properties does not hold for these bytes.
    pub run: fn(&[u8]),
}

/// All targets, roughly in the order in which bytes reach the code that they check.
pub const TARGETS: [Target; 25] = [
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
    Target { name: "sealed_item", run: sealed_item::run },
    Target { name: "shared_value", run: shared_value::run },
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
