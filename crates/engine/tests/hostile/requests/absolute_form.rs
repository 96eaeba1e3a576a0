//! Host and the absolute form of targets, and which of the two counts.
//!
//! RFC 9112 section 3.2.2: the authority of the target counts, and Host is ignored. Host must still be valid and present once.
//! The origin gets one Host with that authority, and a target without it.

use super::Outcome::{Answered, GetsLast, GetsWith, Refused};
use super::{Row, Table, rows};

/// The request's head without the empty line.
const HEADS: Table<'static> = &[
    ("9112 3.2.2", b"GET http://example.org/a HTTP/1.1\r\nHost: example.org", to(&["Host: example.org"])),
    ("9112 3.2.2", b"GET http://example.org/a HTTP/1.1\r\nHost: evil.example", to(&["Host: example.org"])),
    ("9112 3.2.2", b"GET http://evil.example/a HTTP/1.1\r\nHost: example.org", to(&["Host: evil.example"])),
    ("9112 3.2.2", b"GET HTTP://EXAMPLE.org:80/a HTTP/1.1\r\nHost: x", to(&["Host: example.org"])),
    ("9112 3.2.2", b"GET http://example.org:8080/a HTTP/1.1\r\nHost: example.org", to(&["Host: example.org:8080"])),
    ("9112 3.2.2", b"GET http://example.org./a HTTP/1.1\r\nHost: x", to(&["Host: example.org"])),
    ("9112 3.2.2", b"GET http://[::1]/a HTTP/1.1\r\nHost: x", to(&["Host: [::1]"])),
    ("9112 3.2.1", b"GET http://example.org HTTP/1.1\r\nHost: x", GetsWith("GET /", b"", &["Host: example.org"])),
    ("9112 3.2.1", b"GET http://example.org?q HTTP/1.1\r\nHost: x", GetsWith("GET /?q", b"", &["Host: example.org"])),
    (
        "9112 3.2.4",
        b"OPTIONS http://example.org HTTP/1.1\r\nHost: x",
        GetsWith("OPTIONS *", b"", &["Host: example.org"]),
    ),
    ("9112 3.2.2", b"GET http://example.org/http://evil.example/ HTTP/1.1\r\nHost: x", {
        GetsWith("GET /http://evil.example/", b"", &["Host: example.org"])
    }),
    ("9112 3.2.2", b"GET http://example.org/a HTTP/1.0", GetsLast("GET /a", b"")),
    ("9110 7.4", b"GET https://example.org/a HTTP/1.1\r\nHost: example.org", Answered(421)),
    // Absolute targets that are invalid.
    ("9110 4.2.4", b"GET http://user@example.org/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.4", b"GET http://user:pw@example.org/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.4", b"GET http://example.org@evil.example/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http:///a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http:// HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http://:80/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http://example.org:x/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http://example.org:99999/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http://example.org:80:80/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http://example.org\\evil/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http://[::1/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http:/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9110 4.2.1", b"GET http:\\\\example.org\\ HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET ftp://example.org/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET file:///etc/passwd HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET gopher://example.org:70/ HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET ://example.org/ HTTP/1.1\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET @example.org/a HTTP/1.1\r\nHost: example.org", Refused(400)),
    // Valid forms of Host.
    ("9110 7.2", b"GET /a HTTP/1.1\r\nhOsT:EXAMPLE.ORG:80", to(&["Host: example.org"])),
    ("9110 7.2", b"GET /a HTTP/1.1\r\nHost:\t example.org \t", to(&["Host: example.org"])),
    ("9110 7.2", b"GET /a HTTP/1.1\r\nHost: example.org.", to(&["Host: example.org"])),
    ("9110 7.2", b"GET /a HTTP/1.1\r\nHost: example.org:", to(&["Host: example.org"])),
    ("9110 7.2", b"GET /a HTTP/1.1\r\nHost: example.org:00080", to(&["Host: example.org"])),
    ("9110 7.2", b"GET /a HTTP/1.1\r\nHost: [2001:DB8::0:1]:81", to(&["Host: [2001:db8::1]:81"])),
    ("9110 7.2", b"GET /a HTTP/1.1\r\nHost: example.org\r\nX-Host: evil\r\nHost_: evil", {
        to(&["Host: example.org"])
    }),
    // Invalid ones: Host twice, missing, or with anything other than a host and a port.
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org\r\nhost: evil.example", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost:\r\nHost: example.org", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.0\r\nHost: example.org\r\nHost: evil.example", Refused(400)),
    ("9112 3.2", b"GET http://example.org/a HTTP/1.1\r\nHost: example.org\r\nHost: evil.example", Refused(400)),
    ("9112 3.2", b"GET http://example.org/a HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET http://example.org/a HTTP/1.1\r\nHost:", Refused(400)),
    ("9112 3.2", b"GET http://example.org/a HTTP/1.1\r\nHost: user@evil.example", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost:", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nX: y", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost : example.org", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org\r\n Host: evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org, evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: user@example.org", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: http://example.org", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org/b", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org?b", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org#b", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org\\b", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org:port", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org:80x", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org:-80", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org:80@evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org:65616", Refused(400)), // port 80 in a parser that wraps
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org:8 0", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: :80", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: .", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org..", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org%", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: exam\xffple.org", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org\x00.evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: <script>", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: \"example.org\"", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: example.org;evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: ::1", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: [::1", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: [::1]evil", Refused(400)),
    ("9112 3.2", b"GET /a HTTP/1.1\r\nHost: [fe80::1%25eth0]", Refused(400)),
];

const fn to(fields: &'static [&'static str]) -> super::Outcome {
    GetsWith("GET /a", b"", fields)
}

pub(crate) fn topic() -> Vec<Row> {
    rows(HEADS, |head| [head, b"\r\n\r\n"].concat()).collect()
}
