//! Reads replies.

use crate::failure::Failure;
use bytes::{Bytes, BytesMut};
use thiserror::Error;

/// Bytes of a line, at most, with its end.
pub const LINE_BYTES_MAX: usize = 2048;

/// Bytes of a server's message that are kept.
const MESSAGE_BYTES_MAX: usize = 200;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of the request. Errors and `MN` carry none.
    pub opaque: Option<u32>,
    /// What it says.
    pub status: Status,
}

/// What a reply says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// `VA`: the value. It is a part of the input, not a copy.
    Value(Bytes),
    /// `HD`: done.
    Done,
    /// `EN`: there is no such item, so there is nothing to get.
    Miss,
    /// `NF`: there is no such item, so nothing was done.
    NotFound,
    /// `NS`: not stored, because of the mode.
    NotStored,
    /// `EX`: the item is another one by now.
    Exists,
    /// `SERVER_ERROR`: the server could not do this, for example because the item is too large.
    ServerError(String),
    /// `CLIENT_ERROR`: the request makes no sense to the server.
    ClientError(String),
}

/// A reply that no server of memcached sends. The connection can't be used further.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProtocolError {
    /// A line has no end within [`LINE_BYTES_MAX`].
    #[error("a line of the reply is longer than {LINE_BYTES_MAX} bytes")]
    LongLine,
    /// A line that the protocol does not have.
    #[error("the reply {0:?} is unknown")]
    UnknownLine(String),
    /// The server does not know the request.
    #[error("the server does not know meta commands: it is no memcached, or one before 1.6")]
    NoMetaCommands,
    /// A value is longer than an item may be.
    #[error("the value of {bytes} bytes is longer than an item may be")]
    LongValue {
        /// How long it is.
        bytes: u64,
    },
    /// No line end stands behind a value.
    #[error("the value has another length than its line says")]
    WrongLength,
    /// The reply belongs to another request, or to none.
    #[error("the reply does not belong to the request")]
    Foreign,
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error.to_string().into())
    }
}

/// Reads replies out of what has arrived. What it says does not depend on how the bytes were cut.
#[derive(Debug)]
pub struct ReplyParser {
    item_bytes_max: usize,
    /// A value whose line has been read.
    value: Option<PendingValue>,
    /// Bytes of the next line that were searched for its end already.
    searched: usize,
}

#[derive(Clone, Copy, Debug)]
struct PendingValue {
    bytes: usize,
    opaque: u32,
}

impl ReplyParser {
    /// A parser that takes no value above this length.
    pub fn new(item_bytes_max: usize) -> Self {
        Self { item_bytes_max, value: None, searched: 0 }
    }

    /// Takes the next reply out of the input; none if it has not arrived completely.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Option<Reply>, ProtocolError> {
        if self.value.is_none() {
            let Some(line) = self.line(input)? else { return Ok(None) };
            match parse_line(&line)? {
                Line::Reply(reply) => return Ok(Some(reply)),
                Line::Value { bytes, opaque } => {
                    let length = usize::try_from(bytes).ok().filter(|&length| length <= self.item_bytes_max);
                    let Some(length) = length else { return Err(ProtocolError::LongValue { bytes }) };
                    self.value = Some(PendingValue { bytes: length, opaque });
                }
            }
        }
        self.value(input)
    }

    /// How many bytes of the present value have not arrived, of an input of this length.
    pub fn missing_bytes(&self, input_bytes: usize) -> usize {
        self.value.map_or(0, |value| (value.bytes + 2).saturating_sub(input_bytes))
    }

    /// Takes the next line, without its end.
    fn line(&mut self, input: &mut BytesMut) -> Result<Option<BytesMut>, ProtocolError> {
        let window = input.get(..input.len().min(LINE_BYTES_MAX)).unwrap_or_default();
        let rest = window.get(self.searched..).unwrap_or_default();
        let Some(end) = rest.iter().position(|&byte| byte == b'\n').map(|at| self.searched + at) else {
            self.searched = window.len();
            return if window.len() == LINE_BYTES_MAX { Err(ProtocolError::LongLine) } else { Ok(None) };
        };
        self.searched = 0;
        let mut line = input.split_to(end + 1);
        if !line.ends_with(b"\r\n") {
            return Err(ProtocolError::UnknownLine(message(&line)));
        }
        line.truncate(end - 1);
        Ok(Some(line))
    }

    /// Takes the value whose line has been read, once it is there.
    fn value(&mut self, input: &mut BytesMut) -> Result<Option<Reply>, ProtocolError> {
        let Some(PendingValue { bytes, opaque }) = self.value else { return Ok(None) };
        let Some(end) = input.get(bytes..bytes + 2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err(ProtocolError::WrongLength);
        }
        self.value = None;
        let mut value = input.split_to(bytes + 2);
        value.truncate(bytes);
        Ok(Some(Reply { opaque: Some(opaque), status: Status::Value(value.freeze()) }))
    }
}

/// What a line says.
enum Line {
    Reply(Reply),
    Value { bytes: u64, opaque: u32 },
}

fn parse_line(line: &[u8]) -> Result<Line, ProtocolError> {
    let unknown = || ProtocolError::UnknownLine(message(line));
    let error = |status| Ok(Line::Reply(Reply { opaque: None, status }));
    let mut words = line.split(|&byte| byte == b' ');
    let status = match words.next().unwrap_or_default() {
        b"VA" => {
            let bytes = words.next().and_then(number).ok_or_else(unknown)?;
            let opaque = only_opaque(words).ok_or_else(unknown)?;
            return Ok(Line::Value { bytes, opaque });
        }
        b"HD" => Status::Done,
        b"EN" => Status::Miss,
        b"NF" => Status::NotFound,
        b"NS" => Status::NotStored,
        b"EX" => Status::Exists,
        b"SERVER_ERROR" => return error(Status::ServerError(message(after_word(line)))),
        b"CLIENT_ERROR" => return error(Status::ClientError(message(after_word(line)))),
        b"ERROR" if line == b"ERROR" => return Err(ProtocolError::NoMetaCommands),
        _ => return Err(unknown()),
    };
    let opaque = only_opaque(words).ok_or_else(unknown)?;
    Ok(Line::Reply(Reply { opaque: Some(opaque), status }))
}

/// The opaque, if it is the only word: no other flag was asked for.
fn only_opaque<'l>(mut words: impl Iterator<Item = &'l [u8]>) -> Option<u32> {
    let digits = words.next()?.strip_prefix(b"O")?;
    match words.next() {
        None => number(digits)?.try_into().ok(),
        Some(_) => None,
    }
}

/// A number that is written in digits only.
pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn after_word(line: &[u8]) -> &[u8] {
    line.splitn(2, |&byte| byte == b' ').nth(1).unwrap_or_default()
}

/// What a server said, for a log: printable and not long.
fn message(line: &[u8]) -> String {
    let line = line.trim_ascii_end();
    let printable = |&byte: &u8| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' };
    line.iter().take(MESSAGE_BYTES_MAX).map(printable).collect()
}
