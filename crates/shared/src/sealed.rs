//! Seals items, and opens what a server returns: with a checksum or an HMAC in front, and in chunks where an item is too large.
//!
//! ```text
//! KASOKU/1 whole xxh3-128 <digest>        KASOKU/1 chunks xxh3-128 <digest>
//! <content>                               Id: <32 digits>
//!                                         Length: <bytes of the content>
//!                                         Chunk-Length: <bytes of each chunk but the last>
//!
//!                                         <digest of the first chunk>
//!                                         …
//! ```
//!
//! All lines end with CRLF. The digest is over the words before it, a CRLF, and all that follows the first line, so that neither the
//! content nor its kind can change. Without a secret it is XXH3 of 128 bits, which finds damage and stops no forger. With a secret it is
//! HMAC-SHA-256, and digests of chunks are SHA-256, because the manifest that holds them is sealed with the HMAC.
//!
//! What a server returns is hostile input. Nothing in it is believed before the digest fits; without a secret a forger makes a digest that
//! fits, so the numbers of a manifest are compared with each other and with the bounds below. Each item has one form only: what is
//! opened, sealed again, is the same bytes.
//!
//! This file knows nothing of names: a whole item can be moved to another name and opens there as well. So the reader compares what the
//! content says of itself with what was asked for.

use crate::hex;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use memchr::memmem;
use sha2::{Digest, Sha256};
use std::fmt;
use twox_hash::xxhash3_128::Hasher;

/// The shortest secret, in bytes.
pub const SECRET_BYTES_MIN: usize = 16;
/// The longest content, in bytes.
pub const CONTENT_BYTES_MAX: u64 = 1 << 30;
/// The most chunks of an item.
pub const CHUNKS_MAX: u32 = 4096;
/// What memcached needs of its limit for an item (`-I`) besides the value: its header, a name of at most 141 bytes, flags, a CRLF. Of
/// memcached 1.6.18 these are 210 bytes.
pub const ITEM_OVERHEAD_BYTES: usize = 512;

/// How each item begins.
const MAGIC: &[u8] = b"KASOKU/";
const VERSION: &[u8] = b"1";
/// The longest first line is 93 bytes long.
const FIRST_LINE_BYTES_MAX: usize = 128;
const CRLF: &[u8] = b"\r\n";

/// A secret that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret has less than {SECRET_BYTES_MIN} bytes")]
pub struct SecretTooShort;

/// A content that fits no item, also in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the content is too large for the servers")]
pub struct TooLarge;

/// Why an item or a chunk is refused. The fault lies with the server, or with whoever writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// It does not begin as items do, or it was sealed with a secret and this cache has none.
    #[error("it is not an item of this cache")]
    Foreign,
    /// Another version of the format.
    #[error("it has another version of the format")]
    Version,
    /// It ends early, or a chunk has another length than the manifest says.
    #[error("it is cut, or has another length than it says")]
    Cut,
    /// The checksum does not fit.
    #[error("its checksum is wrong")]
    Checksum,
    /// The HMAC does not fit, or there is only a checksum where a secret is set.
    #[error("it was not sealed with the secret")]
    Forged,
    /// A manifest that is no manifest, or whose numbers contradict each other.
    #[error("its manifest is malformed")]
    Manifest,
    /// A length or a number of chunks above the bounds.
    #[error("it exceeds a limit")]
    Limits,
}

/// An item as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The id that the names of its chunks contain; `None`: it has no chunks.
    pub id: Option<u128>,
    /// The pieces of the item under its own name: a whole item, or a manifest.
    pub first: Vec<Bytes>,
    /// The pieces of each chunk. All chunks have to be written before the manifest is.
    pub chunks: Vec<Vec<Bytes>>,
}

/// An item whose digest fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// The content.
    Whole(Bytes),
    /// The content is in chunks.
    Chunks(Manifest),
}

/// What a manifest says. Its numbers are within the bounds and fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    id: u128,
    length: u64,
    chunk_length: u64,
    algorithm: Algorithm,
    /// A line with its CRLF for each chunk, all of the same length.
    digests: Bytes,
}

/// Seals and opens the items of one namespace.
#[derive(Clone)]
pub struct Sealer {
    /// The HMAC with its key and without input.
    keyed: Option<Hmac<Sha256>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Chunks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Xxh3,
    HmacSha256,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("algorithm", &self.algorithm()).finish_non_exhaustive()
    }
}

impl Sealer {
    /// With a secret, items have an HMAC. Without one, whoever can write to the servers is trusted.
    ///
    /// # Errors
    /// When the secret is shorter than [`SECRET_BYTES_MIN`].
    pub fn new(secret: Option<&[u8]>) -> Result<Self, SecretTooShort> {
        let Some(secret) = secret else { return Ok(Self { keyed: None }) };
        if secret.len() < SECRET_BYTES_MIN {
            return Err(SecretTooShort);
        }
        Hmac::new_from_slice(secret).map(|keyed| Self { keyed: Some(keyed) }).map_err(|_| SecretTooShort)
    }

    /// Seals the content that consists of these parts, without copying them. `item_bytes_max` is the server's limit for an item, what the
    /// server needs for itself included. `id` is called for a content that needs chunks; each call must return another number.
    ///
    /// # Errors
    /// When the content is larger than [`CONTENT_BYTES_MAX`], needs more than [`CHUNKS_MAX`] chunks, or its manifest fits no item.
    pub fn seal(
        &self,
        parts: Vec<Bytes>,
        item_bytes_max: usize,
        id: impl FnOnce() -> u128,
    ) -> Result<Sealed, TooLarge> {
        let room = item_bytes_max.saturating_sub(ITEM_OVERHEAD_BYTES);
        let length = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.len())).ok_or(TooLarge)?;
        if length as u64 > CONTENT_BYTES_MAX || room == 0 {
            return Err(TooLarge);
        }
        if self.first_line_bytes(Kind::Whole).saturating_add(length) <= room {
            let mut first = vec![self.first_line(Kind::Whole, &parts)];
            first.extend(parts);
            return Ok(Sealed { id: None, first, chunks: Vec::new() });
        }
        let digest_line_bytes = self.algorithm().digest_bytes() + CRLF.len();
        let count = length.div_ceil(room);
        let manifest_bytes_max =
            self.first_line_bytes(Kind::Chunks) + MANIFEST_HEAD_BYTES_MAX + count.saturating_mul(digest_line_bytes);
        if count > CHUNKS_MAX as usize || manifest_bytes_max > room {
            return Err(TooLarge);
        }
        let (id, chunks) = (id(), split(parts, room));
        let mut manifest = format!("Id: {id:032x}\r\nLength: {length}\r\nChunk-Length: {room}\r\n\r\n").into_bytes();
        for chunk in &chunks {
            manifest.extend_from_slice(self.algorithm().chunk_digest(chunk).as_bytes());
            manifest.extend_from_slice(CRLF);
        }
        let manifest = vec![Bytes::from(manifest)];
        let first = [vec![self.first_line(Kind::Chunks, &manifest)], manifest].concat();
        Ok(Sealed { id: Some(id), first, chunks })
    }

    /// Opens an item. The content is a slice of it.
    ///
    /// # Errors
    /// When it is not exactly what this sealer has written, as far as the digest can tell.
    pub fn open(&self, item: Bytes) -> Result<Opened, Damaged> {
        let (kind, digest, content) = self.first_line_of(&item)?;
        self.verify(kind, digest, content)?;
        let content = ending(&item, content.len());
        match kind {
            Kind::Whole if content.len() as u64 > CONTENT_BYTES_MAX => Err(Damaged::Limits),
            Kind::Whole => Ok(Opened::Whole(content)),
            Kind::Chunks => Manifest::read(&content, self.algorithm()).map(Opened::Chunks),
        }
    }

    fn algorithm(&self) -> Algorithm {
        if self.keyed.is_some() { Algorithm::HmacSha256 } else { Algorithm::Xxh3 }
    }

    /// The words of a first line, with the blank before the digest.
    fn words(&self, kind: Kind) -> &'static str {
        match (kind, self.algorithm()) {
            (Kind::Whole, Algorithm::Xxh3) => "KASOKU/1 whole xxh3-128 ",
            (Kind::Whole, Algorithm::HmacSha256) => "KASOKU/1 whole hmac-sha256 ",
            (Kind::Chunks, Algorithm::Xxh3) => "KASOKU/1 chunks xxh3-128 ",
            (Kind::Chunks, Algorithm::HmacSha256) => "KASOKU/1 chunks hmac-sha256 ",
        }
    }

    fn first_line_bytes(&self, kind: Kind) -> usize {
        self.words(kind).len() + self.algorithm().digest_bytes() + CRLF.len()
    }

    fn first_line(&self, kind: Kind, content: &[Bytes]) -> Bytes {
        let (words, pieces) = (self.words(kind), content.iter().map(|piece| &piece[..]));
        let digest = match &self.keyed {
            None => hex(&checksum(words, pieces).to_be_bytes()),
            Some(keyed) => hex(&hmac(keyed, words, pieces).finalize().into_bytes()),
        };
        format!("{words}{digest}\r\n").into()
    }

    /// The kind of an item, the digest that it states, and what follows its first line.
    fn first_line_of<'i>(&self, item: &'i [u8]) -> Result<(Kind, &'i [u8], &'i [u8]), Damaged> {
        let is_beginning = |of: &[u8]| of.starts_with(item) && item.len() < of.len();
        let Some(rest) = item.strip_prefix(MAGIC) else {
            return Err(if is_beginning(MAGIC) { Damaged::Cut } else { Damaged::Foreign });
        };
        let window = rest.get(..FIRST_LINE_BYTES_MAX).unwrap_or(rest);
        let Some(end) = memmem::find(window, CRLF) else {
            return Err(if window.len() < FIRST_LINE_BYTES_MAX { Damaged::Cut } else { Damaged::Foreign });
        };
        let (line, content) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        let content = content.strip_prefix(CRLF).unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        if words.next() != Some(VERSION) {
            return Err(Damaged::Version);
        }
        let kind = [Kind::Whole, Kind::Chunks];
        let word = words.next().unwrap_or_default();
        let kind = kind.into_iter().find(|kind| kind.word().as_bytes() == word).ok_or(Damaged::Foreign)?;
        let word = words.next().unwrap_or_default();
        let algorithm = [Algorithm::Xxh3, Algorithm::HmacSha256].into_iter().find(|one| one.word().as_bytes() == word);
        match (algorithm.ok_or(Damaged::Foreign)?, self.algorithm()) {
            (Algorithm::Xxh3, Algorithm::HmacSha256) => return Err(Damaged::Forged),
            (Algorithm::HmacSha256, Algorithm::Xxh3) => return Err(Damaged::Foreign),
            _ => {}
        }
        match (words.next(), words.next()) {
            (Some(digest), None) => Ok((kind, digest, content)),
            _ => Err(Damaged::Foreign),
        }
    }

    fn verify(&self, kind: Kind, stated: &[u8], content: &[u8]) -> Result<(), Damaged> {
        let (words, pieces) = (self.words(kind), [content].into_iter());
        match &self.keyed {
            None => {
                let is_it = checksum_of_hex(stated) == Some(checksum(words, pieces));
                if is_it { Ok(()) } else { Err(Damaged::Checksum) }
            }
            Some(keyed) => {
                let stated = bytes_of_hex(stated).ok_or(Damaged::Forged)?;
                // In constant time.
                hmac(keyed, words, pieces).verify_slice(&stated).map_err(|_| Damaged::Forged)
            }
        }
    }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Chunks => "chunks",
        }
    }
}

impl Algorithm {
    fn word(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3-128",
            Self::HmacSha256 => "hmac-sha256",
        }
    }

    /// The digits of a digest, of an item or of a chunk.
    fn digest_bytes(self) -> usize {
        match self {
            Self::Xxh3 => 32,
            Self::HmacSha256 => 64,
        }
    }

    fn chunk_digest(self, pieces: &[Bytes]) -> String {
        match self {
            Self::Xxh3 => {
                let mut hash = Hasher::new();
                pieces.iter().for_each(|piece| hash.write(piece));
                format!("{:032x}", hash.finish_128())
            }
            Self::HmacSha256 => {
                let hash = pieces.iter().fold(Sha256::new(), |hash, piece| hash.chain_update(piece));
                hex(&hash.finalize())
            }
        }
    }
}

/// The longest head of a manifest, from `Id` to the empty line: three names, 32 digits, and twice a number below 2^64.
const MANIFEST_HEAD_BYTES_MAX: usize = 128;

impl Manifest {
    /// The bytes of the content.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The number of chunks: 1 to [`CHUNKS_MAX`].
    pub fn chunks(&self) -> u32 {
        // `read` has compared it with CHUNKS_MAX.
        u32::try_from(self.length.div_ceil(self.chunk_length)).unwrap_or(CHUNKS_MAX)
    }

    /// The id that the names of the chunks contain.
    pub fn id(&self) -> u128 {
        self.id
    }

    /// The bytes of the chunk of that number, counted from 0; `None`: there is no such chunk.
    pub fn chunk_bytes(&self, number: u32) -> Option<u64> {
        let first = u64::from(number).checked_mul(self.chunk_length)?;
        let left = self.length.checked_sub(first).filter(|left| *left > 0)?;
        Some(left.min(self.chunk_length))
    }

    /// Whether these bytes are the chunk of that number.
    ///
    /// # Errors
    /// When they are not.
    pub fn check(&self, number: u32, chunk: &Bytes) -> Result<(), Damaged> {
        if self.chunk_bytes(number).ok_or(Damaged::Limits)? != chunk.len() as u64 {
            return Err(Damaged::Cut);
        }
        let digits = self.algorithm.digest_bytes();
        let start = (digits + CRLF.len()).checked_mul(number as usize).ok_or(Damaged::Limits)?;
        let stated = start.checked_add(digits).and_then(|end| self.digests.get(start..end)).ok_or(Damaged::Limits)?;
        let is_it = self.algorithm.chunk_digest(std::slice::from_ref(chunk)).as_bytes() == stated;
        match (is_it, self.algorithm) {
            (true, _) => Ok(()),
            (false, Algorithm::Xxh3) => Err(Damaged::Checksum),
            (false, Algorithm::HmacSha256) => Err(Damaged::Forged),
        }
    }

    fn read(content: &Bytes, algorithm: Algorithm) -> Result<Self, Damaged> {
        let (id, rest) = line(content, b"Id: ")?;
        let (length, rest) = line(rest, b"Length: ")?;
        let (chunk_length, rest) = line(rest, b"Chunk-Length: ")?;
        let digests = rest.strip_prefix(CRLF).ok_or(Damaged::Manifest)?;
        let id = bytes_of_hex(id).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok()).ok_or(Damaged::Manifest)?;
        let (length, chunk_length) = (number(length)?, number(chunk_length)?);
        if length == 0 || chunk_length == 0 {
            return Err(Damaged::Manifest);
        }
        let count = length.div_ceil(chunk_length);
        if length > CONTENT_BYTES_MAX || chunk_length > CONTENT_BYTES_MAX || count > u64::from(CHUNKS_MAX) {
            return Err(Damaged::Limits);
        }
        let line_bytes = algorithm.digest_bytes() + CRLF.len();
        if digests.len() as u64 != count * line_bytes as u64 || !digests.chunks(line_bytes).all(is_digest_line) {
            return Err(Damaged::Manifest);
        }
        let digests = ending(content, digests.len());
        Ok(Self { id: u128::from_be_bytes(id), length, chunk_length, algorithm, digests })
    }
}

/// The last bytes, without copying them.
fn ending(bytes: &Bytes, length: usize) -> Bytes {
    bytes.slice(bytes.len().saturating_sub(length)..)
}

/// The value of the first line, which must have that name, and what follows the line.
fn line<'c>(content: &'c [u8], name: &[u8]) -> Result<(&'c [u8], &'c [u8]), Damaged> {
    let rest = content.strip_prefix(name).ok_or(Damaged::Manifest)?;
    let window = rest.get(..MANIFEST_HEAD_BYTES_MAX).unwrap_or(rest);
    let end = window.windows(CRLF.len()).position(|two| two == CRLF).ok_or(Damaged::Manifest)?;
    let (value, rest) = rest.split_at_checked(end).ok_or(Damaged::Manifest)?;
    Ok((value, rest.strip_prefix(CRLF).unwrap_or_default()))
}

/// A number in decimal, in the one form that it is written in.
fn number(digits: &[u8]) -> Result<u64, Damaged> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) || digits.starts_with(b"0") {
        return Err(Damaged::Manifest);
    }
    // What does not fit 64 bits is far above the bounds.
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(Damaged::Limits)
}

fn is_digest_line(line: &[u8]) -> bool {
    line.strip_suffix(CRLF).is_some_and(|digits| digits.iter().all(|digit| hex_digit(*digit).is_some()))
}

/// The input of an item's digest begins with the words of the first line and a CRLF.
fn beginning(words: &str) -> [&[u8]; 2] {
    [words.trim_end().as_bytes(), CRLF]
}

fn checksum<'c>(words: &str, content: impl Iterator<Item = &'c [u8]>) -> u128 {
    let mut hash = Hasher::new();
    beginning(words).iter().for_each(|piece| hash.write(piece));
    content.for_each(|piece| hash.write(piece));
    hash.finish_128()
}

fn hmac<'c>(keyed: &Hmac<Sha256>, words: &str, content: impl Iterator<Item = &'c [u8]>) -> Hmac<Sha256> {
    let mut hmac = keyed.clone();
    beginning(words).iter().for_each(|piece| hmac.update(piece));
    content.for_each(|piece| hmac.update(piece));
    hmac
}

/// Splits a content into chunks of that length, the last of which may be shorter.
fn split(parts: Vec<Bytes>, chunk_length: usize) -> Vec<Vec<Bytes>> {
    let (mut chunks, mut chunk, mut room) = (Vec::new(), Vec::new(), chunk_length);
    for mut part in parts {
        while !part.is_empty() {
            let piece = part.split_to(part.len().min(room));
            room -= piece.len();
            chunk.push(piece);
            if room == 0 {
                chunks.push(std::mem::take(&mut chunk));
                room = chunk_length;
            }
        }
    }
    if !chunk.is_empty() {
        chunks.push(chunk);
    }
    chunks
}

fn hex(bytes: &[u8]) -> String {
    hex::digits(bytes).collect()
}

/// The bytes that hexadecimal digits in lower case stand for. At most 64 digits are read.
fn bytes_of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() > 64 || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| pair.iter().try_fold(0, |sum, digit| Some(sum << 4 | hex_digit(*digit)?))).collect()
}

/// The checksum that stands as 32 digits.
fn checksum_of_hex(digits: &[u8]) -> Option<u128> {
    let digits = Some(digits).filter(|digits| digits.len() == Algorithm::Xxh3.digest_bytes())?;
    digits.iter().try_fold(0, |sum, digit| Some(sum << 4 | u128::from(hex_digit(*digit)?)))
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
#[path = "sealed_tests.rs"]
mod tests;
