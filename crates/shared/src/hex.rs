//! Writes bytes as hexadecimal digits in lower case.

/// The digits of some bytes. Without formatting: each look-up writes the 64 digits of a name.
pub(crate) fn digits(bytes: &[u8]) -> impl Iterator<Item = char> {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16))
}
