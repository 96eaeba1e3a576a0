//! Suggests the key that an operator meant by an unknown one.

use crate::issue::quoted;
use crate::table;

/// The most that a key may differ from the one that is suggested, as a part of its length: one third.
const DIFFERENCE_DIVISOR: usize = 3;

/// The fewest bytes of a word that counts as the beginning of another.
const BEGINNING_BYTES_MIN: usize = 3;

/// The part of a name that is compared with all keys, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The weight of a word in common, relative to a name that resembles the whole key.
const WORD_WEIGHT: f64 = 0.95;

/// The known key that is closest in spelling, if any is close: `listn`, `head_bytes_max`, `rules`.
pub(crate) fn closest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_lowercase().replace('_', "-");
    let distance = |candidate: &&str| strsim::damerau_levenshtein(&name, candidate);
    let close = known.iter().copied().min_by_key(distance)?;
    (distance(&close) <= (close.len() / DIFFERENCE_DIVISOR).max(1)).then_some(close)
}

/// The word that was meant: the closest in spelling, or the only one that begins like it (`gnuboard`, `woo`).
pub(crate) fn meant<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let begins = |candidate: &&&str| {
        word.len() >= BEGINNING_BYTES_MIN && candidate.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word))
    };
    closest(word, known).or_else(|| {
        let mut like_it = known.iter().filter(begins);
        like_it.next().copied().filter(|_| like_it.next().is_none())
    })
}

/// The keys that resemble a name most, the best first: as a whole, or one of their words one of its words.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str], count: usize) -> Vec<&'k str> {
    let name: String = name.to_lowercase().replace('_', "-").chars().take(NAME_CHARS_MAX).collect();
    let likeness = |key: &str| {
        let pairs = name.split('-').flat_map(|own| key.split('-').map(move |word| strsim::jaro_winkler(own, word)));
        strsim::jaro_winkler(&name, key).max(pairs.fold(0.0, f64::max) * WORD_WEIGHT)
    };
    let mut ranked: Vec<_> = known.iter().map(|key| (likeness(key), *key)).collect();
    ranked.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.cmp(b)));
    ranked.into_iter().take(count).map(|(_, key)| key).collect()
}

/// Where a key or a table of exactly that name belongs, when other tables know it.
pub(crate) fn where_it_belongs(name: &str) -> Option<String> {
    let (mut parents, mut headers) = (Vec::new(), Vec::new());
    for key in table::settings().flat_map(table::Setting::keys) {
        let words: Vec<&str> = key.split('.').collect();
        let Some(at) = words.iter().position(|word| *word == name) else { continue };
        let path = |end: usize| words.get(..end).unwrap_or_default().join(".");
        if at + 1 == words.len() {
            parents.push(match path(at).as_str() {
                "" => "at the top of the file".to_owned(),
                parent @ ("site" | "site.rule") => format!("in `[[{parent}]]`"),
                "listen" => "in a listener (`listen = [{ … }]`)".to_owned(),
                parent => format!("in `[{parent}]`"),
            });
        } else {
            headers.push(match path(at + 1).as_str() {
                // These are keys as well, so the words for keys are used.
                "listen" | "site.origin" => continue,
                "site.rule" => "`[[site.rule]]`, below the `[[site]]` that it is for".to_owned(),
                header @ "site" => format!("`[[{header}]]`"),
                header => format!("`[{header}]`"),
            });
        }
    }
    headers.dedup();
    match (parents.is_empty(), headers.is_empty()) {
        (false, _) => Some(format!("{} belongs {}", quoted(name), parents.join(" or "))),
        (true, false) => Some(format!("{} is a table of its own: write {}", quoted(name), headers.join(" or "))),
        (true, true) => None,
    }
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
        assert_eq!(where_it_belongs("size").as_deref(), Some("`size` belongs in `[memory]` or in `[disk]`"));
        assert_eq!(where_it_belongs("origin").as_deref(), Some("`origin` belongs in `[[site]]` or in `[[site.rule]]`"));
        assert_eq!(where_it_belongs("nonsense"), None);
    }

    #[test]
    fn a_table_in_the_wrong_place_is_sent_to_the_right_one() {
        let rule = where_it_belongs("rule").unwrap();
        assert!(rule.ends_with("write `[[site.rule]]`, below the `[[site]]` that it is for"), "{rule}");
        assert_eq!(where_it_belongs("memory").as_deref(), Some("`memory` is a table of its own: write `[memory]`"));
        assert_eq!(where_it_belongs("site").as_deref(), Some("`site` is a table of its own: write `[[site]]`"));
    }

    #[test]
    fn a_name_that_resembles_none_is_told_the_nearest() {
        let known = ["admin", "ttl", "ttl-override", "memory", "stale-if-error"];
        assert_eq!(nearest("default_ttl", &known, 2), ["ttl", "ttl-override"]);
        assert_eq!(nearest("error-page", &known, 1), ["stale-if-error"]);
        assert_eq!(nearest("", &known, 3).len(), 3);
    }

    #[test]
    fn a_word_is_known_by_its_spelling_or_its_beginning() {
        let known = ["gnuboard5", "movable-type", "wordpress", "woocommerce"];
        for (word, expected) in [
            ("wordpres", Some("wordpress")),
            ("WordPress", Some("wordpress")),
            ("movable_type", Some("movable-type")),
            ("gnu", Some("gnuboard5")),
            ("woo", Some("woocommerce")),
            ("wo", None),
            ("joomla", None),
        ] {
            assert_eq!(meant(word, &known), expected, "{word}");
        }
    }
}
