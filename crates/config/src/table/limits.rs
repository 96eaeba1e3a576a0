//! Table rows for bounds and deadlines, of clients' connections and of origins'.

use super::{DAY, Default, EVERYWHERE, MIB, ROW, Section, Setting, SettingKind, TIB, deadline};
use std::time::Duration;

pub(super) static CLIENTS: Section = Section {
    title: "Limits of clients",
    intro: "Limits of clients' connections and requests.",
    settings: &[
        Setting {
            path: "limits.head-bytes-max",
            kind: SettingKind::Size { min: 1024, max: MIB },
            default: Default::Value("\"64KiB\""),
            summary: "The largest head of a request, request line included. A larger one gets 431.",
            details: "The request-target, path and query, may have 16 KiB of it: a longer one gets 414. A head has at most 200 fields.",
            example: "\"32KiB\"",
            ..ROW
        },
        Setting {
            path: "limits.request-body-bytes-max",
            kind: SettingKind::Size { min: 1, max: 16 * TIB },
            default: Default::Value("\"1GiB\""),
            summary: "The largest body of a request. A larger one gets 413.",
            example: "\"16MiB\"",
            ..ROW
        },
        Setting {
            path: "limits.head-timeout",
            kind: deadline(1),
            default: Default::Value("\"10s\""),
            summary: "How long after its first byte a head must be complete. A later one gets 408.",
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
            summary: "The longest pause between two pieces of a request's body. After a longer one, the client gets 408.",
            details: "A client that sends less than 500 bytes a second, averaged over this time, gets 408 as well. Only time in which Kasoku waits for the client counts, not time in which a slow origin makes the client wait. It is like Apache's mod_reqtimeout.",
            example: "\"10s\"",
            ..ROW
        },
        Setting {
            path: "limits.send-timeout",
            kind: deadline(1),
            default: Default::Value("\"30s\""),
            summary: "The longest pause in which the client takes nothing of the response. After a longer one, the connection is cut.",
            details: "While memory is short (less than a sixteenth of `memory.size` is free), a client that takes less than 4 KiB a second, over five seconds, is cut as well.",
            example: "\"10s\"",
            ..ROW
        },
        Setting {
            path: "limits.connections-max",
            kind: SettingKind::Integer { min: 1, max: 10_000_000 },
            default: Default::Value("16_384"),
            summary: "Connections that one worker serves at once; more wait in the kernel's queue.",
            details: "Where a client waits there, the connections close that have waited longest for a request, if for more than a second. All clients together get five eighths of the descriptors that the process may open (ulimit -n, systemd's LimitNOFILE), since origins and files need some, too; the log says at the start if that is less than this number.",
            example: "1024",
            ..ROW
        },
        Setting {
            path: "limits.connections-per-address",
            kind: SettingKind::Integer { min: 0, max: 10_000_000 },
            default: Default::Value("0"),
            summary: "Connections that one client may have at once, by its address, over all workers. More are closed without an answer. 0: any number.",
            details: "An IPv6 network of 64 bits is one client. A browser has six connections; an office, a school or a mobile network may have hundreds of people behind one address. Trusted proxies (`trusted-proxies`) have no limit; with `proxy-protocol` the address is that of its header. nginx calls this limit_conn.",
            example: "200",
            ..ROW
        },
        Setting {
            path: "limits.drain-timeout",
            kind: deadline(0),
            default: Default::Value("\"10s\""),
            summary: "How long running requests may take to end after the program is told to stop.",
            example: "\"1m\"",
            ..ROW
        },
        Setting {
            path: "limits.drain-idle-timeout",
            kind: SettingKind::Duration { min: Duration::ZERO, max: Duration::from_secs(DAY) },
            default: Default::Value("\"1s\""),
            summary: "How long a connection without a request may still send one after the program is told to stop.",
            details: "So a request that is on its way at that moment is answered; then its connection is closed.",
            example: "\"100ms\"",
            ..ROW
        },
        Setting {
            path: "limits.fill-wait-max",
            kind: deadline(0),
            default: Default::Value("\"30s\""),
            summary: "How long a client waits for a response that Kasoku is already fetching for another client.",
            details: "After that a stale response answers, if it may; otherwise the origin is asked once more, for all clients that wait.",
            example: "\"5s\"",
            ..ROW
        },
        Setting {
            path: "limits.client-misses-max",
            kind: SettingKind::Integer { min: 0, max: 1_000_000 },
            default: Default::Value("30"),
            summary: "How many fetches a second one client may begin, by its address, where a lifetime is granted. 0: any number.",
            details: "The application does not know who asks there (`anonymous-request-addresses`), so its own limits by address do not bind these fetches. A client may begin twenty times as many at once, and an IPv6 network of 64 bits is one client. Beyond that a stale response answers, if there is one; otherwise the client gets 429. Hits never count, nor do requests that wait for another client's fetch or that pass by a rule or a cookie. Addresses that may stand for many clients are not bound: a trusted proxy's own, and those of this machine and of private networks that connect directly.",
            example: "100",
            ..ROW
        },
    ],
};

pub(super) static REQUEST_BUFFER: Section = Section {
    title: "Bodies of requests",
    intro: "Whether an origin is asked before the body of a request is complete, and where Kasoku keeps the body until then: up to 64 KiB in memory, counted in `memory.size`, and the rest in a file.",
    settings: &[
        Setting {
            path: "request-buffering",
            kind: SettingKind::Flag,
            default: Default::Unset(
                "`true` where an origin is a program (CGI, FastCGI, SCGI), `false` where all are servers or files",
            ),
            summary: "Whether the body of a request must be complete before an origin is asked, so that a client that sends slowly takes no place there.",
            details: "Kasoku then answers `Expect: 100-continue` itself, and sends the body on with its length, without trailers. With `false` a program gets the body as it comes, and a slow client holds its place there. But a body in chunks is completed first even so, since a program has to be told its length. nginx calls this proxy_request_buffering.",
            example: "true",
            ..EVERYWHERE
        },
        Setting {
            path: "request-buffer.directory",
            kind: SettingKind::Text("path"),
            default: Default::Unset("the directory for temporary files: TMPDIR, else `/tmp`"),
            summary: "Where Kasoku keeps bodies that are longer than 64 KiB. Their files have no names, and leave nothing behind.",
            details: "It should be on a disk: a tmpfs is in memory. nginx calls this client_body_temp_path.",
            example: "\"/var/tmp\"",
            ..ROW
        },
        Setting {
            path: "request-buffer.bytes-max",
            kind: SettingKind::Size { min: MIB, max: 16 * TIB },
            default: Default::Value("\"4GiB\""),
            summary: "The limit of all these files together. A request that finds no room gets 503; a single body that is larger than this gets 413.",
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
            summary: "How long a new connection may take, the look-up of the name included. After that: 504.",
            example: "\"1s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.first-byte-timeout",
            kind: deadline(1),
            default: Default::Value("\"1m\""),
            summary: "How long the head of the response may take from the end of the request. After that: 504.",
            example: "\"10s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.between-bytes-timeout",
            kind: deadline(1),
            default: Default::Value("\"1m\""),
            summary: "The longest pause within the response's body, or in which the origin takes nothing of the request's.",
            example: "\"10s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.idle-timeout",
            kind: deadline(0),
            default: Default::Value("\"30s\""),
            summary: "How long an idle connection is kept for reuse. Stay below the limit of the origin itself.",
            example: "\"4s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.connections-max",
            kind: SettingKind::Integer { min: 1, max: 65_536 },
            default: Default::Value("1024"),
            summary: "Connections in use to one origin at a time, over all workers and rules. More requests wait for a place, in order.",
            details: "Idle connections are not counted, nor is a connection that has become a tunnel (WebSocket). A rule with a smaller number leaves the rest to other rules.",
            example: "64",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.queue-requests-max",
            kind: SettingKind::Integer { min: 0, max: 1_000_000 },
            default: Default::Value("1024"),
            summary: "Requests that may wait for a place among the connections in use to one origin. More get 503.",
            example: "100",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.queue-timeout",
            kind: deadline(0),
            default: Default::Value("\"10s\""),
            summary: "How long a request may wait for a place among the connections in use to its origin. After that: 503.",
            example: "\"2s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.keepalive-connections-max",
            kind: SettingKind::Integer { min: 0, max: 65_536 },
            default: Default::Unset("32 for origins of HTTP, 0 for FastCGI application servers"),
            summary: "Idle connections that are kept to one origin: by each worker to an origin of HTTP, by the whole program to a FastCGI application server. 0: a new connection for each request.",
            details: "php-fpm gives a child to each connection, used or not: keep fewer than it has children, or requests wait although children are idle.",
            example: "8",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.keepalive-time",
            kind: SettingKind::Duration { min: Duration::ZERO, max: Duration::from_secs(7 * 24 * 3600) },
            default: Default::Value("\"1h\""),
            summary: "How long a connection to an origin is used, however busy it is. 0: a new connection for each request.",
            details: "A connection that is older closes after its answer. Without an end, a load balancer in front of the application could not move its clients.",
            example: "\"10m\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.keepalive-requests-max",
            kind: SettingKind::Integer { min: 1, max: 1_000_000_000 },
            default: Default::Value("1000"),
            summary: "Requests that one connection to an origin carries. After the last one it is closed.",
            example: "100",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.dns-ttl",
            kind: SettingKind::Duration { min: Duration::ZERO, max: Duration::from_secs(24 * 3600) },
            default: Default::Value("\"30s\""),
            summary: "How old the addresses of an origin's name get before it is resolved anew, since the system's resolver does not tell their TTL. 0: for each request.",
            details: "Idle connections to addresses that the name no longer has are closed. `reload` resolves all names anew. If a name can't be resolved, its last addresses stay. Requests take turns among all addresses of a name; one that refuses a connection comes last for 10 seconds.",
            example: "\"5s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "origin-limits.head-bytes-max",
            kind: SettingKind::Size { min: 1024, max: MIB },
            default: Default::Value("\"64KiB\""),
            summary: "The largest head of a response, with at most 200 fields. A larger one makes it a 502.",
            example: "\"128KiB\"",
            ..EVERYWHERE
        },
    ],
};
