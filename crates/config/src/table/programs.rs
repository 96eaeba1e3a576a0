//! Table rows for programs, above all those that run for one request.

use super::{Default, EVERYWHERE, MIB, Section, Setting, SettingKind, TIB, deadline};

pub(super) static PROGRAMS: Section = Section {
    title: "Programs",
    intro: "For origins that run programs: `cgi://`, `fastcgi://` and `scgi://`. See [cgi](cgi.md).",
    settings: &[
        Setting {
            path: "environment",
            kind: SettingKind::Texts("variables"),
            default: Default::Value("[]"),
            summary: "Further environment variables of programs: `\"NAME=value\"`, or `\"NAME\"` alone for the value with which Kasoku itself was started.",
            details: "A CGI program gets these, `PATH` and the variables of RFC 3875, and nothing else of Kasoku's own environment. These replace all others of their name. FastCGI and SCGI applications get them as parameters.",
            example: "[\"MT_CONFIG=/etc/mt/mt-config.cgi\", \"TZ\"]",
            ..EVERYWHERE
        },
        Setting {
            path: "pass-authorization",
            default: Default::Unset("`true` for `fastcgi://` and `scgi://`, `false` for `cgi://`"),
            summary: "Whether programs get the client's `Authorization`, as `HTTP_AUTHORIZATION`.",
            details: "Other users of the machine may be able to read the environment of a CGI program. Apache calls this CGIPassAuth.",
            ..EVERYWHERE
        },
        Setting {
            path: "cgi.processes-max",
            kind: SettingKind::Integer { min: 1, max: 65_536 },
            default: Default::Value("32"),
            summary: "CGI programs that run at a time, over all sites and workers. More requests wait, within `origin-limits.queue-requests-max` and `origin-limits.queue-timeout`; beyond these they get 503.",
            details: "A rule with a smaller number leaves the rest to other rules.",
            example: "4",
            ..EVERYWHERE
        },
        Setting {
            path: "cgi.run-timeout",
            kind: deadline(1),
            default: Default::Value("\"5m\""),
            summary: "How long a CGI program may run, its work after the answer included. Then Kasoku ends it, with all processes that it has started; a request that still waits for its answer gets 504.",
            details: "Until the head of its answer comes, `origin-limits.first-byte-timeout` holds as well, and after that `origin-limits.between-bytes-timeout`.",
            example: "\"30s\"",
            ..EVERYWHERE
        },
        Setting {
            path: "cgi.memory-bytes-max",
            kind: SettingKind::Size { min: 8 * MIB, max: TIB },
            default: Default::Unset("no limit"),
            summary: "The address space of each process of a CGI program (RLIMIT_AS). Interpreters reserve more of it than they use.",
            example: "\"256MiB\"",
            ..EVERYWHERE
        },
        Setting {
            path: "cgi.umask",
            kind: SettingKind::Text("umask"),
            default: Default::Value("\"0022\""),
            summary: "The permissions, in octal, that files and directories which a CGI program makes do not get: with `\"0022\"` other users may read them, as a program needs that publishes pages for another server.",
            details: "It holds whatever Kasoku's own umask is (systemd's `UMask=`). Programs of `fastcgi+spawn://` have it in their URL: `fastcgi+spawn:///srv/mt/mt.fcgi?umask=0002`.",
            example: "\"0002\"",
            ..EVERYWHERE
        },
    ],
};
