use super::*;
use crate::names::is_name;
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

const ITEM_BYTES_MAX: usize = 4096;

/// All replies, and the error that ended them, where the bytes arrive in these pieces.
fn replies<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<Reply>, Option<ProtocolError>) {
    let mut parser = ReplyParser::new(ITEM_BYTES_MAX);
    let mut input = BytesMut::new();
    let mut found = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match parser.next(&mut input) {
                Ok(Some(reply)) => found.push(reply),
                Ok(None) => break,
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

fn reply(bytes: &[u8]) -> Result<Reply, ProtocolError> {
    match replies([bytes]) {
        (_, Some(error)) => Err(error),
        (mut found, None) => Ok(found.pop().expect("the reply is whole")),
    }
}

fn line(name: &str, operation: Operation) -> String {
    let mut out = BytesMut::new();
    Request { name: Bytes::copy_from_slice(name.as_bytes()), operation }.write_line(u32::MAX, &mut out);
    String::from_utf8(out.to_vec()).unwrap()
}

#[test]
fn requests_are_lines_of_the_meta_protocol() {
    let store = |mode| Operation::Store { mode, value: vec![Bytes::from("ab"), Bytes::from("c")], exptime: 60 };
    assert_eq!(line("a:b", Operation::Get), "mg a:b v O4294967295\r\n");
    assert_eq!(line("a:b", Operation::GetAndTouch { exptime: 300 }), "mg a:b v T300 O4294967295\r\n");
    assert_eq!(line("a", store(StoreMode::Set)), "ms a 3 T60 O4294967295\r\n");
    assert_eq!(line("a", store(StoreMode::Add)), "ms a 3 T60 ME O4294967295\r\n");
    assert_eq!(line("a", Operation::Delete), "md a O4294967295\r\n");
    assert_eq!(line("a", Operation::Increment), "ma a v O4294967295\r\n");
}

#[test]
fn a_name_can_not_hold_another_request() {
    assert!(is_name(b"kasoku:0af~"));
    assert!(is_name(&[b'a'; 250]));
    for name in [&b""[..], b"a b", b"a\r\nmd b", b"a\n", b"a\0", b"\x7f", "\u{e4}".as_bytes(), &[b'a'; 251]] {
        assert!(!is_name(name), "{name:?}");
    }
}

#[test]
fn each_reply_is_understood() {
    let with = |status| Ok(Reply { opaque: Some(7), status });
    let without = |status| Ok(Reply { opaque: None, status });
    assert_eq!(reply(b"VA 3 O7\r\nabc\r\n"), with(Status::Value(Bytes::from("abc"))));
    assert_eq!(reply(b"VA 0 O7\r\n\r\n"), with(Status::Value(Bytes::new())));
    assert_eq!(reply(b"VA 4 O7\r\n\r\n\r\n\r\n"), with(Status::Value(Bytes::from("\r\n\r\n"))));
    assert_eq!(reply(b"HD O7\r\n"), with(Status::Done));
    assert_eq!(reply(b"EN O7\r\n"), with(Status::Miss));
    assert_eq!(reply(b"NF O7\r\n"), with(Status::NotFound));
    assert_eq!(reply(b"NS O7\r\n"), with(Status::NotStored));
    assert_eq!(reply(b"EX O7\r\n"), with(Status::Exists));
    assert_eq!(reply(b"SERVER_ERROR out of\x1b memory\r\n"), without(Status::ServerError("out of? memory".into())));
    assert_eq!(reply(b"CLIENT_ERROR bad\r\n"), without(Status::ClientError("bad".into())));
}

#[test]
fn what_memcached_does_not_send_is_an_error() {
    assert_eq!(reply(b"ERROR\r\n"), Err(ProtocolError::NoMetaCommands));
    assert_eq!(reply(b"VA 4097 O1\r\n"), Err(ProtocolError::LongValue { bytes: 4097 }));
    assert_eq!(
        reply(b"VA 18446744073709551615 O1\r\n"),
        Err(ProtocolError::LongValue { bytes: u64::MAX }),
        "no length overflows"
    );
    assert_eq!(reply(b"VA 3 O1\r\nabcd\r\n"), Err(ProtocolError::WrongLength));
    let unknown: [&[u8]; 16] = [
        b"ERROR Too many open connections\r\n",
        b"\r\n",
        b"\n",
        b"HD\r\n",
        b"HD O1\n",
        b"HD  O1\r\n",
        b"HD O1 \r\n",
        b"HD O1 s3\r\n",
        b"HD O-1\r\n",
        b"HD O4294967296\r\n",
        b"VA O1\r\n",
        b"VA +3 O1\r\nabc\r\n",
        b"VA 18446744073709551616 O1\r\n",
        b"VALUE a 0 3\r\nabc\r\nEND\r\n",
        b"MN O1\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
    ];
    for bytes in unknown {
        assert!(matches!(reply(bytes), Err(ProtocolError::UnknownLine(_))), "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_line_has_a_bound() {
    let error = |length: usize| [b"SERVER_ERROR ", &vec![b'x'; length - 15][..], b"\r\n"].concat();
    assert!(reply(&error(LINE_BYTES_MAX)).is_ok());
    assert_eq!(reply(&error(LINE_BYTES_MAX + 1)), Err(ProtocolError::LongLine));
    assert_eq!(replies([&[b'x'; LINE_BYTES_MAX - 1][..]]), (vec![], None), "its end may come");
    assert_eq!(replies([&[b'x'; LINE_BYTES_MAX][..]]), (vec![], Some(ProtocolError::LongLine)));
}

#[test]
fn a_request_expects_its_own_replies_only() {
    let statuses = [
        Status::Value(Bytes::new()),
        Status::Done,
        Status::Miss,
        Status::NotFound,
        Status::NotStored,
        Status::Exists,
        Status::ServerError(String::new()),
        Status::ClientError(String::new()),
    ];
    let store = Operation::Store { mode: StoreMode::Set, value: vec![], exptime: 0 };
    for (operation, expected) in [
        (Operation::Get, "+-+---+-"),
        (Operation::GetAndTouch { exptime: 1 }, "+-+---+-"),
        (store, "-+-++++-"),
        (Operation::Delete, "-+-+-++-"),
        (Operation::Increment, "+--+--++"),
    ] {
        let request = Request { name: Bytes::from("a"), operation };
        let found: String = statuses.iter().map(|status| if request.expects(status) { '+' } else { '-' }).collect();
        assert_eq!(found, expected, "{request:?}");
    }
}

/// Bytes that are replies for the most part.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let value = prop::collection::vec(any::<u8>(), 0..40)
        .prop_map(|value| [format!("VA {} O1\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat());
    let piece = prop_oneof![
        6 => value,
        4 => prop::sample::select(vec!["HD O1\r\n", "EN O2\r\n", "NF O3\r\n", "MN\r\n", "SERVER_ERROR a b\r\n"])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::sample::select(vec!["VA 5000 O1\r\n", "VA 5 O1\r\n", "VA ", "ERROR\r\n", "\r\n", " O1", "\r", "\n"])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        1 => (2030usize..2060).prop_map(|length| vec![b'x'; length]),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_read_does_not_depend_on_how_the_bytes_arrive(bytes in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let whole = replies([&bytes[..]]);
        prop_assert_eq!(&replies(bytes.chunks(1)), &whole);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let mut start = 0;
        let pieces = cuts.iter().map(|&end| &bytes[std::mem::replace(&mut start, end)..end]);
        prop_assert_eq!(&replies(pieces), &whole);
    }

    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let (found, _) = replies([&bytes[..]]);
        let taken: usize = found.iter().map(|reply| if let Status::Value(value) = &reply.status { value.len() } else { 0 }).sum();
        prop_assert!(taken <= bytes.len());
    }
}
