//! Removes the fields that belong to one connection and are never forwarded (RFC 9110 section 7.6.1).

use crate::our_fields::{is_any, is_ours};
use crate::unkeyed::{is_same, is_unkeyed_in_profile_rfc};
use kasoku_wire::Fields;
use kasoku_wire::field::list;

/// Fields that are removed whether Connection lists them or not.
pub(crate) const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// Removes these fields and those that Connection lists: for forwarding, in both directions. The code that frames the message
/// writes anew what the next connection needs of them (Transfer-Encoding, Upgrade, `TE: trailers`).
//= RFC 9110 section 7.6.1
//# Intermediaries MUST parse a received Connection header field before a message is forwarded and, for each
//# connection-option in this field, remove any header or trailer field(s) from the message with the same name as the
//# connection-option, and then remove the Connection header field itself (or replace it with the intermediary's own
//# control options for the forwarded message).
pub fn strip_hop_by_hop(fields: &mut Fields) {
    let listed = listed(fields);
    fields.retain(|name, _| !is_hop_by_hop(name, &listed));
}

/// Whether Connection lists a field that would otherwise be forwarded.
pub fn connection_lists_fields(fields: &Fields) -> bool {
    let is_usual = |option: &[u8]| option.eq_ignore_ascii_case(b"close") || is_hop_by_hop(option, &[]);
    list::members(fields, "connection").any(|option| !is_usual(option))
}

/// Whether a field of that name is never forwarded.
pub fn is_never_forwarded(name: &[u8]) -> bool {
    is_hop_by_hop(name, &[])
}

/// Fields that mean something only in front of a body, because they frame, route, authenticate, condition, cache or
/// describe it (RFC 9110 section 6.5.1). In a trailer they are either a mistake or an attempt to fool a recipient that
/// merges trailers into the head.
const NOT_IN_TRAILERS: [&str; 42] = [
    "age",
    "authorization",
    "cache-control",
    "cdn-cache-control",
    "content-encoding",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "retry-after",
    "set-cookie",
    "set-cookie2",
    "trailer",
    "vary",
    "via",
    "www-authenticate",
    // Fields by which an application tells its server about a file to send.
    "x-accel-buffering",
    "x-accel-charset",
    "x-accel-expires",
    "x-accel-limit-rate",
    "x-accel-redirect",
    "x-lighttpd-send-file",
    "x-sendfile",
    "x-sendfile-temporary",
    "x-sendfile2",
];

/// The trailer fields of a response with the head `head` that may be forwarded; `None`: none are left.
pub fn forwardable_trailers(mut trailers: Fields, head: &Fields) -> Option<Fields> {
    let listed = listed(head);
    trailers.retain(|name, _| !is_hop_by_hop(name, &listed) && !is_only_for_heads(name));
    (!trailers.is_empty()).then_some(trailers)
}

/// The trailer fields of a request that may be forwarded. Many applications merge trailers into the head. So a field that
/// [`forward`](mod@crate::forward) writes itself or keeps back is in no trailer either, whoever gets the answer: an application that
/// needs such a field reads it from the head. What describes content (`Content-Digest`) may follow it (RFC 9530 section 2).
pub fn forwardable_request_trailers(mut trailers: Fields, head: &Fields) -> Option<Fields> {
    trailers.retain(|name, _| !is_ours(name) && !is_unkeyed_in_profile_rfc(name, false));
    forwardable_trailers(trailers, head)
}

/// Whether a field of that name, in any spelling that an application reads as that name, stands in no trailer.
fn is_only_for_heads(name: &[u8]) -> bool {
    let names_a_client = name.get(..12).is_some_and(|start| is_same(start, b"x-forwarded-"));
    names_a_client || is_any(name, &NOT_IN_TRAILERS) || is_any(name, &HOP_BY_HOP)
}

/// The names that Connection lists.
pub(crate) fn listed(fields: &Fields) -> Vec<Vec<u8>> {
    list::members(fields, "connection").map(<[u8]>::to_vec).collect()
}

pub(crate) fn is_hop_by_hop(name: &[u8], listed: &[Vec<u8>]) -> bool {
    HOP_BY_HOP.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
        || listed.iter().any(|one| name.eq_ignore_ascii_case(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_carries_nothing_that_belongs_in_a_head() {
        let trailers: Fields =
            [("Content-Length", "5"), ("Server-Timing", "db;dur=53"), ("Host", "b"), ("Transfer-Encoding", "chunked")]
                .into_iter()
                .collect();
        let head = Fields::new();
        let left = forwardable_trailers(trailers, &head).map(|fields| fields.block().to_vec());
        assert_eq!(left.as_deref(), Some(&b"Server-Timing: db;dur=53\r\n"[..]));
        for name in ["Set-Cookie", "X-Forwarded-For", "Content_Length", "transfer_encoding", "X_Forwarded_For"] {
            assert_eq!(forwardable_trailers([(name, "x")].into_iter().collect(), &head), None, "{name}");
        }
    }

    #[test]
    fn a_request_s_trailer_carries_nothing_that_its_head_may_not() {
        let left =
            |name: &str| forwardable_request_trailers([(name, "x")].into_iter().collect(), &Fields::new()).is_some();
        for name in [
            "X-Real-IP",
            "X_Real_IP",
            "Proxy",
            "X-Request-Id",
            "X.Request.Id",
            "X-Original-URL",
            "X.Forwarded.For",
            "X-Forwarded-Host",
            "X-HTTP-Method-Override",
            "X-Accel-Mapping",
            "X-Sendfile-Type",
            "CF-Connecting-IP",
            "Traceparent",
            "Content.Length",
            "Transfer.Encoding",
            "Host",
        ] {
            assert!(!left(name), "{name}");
        }
        for name in
            ["X-Sum", "Content-Digest", "Repr-Digest", "X-Amz-Checksum-Crc32", "X-Amz-Trailer-Signature", "Grpc-Status"]
        {
            assert!(left(name), "{name}");
        }
    }

    #[test]
    fn what_only_requests_may_not_say_stays_in_the_trailers_of_responses() {
        let trailers: Fields =
            [("X-Request-Id", "7"), ("Server-Timing", "db"), ("X.Sendfile", "/etc/passwd")].into_iter().collect();
        let left = forwardable_trailers(trailers, &Fields::new()).map(|fields| fields.block().to_vec());
        assert_eq!(left.as_deref(), Some(&b"X-Request-Id: 7\r\nServer-Timing: db\r\n"[..]));
    }

    #[test]
    fn a_trailer_that_the_head_s_connection_lists_goes_no_further() {
        let head: Fields = [("Connection", "X-Hop")].into_iter().collect();
        let trailers: Fields = [("x-hop", "1"), ("X-End", "2")].into_iter().collect();
        let left = forwardable_trailers(trailers, &head).map(|fields| fields.block().to_vec());
        assert_eq!(left.as_deref(), Some(&b"X-End: 2\r\n"[..]));
    }

    #[test]
    fn what_connection_lists_goes_with_it() {
        //= RFC 9110 section 7.6.1
        //# Intermediaries MUST parse a received Connection header field before a message is forwarded and, for each
        //# connection-option in this field, remove any header or trailer field(s) from the message with the same name as the
        //# connection-option, and then remove the Connection header field itself (or replace it with the intermediary's own
        //# control options for the forwarded message).
        let mut fields: Fields = [
            ("Connection", "close, A"),
            ("a", "1"),
            ("Connection", "b"),
            ("B", "2"),
            ("C", "3"),
            ("Keep-Alive", "x"),
            ("Proxy-Connection", "x"),
            ("TE", "trailers"),
            ("Transfer-Encoding", "chunked"),
            ("Upgrade", "h2c"),
            ("Trailer", "D"),
        ]
        .into_iter()
        .collect();
        strip_hop_by_hop(&mut fields);
        assert_eq!(fields.block(), b"C: 3\r\nTrailer: D\r\n");
    }
}
