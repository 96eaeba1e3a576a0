//! Makes the head of a response with a file: its type, its validators, and what the request's conditions and range make of them.
//!
//! The entity tag is made of modification time (to the nanosecond), size and inode. It is strong, since a change of the bytes changes
//! the time. But it is weak for a file that was written within the last second: the kernel's clock for files ticks some hundred times
//! a second, so writes within one tick have the same time (RFC 9110 section 8.8.1 calls that weak, and Apache does the same). The
//! text of the weak tag differs from the strong one that follows, so a weak comparison never lets a cache keep a half-written page.
//!
//! The sender of the response adds Date.

use crate::document_root::OpenFile;
use http::{Method, StatusCode};
use kasoku_semantics::coding::Coding;
use kasoku_semantics::precondition::{Precondition, goes_into_not_modified, precondition};
use kasoku_semantics::range::{ByteRanges, RangeOutcome, range};
use kasoku_semantics::{Now, Validators};
use kasoku_wire::field::date;
use kasoku_wire::field::etag::{EntityTag, ListedTag, tags};
use kasoku_wire::{RequestHead, ResponseHead};
use std::ffi::OsStr;
use std::fmt::Write;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How old a file must be for its time to identify its version.
const SETTLED_AFTER: Duration = Duration::from_secs(1);

/// The type of a file of unknown type: a browser saves it and does not guess.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Suffixes for which the table of types in use is behind RFC 9239, or behind what browsers and players take.
const BETTER_TYPES: [(&str, &str); 4] =
    [(".mjs", "text/javascript"), (".cjs", "text/javascript"), (".map", "application/json"), (".ts", "video/mp2t")];

/// A file, and what its head is to say.
pub(super) struct FileRepresentation<'a> {
    pub(super) file: &'a OpenFile,
    /// The name by which the media type is found.
    pub(super) name: &'a [u8],
    /// Last-Modified, in seconds of Unix time.
    pub(super) modified: i64,
    pub(super) coding: Option<Coding>,
    pub(super) varies: bool,
    /// The charset of texts; empty: none is said.
    pub(super) charset: &'a str,
}

/// The part of the file that goes with a head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContentChoice {
    /// These bytes of the file.
    Part(Range<u64>),
    /// Several ranges of the file. The head is still that of the whole file.
    Parts(ByteRanges),
    /// No content at all.
    Nothing,
}

/// The head for a request, which is a GET or a HEAD.
pub(super) fn respond(
    request: &RequestHead,
    of: &FileRepresentation<'_>,
    now: SystemTime,
) -> (ResponseHead, ContentChoice) {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Now { unix_ms: i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX), mono_ms: 0 };
    let mut whole = whole(of, now);
    // Whether Last-Modified is a strong validator depends on the time of the answer.
    whole.fields.push("Date", date::format(now.unix_seconds()));
    let (mut head, outcome) = evaluated(request, whole, of.file.length(), now);
    head.fields.remove("date");
    (head, outcome)
}

/// The head of a 200, with the whole file.
pub(super) fn whole(of: &FileRepresentation<'_>, now: Now) -> ResponseHead {
    let mut head = ResponseHead::new(StatusCode::OK);
    let fields = &mut head.fields;
    fields.push("Content-Type", content_type(of.name, of.charset));
    fields.push("Content-Length", of.file.length().to_string());
    //= RFC 9110 section 8.8.2.1
    //# An origin server with a clock (as defined in Section 5.6.7) MUST NOT generate a Last-Modified date that is later than
    //# the server's time of message origination (Date, Section 6.6.1).
    fields.push("Last-Modified", date::format(of.modified.min(now.unix_seconds())));
    fields.push("ETag", entity_tag(of.file, now));
    fields.push("Accept-Ranges", "bytes");
    if let Some(coding) = of.coding {
        fields.push("Content-Encoding", coding.name());
    }
    if of.varies {
        fields.push("Vary", "Accept-Encoding");
    }
    head
}

fn entity_tag(file: &OpenFile, now: Now) -> String {
    let stat = &file.stat;
    let settled = now.unix_ms.saturating_sub(i64::try_from(SETTLED_AFTER.as_millis()).unwrap_or(i64::MAX));
    let is_settled = i128::from(settled) * 1_000_000 > file.modified_ns();
    let (before, after) = if is_settled { ("\"", "\"") } else { ("W/\"", "-w\"") };
    let mut tag = before.to_owned();
    // Writing to a String cannot fail.
    let _ = write!(tag, "{:x}-{:x}-{:x}", file.modified_ns(), file.length(), stat.st_ino);
    tag.push_str(after);
    tag
}

/// The media type by the name's suffix.
fn media_type(name: &[u8]) -> &'static str {
    let better = BETTER_TYPES.iter().find(|(suffix, _)| name.ends_with(suffix.as_bytes())).map(|(_, better)| *better);
    let guess = || mime_guess::from_path(OsStr::from_bytes(name)).first_raw();
    better.or_else(guess).unwrap_or(UNKNOWN_TYPE)
}

/// Whether a file of that name is a page that may declare its own charset.
pub(super) fn is_html(name: &[u8]) -> bool {
    media_type(name) == "text/html"
}

/// The media type by the name's suffix, with the charset of texts.
fn content_type(name: &[u8], charset: &str) -> String {
    let media_type = media_type(name);
    // XML names its own charset, and a parameter here would overrule that.
    if charset.is_empty() || !media_type.starts_with("text/") || media_type == "text/xml" {
        return media_type.to_owned();
    }
    format!("{media_type}; charset={charset}")
}

/// Applies the request's conditions and range to the head of the whole file, in the order of RFC 9110 section 13.2.2.
pub(super) fn evaluated(
    request: &RequestHead,
    whole: ResponseHead,
    length: u64,
    now: Now,
) -> (ResponseHead, ContentChoice) {
    if !is_as_expected(request, &whole, now) {
        return (without_content(&whole, StatusCode::PRECONDITION_FAILED), ContentChoice::Nothing);
    }
    if precondition(request, &whole, Validators::Any, now, now) == Precondition::NotModified {
        return (without_content(&whole, StatusCode::NOT_MODIFIED), ContentChoice::Nothing);
    }
    if request.method == Method::HEAD {
        return (whole, ContentChoice::Nothing);
    }
    match range(request, &whole, length) {
        RangeOutcome::Unsatisfiable => {
            let mut head = without_content(&whole, StatusCode::RANGE_NOT_SATISFIABLE);
            head.fields.push("Content-Range", format!("bytes */{length}"));
            head.fields.push("Content-Length", "0");
            (head, ContentChoice::Nothing)
        }
        RangeOutcome::Ranges(ranges) if ranges.len() == 1 => {
            let Some(part) = ranges.first() else { return (whole, ContentChoice::Part(0..length)) };
            let reason = StatusCode::PARTIAL_CONTENT.canonical_reason().unwrap_or_default().as_bytes().to_vec();
            let mut head = ResponseHead { status: StatusCode::PARTIAL_CONTENT, reason, ..whole };
            head.fields.set("Content-Length", part.length().to_string());
            head.fields.push("Content-Range", format!("bytes {}-{}/{length}", part.first, part.last));
            (head, ContentChoice::Part(part.first..part.last.saturating_add(1)))
        }
        RangeOutcome::Ranges(ranges) => (whole, ContentChoice::Parts(ranges)),
        RangeOutcome::Full => (whole, ContentChoice::Part(0..length)),
    }
}

/// Evaluates If-Match, or else If-Unmodified-Since.
fn is_as_expected(request: &RequestHead, whole: &ResponseHead, now: Now) -> bool {
    let fields = &request.fields;
    if fields.contains("if-match") {
        //= RFC 9110 section 13.1.1
        //# An origin server MUST use the strong comparison function when comparing entity tags for If-Match
        let own = EntityTag::of(&whole.fields);
        return tags(fields, "if-match").any(|tag| match (tag, &own) {
            (ListedTag::Any, _) => true,
            (ListedTag::One(tag), Some(own)) => tag.strong_eq(own),
            (ListedTag::One(_), None) => false,
        });
    }
    let time =
        |fields: &kasoku_wire::Fields, name| fields.only(name).and_then(|value| date::parse(value, now.unix_seconds()));
    match (time(fields, "if-unmodified-since"), time(&whole.fields, "last-modified")) {
        (Some(since), Some(modified)) => modified <= since,
        _ => true,
    }
}

fn without_content(whole: &ResponseHead, status: StatusCode) -> ResponseHead {
    let mut head = ResponseHead::new(status);
    let is_kept = |name: &[u8]| status == StatusCode::NOT_MODIFIED && goes_into_not_modified(name, true);
    // From an application's head, the fields that are not about the content.
    let is_anyway = |name: &[u8]| {
        ["cache-control", "set-cookie", "vary"].iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
    };
    head.fields = whole.fields.clone();
    head.fields.retain(|name, _| is_kept(name) || is_anyway(name));
    if status == StatusCode::PRECONDITION_FAILED {
        head.fields.push("Content-Length", "0");
    }
    head
}
