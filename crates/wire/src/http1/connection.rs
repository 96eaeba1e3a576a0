//! Decides whether a connection persists after a message (RFC 9112 section 9.3), and reads the options of Connection.
//!
//! Kasoku is a gateway: towards its clients it acts as an origin server. So the rule that a *proxy* must not keep connections with
//! HTTP/1.0 clients does not bind it, and `Connection: keep-alive` is honoured for HTTP/1.0 on both sides. The answer is about the
//! message alone; the caller also closes after errors, after bodies that it did not read to their end, and after close-delimited
//! bodies.

use super::grammar::list_members;
use crate::Fields;
use http::Version;

/// The connection options: the members of all Connection lines in order, trimmed, to be compared without case. Fields that they
/// name must be removed before the message is forwarded (RFC 9110 section 7.6.1).
pub fn connection_options(fields: &Fields) -> impl Iterator<Item = &[u8]> {
    list_members(fields, "connection")
}

/// Whether the sender of a message of that version, with these fields, lets the connection persist after it.
pub fn keeps_alive(version: Version, fields: &Fields) -> bool {
    let has = |option: &[u8]| connection_options(fields).any(|member| member.eq_ignore_ascii_case(option));
    //= RFC 9112 section 9.6
    //# A server that receives a "close" connection option MUST initiate closure of the connection
    //= RFC 9112 section 9.6
    //# A client that receives a "close" connection option MUST cease sending requests on that connection
    if has(b"close") {
        return false;
    }
    //= RFC 9112 section 9.3
    //# If the received protocol is HTTP/1.1 (or later), the connection will persist after the current response; else,
    //= RFC 9112 section 9.3
    //# If the received protocol is HTTP/1.0, the "keep-alive" connection option is present, either the recipient is not a
    //# proxy or the message is a response, and the recipient wishes to honor the HTTP/1.0 "keep-alive" mechanism, the
    //# connection will persist after the current response; otherwise,
    version >= Version::HTTP_11 || has(b"keep-alive")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_from_all_lines_trimmed_and_without_empty_ones() {
        let fields: Fields =
            [("Connection", " X-A ,, close"), ("connection", "te\t"), ("A", "b")].into_iter().collect();
        assert_eq!(connection_options(&fields).collect::<Vec<_>>(), [&b"X-A"[..], b"close", b"te"]);
    }

    //= RFC 9112 section 9.6
    //# A server that receives a "close" connection option MUST initiate closure of the connection
    //= RFC 9112 section 9.6
    //# A client that receives a "close" connection option MUST cease sending requests on that connection
    //= RFC 9112 section 9.3
    //# If the received protocol is HTTP/1.1 (or later), the connection will persist after the current response; else,
    #[test]
    fn persistence_follows_version_and_options() {
        let rows = [
            (Version::HTTP_11, "", true),
            (Version::HTTP_11, "keep-alive", true),
            (Version::HTTP_11, "Close", false),
            (Version::HTTP_11, "upgrade, CLOSE", false),
            (Version::HTTP_11, "closed", true),             // another option
            (Version::HTTP_11, "keep-alive, close", false), // close wins
            (Version::HTTP_10, "", false),
            (Version::HTTP_10, "Keep-Alive", true),
            (Version::HTTP_10, "keep-alive, close", false),
            (Version::HTTP_10, "upgrade", false),
        ];
        for (version, options, expected) in rows {
            let fields: Fields = [("Connection", options)].into_iter().collect();
            assert_eq!(keeps_alive(version, &fields), expected, "{version:?} {options:?}");
        }
        assert!(keeps_alive(Version::HTTP_11, &Fields::new()));
        assert!(!keeps_alive(Version::HTTP_10, &Fields::new()));
    }
}
