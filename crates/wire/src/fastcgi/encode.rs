//! Encodes the records that Kasoku sends, without padding, which the specification only recommends for the sake of alignment.
//!
//! PARAMS is split between pairs: the specification allows a split within a pair, but php-fpm reads each record by itself. Only a
//! pair that is longer than a record is split.

use super::{CONTENT_BYTES_MAX, HEADER_BYTES, Header, kind};

/// The role of a program that answers a request (section 6.2).
const RESPONDER: u8 = 1;
/// The flag that leaves the connection open after the request (section 5.1).
const KEEP_CONN: u8 = 1;
/// The highest bit of a length of four bytes (section 3.4).
const IS_LONG: u32 = 1 << 31;

/// Appends BEGIN_REQUEST for the role Responder. The application server closes the connection after its answer unless `is_kept`.
pub fn encode_begin_request(request_id: u16, is_kept: bool, out: &mut Vec<u8>) {
    let flags = if is_kept { KEEP_CONN } else { 0 };
    encode_record(kind::BEGIN_REQUEST, request_id, &[0, RESPONDER, flags, 0, 0, 0, 0, 0], out);
}

/// Appends the stream PARAMS with its end. Names and values are shorter than 2 GiB: they come from a head.
pub fn encode_params<'p>(request_id: u16, params: impl IntoIterator<Item = (&'p [u8], &'p [u8])>, out: &mut Vec<u8>) {
    let mut content = Vec::with_capacity(2048);
    let flush = |content: &mut Vec<u8>, out: &mut Vec<u8>| {
        for part in content.chunks(CONTENT_BYTES_MAX) {
            encode_record(kind::PARAMS, request_id, part, out);
        }
        content.clear();
    };
    for (name, value) in params {
        let before = content.len();
        encode_pair(name, value, &mut content);
        if content.len() > CONTENT_BYTES_MAX {
            let mut pair = content.split_off(before);
            flush(&mut content, out);
            if pair.len() > CONTENT_BYTES_MAX {
                flush(&mut pair, out);
            }
            content = pair;
        }
    }
    flush(&mut content, out);
    encode_record(kind::PARAMS, request_id, &[], out);
}

/// Appends the header of a STDIN record; the caller writes `content_bytes` bytes behind it: at least 1, at most
/// [`CONTENT_BYTES_MAX`].
pub fn encode_stdin_header(request_id: u16, content_bytes: usize, out: &mut Vec<u8>) {
    debug_assert!((1..=CONTENT_BYTES_MAX).contains(&content_bytes));
    encode_header(kind::STDIN, request_id, content_bytes, out);
}

/// Appends the end of STDIN.
pub fn encode_stdin_end(request_id: u16, out: &mut Vec<u8>) {
    encode_record(kind::STDIN, request_id, &[], out);
}

/// Appends a pair of a name and a value (section 3.4). Both are shorter than 2 GiB.
fn encode_pair(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.reserve(name.len() + value.len() + 8);
    encode_length(name.len(), out);
    encode_length(value.len(), out);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// A length below 128 takes one byte, a longer one four, with the highest bit set.
fn encode_length(length: usize, out: &mut Vec<u8>) {
    debug_assert!(length < IS_LONG as usize);
    match u8::try_from(length) {
        Ok(short @ 0..128) => out.push(short),
        _ => out.extend_from_slice(&(length as u32 | IS_LONG).to_be_bytes()),
    }
}

fn encode_record(kind: u8, request_id: u16, content: &[u8], out: &mut Vec<u8>) {
    out.reserve(HEADER_BYTES + content.len());
    encode_header(kind, request_id, content.len(), out);
    out.extend_from_slice(content);
}

fn encode_header(kind: u8, request_id: u16, content_bytes: usize, out: &mut Vec<u8>) {
    debug_assert!(content_bytes <= CONTENT_BYTES_MAX);
    let header = Header { kind, request_id, content_bytes: content_bytes as u16, padding_bytes: 0 };
    out.extend_from_slice(&header.to_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type and content of each record.
    fn records(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let header = Header::parse(bytes).unwrap().unwrap();
            assert_eq!((header.request_id, header.padding_bytes), (1, 0));
            let end = HEADER_BYTES + usize::from(header.content_bytes);
            records.push((header.kind, bytes[HEADER_BYTES..end].to_vec()));
            bytes = &bytes[end..];
        }
        records
    }

    #[test]
    fn a_request_is_the_bytes_of_the_specification() {
        let mut out = Vec::new();
        encode_begin_request(0x102, true, &mut out);
        encode_params(0x102, [(&b"SERVER_PORT"[..], &b"80"[..])], &mut out);
        encode_stdin_header(0x102, 3, &mut out);
        out.extend_from_slice(b"a=b");
        encode_stdin_end(0x102, &mut out);
        let expected = [
            &b"\x01\x01\x01\x02\0\x08\0\0\0\x01\x01\0\0\0\0\0"[..],
            b"\x01\x04\x01\x02\0\x0f\0\0\x0b\x02SERVER_PORT80",
            b"\x01\x04\x01\x02\0\0\0\0",
            b"\x01\x05\x01\x02\0\x03\0\0a=b",
            b"\x01\x05\x01\x02\0\0\0\0",
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn lengths_of_names_and_values_take_one_byte_or_four() {
        let long = [b'v'; 128];
        let mut out = Vec::new();
        encode_pair(b"n", &long[..127], &mut out);
        encode_pair(b"n", &long, &mut out);
        assert_eq!(&out[..3], b"\x01\x7fn");
        assert_eq!(&out[130..136], b"\x01\x80\0\0\x80n");
        assert_eq!(out.len(), 130 + 6 + 128);
    }

    #[test]
    fn params_are_cut_between_pairs_and_only_a_huge_one_is_split() {
        let huge = vec![b'h'; CONTENT_BYTES_MAX + 1];
        let half = vec![b'x'; 40_000];
        let pairs = [(&b"A"[..], &half[..]), (b"B", &half), (b"C", &huge), (b"D", b"1")];
        let mut out = Vec::new();
        encode_params(1, pairs, &mut out);
        let records = records(&out);
        assert!(records.iter().all(|(kind, _)| *kind == kind::PARAMS));
        let lengths: Vec<usize> = records.iter().map(|(_, content)| content.len()).collect();
        let pair = |value: usize| 1 + 4 + 1 + value;
        assert_eq!(lengths, [pair(40_000), pair(40_000), CONTENT_BYTES_MAX, 7, 4, 0]);
    }
}
