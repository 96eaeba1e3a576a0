//! Keys that earlier versions took: what each is now, or what always holds in its place.
//!
//! Each of them is an error that says what to do. It is never read as another key, and never ignored: an operator must learn before
//! the program starts that a limit in the file no longer holds.

use crate::issue::{Issue, quoted};
use crate::table::SettingScope;

/// One key that is no longer a setting.
pub(crate) struct Gone {
    /// The key, without `site.` and `site.rule.`: it is the same key in both places.
    pub(crate) key: &'static str,
    /// The words that follow the key in the message.
    is: &'static str,
    /// What to do.
    help: &'static str,
}

/// All such keys, in alphabetical order.
pub(crate) static GONE: [Gone; 52] = [
    constant("beacon-every", "gone: it is always 10 minutes"),
    constant("cache.back-off-max", "gone: it is always 30 seconds"),
    moved(
        "cache.heuristic-max",
        "gone: it is always 1 day, or 1 second for files",
        "write `ttl-max` for a shorter lifetime; for files, any `cache.heuristic-percent` makes it 1 day",
    ),
    moved(
        "cache.stale-if-error",
        "now `grace`",
        "write `grace`: it is also how long a response is served while it is refreshed",
    ),
    moved(
        "cache.stale-while-revalidate",
        "now `grace`",
        "write `grace`: it is also how long a response is served when the application fails",
    ),
    constant("cache.targeted-fields", "gone: it is always `CDN-Cache-Control`"),
    moved(
        "cgi.cpu-max",
        "gone: `cgi.run-timeout` ends a program that computes for too long",
        "write `cgi.run-timeout`",
    ),
    moved(
        "compress.br-level",
        "now `compress.level`",
        "write `compress.level = \"fast\"` or `compress.level = \"best\"`, for all codings",
    ),
    constant("compress.bytes-min", "gone: it is always 1 KiB"),
    moved(
        "compress.enabled",
        "gone: `compress.codings` replaces it",
        "write `compress.codings = []` to compress nothing",
    ),
    moved(
        "compress.gzip-level",
        "now `compress.level`",
        "write `compress.level = \"fast\"` or `compress.level = \"best\"`, for all codings",
    ),
    moved(
        "compress.zstd-level",
        "now `compress.level`",
        "write `compress.level = \"fast\"` or `compress.level = \"best\"`, for all codings",
    ),
    moved("cookies", "now `cookies.others`", "write `cookies.others = \"pass\"` or `cookies.others = \"remove\"`"),
    moved("device-desktop-urls", "now `device-urls`", "write `device-urls = [\"*?device=pc => desktop\"]`"),
    moved("device-mobile-urls", "now `device-urls`", "write `device-urls = [\"*?device=mobile => mobile\"]`"),
    constant("files.precompressed", "gone: compressed files beside a file are always sent in its place"),
    constant("files.stored-bytes-max", "gone: it is always 1 MiB"),
    moved(
        "hit-headers.cache-status",
        "now a word in `hit-headers`",
        "write `hit-headers = [\"Cache-Status\"]`, or `hit-headers = []` for none",
    ),
    moved(
        "hit-headers.request-id",
        "now a word in `hit-headers`",
        "write `hit-headers = [\"Cache-Status\", \"X-Request-Id\"]`",
    ),
    moved(
        "hit-headers.x-cache-hit",
        "now a word in `hit-headers`",
        "write `hit-headers = [\"Cache-Status\", \"X-Cache-Hit\"]`",
    ),
    moved(
        "hit-headers.x-cache-status",
        "now a word in `hit-headers`",
        "write `hit-headers = [\"Cache-Status\", \"X-Cache-Status\"]`",
    ),
    moved(
        "key-cookies",
        "now `cookies.key`",
        "write `cookies.key`, and `cookies.others = \"remove\"` beside it where all others are to be removed",
    ),
    constant(
        "limits.body-rate-min",
        "gone: a client must always send 500 bytes a second, averaged over `limits.body-timeout`",
    ),
    constant("limits.chunk-line-bytes-max", "gone: it is always 4 KiB"),
    constant("limits.fields-max", "gone: a request has at most 200 fields"),
    constant(
        "limits.open-files-max",
        "gone: each worker keeps at most 1,000 files open, and all at most a quarter of the process's descriptors",
    ),
    constant("limits.requests-per-connection-max", "gone: it is always 1,000,000"),
    constant("limits.send-rate-min", "gone: while memory is short, a client must always take 4 KiB a second"),
    constant(
        "limits.target-bytes-max",
        "gone: a request-target has at most 16 KiB, and never more than `limits.head-bytes-max`",
    ),
    constant("limits.trailer-bytes-max", "gone: it is always 16 KiB"),
    constant("limits.trailer-fields-max", "gone: it is always 64"),
    moved(
        "nobody-cookies",
        "now `anonymous-request-cookies`",
        "write `anonymous-request-cookies`: Kasoku adds them to each anonymous request",
    ),
    moved("noise-cookies", "now `cookies.noise`", "write `cookies.noise`"),
    constant(
        "origin-health.back-off-max",
        "gone: it is always 10 seconds, or `origin-health.back-off` where that is longer",
    ),
    constant("origin-health.fall", "gone: three checks in a row that fail always take an origin down"),
    constant("origin-health.rise", "gone: one check that passes always brings an origin back"),
    constant("origin-limits.chunk-line-bytes-max", "gone: it is always 4 KiB"),
    constant("origin-limits.continue-timeout", "gone: it is always 1 second"),
    constant("origin-limits.fields-max", "gone: a response has at most 200 fields"),
    moved(
        "origin-limits.idle-connections-max",
        "now `origin-limits.keepalive-connections-max`",
        "write `origin-limits.keepalive-connections-max`: it holds for origins of HTTP and for FastCGI alike",
    ),
    moved(
        "origin-limits.kept-connections-max",
        "now `origin-limits.keepalive-connections-max`",
        "write `origin-limits.keepalive-connections-max`: it holds for origins of HTTP and for FastCGI alike",
    ),
    constant("origin-limits.trailer-bytes-max", "gone: it is always 16 KiB"),
    constant("origin-limits.trailer-fields-max", "gone: it is always 64"),
    moved(
        "pass-cookies",
        "now `cookies.pass`",
        "write `cookies.pass`, and `cookies.others = \"remove\"` beside it where all others are to be removed",
    ),
    constant("sendfile.denied", "gone: it is always 403"),
    constant("sendfile.missing", "gone: it is always 404"),
    moved("session.cookies", "now `cookies.session`", "write `cookies.session`"),
    moved(
        "session.probe-status",
        "now a part of `session.probe`",
        "write it after the path: `session.probe = \"/login.php => 200\"`",
    ),
    moved(
        "session.probe-text",
        "now a part of `session.probe`",
        "write it after the status: `session.probe = \"/login.php => 200 </form>\"`",
    ),
    constant("traces.parents", "gone: a trace that comes from one of `trusted-proxies` is always continued"),
    moved("ttl-min", "gone: `ttl` takes precedence over the lifetime that Last-Modified would give", "write `ttl`"),
    constant("upgrades", "gone: clients may always switch to WebSocket, and to nothing else"),
];

/// A key whose value is now a constant.
const fn constant(key: &'static str, is: &'static str) -> Gone {
    Gone { key, is, help: "remove the line" }
}

/// A key that is replaced by another setting.
const fn moved(key: &'static str, is: &'static str, help: &'static str) -> Gone {
    Gone { key, is, help }
}

/// The entry for the key of that name in a table of that scope. `group`: the rest of its path, with a dot at its end.
pub(crate) fn find(scope: SettingScope, group: &str, name: &str) -> Option<&'static Gone> {
    let prefix = match scope {
        SettingScope::Listen | SettingScope::Origin => scope.prefix(),
        SettingScope::Top | SettingScope::Site | SettingScope::Rule => "",
    };
    GONE.iter().find(|gone| gone.key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(group)) == Some(name))
}

impl Gone {
    /// The error, without its place.
    pub(crate) fn issue(&self) -> Issue {
        Issue::error(format!("{} is {}", quoted(self.key), self.is)).help(self.help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check_text, render, table};

    /// A file in which this key stands in line 1, and nothing else is wrong.
    fn file_with(gone: &Gone) -> String {
        format!("{} = 1\n[[site]]\norigin = \"http://app\"\n", gone.key)
    }

    #[test]
    fn each_is_one_error_at_its_line_that_says_what_to_do() {
        for gone in &GONE {
            let text = file_with(gone);
            let (options, issues) = check_text(&text);
            assert!(options.is_none(), "{text}");
            let [issue] = issues.as_slice() else { panic!("one error: {issues:#?}\n{text}") };
            assert!(issue.is_error() && issue.help.is_some(), "{issue:?}");
            assert!(issue.message.starts_with(&format!("`{}` is ", gone.key)), "{issue:?}");
            assert!(render("kasoku.toml", &text, &issues, false).contains("--> kasoku.toml:1:"), "{issue:?}");
        }
    }

    #[test]
    fn each_is_told_in_a_site_and_in_a_rule_as_well() {
        let of_the_top = ["limits.", "traces.", "hit-headers."];
        for gone in GONE.iter().filter(|gone| !of_the_top.iter().any(|group| gone.key.starts_with(group))) {
            for header in ["", "[[site.rule]]\npath = \"/x\"\n"] {
                let text = format!("[[site]]\norigin = \"http://app\"\n{header}{} = 1\n", gone.key);
                let told = |issue: &Issue| issue.message == gone.issue().message;
                assert!(check_text(&text).1.iter().any(told), "{text}");
            }
        }
    }

    #[test]
    fn none_is_a_setting_and_each_stands_once_in_order() {
        assert!(GONE.is_sorted_by(|one, other| one.key < other.key));
        for gone in &GONE {
            assert!(table::settings().all(|setting| setting.path != gone.key), "{}", gone.key);
        }
    }

    #[test]
    fn what_to_write_instead_is_a_setting() {
        let is_key = |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'.'));
        for gone in &GONE {
            for key in [gone.is, gone.help].into_iter().flat_map(|text| text.split('`').skip(1).step_by(2)) {
                let key = key.split(" = ").next().unwrap_or(key);
                if is_key(&key) {
                    assert!(table::settings().any(|setting| setting.path == key), "{key}, beside {}", gone.key);
                }
            }
        }
    }
}
