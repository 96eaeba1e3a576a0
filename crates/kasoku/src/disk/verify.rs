//! `kasoku disk verify`: reads all responses and compares their checksums.

use super::{DirectoryFlags, Outcome, grouped};
use crate::top::format::{binary_bytes, plain};
use kasoku_cache::disk::{InspectedObject, ObjectReader, Read};
use serde_json::json;
use std::io::Write;

/// The most damaged responses that are named.
const NAMED_MAX: usize = 100;

pub(super) fn verify(directory: &DirectoryFlags, is_json: bool, out: &mut impl Write) -> Outcome {
    let contents = directory.open()?;
    let mut reader = contents.reader();
    let (mut good, mut bytes, mut purged, mut gone, mut unknown) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let (mut damaged, mut named) = (0_u64, Vec::new());
    let mut harm = |file: String, offset: u64, url: Option<String>| {
        damaged += 1;
        if named.len() < NAMED_MAX {
            named.push((file, offset, url));
        }
    };
    for place in contents.places() {
        let file = || format!("segments/{}", place.segment());
        let mut check = |reader: &mut ObjectReader<'_>, object: &InspectedObject| {
            if reader.chunks(object).all(|(_, bytes)| bytes.is_some()) {
                good += 1;
                bytes += object.body_bytes();
            } else {
                harm(file(), place.offset(), String::from_utf8(object.key.to_vec()).ok());
            }
        };
        match contents.read(&mut reader, place) {
            Read::Response(response) => check(&mut reader, &response.object),
            Read::Form(object) => check(&mut reader, &object),
            Read::Damaged => harm(file(), place.offset(), None),
            Read::Purged => purged += 1,
            Read::Gone => gone += 1,
            Read::Unknown => unknown += 1,
        }
    }
    let summary = contents.summary();
    let is_good = damaged == 0 && summary.damaged_segments == 0 && summary.losses.is_empty();
    if is_json {
        let named = named.iter().map(|(file, offset, url)| json!({ "file": file, "offset": offset, "url": url }));
        let said = json!({
            "good": good, "good_body_bytes": bytes, "damaged": damaged, "purged": purged, "removed": gone, "unknown": unknown,
            "damaged_segments": summary.damaged_segments, "losses": summary.losses, "damage": named.collect::<Vec<_>>(),
        });
        writeln!(out, "{said}")?;
        return Ok(is_good);
    }
    writeln!(out, "good        {} ({} of bodies)", grouped(good), binary_bytes(bytes as f64))?;
    writeln!(out, "damaged     {}", grouped(damaged))?;
    for (file, offset, url) in &named {
        let url = url.as_deref().map_or_else(|| "its head is damaged, so its URL is not known".to_owned(), plain);
        writeln!(out, "            {file} at {offset}: {url}")?;
    }
    if damaged > named.len() as u64 {
        writeln!(out, "            and {} more", grouped(damaged - named.len() as u64))?;
    }
    if purged > 0 {
        writeln!(out, "purged      {} (they make room when they are evicted)", grouped(purged))?;
    }
    if gone > 0 {
        writeln!(out, "removed     {} (evicted meanwhile)", grouped(gone))?;
    }
    if unknown > 0 {
        writeln!(out, "unknown     {} (written by another edition)", grouped(unknown))?;
    }
    if summary.damaged_segments > 0 {
        writeln!(out, "segments    {} damaged at their beginning", summary.damaged_segments)?;
    }
    if !summary.losses.is_empty() {
        writeln!(out, "lost        {}: the origin must confirm each response", summary.losses.join(", "))?;
    }
    Ok(is_good)
}
