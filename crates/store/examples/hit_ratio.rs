//! Measures the hit ratio of the memory tier against S3-FIFO and LRU, and prints the tables of docs/benchmarks.md. Fails
//! where the tier is more than two percentage points behind S3-FIFO, or not above LRU.
//!
//! ```text
//! cargo run --release -p kasoku-store --example hit_ratio [-- --write docs/benchmarks.md]
//! ```
//!
//! With `--write` the tables take the place of what stands between `<!-- hit-ratio -->` and `<!-- /hit-ratio -->`.
//! Nothing here measures time, so the results do not depend on the machine.

#[path = "../tests/hit_ratio/comparison.rs"]
mod comparison;
#[path = "../tests/hit_ratio/lru.rs"]
mod lru;
#[path = "../tests/hit_ratio/ours.rs"]
mod ours;
#[path = "../tests/hit_ratio/s3_fifo.rs"]
mod s3_fifo;
#[path = "../tests/hit_ratio/trace.rs"]
mod trace;

use comparison::{CACHE_PERCENT, Row, compare};
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use trace::Sizes;

/// The exponents of the Zipf traces.
const ALPHAS: [f64; 6] = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2];

/// Requests in each trace; the first quarter is not counted.
const REQUESTS: usize = 1_000_000;

const BLOCK: [&str; 2] = ["<!-- hit-ratio -->", "<!-- /hit-ratio -->"];

/// A cache by its hits alone.
trait Simulator {
    /// Asks for an object of `bytes` bytes; stores it where it is missing. Returns whether it was there.
    fn request(&mut self, object: u32, bytes: u64) -> bool;
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => None,
        ["--write", file] => Some((*file).to_owned()),
        _ => return Err("usage: hit_ratio [--write FILE]".into()),
    };
    let rows = compare(&ALPHAS, REQUESTS, |row| eprintln!("{row}"));
    let tables = tables(&rows)?;
    match file {
        Some(file) => write_into(&file, &tables)?,
        None => print!("{tables}"),
    }
    let bad: Vec<_> = rows.iter().filter(|row| !row.is_good()).collect();
    bad.iter().for_each(|row| eprintln!("too low: {row}"));
    Ok(if bad.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The tables in Markdown, one for each kind of sizes.
fn tables(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (sizes, heading) in [
        (Sizes::Uniform, "Objects of one size, 4 KiB"),
        (Sizes::Mixed, "Objects of 300 B to 1 MiB, log-normal, median 8 KiB"),
    ] {
        let [small, large] = CACHE_PERCENT;
        writeln!(text, "\n{heading}:\n")?;
        writeln!(text, "| trace | {small} %: LRU | S3-FIFO | Kasoku | {large} %: LRU | S3-FIFO | Kasoku |")?;
        writeln!(text, "|---|--:|--:|--:|--:|--:|--:|")?;
        let rows: Vec<_> = rows.iter().filter(|row| row.sizes == sizes).collect();
        for row in rows.chunks(CACHE_PERCENT.len()) {
            write!(text, "| {} |", row.first().map_or("", |row| &row.trace))?;
            for row in row {
                write!(text, " {:.1} | {:.1} | **{:.1}** |", row.lru, row.s3_fifo, row.ours)?;
            }
            writeln!(text)?;
        }
    }
    let behind = rows.iter().map(|row| row.s3_fifo - row.ours).fold(f64::MIN, f64::max);
    let above = rows.iter().map(|row| row.ours - row.lru).fold(f64::MAX, f64::min);
    writeln!(text, "\nAt worst {behind:.1} percentage points behind S3-FIFO, and at least {above:.1} above LRU.")?;
    Ok(text)
}

fn write_into(file: &str, tables: &str) -> Result<(), Box<dyn Error>> {
    let [begin, end] = BLOCK;
    let text = std::fs::read_to_string(file)?;
    let (before, rest) = text.split_once(begin).ok_or_else(|| format!("{file} has no {begin}"))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| format!("{file} has no {end}"))?;
    std::fs::write(file, format!("{before}{begin}\n{tables}\n{end}{after}"))?;
    Ok(())
}
