//! The tables of the file that have keys and no scope of their own: each line is a field, and how its key is read.
//!
//! Types and the bounds of numbers are checked here, by the table's rows.

use super::LocatedTexts;
use crate::issue::Located;
use crate::reader::{Keys, TextPairs, WrittenKeys};
use std::time::Duration;

/// Declares tables. `text("path")` is the key `path`, read by [`Keys::text`]; `group("log", RawLog)` is the table `[log]`;
/// `beside(RawGuard)` are keys that stand beside the others; `written()` are the places of all keys that the scope has.
macro_rules! tables {
    ($($(#[$about:meta])* $table:ident { $($field:ident: $kind:ident($($argument:tt),*),)* })*) => { $(
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(crate) struct $table {
            $(pub(crate) $field: type_of!($kind $($argument)*),)*
        }

        impl $table {
            pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
                Self { $($field: read!(keys $kind $($argument)*),)* }
            }
        }
    )* };
}

macro_rules! type_of {
    (group $key:literal $table:ident) => { $table };
    (beside $table:ident) => { $table };
    (written) => { WrittenKeys };
    (text $key:literal) => { Option<Located<String>> };
    (number_or_text $key:literal) => { Option<Located<String>> };
    (texts $key:literal) => { Option<LocatedTexts> };
    (map $key:literal) => { Option<Located<TextPairs>> };
    (flag $key:literal) => { Option<Located<bool>> };
    (flag_or $key:literal) => { Option<Located<String>> };
    (integer $key:literal) => { Option<Located<u64>> };
    (size $key:literal) => { Option<Located<u64>> };
    (duration $key:literal) => { Option<Located<Duration>> };
    (durations $key:literal) => { Option<Vec<(Located<String>, Located<Duration>)>> };
}

macro_rules! read {
    ($keys:ident group $key:literal $table:ident) => { $keys.group($key, $table::read) };
    ($keys:ident beside $table:ident) => { $table::read($keys) };
    ($keys:ident $kind:ident $($key:literal)?) => { $keys.$kind($($key)?) };
}

tables! {
    /// The keys that may stand at the top, in a site and in a rule.
    RawRoute {
        balance: text("balance"),
        health: group("origin-health", RawHealth),
        request_buffering: flag("request-buffering"),
        cache: group("cache", RawCache),
        expiry: beside(RawExpiry),
        cookies: group("cookies", RawCookies),
        visitors: beside(RawVisitors),
        changes: beside(RawChanges),
        counters: beside(RawCounters),
        guard: beside(RawGuard),
        query: group("query", RawQuery),
        compress: group("compress", RawCompress),
        origin_limits: group("origin-limits", RawOriginLimits),
        gateway: beside(RawGateway),
        programs: beside(RawPrograms),
        sendfile: group("sendfile", RawSendfile),
        written: written(),
    }

    /// `[memory]`
    RawMemory {
        size: size("size"),
        object_bytes_max: size("object-bytes-max"),
        store: flag("store"),
    }

    /// `[disk]`
    RawDisk {
        path: text("path"),
        size: size("size"),
        admission: text("admission"),
        verify: flag("verify"),
    }

    /// `[shared]`
    RawShared {
        memcached: texts("memcached"),
        redis: texts("redis"),
        redis_cluster: texts("redis-cluster"),
        redis_user: text("redis-user"),
        redis_password_file: text("redis-password-file"),
        redis_ca_file: text("redis-ca-file"),
        redis_client_certificate_file: text("redis-client-certificate-file"),
        redis_client_key_file: text("redis-client-key-file"),
        ring: text("ring"),
        namespace: text("namespace"),
        secret_file: text("secret-file"),
        timeout: duration("timeout"),
        item_bytes_max: size("item-bytes-max"),
        server_down: text("server-down"),
    }

    /// `[access-log]`
    RawAccessLog {
        path: text("path"),
        format: text("format"),
    }

    /// `[log]`
    RawLog {
        format: text("format"),
    }

    /// `[traces]`
    RawTraces {
        otlp: text("otlp"),
        sample_one_in: integer("sample-one-in"),
        service_name: text("service-name"),
    }

    /// `[request-buffer]`
    RawRequestBuffer {
        directory: text("directory"),
        bytes_max: size("bytes-max"),
    }

    /// `[limits]`
    RawLimits {
        head_bytes_max: size("head-bytes-max"),
        request_body_bytes_max: size("request-body-bytes-max"),
        head_timeout: duration("head-timeout"),
        idle_timeout: duration("idle-timeout"),
        body_timeout: duration("body-timeout"),
        send_timeout: duration("send-timeout"),
        connections_max: integer("connections-max"),
        connections_per_address: integer("connections-per-address"),
        drain_timeout: duration("drain-timeout"),
        drain_idle_timeout: duration("drain-idle-timeout"),
        fill_wait_max: duration("fill-wait-max"),
        client_misses_max: integer("client-misses-max"),
    }

    /// `[cache]`
    RawCache {
        heuristic_percent: integer("heuristic-percent"),
        client_may_revalidate: flag("client-may-revalidate"),
        negative_ttl: duration("negative-ttl"),
        stale_disconnected: duration("stale-disconnected"),
    }

    /// The keys that grant lifetimes, and tell visitors apart there. They stand in no table of their own.
    RawExpiry {
        ttl: duration("ttl"),
        ttl_override: duration("ttl-override"),
        ignore: texts("ignore"),
        ttl_status: durations("ttl-status"),
        ttl_max: duration("ttl-max"),
        announce_ttl: flag("announce-ttl"),
        grace: duration("grace"),
        keep: duration("keep"),
        key_fields: texts("key-fields"),
        strip_fields: texts("strip-fields"),
    }

    /// `[cookies]`
    RawCookies {
        pass: texts("pass"),
        session: texts("session"),
        key: texts("key"),
        noise: texts("noise"),
        others: text("others"),
    }

    /// The keys that tell visitors apart. Only those of `[session]` stand in a table of their own.
    RawVisitors {
        pass_urls: texts("pass-urls"),
        page_text: texts("page-text"),
        outage_text: texts("outage-text"),
        private_text: texts("private-text"),
        empty_tokens: texts("empty-tokens"),
        refuse_urls: texts("refuse-urls"),
        fresh_links: texts("fresh-links"),
        key_device: flag("key-device"),
        device_urls: texts("device-urls"),
        key_languages: texts("key-languages"),
        session: group("session", RawSession),
    }

    /// `[session]`
    RawSession {
        anonymous_cookies: texts("anonymous-cookies"),
        logout: texts("logout"),
        harmless_urls: texts("harmless-urls"),
        stateful_urls: texts("stateful-urls"),
        stateful_for: duration("stateful-for"),
        probe: text("probe"),
        anonymous_for: duration("anonymous-for"),
        expire_after: duration("expire-after"),
    }

    /// The keys that say which requests change which pages. They stand in no table of their own.
    RawChanges {
        tags: texts("tags"),
        changes: texts("changes"),
        no_change_redirects: texts("no-change-redirects"),
        again: duration("changes-again"),
    }

    /// The keys that keep the application's own counters counting. They stand in no table of their own.
    RawCounters {
        anonymous_request_addresses: text("anonymous-request-addresses"),
        anonymous_request_cookies: texts("anonymous-request-cookies"),
        beacon: text("beacon"),
        view_beacon: text("view-beacon"),
    }

    /// The keys of the leak guard. They stand in no table of their own.
    RawGuard {
        guard: flag_or("guard"),
        noise: texts("guard-noise"),
        cookie: text("guard-cookie"),
    }

    /// `[query]`
    RawQuery {
        sort: flag("sort"),
        ignore: texts("ignore"),
        known: texts("known"),
    }

    /// `[compress]`
    RawCompress {
        codings: texts("codings"),
        types: texts("types"),
        level: text("level"),
    }

    /// `[origin-limits]`
    RawOriginLimits {
        connect_timeout: duration("connect-timeout"),
        first_byte_timeout: duration("first-byte-timeout"),
        between_bytes_timeout: duration("between-bytes-timeout"),
        connections_max: integer("connections-max"),
        queue_requests_max: integer("queue-requests-max"),
        queue_timeout: duration("queue-timeout"),
        idle_timeout: duration("idle-timeout"),
        keepalive_connections_max: integer("keepalive-connections-max"),
        keepalive_time: duration("keepalive-time"),
        keepalive_requests_max: integer("keepalive-requests-max"),
        dns_ttl: duration("dns-ttl"),
        head_bytes_max: size("head-bytes-max"),
    }

    /// `[origin-health]`
    RawHealth {
        failures: integer("failures"),
        back_off: duration("back-off"),
        path: text("path"),
        interval: duration("interval"),
        timeout: duration("timeout"),
        expect: number_or_text("expect"),
    }

    /// The keys that say how URLs map to files and scripts.
    RawGateway {
        root: text("root"),
        url_prefix: text("url-prefix"),
        index: texts("index"),
        try_files: texts("try-files"),
        rewrite: texts("rewrite"),
        script_suffixes: texts("script-suffixes"),
        no_programs: texts("no-programs"),
        symlinks: text("symlinks"),
        files: group("files", RawFiles),
    }

    /// `[files]`
    RawFiles {
        source_suffixes: texts("source-suffixes"),
        charset: text("charset"),
        rate_max: size("rate-max"),
    }

    /// The keys of programs.
    RawPrograms {
        environment: texts("environment"),
        pass_authorization: flag("pass-authorization"),
        limits: group("cgi", RawCgi),
    }

    /// `[cgi]`
    RawCgi {
        processes_max: integer("processes-max"),
        run_timeout: duration("run-timeout"),
        memory_bytes_max: size("memory-bytes-max"),
        umask: text("umask"),
    }

    /// `[sendfile]`
    RawSendfile {
        roots: texts("roots"),
        internal: map("internal"),
        symlinks: text("symlinks"),
        unescape: flag("unescape"),
    }
}
