//! Checks the bytes of a response against the claim in its head: a whole page, a part, several parts, or none.

use crate::ask::ClientRequest;
use crate::claim::Claim;
use crate::coded_tags::coded_tags;
use crate::got::ClientResponse;
use crate::page::{Framing, Validator};
use crate::ranges::{resolve, union};

/// `Err` says what is wrong.
pub fn check(ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    let is_whole_page = match ask.method {
        "GET" => true,
        "HEAD" => return head_only(ask, got, claim),
        _ => got.head.status == 200 && got.head.fields.has("content-location"),
    };
    match got.head.status {
        200 if is_whole_page => {
            claim.of.matches(0, &got.body)?;
            let length = got.body.len() as u64;
            if got.is_whole && length != claim.of.length {
                return Err(format!("wrong length: {length} bytes look whole, but it has {}", claim.of.length));
            }
            announced(got, claim.of.length)
        }
        206 => part(ask, got, claim),
        304 => not_modified(ask, got, claim),
        416 => unsatisfiable(ask, got),
        500 | 503 if got.cache().hit => Err("an error from the cache".to_owned()),
        200 | 201 | 204 | 500 | 503 if got.body.is_empty() => Ok(()),
        status => Err(format!("status {status} with {} bytes", got.body.len())),
    }
}

fn head_only(ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    match got.head.status {
        200 if ask.page.framing == Framing::Length => announced(got, claim.of.length),
        200 | 500 | 503 => Ok(()),
        304 => not_modified(ask, got, claim),
        status => Err(format!("status {status} to HEAD")),
    }
}

/// Checks Content-Length, if there is one.
fn announced(got: &ClientResponse, length: u64) -> Result<(), String> {
    match got.head.fields.only("content-length") {
        Some(said) if said != length.to_string() => Err(format!("wrong length: Content-Length {said}, not {length}")),
        _ => Ok(()),
    }
}

/// The client must have asked with a validator of the very version that the 304 tells it to keep.
fn not_modified(ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    if !got.body.is_empty() {
        return Err("304 with a body".to_owned());
    }
    let modified = ask.page.last_modified(claim.of.version);
    let holds = match ask.tags.is_empty() {
        false => {
            let has = |tag: &String| ask.tags.contains(tag);
            has(&claim.of.etag()) || (ask.takes_gzip && coded_tags(&claim.of.etag()).any(|tag| has(&tag)))
        }
        true => matches!((ask.since, modified), (Some(since), Some(modified)) if modified <= since),
    };
    if holds { Ok(()) } else { Err("304, but the client has another version".to_owned()) }
}

fn part(ask: &ClientRequest<'_>, got: &ClientResponse, claim: &Claim) -> Result<(), String> {
    if ask.ranges.is_empty() {
        return Err("206 to a request without Range".to_owned());
    }
    let modified = ask.page.last_modified(claim.of.version).map(crate::origin::date);
    let is_strong = ask.page.validator != Validator::Weak;
    match &ask.if_range {
        Some(tag) if tag.starts_with('"') && !(is_strong && *tag == claim.of.etag()) => {
            return Err("206, but If-Range names another representation".to_owned());
        }
        Some(date) if !date.starts_with('"') && Some(date) != modified.as_ref() => {
            return Err("206, but If-Range names another date".to_owned());
        }
        _ => {}
    }
    let asked = union(ask.ranges.iter().filter_map(|spec| resolve(*spec, claim.of.length)).collect());
    let media_type = got.head.fields.only("content-type").unwrap_or_default();
    let parts = match media_type.strip_prefix("multipart/byteranges; boundary=") {
        Some(_) if !got.is_whole => return Ok(()),
        Some(boundary) => several(&got.body, boundary)?,
        None => {
            let range = content_range(got.head.fields.only("content-range").unwrap_or_default())?;
            vec![(range, got.body.as_slice())]
        }
    };
    for ((first, last, complete), bytes) in &parts {
        let announced = last - first + 1;
        if *complete != claim.of.length || (got.is_whole && bytes.len() as u64 != announced) {
            let length = bytes.len();
            return Err(format!("wrong length: bytes {first}-{last}/{complete} with {length}, of {}", claim.of.length));
        }
        claim.of.matches(*first, bytes)?;
    }
    let sent = union(parts.iter().map(|((first, last, _), _)| (*first, *last)).collect());
    if sent != asked { Err(format!("206 with bytes {sent:?}, asked for {asked:?}")) } else { Ok(()) }
}

/// Checks a 416: none of the ranges may lie within the length that it names.
pub fn unsatisfiable(ask: &ClientRequest<'_>, got: &ClientResponse) -> Result<(), String> {
    let length = got.head.fields.only("content-range").and_then(|value| value.strip_prefix("bytes */")?.parse().ok());
    let length: u64 = length.ok_or("416 without a length")?;
    let is_there = ask.ranges.iter().any(|spec| resolve(*spec, length).is_some());
    if is_there || ask.ranges.is_empty() { Err(format!("416 for what lies within {length} bytes")) } else { Ok(()) }
}

type Range = (u64, u64, u64);

/// `bytes 0-9/100`
fn content_range(value: &str) -> Result<Range, String> {
    let read = || {
        let (range, complete) = value.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some((first, last, complete.parse().ok()?))
    };
    read().ok_or_else(|| format!("Content-Range: {value:?}"))
}

/// The parts of a multipart/byteranges (RFC 9110 section 14.6).
fn several<'b>(body: &'b [u8], boundary: &str) -> Result<Vec<(Range, &'b [u8])>, String> {
    let broken = || "multipart/byteranges that cannot be read".to_owned();
    let delimiter = format!("--{boundary}");
    let mut rest = body.strip_prefix(b"\r\n").unwrap_or(body);
    let mut parts = Vec::new();
    loop {
        rest = rest.strip_prefix(delimiter.as_bytes()).ok_or_else(broken)?;
        if rest == b"--\r\n" || rest == b"--" {
            return Ok(parts);
        }
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&rest[..end]);
        let value = head.lines().find_map(|line| line.strip_prefix("Content-Range: ")).ok_or_else(broken)?;
        let range = content_range(value)?;
        let length = (range.1 - range.0 + 1) as usize;
        let bytes = rest.get(end + 4..end + 4 + length).ok_or_else(broken)?;
        rest = rest.get(end + 4 + length..).and_then(|rest| rest.strip_prefix(b"\r\n")).ok_or_else(broken)?;
        parts.push((range, bytes));
    }
}
