//! Lists what a new configuration changes, by the keys of the file: `limits.head-timeout: "10s" -> "5s"`.
//!
//! It compares the two documents, not their meaning, so that the operator reads the keys that were written. A site is called by its
//! first host, a rule by its path, so a rule that is put before another changes only itself.
//!
//! If a key is not written, the value that holds instead is shown with its source: the site of a rule, the application, the top of
//! the file, or the default. A value that this module can't be sure of is not shown: a flag's, and a default that depends on other
//! settings.

use crate::applications::applications;
use crate::flags::Loaded;
use crate::secrets;
use crate::table::{self, Default, SettingScope};
use std::collections::{BTreeMap, BTreeSet};
use toml::Table;

/// The most changes that are listed.
pub const CHANGES_MAX: usize = 50;

/// One setting that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// The key, with site and rule: `site example.org: rule /blog/*: cache.negative-ttl`.
    pub key: String,
    /// The value before and the value now: as written, or else the value that holds instead, with its source.
    pub values: [String; 2],
    /// Whether it takes effect only when the program starts the next time.
    pub waits_for_start: bool,
}

impl std::fmt::Display for ChangedSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [before, after] = &self.values;
        write!(f, "{}: {before} -> {after}", self.key)?;
        if self.waits_for_start { f.write_str(" (at the next start)") } else { Ok(()) }
    }
}

/// The settings that differ between the files of two configurations, in the order of the keys.
pub fn changes(before: &Loaded, after: &Loaded) -> Vec<ChangedSetting> {
    let [before, after] = [before, after].map(WrittenConfig::of);
    let keys: BTreeSet<&String> = before.values.keys().chain(after.values.keys()).collect();
    let changed = keys.into_iter().filter(|key| before.shown(key) != after.shown(key));
    changed
        .filter_map(|key| {
            let at = &before.values.get(key).or_else(|| after.values.get(key))?.at;
            let waits_for_start = table::find(at.scope, at.path(key)).is_some_and(|setting| setting.is_read_at_start);
            let values = [&before, &after]
                .map(|written| written.shown(key).map_or_else(|| written.held(key, at), str::to_owned));
            Some(ChangedSetting { key: key.clone(), values, waits_for_start })
        })
        .collect()
}

/// The table in which a key stands.
#[derive(Clone, Debug)]
struct KeyPath {
    scope: SettingScope,
    /// The text before the key: `site a.org: rule /x/*: `.
    prefix: String,
    /// The same text for the site around it.
    site: String,
}

impl KeyPath {
    const TOP: Self = Self { scope: SettingScope::Top, prefix: String::new(), site: String::new() };

    fn path<'k>(&self, key: &'k str) -> &'k str {
        key.strip_prefix(&self.prefix).unwrap_or(key)
    }
}

#[derive(Debug)]
struct SettingValue {
    shown: String,
    at: KeyPath,
}

/// The settings that a configuration writes.
struct WrittenConfig<'l> {
    values: BTreeMap<String, SettingValue>,
    flags: &'l str,
}

impl<'l> WrittenConfig<'l> {
    fn of(loaded: &'l Loaded) -> Self {
        Self { values: flat(&loaded.warnings.file), flags: &loaded.warnings.flags }
    }

    fn shown(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(|value| value.shown.as_str())
    }

    /// The value that holds for a key that this configuration does not write.
    fn held(&self, key: &str, at: &KeyPath) -> String {
        let path = at.path(key);
        let is_of_site = |(key, _): (&String, &SettingValue)| key.starts_with(&at.site);
        let has_site = at.site.is_empty() || self.values.range(at.site.clone()..).next().is_some_and(is_of_site);
        let Some(setting) = table::find(at.scope, path).filter(|_| has_site) else { return "(none)".to_owned() };
        if let Some(flag) = setting.flag.filter(|flag| self.flags.split(' ').any(|word| word == *flag)) {
            return format!("({flag})");
        }
        let in_site = || self.shown(&format!("{}{path}", at.site)).map(|shown| format!("{shown} (of the site)"));
        let of_application = || self.of_application(&at.site, path);
        let at_top = || self.shown(path).map(|shown| format!("{shown} (of the top of the file)"));
        let inherited = match at.scope {
            SettingScope::Rule => in_site().or_else(of_application).or_else(at_top),
            SettingScope::Site => of_application().or_else(at_top),
            SettingScope::Top | SettingScope::Listen | SettingScope::Origin => None,
        };
        inherited.unwrap_or_else(|| match setting.default {
            Default::Value(_) if setting.default_varies => "(default)".to_owned(),
            Default::Value(value) => format!("{value} (default)"),
            Default::Unset(_) | Default::Required => "(none)".to_owned(),
        })
    }

    /// The value that the application of a site sets.
    fn of_application(&self, site: &str, path: &str) -> Option<String> {
        let named = self.shown(&format!("{site}application"))?.trim_matches('"');
        let (name, text) = applications().find(|(name, _)| *name == named)?;
        Some(format!("{} (of {name})", flat(text).get(path)?.shown))
    }
}

/// All values of a document, by key.
fn flat(text: &str) -> BTreeMap<String, SettingValue> {
    let mut values = BTreeMap::new();
    // The text was read before, so it parses.
    if let Ok(document) = text.parse::<Table>() {
        add("", &KeyPath::TOP, &document, &mut values);
    }
    values
}

/// `group`: the tables between the prefix and the key, such as `limits.`.
fn add(group: &str, at: &KeyPath, table: &Table, values: &mut BTreeMap<String, SettingValue>) {
    for (key, value) in table {
        match (key.as_str(), value) {
            ("site", toml::Value::Array(sites)) => each(at, SettingScope::Site, sites, values),
            ("rule", toml::Value::Array(rules)) => each(at, SettingScope::Rule, rules, values),
            (_, toml::Value::Table(table)) => add(&format!("{group}{key}."), at, table, values),
            (_, value) => {
                // Masked as a line of the file, since the key says whether the value is a secret.
                let line = secrets::mask(&format!("{key} = {value}"));
                let shown = line.split_once(" = ").map_or(line.as_str(), |(_, value)| value).to_owned();
                values.insert(format!("{}{group}{key}", at.prefix), SettingValue { shown, at: at.clone() });
            }
        }
    }
}

fn each(outer: &KeyPath, scope: SettingScope, tables: &[toml::Value], values: &mut BTreeMap<String, SettingValue>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for table in tables.iter().filter_map(toml::Value::as_table) {
        let (what, name) = match scope {
            // The name in logs, metrics and `kasoku purge --site`.
            SettingScope::Site => ("site", site_name(table).unwrap_or_else(|| "default".to_owned())),
            _ => ("rule", rule_name(table).unwrap_or_else(|| "any".to_owned())),
        };
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        let number = if *count > 1 { format!(" ({count})") } else { String::new() };
        let prefix = format!("{}{what} {name}{number}: ", outer.prefix);
        let site = if scope == SettingScope::Site { prefix.clone() } else { outer.site.clone() };
        add("", &KeyPath { scope, prefix, site }, table, values);
    }
}

fn site_name(site: &Table) -> Option<String> {
    match site.get("hosts")? {
        toml::Value::Array(hosts) => hosts.first()?.as_str().map(str::to_owned),
        host => host.as_str().map(str::to_owned),
    }
}

fn rule_name(rule: &Table) -> Option<String> {
    rule.get("path")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ConfigReport;
    use crate::{ServeFlags, flags};

    /// A loaded file with that text. Its options do not matter here.
    fn loaded(text: &str) -> Loaded {
        let any = "[[site]]\norigin = \"http://127.0.0.1:1\"\n";
        let options =
            flags::check("", any, &ServeFlags::default(), flags::CheckScope::Text, &mut String::new(), &mut Vec::new())
                .unwrap();
        Loaded { options, warnings: ConfigReport { file: text.to_owned(), ..ConfigReport::default() } }
    }

    fn told(before: &str, after: &str) -> Vec<String> {
        changes(&loaded(before), &loaded(after)).iter().map(ChangedSetting::to_string).collect()
    }

    const SITE: &str = "[[site]]\nhosts = [\"a.org\", \"b.org\"]\norigin = \"http://u:p@127.0.0.1:1\"\n";

    #[test]
    fn changes_are_told_by_key_site_and_rule() {
        let rule = "[[site.rule]]\npath = \"/x/*\"\npass = true\n";
        assert_eq!(told(SITE, SITE), [""; 0]);
        assert_eq!(
            told(SITE, &format!("workers = 2\nlimits.head-timeout = \"5s\"\n{SITE}{rule}")),
            [
                "limits.head-timeout: \"10s\" (default) -> \"5s\"",
                "site a.org: rule /x/*: pass: false (default) -> true",
                "site a.org: rule /x/*: path: (none) -> \"/x/*\"",
                "workers: \"auto\" (default) -> 2 (at the next start)",
            ]
        );
    }

    #[test]
    fn a_value_that_goes_is_followed_by_what_holds_then() {
        let site = |more: &str| format!("[[site]]\nhosts = \"a.org\"\norigin = \"http://a\"\n{more}");
        let rule = |more: &str| format!("{}[[site.rule]]\npath = \"/x\"\n{more}", site("ttl = \"3m\"\n"));
        for (before, after, change) in [
            (site("ttl = \"1m\"\n"), site(""), "site a.org: ttl: \"1m\" -> \"0s\" (default)"),
            (
                format!("ttl = \"2m\"\n{}", site("")),
                format!("ttl = \"2m\"\n{}", site("ttl = \"1m\"\n")),
                "site a.org: ttl: \"2m\" (of the top of the file) -> \"1m\"",
            ),
            (rule("ttl = \"1m\"\n"), rule(""), "site a.org: rule /x: ttl: \"1m\" -> \"3m\" (of the site)"),
            (
                format!("admin = \"127.0.0.1:1\"\n{}", site("")),
                site(""),
                "admin: \"127.0.0.1:1\" -> (none) (at the next start)",
            ),
        ] {
            let told = told(&before, &after);
            assert_eq!(
                told.iter().map(|told| told.trim_end_matches(" (at the next start)")).collect::<Vec<_>>(),
                [change.trim_end_matches(" (at the next start)")]
            );
        }
    }

    #[test]
    fn a_site_that_is_new_had_no_values() {
        let more = "[[site]]\nhosts = \"c.org\"\norigin = \"http://127.0.0.1:1\"\nttl = \"1m\"\n";
        let told = told(SITE, &format!("{SITE}{more}"));
        let of_ttl = told.iter().find(|told| told.contains(": ttl: ")).unwrap();
        assert_eq!(of_ttl, "site c.org: ttl: (none) -> \"1m\"");
    }

    #[test]
    fn what_an_application_lays_under_its_site_is_what_held() {
        let site = "[[site]]\norigin = \"http://a\"\napplication = \"wordpress\"\n";
        let told = told(site, &format!("{site}ttl = \"1h\"\n"));
        let (name, text) = applications().find(|(name, _)| *name == "wordpress").unwrap();
        let ttl = &flat(text)["ttl"].shown;
        assert_eq!(told, [format!("site default: ttl: {ttl} (of {name}) -> \"1h\"")]);
    }

    #[test]
    fn what_a_flag_or_other_settings_decide_is_not_told() {
        assert_eq!(
            told(SITE, &format!("cache.client-may-revalidate = true\n{SITE}")),
            ["cache.client-may-revalidate: (default) -> true"]
        );
        let [mut before, mut after] = [loaded(SITE), loaded(&format!("memory.size = \"2GiB\"\n{SITE}"))];
        (before.warnings.flags, after.warnings.flags) = ("--memory 4GiB".to_owned(), "--memory 4GiB".to_owned());
        let told: Vec<_> = changes(&before, &after).iter().map(ChangedSetting::to_string).collect();
        assert_eq!(told, ["memory.size: (--memory) -> \"2GiB\" (at the next start)"]);
    }

    #[test]
    fn credentials_are_not_told() {
        let moved = SITE.replace("127.0.0.1:1", "127.0.0.1:2");
        let told = told(SITE, &moved).join("\n");
        assert!(told.contains("127.0.0.1:1") && !told.contains("u:p"), "{told}");
    }

    #[test]
    fn credentials_in_a_list_of_origins_are_not_told() {
        let several = |port| {
            format!(
                "[[site]]\norigin = [\"http://u:p@127.0.0.1:{port}\", {{ url = \"http://v:q@127.0.0.2:1\", weight = 2 }}]\n"
            )
        };
        let told = told(&several(1), &several(2)).join("\n");
        assert!(told.contains("127.0.0.1:1") && !told.contains("u:p") && !told.contains("v:q"), "{told}");
    }

    #[test]
    fn sites_without_hosts_are_counted() {
        let any = "[[site]]\norigin = \"http://127.0.0.1:1\"\n";
        let told = told(&format!("{SITE}{any}"), &format!("{SITE}{}", any.replace(":1\"", ":2\"")));
        assert_eq!(told, ["site default: origin: \"http://127.0.0.1:1\" -> \"http://127.0.0.1:2\""]);
    }
}
