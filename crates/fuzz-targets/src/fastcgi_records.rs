//! Fuzz target for the records of a FastCGI application server. Input: its answer to request 1.

use bytes::BytesMut;
use kasoku_wire::fastcgi::encode::encode_params;
use kasoku_wire::fastcgi::{DecodedRecord, Decoder, EndRequest, FastCgiError};

/// The sizes of the pieces in which the same bytes arrive.
const PIECES: [usize; 4] = [1, 2, 7, 13];

pub(crate) fn run(data: &[u8]) {
    let whole = decode(std::iter::once(data));
    for size in PIECES {
        assert_eq!(decode(data.chunks(size)), whole, "in pieces of {size}");
    }
    if let Some(Ok(end)) = whole.end {
        let (stdout, stderr, consumed, other_end) = read_simply(data).expect("a simple reader refuses it");
        assert_eq!((&whole.stdout, &whole.stderr, whole.consumed), (&stdout, &stderr, consumed));
        assert_eq!(end.app_status, other_end);
    }
    params(data);
}

/// What the decoder gave. `end` is `None` if it needs more bytes.
#[derive(Debug, PartialEq)]
struct Answer {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    end: Option<Result<EndRequest, FastCgiError>>,
    /// How many bytes the answer took; 0 if it did not reach its end.
    consumed: usize,
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Answer {
    let (mut decoder, mut buf, mut given) = (Decoder::new(1), BytesMut::new(), 0);
    let mut answer = Answer { stdout: Vec::new(), stderr: Vec::new(), end: None, consumed: 0 };
    let mut is_stdout_ended = false;
    for piece in pieces {
        buf.extend_from_slice(piece);
        given += piece.len();
        loop {
            let before = buf.len();
            let decoded = decoder.decode(&mut buf);
            assert!(buf.len() <= before, "the buffer grew");
            match decoded {
                Ok(DecodedRecord::NeedMore) => break,
                Ok(DecodedRecord::Stdout(data)) => {
                    assert!(!data.is_empty() && !is_stdout_ended);
                    answer.stdout.extend_from_slice(&data);
                }
                Ok(DecodedRecord::StdoutEnd) => assert!(!std::mem::replace(&mut is_stdout_ended, true)),
                Ok(DecodedRecord::Stderr(data)) => {
                    assert!(!data.is_empty());
                    answer.stderr.extend_from_slice(&data);
                }
                Ok(DecodedRecord::End(end)) => {
                    assert_eq!(decoder.decode(&mut buf), Ok(DecodedRecord::End(end)), "an end is an end");
                    return Answer { end: Some(Ok(end)), consumed: given - buf.len(), ..answer };
                }
                Err(error) => {
                    assert_eq!(decoder.decode(&mut buf), Err(error), "a fault is final");
                    assert!(!error.name().is_empty() && !error.to_string().is_empty());
                    return Answer { end: Some(Err(error)), ..answer };
                }
            }
        }
    }
    // The decoder holds back at most the beginning of a header or of END_REQUEST, which have eight bytes each.
    assert!(buf.len() < 8, "{} bytes are held back", buf.len());
    answer
}

/// A decoder that takes each record as a whole and checks nothing.
fn read_simply(data: &[u8]) -> Option<(Vec<u8>, Vec<u8>, usize, u32)> {
    let (mut at, mut stdout, mut stderr) = (0, Vec::new(), Vec::new());
    loop {
        let header = data.get(at..at + 8)?;
        let content_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let content = data.get(at + 8..at + 8 + content_bytes)?;
        at += 8 + content_bytes + usize::from(header[6]);
        match header[1] {
            6 => stdout.extend_from_slice(content),
            7 => stderr.extend_from_slice(content),
            _ => return Some((stdout, stderr, at, u32::from_be_bytes(*content.first_chunk()?))),
        }
    }
}

/// Pairs that are parsed and encoded again are parsed to the same pairs, in however many records.
fn params(data: &[u8]) {
    let (mut pairs, mut rest) = (Vec::new(), data);
    while let Some((pair, behind)) = next_pair(rest) {
        pairs.push(pair);
        rest = behind;
    }
    let mut sent = Vec::new();
    encode_params(1, pairs.iter().map(|[name, value]| (*name, *value)), &mut sent);
    let (mut stream, mut at) = (Vec::new(), 0);
    while at < sent.len() {
        let content_bytes = usize::from(u16::from_be_bytes([sent[at + 4], sent[at + 5]]));
        stream.extend_from_slice(&sent[at + 8..at + 8 + content_bytes]);
        at += 8 + content_bytes;
    }
    let mut rest = &stream[..];
    for pair in pairs {
        let (read, behind) = next_pair(rest).unwrap();
        assert_eq!(read, pair);
        rest = behind;
    }
    assert!(rest.is_empty());
}

/// The first pair of `stream`, if it is whole, and what follows it (section 3.4).
fn next_pair(stream: &[u8]) -> Option<([&[u8]; 2], &[u8])> {
    let length = |stream: &mut &[u8]| {
        let is_long = *stream.first()? >= 128;
        let (length, rest) = stream.split_at_checked(if is_long { 4 } else { 1 })?;
        *stream = rest;
        Some(length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)) & 0x7fff_ffff)
    };
    let mut rest = stream;
    let (name_bytes, value_bytes) = (length(&mut rest)?, length(&mut rest)?);
    let (name, rest) = rest.split_at_checked(name_bytes)?;
    let (value, rest) = rest.split_at_checked(value_bytes)?;
    Some(([name, value], rest))
}
