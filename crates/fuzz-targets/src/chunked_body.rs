//! Fuzz target for the body decoder: chunked bodies above all, and those of known length or without one. Input: the bytes after a
//! head.

use bytes::BytesMut;
use kasoku_wire::Fields;
use kasoku_wire::http1::{
    BodyDecoder, BodyError, BodyLength, BodyLimits, DecodedBody, HeadLimits, encode_chunk_head, encode_last_chunk,
};

/// Limits that are small enough for a fuzzer to exceed.
const SMALL: BodyLimits = BodyLimits { chunk_line_bytes_max: 16, trailer_bytes_max: 40, trailer_fields_max: 2 };
/// The sizes of the pieces in which the same bytes arrive.
const PIECES: [usize; 4] = [1, 2, 3, 13];

pub(crate) fn run(data: &[u8]) {
    for length in [BodyLength::None, BodyLength::Length(9), BodyLength::Chunked, BodyLength::UntilClose] {
        for limits in [BodyLimits::default(), SMALL] {
            let whole = decode(length, &limits, std::iter::once(data));
            for size in PIECES {
                assert_eq!(decode(length, &limits, data.chunks(size)), whole, "in pieces of {size}");
            }
            agrees_with_its_length(length, data, &whole);
        }
    }
    sent_on(data, None);
    let body = decode(BodyLength::Chunked, &BodyLimits::default(), std::iter::once(data));
    if let Some(Ok(trailers)) = &body.end {
        sent_on(&body.content, trailers.as_ref());
        assert_eq!(read_leniently(data), Some((body.content.clone(), body.consumed)), "a lenient reader disagrees");
    }
}

/// What the decoder gave. `end` is `None` if it needs more bytes.
#[derive(Debug, PartialEq)]
struct Body {
    content: Vec<u8>,
    end: Option<Result<Option<Fields>, BodyError>>,
    /// How many bytes the body took; 0 if it did not reach its end.
    consumed: usize,
}

fn decode<'a>(length: BodyLength, limits: &BodyLimits, pieces: impl Iterator<Item = &'a [u8]>) -> Body {
    let (mut decoder, mut buf, mut content) = (BodyDecoder::new(length, limits), BytesMut::new(), Vec::new());
    let mut given = 0;
    for piece in [&[][..]].into_iter().chain(pieces) {
        buf.extend_from_slice(piece);
        given += piece.len();
        loop {
            let before = buf.len();
            let decoded = decoder.decode(&mut buf);
            assert!(buf.len() <= before, "the buffer grew");
            match decoded {
                Ok(DecodedBody::Data(data)) => {
                    assert!(!data.is_empty() && before - buf.len() >= data.len());
                    content.extend_from_slice(&data);
                }
                Ok(DecodedBody::NeedMore) => break,
                Ok(DecodedBody::End(trailers)) => {
                    assert!(decoder.is_done() && decoder.finish_on_close().is_ok());
                    assert_eq!(decoder.decode(&mut buf), Ok(DecodedBody::End(None)), "an end is an end");
                    return Body { content, end: Some(Ok(trailers)), consumed: given - buf.len() };
                }
                Err(error) => {
                    assert_eq!(decoder.decode(&mut buf), Err(error), "a fault is final");
                    assert_eq!(decoder.finish_on_close(), Err(error));
                    assert!(error.status().is_client_error() && !error.to_string().is_empty());
                    return Body { content, end: Some(Err(error)), consumed: 0 };
                }
            }
        }
    }
    let is_end = matches!(length, BodyLength::UntilClose);
    assert_eq!(decoder.finish_on_close(), if is_end { Ok(()) } else { Err(BodyError::Truncated) });
    Body { content, end: None, consumed: 0 }
}

fn agrees_with_its_length(length: BodyLength, data: &[u8], body: &Body) {
    match length {
        BodyLength::None => assert!(body.content.is_empty() && body.end == Some(Ok(None)) && body.consumed == 0),
        BodyLength::Length(bytes) => {
            assert_eq!(body.content, data[..data.len().min(bytes as usize)]);
            assert_eq!(body.end.is_some(), data.len() as u64 >= bytes);
        }
        BodyLength::UntilClose => assert!(body.content == data && body.end.is_none()),
        BodyLength::Chunked => assert!(body.content.len() + 5 <= body.consumed || !matches!(body.end, Some(Ok(_)))),
    }
}

/// The decoder reads the same content back from chunks that Kasoku encodes, and leaves the bytes behind them alone.
fn sent_on(content: &[u8], trailers: Option<&Fields>) {
    let mut sent = Vec::new();
    for chunk in content.chunks(7) {
        encode_chunk_head(chunk.len(), &mut sent);
        sent.extend_from_slice(chunk);
        sent.extend_from_slice(b"\r\n");
    }
    encode_last_chunk(trailers, &mut sent);
    let consumed = sent.len();
    sent.extend_from_slice(b"GET /next HTTP/1.1\r\n");
    let limits = BodyLimits { trailer_bytes_max: HeadLimits::default().head_bytes_max, ..BodyLimits::default() };
    let again = decode(BodyLength::Chunked, &limits, std::iter::once(&sent[..]));
    assert_eq!(again, Body { content: content.to_vec(), end: Some(Ok(trailers.cloned())), consumed });
}

/// A careless decoder, such as an origin may have: it takes leading hexadecimal digits for the size, and all bytes up to the next
/// LF for the rest of a line. It must read each body that Kasoku accepts in the same way, or a request could hide from one of the
/// two.
fn read_leniently(data: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut at, mut content) = (0, Vec::new());
    loop {
        let line_bytes = data.get(at..)?.iter().position(|byte| *byte == b'\n')? + 1;
        let line = &data[at..at + line_bytes];
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = usize::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()?;
        at += line_bytes;
        if size == 0 {
            break;
        }
        content.extend_from_slice(data.get(at..at.checked_add(size)?)?);
        at += size;
        at += data.get(at..)?.iter().position(|byte| *byte == b'\n')? + 1;
    }
    loop {
        let line_bytes = data.get(at..)?.iter().position(|byte| *byte == b'\n')? + 1;
        let line = data[at..at + line_bytes].trim_ascii_end();
        at += line_bytes;
        if line.is_empty() {
            return Some((content, at));
        }
    }
}
