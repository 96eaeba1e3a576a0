//! The identity of a server's log, as it stands in the server.

use crate::history::History;
use std::fmt;

/// What is under `NS:log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) log: u128,
    /// The number before its first record.
    pub(crate) start: u64,
    /// In a server that has a history.
    pub(crate) origin: Option<Origin>,
}

/// The history in which a log is written, and how it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) history: History,
    /// The counter when that was first noticed: the records up to this one are those of the history before.
    pub(crate) since: u64,
    /// The history before, as far as it is known.
    pub(crate) previous: Option<History>,
}

impl Identity {
    pub(crate) fn read(value: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(value).ok()?.split(' ');
        let log = u128::from_str_radix(words.next()?, 16).ok()?;
        let start = words.next()?.parse().ok()?;
        let Some(history) = words.next() else { return Some(Self { log, start, origin: None }) };
        let history = History::read(history)?;
        let since = words.next()?.parse().ok()?;
        let previous = match words.next()? {
            "-" => None,
            previous => Some(History::read(previous)?),
        };
        Some(Self { log, start, origin: Some(Origin { history, since, previous }) })
    }

    pub(crate) fn history(&self) -> Option<History> {
        self.origin.map(|origin| origin.history)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x} {}", self.log, self.start)?;
        let Some(Origin { history, since, previous }) = self.origin else { return Ok(()) };
        write!(f, " {history} {since} ")?;
        match previous {
            Some(previous) => previous.fmt(f),
            None => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_as_it_is_written() {
        let origin = Origin { history: History(1), since: 4, previous: None };
        let plain = Identity { log: 0xabc, start: 5, origin: None };
        let first = Identity { origin: Some(origin), ..plain };
        let next =
            Identity { origin: Some(Origin { history: History(2), since: 5, previous: Some(History(1)) }), ..plain };
        for identity in [plain, first, next] {
            assert_eq!(Identity::read(identity.to_string().as_bytes()), Some(identity));
        }
        assert_eq!(plain.to_string(), "00000000000000000000000000000abc 5");
        assert!(first.to_string().ends_with(" 5 00000000000000000000000000000001 4 -"));
        for broken in [
            "",
            "abc",
            "x 5",
            "abc x",
            "abc 5 1",
            "abc 5 00000000000000000000000000000001 4",
            "abc 5 00000000000000000000000000000001 4 x",
        ] {
            assert_eq!(Identity::read(broken.as_bytes()), None, "{broken:?}");
        }
    }
}
