//! Resolves the shared tier: its servers, and how they are used.

mod memcached;
mod redis;

use crate::bounds;
use crate::issue::{Issue, Located, quoted};
use crate::raw::RawShared;
use crate::table::{self, SettingScope};
use kasoku_options::{SharedServers, SharedTier};

/// The longest namespace, in bytes: `kasoku_shared::names` makes names of it.
const NAMESPACE_BYTES_MAX: usize = 32;

/// Does not connect, and does not read secrets: the program does so at its start.
pub(super) fn shared(raw: &RawShared, issues: &mut Vec<Issue>) -> Option<SharedTier> {
    let namespace = namespace(raw.namespace.as_ref(), issues);
    let secret_file = super::path(raw.secret_file.as_ref(), issues);
    let Some(servers) = servers(raw, issues) else {
        warn_of_others(raw, issues);
        return None;
    };
    let mut tier = SharedTier { secret_file, ..SharedTier::of(servers) };
    namespace.clone_into(&mut tier.namespace);
    super::set(&mut tier.timeout, &raw.timeout);
    super::set(&mut tier.item_bytes_max, &raw.item_bytes_max);
    Some(tier)
}

/// The servers of the kind that is written; `None`: of none.
fn servers(raw: &RawShared, issues: &mut Vec<Issue>) -> Option<SharedServers> {
    let written = [("memcached", &raw.memcached), ("redis", &raw.redis), ("redis-cluster", &raw.redis_cluster)];
    let mut written = written.iter().filter_map(|(name, list)| Some((*name, list.as_ref()?)));
    let first = written.next();
    if let (Some((first, list)), Some((second, other))) = (first, written.next()) {
        let issue = Issue::error(format!("`shared.{second}` beside `shared.{first}`")).at(&other.place);
        let issue = issue.related(&list.place, "the other servers");
        issues.push(issue.help("the shared tier has servers of one kind: leave one of them out"));
    }
    let memcached = memcached::servers(raw, issues);
    let redis = redis::servers(raw, issues);
    memcached.or(redis)
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
        ("namespace", raw.namespace.as_ref().map(|it| &it.place)),
        ("secret-file", raw.secret_file.as_ref().map(|it| &it.place)),
        ("timeout", raw.timeout.as_ref().map(|it| &it.place)),
        ("item-bytes-max", raw.item_bytes_max.as_ref().map(|it| &it.place)),
    ];
    for (name, place) in alone {
        let Some(place) = place else { continue };
        let issue = Issue::warning(format!("`shared.{name}` has no effect: there is no shared tier")).at(place);
        let help = "list its servers, like `memcached = [\"10.0.0.1:11211\", \"10.0.0.2:11211\"]` or `redis = [\"redis://10.0.0.1\"]`";
        issues.push(issue.help(help));
    }
}
