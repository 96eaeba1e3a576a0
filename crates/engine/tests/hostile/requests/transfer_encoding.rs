//! Transfer-Encoding in disguise: CL.TE, TE.CL, TE.TE and TE.0.
//!
//! A parser that takes a line for Transfer-Encoding and one that does not end the request in two places. So Kasoku accepts a line
//! only if all parsers read it as chunked, or if none reads it as framing. It refuses all others.

use super::Outcome::{Gets, GetsWith, Refused};
use super::{Row, Table, rows};

const ABC: super::Outcome = Gets("POST /te", b"abc");

/// Each row is the only field line about the body, which is in chunks.
const ALONE: Table<'static> = &[
    ("9112 7.1", b"Transfer-Encoding: chunked", ABC),
    ("9112 7", b"Transfer-Encoding: CHUNKED", ABC),
    ("9112 7", b"Transfer-Encoding: cHuNkEd", ABC),
    ("9110 5.1", b"tRANSFER-eNCODING: chunked", ABC),
    ("9110 5.1", b"TRANSFER-ENCODING:chunked", ABC),
    ("9110 5.5", b"Transfer-Encoding:    chunked", ABC),
    ("9110 5.5", b"Transfer-Encoding:\tchunked", ABC),
    ("9110 5.5", b"Transfer-Encoding: chunked \t ", ABC),
    ("9110 5.6.1.2", b"Transfer-Encoding: , chunked", ABC),
    ("9110 5.6.1.2", b"Transfer-Encoding: chunked,", ABC),
    ("9110 5.6.1.2", b"Transfer-Encoding:\r\nTransfer-Encoding: chunked", ABC),
    // Another coding is last, so the end of the body is unknown.
    ("9112 6.3", b"Transfer-Encoding: xchunked", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: zchunked", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunk", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunkedchunked", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: 'chunked'", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: x-chunked", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: identity", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: gzip", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunked, identity", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunked, cow", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunked,gzip,", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: cow", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunked\r\nTransfer-encoding: identity", Refused(400)),
    ("9112 6.3", b"Transfer-Encoding: chunked\r\nX: y\r\nTransfer-Encoding: x", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked, chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked, gzip, chunked", Refused(400)),
    // Chunked is last, behind a coding that Kasoku does not decode.
    ("9112 6.1", b"Transfer-Encoding: identity, chunked", Refused(501)),
    ("9112 6.1", b"Transfer-Encoding: cow, chunked", Refused(501)),
    ("9112 6.1", b"Transfer-Encoding: gzip, chunked", Refused(501)),
    ("9112 6.1", b"Transfer-Encoding: gzip;q=0.5, chunked", Refused(501)),
    ("9112 6.1", b"Transfer-Encoding: cow\r\nTransfer-Encoding: chunked", Refused(501)),
    // Values that are not a list of codings.
    ("9112 7.1", b"Transfer-Encoding: chunked;q=1", Refused(400)),
    ("9112 7.1", b"Transfer-Encoding: chunked; ext=val", Refused(400)),
    ("9112 7.1", b"Transfer-Encoding: chunked;", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding:", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: ,", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: \"chunked\"", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: cow chunked bar", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked\tx", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding:: chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: =chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: (chunked)", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked/1.0", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: [chunked]", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: \x85chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: \xa0chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chunked\xff", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: ch\x96nked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: \xef\xbb\xbfchunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: chun\xe2\x84\xaaed", Refused(400)), // the Kelvin sign, k in lower case
    // Control characters, which some parsers take for white space and some for the end of the text.
    ("9110 5.5", b"Transfer-Encoding: \x0bchunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding:\x0bchunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: \x0cchunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: chunked\x0b", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: chunked\x00", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: \x00chunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: chunked\x00, cow", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: \x01chunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: \x08chunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: \x1cchunked", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: chunked\x1f", Refused(400)),
    ("9110 5.5", b"Transfer-Encoding: \x7fchunked", Refused(400)),
    // Line ends, or none, that other parsers read differently.
    ("9112 2.2", b"Transfer-Encoding: chunked\r", Refused(400)),
    ("9112 2.2", b"Transfer-Encoding: chun\rked", Refused(400)),
    ("9112 2.2", b"Transfer-Encoding:\rchunked", Refused(400)),
    ("9112 2.2", b"Transfer\r-Encoding: chunked", Refused(400)),
    ("9112 2.2", b"\rTransfer-Encoding: chunked", Refused(400)),
    ("9112 2.2", b"X: y\rTransfer-Encoding: chunked", Refused(400)),
    ("9112 2.2", b"X: y\nTransfer-Encoding: chunked", Refused(400)),
    ("9112 2.2", b"X: y\n\rTransfer-Encoding: chunked", Refused(400)),
    ("9112 2.2", b"Transfer-Encoding:\n chunked", Refused(400)),
    ("9112 5.2", b"Transfer-Encoding:\r\n chunked", Refused(400)),
    ("9112 5.2", b"Transfer-Encoding: \r\n\tchunked", Refused(400)),
    ("9112 5.2", b"Transfer-Encoding: chunked\r\n ", Refused(400)),
    ("9112 5.2", b"Transfer-Encoding: chunked\r\n , cow", Refused(400)),
    ("9112 5.2", b" Transfer-Encoding: chunked", Refused(400)),
    ("9112 5.2", b"\tTransfer-Encoding: chunked", Refused(400)),
    // Names that resemble Transfer-Encoding.
    ("9112 5.1", b"Transfer-Encoding : chunked", Refused(400)),
    ("9112 5.1", b"Transfer-Encoding\t: chunked", Refused(400)),
    ("9112 5.1", b"Transfer-Encoding \t : chunked", Refused(400)),
    ("9110 5.1", b"Transfer-Encoding\x0b: chunked", Refused(400)),
    ("9110 5.1", b"Transfer-Encoding\x00: chunked", Refused(400)),
    ("9110 5.1", b"Transfer-Encoding\xa0: chunked", Refused(400)),
    ("9110 5.1", b"\x0bTransfer-Encoding: chunked", Refused(400)),
    ("9110 5.1", b"\x00Transfer-Encoding: chunked", Refused(400)),
    ("9110 5.1", b"\xef\xbb\xbfTransfer-Encoding: chunked", Refused(400)),
    ("9110 5.1", b"Transf\x82r-Encoding: chunked", Refused(400)),
    ("9110 5.1", b"Transfer Encoding: chunked", Refused(400)),
    ("9110 5.1", b"\"Transfer-Encoding\": chunked", Refused(400)),
    ("9110 5.1", b"Transfer-Encoding;: chunked", Refused(400)),
    ("9110 5.1", b"Transfer-Encoding=chunked", Refused(400)),
    ("9110 5.1", b"Transfer-Encoding chunked", Refused(400)),
    ("9110 5.1", b": Transfer-Encoding: chunked", Refused(400)),
];

/// What the origin gets when Content-Length: 5 alone decides the framing.
const FIVE: super::Outcome = Gets("POST /cl-te", b"0\r\n\r\n");

/// Lines beside `Content-Length: 5`.
const BESIDE_LENGTH: Table<'static> = &[
    ("9112 6.1", b"Transfer-Encoding: chunked", Refused(400)),
    ("9112 6.1", b"transfer-encoding: chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: identity", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: cow", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: gzip, chunked", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding:", Refused(400)),
    ("9112 6.1", b"Transfer-Encoding: \xffchunked", Refused(400)),
    ("9112 5.1", b"Transfer-Encoding : chunked", Refused(400)),
    ("9112 5.2", b" Transfer-Encoding: chunked", Refused(400)),
    ("9112 2.2", b"X: y\nTransfer-Encoding: chunked", Refused(400)),
    // Other fields, which are no framing.
    ("9110 5.1", b"TE: chunked", GetsWith("POST /cl-te", b"0\r\n\r\n", &["!TE", "!Transfer-Encoding"])),
    ("9110 5.1", b"Content-Encoding: chunked", FIVE),
    ("9110 5.1", b"X-Transfer-Encoding: chunked", FIVE),
    ("9110 5.1", b"Transfer-Encodin: chunked", FIVE),
    ("9110 5.1", b"Transfer.Encoding: chunked", FIVE),
    ("9110 5.1", b"TransferEncoding: chunked", FIVE),
    ("9110 5.1", b"Transfer-Encoding-: chunked", FIVE),
    ("9110 5.1", b"X: y, Transfer-Encoding: chunked", FIVE),
    // CGI, WSGI and PHP take an underscore for a hyphen, so Kasoku drops the field.
    ("9110 5.1", b"Transfer_Encoding: chunked", GetsWith("POST /cl-te", b"0\r\n\r\n", &["!Transfer_Encoding"])),
    ("9110 5.1", b"transfer_encoding: chunked", GetsWith("POST /cl-te", b"0\r\n\r\n", &["!transfer_encoding"])),
];

pub(crate) fn topic() -> Vec<Row> {
    let alone = rows(ALONE, |lines| {
        [b"POST /te HTTP/1.1\r\nHost: example.org\r\n", lines, b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n"].concat()
    });
    let beside_length = |before: &'static [u8], after: &'static [u8]| {
        rows(BESIDE_LENGTH, move |lines| {
            let head: [&[u8]; 5] =
                [b"POST /cl-te HTTP/1.1\r\nHost: example.org\r\n", before, lines, after, b"\r\n\r\n0\r\n\r\n"];
            head.concat()
        })
    };
    let http_1_0 = rows(
        &[
            ("9112 6.1", b"Transfer-Encoding: chunked", Refused(400)),
            ("9112 6.1", b"Transfer-Encoding: chunked\r\nContent-Length: 13", Refused(400)),
            ("9112 6.1", b"Transfer-Encoding: identity", Refused(400)),
        ],
        |lines| {
            [
                b"POST / HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\n",
                lines,
                b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            ]
            .concat()
        },
    );
    let first = beside_length(b"Content-Length: 5\r\n", b"");
    alone.chain(first).chain(beside_length(b"", b"\r\nContent-Length: 5")).chain(http_1_0).collect()
}
