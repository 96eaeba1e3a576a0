//! Property tests of FastCGI: results do not depend on how the records arrive, and encoded params are read back unchanged.

use super::encode::encode_params;
use super::*;
use bytes::BytesMut;
use proptest::prelude::*;

/// Records that are mostly valid, and random bytes.
fn records_like() -> impl Strategy<Value = Vec<u8>> {
    let record = (
        prop::sample::select(vec![kind::STDOUT, kind::STDOUT, kind::STDERR, kind::END_REQUEST, kind::STDIN, 77]),
        prop::sample::select(vec![1u16, 1, 1, 1, 2]),
        prop::collection::vec(any::<u8>(), 0..20),
        0u8..9,
    )
        .prop_map(|(kind, request_id, mut content, padding_bytes)| {
            if kind == kind::END_REQUEST {
                content.resize(8, 0);
            }
            let header = Header { kind, request_id, content_bytes: content.len() as u16, padding_bytes };
            [&header.to_bytes()[..], &content, &vec![0; usize::from(padding_bytes)]].concat()
        });
    let anything = prop_oneof![9 => record, 1 => prop::collection::vec(any::<u8>(), 0..9)];
    prop::collection::vec(anything, 0..8).prop_map(|records| records.concat())
}

/// Standard output, standard error, the end or the error, and the bytes left in the buffer.
type Outcome = (Vec<u8>, Vec<u8>, Option<Result<EndRequest, FastCgiError>>, Vec<u8>);

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let (mut decoder, mut buf) = (Decoder::new(1), BytesMut::new());
    let (mut stdout, mut stderr, mut ended) = (Vec::new(), Vec::new(), None);
    for piece in pieces {
        buf.extend_from_slice(piece);
        while ended.is_none() {
            match decoder.decode(&mut buf) {
                Ok(DecodedRecord::Stdout(data)) => stdout.extend_from_slice(&data),
                Ok(DecodedRecord::Stderr(data)) => stderr.extend_from_slice(&data),
                Ok(DecodedRecord::StdoutEnd) => {}
                Ok(DecodedRecord::NeedMore) => break,
                Ok(DecodedRecord::End(end)) => ended = Some(Ok(end)),
                Err(error) => ended = Some(Err(error)),
            }
        }
    }
    // The bytes left after an error depend on when the decoder saw it; no caller uses them.
    let left = if matches!(ended, Some(Err(_))) { Vec::new() } else { buf.to_vec() };
    (stdout, stderr, ended, left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn answers_are_decoded_the_same_however_they_arrive(bytes in records_like(), size in 1usize..12) {
        prop_assert_eq!(decode(bytes.chunks(size)), decode(std::iter::once(&bytes[..])));
    }

    #[test]
    fn params_are_read_as_they_were_meant(
        pairs in prop::collection::vec(("[A-Z_]{0,9}", prop::collection::vec(any::<u8>(), 0..300)), 0..9),
    ) {
        let mut sent = Vec::new();
        encode_params(7, pairs.iter().map(|(name, value)| (name.as_bytes(), &value[..])), &mut sent);
        let (mut stream, mut rest) = (Vec::new(), &sent[..]);
        loop {
            let header = Header::parse(rest).unwrap().unwrap();
            prop_assert_eq!((header.kind, header.request_id), (kind::PARAMS, 7));
            let end = HEADER_BYTES + usize::from(header.content_bytes);
            stream.extend_from_slice(&rest[HEADER_BYTES..end]);
            rest = &rest[end..];
            if header.content_bytes == 0 {
                break;
            }
        }
        prop_assert!(rest.is_empty(), "the end is the end");
        let (mut read, mut rest) = (Vec::new(), &stream[..]);
        while let Some(([name, value], behind)) = next_pair(rest) {
            read.push((String::from_utf8(name.to_vec()).unwrap(), value.to_vec()));
            rest = behind;
        }
        prop_assert!(rest.is_empty(), "a pair is cut off");
        prop_assert_eq!(read, pairs);
    }
}

/// The first pair of `stream`, which holds whole pairs, and what follows it (section 3.4).
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
