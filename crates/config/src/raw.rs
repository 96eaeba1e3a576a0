//! The file as it was written: every key with its place, nothing looked up, nothing filled in.
//!
//! Each struct is one table of the file, each field one key. Here are the tables that are scopes of their own; [`tables`] has the
//! others. Types and the bounds of numbers are checked while reading, by the table of settings; `resolve` checks what a text means
//! and what must fit together.

mod tables;

use crate::issue::{Issue, Located, SourceLocation};
use crate::reader::{self, Keys};
use crate::table::SettingScope;
pub(crate) use tables::*;
use toml::de::DeTable;

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
    pub(crate) disk: RawDisk,
    pub(crate) shared: RawShared,
    pub(crate) peers: Option<LocatedTexts>,
    pub(crate) peers_listen: Option<Located<String>>,
    pub(crate) peers_token_file: Option<Located<String>>,
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

impl RawShared {
    /// The servers, whatever their kind is.
    pub(crate) fn servers(&self) -> Option<&LocatedTexts> {
        self.memcached.as_ref().or(self.redis.as_ref()).or(self.redis_cluster.as_ref())
    }
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
            disk: keys.group("disk", RawDisk::read),
            shared: keys.group("shared", RawShared::read),
            peers: keys.texts("peers"),
            peers_listen: keys.text("peers-listen"),
            peers_token_file: keys.text("peers-token-file"),
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
