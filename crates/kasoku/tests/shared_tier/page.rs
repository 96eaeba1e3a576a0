//! The pages of the origin. The first line of a body says which page it is, in which language and version, and each further byte follows
//! from that line. So a checker knows each byte of an answer, and a byte of another page or of another version is found.

use kasoku_oracle::random::{Random, hash};

/// The languages of pages that vary.
pub(crate) const LANGUAGES: [&str; 2] = ["ja", "ko"];

/// The host of all pages.
pub(crate) const HOST: &str = "shared.example";

/// How many words a block has. The blocks of a page differ by their numbers.
const BLOCK_WORDS: usize = 512;

/// The URI of a page, as keys have it.
pub(crate) fn uri(target: &str) -> String {
    format!("http://{HOST}{target}")
}

/// The length that a target states: `/page/3000/7` has 3,000 bytes.
pub(crate) fn length(target: &str) -> usize {
    let path = target.split('?').next().unwrap_or_default();
    path.split('/').nth(2).and_then(|bytes| bytes.parse().ok()).unwrap_or(100)
}

/// Whether the page is another one in each language.
pub(crate) fn varies(target: &str) -> bool {
    target.starts_with("/vary/")
}

/// The whole body. `language` is empty where the page does not vary.
pub(crate) fn body(target: &str, language: &str, version: u64) -> Vec<u8> {
    let length = length(target);
    let mut body = format!("{target} {language} {version} {length}\n").into_bytes();
    let first = body.iter().fold(0, |so_far, byte| hash(&[so_far, u64::from(*byte)]));
    let mut random = Random::new(first);
    let words = BLOCK_WORDS.min(length / 8 + 1);
    let block: Vec<u8> = (0..words).flat_map(|_| random.any().to_le_bytes()).collect();
    let mut number = 0u64;
    while body.len() < length {
        body.extend_from_slice(&number.to_le_bytes());
        body.extend_from_slice(&block);
        number += 1;
    }
    body.truncate(length.max(first_line_bytes(&body)));
    body
}

fn first_line_bytes(body: &[u8]) -> usize {
    body.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// Which version of the page this body is; the error says what is wrong with it.
pub(crate) fn version_of(got: &[u8], target: &str, language: &str) -> Result<u64, String> {
    let language = if varies(target) { language } else { "" };
    let line = String::from_utf8_lossy(&got[..first_line_bytes(got)]).into_owned();
    let version = line.trim_end().split(' ').nth(2).and_then(|version| version.parse().ok());
    let Some(version) = version else { return Err(format!("{target} {language}: no page, but {line:?}")) };
    let expected = body(target, language, version);
    if got == expected {
        return Ok(version);
    }
    let differs = got.iter().zip(&expected).position(|(got, expected)| got != expected);
    Err(format!("{target} {language}: {line:?} of {} bytes is wrong at {differs:?}", got.len()))
}
