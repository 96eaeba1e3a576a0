//! The file as it was written: every key with its place, nothing looked up, nothing filled in.
//!
//! Each struct is one table of the file, each field one key, and each `read` names the key beside its type. Types and the bounds of
//! numbers are checked here, by the table's rows; `resolve` checks what a text means and what must fit together.

mod changes;
mod cookies;
mod counters;
mod guard;
mod visitors;

use crate::issue::{Issue, Located, SourceLocation};
use crate::reader::{self, Keys, TextPairs};
use crate::table::SettingScope;
pub(crate) use changes::RawChanges;
pub(crate) use cookies::RawCookies;
pub(crate) use counters::RawCounters;
pub(crate) use guard::RawGuard;
use std::time::Duration;
use toml::de::DeTable;
pub(crate) use visitors::{RawSession, RawVisitors};

/// A list of texts, with the place of the list and of each text.
pub(crate) type LocatedTexts = Located<Vec<Located<String>>>;

/// A list of origins.
pub(crate) type RawOrigins = Located<Vec<RawOrigin>>;

/// The whole file.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub(crate) listen: Option<Located<Vec<RawListener>>>,
    pub(crate) admin: Option<Located<String>>,
    pub(crate) admin_token_file: Option<Located<String>>,
    pub(crate) control_socket: Option<Located<String>>,
    pub(crate) user: Option<Located<String>>,
    pub(crate) pid_file: Option<Located<String>>,
    pub(crate) workers: Option<Located<String>>,
    pub(crate) profile: Option<Located<String>>,
    pub(crate) trusted_proxies: Option<LocatedTexts>,
    pub(crate) purge_from: Option<LocatedTexts>,
    pub(crate) hit_headers: Option<LocatedTexts>,
    pub(crate) memory: RawMemory,
    pub(crate) access_log: RawAccessLog,
    pub(crate) log: RawLog,
    pub(crate) traces: RawTraces,
    pub(crate) limits: RawLimits,
    pub(crate) request_buffer: RawRequestBuffer,
    pub(crate) strip_path_parameters: Option<LocatedTexts>,
    pub(crate) route: RawRoute,
    pub(crate) sites: Vec<RawSite>,
}

/// One of `listen`.
#[derive(Debug)]
pub(crate) struct RawListener {
    pub(crate) address: Option<Located<String>>,
    pub(crate) proxy_protocol: Option<Located<bool>>,
    pub(crate) defer_accept: Option<Located<bool>>,
}

/// `[memory]`
#[derive(Debug, Default)]
pub(crate) struct RawMemory {
    pub(crate) size: Option<Located<u64>>,
    pub(crate) object_bytes_max: Option<Located<u64>>,
}

/// `[access-log]`
#[derive(Debug, Default)]
pub(crate) struct RawAccessLog {
    pub(crate) path: Option<Located<String>>,
    pub(crate) format: Option<Located<String>>,
}

/// `[log]`
#[derive(Debug, Default)]
pub(crate) struct RawLog {
    pub(crate) format: Option<Located<String>>,
}

/// `[traces]`
#[derive(Debug, Default)]
pub(crate) struct RawTraces {
    pub(crate) otlp: Option<Located<String>>,
    pub(crate) sample_one_in: Option<Located<u64>>,
    pub(crate) service_name: Option<Located<String>>,
}

/// `[request-buffer]`
#[derive(Debug, Default)]
pub(crate) struct RawRequestBuffer {
    pub(crate) directory: Option<Located<String>>,
    pub(crate) bytes_max: Option<Located<u64>>,
}

/// `[limits]`
#[derive(Debug, Default)]
pub(crate) struct RawLimits {
    pub(crate) head_bytes_max: Option<Located<u64>>,
    pub(crate) request_body_bytes_max: Option<Located<u64>>,
    pub(crate) head_timeout: Option<Located<Duration>>,
    pub(crate) idle_timeout: Option<Located<Duration>>,
    pub(crate) body_timeout: Option<Located<Duration>>,
    pub(crate) send_timeout: Option<Located<Duration>>,
    pub(crate) connections_max: Option<Located<u64>>,
    pub(crate) drain_timeout: Option<Located<Duration>>,
    pub(crate) drain_idle_timeout: Option<Located<Duration>>,
    pub(crate) fill_wait_max: Option<Located<Duration>>,
}

/// The keys that may stand at the top, in a site and in a rule.
#[derive(Debug, Default)]
pub(crate) struct RawRoute {
    pub(crate) balance: Option<Located<String>>,
    pub(crate) health: RawHealth,
    pub(crate) request_buffering: Option<Located<bool>>,
    pub(crate) cache: RawCache,
    pub(crate) expiry: RawExpiry,
    pub(crate) cookies: RawCookies,
    pub(crate) visitors: RawVisitors,
    pub(crate) changes: RawChanges,
    pub(crate) counters: RawCounters,
    pub(crate) guard: RawGuard,
    pub(crate) query: RawQuery,
    pub(crate) compress: RawCompress,
    pub(crate) origin_limits: RawOriginLimits,
    pub(crate) gateway: RawGateway,
    pub(crate) programs: RawPrograms,
    pub(crate) sendfile: RawSendfile,
}

/// The keys of programs.
#[derive(Debug, Default)]
pub(crate) struct RawPrograms {
    pub(crate) environment: Option<LocatedTexts>,
    pub(crate) pass_authorization: Option<Located<bool>>,
    pub(crate) limits: RawCgi,
}

/// `[cgi]`
#[derive(Debug, Default)]
pub(crate) struct RawCgi {
    pub(crate) processes_max: Option<Located<u64>>,
    pub(crate) run_timeout: Option<Located<Duration>>,
    pub(crate) memory_bytes_max: Option<Located<u64>>,
    pub(crate) umask: Option<Located<String>>,
}

/// The keys that say how URLs map to files and scripts.
#[derive(Debug, Default)]
pub(crate) struct RawGateway {
    pub(crate) root: Option<Located<String>>,
    pub(crate) url_prefix: Option<Located<String>>,
    pub(crate) index: Option<LocatedTexts>,
    pub(crate) try_files: Option<LocatedTexts>,
    pub(crate) rewrite: Option<LocatedTexts>,
    pub(crate) script_suffixes: Option<LocatedTexts>,
    pub(crate) no_programs: Option<LocatedTexts>,
    pub(crate) symlinks: Option<Located<String>>,
    pub(crate) files: RawFiles,
}

/// `[files]`
#[derive(Debug, Default)]
pub(crate) struct RawFiles {
    pub(crate) source_suffixes: Option<LocatedTexts>,
    pub(crate) charset: Option<Located<String>>,
    pub(crate) rate_max: Option<Located<u64>>,
}

/// `[sendfile]`
#[derive(Debug, Default)]
pub(crate) struct RawSendfile {
    pub(crate) roots: Option<LocatedTexts>,
    pub(crate) internal: Option<Located<TextPairs>>,
    pub(crate) symlinks: Option<Located<String>>,
    pub(crate) unescape: Option<Located<bool>>,
}

/// `[cache]`
#[derive(Debug, Default)]
pub(crate) struct RawCache {
    pub(crate) heuristic_percent: Option<Located<u64>>,
    pub(crate) client_may_revalidate: Option<Located<bool>>,
    pub(crate) negative_ttl: Option<Located<Duration>>,
    pub(crate) stale_disconnected: Option<Located<Duration>>,
}

/// The keys that grant lifetimes, and tell visitors apart there. They stand in no table of their own.
#[derive(Debug, Default)]
pub(crate) struct RawExpiry {
    pub(crate) ttl: Option<Located<Duration>>,
    pub(crate) ttl_override: Option<Located<Duration>>,
    pub(crate) ignore: Option<LocatedTexts>,
    pub(crate) ttl_status: Option<Vec<(Located<String>, Located<Duration>)>>,
    pub(crate) ttl_max: Option<Located<Duration>>,
    pub(crate) announce_ttl: Option<Located<bool>>,
    pub(crate) grace: Option<Located<Duration>>,
    pub(crate) keep: Option<Located<Duration>>,
    pub(crate) key_fields: Option<LocatedTexts>,
    pub(crate) strip_fields: Option<LocatedTexts>,
}

/// `[query]`
#[derive(Debug, Default)]
pub(crate) struct RawQuery {
    pub(crate) sort: Option<Located<bool>>,
    pub(crate) ignore: Option<LocatedTexts>,
    pub(crate) known: Option<LocatedTexts>,
}

/// `[compress]`
#[derive(Debug, Default)]
pub(crate) struct RawCompress {
    pub(crate) codings: Option<LocatedTexts>,
    pub(crate) types: Option<LocatedTexts>,
    pub(crate) level: Option<Located<String>>,
}

/// `[origin-limits]`
#[derive(Debug, Default)]
pub(crate) struct RawOriginLimits {
    pub(crate) connect_timeout: Option<Located<Duration>>,
    pub(crate) first_byte_timeout: Option<Located<Duration>>,
    pub(crate) between_bytes_timeout: Option<Located<Duration>>,
    pub(crate) connections_max: Option<Located<u64>>,
    pub(crate) queue_requests_max: Option<Located<u64>>,
    pub(crate) queue_timeout: Option<Located<Duration>>,
    pub(crate) idle_timeout: Option<Located<Duration>>,
    pub(crate) keepalive_connections_max: Option<Located<u64>>,
    pub(crate) head_bytes_max: Option<Located<u64>>,
}

/// `[origin-health]`
#[derive(Debug, Default)]
pub(crate) struct RawHealth {
    pub(crate) failures: Option<Located<u64>>,
    pub(crate) back_off: Option<Located<Duration>>,
    pub(crate) path: Option<Located<String>>,
    pub(crate) interval: Option<Located<Duration>>,
    pub(crate) timeout: Option<Located<Duration>>,
    pub(crate) expect: Option<Located<String>>,
}

/// One of `origin`.
#[derive(Debug)]
pub(crate) struct RawOrigin {
    pub(crate) place: SourceLocation,
    pub(crate) url: Option<Located<String>>,
    pub(crate) weight: Option<Located<u64>>,
    pub(crate) backup: Option<Located<bool>>,
    pub(crate) connections_max: Option<Located<u64>>,
}

/// `[[site]]`
#[derive(Debug, Default)]
pub(crate) struct RawSite {
    /// Its header; none for the site that `--origin` makes.
    pub(crate) place: Option<SourceLocation>,
    pub(crate) hosts: Option<LocatedTexts>,
    pub(crate) profile: Option<Located<String>>,
    pub(crate) application: Option<Located<String>>,
    pub(crate) origins: Option<RawOrigins>,
    pub(crate) origin_host: Option<Located<String>>,
    pub(crate) key_host: Option<Located<String>>,
    pub(crate) strip_path_parameters: Option<LocatedTexts>,
    pub(crate) route: RawRoute,
    pub(crate) rules: Vec<RawRule>,
}

/// `[[site.rule]]`
#[derive(Debug)]
pub(crate) struct RawRule {
    pub(crate) path: Option<Located<String>>,
    pub(crate) pass: Option<Located<bool>>,
    pub(crate) origins: Option<RawOrigins>,
    pub(crate) origin_host: Option<Located<String>>,
    pub(crate) route: RawRoute,
}

impl Raw {
    /// The file's keys; faults go to `issues`.
    pub(crate) fn read(document: &DeTable<'_>, issues: &mut Vec<Issue>) -> Self {
        reader::read(document, issues, |keys| Self {
            listen: keys.texts_or_tables("listen", SettingScope::Listen, RawListener::of_address, RawListener::read),
            admin: keys.text("admin"),
            admin_token_file: keys.text("admin-token-file"),
            control_socket: keys.text("control-socket"),
            user: keys.text("user"),
            pid_file: keys.text("pid-file"),
            workers: keys.number_or_text("workers"),
            profile: keys.text("profile"),
            trusted_proxies: keys.texts("trusted-proxies"),
            purge_from: keys.texts("purge-from"),
            hit_headers: keys.texts("hit-headers"),
            memory: keys.group("memory", RawMemory::read),
            access_log: keys.group("access-log", RawAccessLog::read),
            log: keys.group("log", RawLog::read),
            traces: keys.group("traces", RawTraces::read),
            limits: keys.group("limits", RawLimits::read),
            request_buffer: keys.group("request-buffer", RawRequestBuffer::read),
            strip_path_parameters: keys.texts("strip-path-parameters"),
            route: RawRoute::read(keys),
            sites: keys.tables("site", SettingScope::Site, RawSite::read),
        })
    }
}

impl RawListener {
    pub(crate) fn of_address(address: Located<String>) -> Self {
        Self { address: Some(address), proxy_protocol: None, defer_accept: None }
    }

    fn read(keys: &mut Keys<'_, '_>, _header: SourceLocation) -> Self {
        let (proxy_protocol, defer_accept) = (keys.flag("proxy-protocol"), keys.flag("defer-accept"));
        Self { address: keys.text("address"), proxy_protocol, defer_accept }
    }
}

impl RawMemory {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { size: keys.size("size"), object_bytes_max: keys.size("object-bytes-max") }
    }
}

impl RawAccessLog {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { path: keys.text("path"), format: keys.text("format") }
    }
}

impl RawLog {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { format: keys.text("format") }
    }
}

impl RawTraces {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            otlp: keys.text("otlp"),
            sample_one_in: keys.integer("sample-one-in"),
            service_name: keys.text("service-name"),
        }
    }
}

impl RawRequestBuffer {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { directory: keys.text("directory"), bytes_max: keys.size("bytes-max") }
    }
}

impl RawLimits {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            head_bytes_max: keys.size("head-bytes-max"),
            request_body_bytes_max: keys.size("request-body-bytes-max"),
            head_timeout: keys.duration("head-timeout"),
            idle_timeout: keys.duration("idle-timeout"),
            body_timeout: keys.duration("body-timeout"),
            send_timeout: keys.duration("send-timeout"),
            connections_max: keys.integer("connections-max"),
            drain_timeout: keys.duration("drain-timeout"),
            drain_idle_timeout: keys.duration("drain-idle-timeout"),
            fill_wait_max: keys.duration("fill-wait-max"),
        }
    }
}

impl RawRoute {
    pub(crate) fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            balance: keys.text("balance"),
            health: keys.group("origin-health", RawHealth::read),
            request_buffering: keys.flag("request-buffering"),
            cache: keys.group("cache", RawCache::read),
            expiry: RawExpiry::read(keys),
            cookies: keys.group("cookies", RawCookies::read),
            visitors: RawVisitors::read(keys),
            changes: RawChanges::read(keys),
            counters: RawCounters::read(keys),
            guard: RawGuard::read(keys),
            query: keys.group("query", RawQuery::read),
            compress: keys.group("compress", RawCompress::read),
            origin_limits: keys.group("origin-limits", RawOriginLimits::read),
            gateway: RawGateway::read(keys),
            programs: RawPrograms::read(keys),
            sendfile: keys.group("sendfile", RawSendfile::read),
        }
    }
}

impl RawPrograms {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            environment: keys.texts("environment"),
            pass_authorization: keys.flag("pass-authorization"),
            limits: keys.group("cgi", RawCgi::read),
        }
    }
}

impl RawCgi {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            processes_max: keys.integer("processes-max"),
            run_timeout: keys.duration("run-timeout"),
            memory_bytes_max: keys.size("memory-bytes-max"),
            umask: keys.text("umask"),
        }
    }
}

impl RawGateway {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            root: keys.text("root"),
            url_prefix: keys.text("url-prefix"),
            index: keys.texts("index"),
            try_files: keys.texts("try-files"),
            rewrite: keys.texts("rewrite"),
            script_suffixes: keys.texts("script-suffixes"),
            no_programs: keys.texts("no-programs"),
            symlinks: keys.text("symlinks"),
            files: keys.group("files", RawFiles::read),
        }
    }
}

impl RawFiles {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            source_suffixes: keys.texts("source-suffixes"),
            charset: keys.text("charset"),
            rate_max: keys.size("rate-max"),
        }
    }
}

impl RawSendfile {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            roots: keys.texts("roots"),
            internal: keys.map("internal"),
            symlinks: keys.text("symlinks"),
            unescape: keys.flag("unescape"),
        }
    }
}

impl RawCache {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            heuristic_percent: keys.integer("heuristic-percent"),
            client_may_revalidate: keys.flag("client-may-revalidate"),
            negative_ttl: keys.duration("negative-ttl"),
            stale_disconnected: keys.duration("stale-disconnected"),
        }
    }
}

impl RawExpiry {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            ttl: keys.duration("ttl"),
            ttl_override: keys.duration("ttl-override"),
            ignore: keys.texts("ignore"),
            ttl_status: keys.durations("ttl-status"),
            ttl_max: keys.duration("ttl-max"),
            announce_ttl: keys.flag("announce-ttl"),
            grace: keys.duration("grace"),
            keep: keys.duration("keep"),
            key_fields: keys.texts("key-fields"),
            strip_fields: keys.texts("strip-fields"),
        }
    }
}

impl RawQuery {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { sort: keys.flag("sort"), ignore: keys.texts("ignore"), known: keys.texts("known") }
    }
}

impl RawCompress {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self { codings: keys.texts("codings"), types: keys.texts("types"), level: keys.text("level") }
    }
}

impl RawOriginLimits {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            connect_timeout: keys.duration("connect-timeout"),
            first_byte_timeout: keys.duration("first-byte-timeout"),
            between_bytes_timeout: keys.duration("between-bytes-timeout"),
            idle_timeout: keys.duration("idle-timeout"),
            connections_max: keys.integer("connections-max"),
            queue_requests_max: keys.integer("queue-requests-max"),
            queue_timeout: keys.duration("queue-timeout"),
            keepalive_connections_max: keys.integer("keepalive-connections-max"),
            head_bytes_max: keys.size("head-bytes-max"),
        }
    }
}

impl RawHealth {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            failures: keys.integer("failures"),
            back_off: keys.duration("back-off"),
            path: keys.text("path"),
            interval: keys.duration("interval"),
            timeout: keys.duration("timeout"),
            expect: keys.number_or_text("expect"),
        }
    }
}

impl RawOrigin {
    pub(crate) fn of_url(url: Located<String>) -> Self {
        Self { place: url.place.clone(), url: Some(url), weight: None, backup: None, connections_max: None }
    }

    fn read_list(keys: &mut Keys<'_, '_>) -> Option<RawOrigins> {
        keys.texts_or_tables("origin", SettingScope::Origin, Self::of_url, Self::read)
    }

    fn read(keys: &mut Keys<'_, '_>, place: SourceLocation) -> Self {
        Self {
            place,
            url: keys.text("url"),
            weight: keys.integer("weight"),
            backup: keys.flag("backup"),
            connections_max: keys.integer("connections-max"),
        }
    }
}

impl RawSite {
    fn read(keys: &mut Keys<'_, '_>, place: SourceLocation) -> Self {
        Self {
            place: Some(place),
            hosts: keys.texts("hosts"),
            profile: keys.text("profile"),
            application: keys.text("application"),
            origins: RawOrigin::read_list(keys),
            origin_host: keys.text("origin-host"),
            key_host: keys.text("key-host"),
            strip_path_parameters: keys.texts("strip-path-parameters"),
            route: RawRoute::read(keys),
            rules: keys.tables("rule", SettingScope::Rule, RawRule::read),
        }
    }
}

impl RawRule {
    pub(crate) fn read(keys: &mut Keys<'_, '_>, _header: SourceLocation) -> Self {
        Self {
            path: keys.text("path"),
            pass: keys.flag("pass"),
            origins: RawOrigin::read_list(keys),
            origin_host: keys.text("origin-host"),
            route: RawRoute::read(keys),
        }
    }
}
