//! Resolves the caching rules, the query's part in the key and the origin's limits. The keys may stand at the top, in a site and in
//! a rule; the innermost wins, key by key.

use super::visitors::{names_after, own};
use super::{set, set_usize};
use crate::issue::{Issue, Located, quoted};
use crate::raw::{LocatedTexts, RawCache, RawOriginLimits, RawQuery, RawRoute};
use kasoku_options::{OriginLimits, QueryKey};
use kasoku_semantics::policy::Policy;
use std::time::Duration;

/// Lays written caching rules over a policy.
pub(super) fn set_cache(policy: &mut Policy, raw: &RawCache) {
    if let Some(percent) = &raw.heuristic_percent {
        policy.heuristic_percent = u32::try_from(percent.value).unwrap_or(u32::MAX);
    }
    set(&mut policy.client_may_revalidate, &raw.client_may_revalidate);
    set_seconds(&mut policy.negative_ttl_seconds, &raw.negative_ttl);
    set_seconds(&mut policy.stale_disconnected_seconds, &raw.stale_disconnected);
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
    // The two kinds of origins have different defaults, but one setting.
    set_usize(&mut limits.idle_connections_max, &raw.keepalive_connections_max);
    set_usize(&mut limits.kept_connections_max, &raw.keepalive_connections_max);
    set(&mut limits.keepalive_time, &raw.keepalive_time);
    set_usize(&mut limits.keepalive_requests_max, &raw.keepalive_requests_max);
    set(&mut limits.dns_ttl, &raw.dns_ttl);
    set_usize(&mut limits.head.head_bytes_max, &raw.head_bytes_max);
}

/// Reports the faults of these keys, once for each place where they are written.
pub(super) fn check(raw: &RawRoute, issues: &mut Vec<Issue>) {
    for pattern in texts(&raw.query.ignore).chain(own(&raw.query.known)) {
        let never = pattern.value.is_empty() || pattern.value.contains(['&', '=', '?', '#']);
        if never || !pattern.value.bytes().all(|b| b.is_ascii_graphic()) {
            let issue = Issue::error(format!("{} can't match the name of a parameter", quoted(&pattern.value)))
                .at(&pattern.place);
            issues.push(issue.help("write the name alone, without `?`, `&` and `=`: \"utm_*\""));
        }
    }
}

fn texts(list: &Option<LocatedTexts>) -> impl Iterator<Item = &Located<String>> {
    list.iter().flat_map(|list| &list.value)
}

fn set_seconds(option: &mut u64, written: &Option<Located<Duration>>) {
    if let Some(written) = written {
        *option = written.value.as_secs();
    }
}
