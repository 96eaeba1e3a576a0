//! Compresses bodies with each coding and checks that an independent decoder of the coding restores the same bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use kasoku_coding::{CodingError, CodingLevels, ZSTD_LEVEL_MAX, encode};
use kasoku_semantics::coding::Coding;
use std::io::Read;

/// Decompresses `bytes` with the decoder of `coding`.
fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match coding {
        Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut out),
        Coding::Br => brotli::Decompressor::new(bytes, 4096).read_to_end(&mut out),
        Coding::Zstd => zstd::stream::read::Decoder::new(bytes).unwrap().read_to_end(&mut out),
    }
    .unwrap();
    out
}

fn coded(coding: Coding, levels: CodingLevels, body: &[u8], piece_bytes: usize) -> Vec<u8> {
    encode(coding, levels, body.len() as u64, body.chunks(piece_bytes), usize::MAX).unwrap()
}

/// A text of pseudo-random words: compressible, but without a repeating pattern.
fn text(words: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ["cache ", "origin ", "<p>", "</p>\n", "variant ", "kasoku "][(state >> 16) as usize % 6]
    };
    (0..words).map(|_| word()).collect::<String>().into_bytes()
}

#[test]
fn a_text_gets_smaller_and_stays_the_same_at_each_level() {
    let body = text(2_000);
    for coding in Coding::ALL {
        let levels = match coding {
            Coding::Gzip => 1..=9,
            Coding::Br => 0..=11,
            Coding::Zstd => 1..=ZSTD_LEVEL_MAX,
        };
        for level in levels {
            let out = coded(coding, CodingLevels { gzip: level, br: level, zstd: level }, &body, 10_000);
            assert!(out.len() < body.len() / 3, "{coding:?} {level}: {}", out.len());
            assert!(decoded(coding, &out) == body, "{coding:?} {level}");
        }
    }
}

#[test]
fn the_same_body_gives_the_same_bytes() {
    let body = text(5_000);
    for coding in Coding::ALL {
        let once = coded(coding, CodingLevels::default(), &body, 4096);
        assert!(once == coded(coding, CodingLevels::default(), &body, 4096), "{coding:?}");
    }
}

#[test]
fn what_gets_too_long_is_given_up() {
    let body = text(5_000);
    for coding in Coding::ALL {
        let length = coded(coding, CodingLevels::default(), &body, 4096).len();
        let within =
            |bytes_max| encode(coding, CodingLevels::default(), body.len() as u64, body.chunks(4096), bytes_max);
        assert_eq!(within(length).unwrap().len(), length, "{coding:?}");
        for bytes_max in [0, 1, length / 2, length - 1] {
            assert!(matches!(within(bytes_max), Err(CodingError::TooLong)), "{coding:?} in {bytes_max}");
        }
    }
}

#[test]
fn a_zstd_frame_wants_no_more_than_eight_mebibytes_of_window() {
    // The body exceeds eight MiB: a shorter body would limit the window by itself. All zeros, since the level is slow.
    let body = vec![0; 20 << 20];
    let out = coded(Coding::Zstd, CodingLevels { zstd: ZSTD_LEVEL_MAX, ..CodingLevels::default() }, &body, 1 << 20);
    let mut decoder = zstd::stream::read::Decoder::new(out.as_slice()).unwrap();
    decoder.window_log_max(23).unwrap();
    assert!(std::io::copy(&mut decoder, &mut std::io::sink()).unwrap() == body.len() as u64);
}

proptest::proptest! {
    #[test]
    fn decoding_gives_the_identity(body: Vec<u8>, piece_bytes in 1_usize..5000, repeats in 1_usize..20) {
        let body = body.repeat(repeats);
        for coding in Coding::ALL {
            let out = coded(coding, CodingLevels::default(), &body, piece_bytes);
            proptest::prop_assert!(decoded(coding, &out) == body, "{coding:?}");
        }
    }
}
