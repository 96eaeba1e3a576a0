//! A purge as it stands in a purge log: lines of text, so that other programs can write one (docs/shared-format.md).

use crate::generations::{Purge, PurgeScope};
use crate::tags::Tags;
use std::fmt::Write;

/// With this begin the URIs of values, and the names of the sites of their tags.
pub(crate) const VALUES: &str = "data://cache/";

/// What a purge removes, in each cache.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Removal<'r> {
    /// All responses of a URI.
    Key(&'r str, Purge),
    Scope(PurgeScope<'r>, Purge),
    /// The pages with these tags, since a request has changed them, or may have. Where that makes pages stale, earlier versions drop them.
    Change(Tags, Purge),
}

impl<'r> Removal<'r> {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut text = String::new();
        let purge = match self {
            Self::Key(_, purge) | Self::Scope(_, purge) | Self::Change(_, purge) => *purge,
        };
        let kind = match purge {
            Purge::Hard => "hard",
            Purge::Soft => "soft",
            Purge::Change => "change",
        };
        // A string takes what is written.
        let _ = write!(text, "Purge: {kind}\r\n");
        let _ = match self {
            Self::Key(uri, _) => write!(text, "Key: {uri}\r\n"),
            Self::Scope(PurgeScope::All, _) => write!(text, "All: yes\r\n"),
            Self::Scope(PurgeScope::Site(host), _) => write!(text, "Site: {host}\r\n"),
            Self::Scope(PurgeScope::Prefix(prefix), _) => write!(text, "Prefix: {prefix}\r\n"),
            // Such a tag is no line of text. All tags of its site are more.
            Self::Scope(PurgeScope::Tag(site, tag), _) if tag.contains(char::is_control) || site.contains(' ') => {
                write!(text, "Tagged: {site}\r\n")
            }
            Self::Scope(PurgeScope::Tag(site, tag), _) => write!(text, "Tag: {site} {tag}\r\n"),
            Self::Scope(PurgeScope::Tagged(site), _) => write!(text, "Tagged: {site}\r\n"),
            Self::Change(tags, _) => write_hashes(&mut text, tags),
        };
        text.into_bytes()
    }

    /// Whether it is about values of data caches ([`crate::data`]) alone, which use the same servers: responses have other URIs.
    pub(crate) fn is_of_values(&self) -> bool {
        match self {
            Self::Key(uri, _) | Self::Scope(PurgeScope::Prefix(uri), _) => uri.starts_with(VALUES),
            Self::Scope(PurgeScope::Tag(site, _) | PurgeScope::Tagged(site), _) => site.starts_with(VALUES),
            Self::Scope(PurgeScope::All | PurgeScope::Site(_), _) | Self::Change(..) => false,
        }
    }

    /// `None`: it can't be understood.
    pub(crate) fn read(purge: &'r [u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(purge).ok()?.strip_suffix("\r\n")?.split("\r\n");
        let purge = match lines.next()?.strip_prefix("Purge: ")? {
            "hard" => Purge::Hard,
            "soft" => Purge::Soft,
            "change" => Purge::Change,
            _ => return None,
        };
        let (name, value) = lines.next()?.split_once(": ")?;
        // Only the site of tags that no template makes has no name.
        if lines.next().is_some() || value.is_empty() && name != "Tagged" || value.contains(char::is_control) {
            return None;
        }
        let scope = match name {
            "Key" => return Some(Self::Key(value, purge)),
            "All" if value == "yes" => PurgeScope::All,
            "Site" => PurgeScope::Site(value),
            "Prefix" => PurgeScope::Prefix(value),
            "Tag" => {
                let (site, tag) = value.split_once(' ')?;
                PurgeScope::Tag(site, tag)
            }
            "Tagged" => PurgeScope::Tagged(value),
            "Tag-Hashes" => return Some(Self::Change(read_hashes(value)?, purge)),
            _ => return None,
        };
        Some(Self::Scope(scope, purge))
    }
}

fn write_hashes(text: &mut String, tags: &Tags) -> std::fmt::Result {
    write!(text, "Tag-Hashes: {:016x} ", tags.site)?;
    for (number, tag) in tags.each.iter().enumerate() {
        write!(text, "{}{tag:016x}", if number > 0 { "," } else { "" })?;
    }
    write!(text, "{}\r\n", if tags.has_unknown { " unknown" } else { "" })
}

fn read_hashes(value: &str) -> Option<Tags> {
    let hash = |hex: &str| u64::from_str_radix(hex, 16).ok();
    let (site, rest) = value.split_once(' ')?;
    let (each, has_unknown) = match rest.strip_suffix(" unknown") {
        Some(each) => (each, true),
        None => (rest, false),
    };
    let each: Option<Vec<u64>> = each.split(',').filter(|hex| !hex.is_empty()).map(hash).collect();
    Some(Tags::of_hashes(hash(site)?, each?.into(), has_unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let tags =
            |each: &[u64], has_unknown| Removal::Change(Tags::of_hashes(7, each.into(), has_unknown), Purge::Change);
        for removal in [
            Removal::Key("http://a.example/x?y=1", Purge::Hard),
            Removal::Key("http://a.example/", Purge::Soft),
            Removal::Scope(PurgeScope::All, Purge::Hard),
            Removal::Scope(PurgeScope::Site("a.example"), Purge::Soft),
            Removal::Scope(PurgeScope::Prefix("http://a.example/blog/"), Purge::Hard),
            Removal::Scope(PurgeScope::Tag("blog", "post 17"), Purge::Change),
            Removal::Scope(PurgeScope::Tag("", "post"), Purge::Hard),
            Removal::Scope(PurgeScope::Tagged("blog"), Purge::Hard),
            Removal::Scope(PurgeScope::Tagged(""), Purge::Hard),
            tags(&[1, u64::MAX], false),
            tags(&[], true),
            tags(&[3], true),
            Removal::Change(Tags::of_hashes(7, [4].into(), false), Purge::Soft),
        ] {
            let written = removal.write();
            assert_eq!(Removal::read(&written).as_ref(), Some(&removal), "{}", String::from_utf8_lossy(&written));
        }
    }

    #[test]
    fn purges_of_values_are_told_from_those_of_responses() {
        for purge in
            ["Key: data://cache/a/1", "Prefix: data://cache/a/", "Tag: data://cache/a/ t", "Tagged: data://cache/a/"]
        {
            let text = format!("Purge: hard\r\n{purge}\r\n");
            assert!(Removal::read(text.as_bytes()).unwrap().is_of_values(), "{purge}");
        }
        for purge in
            ["Key: https://data/", "Prefix: http://cache/", "Tag: cache t", "Tagged: ", "Site: cache", "All: yes"]
        {
            let text = format!("Purge: hard\r\n{purge}\r\n");
            assert!(!Removal::read(text.as_bytes()).unwrap().is_of_values(), "{purge}");
        }
    }

    #[test]
    fn a_tag_that_is_no_line_purges_all_tags_of_its_site() {
        let written = Removal::Scope(PurgeScope::Tag("blog", "a\r\nAll: yes"), Purge::Hard).write();
        assert_eq!(Removal::read(&written), Some(Removal::Scope(PurgeScope::Tagged("blog"), Purge::Hard)));
    }

    #[test]
    fn anything_else_is_not_understood() {
        for text in [
            "",
            "\r\n",
            "Purge: hard\r\n",
            "Purge: hard\r\nKey: \r\n",
            "Purge: hard\r\nKey: http://a/",
            "Purge: gone\r\nKey: http://a/\r\n",
            "Purge: hard\r\nKey: http://a/\r\nAll: yes\r\n",
            "Purge: hard\r\nAll: no\r\n",
            "Purge: hard\r\nTag: blog\r\n",
            "Purge: change\r\nTag-Hashes: x 1\r\n",
            "Purge: hard\r\nSite: a\u{7f}\r\n",
        ] {
            assert_eq!(Removal::read(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Removal::read(b"Purge: hard\r\nKey: \xff\r\n"), None);
    }
}
