//! Resolves a Redis primary with its replicas, or a Redis Cluster, and what TLS to them needs.

use crate::address::parse_redis;
use crate::issue::{Issue, Located, quoted};
use crate::raw::RawShared;
use kasoku_options::{
    REDIS_ADDRESSES_MAX, RedisAddress, RedisClientCertificate, RedisServers, SharedEndpoint, SharedServers,
};

/// Does not read the password and the certificates: the program does so at its start.
pub(super) fn servers(raw: &RawShared, issues: &mut Vec<Issue>) -> Option<SharedServers> {
    let password_file = super::super::path(raw.redis_password_file.as_ref(), issues);
    let ca_file = super::super::path(raw.redis_ca_file.as_ref(), issues);
    let certificate_file = super::super::path(raw.redis_client_certificate_file.as_ref(), issues);
    let key_file = super::super::path(raw.redis_client_key_file.as_ref(), issues);
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
    check_certificates(raw, &addresses, issues);
    let client_certificate = certificate_file
        .zip(key_file)
        .map(|(certificate_file, key_file)| RedisClientCertificate { certificate_file, key_file });
    let servers = RedisServers { addresses, is_cluster, user, password_file, ca_file, client_certificate };
    Some(SharedServers::Redis(servers))
}

/// Whoever writes settings of TLS expects that it is used.
fn check_certificates(raw: &RawShared, addresses: &[RedisAddress], issues: &mut Vec<Issue>) {
    // Addresses that can't be read have their own errors.
    if !addresses.is_empty() && !addresses.iter().any(|address| address.is_tls) {
        for (name, file) in files_of_tls(raw) {
            let Some(file) = file else { continue };
            let issue = Issue::error(format!("`shared.{name}` without TLS")).at(&file.place);
            issues.push(issue.help("write the servers as `rediss://…`, or leave it out"));
        }
        return;
    }
    let (message, file, help) = match (&raw.redis_client_certificate_file, &raw.redis_client_key_file) {
        (Some(certificate), None) => (
            "`shared.redis-client-certificate-file` without its key",
            certificate,
            "write `redis-client-key-file = \"/etc/kasoku/redis-client.key\"`",
        ),
        (None, Some(key)) => (
            "`shared.redis-client-key-file` without its certificate",
            key,
            "write `redis-client-certificate-file = \"/etc/kasoku/redis-client.pem\"`",
        ),
        _ => return,
    };
    issues.push(Issue::error(message).at(&file.place).help(help));
}

fn files_of_tls(raw: &RawShared) -> [(&'static str, &Option<Located<String>>); 3] {
    [
        ("redis-ca-file", &raw.redis_ca_file),
        ("redis-client-certificate-file", &raw.redis_client_certificate_file),
        ("redis-client-key-file", &raw.redis_client_key_file),
    ]
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
        if let Some((_, first)) = addresses.iter().find(|(one, _)| is_host(one) && one.is_tls != address.is_tls)
            && is_host(&address)
        {
            let (other, first_has) =
                if address.is_tls { ("has TLS", "without TLS") } else { ("has no TLS", "with TLS") };
            let issue = Issue::error(format!("{} {other}", quoted(&text.value))).at(&text.place);
            issues.push(issue.related(&first.place, first_has).help("write all servers with `rediss://`, or none"));
        }
        addresses.push((address, text));
    }
    addresses.into_iter().map(|(address, _)| address).collect()
}

/// Whether it is reached by a network.
fn is_host(address: &RedisAddress) -> bool {
    matches!(address.endpoint, SharedEndpoint::Tcp { .. })
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
    let access = [("redis-user", &raw.redis_user), ("redis-password-file", &raw.redis_password_file)];
    let alone = access.into_iter().chain(files_of_tls(raw));
    for (name, place) in alone.filter_map(|(name, text)| Some((name, &text.as_ref()?.place))) {
        let message =
            format!("`shared.{name}` has no effect: there is no `shared.redis` and no `shared.redis-cluster`");
        issues.push(Issue::warning(message).at(place).help("leave it out, or list Redis servers"));
    }
}
