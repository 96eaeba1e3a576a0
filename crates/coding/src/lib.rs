//! Makes content codings of whole bodies: gzip, br and zstd, from bytes to bytes.
//!
//! [`encode`] codes a body piece by piece into one buffer, and gives up as soon as the result exceeds its bound: the same number
//! limits the memory and demands that the result is small enough. The same bytes at the same level give the same result, without a
//! time or a name in it, so a representation that is made anew is identical to the earlier one.
//!
//! The caller needs a thread for this: a megabyte takes from some milliseconds to seconds, depending on the level.
//!
//! This crate does not decode, and does not code a body that is still arriving. zlib-rs and brotli are Rust; zstd is the reference
//! library in C (docs/decisions/0016).

pub use kasoku_semantics::coding::{Coding, CodingLevels, ZSTD_LEVEL_MAX};
use std::io::{self, Write};

/// The size of the buffer that brotli copies through, in bytes.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// The binary logarithm of brotli's window: 4 MiB, its usual size. Decoders need as much memory.
const BROTLI_WINDOW_BITS: u32 = 22;

/// Why there is no coded body.
#[derive(Debug)]
pub enum CodingError {
    /// The coded body would be longer than `bytes_max`.
    TooLong,
    /// The compression library failed.
    Library(io::Error),
}

/// Codes the body that `pieces` make up, which has `length` bytes; the result has at most `bytes_max` bytes.
///
/// # Errors
/// The result would be longer, or the library fails. zstd fails if the pieces are not `length` bytes, since it writes the length
/// into its header.
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
    // This writes the end of the stream and returns no error; only the buffer knows whether the end had room.
    encoder.into_inner();
    Ok(())
}

fn zstd<'b>(level: u32, length: u64, pieces: impl Iterator<Item = &'b [u8]>, out: &mut Bounded) -> io::Result<()> {
    let mut encoder = zstd::stream::write::Encoder::new(out, level.min(ZSTD_LEVEL_MAX) as i32)?;
    // Decoders learn the length, and zstd's tables get no larger than the body needs.
    encoder.set_pledged_src_size(Some(length))?;
    write_all(&mut encoder, pieces)?;
    encoder.finish().map(|_| ())
}

fn write_all<'b>(encoder: &mut impl Write, mut pieces: impl Iterator<Item = &'b [u8]>) -> io::Result<()> {
    pieces.try_for_each(|piece| encoder.write_all(piece))
}

/// A buffer that holds at most `bytes_max` bytes.
struct Bounded {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// Whether a piece did not fit; the bytes are then of no use.
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
