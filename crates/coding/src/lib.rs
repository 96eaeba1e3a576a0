//! Content codings of whole bodies: gzip, br and zstd, from bytes to bytes.
//!
//! A body is coded piece by piece into one buffer, and given up as soon as that holds more than it is worth: the bound of the
//! memory and the wish for something smaller are one number. The same bytes at the same level give the same result, so
//! that a representation that is made anew is the one that it was (nothing here writes a time or a name into it).
//!
//! Whoever calls this has a thread for it: a megabyte takes from some milliseconds to a second, by level.
//!
//! What it does not do: decode, and code while a body is still coming in. zlib-rs and brotli are Rust; zstd is the
//! reference library in C (docs/decisions/0016).

pub use kasoku_semantics::coding::{Coding, CodingLevels, ZSTD_LEVEL_MAX};
use std::io::{self, Write};

/// Bytes of memory that brotli copies through.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// The binary logarithm of brotli's window: 4 MiB, its usual one. Decoders need as much.
const BROTLI_WINDOW_BITS: u32 = 22;

/// Why there is no coded body.
#[derive(Debug)]
pub enum CodingError {
    /// It would have been longer than it may be.
    TooLong,
    /// The library's word.
    Library(io::Error),
}

/// The body of `length` bytes that `pieces` are, coded; at most `bytes_max` bytes.
///
/// # Errors
/// It would be longer; or the pieces are not `length` bytes, which zstd writes into its head.
pub fn encode<'b>(
    coding: Coding,
    levels: CodingLevels,
    length: u64,
    pieces: impl Iterator<Item = &'b [u8]>,
    bytes_max: usize,
) -> Result<Vec<u8>, CodingError> {
    let mut out = Bounded { bytes: Vec::new(), bytes_max, is_full: false };
    let written = match coding {
        Coding::Gzip => gzip(levels.gzip, pieces, &mut out),
        Coding::Br => brotli(levels.br, length, pieces, &mut out),
        Coding::Zstd => zstd(levels.zstd, length, pieces, &mut out),
    };
    match (out.is_full, written) {
        (true, _) => Err(CodingError::TooLong),
        (false, Err(error)) => Err(CodingError::Library(error)),
        (false, Ok(())) => Ok(out.bytes),
    }
}

fn gzip<'b>(level: u32, pieces: impl Iterator<Item = &'b [u8]>, out: &mut Bounded) -> io::Result<()> {
    let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::new(level));
    write_all(&mut encoder, pieces)?;
    encoder.finish().map(|_| ())
}

fn brotli<'b>(level: u32, length: u64, pieces: impl Iterator<Item = &'b [u8]>, out: &mut Bounded) -> io::Result<()> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: level as i32,
        lgwin: BROTLI_WINDOW_BITS as i32,
        size_hint: usize::try_from(length).unwrap_or(usize::MAX),
        ..Default::default()
    };
    let mut encoder = brotli::CompressorWriter::with_params(out, BROTLI_BUFFER_BYTES, &params);
    write_all(&mut encoder, pieces)?;
    // The end of the stream is written here; that it found no room is known to the buffer alone.
    encoder.into_inner();
    Ok(())
}

fn zstd<'b>(level: u32, length: u64, pieces: impl Iterator<Item = &'b [u8]>, out: &mut Bounded) -> io::Result<()> {
    let mut encoder = zstd::stream::write::Encoder::new(out, level.min(ZSTD_LEVEL_MAX) as i32)?;
    // A decoder learns the length, and tables are no larger than the body.
    encoder.set_pledged_src_size(Some(length))?;
    write_all(&mut encoder, pieces)?;
    encoder.finish().map(|_| ())
}

fn write_all<'b>(encoder: &mut impl Write, mut pieces: impl Iterator<Item = &'b [u8]>) -> io::Result<()> {
    pieces.try_for_each(|piece| encoder.write_all(piece))
}

/// A buffer that takes so much and no more.
struct Bounded {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// Something did not fit: what is here is of no use.
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.is_full || self.bytes.len() + piece.len() > self.bytes_max {
            self.is_full = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
