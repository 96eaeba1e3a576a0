//! Property tests of the HTTP/1 parsers: no bytes cause a panic, and the results do not depend on how the bytes arrive.

use super::*;
use crate::{Fields, RequestHead, proxy_protocol, target};
use bytes::BytesMut;
use http::Method;
use proptest::prelude::*;

/// Fragments of HTTP and random bytes: some inputs parse far, and errors occur in every place.
fn http_like() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        prop::sample::select(vec![
            "GET / HTTP/1.1\r\n",
            "POST /a?b HTTP/1.0\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.0 204\r\n",
            "Host: a\r\n",
            "Host",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "A: b\r\n",
            "\r\n",
            "\r",
            "\n",
            " ",
            "\t",
            ":",
            ",",
            ";",
            "5\r\nhello\r\n",
            "0\r\n",
            "1;a=\"b\"\r\n",
            "\"",
            "=",
            "x",
            "f",
            "[::1]",
            "http://a:80",
            "PROXY ",
            "TCP4 1.2.3.4 ",
            "UNKNOWN\r\n",
            "1 ",
            "2",
            "\r\n\r\n\0\r\nQUIT\n",
            "\x21\x11\0\x0c",
            "HTTP/1.1",
            "GET ",
            "/",
            "*",
            "%41",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(fragment, 0..14).prop_map(|fragments| fragments.concat())
}

/// A valid request or response head, with a byte replaced now and then.
fn nearly_valid_head(first_line: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let line = ("[A-Za-z][A-Za-z-]{0,8}", "[ -~]{0,12}").prop_map(|(name, value)| format!("{name}: {value}\r\n"));
    let lines = prop::collection::vec(line, 0..6);
    (lines, prop::option::of((any::<prop::sample::Index>(), any::<u8>()))).prop_map(move |(lines, replaced)| {
        let mut bytes = format!("{first_line}\r\nHost: a\r\n{}\r\nrest", lines.concat()).into_bytes();
        if let Some((at, byte)) = replaced {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

/// Limits that are small enough for random bytes to exceed.
const SMALL_HEAD: HeadLimits = HeadLimits { head_bytes_max: 60, target_bytes_max: 12, fields_max: 3 };
const SMALL_BODY: BodyLimits = BodyLimits { chunk_line_bytes_max: 8, trailer_bytes_max: 24, trailer_fields_max: 2 };

/// Each prefix asks for more or gives the same result as the whole.
fn assert_prefixes_agree<T: PartialEq + std::fmt::Debug>(bytes: &[u8], parse: impl Fn(&[u8]) -> T, need_more: T) {
    let whole = parse(bytes);
    let mut is_decided = false;
    for end in 0..=bytes.len() {
        let prefix = parse(&bytes[..end]);
        assert!(prefix == need_more && !is_decided || prefix == whole, "{end}: {prefix:?} is not {whole:?}");
        is_decided = prefix != need_more;
    }
}

/// The content, and the end or the error: `None` if more bytes are needed.
type Outcome = (Vec<u8>, Option<Result<Option<Fields>, BodyError>>);

fn decode_in_pieces<'a>(length: BodyLength, limits: &BodyLimits, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let (mut decoder, mut buf, mut content) = (BodyDecoder::new(length, limits), BytesMut::new(), Vec::new());
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut buf) {
                Ok(DecodedBody::Data(data)) => content.extend_from_slice(&data),
                Ok(DecodedBody::NeedMore) => break,
                Ok(DecodedBody::End(trailers)) => return (content, Some(Ok(trailers))),
                Err(error) => return (content, Some(Err(error))),
            }
        }
    }
    (content, None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn heads_are_judged_the_same_however_they_arrive(
        bytes in prop_oneof![http_like(), nearly_valid_head("GET / HTTP/1.1"), nearly_valid_head("HTTP/1.1 200 OK")],
    ) {
        for limits in [HeadLimits::default(), SMALL_HEAD] {
            assert_prefixes_agree(&bytes, |b| parse_request(b, &limits), Ok(None));
            assert_prefixes_agree(&bytes, |b| parse_response(b, &limits), Ok(None));
        }
        assert_prefixes_agree(&bytes, proxy_protocol::parse_proxy_header, Ok(None));
    }

    #[test]
    fn bodies_are_decoded_the_same_however_they_arrive(bytes in http_like(), size in 1usize..5) {
        for length in [BodyLength::None, BodyLength::Length(7), BodyLength::Chunked, BodyLength::UntilClose] {
            for limits in [BodyLimits::default(), SMALL_BODY] {
                let whole = decode_in_pieces(length, &limits, std::iter::once(&bytes[..]));
                let pieces = decode_in_pieces(length, &limits, [&[][..]].into_iter().chain(bytes.chunks(size)));
                prop_assert_eq!(whole, pieces);
            }
        }
    }

    #[test]
    fn what_we_encode_in_chunks_we_decode(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        trailers in prop::collection::vec(("[A-Za-z]{1,8}", "[!-~]{0,8}"), 0..3),
        size in 1usize..50,
    ) {
        let trailers: Fields = trailers.into_iter().collect();
        let mut encoded = Vec::new();
        for chunk in &chunks {
            encode_chunk_head(chunk.len(), &mut encoded);
            encoded.extend_from_slice(chunk);
            encoded.extend_from_slice(b"\r\n");
        }
        encode_last_chunk(Some(&trailers), &mut encoded);
        let (content, end) = decode_in_pieces(BodyLength::Chunked, &BodyLimits::default(), encoded.chunks(size));
        prop_assert_eq!(content, chunks.concat());
        prop_assert_eq!(end, Some(Ok((!trailers.is_empty()).then_some(trailers))));
    }

    // The parser is strict, so it would refuse each of these in an encoded head.
    //= RFC 9112 section 2.2
    //# A sender MUST NOT send whitespace between the start-line and the first header field.
    //= RFC 9112 section 2.2
    //# A sender MUST NOT generate a bare CR (a CR character not immediately followed by LF) within any protocol elements
    //# other than the content.
    //= RFC 9112 section 5.2
    //# A sender MUST NOT generate a message that includes line folding
    #[test]
    fn what_we_encode_as_a_head_we_parse(
        target in "/[!-\"$-~]{0,20}",
        lines in prop::collection::vec(("[A-Za-z-]{1,8}", "([!-~]([ -~]{0,8}[!-~])?)?"), 0..6),
    ) {
        let mut head = RequestHead::new(Method::GET, target).with("Host", "a");
        for (name, value) in lines.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            head.fields.push(name, value);
        }
        let mut encoded = Vec::new();
        encode_request_head(&head, &mut encoded);
        let length = encoded.len();
        encoded.extend_from_slice(b"GET / next");
        prop_assert_eq!(parse_request(&encoded, &HeadLimits::default()), Ok(Some((head, length))));
    }

    #[test]
    fn nothing_panics_and_normalising_an_authority_twice_changes_nothing(
        bytes in prop_oneof![http_like(), "[a-zA-Z0-9.:%\\[\\]-]{0,12}".prop_map(String::into_bytes)],
    ) {
        if let Ok(text) = target::authority(&bytes, 80) {
            prop_assert_eq!(target::authority(text.as_bytes(), 80), Ok(text));
        }
        let text = String::from_utf8_lossy(&bytes);
        for method in [Method::GET, Method::OPTIONS, Method::CONNECT] {
            let _ = target::parse_target(&method, &text);
        }
        let fields: Fields = [("Transfer-Encoding", &text), ("Connection", &text)]
            .into_iter()
            .map(|(name, value)| (name, value.replace(['\r', '\n', '\0'], "")))
            .collect();
        let mut head = RequestHead::new(Method::POST, "/");
        keeps_alive(head.version, &fields);
        head.fields = fields;
        let _ = request_body_length(&head);
    }
}
