//! Table rows for the whole program, the memory tier, the disk tier, and the access log.

use super::{Default, MIB, ROW, Section, Setting, SettingKind, SettingScope, TIB};
use kasoku_options::DISK_BYTES_MIN;

pub(super) static SERVER: Section = Section {
    title: "The server",
    intro: "These keys stand at the top of the file.",
    settings: &[
        Setting {
            path: "listen",
            kind: SettingKind::TextsOrTables("listening addresses"),
            default: Default::Value("[\"127.0.0.1:8080\"]"),
            flag: Some("--listen"),
            summary: "Where clients connect: `\"127.0.0.1:8080\"`, `\"[::1]:8080\"`, `\"unix:/run/kasoku.sock\"`, or `\"fd:3\"` for a socket that the parent process hands over (LISTEN_FDS).",
            details: "A listener that needs more than its address is a table: `{ address = \"0.0.0.0:8080\", proxy-protocol = true }`. Write addresses as numbers: names are not resolved. The flag may be given several times, and replaces the whole list.",
            example: "[\"0.0.0.0:80\", \"unix:/run/kasoku.sock\"]",
            ..ROW
        },
        Setting {
            path: "address",
            scopes: &[SettingScope::Listen],
            kind: SettingKind::Text("listening address"),
            default: Default::Required,
            summary: "The address of a listener that is written as a table.",
            example: "\"127.0.0.1:8082\"",
            ..ROW
        },
        Setting {
            path: "proxy-protocol",
            scopes: &[SettingScope::Listen],
            kind: SettingKind::Flag,
            summary: "Whether each connection starts with a PROXY protocol header, version 1 or 2, that names the client.",
            details: "A connection without that header is then closed. Any client that can connect to such a listener can claim any address, so let only your load balancer reach it.",
            ..ROW
        },
        Setting {
            path: "defer-accept",
            scopes: &[SettingScope::Listen],
            kind: SettingKind::Flag,
            default: Default::Value("true"),
            summary: "Whether a connection is accepted only when its first bytes have arrived (TCP_DEFER_ACCEPT), so that Kasoku can answer it at once.",
            details: "A connection on which the client sends nothing is accepted after a second. nginx calls this `deferred`, HAProxy `defer-accept`, Apache `AcceptFilter http data`. It has an effect on TCP only. Write `false` if a device between clients and Kasoku does not tolerate a repeated handshake.",
            example: "false",
            ..ROW
        },
        Setting {
            path: "admin",
            kind: SettingKind::Text("listening address"),
            default: Default::Unset("no admin listener"),
            flag: Some("--admin"),
            summary: "The address for other programs of the operator, such as a scraper of `/metrics`: a loopback address or a Unix socket. The commands `kasoku purge`, `explain`, `top` … need only `control-socket`.",
            details: "A Unix socket is for its owner and group. On a loopback address all users of the machine can connect, so requests there that change something, or show what visitors request, need `admin-token-file`. Other addresses are refused.",
            example: "\"127.0.0.1:8081\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "admin-token-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("on a loopback address, only `/healthz`, `/metrics` and `/stats` are answered"),
            flag: Some("--admin-token-file"),
            summary: "The file with the operator's token. If it does not exist, Kasoku makes it, with a random token that only its owner can read.",
            details: "With a token, every path except `/healthz` needs `Authorization: Bearer` and the token on a loopback address. A Unix socket needs no token. With `user`, that user must be able to read the file, or no new process can take over (SIGUSR2); a file that Kasoku makes belongs to that user.",
            example: "\"/etc/kasoku/admin.token\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "control-socket",
            kind: SettingKind::Text("path, \"auto\" or \"off\""),
            default: Default::Value("\"auto\""),
            flag: Some("--control-socket"),
            summary: "Where the commands `kasoku purge`, `explain`, `top`, `doctor` and `reload` find the program on its own machine: an absolute path, `\"auto\"` or `\"off\"`.",
            details: "The socket answers as the admin listener does, to root and to the user that runs the program, and needs no token. `\"auto\"` is `control.sock` in systemd's `$RUNTIME_DIRECTORY`, else `/run/kasoku/control.sock` for root, else `$XDG_RUNTIME_DIR/kasoku/control.sock`; if none of them can be used, there is no socket, and the log says why. Kasoku does not take over a socket that another program serves: a second program on a machine needs a path of its own, and its commands need `--config`, or `--admin unix:` and the path.",
            example: "\"/run/kasoku/blog.sock\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "user",
            kind: SettingKind::Text("user, or user:group"),
            default: Default::Unset("the user that started the program"),
            flag: Some("--user"),
            summary: "The user that the program becomes once it listens, `\"www-data\"` or `\"www-data:www-data\"`, so that it can serve ports below 1024 without the rights of root.",
            details: "Only root can become another user. The access log is opened afterwards, so that user must be able to write to its directory.",
            example: "\"www-data\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "pid-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no file"),
            flag: Some("--pid-file"),
            summary: "The file to which the process writes its number once it serves. The process removes it at its end.",
            example: "\"/run/kasoku/kasoku.pid\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "workers",
            kind: SettingKind::IntegerOrAuto { min: 1, max: 1024 },
            default: Default::Value("\"auto\""),
            flag: Some("--workers"),
            summary: "Threads that serve requests, one event loop each; `\"auto\"`: one for each core that the process may use.",
            example: "3",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "profile",
            scopes: &[SettingScope::Top, SettingScope::Site],
            kind: SettingKind::OneOf(&["safe", "rfc"]),
            default: Default::Value("\"safe\""),
            flag: Some("--profile"),
            summary: "How strict caching is: `\"safe\"` or `\"rfc\"`.",
            details: "`safe` is stricter than the RFCs where they let one visitor see a response that was made for another: a response to a request with `Cookie` is shared only if the response says so, stored responses never carry `Set-Cookie`, and clients cannot force a refresh. `rfc` does what RFC 9111 alone says.",
            example: "\"rfc\"",
            ..ROW
        },
        Setting {
            path: "trusted-proxies",
            kind: SettingKind::Texts("ranges of addresses"),
            default: Default::Value("[]"),
            summary: "Proxies in front of Kasoku whose `Forwarded` and `X-Forwarded-*` fields count: `\"10.0.0.0/8\"`, `\"::1\"`, or `\"unix\"` for a proxy that connects through a Unix socket.",
            details: "Kasoku removes these fields from all other requests. It adds the address from which the connection comes to `X-Forwarded-For` and `Forwarded`, and writes the client's into `X-Real-IP`. What a trusted proxy says about scheme and host enters the cache key.",
            example: "[\"10.0.0.0/8\", \"unix\"]",
            ..ROW
        },
        Setting {
            path: "purge-from",
            kind: SettingKind::Texts("ranges of addresses"),
            default: Default::Value("[\"127.0.0.0/8\", \"::1\", \"unix\"]"),
            summary: "The addresses from which the method `PURGE` is obeyed: ranges of addresses, or `\"unix\"` for clients that connect through a Unix socket.",
            details: "`127.0.0.0/8` or `::1` stands for all addresses of this machine. All other clients get 403, and so does a request that came through a proxy which is not one of `trusted-proxies`. See [purging](operations.md#purging).",
            example: "[\"172.16.0.0/12\"]",
            ..ROW
        },
        Setting {
            path: "hit-headers",
            kind: SettingKind::Texts("response fields"),
            default: Default::Value("[\"Cache-Status\"]"),
            summary: "The response fields that tell what the cache did: `Cache-Status` (RFC 9211): whether it was a hit, and why; `X-Cache-Status`: the same in the words of nginx (`HIT`, `MISS`, `STALE`, `REVALIDATED`, `UPDATING`, `BYPASS`); `X-Cache-Hit`: `1` or `0`; `X-Request-Id`: the id of this request, also of a hit, as in the access log.",
            details: "`X-Request-Id` replaces the application's own. See [request ids](operations.md#request-ids). Empty: none.",
            example: "[\"Cache-Status\", \"X-Request-Id\"]",
            ..ROW
        },
    ],
};

pub(super) static MEMORY: Section = Section {
    title: "The memory tier",
    intro: "",
    settings: &[
        Setting {
            path: "memory.size",
            kind: SettingKind::Size { min: MIB, max: 64 * TIB },
            default: Default::Value("\"1GiB\""),
            flag: Some("--memory"),
            summary: "How much memory responses may hold, all overhead counted.",
            details: "Stored responses have up to seven eighths of it. The rest is for responses on their way, and for evicted ones that slow clients still read. When all of it is in use, nothing more is stored until some of it is free, and clients that take less than 4 KiB a second are cut.",
            example: "\"4GiB\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "memory.object-bytes-max",
            kind: SettingKind::Size { min: 1, max: 16 * TIB },
            default: Default::Value("\"64MiB\""),
            default_varies: true,
            summary: "The largest response that is stored, head and body together.",
            details: "At most an eighth of `memory.size`; in a memory too small for the default, the default is that eighth.",
            example: "\"8MiB\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "memory.store",
            kind: SettingKind::Flag,
            default: Default::Value("true"),
            summary: "Whether responses stay in memory.",
            details: "Off, each hit comes from the disk tier or the shared tier. That shows what these cost, and suits many processes on one machine that share memcached servers.",
            example: "false",
            is_read_at_start: true,
            ..ROW
        },
    ],
};

pub(super) static DISK: Section = Section {
    title: "The disk tier",
    intro: "Responses are written to disk as well, so that they survive a restart, and so that there is room for more than memory holds. Without `path` there is no disk tier.",
    settings: &[
        Setting {
            path: "disk.path",
            kind: SettingKind::Text("directory"),
            default: Default::Unset("no disk tier"),
            flag: Some("--disk"),
            summary: "A directory of its own for responses on disk. It is made with mode 0700 if it does not exist; its parent must be writable for the user that serves.",
            details: "The flag has the size as well: `--disk /var/cache/kasoku:50GiB`. A directory that can't be used (in use by another process, not writable, of a newer format) is reported and tried again each second; until then Kasoku serves from memory.",
            example: "\"/var/cache/kasoku\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "disk.size",
            kind: SettingKind::Size { min: DISK_BYTES_MIN, max: 1024 * TIB },
            default: Default::Value("\"10GiB\""),
            summary: "What the directory may take on disk, with everything in it.",
            example: "\"50GiB\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "disk.admission",
            kind: SettingKind::OneOf(&["always", "second-request", "on-eviction"]),
            default: Default::Value("\"always\""),
            summary: "Which responses are written: all that are stored in memory, those that are stored for the second time, or those that memory evicts.",
            details: "With `\"on-eviction\"`, a restart loses what is only in memory. It spares a disk that wears out: a response that is replaced or purged before memory evicts it is never written.",
            example: "\"second-request\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "disk.verify",
            kind: SettingKind::Flag,
            default: Default::Value("true"),
            summary: "Whether each chunk of a large response is compared with its checksum before it is sent. Without that, responses above 1 MiB go out by sendfile(2), and what the disk has damaged is sent as it is.",
            details: "Smaller responses are always compared.",
            example: "false",
            ..ROW
        },
    ],
};

pub(super) static ACCESS_LOG: Section = Section {
    title: "The access log",
    intro: "One line for each request, see [operations](operations.md#the-access-log).",
    settings: &[
        Setting {
            path: "access-log.path",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no access log"),
            flag: Some("--access-log"),
            summary: "Where each request is logged: a file, to which lines are appended, or `\"-\"` for standard output.",
            details: "If the file does not exist, it is made with mode 0640; its directory must exist. Lines that come faster than they can be written are dropped and counted, and no request waits for them.",
            example: "\"/var/log/kasoku/access.log\"",
            ..ROW
        },
        Setting {
            path: "access-log.format",
            kind: SettingKind::OneOf(&["combined", "combined-cache", "common", "json"]),
            default: Default::Value("\"combined\""),
            flag: Some("--access-log-format"),
            summary: "The format of a line: `\"combined\"` or `\"common\"`, as Apache and nginx write them; `\"combined-cache\"`: `combined` with `Cache-Status`, times and the request's id after it; or `\"json\"`: an object with all of these.",
            example: "\"json\"",
            ..ROW
        },
    ],
};

pub(super) static LOG: Section = Section {
    title: "The program's log",
    intro: "What the program does and what goes wrong, on standard error, see [operations](operations.md#the-programs-log).",
    settings: &[Setting {
        path: "log.format",
        kind: SettingKind::OneOf(&["text", "json"]),
        default: Default::Value("\"text\""),
        flag: Some("--log-format"),
        summary: "The format of a line: `\"text\"`, for people, or `\"json\"`: an object in each line, with `timestamp`, `level`, `message` and further fields.",
        details: "The environment sets how much is logged: `RUST_LOG=debug`. Before the configuration has been read, and if it is wrong at the start, the log is text.",
        example: "\"json\"",
        is_read_at_start: true,
        ..ROW
    }],
};

pub(super) static TRACES: Section = Section {
    title: "Traces",
    intro: "Spans for OpenTelemetry, see [traces](observability.md#traces).",
    settings: &[
        Setting {
            path: "traces.otlp",
            kind: SettingKind::Text("URL"),
            default: Default::Unset("nothing is traced"),
            summary: "The collector to which spans are sent by OTLP over HTTP (protobuf): `\"http://127.0.0.1:4318\"`.",
            details: "Without a path, the path is `/v1/traces`. Kasoku does not send spans by TLS: run a collector on the same machine, which can. A collector that is slow or down delays no request: spans that find no room are dropped and counted.",
            example: "\"http://127.0.0.1:4318\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "traces.sample-one-in",
            kind: SettingKind::Integer { min: 0, max: 1_000_000_000 },
            default: Default::Value("100"),
            summary: "Of the requests that begin a trace, one in this many is recorded; `1`: all, `0`: none.",
            details: "A request with a `traceparent` from one of `trusted-proxies` continues that trace, and is recorded if the `traceparent` says so.",
            example: "1",
            ..ROW
        },
        Setting {
            path: "traces.service-name",
            kind: SettingKind::Text("text"),
            default: Default::Value("\"kasoku\""),
            summary: "The name of this program at the collector (`service.name`).",
            example: "\"shop-cache\"",
            is_read_at_start: true,
            ..ROW
        },
    ],
};
