//! Tests that compare the table of settings with what the code does. Each walks all rows, so a new setting is covered once it has a
//! row; without a row, a test fails.

use crate::gone;
use crate::table::{self, Default, Setting, SettingKind, SettingScope};
use crate::{SAMPLE, ServeFlags, check_text, reference_markdown};
use kasoku_options::{ClientLimits, Options, OriginHealth, OriginLimits, SettingLocations};
use kasoku_semantics::policy::{Policy, Profile};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// A file that sets only this setting, to this value in this scope, and the settings that it needs beside it.
pub(crate) fn file_with(setting: &Setting, scope: SettingScope, value: &str) -> String {
    let (group, name) = match setting.path.rsplit_once('.') {
        // The settings that it needs stand in the same table.
        Some(("session" | "cookies" | "disk" | "shared", _)) | None => ("", setting.path),
        Some(split) => split,
    };
    let header = |prefix: &str| if group.is_empty() { String::new() } else { format!("[{prefix}{group}]\n") };
    let line = format!("{}{name} = {value}\n", beside(setting));
    let site = match (scope, setting.path) {
        (SettingScope::Site, "origin") => "[[site]]\n".to_owned(),
        // With one origin, `balance` has no effect and causes a warning, so there are two.
        (_, "balance") => "[[site]]\norigin = [\"http://app\", \"http://b\"]\n".to_owned(),
        _ => "[[site]]\norigin = \"http://app\"\n".to_owned(),
    };
    let rule = if setting.path == "path" { "[[site.rule]]\n" } else { "[[site.rule]]\npath = \"/x\"\n" };
    match scope {
        SettingScope::Top => format!("{}{line}{site}{rule}", header("")),
        SettingScope::Site => format!("{site}{}{line}{rule}", header("site.")),
        SettingScope::Rule => format!("{site}{rule}{}{line}", header("site.rule.")),
        SettingScope::Origin if name == "url" => format!("[[site]]\norigin = [{{ {} }}]\n{rule}", line.trim()),
        SettingScope::Origin => {
            let origins = format!("[{{ url = \"http://app\", {} }}, \"http://b\"]", line.trim());
            format!("[[site]]\nbalance = \"hash\"\norigin = {origins}\n{rule}")
        }
        SettingScope::Listen if name == "address" => format!("listen = [{{ {} }}]\n{site}{rule}", line.trim()),
        SettingScope::Listen => format!("listen = [{{ address = \"127.0.0.1:8080\", {} }}]\n{site}{rule}", line.trim()),
    }
}

fn options(text: &str) -> Options {
    let (options, issues) = check_text(text);
    options.unwrap_or_else(|| panic!("{issues:#?}\n{text}"))
}

/// The settings that a setting needs in order to have an effect.
fn beside(setting: &Setting) -> &'static str {
    match setting.path {
        "ttl-override" => "ttl = \"1s\"\nignore = [\"expires\"]\n",
        "ignore"
        | "announce-ttl"
        | "cookies.key"
        | "cookies.noise"
        | "cookies.pass"
        | "cookies.others"
        | "key-fields"
        | "anonymous-request-cookies"
        | "beacon"
        | "view-beacon"
        | "guard-noise"
        | "guard-cookie" => "ttl = \"1s\"\n",
        "no-change-redirects" | "changes-again" => "changes = [\"/x => *\"]\n",
        "outage-text" => "page-text = [\"x\"]\n",
        "disk.path" => "disk.size = \"1GiB\"\n",
        path if path.starts_with("disk.") => "disk.path = \"/cache\"\n",
        "shared.memcached" | "shared.redis" | "shared.redis-cluster" => "",
        "shared.redis-user" => "shared.redis = \"redis://a\"\nshared.redis-password-file = \"/p\"\n",
        "shared.redis-password-file" => "shared.redis = \"redis://a\"\n",
        "shared.redis-ca-file" => "shared.redis = \"rediss://a\"\n",
        "shared.redis-client-certificate-file" => {
            "shared.redis = \"rediss://a\"\nshared.redis-client-key-file = \"/k\"\n"
        }
        "shared.redis-client-key-file" => {
            "shared.redis = \"rediss://a\"\nshared.redis-client-certificate-file = \"/c\"\n"
        }
        path if path.starts_with("shared.") => "shared.memcached = \"a:1\"\n",
        "peers" => "peers-listen = \"10.0.0.9:1\"\npeers-token-file = \"/token\"\n",
        "peers-listen" => "peers = \"a:1\"\npeers-token-file = \"/token\"\n",
        "peers-token-file" => "peers = \"a:1\"\npeers-listen = \"10.0.0.9:1\"\n",
        "session.probe" => "cookies.session = [\"sid\"]\n",
        path if path.starts_with("session.") => "cookies.session = [\"sid\"]\nsession.probe = \"/me\"\n",
        _ => "",
    }
}

/// The options as text, without the number of workers, which depends on the machine, and without the places of the settings.
fn shown(text: &str) -> String {
    let mut options = options(text);
    for site in &mut options.sites {
        Arc::make_mut(&mut site.route).places = SettingLocations::default();
        site.rules.iter_mut().for_each(|rule| Arc::make_mut(&mut rule.route).places = SettingLocations::default());
    }
    options.workers = if text.contains("workers") && !text.contains("auto") { options.workers } else { 0 };
    format!("{options:#?}")
}

const NOTHING_SAID: &str = "[[site]]\norigin = \"http://app\"\n[[site.rule]]\npath = \"/x\"\n";

/// What [`file_with`] is compared with: the same file without the setting.
fn nothing_said(setting: &Setting, scope: SettingScope) -> String {
    // Peers need all their settings, and a certificate and its key need each other.
    let needs_all = ["peers-", "shared.redis-client-"].iter().any(|prefix| setting.path.starts_with(prefix));
    let beside = if needs_all { "" } else { beside(setting) };
    if !beside.is_empty() {
        return match scope {
            SettingScope::Top => format!("{beside}{NOTHING_SAID}"),
            SettingScope::Site => NOTHING_SAID.replace("[[site.rule]]", &format!("{beside}[[site.rule]]")),
            _ => format!("{NOTHING_SAID}{beside}"),
        };
    }
    let text = match (scope, setting.path) {
        (_, "balance") => "[[site]]\norigin = [\"http://app\", \"http://b\"]\n[[site.rule]]\npath = \"/x\"\n",
        (SettingScope::Origin, "weight" | "backup" | "connections-max") => {
            "[[site]]\nbalance = \"hash\"\norigin = [\"http://app\", \"http://b\"]\n[[site.rule]]\npath = \"/x\"\n"
        }
        _ => NOTHING_SAID,
    };
    text.to_owned()
}

pub(crate) fn rows() -> impl Iterator<Item = (&'static Setting, SettingScope)> {
    table::settings().flat_map(|setting| setting.scopes.iter().map(move |scope| (setting, *scope)))
}

#[test]
fn each_default_of_the_table_is_what_the_code_resolves_to() {
    for (setting, scope) in rows() {
        if let Default::Value(value) = setting.default {
            let text = file_with(setting, scope, value);
            assert_eq!(shown(&text), shown(&nothing_said(setting, scope)), "{text}");
        }
    }
}

#[test]
fn a_default_that_another_profile_or_origin_changes_is_marked() {
    let kinds: [fn(&str) -> String; 2] =
        [|text| format!("profile = \"rfc\"\n{text}"), |text| text.replace("http://app", "file:///srv")];
    // Writing the percentage lifts the bound of one second on the lifetime of files.
    let unmarked = ["profile", "cache.heuristic-percent"];
    let mut varying = Vec::new();
    for (setting, scope) in rows().filter(|(it, _)| !it.default_varies && !unmarked.contains(&it.path)) {
        let Default::Value(value) = setting.default else { continue };
        for kind in kinds {
            let texts = [file_with(setting, scope, value), nothing_said(setting, scope)].map(|text| kind(&text));
            // Some settings can't be used with that profile or origin.
            let is_taken = texts.iter().all(|text| check_text(text).0.is_some());
            let [written, silent] = &texts;
            if is_taken && shown(written) != shown(silent) {
                varying.push(setting.path);
            }
        }
    }
    assert_eq!(varying, [""; 0]);
}

#[test]
fn each_example_is_taken_and_changes_the_options() {
    for (setting, scope) in rows() {
        let text = file_with(setting, scope, setting.example);
        assert_ne!(shown(&text), shown(&nothing_said(setting, scope)), "{text}");
    }
}

#[test]
fn each_row_is_read_and_what_is_read_has_a_row() {
    // `Keys::row` asserts that each key that is read has a row: one without would panic here. A key that has a row and is not read
    // would be reported as unknown.
    for (setting, scope) in rows() {
        let (_, issues) = check_text(&file_with(setting, scope, setting.example));
        // Some warnings are expected: of overruled fields, of removed cookies, of keys without effect on an origin of HTTP, and of a cache
        // without a tier.
        let expected = [
            "is ignored:",
            "cookies that are not in the key are removed",
            "all origins here are HTTP servers",
            "nothing is stored:",
        ];
        let is_fine =
            |issue: &crate::Issue| !issue.is_error() && expected.iter().any(|words| issue.message.contains(words));
        assert!(issues.iter().all(is_fine), "{}{}: {issues:?}", scope.prefix(), setting.path);
    }
}

/// The names of a value's fields, spelled as keys. The fields of an inner struct stand in its place.
fn fields_of(value: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{value:#?}");
    let fields = text.lines().filter(|line| line.ends_with(',')).filter_map(|line| line.trim().split_once(": "));
    fields.map(|(name, _)| name.replace('_', "-")).collect()
}

/// Whether a field of the options can be written, or was a key before it became a constant.
fn is_known(keys: &HashSet<String>, groups: &[&str], name: &str) -> bool {
    let paths: Vec<String> = groups.iter().map(|group| format!("{group}{name}")).collect();
    let is_gone = |path: &String| gone::GONE.iter().any(|gone| gone.key == path);
    paths.iter().any(|path| keys.contains(path) || is_gone(path))
}

#[test]
fn each_limit_of_the_engine_can_be_set_or_is_a_constant() {
    let keys: HashSet<_> = table::settings().flat_map(Setting::keys).collect();
    for name in fields_of(&ClientLimits::default()) {
        assert!(is_known(&keys, &["limits."], &name), "no row for the clients' limit {name}");
    }
    for name in fields_of(&OriginLimits::default()).iter().filter(|name| *name != "target-bytes-max") {
        assert!(is_known(&keys, &["origin-limits.", "cgi."], name), "no row for the origins' limit {name}");
    }
    for name in fields_of(&OriginHealth::default()) {
        assert!(is_known(&keys, &["origin-health."], &name), "no row for the rule of health {name}");
    }
    // These have no setting of their own. `rules` is computed from the others, and the dropped cookies are those of sessions and
    // noise. `tags` sets the templates, and no setting holds the site. The origins say whether a route is of files.
    let unwritten = ["profile", "is-of-files", "rules", "dropped-cookies", "session-cookies", "site", "templates"];
    let is_set = |name: &&String| !unwritten.contains(&name.as_str());
    for name in fields_of(&Policy::new(Profile::Safe)).iter().filter(is_set) {
        let name = name.trim_end_matches("-seconds");
        assert!(is_known(&keys, &["cache.", ""], name), "no row for the caching rule {name}");
    }
}

#[test]
fn each_bound_of_the_table_is_kept() {
    for (setting, scope) in rows() {
        let (below, min, max, above) = match setting.kind {
            SettingKind::Integer { min, max }
            | SettingKind::IntegerOrAuto { min, max }
            | SettingKind::Size { min, max } => {
                (min.checked_sub(1).map(|n| n.to_string()), min.to_string(), max.to_string(), (max + 1).to_string())
            }
            SettingKind::Duration { min, max } => {
                let ms = |duration: Duration| format!("\"{}ms\"", duration.as_millis());
                let below = min.checked_sub(Duration::from_millis(1));
                (below.map(ms), ms(min), ms(max), ms(max + Duration::from_millis(1)))
            }
            SettingKind::Seconds { max } => {
                let seconds = |duration: Duration| format!("\"{}s\"", duration.as_secs());
                (None, seconds(Duration::ZERO), seconds(max), seconds(max + Duration::from_secs(1)))
            }
            _ => continue,
        };
        let complains = |value: &str| {
            let (_, issues) = check_text(&file_with(setting, scope, value));
            issues.iter().any(|issue| issue.message.contains("it must be"))
        };
        assert!(below.is_none_or(|below| complains(&below)), "below the least {}", setting.path);
        assert!(!complains(&min), "the least {}", setting.path);
        assert!(!complains(&max), "the greatest {}", setting.path);
        assert!(complains(&above), "above the greatest {}", setting.path);
    }
}

#[test]
fn each_flag_of_the_table_exists_with_its_help_and_the_other_way_round() {
    let command = <ServeFlags as clap::Args>::augment_args(clap::Command::new("serve"));
    let mut flags = HashSet::new();
    for argument in command.get_arguments().filter(|argument| argument.get_id() != "config") {
        let flag = format!("--{}", argument.get_long().unwrap());
        let row = table::by_flag(&flag).unwrap_or_else(|| panic!("no row for {flag}"));
        assert_eq!(argument.get_help().unwrap().to_string(), row.summary);
        flags.insert(flag);
    }
    for setting in table::settings() {
        assert!(setting.flag.is_none_or(|flag| flags.contains(flag)), "no flag {:?}", setting.flag);
    }
}

#[test]
fn the_sample_of_the_reference_page_is_valid() {
    let (options, issues) = check_text(SAMPLE);
    assert!(options.is_some() && issues.is_empty(), "{issues:?}");
}

#[test]
fn the_reference_page_has_each_setting() {
    let page = reference_markdown();
    for setting in table::settings() {
        let title = if setting.scopes.len() == 1 { setting.keys().next().unwrap() } else { setting.path.to_owned() };
        assert!(page.contains(&format!("### `{title}`\n")), "{title}");
    }
}

#[test]
fn docs_configuration_md_is_the_table() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        page == reference_markdown(),
        "docs/configuration.md has drifted from the table of settings; write it anew:\n\
         cargo run -p kasoku-config --example reference > docs/configuration.md"
    );
}
