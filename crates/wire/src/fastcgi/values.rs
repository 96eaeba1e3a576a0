//! Parses an application server's answer to GET_VALUES, in which it describes itself (section 4.1).
//!
//! GET_VALUES runs no program, so it can tell whether a FastCGI application server listens at an address at all. The values
//! themselves are only hints: php-fpm answers with a constant. (FCGI.pm does not answer at all.) Kasoku sends no GET_VALUES when it
//! serves requests; `programs/src/fastcgi/mod.rs` says why.

use super::{FastCgiError, HEADER_BYTES, Header, NULL_REQUEST_ID, kind, split_pair};

/// The most content of an answer, in bytes: three values need far less.
const CONTENT_BYTES_MAX: u16 = 1024;
/// The size of UNKNOWN_TYPE's content (section 4.2).
const UNKNOWN_TYPE_BYTES: u16 = 8;

/// The names that the specification defines.
const MAX_CONNS: &str = "FCGI_MAX_CONNS";
const MAX_REQS: &str = "FCGI_MAX_REQS";
const MPXS_CONNS: &str = "FCGI_MPXS_CONNS";

/// The answer to GET_VALUES. A value that is missing or is not a number is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// The most connections at a time.
    pub connections_max: Option<u64>,
    /// The most requests at a time.
    pub requests_max: Option<u64>,
    /// Whether the application server takes several requests at a time on one connection.
    pub is_multiplexing: Option<bool>,
}

impl Values {
    /// The names to ask for.
    pub const NAMES: [&str; 3] = [MAX_CONNS, MAX_REQS, MPXS_CONNS];
}

/// Parses the answer at the front of `buf`. Returns the values and the answer's length in bytes; `None`: need more. UNKNOWN_TYPE,
/// by which an application server says that it does not know GET_VALUES, is an answer without values.
///
/// # Errors
/// When the bytes cannot become such an answer.
pub fn parse_values(buf: &[u8]) -> Result<Option<(Values, usize)>, FastCgiError> {
    let Some(header) = Header::parse(buf)? else { return Ok(None) };
    if header.request_id != NULL_REQUEST_ID {
        return Err(FastCgiError::RequestId);
    }
    let is_sound = match header.kind {
        kind::GET_VALUES_RESULT => header.content_bytes <= CONTENT_BYTES_MAX,
        kind::UNKNOWN_TYPE => header.content_bytes == UNKNOWN_TYPE_BYTES,
        _ => return Err(FastCgiError::RecordType),
    };
    if !is_sound {
        return Err(FastCgiError::RecordLength);
    }
    let end = HEADER_BYTES + usize::from(header.content_bytes);
    let record_bytes = end + usize::from(header.padding_bytes);
    if buf.len() < record_bytes {
        return Ok(None);
    }
    let values = match header.kind {
        kind::GET_VALUES_RESULT => read(buf.get(HEADER_BYTES..end).unwrap_or_default())?,
        _ => Values::default(),
    };
    Ok(Some((values, record_bytes)))
}

fn read(mut content: &[u8]) -> Result<Values, FastCgiError> {
    let mut values = Values::default();
    while let Some(pair) = split_pair(content)? {
        content = pair.rest;
        let number = str::from_utf8(pair.value).ok().and_then(|digits| digits.parse().ok());
        match str::from_utf8(pair.name) {
            Ok(MAX_CONNS) => values.connections_max = number,
            Ok(MAX_REQS) => values.requests_max = number,
            Ok(MPXS_CONNS) => values.is_multiplexing = number.map(|number| number != 0),
            _ => {}
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastcgi::encode::encode_get_values;

    #[test]
    fn the_question_is_three_names_without_values() {
        let mut out = Vec::new();
        encode_get_values(&Values::NAMES, &mut out);
        assert_eq!(&out[..8], b"\x01\x09\0\0\0\x30\0\0");
        assert_eq!(&out[8..], b"\x0e\0FCGI_MAX_CONNS\x0d\0FCGI_MAX_REQS\x0f\0FCGI_MPXS_CONNS");
    }

    #[test]
    fn php_fpms_answer_is_read_and_so_is_that_of_who_knows_no_questions() {
        let php = b"\x01\x0a\0\0\0\x12\x06\0\x0f\x01FCGI_MPXS_CONNS0\0\0\0\0\0\0";
        let expected = Values { is_multiplexing: Some(false), ..Values::default() };
        assert_eq!(parse_values(php), Ok(Some((expected, php.len()))));
        let all = b"\x01\x0a\0\0\0\x34\0\0\x0e\x01FCGI_MAX_CONNS8\x0d\x02FCGI_MAX_REQS16\x0f\x01FCGI_MPXS_CONNS1";
        let expected = Values { connections_max: Some(8), requests_max: Some(16), is_multiplexing: Some(true) };
        assert_eq!(parse_values(all), Ok(Some((expected, all.len()))));
        for end in 0..php.len() {
            assert_eq!(parse_values(&php[..end]), Ok(None), "{end}");
        }
        assert_eq!(parse_values(b"\x01\x0b\0\0\0\x08\0\0\x09\0\0\0\0\0\0\0"), Ok(Some((Values::default(), 16))));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let rows: &[(&[u8], FastCgiError)] = &[
            (b"HTTP/1.1", FastCgiError::Version),
            (b"\x01\x0a\0\x01\0\0\0\0", FastCgiError::RequestId),
            (b"\x01\x03\0\0\0\x08\0\0", FastCgiError::RecordType),
            (b"\x01\x0a\0\0\xff\xff\0\0", FastCgiError::RecordLength),
            (b"\x01\x0b\0\0\0\x07\0\0", FastCgiError::RecordLength),
            (b"\x01\x0a\0\0\0\x02\0\0\x05\x05", FastCgiError::Pairs),
        ];
        for (bytes, error) in rows {
            assert_eq!(parse_values(bytes), Err(*error), "{bytes:?}");
        }
    }
}
