//! Parses the head of a request.
//!
//! The parser splits the request line at its two spaces and nowhere else. Tabs, runs of white space and a missing version, which
//! RFC 9112 section 3 lets a lenient recipient accept, are errors here, since the next recipient may split differently. The target
//! stays text: [`crate::target`] parses it, [`super::framing`] finds the body's length.

use super::head::{self, HeadError};
use super::limits::HeadLimits;
use super::request_error::RequestError;
use crate::{Fields, RequestHead, target};
use http::{Method, Version};

/// The longest method name, in bytes: about twice the longest that is registered.
const METHOD_BYTES_MAX: usize = 32;
/// The most bytes of a request line besides its target: a method, two spaces, `HTTP/1.1`, CRLF, and slack.
const REQUEST_LINE_BYTES_BESIDES_TARGET: usize = METHOD_BYTES_MAX + 32;
/// How many empty lines may precede a request.
const EMPTY_LINES_MAX: usize = 4;

/// Parses the head of a request at the front of `buf`. Returns the head and its length in bytes, empty lines before it included.
/// `None`: need more.
///
/// # Errors
/// When the head cannot become valid or exceeds a limit, also while it is still incomplete. The framing of the body
/// is not checked here, see [`super::request_body_length`]; nor is the target's form, see [`target::parse_target`].
pub fn parse_request(buf: &[u8], limits: &HeadLimits) -> Result<Option<(RequestHead, usize)>, RequestError> {
    let mut head = RequestHead::new(Method::GET, String::new());
    Ok(parse_request_into(buf, limits, b"", &mut head)?.map(|length| (head, length)))
}

/// Like [`parse_request`], but into the memory of a used `head`, whose content is defined only if a length is returned.
/// `valid_authority` is a value of Host that an earlier check accepted, or empty: an equal Host is not checked again.
///
/// # Errors
/// As [`parse_request`].
pub fn parse_request_into(
    buf: &[u8],
    limits: &HeadLimits,
    valid_authority: &[u8],
    head: &mut RequestHead,
) -> Result<Option<usize>, RequestError> {
    let Some(line) = request_line(buf, limits)? else { return Ok(None) };
    let (method, target, version) = split_request_line(line.text, limits)?;
    let fields_bytes_max = limits.head_bytes_max.saturating_sub(line.bytes());
    let section = head::field_section(line.rest, fields_bytes_max, limits.fields_max, true)?;
    let Some(section) = section else { return Ok(None) };
    head.fields.clear();
    head::parse_fields_into(&section, &mut head.fields)?;
    check_host(version, &head.fields, valid_authority)?;
    head.method = method;
    head.version = version;
    head.target.clear();
    head.target.push_str(target);
    Ok(Some(buf.len() - section.rest.len()))
}

/// The first line that is not empty.
fn request_line<'a>(buf: &'a [u8], limits: &HeadLimits) -> Result<Option<head::HeadLine<'a>>, RequestError> {
    let line_bytes_max = limits.target_bytes_max.saturating_add(REQUEST_LINE_BYTES_BESIDES_TARGET);
    let mut rest = buf;
    //= RFC 9112 section 2.2
    //# In the interest of robustness, a server that is expecting to receive and parse a request-line SHOULD ignore at
    //# least one empty line (CRLF) received prior to the request-line.
    for _ in 0..=EMPTY_LINES_MAX {
        let line = head::next_line(rest, line_bytes_max.min(limits.head_bytes_max)).map_err(|error| match error {
            HeadError::TooLong => RequestError::TargetTooLong,
            other => RequestError::Head(other),
        })?;
        match line {
            None => return Ok(None),
            Some(line) if line.text.is_empty() => rest = line.rest,
            Some(line) => return Ok(Some(line)),
        }
    }
    Err(RequestError::EmptyLines)
}

fn split_request_line<'a>(line: &'a [u8], limits: &HeadLimits) -> Result<(Method, &'a str, Version), RequestError> {
    let (method, rest) = split_at_space(line).ok_or(RequestError::RequestLine)?;
    let (target, version) = split_at_space(rest).ok_or(RequestError::RequestLine)?;
    if version.contains(&b' ') {
        return Err(RequestError::RequestLine);
    }
    Ok((parse_method(method)?, check_target(target, limits)?, parse_version(version)?))
}

fn split_at_space(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (before, after) = text.split_at_checked(memchr::memchr(b' ', text)?)?;
    Some((before, after.get(1..)?))
}

fn parse_method(method: &[u8]) -> Result<Method, RequestError> {
    if method.len() > METHOD_BYTES_MAX {
        return Err(RequestError::MethodTooLong);
    }
    Method::from_bytes(method).map_err(|_| RequestError::Method)
}

fn check_target<'a>(target: &'a [u8], limits: &HeadLimits) -> Result<&'a str, RequestError> {
    if target.len() > limits.target_bytes_max {
        return Err(RequestError::TargetTooLong);
    }
    if target.is_empty() {
        return Err(RequestError::RequestLine);
    }
    //= RFC 9112 section 3.2
    //# A recipient SHOULD NOT attempt to autocorrect and then process the request without a redirect
    // The fold has no branch for each byte, so the compiler can take many bytes at once.
    if !target.iter().fold(true, |valid, byte| valid & byte.is_ascii_graphic() & (*byte != b'#')) {
        return Err(RequestError::Target);
    }
    str::from_utf8(target).map_err(|_| RequestError::Target)
}

/// HTTP/1.x with x above 1 counts as 1.1: its sender has to understand 1.1 (RFC 9110 section 2.5).
fn parse_version(version: &[u8]) -> Result<Version, RequestError> {
    match version {
        b"HTTP/1.0" => Ok(Version::HTTP_10),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9'] => Ok(Version::HTTP_11),
        [b'H', b'T', b'T', b'P', b'/', ..] => Err(RequestError::Version),
        _ => Err(RequestError::RequestLine),
    }
}

//= RFC 9112 section 3.2
//# A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a Host header
//# field and to any request message that contains more than one Host header field line or a Host header field with an
//# invalid field value.
fn check_host(version: Version, fields: &Fields, valid_authority: &[u8]) -> Result<(), RequestError> {
    let mut hosts = fields.all("host");
    match (hosts.next(), hosts.next()) {
        (None, _) if version == Version::HTTP_10 => Ok(()),
        (None, _) => Err(RequestError::HostMissing),
        (Some(host), None) if !valid_authority.is_empty() && host == valid_authority => Ok(()),
        (Some(host), None) => target::check_authority(host),
        (Some(_), Some(_)) => Err(RequestError::HostRepeated),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
