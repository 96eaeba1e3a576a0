//! Writes the content of an item of the shared tier as text, and reads it: a response, or the fields by which the responses of a URI vary.
//!
//! ```text
//! Kind: response
//! Key: https://example.org/
//! Generation: 0123456789abcdef0123456789abcdef 7
//! …
//!
//! HTTP/1.1 200 OK
//! Content-Type: text/html
//! …
//!
//! <the body, to the end>
//! ```
//!
//! docs/shared-format.md explains each line. The text is for programs in any language, and the parsers of `wire` read it as strictly as what
//! a client or an origin sends. A line that is not known is ignored, so that later versions can add some. A line that is missing, occurs
//! twice or can't be read makes the whole content unusable: nothing is guessed.
//!
//! Reading judges only the form. Whether a response may be used is decided in `usable`, and whether a purge covers it by its generation,
//! elsewhere.

use super::lines::{LINES, Lines, ReadLines, Refused, bytes_of_hex, hash_of_hex, hex};
use crate::tags::{TagHash, Tags};
use crate::{Key, Meta};
use http::{Method, Version};
use kasoku_semantics::freshness::{Freshness, LifetimeSource};
use kasoku_semantics::time::Now;
use kasoku_semantics::validators::is_validator;
use kasoku_shared::purge_log::Generation;
use kasoku_wire::field::cache_control::DELTA_SECONDS_MAX;
use kasoku_wire::field::date;
use kasoku_wire::http1::{BodyLength, HeadLimits, parse_field_lines, parse_response, response_body_length};
use kasoku_wire::{Fields, ResponseHead};
use std::sync::Arc;

/// The longest body, in bytes: what items can hold in chunks.
const BODY_BYTES_MAX: u64 = 1 << 30;
/// The most tags.
const TAGS_MAX: usize = 1024;
/// How far the clock of the front end that received a response may be ahead, in milliseconds.
pub(super) const AHEAD_MS_MAX: i64 = 60_000;
/// The words for the sources of a lifetime. A word that was written must keep its meaning.
const SOURCES: [(LifetimeSource, &str); 12] = [
    (LifetimeSource::Targeted, "targeted"),
    (LifetimeSource::SMaxage, "s-maxage"),
    (LifetimeSource::MaxAge, "max-age"),
    (LifetimeSource::AccelExpires, "x-accel-expires"),
    (LifetimeSource::Expires, "expires"),
    (LifetimeSource::Heuristic, "heuristic"),
    (LifetimeSource::Negative, "negative-ttl"),
    (LifetimeSource::Ttl, "ttl"),
    (LifetimeSource::Override, "ttl-override"),
    (LifetimeSource::Status, "ttl-status"),
    (LifetimeSource::None, "none"),
    (LifetimeSource::SoftError, "soft-error"),
];

/// What the content of an item says.
#[derive(Debug)]
pub(crate) enum Read {
    /// A response.
    Response(Arc<ReadResponse>),
    /// The responses of the URI vary: their names contain the values of these fields.
    Nominated(ReadNominated),
}

/// A response as it was read: of the right form, and not judged yet.
#[derive(Clone, Debug)]
pub(crate) struct ReadResponse {
    /// The URI. It must be the one that was looked up.
    pub(crate) key: String,
    /// The counter of purges of its server, as it was before the origin was asked.
    pub(crate) generation: Generation,
    /// All but the body. The epoch is 0: the caller sets it.
    pub(crate) meta: Meta,
    /// Where the body begins in the content.
    pub(crate) body_begins: usize,
    /// The length of the body. With it, the content must end.
    pub(crate) body_length: u64,
}

impl ReadResponse {
    /// Its freshness by the clocks of this moment. It may have been read at another one.
    pub(crate) fn freshness_at(&self, now: Now) -> Freshness {
        let freshness = self.meta.freshness;
        Freshness { response_time: now.when(freshness.response_time.unix_ms), ..freshness }
    }
}

/// The fields by which the responses of a URI vary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReadNominated {
    /// The URI. It must be the one that was looked up.
    pub(crate) key: String,
    /// The counter of purges of its server, as it was before the origin was asked.
    pub(crate) generation: Generation,
    /// The fingerprint of the rules under which the responses were stored.
    pub(crate) rules: u64,
    /// Lower case, sorted, unique, at least one.
    pub(crate) nominated: Vec<String>,
}

/// The content of an item with this response, up to its body; `None`: it can't be written, since a line of it would be read otherwise, or
/// since it exceeds a limit.
pub(crate) fn write(meta: &Meta, generation: Generation, key: &Key, body_length: u64) -> Option<Vec<u8>> {
    let Meta { head, freshness, nominated, variant, withheld, tags, epoch: _, rules } = meta;
    let mut lines = Lines::of("response", key.uri(), generation)?;
    let seconds = |seconds: u64| seconds.min(DELTA_SECONDS_MAX);
    let (_, source) = SOURCES.iter().find(|(source, _)| *source == freshness.source)?;
    lines.push("Received", freshness.response_time.unix_ms);
    lines.push("Initial-Age", seconds(freshness.initial_age));
    lines.push("Lifetime", seconds(freshness.lifetime));
    lines.push("Lifetime-Source", source);
    lines.push("Stale-While-Revalidate", seconds(freshness.stale_while_revalidate));
    // What the response states also holds while the origin can't be reached, and what the operator grants does not.
    let stale_if_error = if freshness.has_stale_if_error { "Stale-If-Error" } else { "Grace" };
    lines.push(stale_if_error, seconds(freshness.stale_if_error));
    lines.push_flag("Must-Revalidate", freshness.must_revalidate);
    lines.push_flag("No-Cache", freshness.no_cache);
    lines.push("Rules", format_args!("{rules:016x}"));
    if !nominated.is_empty() {
        lines.push_names(nominated)?;
        lines.push("Variant", hex(variant));
    }
    if let Some(tags) = tags {
        lines.push("Tag-Site", format_args!("{:016x}", tags.site));
        if !tags.each.is_empty() {
            let each: Vec<String> = tags.each.iter().map(|tag| format!("{tag:016x}")).collect();
            lines.push("Tags", each.join(","));
        }
        lines.push_flag("Tags-Unknown", tags.has_unknown);
    }
    lines.push_flag("Own-Tag", withheld.is_some());
    for (name, value) in withheld.iter().flat_map(|fields| fields.iter()) {
        lines.push_field("Withheld", name, value);
    }
    lines.push("Body-Length", body_length);
    let is_within = variant.is_empty() == nominated.is_empty()
        && tags.as_ref().is_none_or(|tags| tags.each.len() <= TAGS_MAX)
        && body_length <= BODY_BYTES_MAX;
    let mut content = lines.end().filter(|_| is_within)?;
    let begins = content.len();
    let version: &[u8] = if head.version == Version::HTTP_10 { b"HTTP/1.0 " } else { b"HTTP/1.1 " };
    for piece in [version, head.status.as_str().as_bytes(), b" ", &head.reason, b"\r\n", head.fields.block(), b"\r\n"] {
        content.extend_from_slice(piece);
    }
    // The head was made of one that was parsed, perhaps under wider limits than these. What would be read otherwise is not written.
    let (again, used) = parse_response(content.get(begins..)?, &HeadLimits::default()).ok()??;
    let is_read_alike = again == *head && begins + used == content.len();
    (is_read_alike && is_of_length(head, body_length) && has_date(head)).then_some(content)
}

/// The content of an item that says by which fields the responses of a URI vary; `None`: it can't be written.
pub(crate) fn write_nominated(nominated: &[String], rules: u64, generation: Generation, key: &Key) -> Option<Vec<u8>> {
    let mut lines = Lines::of("fields", key.uri(), generation)?;
    lines.push("Rules", format_args!("{rules:016x}"));
    lines.push_names(nominated)?;
    lines.end()
}

/// Reads a content, of which the body may be missing.
pub(crate) fn read(content: &[u8], now: Now) -> Result<Read, Refused> {
    let (lines, used) = ReadLines::read(content)?;
    let rest = content.get(used..).unwrap_or_default();
    match lines.necessary("Kind")? {
        b"response" => {
            let (head, head_bytes) =
                parse_response(rest, &HeadLimits::default()).map_err(Refused::Head)?.ok_or(Refused::Cut)?;
            response(&lines, head, used + head_bytes, now).map(|read| Read::Response(Arc::new(read)))
        }
        b"fields" if rest.is_empty() => nominated_fields(&lines).map(Read::Nominated),
        b"fields" => Err(Refused::Length),
        _ => Err(Refused::Value("Kind")),
    }
}

/// Whether the head frames a body of that length, by the field that a stored head always has.
fn is_of_length(head: &ResponseHead, body_length: u64) -> bool {
    match response_body_length(head, &Method::GET) {
        Ok(BodyLength::Length(length)) => length == body_length,
        Ok(BodyLength::None) => body_length == 0,
        Ok(BodyLength::Chunked | BodyLength::UntilClose) | Err(_) => false,
    }
}

/// Whether the head has the field from which clients compute the response's age. A stored head always has it.
fn has_date(head: &ResponseHead) -> bool {
    // The present matters only for years of two digits.
    head.fields.only("date").is_some_and(|value| date::parse(value, 0).is_some())
}

fn response(lines: &ReadLines, head: ResponseHead, body_begins: usize, now: Now) -> Result<ReadResponse, Refused> {
    let body_length = lines.number("Body-Length", BODY_BYTES_MAX)?;
    if !is_of_length(&head, body_length) {
        return Err(Refused::Length);
    }
    if !has_date(&head) {
        return Err(Refused::Date);
    }
    let (nominated, variant) = match (lines.names()?, lines.optional("Variant")?) {
        (Some(nominated), Some(digits)) => (nominated, bytes_of_hex(digits).ok_or(Refused::Value("Variant"))?),
        (None, None) => (Vec::new(), Vec::new()),
        (Some(_), None) => return Err(Refused::Missing("Variant")),
        (None, Some(_)) => return Err(Refused::Missing("Vary-On")),
    };
    let meta = Meta {
        head,
        freshness: freshness(lines, now)?,
        nominated,
        variant,
        withheld: withheld(lines)?,
        tags: tags(lines)?.map(Arc::new),
        epoch: 0,
        rules: lines.hash("Rules")?,
    };
    let generation = lines.generation()?;
    Ok(ReadResponse { key: lines.key()?, generation, meta, body_begins, body_length })
}

fn nominated_fields(lines: &ReadLines) -> Result<ReadNominated, Refused> {
    Ok(ReadNominated {
        key: lines.key()?,
        generation: lines.generation()?,
        rules: lines.hash("Rules")?,
        nominated: lines.names()?.ok_or(Refused::Missing("Vary-On"))?,
    })
}

fn freshness(lines: &ReadLines, now: Now) -> Result<Freshness, Refused> {
    let received = lines.number("Received", i64::MAX as u64)?;
    let received = i64::try_from(received).map_err(|_| Refused::Value("Received"))?;
    if received > now.unix_ms.saturating_add(AHEAD_MS_MAX) {
        return Err(Refused::Future);
    }
    let word = lines.necessary("Lifetime-Source")?;
    let source = SOURCES.iter().find(|(_, one)| one.as_bytes() == word);
    let (stale_if_error, has_stale_if_error) = match (lines.optional("Stale-If-Error")?, lines.optional("Grace")?) {
        (Some(_), Some(_)) => return Err(Refused::Value("Grace")),
        (Some(_), None) => (seconds(lines, "Stale-If-Error")?, true),
        (None, Some(_)) => (seconds(lines, "Grace")?, false),
        (None, None) => (0, false),
    };
    Ok(Freshness {
        response_time: now.when(received),
        initial_age: seconds(lines, "Initial-Age")?,
        lifetime: seconds(lines, "Lifetime")?,
        source: source.map(|(source, _)| *source).ok_or(Refused::Value("Lifetime-Source"))?,
        stale_while_revalidate: match lines.optional("Stale-While-Revalidate")? {
            Some(_) => seconds(lines, "Stale-While-Revalidate")?,
            None => 0,
        },
        stale_if_error,
        has_stale_if_error,
        no_cache: lines.flag("No-Cache")?,
        must_revalidate: lines.flag("Must-Revalidate")?,
    })
}

fn withheld(lines: &ReadLines) -> Result<Option<Box<Fields>>, Refused> {
    let mut withheld = Fields::new();
    for value in lines.all("Withheld") {
        let line = [value, b"\r\n\r\n"].concat();
        let (fields, _) = parse_field_lines(&line, &LINES).ok().flatten().ok_or(Refused::Value("Withheld"))?;
        if !fields.iter().all(|(name, _)| is_validator(name)) || fields.len() != 1 {
            return Err(Refused::Value("Withheld"));
        }
        withheld.extend(&fields);
    }
    match lines.flag("Own-Tag")? {
        true => Ok(Some(Box::new(withheld))),
        false if withheld.is_empty() => Ok(None),
        false => Err(Refused::Missing("Own-Tag")),
    }
}

fn tags(lines: &ReadLines) -> Result<Option<Tags>, Refused> {
    let (each, has_unknown) = (lines.optional("Tags")?, lines.flag("Tags-Unknown")?);
    if lines.optional("Tag-Site")?.is_none() {
        return if each.is_none() && !has_unknown { Ok(None) } else { Err(Refused::Missing("Tag-Site")) };
    }
    let each: Option<Vec<TagHash>> = each.map_or(Some(Vec::new()), |each| {
        each.split(|byte| *byte == b',').take(TAGS_MAX + 1).map(hash_of_hex).collect()
    });
    let each = each.filter(|each| each.len() <= TAGS_MAX).ok_or(Refused::Value("Tags"))?;
    Ok(Some(Tags::of_hashes(lines.hash("Tag-Site")?, each.into(), has_unknown)))
}

fn seconds(lines: &ReadLines, name: &'static str) -> Result<u64, Refused> {
    lines.number(name, DELTA_SECONDS_MAX)
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
