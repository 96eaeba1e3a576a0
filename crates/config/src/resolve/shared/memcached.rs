//! Resolves a ring of memcached servers.

use super::word;
use crate::address::parse_memcached;
use crate::issue::{Issue, Located, quoted};
use crate::raw::RawShared;
use kasoku_options::{SHARED_SERVERS_MAX, ServerDown, SharedRing, SharedServer, SharedServers};

/// The rings and what may happen without a server, in the order of the table's words.
const RINGS: [SharedRing; 2] = [SharedRing::KetamaWeighted, SharedRing::Ketama];
const DOWN: [ServerDown; 2] = [ServerDown::Next, ServerDown::Origin];

pub(super) fn servers(raw: &RawShared, issues: &mut Vec<Issue>) -> Option<SharedServers> {
    let ring = word("shared.ring", raw.ring.as_ref(), &RINGS, issues);
    let server_down = word("shared.server-down", raw.server_down.as_ref(), &DOWN, issues);
    let Some(written) = &raw.memcached else {
        warn_of_others(raw, issues);
        return None;
    };
    if written.value.is_empty() {
        let issue = Issue::error("`shared.memcached` has no server").at(&written.place);
        issues.push(issue.help("list the servers, like [\"10.0.0.1:11211\", \"10.0.0.2:11211\"], or leave it out"));
    }
    if written.value.len() > SHARED_SERVERS_MAX {
        let message = format!("`shared.memcached` has {} servers", written.value.len());
        issues.push(Issue::error(message).at(&written.place).help(format!("at most {SHARED_SERVERS_MAX} make a ring")));
    }
    Some(SharedServers::Memcached { servers: parsed(&written.value, issues), ring, server_down })
}

/// A server that stands twice would have twice the keys in some rings, and would be asked twice for each purge.
fn parsed(written: &[Located<String>], issues: &mut Vec<Issue>) -> Vec<SharedServer> {
    let mut servers: Vec<(SharedServer, &Located<String>)> = Vec::new();
    for text in written.iter().take(SHARED_SERVERS_MAX) {
        match parse_memcached(&text.value) {
            Ok(server) => {
                if let Some((_, first)) = servers.iter().find(|(one, _)| one.endpoint == server.endpoint) {
                    let issue = Issue::error(format!("{} is there twice", quoted(&text.value))).at(&text.place);
                    let issue = issue.related(&first.place, "the same server");
                    issues.push(issue.help("for more keys give it a weight, like \"10.0.0.1:11211 2\""));
                } else {
                    servers.push((server, text));
                }
            }
            Err(fault) => issues.push(fault.at(&text.place)),
        }
    }
    servers.into_iter().map(|(server, _)| server).collect()
}

/// Warns of settings that only a ring has.
fn warn_of_others(raw: &RawShared, issues: &mut Vec<Issue>) {
    let alone = [("ring", &raw.ring), ("server-down", &raw.server_down)];
    for (name, place) in alone.iter().filter_map(|(name, text)| Some((name, &text.as_ref()?.place))) {
        let issue = Issue::warning(format!("`shared.{name}` has no effect: there is no `shared.memcached`")).at(place);
        issues.push(issue.help("leave it out, or list memcached servers"));
    }
}
