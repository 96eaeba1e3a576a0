//! Chooses the id of a request, which stands in the access log, in the application's log and in what a visitor reports.
//!
//! A trusted proxy's `X-Request-Id` is taken over if any log can take it as it is. That of any other peer is ignored; otherwise a
//! visitor could choose what stands in our log. All other requests get an id that is made here, of 128 bits: 64 random bits of the
//! worker, and 64 bits that differ for each of the worker's requests. So ids are unique over requests, workers, processes and
//! machines. They are no secret, but two ids don't tell how many requests came between them.
//!
//! A hit only increments a counter; the digits are formatted when the id is written.

use kasoku_semantics::client_address::Peer;
use kasoku_wire::Fields;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// The field's name.
pub(crate) const FIELD: &str = "X-Request-Id";

/// The longest `X-Request-Id` that is taken over, in bytes.
const TOLD_BYTES_MAX: usize = 128;

/// The digits of an id that is made here.
pub(crate) type RequestIdDigits = [u8; 32];

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestId<'r> {
    /// The id that a trusted proxy gave.
    Told(&'r [u8]),
    /// The id that was made here.
    Made(u128),
}

impl<'r> RequestId<'r> {
    /// The id of a request that came from `peer` with these fields. `made`: the id that it has unless a trusted proxy gave it one.
    pub(crate) fn of(peer: &Peer, fields: &'r Fields, made: u128) -> Self {
        let told = if peer.is_trusted { fields.only(FIELD) } else { None };
        told.filter(|told| is_sane(told)).map_or(Self::Made(made), Self::Told)
    }

    /// The id as it is written. `digits`: room for an id that was made here.
    pub(crate) fn text<'t>(&'t self, digits: &'t mut RequestIdDigits) -> &'t [u8] {
        match self {
            Self::Told(told) => told,
            Self::Made(number) => {
                for (place, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
                    place.copy_from_slice(&[hex(byte >> 4), hex(byte)]);
                }
                digits
            }
        }
    }
}

/// Whether any log can take the id without quotes or escapes: UUIDs, hexadecimal, base64, `Root=1-67891233-abcdef`.
fn is_sane(told: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=:@".contains(byte);
    (1..=TOLD_BYTES_MAX).contains(&told.len()) && told.iter().all(is_plain)
}

/// The lower four bits as a digit.
fn hex(byte: u8) -> u8 {
    match byte & 0xf {
        digit @ 0..=9 => b'0' + digit,
        digit => b'a' + digit - 10,
    }
}

/// Makes the ids of one worker's requests.
pub(crate) struct RequestIds {
    high: u64,
    next: Cell<u64>,
}

impl RequestIds {
    pub(crate) fn new() -> Self {
        // The keys of a hasher are the only random numbers of the standard library: the system gives them, and they differ each time.
        let random = || RandomState::new().hash_one(0_u8);
        Self { high: random(), next: Cell::new(random()) }
    }

    /// Makes an id that no other request has.
    pub(crate) fn make(&self) -> u128 {
        let number = self.next.get();
        self.next.set(number.wrapping_add(1));
        u128::from(self.high) << 64 | u128::from(mixed(number))
    }
}

/// Maps each number to another one, without a pattern: the last step of SplitMix64 (Steele, Lea, Flood: Fast Splittable
/// Pseudorandom Number Generators, 2014). Each part of it can be undone, so no two numbers have the same result.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn id(is_trusted: bool, fields: &[(&str, &str)]) -> String {
        let peer = Peer { address: None, is_trusted };
        let fields: Fields = fields.iter().copied().collect();
        let id = RequestId::of(&peer, &fields, 0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        String::from_utf8(id.text(&mut RequestIdDigits::default()).to_vec()).unwrap()
    }

    #[test]
    fn a_trusted_proxy_names_the_request_and_nobody_else_does() {
        const MADE: &str = "0123456789abcdef0011223344556677";
        assert_eq!(id(true, &[(FIELD, "abc-1")]), "abc-1");
        assert_eq!(id(false, &[(FIELD, "abc-1")]), MADE);
        assert_eq!(id(true, &[]), MADE);
        assert_eq!(id(true, &[(FIELD, "a"), (FIELD, "b")]), MADE, "which of them?");
        for odd in ["", "a b", "a\"b", "a\\b", "a,b", "caf\u{e9}", &"a".repeat(129)] {
            assert_eq!(id(true, &[(FIELD, odd)]), MADE, "{odd:?}");
        }
        for told in ["9f2c3d1e-0000-4000-8000-123456789abc", "Root=1-67891233-abcdef", "aGk=", &"a".repeat(128)] {
            assert_eq!(id(true, &[(FIELD, told)]), told);
        }
    }

    #[test]
    fn no_two_requests_of_any_worker_have_the_same() {
        let workers: Vec<RequestIds> = (0..8).map(|_| RequestIds::new()).collect();
        let ids: HashSet<u128> =
            workers.iter().flat_map(|worker| (0..10_000).map(|_| worker.make()).collect::<Vec<_>>()).collect();
        assert_eq!(ids.len(), 80_000);
    }
}
