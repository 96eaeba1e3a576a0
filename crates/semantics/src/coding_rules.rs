//! The operator's rules for content codings: of which stored responses they are made, and which.

use crate::coding::{Coding, CodingLevels, media_type};
use crate::glob::is_match;
use kasoku_wire::ResponseHead;

/// Of which stored responses content codings are made, and which codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingRules {
    /// Whether codings are made at all. Default true.
    pub is_enabled: bool,
    /// The codings that are made. Of those that a client likes equally it gets the first. Default br, zstd, gzip.
    pub codings: Vec<Coding>,
    /// Media types of which codings are made, in lower case; `*` stands for any run of characters. Default: texts, JSON, XML,
    /// JavaScript, SVG and WebAssembly.
    pub types: Vec<String>,
    /// The shortest body of which codings are made, in bytes. Default 1 KiB.
    pub bytes_min: u64,
    /// How much work goes into each coding.
    pub levels: CodingLevels,
}

impl Default for CodingRules {
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

/// The default of [`CodingRules::types`].
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

impl CodingRules {
    /// Whether codings are made of a response with this head once it is stored; of a partial response, whether they are made of the
    /// whole.
    pub fn apply_to(&self, response: &ResponseHead) -> bool {
        let fields = &response.fields;
        self.is_enabled
            && !fields.contains("content-encoding")
            && fields.only("content-type").is_some_and(|value| self.has_type(media_type(value)))
    }

    /// Whether codings are made of a media type, which is given without parameters.
    pub fn has_type(&self, media_type: &[u8]) -> bool {
        let media_type = media_type.to_ascii_lowercase();
        self.types.iter().any(|glob| is_match(glob.as_bytes(), &media_type))
    }
}
