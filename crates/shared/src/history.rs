//! Which history of writes the items of a server are the outcome of.

use std::fmt;

/// Stands for one history. Two states of a server are states of one history only if the later one contains all writes of the earlier one.
/// memcached has none: it forgets everything when it ends. Redis has `master_replid`, of which these are the first 32 digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History(pub u128);

impl History {
    /// The history that begins with these 32 hexadecimal digits.
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.get(..32).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        u128::from_str_radix(digits, 16).ok().map(Self)
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read_as_it_is_written() {
        let history = History::read("00c0ffee0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(history.to_string(), "00c0ffee0123456789abcdef01234567");
        assert_eq!(History::read(&history.to_string()), Some(history));
        for text in
            ["", "00c0ffee0123456789abcdef0123456", "+0c0ffee0123456789abcdef01234567", "\u{e4}".repeat(20).as_str()]
        {
            assert_eq!(History::read(text), None, "{text:?}");
        }
    }
}
