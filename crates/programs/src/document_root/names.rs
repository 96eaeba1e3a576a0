//! Tells names that are never served, wherever they lie.
//!
//! | name | examples | answer |
//! |---|---|---|
//! | a segment that begins with a dot, except `.well-known` at the root's top (RFC 8615) | `.git/config`, `.env`, `.htaccess` | missing |
//! | a backup | `wp-config.php~`, `.bak`, `.swp`, `#a#` | missing |
//! | a script's source that isn't run, also compressed | `a.php`, `lib.inc`, `search.cgi`, `a.php.gz` | forbidden, so the operator sees why |
//!
//! Case is ignored: a case-insensitive file system finds the same file by another spelling.

/// The suffixes of the compressed copies that lie beside a file (`gzip -rk`).
const COMPRESSED_SUFFIXES: [&str; 3] = [".gz", ".br", ".zst"];

/// The suffixes that editors, people and package managers give to an old copy of a file.
const BACKUP_SUFFIXES: [&str; 15] = [
    "~",
    ".bak",
    ".backup",
    ".swp",
    ".swo",
    ".swx",
    ".orig",
    ".old",
    ".save",
    ".rej",
    ".dpkg-old",
    ".dpkg-dist",
    ".dpkg-new",
    ".rpmsave",
    ".rpmnew",
];

/// The position of the slash before the first segment that is hidden by a dot. `text` begins with `/`.
pub(super) fn first_hidden(text: &[u8]) -> Option<usize> {
    let is_well_known =
        text.strip_prefix(b"/.well-known").is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
    text.windows(2).enumerate().position(|(at, pair)| pair == b"/." && !(at == 0 && is_well_known))
}

/// Whether the file of that name is a backup.
pub(super) fn is_backup(text: &[u8]) -> bool {
    let name = text.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    BACKUP_SUFFIXES.iter().any(|suffix| ends_with(name, suffix)) || (name.starts_with(b"#") && name.ends_with(b"#"))
}

/// Whether a name ends with one of these, in whatever case.
fn has_any_suffix(text: &[u8], suffixes: &[impl AsRef<str>]) -> bool {
    suffixes.iter().any(|suffix| ends_with(text, suffix.as_ref()))
}

/// Whether a name is that of a script's source, as it is or compressed.
pub(super) fn is_source(text: &[u8], suffixes: &[impl AsRef<str>]) -> bool {
    let compressed = COMPRESSED_SUFFIXES.iter().find(|suffix| ends_with(text, suffix));
    let plain = compressed.and_then(|suffix| text.get(..text.len() - suffix.len())).unwrap_or(text);
    has_any_suffix(plain, suffixes)
}

fn ends_with(text: &[u8], suffix: &str) -> bool {
    let start = text.len().checked_sub(suffix.len());
    start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::SOURCE_SUFFIXES;

    #[test]
    fn dotfiles_are_hidden_at_any_depth_but_for_well_known_ones() {
        for (text, expected) in [
            ("/a/b.html", None),
            ("/.well-known/acme-challenge/x", None),
            ("/.well-known", None),
            ("/.env", Some(0)),
            ("/a/.git/config", Some(2)),
            ("/a/.well-known/x", Some(2)),
            ("/.well-known/.htpasswd", Some(12)),
            ("/.well-known-not/x", Some(0)),
            ("/", None),
        ] {
            assert_eq!(first_hidden(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn backups_and_sources_are_known_by_their_end_in_any_case() {
        for name in ["/wp-config.php~", "/a.BAK", "/.a.swp", "/d/#a#", "/a.php.save", "/a.dpkg-old"] {
            assert!(is_backup(name.as_bytes()), "{name}");
        }
        for name in ["/bak", "/a~b", "/#a", "/old/a.html", "/holdings.old.html"] {
            assert!(!is_backup(name.as_bytes()), "{name}");
        }
        assert!(has_any_suffix(b"/A.PHP", &SOURCE_SUFFIXES) && has_any_suffix(b"/lib.Inc", &SOURCE_SUFFIXES));
        assert!(!has_any_suffix(b"/php", &SOURCE_SUFFIXES) && !has_any_suffix(b"/a.php.html", &SOURCE_SUFFIXES));
    }
}
