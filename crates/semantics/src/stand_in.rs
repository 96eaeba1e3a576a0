//! Draws the client address that an anonymous request tells: a stand-in, which is no client's.
//!
//! One address for all anonymous requests would make all of them one client for an application that counts, limits or blocks by
//! address: a limit of one request in 20 seconds would be reached by the second page, and "too many requests" would be stored for
//! all visitors. So each anonymous fetch has an address of its own.
//!
//! It comes from a range that no program trusts: the addresses of class E, which RFC 1112 section 4 reserves, and RFC 6890 lists as
//! never forwarded. No client, proxy or server has one, so no list of allowed addresses has it either. The operator may choose a
//! range of IPv6 for applications that refuse class E.
//!
//! The number of the stand-in is an argument: it must come from a source that no client can predict, and depend on no client.

use memchr::memmem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The range from which stand-ins are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StandInRange {
    /// 240.0.0.0/4, without its last address, which is that of a broadcast.
    #[default]
    ClassE,
    /// The addresses of IPv6 with these first bits.
    Ipv6 {
        /// Any address of the range.
        network: Ipv6Addr,
        /// How many of its bits all addresses have, [`PREFIX_BITS_MAX`] at most.
        prefix_bits: u8,
    },
}

/// The longest prefix of a range of IPv6. Programs that count by address count a /64 as one client, so a smaller range would have
/// one client in it.
pub const PREFIX_BITS_MAX: u8 = 56;

/// The first and the last stand-in of IPv4.
const CLASS_E: [Ipv4Addr; 2] = [Ipv4Addr::new(240, 0, 0, 1), Ipv4Addr::new(255, 255, 255, 254)];

impl StandInRange {
    /// The stand-in of that number.
    pub fn address(self, number: u128) -> IpAddr {
        match self {
            Self::ClassE => {
                let [first, last] = CLASS_E.map(Ipv4Addr::to_bits);
                let count = u128::from(last - first) + 1;
                // The remainder is below 2^28.
                let place = u32::try_from(number % count).unwrap_or(0);
                Ipv4Addr::from_bits(first.saturating_add(place)).into()
            }
            Self::Ipv6 { network, prefix_bits } => {
                let own_bits = u128::MAX >> prefix_bits.min(PREFIX_BITS_MAX);
                Ipv6Addr::from_bits(network.to_bits() & !own_bits | number & own_bits).into()
            }
        }
    }
}

/// Whether a text contains the address, in one of the forms in which programs print it.
pub fn is_in(stand_in: IpAddr, text: &[u8]) -> bool {
    match stand_in {
        IpAddr::V4(_) => is_printed(&stand_in.to_string(), text),
        IpAddr::V6(address) => {
            let full = address.segments().map(|group| format!("{group:04x}")).join(":");
            [address.to_string(), full]
                .into_iter()
                .flat_map(|form| [form.to_ascii_uppercase(), form])
                .any(|form| is_printed(&form, text))
        }
    }
}

/// Whether an address stands in a text, and not as a part of a longer number.
fn is_printed(address: &str, text: &[u8]) -> bool {
    let is_digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    memmem::find_iter(text, address.as_bytes())
        .any(|at| !is_digit(at.checked_sub(1)) && !is_digit(at.checked_add(address.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_as_programs_print_it_and_not_within_a_longer_number() {
        let is_in = |address: &str, text: &str| super::is_in(address.parse().unwrap(), text.as_bytes());
        for text in ["240.1.2.3", "ip=240.1.2.3&x", "<input value='240.1.2.3'>", "1240.1.2.3, 240.1.2.3", "[240.1.2.3]"]
        {
            assert!(is_in("240.1.2.3", text), "{text}");
        }
        for text in ["", "240.1.2.30", "1240.1.2.3", "240.1.2", "240-1-2-3"] {
            assert!(!is_in("240.1.2.3", text), "{text}");
        }
        for text in ["2001:db8::a", "2001:DB8::A", "2001:0db8:0000:0000:0000:0000:0000:000a"] {
            assert!(is_in("2001:db8::a", text), "{text}");
        }
        assert!(!is_in("2001:db8::a", "2001:db8::b"));
    }

    #[test]
    fn each_number_has_an_address_of_the_range_and_none_is_that_of_a_broadcast() {
        let drawn = |number| StandInRange::ClassE.address(number).to_string();
        let count = 0x0fff_fffe;
        assert_eq!([0, 1, count - 1, count].map(drawn), ["240.0.0.1", "240.0.0.2", "255.255.255.254", "240.0.0.1"]);
        assert_eq!(
            drawn(u128::MAX).split('.').next().map(|first| first.parse().is_ok_and(|first: u8| first >= 240)),
            Some(true)
        );
    }

    #[test]
    fn in_a_range_of_ipv6_the_network_stays_and_all_other_bits_differ() {
        let range = StandInRange::Ipv6 { network: "2001:db8:7:ffff::1".parse().unwrap(), prefix_bits: 48 };
        let drawn = |number| range.address(number).to_string();
        assert_eq!(
            [0, 1, u128::MAX].map(drawn),
            ["2001:db8:7::", "2001:db8:7::1", "2001:db8:7:ffff:ffff:ffff:ffff:ffff"]
        );
    }
}
