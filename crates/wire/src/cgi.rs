//! Parses the head that a CGI program prints (RFC 3875 section 6), whether it runs as CGI, over FastCGI or over SCGI.
//!
//! A program prints fields and an empty line, then the body. At least one of Status, Location and Content-Type must be present, or
//! a field that names a file to send in the place of a body (X-Sendfile and its like, which other servers accept alone, too).
//! Otherwise the output is no CGI output but an error message or source text. The other fields become the head of a response, as
//! from an HTTP origin.
//!
//! * Each line ends in LF or CRLF (RFC 3875 leaves the newline to the system); one head may mix them. The parser refuses a CR
//!   elsewhere, a NUL or another control character than HTAB, a folded line, and white space before a colon. It repairs nothing.
//! * Status, Location and Content-Type occur at most once each (RFC 3875 section 6.3).
//! * Transfer-Encoding is refused: a program does not decide how its body travels, and a program that sends it has probably encoded
//!   the body as well. The parser removes the other fields of the connection, the fields that Connection names, and X-CGI-*, which
//!   is meant for servers (RFC 3875 sections 6.3.4 and 6.3.5). Content-Length stays: the caller checks the body against it.
//! * A Location without a Status is a redirect. The server follows a local path that stands alone or beside Content-Type (RFC 3875
//!   section 6.2.2). Any other Location goes to the client with 302: a URL, a reference that begins with `//` or has a fragment,
//!   and a local path beside fields that would get lost, such as Set-Cookie.
//!
//! As for HTTP, the verdict does not depend on how the bytes arrived, and the parser keeps no state between calls.
//!
//! Not done here: a program whose name begins with `nph-` prints HTTP, which [`parse_response`](crate::http1::parse_response)
//! reads. A status line (`HTTP/1.1 200 OK`) is not a field, so it is refused here. The type of the body is not checked.

use crate::http1::grammar::trim_ows;
use crate::http1::head::{HeadLine, split_field};
use crate::http1::{HeadError, HeadLimits, connection_options};
use crate::{Fields, ResponseHead};
use http::StatusCode;

/// What a program's head asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgiHead {
    /// A response; its body follows. Status is removed from the fields.
    Response(ResponseHead),
    /// A local redirect (RFC 3875 section 6.2.2): the server answers as if the client had requested this path and query. Begins
    /// with exactly one `/`; visible ASCII without `#` and `\`. The caller ignores the rest of the output.
    LocalRedirect(String),
}

/// Fields that name a file to send in the place of a body.
const FILE_NAMING_FIELDS: [&str; 3] = ["x-sendfile", "x-lighttpd-send-file", "x-accel-redirect"];

/// Why the output of a program is refused. The fault lies with the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CgiError {
    /// The lines or fields are malformed or too many.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// Neither Status nor Location nor Content-Type, nor a field that names a file.
    #[error("it has neither Content-Type nor Status nor Location")]
    NoCgiField,
    /// Status, Location or Content-Type more than once.
    #[error("Content-Type, Status or Location is sent twice")]
    CgiFieldRepeated,
    /// Status is not a final code (200 to 999) with an optional reason.
    #[error("Status is not a code from 200 to 999")]
    Status,
    /// Location is empty.
    #[error("Location is empty")]
    Location,
    /// Transfer-Encoding is present.
    #[error("a CGI program must not send Transfer-Encoding")]
    TransferEncoding,
}

impl CgiError {
    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Head(error) => error.name(),
            Self::NoCgiField => "no-cgi-field",
            Self::CgiFieldRepeated => "cgi-field-repeated",
            Self::Status => "cgi-status",
            Self::Location => "cgi-location",
            Self::TransferEncoding => "cgi-transfer-encoding",
        }
    }
}

/// Parses the head at the front of `buf`. Returns it and its length in bytes, the empty line included; `None`: need more.
///
/// `target_bytes_max` of the limits bounds a local redirect: a longer one goes to the client.
///
/// # Errors
/// When the head cannot become valid or exceeds a limit, also while it is still incomplete.
pub fn parse_cgi_head(buf: &[u8], limits: &HeadLimits) -> Result<Option<(CgiHead, usize)>, CgiError> {
    let mut fields = Fields::new();
    let mut rest = buf;
    loop {
        let used = buf.len() - rest.len();
        let Some(line) = next_line(rest, limits.head_bytes_max.saturating_sub(used))? else { return Ok(None) };
        rest = line.rest;
        if line.text.is_empty() {
            let head = interpret_fields(fields, limits)?;
            return Ok(Some((head, buf.len() - rest.len())));
        }
        if fields.len() == limits.fields_max {
            return Err(HeadError::TooManyFields.into());
        }
        if matches!(line.text, [b' ' | b'\t', ..]) {
            return Err(if fields.is_empty() { HeadError::SpaceBeforeFirstField } else { HeadError::ObsFold }.into());
        }
        let (name, value) = split_field(line.text)?;
        fields.push(name, value);
    }
}

/// Splits the first line, which ends in LF or CRLF, off `buf`. `None`: need more.
fn next_line(buf: &[u8], bytes_max: usize) -> Result<Option<HeadLine<'_>>, HeadError> {
    let window = buf.get(..bytes_max).unwrap_or(buf);
    let Some(end) = memchr::memchr(b'\n', window) else {
        return if window.len() == bytes_max { Err(HeadError::TooLong) } else { Ok(None) };
    };
    let (text, rest) = buf.split_at_checked(end).unwrap_or((buf, &[]));
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.contains(&b'\r') {
        return Err(HeadError::BareCr);
    }
    Ok(Some(HeadLine { text, rest: rest.get(1..).unwrap_or_default() }))
}

/// What the fields of a complete head ask for.
fn interpret_fields(mut fields: Fields, limits: &HeadLimits) -> Result<CgiHead, CgiError> {
    let count = |name| fields.count(name);
    match [count("status"), count("location"), count("content-type")] {
        [0, 0, 0] if !FILE_NAMING_FIELDS.iter().any(|name| fields.contains(name)) => return Err(CgiError::NoCgiField),
        [0..=1, 0..=1, 0..=1] => {}
        _ => return Err(CgiError::CgiFieldRepeated),
    }
    if fields.contains("transfer-encoding") {
        return Err(CgiError::TransferEncoding);
    }
    remove_what_is_for_the_server(&mut fields);
    let status = fields.first("status").map(split_status).transpose()?;
    let location = fields.first("location");
    if location.is_some_and(<[u8]>::is_empty) {
        return Err(CgiError::Location);
    }
    let (status, reason) = match (status, location) {
        (Some(given), _) => given,
        (None, Some(location)) => {
            let is_alone = fields.len() == 1 + fields.count("content-type");
            if let Some(path) = local_path(location, limits.target_bytes_max).filter(|_| is_alone) {
                return Ok(CgiHead::LocalRedirect(path.to_owned()));
            }
            (StatusCode::FOUND, None)
        }
        (None, None) => (StatusCode::OK, None),
    };
    let mut head = ResponseHead::new(status);
    if let Some(reason) = reason {
        head.reason = reason.to_vec();
    }
    fields.remove("status");
    head.fields = fields;
    Ok(CgiHead::Response(head))
}

/// Removes the fields that concern the connection to the client, and the X-CGI-* extensions, of which Kasoku knows none.
fn remove_what_is_for_the_server(fields: &mut Fields) {
    const OF_THE_CONNECTION: [&str; 7] =
        ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings"];
    let listed: Vec<Vec<u8>> = connection_options(fields).map(<[u8]>::to_vec).collect();
    // A CGI field stays even if Connection names it.
    let is_cgi = |name: &[u8]| ["status", "location", "content-type"].iter().any(|cgi| is_name(name, cgi));
    fields.retain(|name, _| {
        let is_listed = listed.iter().any(|one| one.eq_ignore_ascii_case(name)) && !is_cgi(name);
        let is_extension = name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"x-cgi-"));
        !is_listed && !is_extension && !OF_THE_CONNECTION.iter().any(|one| is_name(name, one))
    });
}

fn is_name(name: &[u8], other: &str) -> bool {
    name.eq_ignore_ascii_case(other.as_bytes())
}

/// `3DIGIT [ SP reason ]`. An interim status is refused: no final response would follow it, and 101 would hand the connection over.
fn split_status(value: &[u8]) -> Result<(StatusCode, Option<&[u8]>), CgiError> {
    let (code, rest) = value.split_at_checked(3).ok_or(CgiError::Status)?;
    let reason = match rest {
        [] => None,
        [b' ' | b'\t', reason @ ..] => Some(trim_ows(reason)),
        _ => return Err(CgiError::Status),
    };
    let status = StatusCode::from_bytes(code).map_err(|_| CgiError::Status)?;
    if status.is_informational() { Err(CgiError::Status) } else { Ok((status, reason)) }
}

/// `location`, if the server can follow it. `//host/` names another host, as `/\host/` does to browsers; a fragment would get lost.
fn local_path(location: &[u8], bytes_max: usize) -> Option<&str> {
    let is_path = matches!(location, [b'/', rest @ ..] if rest.first() != Some(&b'/'));
    let is_plain = location.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#' && *byte != b'\\');
    if is_path && is_plain && location.len() <= bytes_max { str::from_utf8(location).ok() } else { None }
}

#[cfg(test)]
#[path = "cgi_tests.rs"]
mod tests;
