//! The bytes of an object in a segment: how they are written, and how they are read without trust.
//!
//! ```text
//! checksum  8   of all that follows, up to the end of the head
//! magic     4
//! head      4   length of the head: this table, key, description, places of the chunks; a multiple of 8
//! key       4   length
//! described 4   length of the description
//! chunks    4   number
//! -         4
//! sequence  8   a later object of the same key has a larger one
//! variant   8
//! stored    8   milliseconds since 1970
//! key, description, padding to a multiple of 8, and for each chunk:
//!     first 8 (its place in the body)  offset 8 (in this file)  length 4  - 4  checksum 8
//! ```
//!
//! All numbers are little-endian. A checksum depends on the directory, on the file and on the offset of the bytes. So bytes that were
//! written for another place, or by an earlier use of the same blocks, do not pass. It also depends on a secret, so no page can contain
//! bytes that pass for an object.

use super::input::Input;
use super::place::{Location, UNIT_BYTES};
use twox_hash::XxHash3_64;

/// The most chunks of one object: 32 GiB in chunks of 256 KiB.
pub(super) const CHUNKS_MAX: u32 = 128 << 10;

/// The longest head, in bytes.
pub(super) const HEAD_BYTES_MAX: u64 = 16 << 20;

const MAGIC: u32 = u32::from_le_bytes(*b"KObj");

/// The length of the table at the beginning of a head, in bytes.
pub(super) const TABLE_BYTES: usize = 56;

/// The length of one chunk's place, in bytes.
const CHUNK_PLACE_BYTES: usize = 32;

/// Makes the checksums of one directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checksums {
    pub(super) secret: u64,
}

/// The kinds of files. A checksum for one kind does not pass in another.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileKind {
    Segment = 1,
    Log = 2,
    Journal = 3,
    Checkpoint = 4,
}

impl Checksums {
    /// The checksum of bytes at this offset of that file.
    pub(super) fn of(self, kind: FileKind, file: u64, offset: u64, bytes: &[u8]) -> u64 {
        let mut place = [0; 24];
        let numbers = [kind as u64, file, offset];
        for (to, number) in place.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        let seed = XxHash3_64::oneshot_with_seed(self.secret, &place);
        XxHash3_64::oneshot_with_seed(seed, bytes)
    }
}

/// The head of an object: all of it but the bytes of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) key: Box<[u8]>,
    pub(super) variant: u64,
    pub(super) sequence: u64,
    pub(super) stored_ms: u64,
    pub(super) description: Box<[u8]>,
    pub(super) chunks: Vec<ChunkPlace>,
}

/// Where a chunk is, and what its bytes must hash to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkPlace {
    /// The offset of its first byte in the body.
    pub(super) first: u64,
    /// Its offset in the file.
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) checksum: u64,
}

/// The length of a head with these parts, in bytes.
pub(super) fn head_bytes(key: &[u8], description: &[u8], chunks: usize) -> u64 {
    let texts = (TABLE_BYTES + key.len() + description.len()) as u64;
    texts.next_multiple_of(UNIT_BYTES) + (chunks * CHUNK_PLACE_BYTES) as u64
}

impl Head {
    /// The bytes of this head at that location.
    pub(super) fn write(&self, checksums: Checksums, at: Location) -> Vec<u8> {
        let length = head_bytes(&self.key, &self.description, self.chunks.len());
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        bytes.extend_from_slice(&[0; 8]);
        let lengths =
            [MAGIC, length as u32, self.key.len() as u32, self.description.len() as u32, self.chunks.len() as u32, 0];
        lengths.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        let numbers = [self.sequence, self.variant, self.stored_ms];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend_from_slice(&self.key);
        bytes.extend_from_slice(&self.description);
        bytes.resize(bytes.len().next_multiple_of(UNIT_BYTES as usize), 0);
        for chunk in &self.chunks {
            bytes.extend_from_slice(&chunk.first.to_le_bytes());
            bytes.extend_from_slice(&chunk.offset.to_le_bytes());
            bytes.extend_from_slice(&chunk.length.to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&chunk.checksum.to_le_bytes());
        }
        let (checksum, rest) = bytes.split_at_mut(8);
        checksum.copy_from_slice(&checksums.of(FileKind::Segment, at.segment.into(), at.offset, rest).to_le_bytes());
        bytes
    }

    /// The head at the beginning of `bytes`, which were read at that location; `None` where there is none, or not all of it.
    pub(super) fn read(bytes: &[u8], checksums: Checksums, at: Location) -> Option<Self> {
        let length = usize::try_from(head_length(bytes)?).ok()?;
        let (checksum, rest) = bytes.get(..length)?.split_at_checked(8)?;
        let expected = checksums.of(FileKind::Segment, at.segment.into(), at.offset, rest);
        if checksum != expected.to_le_bytes() {
            return None;
        }
        let mut input = Input(rest);
        let (_magic, _length) = (input.u32()?, input.u32()?);
        let (key, description, chunks) = (input.u32()?, input.u32()?, input.u32()?);
        input.u32()?;
        let (sequence, variant, stored_ms) = (input.u64()?, input.u64()?, input.u64()?);
        let (key, description) = (input.bytes(key as usize)?.into(), input.bytes(description as usize)?.into());
        let mut places = Input(rest.get(rest.len().checked_sub(chunks as usize * CHUNK_PLACE_BYTES)?..)?);
        let chunks = (0..chunks).map(|_| chunk_place(&mut places)).collect::<Option<_>>()?;
        Some(Self { key, variant, sequence, stored_ms, description, chunks })
    }
}

/// The length of the head that begins with these bytes, as far as they tell.
pub(super) fn head_length(bytes: &[u8]) -> Option<u64> {
    let mut input = Input(bytes.get(8..TABLE_BYTES)?);
    if input.u32()? != MAGIC {
        return None;
    }
    let (length, key, description, chunks) = (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
    let texts = (TABLE_BYTES as u64 + u64::from(key) + u64::from(description)).next_multiple_of(UNIT_BYTES);
    let expected = texts + u64::from(chunks) * CHUNK_PLACE_BYTES as u64;
    (chunks <= CHUNKS_MAX && u64::from(length) == expected && expected <= HEAD_BYTES_MAX).then_some(expected)
}

/// The next chunk's place.
fn chunk_place(input: &mut Input<'_>) -> Option<ChunkPlace> {
    let (first, offset, length) = (input.u64()?, input.u64()?, input.u32()?);
    input.u32()?;
    Some(ChunkPlace { first, offset, length, checksum: input.u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKSUMS: Checksums = Checksums { secret: 7 };
    const AT: Location = Location { segment: 3, offset: 64 };

    fn head() -> Head {
        let chunk = |first| ChunkPlace { first, offset: 4096 + first, length: 10, checksum: first + 1 };
        Head {
            key: b"http://a.test/".as_slice().into(),
            variant: 5,
            sequence: 6,
            stored_ms: 7,
            description: b"described".as_slice().into(),
            chunks: vec![chunk(0), chunk(10)],
        }
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let bytes = head().write(CHECKSUMS, AT);
        assert_eq!(bytes.len() as u64, head_bytes(b"http://a.test/", b"described", 2));
        assert_eq!(Head::read(&bytes, CHECKSUMS, AT), Some(head()));
    }

    #[test]
    fn a_checksum_is_the_same_in_every_release() {
        let known: [(usize, u64); 8] = [
            (0, 0x64fb_4d1e_8728_3bdd),
            (1, 0x7cc4_32ec_51fd_2615),
            (16, 0x89ea_07d5_3a5e_e4a9),
            (100, 0xf86a_cf25_4fdd_e120),
            (200, 0x74e6_73a1_97ea_465e),
            (241, 0xa693_caa4_69b2_1baf),
            (5000, 0xa9ea_e5ec_89da_52c8),
            (300_000, 0x2148_b169_e839_00da),
        ];
        for (length, checksum) in known {
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            assert_eq!(CHECKSUMS.of(FileKind::Segment, 3, 64, &bytes), checksum, "{length} bytes");
        }
    }

    #[test]
    fn a_head_of_another_place_or_directory_is_none() {
        let bytes = head().write(CHECKSUMS, AT);
        assert_eq!(Head::read(&bytes, CHECKSUMS, Location { offset: 72, ..AT }), None);
        assert_eq!(Head::read(&bytes, CHECKSUMS, Location { segment: 4, ..AT }), None);
        assert_eq!(Head::read(&bytes, Checksums { secret: 8 }, AT), None);
    }

    #[test]
    fn a_head_with_any_other_bit_or_any_other_length_is_none() {
        let bytes = head().write(CHECKSUMS, AT);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::read(&changed, CHECKSUMS, AT), None, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(Head::read(&bytes[..length], CHECKSUMS, AT), None, "{length} bytes");
        }
    }
}
