//! What somebody meant who wrote an unknown key.

use crate::issue::quoted;
use crate::table;

/// The most that a key may differ from the one that is suggested, as a part of its length: one third.
const DIFFERENCE_DIVISOR: usize = 3;

/// The known key that is closest in spelling, if any is close: `listn`, `head_bytes_max`, `rules`.
pub(crate) fn closest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_lowercase().replace('_', "-");
    let distance = |candidate: &&str| strsim::damerau_levenshtein(&name, candidate);
    let close = known.iter().copied().min_by_key(distance)?;
    (distance(&close) <= (close.len() / DIFFERENCE_DIVISOR).max(1)).then_some(close)
}

/// Where a key of exactly that name belongs, when other tables know it.
pub(crate) fn elsewhere(name: &str) -> Option<String> {
    let mut tables = Vec::new();
    for key in table::settings().flat_map(table::Setting::keys) {
        let Some((parent, _)) = key.rsplit_once('.').filter(|(_, last)| *last == name) else {
            if key == name {
                tables.push("at the top of the file".to_owned());
            }
            continue;
        };
        tables.push(match parent {
            "site" | "site.rule" => format!("in `[[{parent}]]`"),
            "listen" => "in a listener (`listen = [{ … }]`)".to_owned(),
            _ => format!("in `[{parent}]`"),
        });
    }
    (!tables.is_empty()).then(|| format!("{} belongs {}", quoted(name), tables.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slips_are_recognised() {
        let known = ["listen", "admin", "rule", "head-bytes-max"];
        for (name, expected) in [
            ("listn", Some("listen")),
            ("Listen", Some("listen")),
            ("amdin", Some("admin")),
            ("rules", Some("rule")),
            ("head_bytes_max", Some("head-bytes-max")),
            ("php", None),
        ] {
            assert_eq!(closest(name, &known), expected, "{name}");
        }
    }

    #[test]
    fn a_key_in_the_wrong_table_is_sent_to_the_right_one() {
        assert_eq!(elsewhere("size").as_deref(), Some("`size` belongs in `[memory]`"));
        assert_eq!(elsewhere("origin").as_deref(), Some("`origin` belongs in `[[site]]` or in `[[site.rule]]`"));
        assert_eq!(elsewhere("nonsense"), None);
    }
}
