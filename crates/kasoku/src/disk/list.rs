//! `kasoku disk list`: the stored responses, one a line.

use super::{DirectoryFlags, DiskError, Outcome, short_time};
use crate::top::format::{binary_bytes, plain};
use clap::Args;
use http::StatusCode;
use kasoku_cache::disk::{DiskResponse, Read};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};

/// The width of the column of the media type. What is longer is cut.
const MEDIA_BYTES_MAX: usize = 16;

/// The arguments of `kasoku disk list`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ListFlags {
    #[command(flatten)]
    directory: DirectoryFlags,
    /// Only URLs that begin like this
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    prefix: String,
    /// At most so many
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// Write JSON: one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn list(flags: &ListFlags, out: &mut impl Write) -> Outcome {
    let contents = flags.directory.open()?;
    let mut reader = contents.reader();
    if !flags.json && std::io::stdout().is_terminal() {
        writeln!(out, "{:>6} {:>8} {:>5} {:>7} {:>4} {:<16} URL", "status", "size", "age", "left", "hits", "type")?;
    }
    let (mut listed, mut damaged, limit) = (0, 0_u64, flags.limit.unwrap_or(usize::MAX));
    for place in contents.places() {
        if listed == limit {
            break;
        }
        match contents.read(&mut reader, place) {
            Read::Response(response) if response.url.starts_with(&flags.prefix) => {
                listed += 1;
                let line = if flags.json { as_json(&response).to_string() } else { line(&response) };
                writeln!(out, "{line}")?;
            }
            Read::Damaged => damaged += 1,
            Read::Response(_) | Read::Form(_) | Read::Purged | Read::Gone | Read::Unknown => {}
        }
    }
    out.flush()?;
    if damaged > 0 {
        return Err(DiskError::Told(format!("{damaged} damaged responses are not listed: see `kasoku disk verify`")));
    }
    Ok(true)
}

fn line(response: &DiskResponse) -> String {
    let left = match response.remaining() {
        _ if response.object.is_unconfirmed || response.must_be_confirmed() => "confirm".to_owned(),
        left if left > 0 => short_time(left.unsigned_abs()),
        _ => "stale".to_owned(),
    };
    let media = media_type(response).unwrap_or_default();
    let media = plain(media.split(';').next().unwrap_or_default().trim());
    // `application/` says nothing that the rest does not say.
    let mut media = media.strip_prefix("application/").unwrap_or(&media).to_owned();
    if media.len() > MEDIA_BYTES_MAX {
        media.truncate(MEDIA_BYTES_MAX - 1);
        media.push('~');
    }
    // As a request for what is stored would be answered.
    let status = if response.is_complete() { response.head.status } else { StatusCode::PARTIAL_CONTENT };
    format!(
        "{:>6} {:>8} {:>5} {:>7} {:>4} {:<16} {}",
        status.as_u16(),
        binary_bytes(response.object.body_bytes() as f64),
        short_time(response.age()),
        left,
        response.object.hits,
        if media.is_empty() { "-" } else { &media },
        plain(&response.url),
    )
}

fn as_json(response: &DiskResponse) -> Value {
    json!({
        "url": response.url,
        "status": response.head.status.as_u16(),
        "content_type": media_type(response),
        "body_bytes": response.object.body_bytes(),
        "complete_length": response.complete_length,
        "is_complete": response.is_complete(),
        "varies_by": response.nominated,
        "stored_unix_ms": response.object.stored_ms,
        "age": response.age(),
        "fresh_for": response.remaining(),
        "must_be_confirmed": response.must_be_confirmed(),
        "is_unconfirmed": response.object.is_unconfirmed,
        "hits": response.object.hits,
    })
}

fn media_type(response: &DiskResponse) -> Option<String> {
    response.head.fields.first("content-type").map(|value| String::from_utf8_lossy(value).into_owned())
}
