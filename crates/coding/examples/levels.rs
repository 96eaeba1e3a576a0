//! How long each level takes and how small it gets, for the files that are named.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use kasoku_coding::{CodingLevels, encode};
use kasoku_semantics::coding::Coding;
use std::time::Instant;

fn main() {
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path).unwrap();
        println!("{path}: {} bytes", body.len());
        for (coding, levels) in [(Coding::Gzip, 1..=9), (Coding::Br, 0..=11), (Coding::Zstd, 1..=19)] {
            for level in levels {
                let levels = CodingLevels { gzip: level, br: level, zstd: level };
                let begun = Instant::now();
                let out = encode(coding, levels, body.len() as u64, body.chunks(256 << 10), usize::MAX).unwrap();
                println!(
                    "  {:5} {level:2}  {:8} bytes {:8.2} ms",
                    coding.name(),
                    out.len(),
                    begun.elapsed().as_secs_f64() * 1e3
                );
            }
        }
    }
}
