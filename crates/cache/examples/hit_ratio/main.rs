//! Measures the hit ratio of the memory tier, and of memory and disk together, against S3-FIFO and LRU, and prints the tables of
//! docs/benchmarks.md. Fails where Kasoku is more than two percentage points behind S3-FIFO, or not above LRU.
//!
//! ```text
//! cargo run --release -p kasoku-cache --example hit_ratio [-- --write docs/benchmarks.md]
//! ```
//!
//! With `--write` the tables take the place of what stands between `<!-- hit-ratio -->` and `<!-- /hit-ratio -->`, and between
//! `<!-- hit-ratio-disk -->` and `<!-- /hit-ratio-disk -->`. Nothing here measures time, so the results do not depend on the machine.
//! The disk tier is in the directory for temporary files, and takes 300 MB at most.

#[path = "../../../store/tests/hit_ratio/comparison.rs"]
mod comparison;
#[path = "../../../store/tests/hit_ratio/lru.rs"]
mod lru;
#[path = "../../../store/tests/hit_ratio/ours.rs"]
mod ours;
#[path = "../../../store/tests/hit_ratio/s3_fifo.rs"]
mod s3_fifo;
mod tiers;
#[path = "../../../store/tests/hit_ratio/trace.rs"]
mod trace;

use comparison::{CACHE_PERCENT, Row, compare, hit_ratio_with};
use lru::Lru;
use s3_fifo::S3Fifo;
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use tiers::Tiers;
use trace::Sizes;

/// The exponents of the Zipf traces.
const ALPHAS: [f64; 6] = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2];

/// Requests in each trace; the first quarter is not counted.
const REQUESTS: usize = 1_000_000;

/// The requests of a trace for memory and disk. The larger the exponent, the fewer objects are requested: with two million requests and
/// an exponent of 1.2, the disk would hardly be full at the end.
fn requests_of_tiers(alpha: f64) -> usize {
    if alpha > 1.0 { 10_000_000 } else { 2_000_000 }
}

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
    let of_tiers = compare_tiers(|row| eprintln!("{row}"))?;
    for (name, tables) in [("hit-ratio", tables(&rows)?), ("hit-ratio-disk", table_of_tiers(&of_tiers)?)] {
        match &file {
            Some(file) => write_into(file, name, &tables)?,
            None => print!("{tables}"),
        }
    }
    let bad: Vec<_> = rows.iter().chain(&of_tiers).filter(|row| !row.is_good()).collect();
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
        for rows in rows.chunk_by(|one, other| one.sizes == other.sizes) {
            if rows.first().is_some_and(|row| row.sizes == sizes) {
                write_rows(&mut text, rows)?;
            }
        }
    }
    writeln!(text, "\n{}", worst(rows))?;
    Ok(text)
}

/// Replays traces through the whole cache, with memory alone and with a disk tier as well. Each trace makes one row for both.
fn compare_tiers(mut each: impl FnMut(&Row)) -> Result<Vec<Row>, Box<dyn Error>> {
    let sizes = Sizes::Small;
    let zipfs = ALPHAS.iter().map(|alpha| trace::zipf(*alpha, sizes, requests_of_tiers(*alpha)));
    let mut rows = Vec::new();
    for trace in zipfs.chain([trace::scanned(0.9, 30, sizes, requests_of_tiers(0.9))]) {
        for percent in CACHE_PERCENT {
            let (mut tiers, bytes_max) = Tiers::for_trace(sizes, percent)?;
            let overhead_bytes = tiers.overhead_bytes();
            let row = Row {
                trace: trace.name.clone(),
                sizes,
                percent,
                ours: hit_ratio_with(&trace, overhead_bytes, &mut tiers),
                s3_fifo: hit_ratio_with(&trace, overhead_bytes, &mut S3Fifo::new(bytes_max)),
                lru: hit_ratio_with(&trace, overhead_bytes, &mut Lru::new(bytes_max)),
            };
            each(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn table_of_tiers(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let [small, large] = CACHE_PERCENT;
    let mut text = String::new();
    writeln!(
        text,
        "\n| trace | memory {small} %: LRU | S3-FIFO | Kasoku | and disk {large} %: LRU | S3-FIFO | Kasoku |"
    )?;
    writeln!(text, "|---|--:|--:|--:|--:|--:|--:|")?;
    write_rows(&mut text, rows)?;
    writeln!(text, "\n{}", worst(rows))?;
    Ok(text)
}

fn write_rows(text: &mut String, rows: &[Row]) -> std::fmt::Result {
    for row in rows.chunks(CACHE_PERCENT.len()) {
        write!(text, "| {} |", row.first().map_or("", |row| &row.trace))?;
        for row in row {
            write!(text, " {:.1} | {:.1} | **{:.1}** |", row.lru, row.s3_fifo, row.ours)?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn worst(rows: &[Row]) -> String {
    let behind = rows.iter().map(|row| row.s3_fifo - row.ours).fold(f64::MIN, f64::max);
    let above = rows.iter().map(|row| row.ours - row.lru).fold(f64::MAX, f64::min);
    format!("At worst {behind:.1} percentage points behind S3-FIFO, and at least {above:.1} above LRU.")
}

fn write_into(file: &str, name: &str, tables: &str) -> Result<(), Box<dyn Error>> {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let text = std::fs::read_to_string(file)?;
    let (before, rest) = text.split_once(&begin).ok_or_else(|| format!("{file} has no {begin}"))?;
    let (_, after) = rest.split_once(&end).ok_or_else(|| format!("{file} has no {end}"))?;
    std::fs::write(file, format!("{before}{begin}\n{tables}\n{end}{after}"))?;
    Ok(())
}
