//! Writes the content of an item of the shared tier that holds a value, as text, and reads it.
//!
//! ```text
//! Kind: value
//! Key: data://cache/posts/post/7
//! Generation: 0123456789abcdef0123456789abcdef 7
//! Version: 2.1
//! Until: 1795000060000
//! Tags: 082483d04b9561c9,e63f99101c0f2cc7
//! Value-Length: 12
//!
//! <the value as bytes, to the end>
//! ```
//!
//! docs/shared-format.md explains each line. The lines are read as those of an item with a response are (`shared/lines.rs`): one that is not
//! known is ignored, and one that is missing, occurs twice or can't be read makes the whole item unusable.
//!
//! Reading judges only the form. Whether the value may be used is decided in `tier`.

use crate::shared::lines::{Lines, ReadLines, Refused, hash_of_hex};
use crate::tags::TagHash;
use kasoku_shared::purge_log::Generation;

/// The most tags of a value in an item.
const TAGS_MAX: usize = 1024;

/// The longest value, in bytes.
pub(super) const VALUE_BYTES_MAX: u64 = 64 << 20;

/// What an item says of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueHead {
    /// The URI: the name of the cache, and the key.
    pub(super) uri: String,
    /// The counter of purges of its server, as it was before the load began.
    pub(super) generation: Generation,
    /// The version of the builder, percent-encoded.
    pub(super) version: String,
    /// When its lifetime ends, in milliseconds since 1970.
    pub(super) until_unix_ms: u64,
    pub(super) tags: Vec<TagHash>,
    /// The length of the value in bytes; `None`: there is nothing under the key.
    pub(super) length: Option<u64>,
}

impl ValueHead {
    /// The lines with the empty line behind them; `None`: they can't be written, since a line would be read otherwise or exceeds a limit.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let Self { uri, generation, version, until_unix_ms, tags, length } = self;
        let mut lines = Lines::of("value", uri, *generation)?;
        if !version.is_empty() {
            lines.push("Version", version);
        }
        lines.push("Until", until_unix_ms);
        if !tags.is_empty() {
            let each: Vec<String> = tags.iter().map(|tag| format!("{tag:016x}")).collect();
            lines.push("Tags", each.join(","));
        }
        match length {
            Some(length) => lines.push("Value-Length", length),
            None => lines.push_flag("Nothing", true),
        }
        let is_within = version.bytes().all(|byte| byte.is_ascii_graphic())
            && tags.len() <= TAGS_MAX
            && length.is_none_or(|length| length <= VALUE_BYTES_MAX);
        lines.end().filter(|_| is_within)
    }

    /// Reads the lines at the front of a content, of which the value may be missing. Returns them and their length in bytes.
    ///
    /// # Errors
    /// They are not those of a value.
    pub(super) fn read(content: &[u8]) -> Result<(Self, usize), Refused> {
        let (lines, used) = ReadLines::read(content)?;
        if lines.necessary("Kind")? != b"value" {
            return Err(Refused::Value("Kind"));
        }
        let length = match (lines.flag("Nothing")?, lines.optional("Value-Length")?) {
            (true, None) => None,
            (true, Some(_)) => return Err(Refused::Value("Nothing")),
            (false, _) => Some(lines.number("Value-Length", VALUE_BYTES_MAX)?),
        };
        let head = Self {
            uri: lines.key()?,
            generation: lines.generation()?,
            version: match lines.optional("Version")? {
                Some(version) => String::from_utf8(version.to_vec()).map_err(|_| Refused::Value("Version"))?,
                None => String::new(),
            },
            until_unix_ms: lines.number("Until", i64::MAX as u64)?,
            tags: tags(&lines)?,
            length,
        };
        Ok((head, used))
    }
}

fn tags(lines: &ReadLines) -> Result<Vec<TagHash>, Refused> {
    let Some(each) = lines.optional("Tags")? else { return Ok(Vec::new()) };
    let each: Option<Vec<TagHash>> = each.split(|byte| *byte == b',').take(TAGS_MAX + 1).map(hash_of_hex).collect();
    each.filter(|each| each.len() <= TAGS_MAX).ok_or(Refused::Value("Tags"))
}

/// For fuzzing: whether what is read of a content, written and read again, says the same. `None`: it is refused.
#[doc(hidden)]
pub fn is_read_as_written(content: &[u8]) -> Option<bool> {
    let (head, used) = ValueHead::read(content).ok()?;
    let written = head.write();
    // The lines of a forger may be longer than those that are written, or in another form.
    let is_alike = written.is_none_or(|lines| ValueHead::read(&lines) == Ok((head, lines.len())));
    Some(is_alike && used <= content.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> ValueHead {
        ValueHead {
            uri: "data://cache/posts/post/7%20b".to_owned(),
            generation: Generation { log: 0x0123, number: 7 },
            version: "2.1".to_owned(),
            until_unix_ms: 1_795_000_060_000,
            tags: vec![1, u64::MAX],
            length: Some(12),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let heads = [
            head(),
            ValueHead { version: String::new(), tags: Vec::new(), length: Some(0), ..head() },
            ValueHead { length: None, ..head() },
            ValueHead { tags: vec![7; TAGS_MAX], until_unix_ms: 0, length: Some(VALUE_BYTES_MAX), ..head() },
        ];
        for head in heads {
            let mut content = head.write().unwrap();
            let length = content.len();
            content.extend_from_slice(b"what follows");
            assert_eq!(ValueHead::read(&content), Ok((head, length)));
            assert_eq!(is_read_as_written(&content), Some(true));
        }
    }

    #[test]
    fn the_value_on_the_page_is_what_is_written() {
        const PAGE: &str = include_str!("../../../../docs/shared-format.md");
        // `kasoku-shared` compares its digest.
        let (_, rest) = PAGE.split_once("<!-- example: value -->\n```text\n").unwrap();
        let (_, content) = rest.split_once('\n').unwrap();
        let content = content.split_once("\n```").unwrap().0.replace('\n', "\r\n");
        let (head, begins) = ValueHead::read(content.as_bytes()).unwrap();
        assert_eq!(content.as_bytes()[..begins], head.write().unwrap());
        assert_eq!(head.length, Some((content.len() - begins) as u64));
        assert_eq!((&*head.uri, &*head.version), ("data://cache/posts/post/7", "2"));
        assert_eq!(head.tags, [crate::tags::of_tag(crate::data::loaded::SITE, "post-7")]);
    }

    #[test]
    fn what_exceeds_a_bound_is_not_written() {
        for head in [
            ValueHead { tags: vec![7; TAGS_MAX + 1], ..head() },
            ValueHead { length: Some(VALUE_BYTES_MAX + 1), ..head() },
            ValueHead { uri: format!("data://cache/a/{}", "k".repeat(256 << 10)), ..head() },
            ValueHead { version: "a\r\nNothing: yes".to_owned(), ..head() },
            ValueHead { version: " 1".to_owned(), ..head() },
        ] {
            assert_eq!(head.write(), None, "{head:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let whole = String::from_utf8(head().write().unwrap()).unwrap();
        for (line, other, why) in [
            ("Kind: value", "Kind: response", Refused::Value("Kind")),
            ("Kind: value\r\n", "", Refused::Missing("Kind")),
            ("Key: data", "Key: d ata", Refused::Value("Key")),
            ("Until: 1795000060000", "Until: -1", Refused::Value("Until")),
            ("Until: 1795000060000", "Until: 9223372036854775808", Refused::Value("Until")),
            ("Until: 1795000060000", "Until: 1\r\nUntil: 1", Refused::Twice("Until")),
            ("Tags: ", "Tags: x", Refused::Value("Tags")),
            ("Value-Length: 12", "Value-Length: 67108865", Refused::Value("Value-Length")),
            ("Value-Length: 12\r\n", "", Refused::Missing("Value-Length")),
            ("Value-Length: 12", "Value-Length: 0\r\nNothing: yes", Refused::Value("Nothing")),
            ("Generation: 0", "Generation: x", Refused::Value("Generation")),
            ("\r\n\r\n", "\r\n", Refused::Cut),
        ] {
            assert!(whole.contains(line));
            assert_eq!(ValueHead::read(whole.replacen(line, other, 1).as_bytes()), Err(why), "{other}");
        }
        let many = whole.replacen("Tags: ", &format!("Tags: {}", "0000000000000000,".repeat(TAGS_MAX)), 1);
        assert_eq!(ValueHead::read(many.as_bytes()), Err(Refused::Value("Tags")));
    }
}
