//! The head of what a CGI program prints (RFC 3875 section 6), be it run as CGI, over FastCGI or over SCGI.
//!
//! A program prints fields and an empty line, then the body. Three fields speak to the server: Status, Location and
//! Content-Type; one of them at least has to be there, or a field that names a file to be sent in the place of a body (X-Sendfile and
//! its like, which servers take alone), or what came is no CGI output but an error message or source text. The rest becomes the head of a response as it would have come from an origin that speaks HTTP.
//!
//! * Lines end in LF or CRLF, each as it likes (RFC 3875 leaves the newline to the system). A CR elsewhere, a NUL or another
//!   control character, a folded line, white space before a colon: refused, nothing is repaired.
//! * Status, Location and Content-Type come once each (RFC 3875 section 6.3).
//! * Transfer-Encoding is refused: a program has no say in how its body travels, and one that sends it has likely encoded the
//!   body as well. The other fields of the connection are removed with those that Connection names, and so is X-CGI-*, which
//!   is meant for servers (RFC 3875 sections 6.3.4 and 6.3.5). Content-Length stays: the caller holds the body to it.
//! * A Location without a Status is a redirect. A local path, alone or beside Content-Type, is for the server to follow (RFC
//!   3875 section 6.2.2); anything else goes to the client with 302: a URL, a reference that begins with `//` or has a
//!   fragment, and a local path beside fields that would get lost, such as Set-Cookie.
//!
//! As for HTTP, the verdict does not depend on how the bytes arrived, and nothing is kept between calls.
//!
//! What it does not do: a program of the kind `nph-` prints HTTP, which is [`parse_response`](crate::http1::parse_response)'s.
//! A status line (`HTTP/1.1 200 OK`) is no field, so it is refused here. The type of the body is not checked.

use crate::http1::grammar::trim_ows;
use crate::http1::head::{HeadLine, says_its_row, split_field};
use crate::http1::{HeadError, HeadLimits, connection_options};
use crate::{Fields, ResponseHead};
use http::StatusCode;

/// What a program wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgiHead {
    /// The head of a response; what follows is its body. Status is removed from the fields.
    Response(ResponseHead),
    /// The server is to answer as if this had been asked for: a path that begins with one `/`, and a query if there is one
    /// (RFC 3875 section 6.2.2). Printable ASCII without `#`. What follows is not to be read.
    LocalRedirect(String),
}

/// Fields that name a file to be sent.
const NAMING: [&str; 3] = ["x-sendfile", "x-lighttpd-send-file", "x-accel-redirect"];

/// Why the output of a program is refused. The origin is the guilty party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CgiError {
    /// The lines or fields are malformed or too many.
    Head(HeadError),
    /// Neither Status nor Location nor Content-Type.
    NoCgiField,
    /// Status, Location or Content-Type more than once.
    CgiFieldRepeated,
    /// Status is not a final code, 200 to 999, and perhaps a reason.
    Status,
    /// Location is empty.
    Location,
    /// Transfer-Encoding.
    TransferEncoding,
}

impl CgiError {
    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Head(error) => error.name(),
            _ => self.row().0,
        }
    }

    fn row(&self) -> (&'static str, &'static str) {
        match self {
            Self::Head(_) => ("head", "the head is malformed"),
            Self::NoCgiField => ("no-cgi-field", "it has neither Content-Type nor Status nor Location"),
            Self::CgiFieldRepeated => ("cgi-field-repeated", "Content-Type, Status or Location is sent twice"),
            Self::Status => ("cgi-status", "Status is not a code from 200 to 999"),
            Self::Location => ("cgi-location", "Location is empty"),
            Self::TransferEncoding => ("cgi-transfer-encoding", "a CGI program must not send Transfer-Encoding"),
        }
    }
}

says_its_row!(CgiError);

/// Parses the head at the front of `buf`: what the program wants, and how many bytes it took, the empty line included.
/// `None`: need more.
///
/// `target_bytes_max` of the limits bounds a local redirect: one that is longer goes to the client.
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
            let head = meaning(fields, limits)?;
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
fn meaning(mut fields: Fields, limits: &HeadLimits) -> Result<CgiHead, CgiError> {
    let count = |name| fields.count(name);
    match [count("status"), count("location"), count("content-type")] {
        [0, 0, 0] if !NAMING.iter().any(|name| fields.contains(name)) => return Err(CgiError::NoCgiField),
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

/// What concerns the connection to the client, which is not the program's, and extensions that no server here knows.
fn remove_what_is_for_the_server(fields: &mut Fields) {
    const OF_THE_CONNECTION: [&str; 7] =
        ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings"];
    let listed: Vec<Vec<u8>> = connection_options(fields).map(<[u8]>::to_vec).collect();
    // A program that names a CGI field in Connection does not lose what it has to say.
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

/// `3DIGIT [ SP reason ]`. An interim status is none: nothing would follow it, and 101 would hand the connection over.
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

/// A path of ours. `//host/` is another's, and a fragment would get lost.
fn local_path(location: &[u8], bytes_max: usize) -> Option<&str> {
    let is_path = matches!(location, [b'/', rest @ ..] if rest.first() != Some(&b'/'));
    let is_plain = location.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#' && *byte != b'\\');
    if is_path && is_plain && location.len() <= bytes_max { str::from_utf8(location).ok() } else { None }
}

#[cfg(test)]
#[path = "cgi_tests.rs"]
mod tests;
