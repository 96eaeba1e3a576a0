//! Resolves a Redis primary with its replicas, or a Redis Cluster.

use crate::address::parse_redis;
use crate::issue::{Issue, Located, quoted};
use crate::raw::RawShared;
use kasoku_options::{REDIS_ADDRESSES_MAX, RedisAddress, RedisServers, SharedServers};

/// Does not read the password: the program does so at its start.
pub(super) fn servers(raw: &RawShared, issues: &mut Vec<Issue>) -> Option<SharedServers> {
    let password_file = super::super::path(raw.redis_password_file.as_ref(), issues);
    let (name, is_cluster, written) = match (&raw.redis, &raw.redis_cluster) {
        (Some(redis), _) => ("redis", false, redis),
        (None, Some(cluster)) => ("redis-cluster", true, cluster),
        (None, None) => {
            warn_of_others(raw, issues);
            return None;
        }
    };
    if written.value.is_empty() {
        let issue = Issue::error(format!("`shared.{name}` has no server")).at(&written.place);
        issues.push(issue.help("list the servers, like [\"redis://10.0.0.1\", \"redis://10.0.0.2\"], or leave it out"));
    }
    if written.value.len() > REDIS_ADDRESSES_MAX {
        let message = format!("`shared.{name}` has {} servers", written.value.len());
        let issue = Issue::error(message).at(&written.place);
        issues.push(issue.help(match is_cluster {
            true => format!("list at most {REDIS_ADDRESSES_MAX} nodes: the cluster names the others"),
            false => format!("list one primary and its replicas, at most {REDIS_ADDRESSES_MAX} in all"),
        }));
    }
    let addresses = addresses(&written.value, is_cluster, issues);
    let user = user(raw.redis_user.as_ref(), issues);
    if let (Some(user), None) = (&raw.redis_user, &raw.redis_password_file) {
        let issue = Issue::error("`shared.redis-user` without a password").at(&user.place);
        issues.push(issue.help("write `redis-password-file = \"/etc/kasoku/redis.password\"`"));
    }
    Some(SharedServers::Redis(RedisServers { addresses, is_cluster, user, password_file }))
}

fn addresses(written: &[Located<String>], is_cluster: bool, issues: &mut Vec<Issue>) -> Vec<RedisAddress> {
    let mut addresses: Vec<(RedisAddress, &Located<String>)> = Vec::new();
    for text in written.iter().take(REDIS_ADDRESSES_MAX) {
        let address = match parse_redis(&text.value) {
            Ok(address) => address,
            Err(fault) => {
                issues.push(fault.at(&text.place));
                continue;
            }
        };
        if is_cluster && address.database != 0 {
            let issue = Issue::error(format!("{} names a database", quoted(&text.value))).at(&text.place);
            issues.push(issue.help("a cluster has one database: leave the number out"));
        }
        if let Some((_, first)) = addresses.iter().find(|(one, _)| one.endpoint == address.endpoint) {
            let issue = Issue::error(format!("{} is there twice", quoted(&text.value))).at(&text.place);
            issues.push(issue.related(&first.place, "the same server").help("leave one of them out"));
            continue;
        }
        if let Some((_, first)) = addresses.first().filter(|(one, _)| one.database != address.database) {
            let issue = Issue::error(format!("{} has another database", quoted(&text.value))).at(&text.place);
            issues.push(issue.related(&first.place, "the first one").help("a primary and its replicas have the same"));
        }
        addresses.push((address, text));
    }
    addresses.into_iter().map(|(address, _)| address).collect()
}

fn user(written: Option<&Located<String>>, issues: &mut Vec<Issue>) -> Option<String> {
    let user = written?;
    if user.value.is_empty() || user.value.contains(|byte: char| byte.is_control() || byte == ' ') {
        let issue = Issue::error(format!("{} is no user", quoted(&user.value))).at(&user.place);
        issues.push(issue.help("write a name of the server's access list, like \"kasoku\""));
    }
    Some(user.value.clone())
}

/// Warns of settings that only Redis has.
fn warn_of_others(raw: &RawShared, issues: &mut Vec<Issue>) {
    let alone = [("redis-user", &raw.redis_user), ("redis-password-file", &raw.redis_password_file)];
    for (name, place) in alone.iter().filter_map(|(name, text)| Some((name, &text.as_ref()?.place))) {
        let message =
            format!("`shared.{name}` has no effect: there is no `shared.redis` and no `shared.redis-cluster`");
        issues.push(Issue::warning(message).at(place).help("leave it out, or list Redis servers"));
    }
}
