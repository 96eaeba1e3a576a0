//! Measures what the leak guard's reading and comparing of a page costs.
//!
//!     cargo run --release -p kasoku-semantics --example looks PAGE.html ...
//!
//! Each page is repeated to 1 MiB, with a number in each repetition. Prints, in milliseconds of CPU time, the median of 21 runs: reading it for its
//! places alone, as each page that is stored, and comparing three looks at it that differ in one number each time.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for the terminal")]

use kasoku_semantics::difference::{AnswerFacts, KnownPieces, Outline, compare};
use kasoku_semantics::time::Now;
use kasoku_wire::{Fields, ResponseHead};

const BYTES: usize = 1 << 20;
const RUNS: usize = 21;
/// The kernel counts CPU time in ticks of some milliseconds, so each time is that of several runs.
const TIMES: usize = 8;
const URI: &str = "http://example.org/page";

fn main() {
    println!("{:>8}  {:>8}  page", "read", "compare");
    for path in std::env::args().skip(1) {
        let text = std::fs::read(&path).expect("a file");
        let looks: Vec<Vec<u8>> = (0..3).map(|look| repeated(&text, look)).collect();
        let fields: Fields = [("Content-Type", "text/html; charset=utf-8")].into_iter().collect();
        let head = ResponseHead { fields, ..ResponseHead::new(http::StatusCode::OK) };
        let now = Now { unix_ms: 1_800_000_000_000, mono_ms: 0 };
        let read = median(|| {
            let page = looks.first().expect("a look");
            let (places, kinds) = Outline::places(&head, page, &AnswerFacts::of(URI, &head, page, now), &[]);
            places.len() + kinds.len()
        });
        let compared = median(|| {
            let (mut known, mut outlines) = (KnownPieces::default(), Vec::new());
            for page in &looks {
                let facts = AnswerFacts::of(URI, &head, page, now);
                outlines.push(Outline::of(&head, page.as_slice(), &facts, &[], &mut known));
            }
            compare(&outlines, false).differences.len()
        });
        println!("{read:>5.1} ms  {compared:>5.1} ms  {path}");
    }
}

/// A page of 1 MiB: the text again and again, with a number.
fn repeated(text: &[u8], look: usize) -> Vec<u8> {
    let mut page = Vec::with_capacity(BYTES + text.len());
    for number in 0.. {
        page.extend_from_slice(text);
        page.extend_from_slice(format!("<p id=\"n{number}\">{number} of {look}</p>\n").as_bytes());
        if page.len() >= BYTES {
            break;
        }
    }
    page
}

/// The median of the CPU time, in milliseconds.
fn median(mut run: impl FnMut() -> usize) -> f64 {
    let mut times: Vec<u64> = (0..RUNS)
        .map(|_| {
            let begun = cpu_ns();
            (0..TIMES).for_each(|_| _ = std::hint::black_box(run()));
            cpu_ns().saturating_sub(begun)
        })
        .collect();
    times.sort_unstable();
    times.get(RUNS / 2).copied().unwrap_or_default() as f64 / 1e6 / TIMES as f64
}

/// The time that this thread was on a processor, in nanoseconds.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number")
}
