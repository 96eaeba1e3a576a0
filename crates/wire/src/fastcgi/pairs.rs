//! Encodes and splits pairs of names and values (section 3.4): two lengths, then the name and the value. A length below 128 takes
//! one byte, a longer one four, with the highest bit set.

use super::FastCgiError;

/// The highest bit of a length of four bytes.
const IS_LONG: u32 = 1 << 31;

/// Appends a pair. Name and value are shorter than 2 GiB.
pub fn encode_pair(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.reserve(name.len() + value.len() + 8);
    encode_length(name.len(), out);
    encode_length(value.len(), out);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

fn encode_length(length: usize, out: &mut Vec<u8>) {
    debug_assert!(length < IS_LONG as usize);
    match u8::try_from(length) {
        Ok(short @ 0..128) => out.push(short),
        _ => out.extend_from_slice(&(length as u32 | IS_LONG).to_be_bytes()),
    }
}

/// A pair, and the bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameValuePair<'a> {
    /// Not checked in any way.
    pub name: &'a [u8],
    /// Not checked in any way.
    pub value: &'a [u8],
    /// The bytes after the pair.
    pub rest: &'a [u8],
}

/// Splits the first pair off `buf`. `None`: `buf` is empty.
///
/// # Errors
/// [`FastCgiError::Pairs`]: `buf` ends within the pair.
pub fn split_pair(buf: &[u8]) -> Result<Option<NameValuePair<'_>>, FastCgiError> {
    if buf.is_empty() {
        return Ok(None);
    }
    let split = || {
        let (name_bytes, rest) = split_length(buf)?;
        let (value_bytes, rest) = split_length(rest)?;
        let (name, rest) = rest.split_at_checked(name_bytes)?;
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        Some(NameValuePair { name, value, rest })
    };
    split().map(Some).ok_or(FastCgiError::Pairs)
}

fn split_length(buf: &[u8]) -> Option<(usize, &[u8])> {
    match buf {
        [short @ 0..128, rest @ ..] => Some((usize::from(*short), rest)),
        [a, b, c, d, rest @ ..] => {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) & !IS_LONG;
            Some((usize::try_from(length).ok()?, rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_one_byte_or_four() {
        let long = [b'v'; 128];
        let mut out = Vec::new();
        encode_pair(b"n", &long[..127], &mut out);
        encode_pair(b"n", &long, &mut out);
        assert_eq!(&out[..3], b"\x01\x7fn");
        assert_eq!(&out[130..136], b"\x01\x80\0\0\x80n");
        let first = split_pair(&out).unwrap().unwrap();
        let second = split_pair(first.rest).unwrap().unwrap();
        assert_eq!((first.name, first.value.len(), second.value.len()), (&b"n"[..], 127, 128));
        assert_eq!(split_pair(second.rest), Ok(None));
    }

    #[test]
    fn a_pair_that_is_cut_off_is_an_error() {
        let whole = b"\x01\x80\0\0\x01nv";
        assert!(split_pair(whole).unwrap().is_some());
        for end in 1..whole.len() {
            assert_eq!(split_pair(&whole[..end]), Err(FastCgiError::Pairs), "{end}");
        }
        assert_eq!(split_pair(b"\xff\xff\xff\xff\xff\xff\xff\xffn"), Err(FastCgiError::Pairs));
    }
}
