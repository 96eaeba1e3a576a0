//! Makes the entity tag that clients get instead of the application's validators.
//!
//! It is a strong tag of the stored bytes (`kasoku_semantics::validators` says where and why). Key and variant are part of it. So a tag
//! of one URL never confirms another URL, nor one variant another: two pages with the same bytes may still differ in their heads. The tag
//! is the same in each process and after each restart, so browsers keep what they have. A content coding has the same tag with the
//! coding's name appended.
//!
//! XXH3 is not a cryptographic hash and need not be: an attacker who makes two versions of a page with the same tag achieves only that
//! browsers keep showing the first.

use crate::Key;
use kasoku_wire::Fields;
use xxhash_rust::xxh3::Xxh3;

/// The length of such a tag's line in a head, in bytes.
pub(crate) const LINE_BYTES: usize = "ETag: \"k\"\r\n".len() + 32;

/// Such a tag while the body comes.
pub(crate) struct OwnTag(Box<Xxh3>);

impl OwnTag {
    /// The tag of the response to this key and variant, of which no byte has come.
    pub(crate) fn new(key: &Key, variant: &[u8]) -> Self {
        let mut hash = Box::new(Xxh3::new());
        for part in [key.bytes(), variant] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash)
    }

    /// Adds the next bytes of the body.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Sets ETag to the tag of the bytes so far, which must be the whole body.
    pub(crate) fn set(self, fields: &mut Fields) {
        fields.set("ETag", self.value());
    }

    fn value(&self) -> String {
        format!("\"k{:032x}\"", self.0.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, CacheLimits};

    #[test]
    fn a_tag_is_of_the_bytes_the_url_and_the_variant() {
        let cache = Cache::new(CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 });
        let tag = |uri: &str, variant: &[u8], pieces: &[&'static str]| {
            let mut tag = OwnTag::new(&cache.key(uri), variant);
            pieces.iter().for_each(|piece| tag.update(piece.as_bytes()));
            tag.value()
        };
        let one = tag("http://a.test/", b"", &["page"]);
        assert_eq!(one, tag("http://a.test/", b"", &["pa", "ge"]), "however it came");
        assert_eq!("ETag: \r\n".len() + one.len(), LINE_BYTES);
        for other in [
            tag("http://a.test/", b"", &["pagE"]),
            tag("http://b.test/", b"", &["page"]),
            tag("https://a.test/", b"", &["page"]),
            tag("http://a.test/", b"mobile", &["page"]),
            tag("http://a.test/p", b"", &["age"]),
        ] {
            assert_ne!(one, other);
        }
    }
}
