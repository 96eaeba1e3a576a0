//! What a new configuration changes, in the words of the file: `limits.head-timeout: "10s" -> "5s"`.
//!
//! The two documents are compared, not what they mean, so that the operator reads the keys that were written. A site is
//! called by its first host, a rule by its path, so one that is put before another changes nothing but itself.

use crate::flags::Loaded;
use crate::secrets;
use crate::table::{self, Scope};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The most changes that are told one by one.
pub const CHANGES_MAX: usize = 50;

/// One setting that is no longer what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key, with site and rule: `site example.org: rule /blog/*: cache.negative-ttl`.
    pub key: String,
    /// What was written before and what is written now; `None`: nothing.
    pub values: [Option<String>; 2],
    /// Whether it takes effect only when the program starts the next time.
    pub waits_for_start: bool,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [before, after] = &self.values;
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "(default)".to_owned());
        write!(f, "{}: {} -> {}", self.key, shown(before), shown(after))?;
        if self.waits_for_start { f.write_str(" (at the next start)") } else { Ok(()) }
    }
}

/// What differs between the files that two configurations were read from, in the order of the keys.
pub fn changes(before: &Loaded, after: &Loaded) -> Vec<Change> {
    let [before, after] = [before, after].map(|loaded| flat(&loaded.warnings.file));
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    changed
        .map(|key| Change {
            key: key.clone(),
            values: [before.get(key).cloned(), after.get(key).cloned()],
            waits_for_start: table::find(Scope::Top, key).is_some_and(|setting| setting.is_read_at_start),
        })
        .collect()
}

/// All values of a document, by key.
fn flat(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    // It was read before, so it is a document.
    if let Ok(document) = text.parse::<Table>() {
        add("", &document, &mut values);
    }
    values
}

fn add(prefix: &str, table: &Table, values: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match (key.as_str(), value) {
            ("site", Value::Array(sites)) => each(prefix, "site", sites, site_name, values),
            ("rule", Value::Array(rules)) => each(prefix, "rule", rules, rule_name, values),
            (_, Value::Table(table)) => add(&format!("{prefix}{key}."), table, values),
            (_, value) => {
                // Masked as a line of the file, since the key says whether the value is a secret.
                let line = secrets::mask(&format!("{key} = {value}"));
                let shown = line.split_once(" = ").map_or(line.as_str(), |(_, value)| value);
                values.insert(format!("{prefix}{key}"), shown.to_owned());
            }
        }
    }
}

fn each(
    prefix: &str,
    what: &str,
    tables: &[Value],
    name: fn(&Table) -> Option<String>,
    values: &mut BTreeMap<String, String>,
) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for table in tables.iter().filter_map(Value::as_table) {
        let name = name(table).unwrap_or_else(|| "any".to_owned());
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        let number = if *count > 1 { format!(" ({count})") } else { String::new() };
        add(&format!("{prefix}{what} {name}{number}: "), table, values);
    }
}

fn site_name(site: &Table) -> Option<String> {
    match site.get("hosts")? {
        Value::Array(hosts) => hosts.first()?.as_str().map(str::to_owned),
        host => host.as_str().map(str::to_owned),
    }
}

fn rule_name(rule: &Table) -> Option<String> {
    rule.get("path")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::{ServeFlags, flags};

    /// Of a file with that text. What it means does not matter here.
    fn loaded(text: &str) -> Loaded {
        let any = "[[site]]\norigin = \"http://127.0.0.1:1\"\n";
        let options =
            flags::check("", any, &ServeFlags::default(), flags::Look::Text, &mut String::new(), &mut Vec::new())
                .unwrap();
        Loaded { options, warnings: Report { file: text.to_owned(), ..Report::default() } }
    }

    fn told(before: &str, after: &str) -> Vec<String> {
        changes(&loaded(before), &loaded(after)).iter().map(Change::to_string).collect()
    }

    const SITE: &str = "[[site]]\nhosts = [\"a.org\", \"b.org\"]\norigin = \"http://u:p@127.0.0.1:1\"\n";

    #[test]
    fn changes_are_told_by_key_site_and_rule() {
        let rule = "[[site.rule]]\npath = \"/x/*\"\npass = true\n";
        assert_eq!(told(SITE, SITE), [""; 0]);
        assert_eq!(
            told(SITE, &format!("workers = 2\nlimits.head-timeout = \"5s\"\n{SITE}{rule}")),
            [
                "limits.head-timeout: (default) -> \"5s\"",
                "site a.org: rule /x/*: pass: (default) -> true",
                "site a.org: rule /x/*: path: (default) -> \"/x/*\"",
                "workers: (default) -> 2 (at the next start)",
            ]
        );
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
        assert_eq!(told, ["site any: origin: \"http://127.0.0.1:1\" -> \"http://127.0.0.1:2\""]);
    }
}
