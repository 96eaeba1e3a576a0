//! Resolves the shared tier: its servers, and how they are used.

use crate::address::parse_memcached;
use crate::bounds;
use crate::issue::{Issue, Located, quoted};
use crate::raw::RawShared;
use crate::table::{self, SettingScope};
use kasoku_options::{SHARED_SERVERS_MAX, ServerDown, SharedRing, SharedServer, SharedTier};

/// The rings and what may happen without a server, in the order of the table's words.
const RINGS: [SharedRing; 2] = [SharedRing::KetamaWeighted, SharedRing::Ketama];
const DOWN: [ServerDown; 2] = [ServerDown::Next, ServerDown::Origin];

/// The longest namespace, in bytes: `kasoku_shared::names` makes names of it.
const NAMESPACE_BYTES_MAX: usize = 32;

/// Does not connect, and does not read the secret: the program does so at its start.
pub(super) fn shared(raw: &RawShared, issues: &mut Vec<Issue>) -> Option<SharedTier> {
    let ring = word("shared.ring", raw.ring.as_ref(), &RINGS, issues);
    let server_down = word("shared.server-down", raw.server_down.as_ref(), &DOWN, issues);
    let namespace = namespace(raw.namespace.as_ref(), issues);
    let secret_file = super::path(raw.secret_file.as_ref(), issues);
    let Some(memcached) = &raw.memcached else {
        warn_of_others(raw, issues);
        return None;
    };
    let mut tier = SharedTier { ring, server_down, secret_file, ..SharedTier::of(servers(&memcached.value, issues)) };
    if tier.servers.is_empty() && memcached.value.is_empty() {
        let issue = Issue::error("`shared.memcached` has no server").at(&memcached.place);
        issues.push(issue.help("list the servers, like [\"10.0.0.1:11211\", \"10.0.0.2:11211\"], or leave it out"));
    }
    if memcached.value.len() > SHARED_SERVERS_MAX {
        let message = format!("`shared.memcached` has {} servers", memcached.value.len());
        issues
            .push(Issue::error(message).at(&memcached.place).help(format!("at most {SHARED_SERVERS_MAX} make a ring")));
    }
    namespace.clone_into(&mut tier.namespace);
    super::set(&mut tier.timeout, &raw.timeout);
    super::set(&mut tier.item_bytes_max, &raw.item_bytes_max);
    Some(tier)
}

/// A server that stands twice would have twice the keys in some rings, and would be asked twice for each purge.
fn servers(written: &[Located<String>], issues: &mut Vec<Issue>) -> Vec<SharedServer> {
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

fn namespace<'r>(written: Option<&'r Located<String>>, issues: &mut Vec<Issue>) -> &'r str {
    let Some(text) = written else { return "kasoku" };
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !(1..=NAMESPACE_BYTES_MAX).contains(&text.value.len()) || !text.value.bytes().all(is_allowed) {
        let issue = Issue::error(format!("{} is no namespace", quoted(&text.value))).at(&text.place);
        issues.push(
            issue.help(format!("write 1 to {NAMESPACE_BYTES_MAX} letters, digits, `-` and `_`, like \"staging\"")),
        );
    }
    &text.value
}

fn word<T: Copy + Default>(path: &str, written: Option<&Located<String>>, all: &[T], issues: &mut Vec<Issue>) -> T {
    let row = table::find(SettingScope::Top, path);
    match written.zip(row).map(|(text, row)| bounds::one_of(row, text)).transpose() {
        Ok(index) => index.and_then(|index| all.get(index)).copied().unwrap_or_default(),
        Err(issue) => {
            issues.push(issue);
            T::default()
        }
    }
}

/// Warns of settings without servers.
fn warn_of_others(raw: &RawShared, issues: &mut Vec<Issue>) {
    let alone = [
        ("ring", raw.ring.as_ref().map(|it| &it.place)),
        ("namespace", raw.namespace.as_ref().map(|it| &it.place)),
        ("secret-file", raw.secret_file.as_ref().map(|it| &it.place)),
        ("timeout", raw.timeout.as_ref().map(|it| &it.place)),
        ("item-bytes-max", raw.item_bytes_max.as_ref().map(|it| &it.place)),
        ("server-down", raw.server_down.as_ref().map(|it| &it.place)),
    ];
    for (name, place) in alone {
        let Some(place) = place else { continue };
        let issue = Issue::warning(format!("`shared.{name}` has no effect: there is no `shared.memcached`")).at(place);
        issues.push(issue.help("list the servers, like `memcached = [\"10.0.0.1:11211\", \"10.0.0.2:11211\"]`"));
    }
}
