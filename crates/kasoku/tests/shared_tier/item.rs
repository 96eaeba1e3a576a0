//! Items as anybody can make them who has read docs/shared-format.md. Shares no code with the program.

use crate::fleet::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use xxhash_rust::xxh3::xxh3_128;

/// How an item is sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seal {
    Checksum,
    Secret(&'static str),
}

impl Seal {
    /// The content with its first line.
    pub(crate) fn sealed(self, kind: &str, content: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Checksum => "xxh3-128",
            Self::Secret(_) => "hmac-sha256",
        };
        let words = format!("KASOKU/1 {kind} {algorithm}");
        let sealed = [words.as_bytes(), b"\r\n", content].concat();
        let digest = match self {
            Self::Checksum => hex(&xxh3_128(&sealed).to_be_bytes()),
            Self::Secret(secret) => {
                let mut keyed = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
                keyed.update(&sealed);
                hex(&keyed.finalize().into_bytes())
            }
        };
        [words.as_bytes(), b" ", digest.as_bytes(), b"\r\n", content].concat()
    }
}

/// What follows the first line of an item.
pub(crate) fn content(item: &[u8]) -> &[u8] {
    let end = item.windows(2).position(|two| two == b"\r\n").unwrap();
    &item[end + 2..]
}

/// The content of a response.
#[derive(Clone)]
pub(crate) struct Response {
    pub(crate) lines: Vec<String>,
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn of(content: &[u8]) -> Self {
        let (lines, rest) = split(content);
        let (head, body) = split(rest);
        Self { lines, head, body: body.to_vec() }
    }

    pub(crate) fn content(&self) -> Vec<u8> {
        let text = format!("{}\r\n\r\n{}\r\n\r\n", self.lines.join("\r\n"), self.head.join("\r\n"));
        [text.as_bytes(), &self.body].concat()
    }

    /// Where the line of that name is.
    pub(crate) fn at(&self, name: &str) -> usize {
        let begins = format!("{name}: ");
        self.lines.iter().position(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("no line {name}"))
    }

    /// Gives the line of that name another value.
    pub(crate) fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        let at = self.at(name);
        self.lines[at] = format!("{name}: {value}");
    }

    /// Gives the field of the head another value.
    pub(crate) fn set_field(&mut self, name: &str, value: impl std::fmt::Display) {
        let begins = format!("{}:", name.to_lowercase());
        self.head.retain(|line| !line.to_lowercase().starts_with(&begins));
        self.head.push(format!("{name}: {value}"));
    }
}

fn split(content: &[u8]) -> (Vec<String>, &[u8]) {
    let end = content.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let lines = String::from_utf8(content[..end].to_vec()).unwrap();
    (lines.split("\r\n").map(str::to_owned).collect(), &content[end + 4..])
}
