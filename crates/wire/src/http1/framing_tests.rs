//! Tests of [`super`]: the body length that each combination of framing fields gives.

use super::*;

fn request(fields: &[(&str, &str)]) -> Result<BodyLength, RequestError> {
    request_body_length(&RequestHead {
        fields: fields.iter().copied().collect(),
        ..RequestHead::new(Method::POST, "/")
    })
}

fn response(fields: &[(&str, &str)]) -> Result<BodyLength, ResponseError> {
    let head = ResponseHead { fields: fields.iter().copied().collect(), ..ResponseHead::new(StatusCode::OK) };
    response_body_length(&head, &Method::GET)
}

const TE: &str = "Transfer-Encoding";
const CL: &str = "Content-Length";

#[test]
fn a_request_without_framing_fields_has_no_body() {
    //= RFC 9112 section 6.3
    //# If this is a request message and none of the above are true, then the message body length is zero (no
    //# message body is present).
    assert_eq!(request(&[]), Ok(BodyLength::None));
}

#[test]
fn a_response_without_framing_fields_ends_with_the_connection() {
    //= RFC 9112 section 6.3
    //# Otherwise, this is a response message without a declared message body length, so the message body length is
    //# determined by the number of octets received prior to the server closing the connection.
    assert_eq!(response(&[]), Ok(BodyLength::UntilClose));
}

#[test]
fn chunked_is_recognised_in_any_case() {
    //= RFC 9112 section 6.1
    //# A recipient MUST be able to parse the chunked transfer coding
    for value in ["chunked", "Chunked", "CHUNKED", " chunked\t", ", chunked,"] {
        assert_eq!(request(&[(TE, value)]), Ok(BodyLength::Chunked), "{value:?}");
        assert_eq!(response(&[(TE, value)]), Ok(BodyLength::Chunked), "{value:?}");
    }
}

#[test]
fn a_content_length_is_digits_that_fit_64_bits() {
    //= RFC 9112 section 6.3
    //# If the unrecoverable error is in a request message, the server MUST respond with a 400 (Bad Request) status code
    //# and then close the connection.
    for (value, length) in [("0", 0), ("5", 5), (" 5\t", 5), ("007", 7), ("18446744073709551615", u64::MAX)] {
        assert_eq!(request(&[(CL, value)]), Ok(BodyLength::Length(length)));
        assert_eq!(response(&[(CL, value)]), Ok(BodyLength::Length(length)));
    }
    for value in ["", "+5", "-1", "0x5", "5 5", "5a", "1e3", "5.0", "5;", "18446744073709551616", "\u{665}"] {
        assert_eq!(request(&[(CL, value)]), Err(RequestError::ContentLength), "{value:?}");
        assert_eq!(response(&[(CL, value)]), Err(ResponseError::ContentLength), "{value:?}");
    }
    assert_eq!(RequestError::ContentLength.status(), StatusCode::BAD_REQUEST);
}

#[test]
fn a_request_says_its_content_length_once() {
    for fields in [&[(CL, "5"), (CL, "6")][..], &[(CL, "5"), ("content-length", "5")], &[(CL, "5, 5")], &[(CL, "5,")]] {
        assert_eq!(request(fields), Err(RequestError::ContentLengthRepeated), "{fields:?}");
    }
}

#[test]
fn a_response_may_repeat_its_content_length_but_not_change_it() {
    //= RFC 9112 section 6.3
    //# If a message is received without Transfer-Encoding and with an invalid Content-Length header field, then the
    //# message framing is invalid and the recipient MUST treat it as an unrecoverable error, unless the field value can
    //# be successfully parsed as a comma-separated list
    assert_eq!(response(&[(CL, "5"), (CL, "5")]), Ok(BodyLength::Length(5)));
    assert_eq!(response(&[(CL, "5, 5"), (CL, "05")]), Ok(BodyLength::Length(5)));
    assert_eq!(response(&[(CL, "5"), (CL, "6")]), Err(ResponseError::ContentLengthConflict));
    assert_eq!(response(&[(CL, "5, 6")]), Err(ResponseError::ContentLengthConflict));
    assert_eq!(response(&[(CL, "5, x")]), Err(ResponseError::ContentLength));
    assert_eq!(response(&[(CL, "5,")]), Err(ResponseError::ContentLength));
}

#[test]
fn a_response_whose_length_is_in_doubt_becomes_a_502() {
    //= RFC 9112 section 6.3
    //# If it is in a response message received by a proxy, the proxy MUST close the connection to the server, discard
    //# the received response, and send a 502 (Bad Gateway) response to the client.
    assert_eq!(response(&[(CL, "5"), (CL, "6")]).unwrap_err().status(), StatusCode::BAD_GATEWAY);
    assert_eq!(response(&[(CL, "x")]).unwrap_err().status(), StatusCode::BAD_GATEWAY);
}

#[test]
fn content_length_beside_transfer_encoding_is_refused() {
    //= RFC 9112 section 6.1
    //# Regardless, the server MUST close the connection after responding to such a request to avoid the potential
    //# attacks.
    //= RFC 9112 section 6.3
    //# Such a message might indicate an attempt to perform request smuggling (Section 11.2) or response splitting
    //# (Section 11.1) and ought to be handled as an error.
    for value in ["chunked", "gzip", ""] {
        let fields = [(CL, "5"), (TE, value)];
        assert_eq!(request(&fields), Err(RequestError::ContentLengthWithTransferEncoding));
        assert_eq!(response(&fields), Err(ResponseError::ContentLengthWithTransferEncoding));
    }
}

#[test]
fn transfer_encoding_in_http_1_0_is_refused() {
    //= RFC 9112 section 6.1
    //# A server or client that receives an HTTP/1.0 message containing a Transfer-Encoding header field MUST treat the
    //# message as if the framing is faulty, even if a Content-Length is present, and close the connection after
    //# processing the message.
    let mut head = RequestHead::new(Method::POST, "/").with(TE, "chunked").with(CL, "5");
    head.version = Version::HTTP_10;
    assert_eq!(request_body_length(&head), Err(RequestError::TransferEncodingInHttp10));
    let mut head = ResponseHead::new(StatusCode::OK).with(TE, "chunked");
    head.version = Version::HTTP_10;
    assert_eq!(response_body_length(&head, &Method::GET), Err(ResponseError::TransferEncodingInHttp10));
}

#[test]
fn a_request_whose_last_coding_is_not_chunked_is_400() {
    //= RFC 9112 section 6.3
    //# If a Transfer-Encoding header field is present in a request and the chunked transfer coding is not the final
    //# encoding, the message body length cannot be determined reliably; the server MUST respond with the 400 (Bad
    //# Request) status code and then close the connection.
    for fields in
        [&[(TE, "chunked, gzip")][..], &[(TE, "chunked"), (TE, "identity")], &[(TE, "gzip")], &[(TE, "xchunked")]]
    {
        let error = request(fields).unwrap_err();
        assert_eq!((error, error.status().as_u16()), (RequestError::ChunkedNotLast, 400), "{fields:?}");
    }
}

#[test]
fn a_request_with_an_unknown_coding_under_chunked_is_501() {
    //= RFC 9112 section 6.1
    //# A server that receives a request message with a transfer coding it does not understand SHOULD respond with
    //# 501 (Not Implemented).
    for fields in [&[(TE, "gzip, chunked")][..], &[(TE, "x;a=b"), (TE, "chunked")]] {
        let error = request(fields).unwrap_err();
        assert_eq!((error, error.status().as_u16()), (RequestError::TransferCodingUnknown, 501), "{fields:?}");
        assert_eq!(response(fields), Err(ResponseError::UnsupportedCoding));
    }
}

#[test]
fn chunked_twice_is_refused() {
    //= RFC 9112 section 6.1
    //# A sender MUST NOT apply the chunked transfer coding more than once to a message body
    for fields in
        [&[(TE, "chunked, chunked")][..], &[(TE, "chunked"), (TE, "Chunked")], &[(TE, "chunked, gzip, chunked")]]
    {
        assert_eq!(request(fields), Err(RequestError::ChunkedRepeated), "{fields:?}");
        assert_eq!(response(fields), Err(ResponseError::ChunkedRepeated), "{fields:?}");
    }
}

#[test]
fn a_transfer_encoding_that_is_no_list_of_codings_is_refused() {
    //= RFC 9112 section 7.1
    //# The chunked coding does not define any parameters. Their presence SHOULD be treated as an error.
    for value in ["", ",", "chunked;q=1", "chunked ; a", "\"chunked\"", "chunked chunked", "gzip\tchunked", ";"] {
        assert_eq!(request(&[(TE, value)]), Err(RequestError::TransferEncoding), "{value:?}");
        assert_eq!(response(&[(TE, value)]), Err(ResponseError::TransferEncoding), "{value:?}");
    }
}

#[test]
fn a_response_whose_last_coding_is_not_chunked_ends_with_the_connection() {
    //= RFC 9112 section 6.3
    //# If a Transfer-Encoding header field is present in a response and the chunked transfer coding is not the
    //# final encoding, the message body length is determined by reading the connection until it is closed by the
    //# server.
    for value in ["identity", "chunked, identity", "xyz"] {
        assert_eq!(response(&[(TE, value)]), Ok(BodyLength::UntilClose), "{value:?}");
    }
}

#[test]
fn a_response_that_is_compressed_in_transfer_is_refused() {
    for value in ["gzip", "chunked, gzip", "Deflate", "x-compress"] {
        assert_eq!(response(&[(TE, value)]), Err(ResponseError::UnsupportedCoding), "{value:?}");
    }
}

#[test]
fn responses_that_cannot_have_a_body_have_none_whatever_their_fields_say() {
    //= RFC 9112 section 6.3
    //# is always terminated by the first empty line after the header fields, regardless of the header fields present in
    //# the message, and thus cannot contain a message body or trailer section.
    let length = |status: u16, method, name, value| {
        let head = ResponseHead::new(StatusCode::from_u16(status).unwrap()).with(name, value);
        response_body_length(&head, &method)
    };
    for (name, value) in [(CL, "5"), (TE, "chunked"), (CL, "nonsense")] {
        for status in [100, 103, 204, 304] {
            assert_eq!(length(status, Method::GET, name, value), Ok(BodyLength::None));
        }
        assert_eq!(length(200, Method::HEAD, name, value), Ok(BodyLength::None));
    }
    assert_eq!(length(200, Method::GET, CL, "5"), Ok(BodyLength::Length(5)));
    // Method names are case-sensitive: this is not HEAD.
    assert_eq!(length(200, Method::from_bytes(b"head").unwrap(), CL, "5"), Ok(BodyLength::Length(5)));
}
