//! Turns the written configuration into the options of the program.
//!
//! It starts from the engine's defaults and lays the file's values over them, so each default stands in one place in the code. Each
//! check that needs more than one value is here. A fault does not end the check: the fault is noted, the value is left at its
//! default, and the rest is still checked. The caller drops the options if there was an error.
//!
//! Two limits shrink with the limit that they depend on: that of the request-target with a smaller head, and the default of the
//! largest object with a smaller memory. A written largest object that does not fit is an error.

mod access_log;
mod beaten;
mod changes;
mod compress;
mod cookies;
mod counters;
mod dangers;
mod disk;
mod expiry;
mod fresh_links;
mod gateway;
mod guard;
mod hidden;
mod listen;
mod origins;
mod peers;
mod policy;
mod program_log;
mod programs;
mod sendfile;
mod shadow;
mod shared;
mod site;
mod traces;
mod unused;
mod visitors;

use crate::bounds;
use crate::issue::{Issue, Located, SettingsSource, SourceLocation, quoted};
use crate::line_numbers::LineNumbers;
use crate::raw::{LocatedTexts, Raw, RawLimits, RawMemory, RawRequestBuffer};
use crate::table::{self, SettingScope};
use crate::value::show_size;
use kasoku_options::{
    AddressRange, ClientLimits, HitHeaders, MEMORY_BYTES_DEFAULT, OBJECT_BYTES_DEFAULT, Options, RequestBuffer,
    object_bytes_limit,
};
use std::path::PathBuf;

/// The options that the file means. They are fit for use only if no error was added to `issues`.
pub(crate) fn resolve(raw: &Raw, lines: &LineNumbers, issues: &mut Vec<Issue>) -> Options {
    let (memory_bytes_max, object_bytes_max) = memory(&raw.memory, issues);
    let listeners = listen::listeners(raw, issues);
    warn_of_no_tier(raw, issues);
    Options {
        admin: listen::admin(raw, &listeners, issues),
        admin_token_file: path(raw.admin_token_file.as_ref(), issues),
        control_socket: listen::control_socket(raw, issues),
        user: user(raw.user.as_ref(), issues),
        pid_file: path(raw.pid_file.as_ref(), issues),
        workers: workers(raw, issues),
        memory_bytes_max,
        object_bytes_max,
        stores_in_memory: raw.memory.store.as_ref().is_none_or(|store| store.value),
        disk: disk::disk(&raw.disk, issues),
        shared: shared::shared(&raw.shared, issues),
        peers: peers::peers(raw, &listeners, issues),
        limits: limits(&raw.limits),
        request_buffer: request_buffer(&raw.request_buffer, issues),
        trusted_proxies: trusted_proxies(raw, issues),
        purge_from: purge_from(raw, issues),
        hit_headers: hit_headers(raw.hit_headers.as_ref(), issues),
        access_log: access_log::access_log(&raw.access_log, issues),
        program_log: program_log::program_log(&raw.log, issues),
        traces: traces::traces(&raw.traces, issues),
        sites: site::sites(raw, &listeners, lines, issues),
        listeners: listeners.into_iter().map(|listener| listener.value).collect(),
    }
}

fn memory(raw: &RawMemory, issues: &mut Vec<Issue>) -> (u64, u64) {
    let size = raw.size.as_ref().map_or(MEMORY_BYTES_DEFAULT, |size| size.value);
    let object_max = object_bytes_limit(size);
    let object = match &raw.object_bytes_max {
        None => OBJECT_BYTES_DEFAULT.min(object_max),
        Some(object) => {
            if object.value > object_max {
                let issue = Issue::error(format!(
                    "`object-bytes-max` can't be {}: it is more than an eighth of the memory's {}",
                    show_size(object.value),
                    show_size(size)
                ));
                let issue = issue
                    .at(&object.place)
                    .help(format!("write at most \"{}\", or a larger `memory.size`", show_size(object_max)));
                issues.push(with_related(issue, raw.size.as_ref().map(|size| &size.place), "the memory's size"));
            }
            object.value
        }
    };
    (size, object)
}

/// Warns of a cache that stores nothing anywhere.
fn warn_of_no_tier(raw: &Raw, issues: &mut Vec<Issue>) {
    let off = raw.memory.store.as_ref().filter(|store| !store.value);
    let has_another = raw.disk.path.is_some() || raw.shared.servers().is_some();
    if let Some(off) = off.filter(|_| !has_another) {
        let issue =
            Issue::warning("nothing is stored: `memory.store` is off, and there is no other tier").at(&off.place);
        issues.push(issue.help("leave `memory.store` out, or set `disk.path` or the servers of a shared tier"));
    }
}

fn workers(raw: &Raw, issues: &mut Vec<Issue>) -> usize {
    let row = table::find(SettingScope::Top, "workers");
    let written = raw
        .workers
        .as_ref()
        .zip(row)
        .and_then(|(text, row)| bounds::integer_or_cores(row, text).map_err(|issue| issues.push(issue)).ok());
    written.map_or_else(bounds::cores, |workers| workers.value) as usize
}

fn limits(raw: &RawLimits) -> ClientLimits {
    let mut limits = ClientLimits::default();
    set_usize(&mut limits.head.head_bytes_max, &raw.head_bytes_max);
    limits.head.target_bytes_max = limits.head.target_bytes_max.min(limits.head.head_bytes_max);
    set(&mut limits.request_body_bytes_max, &raw.request_body_bytes_max);
    set(&mut limits.head_timeout, &raw.head_timeout);
    set(&mut limits.idle_timeout, &raw.idle_timeout);
    set(&mut limits.body_timeout, &raw.body_timeout);
    set(&mut limits.send_timeout, &raw.send_timeout);
    set_usize(&mut limits.connections_max, &raw.connections_max);
    limits.connections_per_address = raw
        .connections_per_address
        .as_ref()
        .map(|max| usize::try_from(max.value).unwrap_or(usize::MAX))
        .filter(|max| *max > 0);
    set(&mut limits.drain_timeout, &raw.drain_timeout);
    set(&mut limits.drain_idle_timeout, &raw.drain_idle_timeout);
    set(&mut limits.fill_wait_max, &raw.fill_wait_max);
    set(&mut limits.client_misses_max, &raw.client_misses_max);
    limits
}

fn request_buffer(raw: &RawRequestBuffer, issues: &mut Vec<Issue>) -> RequestBuffer {
    let mut buffer = RequestBuffer { directory: path(raw.directory.as_ref(), issues), ..RequestBuffer::default() };
    set(&mut buffer.bytes_max, &raw.bytes_max);
    buffer
}

fn path(written: Option<&Located<String>>, issues: &mut Vec<Issue>) -> Option<PathBuf> {
    let text = written?;
    if text.value.is_empty() || text.value.contains('\0') {
        issues.push(Issue::error("a path can't be empty or contain a NUL").at(&text.place));
        return None;
    }
    Some(PathBuf::from(&text.value))
}

/// Does not check whether the user exists: the program may run on another machine.
fn user(written: Option<&Located<String>>, issues: &mut Vec<Issue>) -> Option<String> {
    let text = written?;
    let is_name = |name: &str| !name.is_empty() && !name.contains([':', '\0', '/']);
    let is_user = match text.value.split_once(':') {
        Some((user, group)) => is_name(user) && is_name(group),
        None => is_name(&text.value),
    };
    if !is_user {
        issues.push(
            Issue::error(format!("{} names no user", quoted(&text.value)))
                .at(&text.place)
                .help("write a name, or a name and a group, like \"www-data\" or \"kasoku:www-data\""),
        );
    }
    Some(text.value.clone())
}

fn trusted_proxies(raw: &Raw, issues: &mut Vec<Issue>) -> Vec<AddressRange> {
    let everybody = Issue::warning("every client is trusted to name its own address, scheme and host")
        .help("list only the proxies in front of Kasoku, like \"10.0.0.0/8\"");
    ranges(raw.trusted_proxies.as_ref(), &everybody, issues)
}

fn purge_from(raw: &Raw, issues: &mut Vec<Issue>) -> Vec<AddressRange> {
    let everybody = Issue::warning("every client may purge what is stored")
        .help("list only the machines of your applications, like \"10.0.0.0/8\"");
    let written = raw.purge_from.as_ref();
    if written.is_some() { ranges(written, &everybody, issues) } else { AddressRange::loopback() }
}

/// Reads ranges of addresses. `everybody`: the warning about a range of all addresses.
fn ranges(written: Option<&LocatedTexts>, everybody: &Issue, issues: &mut Vec<Issue>) -> Vec<AddressRange> {
    let mut ranges = Vec::new();
    for text in written.iter().flat_map(|list| &list.value) {
        match crate::address::parse_range(&text.value) {
            Ok(range) => {
                if matches!(range, AddressRange::Ip { prefix_bits: 0, .. }) {
                    issues.push(everybody.clone().at(&text.place));
                }
                ranges.push(range);
            }
            Err(fault) => issues.push(fault.at(&text.place)),
        }
    }
    ranges
}

/// The fields that tell about the cache: those of the list and no others.
fn hit_headers(written: Option<&LocatedTexts>, issues: &mut Vec<Issue>) -> HitHeaders {
    let Some(list) = written else { return HitHeaders::default() };
    let mut headers = HitHeaders { cache_status: false, x_cache_hit: false, x_cache_status: false, request_id: false };
    for text in &list.value {
        match text.value.to_ascii_lowercase().as_str() {
            "cache-status" => headers.cache_status = true,
            "x-cache-hit" => headers.x_cache_hit = true,
            "x-cache-status" => headers.x_cache_status = true,
            "x-request-id" => headers.request_id = true,
            _ => {
                let issue = Issue::error(format!("`hit-headers` can't list {}", quoted(&text.value)));
                let help = "write \"Cache-Status\", \"X-Cache-Status\", \"X-Cache-Hit\" or \"X-Request-Id\"";
                issues.push(issue.at(&text.place).help(help));
            }
        }
    }
    headers
}

/// Lays a written value over the default.
fn set<T: Copy>(option: &mut T, written: &Option<Located<T>>) {
    if let Some(written) = written {
        *option = written.value;
    }
}

/// The same for sizes and counts in memory; the rows keep them far below the largest `usize`.
fn set_usize(option: &mut usize, written: &Option<Located<u64>>) {
    if let Some(written) = written {
        *option = usize::try_from(written.value).unwrap_or(usize::MAX);
    }
}

fn with_related(issue: Issue, place: Option<&SourceLocation>, label: &str) -> Issue {
    match place {
        Some(place) => issue.related(place, label),
        None => issue,
    }
}

/// Whether the place is on the command line.
fn is_flag(place: &SourceLocation) -> bool {
    place.source == SettingsSource::Flags
}
