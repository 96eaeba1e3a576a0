//! A strict reader of HTTP messages, for all that Kasoku sends to origins and clients: each message must have exactly one
//! reading.
//!
//! The reader shares nothing with the parsers under test. It rejects everything that another parser could read in another way: a
//! lone CR or LF, both framing fields or one of them twice, a missing or second Host, chunk extensions, bytes behind the end.

use std::fmt;

/// One message, read to its end.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// The request line without the version, or the status code.
    pub line: String,
    /// The fields, line by line, without CRLF.
    pub fields: Vec<String>,
    /// The content, without framing.
    pub body: Vec<u8>,
    /// The trailer fields.
    pub trailers: Vec<String>,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, fields, body, trailers } = self;
        let body = body.escape_ascii().to_string();
        write!(f, "{line} {fields:?} {:?} {trailers:?}", body.get(..200).unwrap_or(&body))
    }
}

impl Message {
    /// The value of the only field of that name.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let is_it = |line: &&String| line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name));
        self.fields.iter().find(is_it).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    fn count(&self, name: &str) -> usize {
        self.fields.iter().filter(|line| line.split(':').next().is_some_and(|n| n.eq_ignore_ascii_case(name))).count()
    }
}

/// The result of reading at the front of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A message, and its length in bytes.
    Whole(Message, usize),
    /// The beginning of a message.
    Part,
}

type Result<T> = std::result::Result<T, String>;

/// Reads a request.
pub(crate) fn request(bytes: &[u8]) -> Result<Read> {
    let Some((first, fields, mut rest)) = head(bytes)? else { return Ok(Read::Part) };
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else { return Err(format!("no request line: {first:?}")) };
    if !target.starts_with('/') && target != "*" {
        return Err(format!("neither origin-form nor *: {first:?}"));
    }
    let mut message = Message { line: format!("{method} {target}"), fields, body: Vec::new(), trailers: Vec::new() };
    if message.count("host") != 1 {
        return Err(format!("not one Host: {message:?}"));
    }
    let is_whole = match framing(&message)? {
        Framing::Nothing => true,
        framing => content(&mut rest, framing, &mut message)?,
    };
    Ok(if is_whole { Read::Whole(message, bytes.len() - rest.len()) } else { Read::Part })
}

/// Reads a response, interim or final, to a request of that method. `is_closed` says that no bytes follow.
pub(crate) fn response(bytes: &[u8], method: &str, is_closed: bool) -> Result<Read> {
    let Some((first, fields, mut rest)) = head(bytes)? else { return Ok(Read::Part) };
    let code = first.strip_prefix("HTTP/1.1 ").and_then(|line| line.get(..3)).ok_or(format!("no status: {first:?}"))?;
    let mut message = Message { line: code.to_owned(), fields, body: Vec::new(), trailers: Vec::new() };
    let framing = framing(&message)?;
    let is_whole = match framing {
        _ if method == "HEAD" || code.starts_with('1') || ["204", "304"].contains(&code) => true,
        Framing::Nothing => {
            if message.field("connection") != Some("close") {
                return Err(format!("no framing: {message:?}"));
            }
            message.body = rest.to_vec();
            rest = &[];
            is_closed
        }
        framing => content(&mut rest, framing, &mut message)?,
    };
    Ok(if is_whole { Read::Whole(message, bytes.len() - rest.len()) } else { Read::Part })
}

#[derive(Clone, Copy)]
enum Framing {
    Nothing,
    Length(usize),
    Chunked,
}

fn framing(message: &Message) -> Result<Framing> {
    match (message.field("content-length"), message.field("transfer-encoding")) {
        _ if message.count("content-length") + message.count("transfer-encoding") > 1 => {
            Err(format!("framed twice: {message:?}"))
        }
        (Some(length), _) => length.parse().map(Framing::Length).map_err(|_| format!("no length: {message:?}")),
        (_, Some("chunked")) => Ok(Framing::Chunked),
        (_, Some(_)) => Err(format!("a coding nobody asked for: {message:?}")),
        (None, None) => Ok(Framing::Nothing),
    }
}

/// The first line, the fields, and the bytes behind the empty line.
type Head<'a> = (String, Vec<String>, &'a [u8]);

fn head(mut bytes: &[u8]) -> Result<Option<Head<'_>>> {
    let Some(first) = line(&mut bytes)? else { return Ok(None) };
    Ok(fields(&mut bytes)?.map(|fields| (first, fields, bytes)))
}

fn fields(bytes: &mut &[u8]) -> Result<Option<Vec<String>>> {
    let mut fields = Vec::new();
    loop {
        match line(bytes)? {
            None => return Ok(None),
            Some(line) if line.is_empty() => return Ok(Some(fields)),
            Some(line) if line.find(':').is_some_and(|colon| is_token(&line[..colon])) => fields.push(line),
            Some(line) => return Err(format!("no field: {line:?}")),
        }
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

fn line(bytes: &mut &[u8]) -> Result<Option<String>> {
    let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n' | 0)) else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    match bytes[end..] {
        [b'\r', b'\n', ref rest @ ..] => {
            *bytes = rest;
            Ok(Some(text))
        }
        [b'\r'] => Ok(None),
        _ => Err(format!("a CR, LF or NUL alone behind {text:?}")),
    }
}

/// Reads the content into `message`. Returns whether the content is complete.
fn content(rest: &mut &[u8], framing: Framing, message: &mut Message) -> Result<bool> {
    let Framing::Chunked = framing else {
        let Framing::Length(length) = framing else { return Ok(true) };
        let (body, behind) = rest.split_at(length.min(rest.len()));
        message.body = body.to_vec();
        *rest = behind;
        return Ok(message.body.len() == length);
    };
    loop {
        let Some(size) = line(rest)? else { return Ok(false) };
        let size = usize::from_str_radix(&size, 16).map_err(|_| format!("no chunk size: {size:?}"))?;
        if size == 0 {
            break;
        }
        if rest.len() < size + 2 {
            message.body.extend_from_slice(&rest[..size.min(rest.len())]);
            return Ok(false);
        }
        message.body.extend_from_slice(&rest[..size]);
        if &rest[size..size + 2] != b"\r\n" {
            return Err("no CRLF behind a chunk".to_owned());
        }
        *rest = &rest[size + 2..];
    }
    let Some(trailers) = fields(rest)? else { return Ok(false) };
    message.trailers = trailers;
    Ok(true)
}
