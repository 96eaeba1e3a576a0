//! `kasoku disk stat`: sums up what a directory has.

use super::{DirectoryFlags, Outcome, grouped, now_unix_ms, short_time};
use crate::top::format::{binary_bytes, plain};
use kasoku_cache::disk::{DiskContents, DiskResponse, ObjectPlace, Read};
use serde_json::{Value, json};
use std::io::Write;

/// How many responses are tried for one that is neither purged nor damaged.
const TRIES_MAX: usize = 16;

/// The length of the bar, in characters.
const BAR: u64 = 20;

pub(super) fn stat(directory: &DirectoryFlags, is_json: bool, out: &mut impl Write) -> Outcome {
    let (path, limit) = directory.find()?;
    let contents = DiskContents::open(&path, now_unix_ms())?;
    let summary = contents.summary();
    let largest = first(&contents, contents.places(), |place| contents.bytes(place));
    let oldest = first(&contents, contents.places(), |place| u64::MAX - place.stored_seconds());
    let newest = first(&contents, contents.places().rev(), ObjectPlace::stored_seconds);
    let (new, proven, large) = (summary.new_segments, summary.proven_segments, summary.large_segments);
    if is_json {
        let segments = |(count, bytes): (u64, u64)| json!({ "count": count, "bytes": bytes });
        let said = json!({
            "path": path, "format": summary.format, "generation": summary.generation, "objects": summary.objects,
            "used_bytes": summary.used_bytes, "limit_bytes": limit,
            "segments": {
                "new": segments(new), "proven": segments(proven), "large": segments(large),
                "damaged": summary.damaged_segments,
            },
            "unconfirmed": summary.unconfirmed, "losses": summary.losses,
            "largest": example(largest.as_deref()), "oldest": example(oldest.as_deref()), "newest": example(newest.as_deref()),
        });
        writeln!(out, "{said}")?;
        return Ok(true);
    }
    writeln!(out, "directory    {}", plain(&path.display().to_string()))?;
    writeln!(out, "format       {}, generation {}", summary.format, summary.generation)?;
    writeln!(out, "objects      {}", grouped(summary.objects))?;
    match summary.unconfirmed {
        0 => writeln!(out, "unconfirmed  0")?,
        count => writeln!(out, "unconfirmed  {}: the origin must confirm them", grouped(count))?,
    }
    if !summary.losses.is_empty() {
        writeln!(out, "lost         {}", summary.losses.join(", "))?;
    }
    writeln!(out, "used         {}", used(summary.used_bytes, limit))?;
    for (name, (count, bytes)) in [("new", new), ("requested again", proven), ("large responses", large)] {
        writeln!(
            out,
            "  {name:<16} {:>9} in {} {}",
            binary_bytes(bytes as f64),
            grouped(count),
            if count == 1 { "segment" } else { "segments" }
        )?;
    }
    if summary.damaged_segments > 0 {
        writeln!(out, "  damaged         {:>10} segments: see `kasoku disk verify`", summary.damaged_segments)?;
    }
    let ago = |one: &DiskResponse| {
        let seconds = (now_unix_ms().unsigned_abs().saturating_sub(one.object.stored_ms)) / 1000;
        format!("{} ago", short_time(seconds))
    };
    if let Some(one) = &largest {
        writeln!(out, "largest      {:<9} {}", binary_bytes(one.object.body_bytes() as f64), plain(&one.url))?;
    }
    for (name, one) in [("oldest", &oldest), ("newest", &newest)] {
        if let Some(one) = one {
            writeln!(out, "{name:<12} {:<9} {}", ago(one), plain(&one.url))?;
        }
    }
    Ok(true)
}

/// The first response in that order, the greatest first, that is neither purged nor damaged; of the next ones only some are tried.
fn first(
    contents: &DiskContents,
    places: impl Iterator<Item = ObjectPlace>,
    order: impl Fn(&ObjectPlace) -> u64,
) -> Option<Box<DiskResponse>> {
    let mut reader = contents.reader();
    let mut best: Vec<(u64, ObjectPlace)> = Vec::new();
    for place in places {
        let rank = order(&place);
        if best.len() == TRIES_MAX && best.last().is_some_and(|(last, _)| rank <= *last) {
            continue;
        }
        let at = best.partition_point(|(other, _)| *other >= rank);
        best.insert(at, (rank, place));
        best.truncate(TRIES_MAX);
    }
    best.into_iter().find_map(|(_, place)| match contents.read(&mut reader, place) {
        Read::Response(response) => Some(response),
        Read::Form(_) | Read::Purged | Read::Gone | Read::Damaged | Read::Unknown => None,
    })
}

fn example(one: Option<&DiskResponse>) -> Option<Value> {
    one.map(
        |one| json!({ "url": one.url, "body_bytes": one.object.body_bytes(), "stored_unix_ms": one.object.stored_ms }),
    )
}

/// What is used, with a bar where the limit is known.
fn used(bytes: u64, limit: Option<u64>) -> String {
    let shown = binary_bytes(bytes as f64);
    let Some(limit) = limit.filter(|limit| *limit > 0) else { return shown };
    let share = bytes as f64 / limit as f64;
    let full = ((share * BAR as f64).round() as u64).min(BAR) as usize;
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(BAR as usize - full));
    format!("{shown} of {} [{bar}] {:.0} %", binary_bytes(limit as f64), share * 100.0)
}
