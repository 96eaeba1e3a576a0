//! The caching rules, the query's part in the key and the origin's limits: what may stand at the top, in a site and
//! in a rule. The innermost that is written wins, key by key.

use super::visitors::{names_after, own};
use super::{set, set_usize};
use crate::issue::{At, Issue, quoted};
use crate::raw::{RawCache, RawOriginLimits, RawQuery, RawRoute, Texts};
use crate::value::is_token;
use kasoku_options::{OriginLimits, QueryKey};
use kasoku_semantics::policy::Policy;
use std::time::Duration;

/// The most fields of `targeted-fields`: each is looked up in each response.
const TARGETED_FIELDS_MAX: usize = 8;

/// Lays written caching rules over a policy.
pub(super) fn set_cache(policy: &mut Policy, raw: &RawCache) {
    if let Some(percent) = &raw.heuristic_percent {
        policy.heuristic_percent = u32::try_from(percent.value).unwrap_or(u32::MAX);
    }
    set_seconds(&mut policy.heuristic_max_seconds, &raw.heuristic_max);
    set(&mut policy.client_may_revalidate, &raw.client_may_revalidate);
    set_seconds(&mut policy.negative_ttl_seconds, &raw.negative_ttl);
    set_seconds(&mut policy.stale_if_error_seconds, &raw.stale_if_error);
    set_seconds(&mut policy.stale_while_revalidate_seconds, &raw.stale_while_revalidate);
    set_seconds(&mut policy.stale_disconnected_seconds, &raw.stale_disconnected);
    set_seconds(&mut policy.back_off_max_seconds, &raw.back_off_max);
    if let Some(fields) = &raw.targeted_fields {
        policy.targeted_fields = fields.value.iter().map(|field| field.value.clone()).collect();
    }
}

/// Lays written rules for the query over others.
pub(super) fn set_query(query: &mut QueryKey, raw: &RawQuery) {
    set(&mut query.sort, &raw.sort);
    if let Some(ignore) = &raw.ignore {
        query.ignore = ignore.value.iter().map(|pattern| pattern.value.clone()).collect();
    }
    if let Some(known) = &raw.known {
        query.known = names_after(known, &query.known);
    }
}

/// Lays written limits over others.
pub(super) fn set_origin_limits(limits: &mut OriginLimits, raw: &RawOriginLimits) {
    set(&mut limits.connect_timeout, &raw.connect_timeout);
    set(&mut limits.first_byte_timeout, &raw.first_byte_timeout);
    set(&mut limits.between_bytes_timeout, &raw.between_bytes_timeout);
    set(&mut limits.idle_timeout, &raw.idle_timeout);
    set_usize(&mut limits.connections_max, &raw.connections_max);
    set_usize(&mut limits.queue_requests_max, &raw.queue_requests_max);
    set(&mut limits.queue_timeout, &raw.queue_timeout);
    set_usize(&mut limits.idle_connections_max, &raw.idle_connections_max);
    set_usize(&mut limits.kept_connections_max, &raw.kept_connections_max);
    set(&mut limits.continue_timeout, &raw.continue_timeout);
    set_usize(&mut limits.head.head_bytes_max, &raw.head_bytes_max);
    set_usize(&mut limits.head.fields_max, &raw.fields_max);
    set_usize(&mut limits.body.chunk_line_bytes_max, &raw.chunk_line_bytes_max);
    set_usize(&mut limits.body.trailer_bytes_max, &raw.trailer_bytes_max);
    set_usize(&mut limits.body.trailer_fields_max, &raw.trailer_fields_max);
}

/// The faults of such keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    for field in texts(&raw.cache.targeted_fields).filter(|field| !is_token(&field.value)) {
        let issue = Issue::error(format!("{} is not the name of a field", quoted(&field.value))).at(&field.place);
        issues.push(issue.help("like \"CDN-Cache-Control\""));
    }
    if let Some(surplus) = texts(&raw.cache.targeted_fields).nth(TARGETED_FIELDS_MAX) {
        let issue =
            Issue::error(format!("there are more than {TARGETED_FIELDS_MAX} `targeted-fields`")).at(&surplus.place);
        issues.push(issue.help("keep those that your origins send"));
    }
    for protocol in texts(&raw.upgrades) {
        issues.extend(upgrade_fault(protocol));
    }
    for pattern in texts(&raw.query.ignore).chain(own(&raw.query.known)) {
        let never = pattern.value.is_empty() || pattern.value.contains(['&', '=', '?', '#']);
        if never || !pattern.value.bytes().all(|b| b.is_ascii_graphic()) {
            let issue = Issue::error(format!("{} can't match the name of a parameter", quoted(&pattern.value)))
                .at(&pattern.place);
            issues.push(issue.help("write the name alone, without `?`, `&` and `=`: \"utm_*\""));
        }
    }
}

fn upgrade_fault(protocol: &At<String>) -> Option<Issue> {
    let name = protocol.value.to_ascii_lowercase();
    if matches!(name.as_str(), "h2c" | "tls/1.0") || name.starts_with("http/") {
        let issue =
            Issue::error(format!("an upgrade to {} is always refused", quoted(&protocol.value))).at(&protocol.place);
        return Some(issue.help("behind such a tunnel nothing could be checked; leave it out"));
    }
    let is_name = name.split_once('/').map_or(is_token(&name), |(name, version)| is_token(name) && is_token(version));
    let issue = Issue::error(format!("{} is not the name of a protocol", quoted(&protocol.value))).at(&protocol.place);
    (!is_name).then(|| issue.help("like \"websocket\""))
}

fn texts(list: &Option<Texts>) -> impl Iterator<Item = &At<String>> {
    list.iter().flat_map(|list| &list.value)
}

fn set_seconds(option: &mut u64, written: &Option<At<Duration>>) {
    if let Some(written) = written {
        *option = written.value.as_secs();
    }
}
