//! Tests of [`super`]: what the decoder gives for the bytes that arrive.

use super::*;

/// The content, the trailers if the end was reached, and the bytes left in the buffer.
type Outcome = Result<(Vec<u8>, Option<Option<Fields>>, Vec<u8>), BodyError>;

/// Feeds everything at once.
fn decode(length: BodyLength, bytes: &[u8]) -> Outcome {
    decode_within(length, bytes, &BodyLimits::default())
}

fn decode_within(length: BodyLength, bytes: &[u8], limits: &BodyLimits) -> Outcome {
    let (mut decoder, mut buf, mut content) = (BodyDecoder::new(length, limits), BytesMut::from(bytes), Vec::new());
    loop {
        match decoder.decode(&mut buf)? {
            DecodedBody::Data(data) => content.extend_from_slice(&data),
            DecodedBody::NeedMore => return Ok((content, None, buf.to_vec())),
            DecodedBody::End(trailers) => return Ok((content, Some(trailers), buf.to_vec())),
        }
    }
}

fn chunked_error(bytes: &[u8]) -> BodyError {
    decode(BodyLength::Chunked, bytes).expect_err(&String::from_utf8_lossy(bytes))
}

#[test]
fn a_body_without_length_ends_where_it_begins() {
    assert_eq!(decode(BodyLength::None, b"GET").unwrap(), (vec![], Some(None), b"GET".to_vec()));
    assert_eq!(decode(BodyLength::Length(0), b"GET").unwrap(), (vec![], Some(None), b"GET".to_vec()));
    assert!(BodyDecoder::new(BodyLength::Length(0), &BodyLimits::default()).is_done());
}

#[test]
fn a_body_of_known_length_leaves_the_next_message_in_the_buffer() {
    //= RFC 9112 section 6.3
    //# If a valid Content-Length header field is present without Transfer-Encoding, its decimal value defines
    //# the expected message body length in octets.
    assert_eq!(decode(BodyLength::Length(5), b"helloGET").unwrap(), (b"hello".to_vec(), Some(None), b"GET".to_vec()));
}

#[test]
fn remaining_counts_down() {
    let mut decoder = BodyDecoder::new(BodyLength::Length(5), &BodyLimits::default());
    assert_eq!((decoder.remaining(), decoder.is_done()), (Some(5), false));
    assert_eq!(decoder.decode(&mut BytesMut::from("hel")), Ok(DecodedBody::Data(Bytes::from("hel"))));
    assert_eq!((decoder.remaining(), decoder.is_done()), (Some(2), false));
    assert_eq!(decoder.decode(&mut BytesMut::from("lo")), Ok(DecodedBody::Data(Bytes::from("lo"))));
    assert_eq!((decoder.remaining(), decoder.is_done()), (Some(0), true));
    assert_eq!(BodyDecoder::new(BodyLength::Chunked, &BodyLimits::default()).remaining(), None);
    assert_eq!(BodyDecoder::new(BodyLength::UntilClose, &BodyLimits::default()).remaining(), None);
}

#[test]
fn content_leaves_the_buffer_without_a_copy() {
    let mut buf = BytesMut::from("5\r\nhello\r\n");
    let content_at = buf[3..].as_ptr();
    let mut decoder = BodyDecoder::new(BodyLength::Chunked, &BodyLimits::default());
    let Ok(DecodedBody::Data(data)) = decoder.decode(&mut buf) else { panic!() };
    assert_eq!((&data[..], data.as_ptr()), (&b"hello"[..], content_at));
}

//= RFC 9112 section 7.1
//# A recipient MUST be able to parse and decode the chunked transfer coding.
#[test]
fn chunks_are_joined_and_their_end_is_found() {
    let bytes = b"5\r\nhello\r\n00A\r\n, chunked \r\n6\r\nworld!\r\n000\r\n\r\nGET";
    assert_eq!(
        decode(BodyLength::Chunked, bytes).unwrap(),
        (b"hello, chunked world!".to_vec(), Some(None), b"GET".to_vec())
    );
}

//= RFC 9112 section 7.1.2
//# A recipient MUST NOT merge a received trailer field into the header section unless its
//# corresponding header field definition explicitly permits and instructs how the trailer field
//# value can be safely merged.
//= RFC 9112 section 7.1.2
//# A recipient that retains a received trailer field MUST either store/forward the trailer field
//# separately from the received header fields or merge the received trailer field into the header
//# section.
#[test]
fn trailers_are_given_apart_and_once() {
    let mut buf = BytesMut::from("0\r\nDigest: x\r\nB:y\r\n\r\nGET");
    let mut decoder = BodyDecoder::new(BodyLength::Chunked, &BodyLimits::default());
    let trailers: Fields = [("Digest", "x"), ("B", "y")].into_iter().collect();
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedBody::End(Some(trailers))));
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedBody::End(None)));
    assert_eq!(&buf[..], b"GET");
}

//= RFC 9112 section 7.1.1
//# A recipient MUST ignore unrecognized chunk extensions.
#[test]
fn well_formed_extensions_are_dropped() {
    for line in ["1;a", "1;a=b", "1;a=\"b;\\\"\t\"", "1 ; a = b", "1\t;a;b=\"\"", "1;a=\"\\\\\""] {
        let bytes = format!("{line}\r\nx\r\n0;last\r\n\r\n");
        assert_eq!(decode(BodyLength::Chunked, bytes.as_bytes()), Ok((b"x".to_vec(), Some(None), vec![])), "{line}");
    }
}

#[test]
fn malformed_extensions_are_refused() {
    for line in
        ["1;", "1; ", "1 ", "1;a=", "1;a b", "1;=b", "1;a=\"b", "1;a=\"b\"c", "1;a=\"\\", "1;a=\"\x01\"", "1;;a", "1 a"]
    {
        assert_eq!(chunked_error(format!("{line}\r\nx\r\n").as_bytes()), BodyError::ChunkExtension, "{line}");
    }
}

//= RFC 9112 section 7.1
//# recipients MUST anticipate potentially large hexadecimal numerals and prevent parsing errors due to integer
//# conversion overflows or precision loss due to integer representation.
#[test]
fn chunk_sizes_are_1_to_16_hex_digits() {
    for line in
        ["", "+5", "-1", "0x5", "g", "5g", "5,", ";a", "00000000000000005", "10000000000000000", "\u{665}", "5\0"]
    {
        assert_eq!(chunked_error(format!("{line}\r\nhello\r\n").as_bytes()), BodyError::ChunkSize, "{line:?}");
    }
    let mut decoder = BodyDecoder::new(BodyLength::Chunked, &BodyLimits::default());
    assert_eq!(decoder.decode(&mut BytesMut::from("FFFFFFFFFFFFFFFF\r\nx")), Ok(DecodedBody::Data(Bytes::from("x"))));
    assert!(matches!(decoder.state, BodyDecoderState::ChunkData(left) if left == u64::MAX - 1));
}

#[test]
fn lines_of_chunks_end_in_crlf_only() {
    for bytes in [&b"5\nhello\r\n"[..], b"5\rhello\r\n", b"5;a\nhello", b"5;a=\"\n\"\r\n", b"5\r\r\n"] {
        assert_eq!(chunked_error(bytes), BodyError::ChunkLine, "{:?}", String::from_utf8_lossy(bytes));
    }
    for bytes in [&b"5\r\nhello\n"[..], b"5\r\nhello0\r\n\r\n", b"5\r\nhello\rx", b"5\r\nhello5\r\n"] {
        assert_eq!(chunked_error(bytes), BodyError::ChunkEnd, "{:?}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(chunked_error(b"0\r\n\n"), BodyError::Trailer(HeadError::BareLf));
}

#[test]
fn chunk_lines_are_bounded_also_before_their_end_arrives() {
    let limits = BodyLimits { chunk_line_bytes_max: 16, ..BodyLimits::default() };
    let decode = |bytes: &[u8]| decode_within(BodyLength::Chunked, bytes, &limits);
    assert!(decode(b"1;aaaaaaaaaaaa\r\nx").is_ok());
    assert_eq!(decode(b"1;aaaaaaaaaaaaa\r\nx"), Err(BodyError::ChunkLineTooLong));
    assert_eq!(decode(b"1;aaaaaaaaaaaaaa"), Err(BodyError::ChunkLineTooLong));
}

//= RFC 9112 section 7.1.1
//# A server ought to limit the total length of chunk extensions received in a request to an amount reasonable for the
//# services provided
#[test]
fn a_stream_of_extensions_with_hardly_any_content_is_stopped() {
    let chunk = format!("1;{}\r\nx\r\n", "a".repeat(1000));
    assert!(decode(BodyLength::Chunked, chunk.repeat(16).as_bytes()).is_ok());
    assert_eq!(chunked_error(chunk.repeat(17).as_bytes()), BodyError::ChunkExtensionsTooLong);
    // A body with as much content as extensions may go on without end.
    let chunk = format!("400;{}\r\n{}\r\n", "a".repeat(1000), "x".repeat(1024));
    assert!(decode(BodyLength::Chunked, chunk.repeat(100).as_bytes()).is_ok());
}

#[test]
fn trailers_are_bounded_and_strict() {
    let limits = BodyLimits { trailer_bytes_max: 16, trailer_fields_max: 2, ..BodyLimits::default() };
    let error = |bytes: &[u8]| decode_within(BodyLength::Chunked, bytes, &limits).unwrap_err();
    assert_eq!(error(b"0\r\nA: aaaaaaaaaaaaaaaa"), BodyError::Trailer(HeadError::TooLong));
    assert_eq!(error(b"0\r\nA:\r\nA:\r\nA:\r\n"), BodyError::Trailer(HeadError::TooManyFields));
    assert_eq!(error(b"0\r\nA : b\r\n\r\n"), BodyError::Trailer(HeadError::SpaceBeforeColon));
    assert_eq!(error(b"0\r\n A: b\r\n\r\n"), BodyError::Trailer(HeadError::ObsFold));
    assert_eq!(error(b"0\r\nA: aaaaaaaaaaaaaaaa").status().as_u16(), 431);
}

#[test]
fn an_error_is_final() {
    let mut decoder = BodyDecoder::new(BodyLength::Chunked, &BodyLimits::default());
    assert_eq!(decoder.decode(&mut BytesMut::from("x\r\n")), Err(BodyError::ChunkSize));
    assert_eq!(decoder.decode(&mut BytesMut::from("0\r\n\r\n")), Err(BodyError::ChunkSize));
    assert_eq!(decoder.finish_on_close(), Err(BodyError::ChunkSize));
    assert!(!decoder.is_done());
}

//= RFC 9112 section 6.3
//# If the sender closes the connection or the recipient times out before the indicated number of octets are
//# received, the recipient MUST consider the message to be incomplete and close the connection.
//= RFC 9112 section 8
//# A client that receives an incomplete response message, which can occur when a connection is closed
//# prematurely or when decoding a supposedly chunked transfer coding fails, MUST record the message as
//# incomplete.
#[test]
fn a_body_cut_short_is_truncated() {
    let cut: &[(BodyLength, &str)] = &[
        (BodyLength::Length(5), ""),
        (BodyLength::Length(5), "hell"),
        (BodyLength::Chunked, ""),
        (BodyLength::Chunked, "5"),
        (BodyLength::Chunked, "5\r\nhell"),
        (BodyLength::Chunked, "5\r\nhello"),
        (BodyLength::Chunked, "5\r\nhello\r\n"),
        (BodyLength::Chunked, "5\r\nhello\r\n0\r\n"),
        (BodyLength::Chunked, "5\r\nhello\r\n0\r\nA: b\r\n"),
    ];
    for (length, bytes) in cut {
        let (mut decoder, mut buf) = (BodyDecoder::new(*length, &BodyLimits::default()), BytesMut::from(*bytes));
        while decoder.decode(&mut buf).unwrap() != DecodedBody::NeedMore {}
        assert_eq!(decoder.finish_on_close(), Err(BodyError::Truncated), "{length:?} {bytes:?}");
        assert_eq!(decoder.decode(&mut buf), Err(BodyError::Truncated));
    }
}

#[test]
fn a_close_delimited_body_ends_when_the_peer_closes() {
    //= RFC 9112 section 8
    //# A response that has neither chunked transfer coding nor Content-Length is terminated by closure of the
    //# connection
    let mut decoder = BodyDecoder::new(BodyLength::UntilClose, &BodyLimits::default());
    let mut buf = BytesMut::from("0\r\n\r\n");
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedBody::Data(Bytes::from("0\r\n\r\n"))));
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedBody::NeedMore));
    assert!(!decoder.is_done());
    assert_eq!(decoder.finish_on_close(), Ok(()));
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedBody::End(None)));
    assert!(decoder.is_done());
}
