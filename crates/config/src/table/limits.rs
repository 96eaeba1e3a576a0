//! Rows: bounds and deadlines, of clients' connections and of origins'.

use super::{DAY, Default, EVERYWHERE, Kind, MIB, ROW, Section, Setting, TIB, deadline};
use std::time::Duration;

pub(super) static CLIENTS: Section = Section {
    title: "Limits of clients",
    intro: "Each is a bound on one connection or one message.",
    settings: &[
        Setting {
            path: "limits.head-bytes-max",
            kind: Kind::Size { min: 1024, max: MIB },
            default: Default::Value("\"64KiB\""),
            summary: "The largest head of a request, request line included. Over: 431.",
            example: "\"32KiB\"",
            ..ROW
        },
        Setting {
            path: "limits.target-bytes-max",
            kind: Kind::Size { min: 64, max: MIB },
            default: Default::Value("\"16KiB\""),
            default_varies: true,
            summary: "The longest request-target (path and query). Over: 414.",
            details: "At most `limits.head-bytes-max`; where that is smaller than the default, it is the default.",
            example: "\"8KiB\"",
            ..ROW
        },
        Setting {
            path: "limits.fields-max",
            kind: Kind::Integer { min: 8, max: 10_000 },
            default: Default::Value("200"),
            summary: "The most header fields of a request. Over: 431.",
            example: "100",
            ..ROW
        },
        Setting {
            path: "limits.chunk-line-bytes-max",
            kind: Kind::Size { min: 32, max: MIB },
            default: Default::Value("\"4KiB\""),
            summary: "The longest line before a chunk: its size and extensions.",
            example: "\"256B\"",
            ..ROW
        },
        Setting {
            path: "limits.trailer-bytes-max",
            kind: Kind::Size { min: 64, max: MIB },
            default: Default::Value("\"16KiB\""),
            summary: "The largest trailer section.",
            example: "\"8KiB\"",
            ..ROW
        },
        Setting {
            path: "limits.trailer-fields-max",
            kind: Kind::Integer { min: 1, max: 10_000 },
            default: Default::Value("64"),
            summary: "The most trailer fields.",
            example: "16",
            ..ROW
        },
        Setting {
            path: "limits.request-body-bytes-max",
            kind: Kind::Size { min: 1, max: 16 * TIB },
            default: Default::Value("\"1GiB\""),
            summary: "The largest body of a request. Over: 413.",
            example: "\"16MiB\"",
            ..ROW
        },
        Setting {
            path: "limits.head-timeout",
            kind: deadline(1),
            default: Default::Value("\"10s\""),
            summary: "A head must be complete this long after its first byte. Over: 408.",
            example: "\"5s\"",
            ..ROW
        },
        Setting {
            path: "limits.idle-timeout",
            kind: deadline(1),
            default: Default::Value("\"75s\""),
            summary: "How long a connection may wait for its next request.",
            example: "\"20s\"",
            ..ROW
        },
        Setting {
            path: "limits.body-timeout",
            kind: deadline(1),
            default: Default::Value("\"30s\""),
            summary: "The longest pause between two pieces of a request's body. Over: 408.",
            example: "\"10s\"",
            ..ROW
        },
        Setting {
            path: "limits.body-rate-min",
            kind: Kind::Size { min: 0, max: TIB },
            default: Default::Value("500"),
            summary: "What a client must send of a request's body in a second, averaged over `limits.body-timeout`. Below: 408. 0: anything will do.",
            details: "Only time in which Kasoku waits for the client counts, not that in which a slow origin holds it up. Apache's mod_reqtimeout.",
            example: "\"4KiB\"",
            ..ROW
        },
        Setting {
            path: "limits.send-timeout",
            kind: deadline(1),
            default: Default::Value("\"30s\""),
            summary: "The longest pause while the client takes nothing of the response. Over: the connection is cut.",
            example: "\"10s\"",
            ..ROW
        },
        Setting {
            path: "limits.send-rate-min",
            kind: Kind::Size { min: 0, max: TIB },
            default: Default::Value("\"4KiB\""),
            summary: "What a client must take of its response in a second, over five seconds, while memory is short (less than a sixteenth of `memory.size` is free). Below: the connection is cut. 0: never.",
            example: "\"16KiB\"",
            ..ROW
        },
        Setting {
            path: "limits.requests-per-connection-max",
            kind: Kind::Integer { min: 0, max: u64::MAX >> 1 },
            default: Default::Value("1_000_000"),
            summary: "Requests on one connection before it is closed. 0: no limit.",
            example: "1000",
            ..ROW
        },
        Setting {
            path: "limits.connections-max",
            kind: Kind::Integer { min: 1, max: 10_000_000 },
            default: Default::Value("16_384"),
            summary: "Connections that one worker serves at once; more wait in the kernel's queue.",
            example: "1024",
            ..ROW
        },
        Setting {
            path: "limits.open-files-max",
            kind: Kind::Integer { min: 0, max: 1_000_000 },
            default: Default::Value("1000"),
            summary: "Files that one worker keeps open for the next request that is answered with them. 0: each is opened anew.",
            details: "All workers together keep at most a quarter of the descriptors that the process may have. A file that was replaced, changed or removed is noticed at once; one that nobody asks for is closed after a minute. nginx's open_file_cache.",
            example: "100",
            ..ROW
        },
        Setting {
            path: "limits.drain-timeout",
            kind: deadline(0),
            default: Default::Value("\"10s\""),
            summary: "How long running requests may take to end after the program was told to stop.",
            example: "\"1m\"",
            ..ROW
        },
        Setting {
            path: "limits.drain-idle-timeout",
            kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(DAY) },
            default: Default::Value("\"1s\""),
            summary: "How long a connection without a request may still send one after the program was told to stop.",
            details: "So a request that is on its way at that moment is answered, and its connection then closed.",
            example: "\"100ms\"",
            ..ROW
        },
        Setting {
            path: "limits.fill-wait-max",
            kind: deadline(0),
            default: Default::Value("\"30s\""),
            summary: "How long a client waits for the same response that another client has already asked the origin for.",
            details: "Then a stale response answers, where it may; else the origin is asked once more, on behalf of all who wait.",
            example: "\"5s\"",
            ..ROW
        },
    ],
};

pub(super) static REQUEST_BUFFER: Section = Section {
    title: "Bodies of requests",
    intro: "Whether an origin is asked before the body of a request is complete, and where it is kept until then: up to 64 KiB in memory, by the account of `memory.size`, what is longer in a file.",
    settings: &[
        Setting {
            path: "request-buffering",
            kind: Kind::Flag,
            default: Default::Unset(
                "`true` where an origin is a program (CGI, FastCGI, SCGI), `false` where all are servers or files",
            ),
            summary: "Whether bodies of requests are complete before an origin is asked, so that a client that sends slowly takes nobody's place there.",
            details: "`Expect: 100-continue` is answered from here then, and the body goes on with its length, without trailers. With `false` a program gets the body while it comes, and who sends slowly holds its place; but a body in chunks, whose length a program has to be told, is completed even so. nginx's proxy_request_buffering.",
            example: "true",
            ..EVERYWHERE
        },
        Setting {
            path: "request-buffer.directory",
            kind: Kind::Text("path"),
            default: Default::Unset("the one for temporary files: TMPDIR, else `/tmp`"),
            summary: "Where bodies are kept that are longer than 64 KiB. Their files have no names, and nothing is left of them.",
            details: "It should be on a disk; what is on a tmpfs is in memory. nginx's client_body_temp_path.",
            example: "\"/var/tmp\"",
            ..ROW
        },
        Setting {
            path: "request-buffer.bytes-max",
            kind: Kind::Size { min: MIB, max: 16 * TIB },
            default: Default::Value("\"4GiB\""),
            summary: "What all these files may hold. Over: 503. A single body that is larger is 413.",
            example: "\"1GiB\"",
            ..ROW
        },
    ],
};

pub(super) static ORIGINS: Section = Section {
    title: "Limits of origins",
    intro: "",
    settings: &[
        Setting {
            path: "origin-limits.connect-timeout",
            kind: deadline(1),
            default: Default::Value("\"5s\""),
            summary: "For a new connection, the look-up of the name included. Over: 504.",
            example: "\"1s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.first-byte-timeout",
            kind: deadline(1),
            default: Default::Value("\"1m\""),
            summary: "From the end of the request to the head of the response. Over: 504.",
            example: "\"10s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.between-bytes-timeout",
            kind: deadline(1),
            default: Default::Value("\"1m\""),
            summary: "The longest pause within the response's body, or while the origin takes nothing of the request's.",
            example: "\"10s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.idle-timeout",
            kind: deadline(0),
            default: Default::Value("\"30s\""),
            summary: "How long an idle connection is kept for reuse. Stay below what the origin itself allows.",
            example: "\"4s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.connections-max",
            kind: Kind::Integer { min: 1, max: 65_536 },
            default: Default::Value("1024"),
            summary: "Connections in use to one origin at a time, over all workers and rules. More requests wait for a place, in order.",
            details: "Idle connections are not counted, nor is a connection that has become a tunnel (WebSocket). A rule with a smaller number leaves the rest to the others.",
            example: "64",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.queue-requests-max",
            kind: Kind::Integer { min: 0, max: 1_000_000 },
            default: Default::Value("1024"),
            summary: "Requests that wait for a place among the connections in use to one origin. Over: 503.",
            example: "100",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.queue-timeout",
            kind: deadline(0),
            default: Default::Value("\"10s\""),
            summary: "How long a request waits for a place among the connections in use to its origin. Over: 503.",
            example: "\"2s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.idle-connections-max",
            kind: Kind::Integer { min: 0, max: 65_536 },
            default: Default::Value("32"),
            summary: "Idle connections that one worker keeps to one origin that speaks HTTP. 0: a new connection for each request.",
            example: "8",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.kept-connections-max",
            kind: Kind::Integer { min: 0, max: 65_536 },
            default: Default::Value("0"),
            summary: "Idle connections that the whole program keeps to one FastCGI application server. 0: a new connection for each request.",
            details: "php-fpm gives a child to each connection, whether it is used or not: keep fewer than it has children, or requests wait for nothing.",
            example: "4",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.continue-timeout",
            kind: deadline(0),
            default: Default::Value("\"1s\""),
            summary: "How long a request with `Expect: 100-continue` waits for the origin's 100 before its body is sent anyway.",
            example: "\"3s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.head-bytes-max",
            kind: Kind::Size { min: 1024, max: MIB },
            default: Default::Value("\"64KiB\""),
            summary: "The largest head of a response. Over: 502.",
            example: "\"128KiB\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.fields-max",
            kind: Kind::Integer { min: 8, max: 10_000 },
            default: Default::Value("200"),
            summary: "The most header fields of a response. Over: 502.",
            example: "500",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.chunk-line-bytes-max",
            kind: Kind::Size { min: 32, max: MIB },
            default: Default::Value("\"4KiB\""),
            summary: "The longest line before a chunk of a response: its size and extensions.",
            example: "\"256B\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.trailer-bytes-max",
            kind: Kind::Size { min: 64, max: MIB },
            default: Default::Value("\"16KiB\""),
            summary: "The largest trailer section of a response.",
            example: "\"8KiB\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.trailer-fields-max",
            kind: Kind::Integer { min: 1, max: 10_000 },
            default: Default::Value("64"),
            summary: "The most trailer fields of a response.",
            example: "16",
            ..EVERYWHERE
        },
    ],
};
