//! The shared tier.

use super::{Default, MIB, ROW, Section, Setting, SettingKind};
use std::time::Duration;

pub(super) static SHARED: Section = Section {
    title: "The shared tier",
    intro: "Several Kasokus keep their responses together in memcached servers, or in Redis or Valkey, below memory and disk. Without `memcached`, `redis` or `redis-cluster` there is no shared tier. [The page for operators](shared.md) says what is shared, and how purges reach all; [the format](shared-format.md) is for programs that read or replace what is stored.",
    settings: &[
        Setting {
            path: "shared.memcached",
            kind: SettingKind::Texts("servers"),
            default: Default::Unset("no shared tier"),
            summary: "The memcached servers: `\"host:port\"` or `\"unix:/path\"`, or with a weight `\"host:port 2\"`. At most 100.",
            details: "Each Kasoku, and each program that reads the items, must list the same servers with the same spelling: the ring is made of it. Without a port, 11211.",
            example: "[\"10.0.0.1:11211\", \"10.0.0.2:11211 2\"]",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis",
            kind: SettingKind::Texts("servers"),
            default: Default::Unset("no shared tier"),
            summary: "A Redis or Valkey primary and its replicas, in any order: `\"redis://host:port/database\"`, `\"rediss://…\"` for TLS, or `\"unix:/path\"`. At most 16.",
            details: "Only the primary is asked. When it is gone, and one of the others has become the primary, that one is used. If two of them say that they are the primary, none is. Without a port, 6379; without a number, database 0.",
            example: "[\"redis://10.0.0.1:6379\", \"redis://10.0.0.2:6379\"]",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis-cluster",
            kind: SettingKind::Texts("nodes"),
            default: Default::Unset("no shared tier"),
            summary: "Nodes of a Redis Cluster, as in `redis` but without a database. They name the others, so a few are enough. At most 16.",
            example: "[\"redis://10.0.0.1:6379\", \"redis://10.0.0.2:6379\", \"redis://10.0.0.3:6379\"]",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis-user",
            kind: SettingKind::Text("name"),
            default: Default::Unset("Redis' default user"),
            summary: "The user of Redis' access list (ACL).",
            example: "\"kasoku\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis-password-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no password"),
            summary: "The file with the password for Redis. Users other than its owner and group must not be able to open it. A final newline does not count.",
            example: "\"/etc/kasoku/redis.password\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis-ca-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("the certificates that the system trusts"),
            summary: "The file with the certificates (PEM) that are trusted where servers have `rediss://`, in place of those of the system. The servers' certificates are always verified.",
            example: "\"/etc/kasoku/redis-ca.pem\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis-client-certificate-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no certificate"),
            summary: "The file with Kasoku's own certificate (PEM), for servers with `rediss://` that ask for one. Redis does, unless it has `tls-auth-clients no`.",
            details: "Behind the certificate, the file may have those of the authorities between it and the one that the servers trust.",
            example: "\"/etc/kasoku/redis-client.pem\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.redis-client-key-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no certificate"),
            summary: "The file with the private key (PEM) of `redis-client-certificate-file`, not encrypted. Users other than its owner and group must not be able to open it.",
            example: "\"/etc/kasoku/redis-client.key\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.ring",
            kind: SettingKind::OneOf(&["ketama-weighted", "ketama"]),
            default: Default::Value("\"ketama-weighted\""),
            summary: "Which memcached server has an item, as libmemcached chooses it: by 160 points for each server, or by 100.",
            details: "`\"ketama-weighted\"` is what `OPT_LIBKETAMA_COMPATIBLE` selects in PHP. If any weight is above 1, libmemcached uses the weighted ring for `\"ketama\"` as well, and so does Kasoku.",
            example: "\"ketama\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.namespace",
            kind: SettingKind::Text("word"),
            default: Default::Value("\"kasoku\""),
            summary: "The beginning of all names in the servers: 1 to 32 letters, digits, `-` and `_`. Caches with different namespaces share nothing.",
            example: "\"staging\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.secret-file",
            kind: SettingKind::Text("path"),
            default: Default::Unset("no secret: whoever can write to the servers is trusted"),
            summary: "A file with a secret of at least 16 bytes. Items carry an HMAC-SHA-256 that is made with it, and an item without a valid one is a miss.",
            details: "It is the same for each Kasoku of these servers, and a different one for each namespace. Users other than its owner and group must not be able to open it (`chmod o=`). A final newline does not count.",
            example: "\"/etc/kasoku/shared.secret\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.timeout",
            kind: SettingKind::Duration { min: Duration::from_millis(1), max: Duration::from_secs(10) },
            default: Default::Value("\"50ms\""),
            summary: "How long a request waits for a server. After that the server is not asked until it has answered again in the background.",
            example: "\"20ms\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.item-bytes-max",
            kind: SettingKind::Size { min: 64 << 10, max: 1024 * MIB },
            default: Default::Value("\"1MiB\""),
            summary: "The largest item that the servers take: `-I` of memcached. Larger responses are stored in several items.",
            example: "\"8MiB\"",
            is_read_at_start: true,
            ..ROW
        },
        Setting {
            path: "shared.server-down",
            kind: SettingKind::OneOf(&["next", "origin"]),
            default: Default::Value("\"next\""),
            summary: "Where the requests go whose memcached server does not answer: to the next server on the ring, or to the origin.",
            example: "\"origin\"",
            is_read_at_start: true,
            ..ROW
        },
    ],
};
