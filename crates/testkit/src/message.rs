//! The head of a message as it was read: its first line, and its fields in order.

/// A request's or a response's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The request line or the status line, without CRLF.
    pub line: String,
    /// Names as sent, values trimmed.
    pub fields: Vec<(String, String)>,
}

impl Head {
    /// Reads a head; `text` ends before the empty line.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        Self { line, fields: lines.filter(|line| !line.is_empty()).map(field).collect() }
    }

    /// The values of all lines of that name, joined by `", "`.
    pub fn field(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self.all(name).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The value of each line of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Whether a line of that name is there.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// The word of that number in the first line, from 0: method, target and version, or version and status.
    pub fn word(&self, number: usize) -> &str {
        self.line.split(' ').nth(number).unwrap_or_default()
    }

    /// The body's framing by its fields.
    pub(crate) fn framing(&self) -> Framing {
        let length = self.field("content-length");
        match self.field("transfer-encoding") {
            //= RFC 9112 section 6.2
            //# A sender MUST NOT send a Content-Length header field in any message that contains a Transfer-Encoding header
            //# field.
            Some(_) if length.is_some() => panic!("both Content-Length and Transfer-Encoding: {self:?}"),
            Some(coding) => {
                assert_eq!(coding, "chunked", "a coding nobody asked for: {self:?}");
                Framing::Chunked
            }
            None => match length {
                Some(length) => Framing::Length(length.parse().unwrap_or_else(|_| panic!("{self:?}"))),
                None => Framing::Nothing,
            },
        }
    }
}

pub(crate) fn field(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("not a field line: {line:?}"));
    (name.to_owned(), value.trim().to_owned())
}

/// What the fields say about a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Nothing,
    Length(usize),
    Chunked,
}
