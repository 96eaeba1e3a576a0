//! Keeps a few example URLs of a URL pattern, and how many visitors have requested each. `kasoku doctor` requests an example once
//! more only if several visitors have.
//!
//! A GET may have an effect that works once: a link in a mail confirms an address, or sets a password. A request that repeats it
//! spoils the link for its visitor. Such a link is requested by the one visitor for whom it was made, and another visitor has
//! another link. So several URLs of a pattern from several visitors don't show that a repetition is harmless. The same URL from
//! several visitors does: they repeat it themselves. For other URLs a lifetime would save nothing either.
//!
//! A visitor is an IP address here, and of an IPv6 address its first 64 bits: visitors behind one address count as one.

use std::hash::BuildHasher;
use std::net::IpAddr;

/// A URL is requested once more only if so many visitors have requested it. The scanner of a mail server may be one of them.
const VISITORS_MIN: usize = 3;

/// The most URLs that are kept for one pattern.
const URLS_MAX: usize = 8;

/// The longest URL that is kept, in bytes: a cut URL would be another URL.
const URL_BYTES_MAX: usize = 1024;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Examples(Vec<Example>);

/// A URL, and hashes of different visitors that have requested it, at most [`VISITORS_MIN`].
#[derive(Clone, Debug)]
struct Example {
    url: String,
    visitors: Vec<u64>,
}

impl Examples {
    /// Notes that a visitor has requested a URL.
    pub(crate) fn add(&mut self, url: &str, visitor: u64) {
        if url.len() > URL_BYTES_MAX {
            return;
        }
        let mut example = match self.0.iter().position(|one| one.url == url) {
            Some(at) => self.0.remove(at),
            None => Example { url: url.to_owned(), visitors: Vec::new() },
        };
        example.meets(visitor);
        if self.0.len() >= URLS_MAX {
            // Of the URLs with the fewest visitors, the one that was requested the longest ago makes room.
            let least = self.0.iter().enumerate().min_by_key(|(_, one)| one.visitors.len()).map(|(at, _)| at);
            least.map(|at| self.0.remove(at));
        }
        self.0.push(example);
    }

    /// Adds what another worker has seen, or the same worker in its next window.
    pub(crate) fn join(&mut self, others: &Self) {
        for other in &others.0 {
            match self.0.iter_mut().find(|one| one.url == other.url) {
                Some(one) => other.visitors.iter().for_each(|visitor| one.meets(*visitor)),
                None => self.0.push(other.clone()),
            }
        }
    }

    /// The URL with the most visitors; of several, the one that was requested last. Empty: all URLs were too long.
    pub(crate) fn url(&self) -> &str {
        self.best().map_or("", |best| &best.url)
    }

    /// Whether so many visitors have requested that URL that it may be requested once more.
    pub(crate) fn has_several_visitors(&self) -> bool {
        self.best().is_some_and(|best| best.visitors.len() >= VISITORS_MIN)
    }

    fn best(&self) -> Option<&Example> {
        self.0.iter().max_by_key(|one| one.visitors.len())
    }
}

impl Example {
    fn meets(&mut self, visitor: u64) {
        if self.visitors.len() < VISITORS_MIN && !self.visitors.contains(&visitor) {
            self.visitors.push(visitor);
        }
    }
}

/// A hash that stands for a visitor. All visitors without a known address count as one.
pub(crate) fn visitor(address: Option<IpAddr>, hasher: &impl BuildHasher) -> u64 {
    const HOST_BITS: u32 = 64;
    let number = address.map(|address| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        // A household has all addresses of its network.
        IpAddr::V6(address) => address.to_bits() >> HOST_BITS << HOST_BITS,
    });
    hasher.hash_one(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;

    #[test]
    fn the_same_url_from_several_visitors_is_an_example_and_urls_of_one_visitor_each_are_none() {
        let mut examples = Examples::default();
        (0..100).for_each(|number| examples.add(&format!("/confirm?{number}"), number));
        assert!(!examples.has_several_visitors());
        for visitor in [1, 2, 2, 1] {
            examples.add("/page", visitor);
            assert!(!examples.has_several_visitors(), "{visitor}");
        }
        // Many other URLs come in between.
        (0..100).for_each(|number| examples.add(&format!("/confirm?{number}"), number));
        examples.add("/page", 3);
        assert!(examples.has_several_visitors());
        assert_eq!(examples.url(), "/page");
        assert_eq!(examples.0.len(), URLS_MAX);
    }

    #[test]
    fn what_workers_have_seen_counts_together() {
        let (mut one, mut other) = (Examples::default(), Examples::default());
        [(1, "/a"), (2, "/a"), (1, "/b")].iter().for_each(|(visitor, url)| one.add(url, *visitor));
        [(2, "/a"), (3, "/a")].iter().for_each(|(visitor, url)| other.add(url, *visitor));
        assert!(!one.has_several_visitors() && !other.has_several_visitors());
        one.join(&other);
        assert!(one.has_several_visitors());
        assert_eq!((one.url(), one.0.len()), ("/a", 2));
    }

    #[test]
    fn a_url_that_is_too_long_is_no_example() {
        let mut examples = Examples::default();
        (0..9).for_each(|visitor| examples.add(&"x".repeat(URL_BYTES_MAX + 1), visitor));
        assert_eq!((examples.url(), examples.has_several_visitors()), ("", false));
    }

    #[test]
    fn a_network_of_ipv6_is_one_visitor() {
        let hasher = RandomState::new();
        let visitor = |text: &str| visitor(text.parse().ok(), &hasher);
        assert_eq!(visitor("2001:db8::1"), visitor("2001:db8::ffff:0:1:1"));
        assert_ne!(visitor("2001:db8::1"), visitor("2001:db8:0:1::1"));
        assert_ne!(visitor("192.0.2.1"), visitor("192.0.2.2"));
        assert_eq!(visitor("nobody"), visitor("unix"));
    }
}
