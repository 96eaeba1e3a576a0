//! What other processes call the values of a data cache: `data://cache/NAME/KEY`.
//!
//! Purges of keys, of prefixes and of tags are told under that name. So they cover neither HTTP responses nor the values of another data
//! cache, which may use the same servers. Within the process no purge leaves its cache, so keys and tags have no name there.
//!
//! A key may have any characters, and a purge is told as lines of text. So a key is percent-encoded there; the beginning of a key is the
//! beginning of the encoded key.

use super::stored::BEFORE_KEYS;
use crate::generations::{Purge, PurgeScope};
use crate::purge_exchange::Removal;
use crate::tags::of_site;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// How much of a key or of a tag is told, in bytes. What is longer is told as a purge of more.
const TOLD_BYTES_MAX: usize = 4096;

/// What is encoded in a key, besides what is no ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// The name of a data cache, as the part of a URI that stands before its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheName(String);

/// What a purge of another process drops here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Dropped<'r> {
    Key(String),
    Prefix(String),
    Tag(&'r str),
    /// All values that have tags.
    Tagged,
    All,
    /// Responses, or the values of another data cache.
    Nothing,
}

impl CacheName {
    /// `None`: this is no name. A name has 1 to 64 letters, digits, `-`, `_` and `.`.
    pub(super) fn new(name: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_name = (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_allowed);
        is_name.then(|| Self(format!("{BEFORE_KEYS}{name}/")))
    }

    /// The purge of a key, as others are told of it.
    pub(super) fn purge_of_key(&self, key: &str) -> Vec<u8> {
        match beginning(key) {
            whole if whole.len() == key.len() => Removal::Key(&self.uri(key), Purge::Hard).write(),
            beginning => self.purge_of_prefix(beginning),
        }
    }

    pub(super) fn purge_of_prefix(&self, prefix: &str) -> Vec<u8> {
        Removal::Scope(PurgeScope::Prefix(&self.uri(beginning(prefix))), Purge::Hard).write()
    }

    pub(super) fn purge_of_tag(&self, tag: &str) -> Vec<u8> {
        let is_told = !tag.is_empty() && tag.len() <= TOLD_BYTES_MAX;
        let scope = if is_told { PurgeScope::Tag(&self.0, tag) } else { PurgeScope::Tagged(&self.0) };
        Removal::Scope(scope, Purge::Hard).write()
    }

    pub(super) fn purge_of_all(&self) -> Vec<u8> {
        self.purge_of_prefix("")
    }

    /// What a purge of another process drops here; `None`: it can't be understood.
    pub(super) fn dropped<'r>(&self, removal: &Removal<'r>) -> Option<Dropped<'r>> {
        Some(match *removal {
            Removal::Key(uri, _) => self.key(uri)?.map_or(Dropped::Nothing, Dropped::Key),
            // The beginning of the name, or all of it.
            Removal::Scope(PurgeScope::Prefix(prefix), _) if self.0.starts_with(prefix) => Dropped::All,
            Removal::Scope(PurgeScope::Prefix(prefix), _) => {
                self.key(without_cut_escape(prefix))?.map_or(Dropped::Nothing, Dropped::Prefix)
            }
            Removal::Scope(PurgeScope::Tag(site, tag), _) if site == self.0 => Dropped::Tag(tag),
            Removal::Scope(PurgeScope::Tagged(site), _) if site == self.0 => Dropped::Tagged,
            // The hashes are made of the tag and of this name, which is not in the hashes of this cache.
            Removal::Change(ref tags, _) if tags.site == of_site(&self.0) => Dropped::Tagged,
            Removal::Scope(PurgeScope::All, _) => Dropped::All,
            Removal::Scope(PurgeScope::Tag(..) | PurgeScope::Tagged(_) | PurgeScope::Site(_), _)
            | Removal::Change(..) => Dropped::Nothing,
        })
    }

    /// The URI of a key, or of the beginning of one.
    pub(super) fn uri(&self, key: &str) -> String {
        format!("{}{}", self.0, encoded(key))
    }

    /// The key of a URI; `Some(None)`: it is the URI of something else; `None`: of no key.
    #[expect(clippy::option_option, reason = "the two differ")]
    fn key(&self, uri: &str) -> Option<Option<String>> {
        let Some(encoded) = uri.strip_prefix(&self.0) else { return Some(None) };
        let mut escapes = encoded.split('%').skip(1);
        let is_whole = |escape: &str| escape.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
        if !escapes.all(is_whole) {
            return None;
        }
        Some(Some(percent_decode_str(encoded).decode_utf8().ok()?.into_owned()))
    }
}

/// A prefix that another program has cut within a percent-encoded byte, without the beginning of that byte: so it covers all that it means.
fn without_cut_escape(prefix: &str) -> &str {
    let is_cut = |(_, escape): &(&str, &str)| escape.len() < 2;
    prefix.rsplit_once('%').filter(is_cut).map_or(prefix, |(before, _)| before)
}

/// A text as part of a URI or of a line.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// As much of a text as is told.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TOLD_BYTES_MAX)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> CacheName {
        CacheName::new("posts").unwrap()
    }

    fn dropped_at(name: &CacheName, purge: &[u8]) -> Option<String> {
        Some(format!("{:?}", name.dropped(&Removal::read(purge)?)?))
    }

    fn dropped(purge: &[u8]) -> Option<String> {
        dropped_at(&name(), purge)
    }

    #[test]
    fn what_is_told_is_what_is_dropped() {
        let long = "\u{e4}".repeat(TOLD_BYTES_MAX);
        for key in ["", "a", "a/b?c d", "%2541 %", "\r\nAll: yes", "\u{85}\u{1f980}", "\0"] {
            assert_eq!(dropped(&name().purge_of_key(key)), Some(format!("Key({key:?})")));
            let prefix = if key.is_empty() { "All".to_owned() } else { format!("Prefix({key:?})") };
            assert_eq!(dropped(&name().purge_of_prefix(key)), Some(prefix));
        }
        let told = &long[..TOLD_BYTES_MAX];
        assert_eq!(dropped(&name().purge_of_key(&long)), Some(format!("Prefix({told:?})")));
        assert_eq!(dropped(&name().purge_of_prefix(&long)), Some(format!("Prefix({told:?})")));
        for (tag, what) in [("post 7", "Tag(\"post 7\")"), ("", "Tagged"), ("a\nb", "Tagged"), (&long, "Tagged")] {
            assert_eq!(dropped(&name().purge_of_tag(tag)).as_deref(), Some(what));
        }
        assert_eq!(dropped(&name().purge_of_all()).as_deref(), Some("All"));
    }

    #[test]
    fn what_is_told_drops_nothing_of_another_data_cache() {
        for other in ["post", "posts2", "Posts"] {
            let other = CacheName::new(other).unwrap();
            for purge in [name().purge_of_key("k"), name().purge_of_prefix("k"), name().purge_of_tag("k")] {
                assert_eq!(dropped_at(&other, &purge).as_deref(), Some("Nothing"));
            }
            assert_eq!(dropped_at(&other, &name().purge_of_all()).as_deref(), Some("Nothing"));
        }
    }

    #[test]
    fn purges_of_responses_drop_nothing_but_those_of_everything() {
        for (purge, what) in [
            ("Key: https://a.example/posts/", "Nothing"),
            ("Prefix: https://a.example/", "Nothing"),
            ("Site: cache", "Nothing"),
            ("Tag: blog post", "Nothing"),
            ("Tagged: ", "Nothing"),
            ("Tag-Hashes: 0000000000000001 0000000000000002", "Nothing"),
            ("All: yes", "All"),
            ("Prefix: data://cache/", "All"),
        ] {
            assert_eq!(dropped(format!("Purge: hard\r\n{purge}\r\n").as_bytes()).as_deref(), Some(what), "{purge}");
        }
        let hashes = format!("Purge: change\r\nTag-Hashes: {:016x} \r\n", of_site("data://cache/posts/"));
        assert_eq!(dropped(hashes.as_bytes()).as_deref(), Some("Tagged"));
        for key in ["%ff", "a%", "a%2", "%zz", "%2\u{e4}"] {
            assert_eq!(dropped(format!("Purge: hard\r\nKey: data://cache/posts/{key}\r\n").as_bytes()), None, "{key}");
        }
        // Other programs may cut within a byte.
        for (prefix, what) in [("100%", "100"), ("100%2", "100"), ("100%20", "100 "), ("%25%", "%")] {
            let purge = format!("Purge: hard\r\nPrefix: data://cache/posts/{prefix}\r\n");
            assert_eq!(dropped(purge.as_bytes()), Some(format!("Prefix({what:?})")));
        }
    }

    #[test]
    fn a_name_is_one_part_of_a_uri() {
        let long = "n".repeat(NAME_BYTES_MAX);
        for name in ["a", "A-b_c.9", long.as_str()] {
            assert!(CacheName::new(name).is_some(), "{name}");
        }
        for name in ["", "a/b", "a b", "\u{e4}", "a%", &format!("{long}n")] {
            assert_eq!(CacheName::new(name), None, "{name}");
        }
    }
}
