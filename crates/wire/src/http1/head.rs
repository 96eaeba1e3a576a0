//! Splits the heads of requests and responses, and trailer sections, into lines and fields.
//!
//! One scan finds the end of the section. It accepts only CRLF as the end of a line, so it finds a bare CR or LF before the line is
//! interpreted. Only a section of well-formed lines goes to httparse, which checks names and values byte by byte; httparse would
//! accept a bare LF, but none is left. If httparse refuses the section, a slow second pass finds out which fault to report.

use super::grammar::{is_tchar, is_text, trim_ows};
use super::limits::HeadLimits;
use crate::Fields;
use http::StatusCode;

/// Most heads have no more field lines than this. The table for them is on the stack and is written for each head, so it is kept
/// small.
const LINES_ON_STACK: usize = 24;

/// What is wrong with the lines of a head or of a trailer section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HeadError {
    /// A CR that no LF follows.
    #[error("a CR stands without LF")]
    BareCr,
    /// An LF that no CR precedes.
    #[error("a line ends in LF without CR")]
    BareLf,
    /// White space between the first line and the first field.
    #[error("white space stands before the first field")]
    SpaceBeforeFirstField,
    /// A field line that begins with white space.
    #[error("a field is folded over several lines")]
    ObsFold,
    /// White space between a field's name and its colon.
    #[error("white space stands before a field's colon")]
    SpaceBeforeColon,
    /// A field line without a colon, or with a name that is not a token.
    #[error("a field's name is not a token followed by a colon")]
    FieldName,
    /// A control character other than HTAB in a field's value.
    #[error("a field's value contains a control character")]
    FieldValue,
    /// More field lines than the limit.
    #[error("there are more fields than the limit")]
    TooManyFields,
    /// More bytes than the limit.
    #[error("the head is longer than the limit")]
    TooLong,
}

impl HeadError {
    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BareCr => "bare-cr",
            Self::BareLf => "bare-lf",
            Self::SpaceBeforeFirstField => "space-before-first-field",
            Self::ObsFold => "obs-fold",
            Self::SpaceBeforeColon => "space-before-colon",
            Self::FieldName => "field-name",
            Self::FieldValue => "field-value",
            Self::TooManyFields => "too-many-fields",
            Self::TooLong => "head-too-long",
        }
    }

    /// The status to answer with if a client sent the head.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::TooManyFields | Self::TooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

/// A complete line at the front of a buffer.
pub(crate) struct HeadLine<'a> {
    /// The line without its CRLF; no CR or LF is in it.
    pub(crate) text: &'a [u8],
    /// The bytes after the CRLF.
    pub(crate) rest: &'a [u8],
}

impl HeadLine<'_> {
    /// How many bytes the line took, its CRLF included.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + 2
    }
}

/// Splits the first line off `buf`. `None`: need more.
///
/// A line that with its CRLF does not end within `bytes_max` bytes is [`HeadError::TooLong`].
pub(crate) fn next_line(buf: &[u8], bytes_max: usize) -> Result<Option<HeadLine<'_>>, HeadError> {
    let window = buf.get(..bytes_max).unwrap_or(buf);
    let is_full = window.len() == bytes_max;
    let Some(end) = memchr::memchr2(b'\r', b'\n', window) else {
        return if is_full { Err(HeadError::TooLong) } else { Ok(None) };
    };
    let (text, rest) = buf.split_at_checked(end).unwrap_or((buf, &[]));
    match rest {
        [b'\r'] if !is_full => Ok(None),
        [b'\r', ..] if end + 1 == bytes_max => Err(HeadError::TooLong),
        [b'\r', b'\n', rest @ ..] => Ok(Some(HeadLine { text, rest })),
        //= RFC 9112 section 2.2
        //# A recipient of such a bare CR MUST consider that element to be invalid or
        //# replace each bare CR with SP before processing the element or forwarding the message.
        [b'\r', ..] => Err(HeadError::BareCr),
        _ => Err(HeadError::BareLf),
    }
}

/// A complete field section. Its lines are counted and their ends checked; names and values are not checked yet.
#[derive(Debug)]
pub(super) struct FieldSection<'a> {
    /// The lines and the empty line that ends them.
    block: &'a [u8],
    lines: usize,
    /// The bytes after the empty line.
    pub(super) rest: &'a [u8],
}

/// Finds the end of the field section at the front of `buf`. `None`: need more.
///
/// `is_after_start_line` only chooses the error for a first line that begins with white space.
pub(super) fn field_section(
    buf: &[u8],
    bytes_max: usize,
    fields_max: usize,
    is_after_start_line: bool,
) -> Result<Option<FieldSection<'_>>, HeadError> {
    let mut rest = buf;
    let mut lines = 0;
    loop {
        let used = buf.len() - rest.len();
        let Some(line) = next_line(rest, bytes_max.saturating_sub(used))? else { return Ok(None) };
        rest = line.rest;
        match line.text.first() {
            None => {
                let block = buf.get(..buf.len() - rest.len()).unwrap_or_default();
                return Ok(Some(FieldSection { block, lines, rest }));
            }
            //= RFC 9112 section 2.2
            //# A recipient that receives whitespace between the start-line and the first header field MUST either
            //# reject the message as invalid or consume each whitespace-preceded line without further processing of it
            Some(b' ' | b'\t') if lines == 0 && is_after_start_line => return Err(HeadError::SpaceBeforeFirstField),
            //= RFC 9112 section 5.2
            //# A server that receives an obs-fold in a request message that is not within a "message/http" container
            //# MUST either reject the message by sending a 400 (Bad Request)
            //= RFC 9112 section 5.2
            //# A proxy or gateway that receives an obs-fold in a response message that is not within a "message/http"
            //# container MUST either discard the message and replace it with a 502 (Bad Gateway) response
            Some(b' ' | b'\t') => return Err(HeadError::ObsFold),
            Some(_) => lines += 1,
        }
        if lines > fields_max {
            return Err(HeadError::TooManyFields);
        }
    }
}

/// Reads the lines of a section into fields.
pub(super) fn parse_fields(section: &FieldSection<'_>) -> Result<Fields, HeadError> {
    let mut fields = Fields::with_capacity(section.block.len() + section.lines, section.lines);
    parse_fields_into(section, &mut fields)?;
    Ok(fields)
}

/// Appends the lines of a section to `fields`.
pub(super) fn parse_fields_into(section: &FieldSection<'_>, fields: &mut Fields) -> Result<(), HeadError> {
    let mut on_stack = [httparse::EMPTY_HEADER; LINES_ON_STACK];
    let mut on_heap = Vec::new();
    let table = match on_stack.get_mut(..section.lines) {
        Some(table) => table,
        None => {
            on_heap.resize(section.lines, httparse::EMPTY_HEADER);
            on_heap.as_mut_slice()
        }
    };
    //= RFC 9112 section 2.2
    //# A recipient MUST parse an HTTP message as a sequence of octets in an encoding that is a superset of US-ASCII
    match httparse::parse_headers(section.block, table) {
        Ok(httparse::Status::Complete((_, headers))) if headers.len() == section.lines => {
            for header in headers {
                fields.push(header.name, header.value);
            }
            Ok(())
        }
        _ => Err(first_fault(section.block)),
    }
}

/// Parses the field lines at the front of `buf`, up to and with the empty line that ends them. Returns the fields and their length in bytes.
/// `None`: need more. For fields that no request line and no status line precedes.
///
/// `target_bytes_max` of the limits is not used.
///
/// # Errors
/// When the lines cannot become valid or exceed a limit, also while they are still incomplete.
pub fn parse_field_lines(buf: &[u8], limits: &HeadLimits) -> Result<Option<(Fields, usize)>, HeadError> {
    let Some(section) = field_section(buf, limits.head_bytes_max, limits.fields_max, false)? else { return Ok(None) };
    Ok(Some((parse_fields(&section)?, buf.len() - section.rest.len())))
}

/// Which fault made httparse refuse the lines of `block`. Slow, and only for the report.
fn first_fault(block: &[u8]) -> HeadError {
    let mut rest = block;
    while let Ok(Some(line)) = next_line(rest, usize::MAX) {
        rest = line.rest;
        if let Err(fault) = split_field(line.text) {
            return fault;
        }
    }
    HeadError::FieldName
}

/// Name and value of one line, the value without the white space around it.
pub(crate) fn split_field(line: &[u8]) -> Result<(&[u8], &[u8]), HeadError> {
    let colon = memchr::memchr(b':', line).ok_or(HeadError::FieldName)?;
    let (name, value) = line.split_at_checked(colon).unwrap_or((line, &[]));
    match name {
        //= RFC 9112 section 5.1
        //# A server MUST reject, with a response status code of 400 (Bad Request), any received request message
        //# that contains whitespace between a header field name and colon.
        //= RFC 9112 section 5.1
        //# A proxy MUST remove any such whitespace from a response message before forwarding the message downstream.
        // Kasoku does not forward such a response: it refuses it.
        [.., b' ' | b'\t'] => Err(HeadError::SpaceBeforeColon),
        [] => Err(HeadError::FieldName),
        name if !name.iter().copied().all(is_tchar) => Err(HeadError::FieldName),
        name => {
            let value = trim_ows(value.strip_prefix(b":").unwrap_or(value));
            if value.iter().copied().all(is_text) { Ok((name, value)) } else { Err(HeadError::FieldValue) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(block: &[u8]) -> Result<Option<Fields>, HeadError> {
        match field_section(block, 1024, 3, true)? {
            Some(section) => parse_fields(&section).map(Some),
            None => Ok(None),
        }
    }

    //= RFC 9112 section 2.2
    //# A recipient MUST parse an HTTP message as a sequence of octets in an encoding that is a superset of US-ASCII
    #[test]
    fn lines_without_a_first_line_are_read_alike() {
        let limits = HeadLimits { fields_max: 2, head_bytes_max: 20, ..HeadLimits::default() };
        let parse = |buf: &[u8]| parse_field_lines(buf, &limits);
        let (fields, used) = parse(b"A: b\r\nC:d\r\n\r\nrest").unwrap().unwrap();
        assert_eq!((fields.block(), used), (&b"A: b\r\nC: d\r\n"[..], 13));
        assert_eq!(parse(b"\r\n").unwrap().map(|(fields, used)| (fields.is_empty(), used)), Some((true, 2)));
        assert_eq!((parse(b""), parse(b"A: b\r\n")), (Ok(None), Ok(None)));
        for (lines, fault) in [
            (&b" A: b\r\n\r\n"[..], HeadError::ObsFold),
            (b"A: b\n\n", HeadError::BareLf),
            (b"A b\r\n\r\n", HeadError::FieldName),
            (b"A: \0\r\n\r\n", HeadError::FieldValue),
            (b"A:\r\nB:\r\nC:\r\n\r\n", HeadError::TooManyFields),
            (b"A: bbbbbbbbbbbbbbbbbbb", HeadError::TooLong),
        ] {
            assert_eq!(parse(lines), Err(fault), "{:?}", String::from_utf8_lossy(lines));
        }
    }

    #[test]
    fn fields_are_read_as_sent_and_trimmed() {
        let fields = parse(b"Host: a\r\nx-empty:\r\nX-Wide: \t b\tc \xff \t\r\n\r\nrest").unwrap().unwrap();
        let lines: Vec<_> = fields.iter().collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"Host", b"a"), (b"x-empty", b""), (b"X-Wide", b"b\tc \xff")];
        assert_eq!(lines, expected);
        assert!(parse(b"\r\n").unwrap().unwrap().is_empty());
    }

    //= RFC 9112 section 2.2
    //# A recipient of such a bare CR MUST consider that element to be invalid or
    //# replace each bare CR with SP before processing the element or forwarding the message.
    //= RFC 9112 section 2.2
    //# A recipient that receives whitespace between the start-line and the first header field MUST either
    //# reject the message as invalid or consume each whitespace-preceded line without further processing of it
    //= RFC 9112 section 5.1
    //# A server MUST reject, with a response status code of 400 (Bad Request), any received request message
    //# that contains whitespace between a header field name and colon.
    //= RFC 9112 section 5.2
    //# A server that receives an obs-fold in a request message that is not within a "message/http" container
    //# MUST either reject the message by sending a 400 (Bad Request)
    #[test]
    fn each_malformed_line_is_an_error_of_its_own() {
        let rows: &[(&[u8], HeadError)] = &[
            (b"A: b\rc\r\n\r\n", HeadError::BareCr),
            (b"A: b\r\r\n\r\n", HeadError::BareCr),
            (b"A\r: b\r\n\r\n", HeadError::BareCr),
            (b"A: b\n\r\n", HeadError::BareLf),
            (b"A: b\r\n\n", HeadError::BareLf),
            (b" A: b\r\n\r\n", HeadError::SpaceBeforeFirstField),
            (b"\tA: b\r\n\r\n", HeadError::SpaceBeforeFirstField),
            (b" \r\n\r\n", HeadError::SpaceBeforeFirstField),
            (b"A: b\r\n c\r\n\r\n", HeadError::ObsFold),
            (b"A: b\r\n\tc\r\n\r\n", HeadError::ObsFold),
            (b"A: b\r\n \r\n\r\n", HeadError::ObsFold),
            (b"A : b\r\n\r\n", HeadError::SpaceBeforeColon),
            (b"A\t: b\r\n\r\n", HeadError::SpaceBeforeColon),
            (b"A b: c\r\n\r\n", HeadError::FieldName),
            (b": b\r\n\r\n", HeadError::FieldName),
            (b"A\r\n\r\n", HeadError::FieldName),
            (b"A\0: b\r\n\r\n", HeadError::FieldName),
            (b"A(b): c\r\n\r\n", HeadError::FieldName),
            (b"\xc3\xa4: c\r\n\r\n", HeadError::FieldName),
            (b"A: \0\r\n\r\n", HeadError::FieldValue),
            (b"A: b\x0bc\r\n\r\n", HeadError::FieldValue),
            (b"A: \x7f\r\n\r\n", HeadError::FieldValue),
            (b"A: 1\r\nB: \x01\r\nC : 2\r\n\r\n", HeadError::FieldValue),
            (b"A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", HeadError::TooManyFields),
        ];
        for (block, error) in rows {
            assert_eq!(parse(block), Err(*error), "{:?}", String::from_utf8_lossy(block));
        }
    }

    #[test]
    fn every_control_character_but_tab_is_refused_in_a_value() {
        for byte in (0..b' ').chain([0x7f]).filter(|byte| !b"\t\r\n".contains(byte)) {
            assert_eq!(parse(&[b'A', b':', b'x', byte, b'y', b'\r', b'\n', b'\r', b'\n']), Err(HeadError::FieldValue));
        }
    }

    #[test]
    fn the_limit_counts_to_the_last_byte_of_the_empty_line() {
        let block = b"A: b\r\n\r\n";
        assert!(matches!(field_section(block, 8, 1, true), Ok(Some(_))));
        for limit in 0..8 {
            assert_eq!(field_section(block, limit, 1, true).unwrap_err(), HeadError::TooLong, "{limit}");
        }
        // Still incomplete, and already too long.
        assert_eq!(field_section(b"A: bbbbb", 8, 1, true).unwrap_err(), HeadError::TooLong);
        assert!(matches!(field_section(b"A: bbbb", 8, 1, true), Ok(None)));
    }

    #[test]
    fn more_lines_than_the_table_on_the_stack_has_are_read_too() {
        let block = [b"A: b\r\n".repeat(LINES_ON_STACK + 1), b"\r\n".to_vec()].concat();
        let section = field_section(&block, usize::MAX, usize::MAX, true).unwrap().unwrap();
        assert_eq!(parse_fields(&section).unwrap().len(), LINES_ON_STACK + 1);
    }
}
