//! Names items in a server: what a front end asks for, and what a program has to compute to find the same item.
//!
//! ```text
//! NS:<SHA-256 of the URI>                              the response to a URI, or the list of the fields by which its variants differ
//! NS:<SHA-256 of the URI, a zero byte, the variant>    a variant
//! NAME:<id>:<number>                                   a chunk of the item that is called NAME
//! NAME:lease                                           who asks the origin for the item that is called NAME
//! NS:log                                               the identity of the server's log of purges
//! NS:purges                                            the counter of purges
//! NS:purges:<number>                                   the record of a purge
//! ```
//!
//! In a Redis Cluster, `NS` is in braces in the last three of them, so that they are in one slot.
//!
//! Hashes and ids are in lower case hexadecimal, numbers in decimal. The hash has no key, so that any program can compute a name. No name
//! is longer than 141 bytes, where memcached allows 250, and none has a blank or a control character. A name is no proof of what is under
//! it: whoever reads an item compares the URI that stands in it.

use crate::hex;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The longest namespace, in bytes.
const NAMESPACE_BYTES_MAX: usize = 32;

/// Bytes of the name of an item, at most: memcached takes no more.
pub const NAME_BYTES_MAX: usize = 250;

/// Whether an item can be called so: 1 to 250 bytes of printable ASCII without blanks. Nothing else may get into the line of a request.
pub fn is_name(name: &[u8]) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic)
}

/// The first part of all names. It keeps caches apart that use the same servers, such as those of staging and of production.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace(Box<str>);

/// A namespace that is empty, too long, or has another character than it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a namespace has 1 to {NAMESPACE_BYTES_MAX} letters, digits, `-` and `_`")]
pub struct NamespaceError;

impl Default for Namespace {
    /// `kasoku`.
    fn default() -> Self {
        Self("kasoku".into())
    }
}

impl FromStr for Namespace {
    type Err = NamespaceError;

    fn from_str(text: &str) -> Result<Self, NamespaceError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=NAMESPACE_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed) {
            Ok(Self(text.into()))
        } else {
            Err(NamespaceError)
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Namespace {
    /// The name of the response to a URI. Where its responses vary, the list of the fields by which they do has this name.
    pub fn response(&self, uri: &str) -> Name {
        self.hashed(Sha256::new().chain_update(uri))
    }

    /// The name of a variant of the response to a URI.
    pub fn variant(&self, uri: &str, variant: &[u8]) -> Name {
        // No URI has a zero byte, so no two pairs of URI and variant are the same bytes.
        self.hashed(Sha256::new().chain_update(uri).chain_update([0]).chain_update(variant))
    }

    /// The same for names that have to be in one slot of a Redis Cluster: those of the log of purges.
    pub(crate) fn in_one_slot(&self) -> Self {
        Self(format!("{{{self}}}").into())
    }

    /// The name of the identity of a server's log of purges.
    pub fn log(&self) -> Name {
        Name(format!("{self}:log").into())
    }

    /// The name of the counter of purges.
    pub fn purges(&self) -> Name {
        Name(format!("{self}:purges").into())
    }

    /// The name of the record of a purge.
    pub fn purge(&self, number: u64) -> Name {
        Name(format!("{self}:purges:{number}").into())
    }

    fn hashed(&self, hash: Sha256) -> Name {
        let mut name = String::with_capacity(self.0.len() + 1 + 2 * 32);
        name.push_str(&self.0);
        name.push(':');
        name.extend(hex::digits(&hash.finalize()));
        Name(name.into())
    }
}

/// The name of an item: printable ASCII without blanks, of at most 141 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(Box<str>);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The name of a chunk of the item of this name. `id` is the one in its manifest: chunks of an earlier item of the same name have
    /// other names, so no two items are mixed.
    pub fn chunk(&self, id: u128, number: u32) -> Name {
        Name(format!("{self}:{id:032x}:{number}").into())
    }

    /// The name of the lease of this item: the front end that adds it asks the origin, and the others wait.
    pub fn lease(&self) -> Name {
        Name(format!("{self}:lease").into())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's `hashlib.sha256(b"http://example.org/").hexdigest()`.
    const HASH: &str = "781bc04ec9bd049cdfacaec4ae2026102118d13c79413246f0c88eeef6ebec4e";

    #[test]
    fn names_are_those_that_another_program_computes() {
        let (own, other) = (Namespace::default(), "Staging_2-b".parse::<Namespace>().unwrap());
        let name = own.response("http://example.org/");
        assert_eq!(name.as_str(), format!("kasoku:{HASH}"));
        assert_eq!(other.response("http://example.org/").as_str(), format!("Staging_2-b:{HASH}"));
        assert_eq!(name.chunk(0xab, 7).as_str(), format!("kasoku:{HASH}:000000000000000000000000000000ab:7"));
        assert_eq!(name.lease().as_str(), format!("kasoku:{HASH}:lease"));
        assert_eq!((own.purges().as_str(), own.purge(12).as_str()), ("kasoku:purges", "kasoku:purges:12"));
        // hashlib.sha256(b"http://example.org/" + b"\0" + b"accept\x01\x00\x00\x00\x03*/*").hexdigest()
        assert_eq!(
            own.variant("http://example.org/", b"accept\x01\x00\x00\x00\x03*/*").as_str(),
            "kasoku:d2f8680c0d9bc8fbaadb54dca48eeb37d491663b0d4c3cfb9f509c3cdff74363"
        );
    }

    #[test]
    fn no_two_items_share_a_name() {
        let own = Namespace::default();
        let name = own.response("http://a.test/");
        let all = [
            own.response("http://a.test/b"),
            own.variant("http://a.test/", b""),
            own.variant("http://a.test/", b"b"),
            own.variant("http://a.test/b", b""),
            name.lease(),
            name.chunk(1, 12),
            name.chunk(1, 1),
            name.chunk(2, 1),
            name,
            own.purges(),
            own.purge(1),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all.iter().skip(at + 1).any(|other| one == other), "{one}");
        }
    }

    #[test]
    fn every_name_is_one_word_that_memcached_takes() {
        let longest: Namespace = "n".repeat(NAMESPACE_BYTES_MAX).parse().unwrap();
        let name = longest.response("http://a.test/\u{e4} b\r\n");
        for name in [name.chunk(u128::MAX, u32::MAX), name.lease(), longest.purge(u64::MAX), name] {
            assert!(name.as_bytes().len() <= 141 && name.as_bytes().iter().all(u8::is_ascii_graphic), "{name}");
        }
    }

    #[test]
    fn a_namespace_is_one_short_word() {
        let long = "n".repeat(NAMESPACE_BYTES_MAX + 1);
        for text in ["", " ", "a b", "a:b", "a\r\nb", "\u{e4}", "a\0", &long] {
            assert_eq!(text.parse::<Namespace>(), Err(NamespaceError), "{text:?}");
        }
    }
}
