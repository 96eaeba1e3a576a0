//! Which content codings are made of stored responses, and of which.

use kasoku_semantics::coding::{Coding, CodingLevels};

/// Which content codings are made of stored responses, and of which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Whether any are made. Default true.
    pub is_enabled: bool,
    /// What a client gets of those that it likes equally: the first. Default br, zstd, gzip.
    pub codings: Vec<Coding>,
    /// Media types of which codings are made, in lower case; `*` stands for any run of characters. Default: texts, JSON, XML,
    /// JavaScript, SVG and WebAssembly.
    pub types: Vec<String>,
    /// The shortest body of which codings are made, in bytes. Default 1 KiB.
    pub bytes_min: u64,
    /// How much work goes into them.
    pub levels: CodingLevels,
}

impl Default for Compression {
    fn default() -> Self {
        Self {
            is_enabled: true,
            codings: vec![Coding::Br, Coding::Zstd, Coding::Gzip],
            types: CODED_TYPES.map(str::to_owned).to_vec(),
            bytes_min: 1 << 10,
            levels: CodingLevels::default(),
        }
    }
}

/// What [`Compression::types`] are when nobody says.
pub const CODED_TYPES: [&str; 9] = [
    "text/*",
    "application/json",
    "application/*+json",
    "application/javascript",
    "application/x-javascript",
    "application/xml",
    "application/*+xml",
    "application/wasm",
    "image/svg+xml",
];
