//! Bounds what a server may send, before it is parsed.
//!
//! The redis crate parses whatever comes, of any length. Of what our commands are answered with, there are four kinds: `+`, `-` and `:` with a
//! line, and `$` with a length and as many bytes. All else is an error, and so are a long line, a value that is longer than an item may be, and
//! a reply that nobody has asked for: after it, each command would get the reply of the one before.

use std::io;

/// Bytes of a line, at most, without its end.
const LINE_BYTES_MAX: usize = 2048;

/// What `INFO replication` may have, where items are shorter.
const VALUE_BYTES_MIN: usize = 16 << 10;

/// Counts commands that go out and replies that come in.
#[derive(Debug)]
pub(super) struct Framing {
    outgoing: Scanner,
    incoming: Scanner,
    /// Commands that were written, and have no reply yet.
    unanswered: u64,
}

impl Framing {
    /// Framing that takes no value above this length.
    pub(super) fn new(item_bytes_max: usize) -> Self {
        // What we send is as long as we like.
        let outgoing = Scanner { kinds: b"*$", value_bytes_max: usize::MAX, ..Scanner::default() };
        let value_bytes_max = item_bytes_max.max(VALUE_BYTES_MIN);
        let incoming = Scanner { kinds: b"+-:$", value_bytes_max, ..Scanner::default() };
        Self { outgoing, incoming, unanswered: 0 }
    }

    /// These bytes are written.
    pub(super) fn sent(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unanswered = self.unanswered.saturating_add(self.outgoing.scan(bytes)?);
        Ok(())
    }

    /// These bytes have come.
    pub(super) fn received(&mut self, bytes: &[u8]) -> io::Result<()> {
        let replies = self.incoming.scan(bytes)?;
        self.unanswered =
            self.unanswered.checked_sub(replies).ok_or_else(|| foreign("the reply belongs to no command"))?;
        Ok(())
    }
}

/// Finds out where messages end, of which each is one value or, in one direction, a list of values.
#[derive(Debug, Default)]
struct Scanner {
    kinds: &'static [u8],
    value_bytes_max: usize,
    line: Vec<u8>,
    /// Bytes of a value that have not come, with its line end.
    value_bytes_left: usize,
    /// Values of a list that have not come.
    values_left: u64,
}

impl Scanner {
    /// Returns how many messages have ended.
    fn scan(&mut self, mut bytes: &[u8]) -> io::Result<u64> {
        let mut ended = 0;
        while !bytes.is_empty() {
            if self.value_bytes_left > 0 {
                let (value, rest) = bytes.split_at(self.value_bytes_left.min(bytes.len()));
                self.value_bytes_left -= value.len();
                bytes = rest;
                if self.value_bytes_left == 0 {
                    ended += self.value_ended();
                }
                continue;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            if self.line.len() + part.len() > LINE_BYTES_MAX + 2 {
                return Err(foreign("a line of the reply is too long"));
            }
            self.line.extend_from_slice(part);
            bytes = rest;
            if end.is_some() {
                ended += self.line_ended()?;
                self.line.clear();
            }
        }
        Ok(ended)
    }

    fn line_ended(&mut self) -> io::Result<u64> {
        let line = self.line.strip_suffix(b"\r\n").ok_or_else(|| foreign("a line of the reply has no end"))?;
        let (kind, text) = line.split_first().ok_or_else(|| foreign("a line of the reply is empty"))?;
        if !self.kinds.contains(kind) {
            return Err(foreign("the reply is of a kind that no command has"));
        }
        match kind {
            b'*' => self.values_left = number(text)?,
            b'$' if text == b"-1" => return Ok(self.value_ended()),
            b'$' => {
                let length = number(text)?;
                let fits = usize::try_from(length).ok().filter(|length| *length <= self.value_bytes_max);
                let too_long = || foreign(&format!("the value of {length} bytes is longer than an item may be"));
                self.value_bytes_left = fits.ok_or_else(too_long)?.saturating_add(2);
            }
            _ => return Ok(self.value_ended()),
        }
        Ok(0)
    }

    /// Returns 1 if the message has ended with this value.
    fn value_ended(&mut self) -> u64 {
        self.values_left = self.values_left.saturating_sub(1);
        u64::from(self.values_left == 0)
    }
}

fn number(digits: &[u8]) -> io::Result<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number).and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| foreign("a length in the reply is no number"))
}

fn foreign(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n";

    /// Sends two commands, and then receives in pieces of this length.
    fn received(bytes: &[u8], piece: usize) -> io::Result<u64> {
        let mut framing = Framing::new(20_000);
        for piece in TWO.chunks(piece) {
            framing.sent(piece)?;
        }
        assert_eq!(framing.unanswered, 2);
        for piece in bytes.chunks(piece) {
            framing.received(piece)?;
        }
        Ok(framing.unanswered)
    }

    #[test]
    fn replies_are_counted_however_they_are_cut() {
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(received(b"$-1\r\n+PONG\r\n", piece).unwrap(), 0);
            assert_eq!(received(b"$6\r\n+a\r\n:5\r\n-ERR no\r\n", piece).unwrap(), 0);
            assert_eq!(received(b"$0\r\n\r\n", piece).unwrap(), 1);
            assert_eq!(received(b"$20000\r\n", piece).unwrap(), 2);
            let long = [&b"$20000\r\n"[..], &[b'\n'; 20_000], b"\r\n:12\r\n"].concat();
            assert_eq!(received(&long, piece).unwrap(), 0);
        }
    }

    #[test]
    fn what_no_command_is_answered_with_is_an_error() {
        let long_line = [b"+", &[b'x'; LINE_BYTES_MAX + 2][..]].concat();
        for piece in [1, 1000] {
            for (bytes, why) in [
                (&b"+PONG\r\n+PONG\r\n+PONG\r\n"[..], "the reply belongs to no command"),
                (b"$20001\r\n", "the value of 20001 bytes is longer than an item may be"),
                (b"$99999999999999999999999\r\n", "a length in the reply is no number"),
                (b"$-2\r\n", "a length in the reply is no number"),
                (b"*1000000000\r\n", "the reply is of a kind that no command has"),
                (b"%1\r\n", "the reply is of a kind that no command has"),
                (b">2\r\n", "the reply is of a kind that no command has"),
                (b"\r\n", "a line of the reply is empty"),
                (b"+OK\n", "a line of the reply has no end"),
                (b"HTTP/1.1 400 Bad Request\r\n", "the reply is of a kind that no command has"),
                (&long_line, "a line of the reply is too long"),
            ] {
                assert_eq!(received(bytes, piece).unwrap_err().to_string(), why);
            }
        }
    }
}
