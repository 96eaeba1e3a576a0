//! The two hashes of libmemcached that rings are made of.

use md5::{Digest, Md5};

/// Bob Jenkins's one-at-a-time hash, with bytes as signed numbers.
pub(super) fn one_at_a_time(key: &[u8]) -> u32 {
    let mut value = 0u32;
    for &byte in key {
        // C's char is signed on x86: bytes above 127 wrap around.
        value = value.wrapping_add(i32::from(byte as i8) as u32);
        value = value.wrapping_add(value << 10);
        value ^= value >> 6;
    }
    value = value.wrapping_add(value << 3);
    value ^= value >> 11;
    value.wrapping_add(value << 15)
}

/// The four points of a name: its MD5 digest as little-endian numbers.
pub(super) fn md5_points(name: &[u8]) -> [u32; 4] {
    let digest = u128::from_le_bytes(Md5::digest(name).into());
    [digest as u32, (digest >> 32) as u32, (digest >> 64) as u32, (digest >> 96) as u32]
}

/// The value of a key: the first of the four numbers.
pub(super) fn md5_value(key: &[u8]) -> u32 {
    let [value, ..] = md5_points(key);
    value
}
