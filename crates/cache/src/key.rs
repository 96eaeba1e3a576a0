//! The key of a look-up: `scheme://authority/path?query`, the effective request URI (RFC 9111 section 2).
//!
//! The method is not part of the key: GET and HEAD share an entry, and other methods are never looked up. The caller that builds the URI
//! has normalised scheme, host and port and has applied the site's query rules. This file changes nothing in it.

use crate::Cache;
use kasoku_store::KeyHash;

/// A key, with its hash in one cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    uri: String,
    hash: KeyHash,
}

impl Key {
    /// The effective request URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The URI as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.uri.as_bytes()
    }

    /// Takes the string out of the key, so that the caller can build another URI in the same allocation.
    pub fn into_uri(self) -> String {
        self.uri
    }

    pub(crate) fn hash(&self) -> KeyHash {
        self.hash
    }
}

impl Cache {
    /// The key of an effective request URI.
    pub fn key(&self, uri: impl Into<String>) -> Key {
        let uri = uri.into();
        let hash = self.0.memory.hash(uri.as_bytes());
        Key { uri, hash }
    }
}
