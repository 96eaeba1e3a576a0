//! Recognises the addresses that anonymous requests tell in the place of a client's. They are drawn at random.

use std::net::Ipv4Addr;

/// Whether a text is such an address: one of class E (RFC 1112 section 4), but no broadcast.
pub fn is_stand_in(address: &str) -> bool {
    address.parse::<Ipv4Addr>().is_ok_and(|address| address.octets()[0] >= 240 && !address.is_broadcast())
}

/// Whether a text contains such an address.
pub fn has_stand_in(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '.').any(is_stand_in)
}
