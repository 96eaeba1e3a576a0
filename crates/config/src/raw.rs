//! The file as it was written: every key with its place, nothing looked up, nothing filled in.
//!
//! Each struct is one table of the file, each field one key, and each `read` names the key beside its type. Types and
//! the bounds of numbers are checked here, by the table's rows; what a text means and what must fit together is
//! `resolve`'s business.

mod changes;
mod counters;
mod guard;
mod visitors;

use crate::issue::{At, Issue, Place};
use crate::reader::{self, Keys, Pairs};
use crate::table::Scope;
pub(crate) use changes::RawChanges;
pub(crate) use counters::RawCounters;
pub(crate) use guard::RawGuard;
use std::time::Duration;
use toml::de::DeTable;
pub(crate) use visitors::{RawSession, RawVisitors};

/// A list of texts: where it stands and where each of them does.
pub(crate) type Texts = At<Vec<At<String>>>;

/// A list of origins.
pub(crate) type RawOrigins = At<Vec<RawOrigin>>;

/// The whole file.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub(crate) listen: Option<At<Vec<RawListener>>>,
    pub(crate) admin: Option<At<String>>,
    pub(crate) admin_token_file: Option<At<String>>,
    pub(crate) control_socket: Option<At<String>>,
    pub(crate) user: Option<At<String>>,
    pub(crate) pid_file: Option<At<String>>,
    pub(crate) workers: Option<At<String>>,
    pub(crate) profile: Option<At<String>>,
    pub(crate) trusted_proxies: Option<Texts>,
    pub(crate) purge_from: Option<Texts>,
    pub(crate) hit_headers: RawHitHeaders,
    pub(crate) memory: RawMemory,
    pub(crate) access_log: RawAccessLog,
    pub(crate) log: RawLog,
    pub(crate) traces: RawTraces,
    pub(crate) limits: RawLimits,
    pub(crate) request_buffer: RawRequestBuffer,
    pub(crate) strip_path_parameters: Option<Texts>,
    pub(crate) route: RawRoute,
    pub(crate) sites: Vec<RawSite>,
}

/// One of `listen`.
#[derive(Debug)]
pub(crate) struct RawListener {
    pub(crate) address: Option<At<String>>,
    pub(crate) proxy_protocol: Option<At<bool>>,
    pub(crate) defer_accept: Option<At<bool>>,
}

/// `[hit-headers]`
#[derive(Debug, Default)]
pub(crate) struct RawHitHeaders {
    pub(crate) cache_status: Option<At<bool>>,
    pub(crate) x_cache_hit: Option<At<bool>>,
    pub(crate) x_cache_status: Option<At<bool>>,
    pub(crate) request_id: Option<At<bool>>,
}

/// `[memory]`
#[derive(Debug, Default)]
pub(crate) struct RawMemory {
    pub(crate) size: Option<At<u64>>,
    pub(crate) object_bytes_max: Option<At<u64>>,
}

/// `[access-log]`
#[derive(Debug, Default)]
pub(crate) struct RawAccessLog {
    pub(crate) path: Option<At<String>>,
    pub(crate) format: Option<At<String>>,
}

/// `[log]`
#[derive(Debug, Default)]
pub(crate) struct RawLog {
    pub(crate) format: Option<At<String>>,
}

/// `[traces]`
#[derive(Debug, Default)]
pub(crate) struct RawTraces {
    pub(crate) otlp: Option<At<String>>,
    pub(crate) sample_one_in: Option<At<u64>>,
    pub(crate) parents: Option<At<String>>,
    pub(crate) service_name: Option<At<String>>,
}

/// `[request-buffer]`
#[derive(Debug, Default)]
pub(crate) struct RawRequestBuffer {
    pub(crate) directory: Option<At<String>>,
    pub(crate) bytes_max: Option<At<u64>>,
}

/// `[limits]`
#[derive(Debug, Default)]
pub(crate) struct RawLimits {
    pub(crate) head_bytes_max: Option<At<u64>>,
    pub(crate) target_bytes_max: Option<At<u64>>,
    pub(crate) fields_max: Option<At<u64>>,
    pub(crate) chunk_line_bytes_max: Option<At<u64>>,
    pub(crate) trailer_bytes_max: Option<At<u64>>,
    pub(crate) trailer_fields_max: Option<At<u64>>,
    pub(crate) request_body_bytes_max: Option<At<u64>>,
    pub(crate) body_rate_min: Option<At<u64>>,
    pub(crate) send_rate_min: Option<At<u64>>,
    pub(crate) head_timeout: Option<At<Duration>>,
    pub(crate) idle_timeout: Option<At<Duration>>,
    pub(crate) body_timeout: Option<At<Duration>>,
    pub(crate) send_timeout: Option<At<Duration>>,
    pub(crate) requests_per_connection_max: Option<At<u64>>,
    pub(crate) connections_max: Option<At<u64>>,
    pub(crate) open_files_max: Option<At<u64>>,
    pub(crate) drain_timeout: Option<At<Duration>>,
    pub(crate) drain_idle_timeout: Option<At<Duration>>,
    pub(crate) fill_wait_max: Option<At<Duration>>,
}

/// The keys that may stand at the top, in a site and in a rule.
#[derive(Debug, Default)]
pub(crate) struct RawRoute {
    pub(crate) balance: Option<At<String>>,
    pub(crate) health: RawHealth,
    pub(crate) request_buffering: Option<At<bool>>,
    pub(crate) upgrades: Option<Texts>,
    pub(crate) cache: RawCache,
    pub(crate) expiry: RawExpiry,
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
    pub(crate) environment: Option<Texts>,
    pub(crate) pass_authorization: Option<At<bool>>,
    pub(crate) limits: RawCgi,
}

/// `[cgi]`
#[derive(Debug, Default)]
pub(crate) struct RawCgi {
    pub(crate) processes_max: Option<At<u64>>,
    pub(crate) run_timeout: Option<At<Duration>>,
    pub(crate) memory_bytes_max: Option<At<u64>>,
    pub(crate) cpu_max: Option<At<Duration>>,
    pub(crate) umask: Option<At<String>>,
}

/// The keys that say how URLs become files and scripts.
#[derive(Debug, Default)]
pub(crate) struct RawGateway {
    pub(crate) root: Option<At<String>>,
    pub(crate) url_prefix: Option<At<String>>,
    pub(crate) index: Option<Texts>,
    pub(crate) try_files: Option<Texts>,
    pub(crate) rewrite: Option<Texts>,
    pub(crate) script_suffixes: Option<Texts>,
    pub(crate) no_programs: Option<Texts>,
    pub(crate) symlinks: Option<At<String>>,
    pub(crate) files: RawFiles,
}

/// `[files]`
#[derive(Debug, Default)]
pub(crate) struct RawFiles {
    pub(crate) source_suffixes: Option<Texts>,
    pub(crate) precompressed: Option<At<bool>>,
    pub(crate) charset: Option<At<String>>,
    pub(crate) rate_max: Option<At<u64>>,
    pub(crate) stored_bytes_max: Option<At<u64>>,
}

/// `[sendfile]`
#[derive(Debug, Default)]
pub(crate) struct RawSendfile {
    pub(crate) roots: Option<Texts>,
    pub(crate) internal: Option<At<Pairs>>,
    pub(crate) symlinks: Option<At<String>>,
    pub(crate) unescape: Option<At<bool>>,
    pub(crate) missing: Option<At<u64>>,
    pub(crate) denied: Option<At<u64>>,
}

/// `[cache]`
#[derive(Debug, Default)]
pub(crate) struct RawCache {
    pub(crate) heuristic_percent: Option<At<u64>>,
    pub(crate) heuristic_max: Option<At<Duration>>,
    pub(crate) client_may_revalidate: Option<At<bool>>,
    pub(crate) targeted_fields: Option<Texts>,
    pub(crate) negative_ttl: Option<At<Duration>>,
    pub(crate) stale_if_error: Option<At<Duration>>,
    pub(crate) stale_while_revalidate: Option<At<Duration>>,
    pub(crate) stale_disconnected: Option<At<Duration>>,
    pub(crate) back_off_max: Option<At<Duration>>,
}

/// What grants lifetimes, and tells visitors apart there: in no table of its own.
#[derive(Debug, Default)]
pub(crate) struct RawExpiry {
    pub(crate) ttl: Option<At<Duration>>,
    pub(crate) ttl_override: Option<At<Duration>>,
    pub(crate) ignore: Option<Texts>,
    pub(crate) ttl_status: Option<Vec<(At<String>, At<Duration>)>>,
    pub(crate) ttl_min: Option<At<Duration>>,
    pub(crate) ttl_max: Option<At<Duration>>,
    pub(crate) announce_ttl: Option<At<bool>>,
    pub(crate) grace: Option<At<Duration>>,
    pub(crate) keep: Option<At<Duration>>,
    pub(crate) key_cookies: Option<Texts>,
    pub(crate) noise_cookies: Option<Texts>,
    pub(crate) pass_cookies: Option<Texts>,
    pub(crate) cookies: Option<At<String>>,
    pub(crate) key_fields: Option<Texts>,
    pub(crate) strip_fields: Option<Texts>,
}

/// `[query]`
#[derive(Debug, Default)]
pub(crate) struct RawQuery {
    pub(crate) sort: Option<At<bool>>,
    pub(crate) ignore: Option<Texts>,
    pub(crate) known: Option<Texts>,
}

/// `[compress]`
#[derive(Debug, Default)]
pub(crate) struct RawCompress {
    pub(crate) enabled: Option<At<bool>>,
    pub(crate) codings: Option<Texts>,
    pub(crate) types: Option<Texts>,
    pub(crate) bytes_min: Option<At<u64>>,
    pub(crate) br_level: Option<At<u64>>,
    pub(crate) zstd_level: Option<At<u64>>,
    pub(crate) gzip_level: Option<At<u64>>,
}

/// `[origin-limits]`
#[derive(Debug, Default)]
pub(crate) struct RawOriginLimits {
    pub(crate) connect_timeout: Option<At<Duration>>,
    pub(crate) first_byte_timeout: Option<At<Duration>>,
    pub(crate) between_bytes_timeout: Option<At<Duration>>,
    pub(crate) connections_max: Option<At<u64>>,
    pub(crate) queue_requests_max: Option<At<u64>>,
    pub(crate) queue_timeout: Option<At<Duration>>,
    pub(crate) idle_timeout: Option<At<Duration>>,
    pub(crate) idle_connections_max: Option<At<u64>>,
    pub(crate) kept_connections_max: Option<At<u64>>,
    pub(crate) continue_timeout: Option<At<Duration>>,
    pub(crate) head_bytes_max: Option<At<u64>>,
    pub(crate) fields_max: Option<At<u64>>,
    pub(crate) chunk_line_bytes_max: Option<At<u64>>,
    pub(crate) trailer_bytes_max: Option<At<u64>>,
    pub(crate) trailer_fields_max: Option<At<u64>>,
}

/// `[origin-health]`
#[derive(Debug, Default)]
pub(crate) struct RawHealth {
    pub(crate) failures: Option<At<u64>>,
    pub(crate) back_off: Option<At<Duration>>,
    pub(crate) back_off_max: Option<At<Duration>>,
    pub(crate) path: Option<At<String>>,
    pub(crate) interval: Option<At<Duration>>,
    pub(crate) timeout: Option<At<Duration>>,
    pub(crate) expect: Option<At<String>>,
    pub(crate) rise: Option<At<u64>>,
    pub(crate) fall: Option<At<u64>>,
}

/// One of `origin`.
#[derive(Debug)]
pub(crate) struct RawOrigin {
    pub(crate) place: Place,
    pub(crate) url: Option<At<String>>,
    pub(crate) weight: Option<At<u64>>,
    pub(crate) backup: Option<At<bool>>,
    pub(crate) connections_max: Option<At<u64>>,
}

/// `[[site]]`
#[derive(Debug, Default)]
pub(crate) struct RawSite {
    /// Its header; none for the site that `--origin` makes.
    pub(crate) place: Option<Place>,
    pub(crate) hosts: Option<Texts>,
    pub(crate) profile: Option<At<String>>,
    pub(crate) application: Option<At<String>>,
    pub(crate) origins: Option<RawOrigins>,
    pub(crate) origin_host: Option<At<String>>,
    pub(crate) key_host: Option<At<String>>,
    pub(crate) strip_path_parameters: Option<Texts>,
    pub(crate) route: RawRoute,
    pub(crate) rules: Vec<RawRule>,
}

/// `[[site.rule]]`
#[derive(Debug)]
pub(crate) struct RawRule {
    pub(crate) path: Option<At<String>>,
    pub(crate) pass: Option<At<bool>>,
    pub(crate) origins: Option<RawOrigins>,
    pub(crate) origin_host: Option<At<String>>,
    pub(crate) route: RawRoute,
}

impl Raw {
    /// The file's keys; faults go to `issues`.
    pub(crate) fn read(document: &DeTable<'_>, issues: &mut Vec<Issue>) -> Self {
        reader::read(document, issues, |keys| Self {
            listen: keys.texts_or_tables("listen", Scope::Listen, RawListener::of_address, RawListener::read),
            admin: keys.text("admin"),
            admin_token_file: keys.text("admin-token-file"),
            control_socket: keys.text("control-socket"),
            user: keys.text("user"),
            pid_file: keys.text("pid-file"),
            workers: keys.number_or_text("workers"),
            profile: keys.text("profile"),
            trusted_proxies: keys.texts("trusted-proxies"),
            purge_from: keys.texts("purge-from"),
            hit_headers: keys.group("hit-headers", RawHitHeaders::read),
            memory: keys.group("memory", RawMemory::read),
            access_log: keys.group("access-log", RawAccessLog::read),
            log: keys.group("log", RawLog::read),
            traces: keys.group("traces", RawTraces::read),
            limits: keys.group("limits", RawLimits::read),
            request_buffer: keys.group("request-buffer", RawRequestBuffer::read),
            strip_path_parameters: keys.texts("strip-path-parameters"),
            route: RawRoute::read(keys),
            sites: keys.tables("site", Scope::Site, RawSite::read),
        })
    }
}

impl RawListener {
    pub(crate) fn of_address(address: At<String>) -> Self {
        Self { address: Some(address), proxy_protocol: None, defer_accept: None }
    }

    fn read(keys: &mut Keys<'_, '_>, _header: Place) -> Self {
        let (proxy_protocol, defer_accept) = (keys.flag("proxy-protocol"), keys.flag("defer-accept"));
        Self { address: keys.text("address"), proxy_protocol, defer_accept }
    }
}

impl RawHitHeaders {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            cache_status: keys.flag("cache-status"),
            x_cache_hit: keys.flag("x-cache-hit"),
            x_cache_status: keys.flag("x-cache-status"),
            request_id: keys.flag("request-id"),
        }
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
            parents: keys.text("parents"),
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
            target_bytes_max: keys.size("target-bytes-max"),
            fields_max: keys.integer("fields-max"),
            chunk_line_bytes_max: keys.size("chunk-line-bytes-max"),
            trailer_bytes_max: keys.size("trailer-bytes-max"),
            trailer_fields_max: keys.integer("trailer-fields-max"),
            request_body_bytes_max: keys.size("request-body-bytes-max"),
            body_rate_min: keys.size("body-rate-min"),
            send_rate_min: keys.size("send-rate-min"),
            head_timeout: keys.duration("head-timeout"),
            idle_timeout: keys.duration("idle-timeout"),
            body_timeout: keys.duration("body-timeout"),
            send_timeout: keys.duration("send-timeout"),
            requests_per_connection_max: keys.integer("requests-per-connection-max"),
            connections_max: keys.integer("connections-max"),
            open_files_max: keys.integer("open-files-max"),
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
            upgrades: keys.texts("upgrades"),
            cache: keys.group("cache", RawCache::read),
            expiry: RawExpiry::read(keys),
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
            cpu_max: keys.duration("cpu-max"),
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
            precompressed: keys.flag("precompressed"),
            charset: keys.text("charset"),
            rate_max: keys.size("rate-max"),
            stored_bytes_max: keys.size("stored-bytes-max"),
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
            missing: keys.integer("missing"),
            denied: keys.integer("denied"),
        }
    }
}

impl RawCache {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            heuristic_percent: keys.integer("heuristic-percent"),
            heuristic_max: keys.duration("heuristic-max"),
            client_may_revalidate: keys.flag("client-may-revalidate"),
            targeted_fields: keys.texts("targeted-fields"),
            negative_ttl: keys.duration("negative-ttl"),
            stale_if_error: keys.duration("stale-if-error"),
            stale_while_revalidate: keys.duration("stale-while-revalidate"),
            stale_disconnected: keys.duration("stale-disconnected"),
            back_off_max: keys.duration("back-off-max"),
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
            ttl_min: keys.duration("ttl-min"),
            ttl_max: keys.duration("ttl-max"),
            announce_ttl: keys.flag("announce-ttl"),
            grace: keys.duration("grace"),
            keep: keys.duration("keep"),
            key_cookies: keys.texts("key-cookies"),
            noise_cookies: keys.texts("noise-cookies"),
            pass_cookies: keys.texts("pass-cookies"),
            cookies: keys.text("cookies"),
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
        Self {
            enabled: keys.flag("enabled"),
            codings: keys.texts("codings"),
            types: keys.texts("types"),
            bytes_min: keys.size("bytes-min"),
            br_level: keys.integer("br-level"),
            zstd_level: keys.integer("zstd-level"),
            gzip_level: keys.integer("gzip-level"),
        }
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
            idle_connections_max: keys.integer("idle-connections-max"),
            kept_connections_max: keys.integer("kept-connections-max"),
            continue_timeout: keys.duration("continue-timeout"),
            head_bytes_max: keys.size("head-bytes-max"),
            fields_max: keys.integer("fields-max"),
            chunk_line_bytes_max: keys.size("chunk-line-bytes-max"),
            trailer_bytes_max: keys.size("trailer-bytes-max"),
            trailer_fields_max: keys.integer("trailer-fields-max"),
        }
    }
}

impl RawHealth {
    fn read(keys: &mut Keys<'_, '_>) -> Self {
        Self {
            failures: keys.integer("failures"),
            back_off: keys.duration("back-off"),
            back_off_max: keys.duration("back-off-max"),
            path: keys.text("path"),
            interval: keys.duration("interval"),
            timeout: keys.duration("timeout"),
            expect: keys.number_or_text("expect"),
            rise: keys.integer("rise"),
            fall: keys.integer("fall"),
        }
    }
}

impl RawOrigin {
    pub(crate) fn of_url(url: At<String>) -> Self {
        Self { place: url.place.clone(), url: Some(url), weight: None, backup: None, connections_max: None }
    }

    fn read_list(keys: &mut Keys<'_, '_>) -> Option<RawOrigins> {
        keys.texts_or_tables("origin", Scope::Origin, Self::of_url, Self::read)
    }

    fn read(keys: &mut Keys<'_, '_>, place: Place) -> Self {
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
    fn read(keys: &mut Keys<'_, '_>, place: Place) -> Self {
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
            rules: keys.tables("rule", Scope::Rule, RawRule::read),
        }
    }
}

impl RawRule {
    pub(crate) fn read(keys: &mut Keys<'_, '_>, _header: Place) -> Self {
        Self {
            path: keys.text("path"),
            pass: keys.flag("pass"),
            origins: RawOrigin::read_list(keys),
            origin_host: keys.text("origin-host"),
            route: RawRoute::read(keys),
        }
    }
}
